"""Probes that find where NaN and infinity first appear in an instrumented run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from jaxbits._analysis.call_context import CallContext
from jaxbits._analysis.probes import Measurement, Probe

# These primitives only move or select values, so they never create a NaN. Their names are in
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/lax.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/slicing.py
_PASSING_WORDS = (
    "broadcast_in_dim reshape squeeze slice transpose rev concatenate select_n copy copy_p "
    "stop_gradient expand_dims dynamic_update_slice split optimization_barrier reduce_max "
    "reduce_min max min neg abs sign real imag iota pad random_bits sort argmax argmin"
)
_PASSING = frozenset(_PASSING_WORDS.split())


def _is_inexact(variable: Any) -> bool:
    dtype = getattr(variable.aval, "dtype", None)
    return dtype is not None and bool(jnp.issubdtype(dtype, jnp.inexact))


def _selects(equation: Any, context: CallContext) -> bool:
    name = equation.primitive.name
    if name in _PASSING or (name == "convert_element_type" and not _narrows(equation)):
        return False
    return any(_is_inexact(v) for v in equation.outvars)


def _narrows(equation: Any) -> bool:
    old, new = equation.invars[0].aval.dtype, equation.params["new_dtype"]
    return bool(jnp.dtype(new).itemsize < old.itemsize)


def _measures(is_bad: Callable[[Any], Any]) -> Callable[..., Measurement]:
    """Return a function for `Probe.measure` that finds bad outputs computed from good inputs."""

    def measure(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> Measurement:
        arrays = [jnp.asarray(value) for value in inputs]
        output = next(o for o in outputs if jnp.issubdtype(o.dtype, jnp.inexact))
        bad = is_bad(output)
        for array in arrays:
            if jnp.issubdtype(array.dtype, jnp.inexact):
                broadcasts = array.shape in (output.shape, ())
                bad &= ~is_bad(array) if broadcasts else ~jnp.any(is_bad(array))
        return Measurement(bad, jnp.zeros((), jnp.int32))

    return measure


def _replace_nonfinite(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> list[Any]:
    return [
        jnp.where(jnp.isfinite(o), o, 1) if jnp.issubdtype(o.dtype, jnp.inexact) else o
        for o in outputs
    ]


NAN_PROBE = Probe(_selects, _measures(jnp.isnan), _replace_nonfinite)
INF_PROBE = Probe(_selects, _measures(jnp.isinf), _replace_nonfinite)
