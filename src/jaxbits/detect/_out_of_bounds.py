"""Reads and writes past the end of an array, which JAX moves, fills or drops in silence."""

from __future__ import annotations

import ast
import functools
import linecache
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import Place
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.probes import Around, Probe, Reading, Site, plain
from jaxbits._finding import Finding

_READS = {"gather", "dynamic_slice"}
_WRITES = {"scatter", "dynamic_update_slice"}
_MEANT = (
    "getitem take take_along_axis segment_sum segment_max segment_min segment_prod dynamic_slice "
    "dynamic_update_slice dynamic_index_in_dim dynamic_slice_in_dim dynamic_update_slice_in_dim "
    "dynamic_update_index_in_dim set add mul multiply divide min max get apply power op meth "
    "subtract gather scatter scatter_add scatter_min scatter_max scatter_mul segment_update "
    "rewriting_take scatter_update scatter_impl dynamic_slice_jaxpr static_slice embed call apply_"
)
_INDEXING = frozenset(_MEANT.split())


@detector
def out_of_bounds(subject: Subject) -> Iterator[Finding]:
    """Find reads and writes outside of an array: every one of a run, with its line.

    It runs the program once more with a count on each gather, scatter and dynamic slice, inside of
    `jit`, `vmap`, `grad`, `scan`, `while_loop` and `cond` too. A read whose value never reaches the
    result, being masked, is a note. Lines with a `mode=` are taken to mean what they say. It sees
    only the indices of these arguments; not a label out of `one_hot`'s range or a clamped `switch`,
    nor an index that wrapped in a small integer before. `checkify.index_checks` comes closest; it
    stops at the first, and alarms on masked reads too.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> x = jnp.arange(10.0)
    >>> found = detect.out_of_bounds(lambda x, i: x[i].sum(), x, jnp.array([3, 10, 12]))[0]
    >>> found.message, found.evidence
    ('read out of bounds: it is clamped or filled', '2 indices outside 0…9, 10 to 12')
    >>> detect.out_of_bounds(lambda x, i: x[i].sum(), x, jnp.array([3, -1]))
    []
    """
    observed = subject.observed
    for site in observed.of("out_of_bounds") if observed else ():
        yield _finding(site, observed is not None and site.number in observed.masked)


def _kind(primitive: str) -> str:
    if primitive in _READS:
        return "read"
    write = primitive in _WRITES or primitive.startswith("scatter")
    return "write" if write else ""


def _finding(site: Site, masked: bool) -> Finding:
    name = site.equation.primitive.name
    kind = _kind(name)
    limits = sorted({limit for _, limit in _limits(site.equation)})
    within = " or ".join(f"0…{limit}" for limit in limits)
    low, high = int(site.low), int(site.high)
    values = f"{low} to {high}" if low != high else f"{low}"
    wrapped = ", after negative ones were counted from the end" if low < 0 else ""
    many = "index" if site.count == 1 else "indices"
    evidence = f"{site.count} {many} outside {within}, {values}{wrapped}"
    if masked and kind == "read":
        message = "read out of bounds, but what is read does not reach the result"
        return Finding("out_of_bounds", "note", message, evidence, "none needed", site.place)
    does = "the start is moved" if name.startswith("dynamic") else "it is dropped"
    does = "it is clamped or filled" if name == "gather" else does
    return Finding(
        "out_of_bounds",
        "error",
        f"{kind} out of bounds: {does}",
        evidence,
        "correct the index, or say what is meant: `.at[i].get(mode='fill')`, `mode='drop'`",
        site.place,
        _bit(site.equation),
    )


def _bit(equation: Any) -> str:
    """Return the entry of the catalogue that an equation out of bounds is about."""
    name = equation.primitive.name
    if name == "dynamic_update_slice":
        return "dynamic-slice-shifts"
    if name == "dynamic_slice":  # a plain `x[i]` is one too, of a single element or row
        sizes = zip(equation.params["slice_sizes"], equation.invars[0].aval.shape, strict=True)
        shifts = any(1 < size < length for size, length in sizes)
        return "dynamic-slice-shifts" if shifts else "out-of-bounds-read"
    if _kind(name) == "write":
        return "out-of-bounds-write"
    fills = "FILL" in str(equation.params.get("mode"))
    return "take-fills" if fills else "out-of-bounds-read"


