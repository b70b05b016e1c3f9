"""Load only the scripts and style sheets that a page uses, and serve them from the book itself."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html._assets import _JavaScript
from sphinx.config import Config

# Jupyter Book adds every script and style sheet in _static to every page, although only some pages
# use the following files.
ONLY_ON = {
    "error-matcher.js": {"reference/errors"},
    "error-text.js": {"reference/errors"},
    "finder.js": {"reference/errors"},
    "notice-filter.js": {"reference/silent-failures"},
    "reference.css": {
        "reference/behaviour-by-version",
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
# The scripts of extensions, each with a pattern that matches the HTML that uses the script.
ONLY_WITH = {
    "clipboard.min.js": r'class="highlight',
    "copybutton.js": r'class="highlight',
    "design-tabs.js": r'class="[^"]*\bsd-tab',
    "togglebutton.js": r'class="[^"]*(\btoggle\b|\badmonition\b[^"]*\bdropdown\b)',
}
# The variables that inline scripts set, each with the extension's script that reads it.
SETTINGS_OF = {"toggle": "togglebutton.js"}


def _name(asset: Any) -> str:
    """Return the file name of an asset, or an empty string for an inline script."""
    return str(getattr(asset, "filename", None) or "").removeprefix("_static/").split("?")[0]


def _body(asset: Any) -> str:
    """Return the code of an inline script, or an empty string for other assets."""
    return str((getattr(asset, "attributes", None) or {}).get("body", ""))


def _is_wanted(asset: Any, page: str, body: str) -> bool:
    """Return whether a page needs a script or a style sheet.

    Args:
        asset: The script or style sheet, as Sphinx represents it.
        page: The name of the page, such as ``reference/errors``.
        body: The page's HTML without the head, the header, and the sidebars.
    """
    name, text = _name(asset), _body(asset)
    if "thebe" in name.lower() or "thebe" in text.lower():
        return False  # Jupyter Book adds Thebe twice, and the second copy logs an error.
    for word, script in SETTINGS_OF.items():
        if re.match(rf"(let|var) {word}", text):
            name = script
    if name in ONLY_WITH and not re.search(ONLY_WITH[name], body):
        return False
    return page in ONLY_ON.get(name, {page})


def _deferred(script: Any) -> Any:
    """Defer a script until the page is displayed, if possible, and return the script.

    The order of the scripts stays the same. An inline script can be deferred only as a module. A
    script that declares variables for other scripts cannot be a module, because a module's
    variables are local to it.
    """
    attributes = dict(script.attributes)
    text = _body(script)
    if {"defer", "async", "type"} & set(attributes) or re.match(r"(let|var|const)\b", text):
        return script
    attributes |= {"type": "module"} if text else {"defer": "defer"}
    return _JavaScript(script.filename, priority=script.priority, **attributes)


def _keep_wanted(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    body = str(context.get("body", ""))
    for kind in ("script_files", "css_files"):
        context[kind] = [asset for asset in context[kind] if _is_wanted(asset, pagename, body)]
    if pagename != "search":  # That page's last script runs immediately and needs the others.
        context["script_files"] = [_deferred(script) for script in context["script_files"]]


def _note_extensions(app: Sphinx, config: Config) -> None:
    # Sphinx rebuilds a page when its text changes, but not when an extension changes.
    here = Path(__file__).resolve().parent
    found = hashlib.sha256()
    for path in sorted([*here.glob("*.py"), *here.glob("*.toml")]):
        found.update(path.read_bytes())
    config["extensions_digest"] = found.hexdigest()


def _serve_vendored(app: Sphinx, config: Config) -> None:
    # By now, Jupyter Book has added the scripts in html_static_path to the pages, so it
    # serves the vendored files but does not add them.
    config.html_static_path.append("_vendor")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_config_value("extensions_digest", "", "env", str)
    app.connect("config-inited", _note_extensions)
    app.connect("config-inited", _serve_vendored)
    app.connect("html-page-context", _keep_wanted, priority=999)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
