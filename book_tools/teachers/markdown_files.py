"""Render the Markdown files in the teachers' folder."""

from __future__ import annotations

from pathlib import Path

from book_tools.templates import load_templates

_TEMPLATES = load_templates(Path(__file__).with_name("templates"))


def render_file(template: str, **values: object) -> str:
    """Return the text of a file.

    Args:
        template: The name of a file in ``templates/`` without the suffix ``.jinja``.
        values: The template's variables.

    Raises:
        jinja2.UndefinedError: If the template uses a variable that has no value.
    """
    return _TEMPLATES.get_template(f"{template}.jinja").render(**values)
