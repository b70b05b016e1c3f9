"""Large arrays that become a part of the program."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, place_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._finding import Finding

_WARNED, _NOTED = 1 << 18, 1 << 15


@detector
def big_const(subject: Subject) -> Iterator[Finding]:
    """Find large arrays that a jitted function captures: they are built into its program.

    It walks the traced program, loops and branches included, and measures its constants: 256 KiB
    in one or in all together are reported, 32 KiB in one are noted. The name is that of a global,
    closure, default or attribute that holds the array. What is made by `jax.numpy` inside is no
    constant. JAX's `jax_captured_constants_warn_bytes` comes closest; it is set to 2 GB.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> table = jnp.ones((512, 512))
    >>> found = detect.big_const(lambda x: table @ x, jnp.ones(512))[0]
    >>> found.message, found.evidence
    ('`table` is built into the program as a constant', '1.0 MiB, float32[512,512]')
    >>> detect.big_const(lambda x: jnp.ones((512, 512)) @ x, jnp.ones(512))
    []
    """
    if subject.trace.program is None:
        return
    found = list(_constants(subject.trace.program))
    large = [one for one in found if _size(one[0]) >= _NOTED]
    names = _names(subject) if large else {}
    for value, place in large:
        name = names.get(id(value)) or names.get(_key(value))
        size = _size(value)
        yield Finding(
            "big_const",
            "warning" if size >= _WARNED else "note",
            f"{f'`{name}`' if name else 'an array'} is built into the program as a constant",
            f"{_mebibytes(size)}, {value.dtype}[{','.join(map(str, value.shape))}]",
            "pass it as an argument",
            place,
        )
    total = sum(_size(value) for value, _ in found)
    if total >= _WARNED and not any(_size(value) >= _WARNED for value, _ in large):
        yield Finding(
            "big_const",
            "warning",
            f"{len(found)} arrays are built into the program as constants",
            f"{_mebibytes(total)} together",
            "pass them as arguments, in one tree",
            next((place for _, place in found if place), None),
        )


def _constants(program: Any) -> Iterator[tuple[Any, Place | None]]:
    """Yield the arrays in a program, each once, with the line that uses it."""
    seen: set[int] = set()
    walked: set[int] = set()
    waiting: list[tuple[Any, Place | None]] = [(program, None)]
    while waiting:
        here, around = waiting.pop()
        if id(here.jaxpr) in walked:
            continue
        walked.add(id(here.jaxpr))
        held = dict(zip(here.jaxpr.constvars, here.consts, strict=True))
        new = {v: c for v, c in held.items() if id(c) not in seen and hasattr(c, "dtype")}
        used: set[Any] = set()
        for equation in here.jaxpr.eqns:
            for variable in equation.invars:
                if isinstance(variable, Literal):
                    value = variable.val
                    if getattr(value, "ndim", 0) and id(value) not in seen:
                        seen.add(id(value))
                        yield value, place_of(equation) or around
                elif variable in new and variable not in used:
                    used.add(variable)
                    if id(new[variable]) not in seen:
                        seen.add(id(new[variable]))
                        yield new[variable], place_of(equation) or around
            for part in jaxpr_utils.inner(equation):
                waiting.append((part, place_of(equation) or around))
        for variable, value in new.items():
            if variable not in used and id(value) not in seen:
                seen.add(id(value))
                yield value, around


def _size(value: Any) -> int:
    shape: tuple[int, ...] = tuple(value.shape)
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):
        return 0
    return math.prod(shape) * int(np.dtype(value.dtype).itemsize)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"


def _key(value: Any) -> tuple[Any, ...]:
    return tuple(value.shape), np.dtype(value.dtype).kind


def _names(subject: Subject) -> dict[Any, str]:
    """Return names by the identity of the array that they hold, or by its shape and kind."""
    found: dict[Any, str] = {}
    for reference in subject.references:
        value = reference.get()
        fields = getattr(value, "__dict__", None)
        deeper = fields if isinstance(fields, dict) and not hasattr(value, "dtype") else ()
        paths = jax.tree_util.tree_leaves_with_path((value, deeper))
        for path, leaf in paths:
            if not hasattr(leaf, "dtype") or not hasattr(leaf, "shape") or not leaf.shape:
                continue
            if path[0] == jax.tree_util.SequenceKey(1):
                name = f"{reference.name}.{getattr(path[1], 'key', '')}"
                name += jax.tree_util.keystr(path[2:])
            else:
                name = reference.name + jax.tree_util.keystr(path[1:])
            found.setdefault(id(leaf), name)
            if not jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
                found.setdefault(_key(leaf), name)
    return found
