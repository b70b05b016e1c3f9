"""Write the pages that come from the catalogue before Sphinx looks for its sources."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config


def _write(app: Sphinx, config: Config) -> None:
    root = Path(app.confdir or app.srcdir)
    for folder in (root / "src", root / "tools"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    import reference

    reference.write(root)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    # The table of contents is read at 900 and wants every page to be there.
    app.connect("config-inited", _write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
