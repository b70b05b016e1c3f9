"""Recognize calls that create a random generator of NumPy from a seed."""

from __future__ import annotations

import ast
import types
from typing import Any

import numpy as np

from jaxbits._analysis.source.ast_utils import current_call

_UNKNOWN = object()


def creates_seeded_generator(frame: types.FrameType) -> bool:
    """Return whether a frame is calling `numpy.random.RandomState` with a seed.

    This constructor first creates an unseeded generator, which reads random bytes from the system,
    and then seeds it. Therefore, these bytes have no effect:
    https://github.com/numpy/numpy/blob/v2.0.0/numpy/random/mtrand.pyx

    Args:
        frame: A frame of user code.
    """
    call = current_call(frame)
    if call is None or _value_of(call.func, frame) is not np.random.RandomState:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(_value_of(node, frame) is not None for node in given)


def _value_of(node: ast.expr, frame: types.FrameType) -> Any:
    """Return the value of a name, a member of a module, or a constant, or else `_UNKNOWN`."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name, _UNKNOWN))
        case ast.Attribute(value=owner, attr=name):
            module = _value_of(owner, frame)
            if isinstance(module, types.ModuleType):
                return vars(module).get(name, _UNKNOWN)
    return _UNKNOWN
