"""Each page loads what it uses, from the book itself: nothing more, nothing from elsewhere."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

# What single pages use. Jupyter Book puts every script and style sheet of _static on every page.
ONLY_ON = {
    "finder.js": {"reference/errors"},
    "reference.css": {
        "reference/errors",
        "reference/silent-failures",
        "reference/detectors",
        "reference/glossary",
    },
    "tables.css": {
        "reference/coming-from-numpy",
        "reference/coming-from-pytorch",
        "reference/wrong-in-circulation",
    },
}


def _wanted(asset: Any, page: str) -> bool:
    """Say whether `page` needs this script or style sheet."""
    name = str(getattr(asset, "filename", None) or "")
    body = str((getattr(asset, "attributes", None) or {}).get("body", ""))
    if "thebe" in name.lower() or "thebe" in body.lower():
        return False  # Jupyter Book adds them twice, and the second logs an error
    return page in ONLY_ON.get(name.removeprefix("_static/").split("?")[0], {page})


def _keep_wanted(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    for kind in ("script_files", "css_files"):
        context[kind] = [asset for asset in context[kind] if _wanted(asset, pagename)]


def _serve_vendored(app: Sphinx, config: Config) -> None:
    # After Jupyter Book has listed the scripts of html_static_path: these are served, not loaded.
    config.html_static_path.append("_vendor")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", _serve_vendored)
    app.connect("html-page-context", _keep_wanted, priority=999)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
