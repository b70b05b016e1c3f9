"""Parse Google-style docstrings (Args, Returns, Raises, Example) for the API page.

In the docstring of a property or a variable, Sphinx's napoleon treats the text before a colon as a
type. Our docstrings are sentences, so this extension parses them like function docstrings:
https://github.com/sphinx-doc/sphinx/blob/v7.4.7/sphinx/ext/napoleon/docstring.py
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring

_SETTINGS = Config(napoleon_use_ivar=True, napoleon_use_rtype=False)
_VALUES = {"attribute", "data", "property"}


def _google(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    kind = "function" if what in _VALUES else what
    lines[:] = GoogleDocstring(list(lines), _SETTINGS, app, kind, name, obj, options).lines()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _google)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
