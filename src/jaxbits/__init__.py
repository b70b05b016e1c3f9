"""The library of the book *JAX sharp bits*.

The public names below are imported when they are first used, so that ``import jaxbits`` costs
little more than ``import jax`` and never imports flax, optax, torch or matplotlib by itself.

>>> import jaxbits
>>> jaxbits.load()["out-of-bounds-read"].silent
True
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from jaxbits.audit import assert_clean as assert_clean
    from jaxbits.audit import audit as audit
    from jaxbits.catalogue import SharpBit as SharpBit
    from jaxbits.catalogue import load as load
    from jaxbits.claims import also_sharp as also_sharp
    from jaxbits.claims import claims as claims
    from jaxbits.claims import made_for as made_for
    from jaxbits.claims import raises as raises
    from jaxbits.compat import x64_on as x64_on
    from jaxbits.exercises import check as check
    from jaxbits.exercises import hint as hint
    from jaxbits.exercises import solution as solution
    from jaxbits.explain import explain as explain

_HOME = {
    "audit": "audit",
    "assert_clean": "audit",
    "SharpBit": "catalogue",
    "load": "catalogue",
    "also_sharp": "claims",
    "claims": "claims",
    "made_for": "claims",
    "raises": "claims",
    "x64_on": "compat",
    "check": "exercises",
    "hint": "exercises",
    "solution": "exercises",
    "explain": "explain",
}

_MODULES = {"detect", "optim", "runtime", "xor"}
"""Public modules that ``import jaxbits`` makes reachable, each loaded when it is first used."""

__all__ = [  # noqa: RUF022 - in the order in which a reader meets them
    "claims",
    "made_for",
    "raises",
    "also_sharp",
    "check",
    "hint",
    "solution",
    "explain",
    "audit",
    "assert_clean",
    "x64_on",
    "load",
    "SharpBit",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"jaxbits.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'jaxbits' has no attribute {name!r}")
    return getattr(importlib.import_module(f"jaxbits.{_HOME[name]}"), name)


class _Package(types.ModuleType):
    """Keeps `jaxbits.explain` the function, which importing the module of that name would hide."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """Explain every JAX error of the notebook from now on (``%load_ext jaxbits``)."""
    importlib.import_module("jaxbits.notebook").start(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Stop explaining errors (``%unload_ext jaxbits``)."""
    importlib.import_module("jaxbits.notebook").stop(shell)
