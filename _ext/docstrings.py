"""Read docstrings in Google's style (Args, Returns, Raises, Example) for the API page.

Sphinx's own napoleon takes whatever stands before a colon in the docstring of a property or a
variable for a type. Ours are sentences, so they are read as those of functions are.
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
    """Register with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _google)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
