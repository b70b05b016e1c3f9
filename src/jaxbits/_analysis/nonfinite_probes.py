"""Probes that find where NaN and infinity first appear in an instrumented run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from jaxbits._analysis.probes import Around, Probe, Reading

_MOVES_WORDS = (
    "broadcast_in_dim reshape squeeze slice transpose rev concatenate select_n copy copy_p "
    "stop_gradient expand_dims dynamic_update_slice split optimization_barrier reduce_max "
    "reduce_min max min neg abs sign real imag iota pad random_bits sort argmax argmin"
)
_MOVES = frozenset(_MOVES_WORDS.split())


def _is_float(variable: Any) -> bool:
    kind = getattr(variable.aval, "dtype", None)
    return kind is not None and bool(jnp.issubdtype(kind, jnp.inexact))


def _wants(equation: Any, around: Around) -> bool:
    if equation.primitive.name in _MOVES:
        return False
    if equation.primitive.name == "convert_element_type" and not _narrows(equation):
        return False
    return any(_is_float(v) for v in equation.outvars)


def _narrows(equation: Any) -> bool:
    old, new = equation.invars[0].aval.dtype, equation.params["new_dtype"]
    return bool(jnp.dtype(new).itemsize < old.itemsize)


def _reader(wrong: Callable[[Any], Any]) -> Callable[..., Reading]:
    def read(equation: Any, values: Sequence[Any], outputs: list[Any]) -> Reading:
        before = [jnp.asarray(v) for v in values]
        before = [v for v in before if jnp.issubdtype(v.dtype, jnp.inexact)]
        out = next(o for o in outputs if jnp.issubdtype(o.dtype, jnp.inexact))
        bad = wrong(out)
        for value in before:
            fits = value.shape in (out.shape, ())
            bad &= ~wrong(value) if fits else ~jnp.any(wrong(value))
        return Reading(bad, jnp.zeros((), jnp.int32))

    return read


def _mend(equation: Any, values: Sequence[Any], outputs: list[Any]) -> list[Any]:
    return [
        jnp.where(jnp.isfinite(o), o, 1) if jnp.issubdtype(o.dtype, jnp.inexact) else o
        for o in outputs
    ]


PROBES = (
    Probe("nan", _wants, _reader(jnp.isnan), _mend),
    Probe("inf", _wants, _reader(jnp.isinf), _mend),
)
