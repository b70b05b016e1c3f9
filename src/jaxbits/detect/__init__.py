"""Detectors, each of which finds one kind of sharp bit in a function.

If you call a detector with your function and its arguments, it returns a list of findings. It warns
if it may have missed something, for example because JAX cannot trace the function. Detectors work
on copies of the arguments and restore Python state. They are not safe while other threads run.

>>> import jax.numpy as jnp
>>> from jaxbits import detect
>>> print(detect.out_of_bounds(lambda x, i: x[i], jnp.arange(10.0), 10)[0].message)
read out of bounds: the start is moved
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

# Import this before anything is compiled, because JAX adds its user context to all cache keys.
import jaxbits._jax_compat  # noqa: F401
from jaxbits._analysis.detector import Detector

# The detector `x` is the function `x` in the module `_x`, so this folder lists all detectors.
__all__ = sorted(module.name[1:] for module in pkgutil.iter_modules(__path__))


def __getattr__(name: str) -> Detector:
    if name not in __all__:
        raise AttributeError(f"module 'jaxbits.detect' has no attribute {name!r}")
    detector: Detector = getattr(importlib.import_module(f"jaxbits.detect._{name}"), name)
    return detector


def __dir__() -> list[str]:
    return list(__all__)


def detectors() -> Mapping[str, Detector]:
    """Return all detectors in alphabetical order, keyed by name.

    >>> list(detectors())[:2]
    ['big_const', 'carry']
    """
    return {name: __getattr__(name) for name in __all__}
