"""Write the generated reference pages before Sphinx collects its sources."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config


def _write(app: Sphinx, config: Config) -> None:
    from book_tools.pages import write_pages

    write_pages.write_pages(Path(app.confdir or app.srcdir))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    # Sphinx reads the table of contents at priority 900, and all its pages must exist by then.
    app.connect("config-inited", _write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
