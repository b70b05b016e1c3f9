"""Detectors: each finds one kind of sharp bit in a function of yours.

A detector is called with the function and its arguments, and returns what it finds. It works on
copies of the arguments and puts Python state back; it is not safe while other threads run.

>>> import jax.numpy as jnp
>>> from jaxbits import detect
>>> print(detect.out_of_bounds(lambda x, i: x[i], jnp.arange(10.0), 10)[0].message)
read out of bounds: the start is moved
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jaxbits.compat  # noqa: F401  before anything is compiled: see its user context

if TYPE_CHECKING:
    from jaxbits.detect.clocks import timing as timing
    from jaxbits.detect.concrete import control_flow as control_flow
    from jaxbits.detect.concrete import dynamic_shape as dynamic_shape
    from jaxbits.detect.constants import big_const as big_const
    from jaxbits.detect.conversion import cast as cast
    from jaxbits.detect.detector import Detector
    from jaxbits.detect.donating import donation as donation
    from jaxbits.detect.indexing import out_of_bounds as out_of_bounds
    from jaxbits.detect.mutation import inplace as inplace
    from jaxbits.detect.nonfinite import nan as nan
    from jaxbits.detect.python_state import iterator as iterator
    from jaxbits.detect.python_state import leak as leak
    from jaxbits.detect.python_state import side_effect as side_effect
    from jaxbits.detect.randomness import const_key as const_key
    from jaxbits.detect.randomness import key_reuse as key_reuse
    from jaxbits.detect.retracing import list_args as list_args
    from jaxbits.detect.retracing import recompile as recompile
    from jaxbits.detect.stale import stale_global as stale_global
    from jaxbits.detect.stepping import carry as carry
    from jaxbits.detect.transfers import transfer as transfer
    from jaxbits.detect.truncation import x64 as x64
    from jaxbits.detect.unrolling import unrolled as unrolled
    from jaxbits.detect.widening import promotion as promotion
    from jaxbits.detect.wraparound import overflow as overflow

_HOME = {
    "out_of_bounds": "indexing",
    "list_args": "retracing",
    "leak": "python_state",
    "side_effect": "python_state",
    "stale_global": "stale",
    "recompile": "retracing",
    "key_reuse": "randomness",
    "const_key": "randomness",
    "inplace": "mutation",
    "iterator": "python_state",
    "control_flow": "concrete",
    "dynamic_shape": "concrete",
    "promotion": "widening",
    "x64": "truncation",
    "carry": "stepping",
    "big_const": "constants",
    "unrolled": "unrolling",
    "donation": "donating",
    "transfer": "transfers",
    "timing": "clocks",
    "cast": "conversion",
    "overflow": "wraparound",
    "nan": "nonfinite",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jaxbits.detect' has no attribute {name!r}")
    return getattr(importlib.import_module(f"jaxbits.detect.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME)


def detectors() -> Mapping[str, Detector]:
    """Return all detectors by name.

    >>> list(detectors())[:2]
    ['out_of_bounds', 'list_args']
    """
    return {name: __getattr__(name) for name in _HOME}