def _limits(equation: Any) -> list[tuple[int, int]]:
    """Return (dimension, greatest legal index) for each column of an equation's indices."""
    p, name = equation.params, equation.primitive.name
    shape = equation.invars[0].aval.shape
    if name == "dynamic_slice":
        sizes = dict(enumerate(p["slice_sizes"]))
        dimensions = tuple(range(len(shape)))
    elif name == "dynamic_update_slice":
        sizes = dict(enumerate(equation.invars[1].aval.shape))
        dimensions = tuple(range(len(shape)))
    elif name == "gather":
        sizes = dict(enumerate(p["slice_sizes"]))
        dimensions = p["dimension_numbers"].start_index_map
    else:
        numbers = p["dimension_numbers"]
        single = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        window = [d for d in range(len(shape)) if d not in single]
        update = equation.invars[2].aval.shape
        spans = [update[d] for d in numbers.update_window_dims]
        sizes = {**dict.fromkeys(single, 1), **dict(zip(window, spans, strict=True))}
        dimensions = numbers.scatter_dims_to_operand_dims
    return [(d, shape[d] - sizes[d]) for d in dimensions]


def _index_variables(equation: Any) -> list[Any]:
    name = equation.primitive.name
    first = {"dynamic_slice": 1, "dynamic_update_slice": 2}.get(name)
    return [equation.invars[1]] if first is None else list(equation.invars[first:])


def _indices(equation: Any, values: Sequence[Any]) -> Any:
    """Return the indices of an equation, a column a dimension."""
    name = equation.primitive.name
    if not name.startswith("dynamic"):
        return values[1]
    starts = values[1:] if name == "dynamic_slice" else values[2:]
    return jnp.stack([jnp.asarray(start).astype(jnp.int32) for start in starts])


def _wants(equation: Any, around: Around) -> bool:
    if not _kind(equation.primitive.name) or not _limits(equation):
        return False
    if all(isinstance(v, Literal) for v in _index_variables(equation)):
        starts = [int(v.val) for v in _index_variables(equation)]
        if all(0 <= i <= top for i, (_, top) in zip(starts, _limits(equation), strict=False)):
            return False
    return 0 not in _index_variables(equation)[0].aval.shape and _is_meant(equation, around)


def _read(equation: Any, values: Sequence[Any], outputs: list[Any]) -> Reading:
    indices = _indices(equation, values)
    where = indices.astype(jnp.int32)
    greatest = jnp.array([limit for _, limit in _limits(equation)], jnp.int32)
    bad = (where < 0) | (where > greatest)
    if jnp.issubdtype(indices.dtype, jnp.unsignedinteger):
        bad = indices > greatest.astype(indices.dtype)
    return Reading(bad, where)


def _is_meant(equation: Any, around: Around) -> bool:
    """Whether the user's own indexing made the equation, and without saying what should happen."""
    entry = around.entry(equation)
    name = plain(entry)
    if entry is not None and name not in _INDEXING:
        return False
    place = around.place(equation)
    return name == "getitem" or not (place and says_mode(place))


def says_mode(place: Place) -> bool:
    """Whether the statement at a place passes `mode=`, or unpacks options into an `.at[…]`."""
    lines = linecache.getlines(place.file)
    for first, last, unpacks in _statements("".join(lines)):
        if first <= place.line <= last:
            text = "".join(lines[first - 1 : last])
            return unpacks or re.search(r"\bmode\s*=", text) is not None
    return re.search(r"\bmode\s*=", place.text) is not None


@functools.lru_cache(maxsize=64)
def _statements(source: str) -> list[tuple[int, int, bool]]:
    """Return first and last line, and `_unpacks`, of a source's statements, the shortest first."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell with a magic
        return []
    simple = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    spans = {(node.lineno, node.end_lineno or node.lineno, _unpacks(node)) for node in simple}
    return sorted(spans, key=lambda span: span[1] - span[0])


def _unpacks(statement: ast.stmt) -> bool:
    """Whether it has a call such as `x.at[i].set(1, **options)`."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="at"))),
                keywords=keywords,
            ) if any(keyword.arg is None for keyword in keywords):
                return True
    return False


def _spoil(equation: Any, values: Sequence[Any], outputs: list[Any]) -> list[Any]:
    """Put NaN, or an absurd number, in place of what was read out of bounds."""
    name, kind = equation.primitive.name, outputs[0].dtype
    if name not in _READS or not jnp.issubdtype(kind, jnp.number):
        return outputs
    whole = jnp.issubdtype(kind, jnp.integer)
    absurd = min(12345, np.iinfo(kind).max) if whole else math.nan
    if name == "gather":
        fill = lax.GatherScatterMode.FILL_OR_DROP
        return _jax_compat.bind(equation, values, mode=fill, fill_value=absurd)
    limits = jnp.array([limit for _, limit in _limits(equation)], jnp.int32)
    if not limits.size:
        return outputs
    starts = _indices(equation, values)
    return [jnp.where(jnp.any((starts < 0) | (starts > limits)), absurd, outputs[0]).astype(kind)]


out_of_bounds.probe = Probe("out_of_bounds", _wants, _read, _spoil)
