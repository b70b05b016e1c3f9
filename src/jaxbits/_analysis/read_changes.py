"""Determine what a program does to the values that it reads from an array."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

# JAX defines these primitives in https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/lax.py
_MOVING_WORDS = (
    "broadcast_in_dim reshape squeeze expand_dims transpose convert_element_type copy copy_p "
    "stop_gradient optimization_barrier slice rev concatenate reduce_precision device_put split "
    "gather dynamic_slice"
)
_MOVING = frozenset(_MOVING_WORDS.split())
_OPERATIONS = {
    "add": "add", "add_any": "add", "sub": "add", "mul": "multiply", "div": "multiply",
    "max": "max", "min": "min", "and": "and", "or": "or",
}  # fmt: skip
KEPT, OTHER = "keep", "other"
Reads = Mapping[tuple[Hashable, Hashable], str]
"""What happened to the values that were read from an array, keyed by the array and the indices. It
is `KEPT` (they were only moved or selected), the name of an operation, or `OTHER`."""


def merge_reads(parts: Iterable[Reads]) -> Reads:
    """Return the reads of a value that is one of several others."""
    merged: dict[tuple[Hashable, Hashable], str] = {}
    for reads in parts:
        for key, change in reads.items():
            before = merged.get(key, KEPT)
            merged[key] = (
                before if change in (KEPT, before) else change if before == KEPT else OTHER
            )
    return merged


def combine_reads(equation: Any, inputs: Sequence[Reads]) -> Reads:
    """Return the reads of the results of an equation that is not a call, a loop, or a branch.

    Args:
        equation: The equation.
        inputs: The reads of its inputs.
    """
    name = equation.primitive.name
    if name in _MOVING:  # The indices of a gather only select values.
        return merge_reads(inputs[: 1 if name == "gather" else None])
    if name == "select_n":
        return merge_reads(inputs[1:])
    if name == "clamp":
        return {key: _limited(change, "clip") for key, change in inputs[1].items()}
    kinds = [getattr(v.aval, "dtype", None) for v in equation.outvars]
    if name not in _OPERATIONS and all(kind == jnp.bool_ for kind in kinds):
        return {}  # A comparison tells what to do, but it is not what is written.
    if name.startswith("reduce_") and 0 in equation.params.get("axes", ()):
        return {}  # All elements get the same total.
    keys = {key for reads in inputs for key in reads}
    return {key: _change(name, [reads.get(key) for reads in inputs]) for key in keys}


def _change(name: str, operands: list[str | None]) -> str:
    """Return what happened to a read after an operation on these operands."""
    operation, found = _OPERATIONS.get(name, OTHER), [c for c in operands if c is not None]
    if operation == OTHER or (name in ("sub", "div") and operands[0] is None):
        return OTHER
    if operation == "add":  # What is added may itself depend on the read.
        first = operands[:1] if name == "sub" else operands
        return "add" if any(change in (KEPT, "add") for change in first) else OTHER
    if operation in ("max", "min"):
        return _limited(found[0], operation) if len(found) == 1 else OTHER
    return operation if all(change in (KEPT, operation) for change in found) else OTHER


def _limited(change: str, operation: str) -> str:
    """Return what happened to a read after its values were limited."""
    if change in (KEPT, operation):
        return operation
    return "clip" if change in ("max", "min", "clip") else change
