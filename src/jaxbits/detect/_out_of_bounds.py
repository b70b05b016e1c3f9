"""The detector `out_of_bounds`: out-of-bounds reads and writes, which JAX silently alters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal

from jaxbits import _jax_compat
from jaxbits._analysis.call_context import CallContext, unqualified_name
from jaxbits._analysis.code_location import location_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.indexing_functions import (
    FILLED_READ,
    INDEXING_FUNCTIONS,
    is_filled_read,
)
from jaxbits._analysis.probes import Measurement, Probe, Site, contradict
from jaxbits._analysis.sentinel_indices import SentinelIndices
from jaxbits._analysis.source.mode_argument import has_mode_argument, promises_in_bounds

_FIX = "correct the index, or say what you mean: `.at[i].get(mode='fill')`, `mode='drop'`"
_DROP_FIX = "write with `mode='drop'`, which says that this is meant"
_SEGMENT_FIX = "pass `mode='drop'` to the segment function, which says that this is meant"
_WINDOW_FIX = (
    "correct the start, or index each position by itself, as in `x.at[start + jnp.arange(size)]`"
)
_READ_PRIMITIVES = {"gather", "dynamic_slice"}
_WRITE_PRIMITIVES = {"scatter", "dynamic_update_slice"}


def _kind(primitive: str) -> str:
    if primitive in _READ_PRIMITIVES:
        return "read"
    write = primitive in _WRITE_PRIMITIVES or primitive.startswith("scatter")
    return "write" if write else ""


def _limits(equation: Any) -> list[tuple[int, int]]:
    """Return (dimension, largest valid index) for each column of an equation's indices."""
    params, name = equation.params, equation.primitive.name
    shape = equation.invars[0].aval.shape
    if name == "dynamic_slice":
        sizes = dict(enumerate(params["slice_sizes"]))
        dimensions = tuple(range(len(shape)))
    elif name == "dynamic_update_slice":
        sizes = dict(enumerate(equation.invars[1].aval.shape))
        dimensions = tuple(range(len(shape)))
    elif name == "gather":
        sizes = dict(enumerate(params["slice_sizes"]))
        dimensions = params["dimension_numbers"].start_index_map
    else:
        numbers = params["dimension_numbers"]
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


def _indices(equation: Any, inputs: Sequence[Any]) -> Any:
    """Return the indices of an equation, with one column for each indexed dimension."""
    name = equation.primitive.name
    if not name.startswith("dynamic"):
        return inputs[1]
    starts = inputs[1:] if name == "dynamic_slice" else inputs[2:]
    return jnp.stack([jnp.asarray(start).astype(jnp.int32) for start in starts])


def _selects(equation: Any, context: CallContext) -> bool:
    if not _kind(equation.primitive.name) or not _limits(equation):
        return False
    if all(isinstance(v, Literal) for v in _index_variables(equation)):
        starts = [int(v.val) for v in _index_variables(equation)]
        if all(0 <= i <= top for i, (_, top) in zip(starts, _limits(equation), strict=False)):
            return False
    return 0 not in _index_variables(equation)[0].aval.shape and _is_unguarded_indexing(
        equation, context
    )


