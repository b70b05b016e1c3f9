"""Load the Jinja2 templates of a package in `book_tools`."""

from __future__ import annotations

from pathlib import Path

import jinja2


def load_templates(folder: Path) -> jinja2.Environment:
    """Return the environment that renders the templates in a folder.

    Autoescaping is off, because most templates are Markdown with only some parts in HTML. A
    template that uses a variable without a value raises `jinja2.UndefinedError`.

    Args:
        folder: The folder that contains the templates.
    """
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
