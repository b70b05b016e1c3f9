"""The library of the book *JAX sharp bits*.

The public names below are imported when they are first used, so that ``import jaxbits`` costs
little more than ``import jax`` and never imports flax, optax, torch or matplotlib by itself.

>>> import jaxbits
>>> jaxbits.load()["out-of-bounds-read"].silent
True
"""

from __future__ import annotations

import importlib
from typing import Any

from jaxbits import _lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _lazy.attach_stub(
    __name__, __file__, submodules=frozenset({"detect", "optim", "runtime", "testing", "xor"})
)


def load_ipython_extension(shell: Any) -> None:
    """Explain every JAX error of the notebook from now on (``%load_ext jaxbits``)."""
    importlib.import_module("jaxbits._ipython").start(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Stop explaining errors (``%unload_ext jaxbits``)."""
    importlib.import_module("jaxbits._ipython").stop(shell)
