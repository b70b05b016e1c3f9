"""The library that accompanies the book *JAX sharp bits*.

Each public name is imported when it is first used, so `import jaxbits` itself is cheap and does not
import flax, optax, torch, or matplotlib.

>>> import jaxbits
>>> jaxbits.load()["out-of-bounds-read"].silent
True
"""

import importlib
import sys

from jaxbits import _lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

if sys.modules.get("jax") is not None:
    # The detectors make JAX retrace everything once, so do that before anything is compiled.
    importlib.import_module("jaxbits._jax_compat")