def _measure(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> Measurement:
    indices = _indices(equation, inputs)
    positions = indices.astype(jnp.int32)
    largest = jnp.array([limit for _, limit in _limits(equation)], jnp.int32)
    bad = (positions < 0) | (positions > largest)
    if jnp.issubdtype(indices.dtype, jnp.unsignedinteger):
        bad = indices > largest.astype(indices.dtype)
    return Measurement(bad, positions)


def _is_unguarded_indexing(equation: Any, context: CallContext) -> bool:
    """Return whether user code indexes an array without specifying what happens out of bounds."""
    entry = context.library_entry(equation)
    name = unqualified_name(entry)
    if entry is not None and name not in INDEXING_FUNCTIONS:
        return False
    if name == "getitem" or _promises(equation, context):
        return True
    return not _has_mode_argument(equation, context)


def _has_mode_argument(equation: Any, context: CallContext) -> bool:
    origin = context.origin(equation)
    location = None if origin is None else location_of(origin)
    if location is None:
        return False
    return has_mode_argument(location, _jax_compat.call_end(origin, location.file))


def _promises(equation: Any, context: CallContext) -> bool:
    """Return whether the program promises that all indices are in bounds."""
    if "mode" in equation.params:
        return bool(equation.params["mode"] == lax.GatherScatterMode.PROMISE_IN_BOUNDS)
    location = context.location(equation)  # JAX turns a single index into a dynamic slice.
    return location is not None and promises_in_bounds(location)


def _corrupt(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> list[Any]:
    """Replace each value that was read out of bounds, and move each write that was out of bounds.

    A write that is dropped goes to the nearest place instead, and a write whose start is moved is
    dropped. The results stay the same if zeros are added, as in the gradient of a masked read.
    """
    name, kind = equation.primitive.name, outputs[0].dtype
    if name == "dynamic_update_slice":
        is_bad = jnp.any(_measure(equation, inputs, outputs).bad)
        return [jnp.where(is_bad, inputs[0], outputs[0])]
    if _kind(name) == "write" and jnp.issubdtype(kind, jnp.number):
        return _jax_compat.bind(equation, inputs, mode=lax.GatherScatterMode.CLIP)
    if name not in _READ_PRIMITIVES or not jnp.issubdtype(kind, jnp.number):
        return outputs
    if name == "gather":
        fill = lax.GatherScatterMode.FILL_OR_DROP
        ones = [jnp.ones_like(inputs[0]), *inputs[1:]]
        is_outside = _jax_compat.bind(equation, ones, mode=fill, fill_value=0)[0] == 0
    else:
        limits = jnp.array([limit for _, limit in _limits(equation)], jnp.int32)
        if not limits.size:
            return outputs
        starts = _indices(equation, inputs)
        is_outside = jnp.any((starts < 0) | (starts > limits))
    if jnp.issubdtype(kind, jnp.integer):
        implausible: Any = min(12345, np.iinfo(kind).max)
    else:
        implausible = contradict(outputs[0])
    return [jnp.where(is_outside, implausible, outputs[0]).astype(kind)]


_PROBE = Probe(_selects, _measure, _corrupt)


@detector(probes=[_PROBE], needs="values")
def out_of_bounds(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find reads and writes outside an array.

    The detector runs the program again and counts the bad indices in each gather, scatter, and
    dynamic slice. It reports all of them with their lines, including those inside `jit`, `vmap`,
    `grad`, `scan`, `while_loop`, and `cond`. It reports only a note for a read that never reaches
    the result, for a write that does not change it, for the segment -1 of `jax.ops.segment_sum`,
    and for a write to the index `n` of an array of `n` elements if a `jnp.where` chooses this
    index. JAX drops what the last two write. It assumes that
    lines with a `mode=` argument are intended, unless the mode is `promise_in_bounds` and an index
    breaks this promise. The detector cannot see indices that do not occur
    with these arguments. It also cannot see a label outside the range of `one_hot`, a clamped
    `switch` index, or an index that has already wrapped around in a small integer dtype.
    `checkify.index_checks` comes closest, but it stops at the first error and also reports masked
    reads.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> x = jnp.arange(10.0)
    >>> found = detect.out_of_bounds(lambda x, i: x[i].sum(), x, jnp.array([3, 10, 12]))[0]
    >>> found.message, found.evidence
    ('read out of bounds: it is clamped or filled', '2 indices outside 0…9, 10 to 12')
    >>> detect.out_of_bounds(lambda x, i: x[i].sum(), x, jnp.array([3, -1]))
    []
    """
    sentinels: SentinelIndices | None = None
    for site, is_masked in target.bad_sites(_PROBE):
        is_dropped = False
        if not is_masked and target.trace.program is not None and _drops(site):
            sentinels = sentinels or SentinelIndices(target.trace.program)
            is_dropped = _means_no_segment(site) or sentinels.explain(
                site, [d for d, _ in _limits(site.equation)]
            )
        yield _finding(site, is_masked, is_dropped)


def _drops(site: Site) -> bool:
    """Return whether JAX drops the bad indices of a write, or of the gradient of a write.

    The gradient of a scatter is a gather that fills what is out of bounds with zeros.
    """
    equation, is_backward = site.equation, site.context.is_transposed(site.equation)
    name, mode = equation.primitive.name, str(equation.params.get("mode"))
    return "FILL" in mode and (name == "gather" if is_backward else name.startswith("scatter"))


def _means_no_segment(site: Site) -> bool:
    """Return whether all bad indices are the segment -1, which usually stands for no segment.

    The functions for segments document that they drop what is out of bounds:
    https://docs.jax.dev/en/latest/_autosummary/jax.ops.segment_sum.html
    """
    return _is_segment(site) and int(site.low) == int(site.high) == -1


def _is_segment(site: Site) -> bool:
    name = unqualified_name(site.context.library_entry(site.equation)) or ""
    return name.startswith("segment_")


def _finding(site: Site, is_masked: bool, is_dropped: bool) -> Finding:
    """Return the finding about bad indices.

    Args:
        site: The equation with the bad indices.
        is_masked: Whether they do not change the result.
        is_dropped: Whether the program seems to choose them so that JAX drops the writes.
    """
    name = site.equation.primitive.name
    kind = _kind(name)
    limits = sorted({limit for _, limit in _limits(site.equation)})
    limits = [limit for limit in limits if limit] or limits  # The start of a whole axis is 0.
    valid = " or ".join(f"0…{limit}" for limit in limits)
    low, high = int(site.low), int(site.high)
    values = f"{low} to {high}" if low != high else f"{low}"
    is_counted = low < 0 and not _is_segment(site)
    origin = ", after negative ones were counted from the end" if is_counted else ""
    noun = "index" if site.count == 1 else "indices"
    evidence = f"{site.count} {noun} outside {valid}, {values}{origin}"
    is_gradient = kind == "write" and _is_in_gradient(site)
    catalogue_id = _catalogue_id(site.equation, is_gradient)
    if is_gradient:
        kind, effect = "read", "its gradient is dropped or goes to another element"
    else:
        effect = "the start is moved" if name.startswith("dynamic") else "it is dropped"
        effect = "it is clamped or filled" if name == "gather" else effect
    if _promises(site.equation, site.context) and _has_mode_argument(site.equation, site.context):
        effect = "JAX does not guarantee any result, because of `mode='promise_in_bounds'`"
        catalogue_id = "promise-in-bounds" if kind == "read" else catalogue_id
    if is_masked:
        what = "what is read does not reach" if kind == "read" else "the write does not change"
        message = f"{kind} out of bounds, but {what} the result"
        return Finding("note", message, evidence, "none needed", site.location, catalogue_id)
    if is_dropped and low < 0:
        message = "the segment -1 does not exist, so that JAX drops what belongs to it"
        return Finding("note", message, evidence, _SEGMENT_FIX, site.location, catalogue_id)
    if is_dropped:
        message = "a `where` chooses an index outside the array, so that JAX drops the write"
        return Finding("note", message, evidence, _DROP_FIX, site.location, catalogue_id)
    return Finding(
        "error",
        f"{kind} out of bounds: {effect}",
        evidence,
        _WINDOW_FIX if catalogue_id == "dynamic-slice-shifts" else _FIX,
        site.location,
        catalogue_id,
        subject=FILLED_READ if is_filled_read(site.equation) else "",
    )


def _is_in_gradient(site: Site) -> bool:
    """Return whether an equation belongs to a backward pass, but not to what it computes again.

    Inside a jitted function, only the call has the name of the transformation. What
    `jax.checkpoint` computes again is a part of the forward pass.
    """
    stacks = [_jax_compat.name_stack(e) for e in (site.equation, *site.context.callers)]
    is_recomputed = any("rematted_computation" in stack for stack in stacks)
    return "transpose(" in stacks[0] or (
        not is_recomputed and site.context.is_transposed(site.equation)
    )


def _catalogue_id(equation: Any, is_gradient: bool) -> str:
    """Return the id of the catalogue entry for an equation that indexes out of bounds.

    Args:
        equation: The equation.
        is_gradient: Whether it is the gradient of a read.
    """
    name, shape = equation.primitive.name, equation.invars[0].aval.shape
    if name == "dynamic_update_slice" and not is_gradient:
        return "dynamic-slice-shifts"
    if name.startswith("dynamic"):  # A plain `x[i]` is also one, with a single element or row.
        is_read = name == "dynamic_slice"
        window = equation.params["slice_sizes"] if is_read else equation.invars[1].aval.shape
        shifts = any(1 < size < length for size, length in zip(window, shape, strict=True))
        return "dynamic-slice-shifts" if shifts else "out-of-bounds-read"
    if _kind(name) == "write":
        return "out-of-bounds-read" if is_gradient else "out-of-bounds-write"
    return "take-fills" if is_filled_read(equation) else "out-of-bounds-read"
