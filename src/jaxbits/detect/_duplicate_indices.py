"""The detector `duplicate_indices`: repeated writes to one position, of which only one survives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbits import _jax_compat
from jaxbits._analysis.call_context import CallContext, unqualified_name
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding, Severity
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.indexing_functions import INDEXING_FUNCTIONS
from jaxbits._analysis.probes import Measurement, Probe, Site
from jaxbits._analysis.read_changes import KEPT, OTHER
from jaxbits._analysis.read_modify_write import changes_of_reads
from jaxbits._analysis.repeated_indices import (
    changes_elements,
    find_repeats,
    write_another,
    write_contradictory,
)
from jaxbits._analysis.scatter_updates import count_updates, indexed_dimensions
from jaxbits._analysis.source.at_calls import find_at_call

_WRITING_FUNCTIONS = INDEXING_FUNCTIONS | {"put"}
_ACCUMULATING = {"add", "multiply"}
_CATALOGUE_ID = "duplicate-indices"


def _overwrites(equation: Any) -> bool:
    """Return whether a scatter replaces elements. `.at[].apply` also uses this primitive."""
    return equation.primitive.name == "scatter" and equation.params.get("update_jaxpr") is None


def _selects(equation: Any, context: CallContext) -> bool:
    if not equation.primitive.name.startswith("scatter"):
        return False
    if not _overwrites(equation) and not equation.params["unique_indices"]:
        return False
    if count_updates(equation) < 2 or 0 in equation.invars[2].aval.shape:
        return False
    entry = context.library_entry(equation)
    return entry is None or unqualified_name(entry) in _WRITING_FUNCTIONS


def _measure_different(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> Measurement:
    repeats = find_repeats(equation, inputs)
    return Measurement(repeats.is_change, repeats.position)


def _measure_equal(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> Measurement:
    repeats = find_repeats(equation, inputs)
    bad = repeats.is_repeat & ~repeats.is_change
    if not equation.params["unique_indices"]:  # Otherwise, any repeated index breaks the promise.
        bad &= changes_elements(equation, inputs)
    return Measurement(bad, repeats.position)


def _applying(write: Callable[[Any, Sequence[Any]], list[Any]]) -> Callable[..., list[Any]]:
    return lambda equation, inputs, outputs: write(equation, inputs)


_DIFFERENT_PROBE = Probe(_selects, _measure_different, _applying(write_another))
_EQUAL_PROBE = Probe(_selects, _measure_equal, _applying(write_contradictory))


@detector(probes=[_DIFFERENT_PROBE, _EQUAL_PROBE], needs="values")
def duplicate_indices(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find writes to repeated indices, of which JAX keeps only one.

    The detector runs the program again and compares the indices of each scatter, including those
    inside `jit`, `vmap`, `grad`, `scan`, `while_loop`, and `cond`. If the program reads elements,
    adds to them or multiplies them, and writes them back to the same indices, as in
    `x.at[i].set(x[i] + 1)`, only one update of each repeated index survives. If the values for an
    index differ for another reason, JAX does not define which one it keeps, and the choice may
    depend on the device. Equal values are fine, unless the program promises unique indices with
    `unique_indices=True`. The detector reports only a note for a write that does not change the
    result, and for a moving average or another change that applies once to each element. It cannot
    see repeated indices that do not occur with these arguments. It also cannot see slices that
    overlap only in part. It cannot see lost updates with equal values if the program changes the
    array between the read and the write, or if it differentiates the write. JAX has no switch that
    finds repeated indices.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> counts, keys = jnp.zeros(3, int), jnp.array([0, 1, 1])
    >>> found = detect.duplicate_indices(lambda c, i: c.at[i].set(c[i] + 1), counts, keys)[0]
    >>> found.message, found.evidence
    ('updates are lost, because JAX keeps only one write to each index', '1 write repeats index 1')
    >>> detect.duplicate_indices(lambda c, i: c.at[i].add(1), counts, keys)
    []
    """
    writes: dict[Any, _Write] = {}
    for probe in (_DIFFERENT_PROBE, _EQUAL_PROBE):
        for site, is_masked in target.bad_sites(probe):
            write = writes.setdefault((id(site.equation), site.context), _Write(site))
            write.sites[probe] = site, is_masked
    program = target.trace.program
    if program is not None and writes:
        changes = changes_of_reads(program, [write.first for write in writes.values()])
        for write in writes.values():
            yield from _findings(write, changes.get(write.first.number))


@dataclass
class _Write:
    """A scatter with repeated indices.

    Attributes:
        first: One of its sites.
        sites: Its site for each probe that measured something, and whether that is masked.
    """

    first: Site
    sites: dict[Probe, tuple[Site, bool]] = field(default_factory=dict)


def _findings(write: _Write, change: str | None) -> Iterator[Finding]:
    """Yield the finding about a write, if there is one.

    Args:
        write: The write.
        change: What it does to what was read at the same indices, or None if it writes other
            values.
    """
    equation, location = write.first.equation, write.first.location
    is_promised, has_different = equation.params["unique_indices"], _DIFFERENT_PROBE in write.sites
    is_lost = change in _ACCUMULATING or (change == OTHER and has_different)
    sites = list(write.sites.values())
    evidence = _evidence(sites, equation)
    if is_promised and not is_lost:
        message = "indices repeat despite `unique_indices=True`, so the result is undefined"
        fix = "leave out `unique_indices=True`, or write each index only once"
        yield Finding("warning", message, evidence, fix, location, "false-unique-indices")
        return
    if not is_lost and not has_different:
        if change == OTHER:
            message = "equal values are written to one index, so its element changes only once"
            fix = "none needed, if that is meant"
            yield Finding("note", message, evidence, fix, location)
        return
    level: Severity = "error" if is_lost else "warning"
    if is_lost:
        message = "updates are lost, because JAX keeps only one write to each index"
    else:
        message = "different values are written to one index, and JAX may keep any of them"
        sites = [write.sites[_DIFFERENT_PROBE]]
        evidence = _evidence(sites, equation)
    if not all(is_masked for _, is_masked in sites):
        yield Finding(level, message, evidence, _fix(write, change), location, _CATALOGUE_ID)
    # To differentiate a write, JAX writes the numbers of the updates, which always differ:
    # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/slicing.py
    elif "jvp(" not in _jax_compat.name_stack(equation):
        message += ", but that does not reach the result"
        yield Finding("note", message, evidence, "none needed", location)


def _evidence(sites: Sequence[tuple[Site, bool]], equation: Any) -> str:
    """Describe how many writes repeat an index, and which indices they repeat."""
    count = sum(site.count for site, _ in sites)
    low = min(int(site.low) for site, _ in sites)
    high = max(int(site.high) for site, _ in sites)
    verb = "write repeats" if count == 1 else "writes repeat"
    if low == high:
        return f"{count} {verb} index {_index(low, equation)}"
    return f"{count} {verb} indices, from {_index(low, equation)} to {_index(high, equation)}"


def _index(position: int, equation: Any) -> str:
    """Return a position as an index, such as ``3`` or ``(:, 3)``."""
    shape, dimensions = equation.invars[0].aval.shape, indexed_dimensions(equation)
    numbers = np.unravel_index(position, [shape[d] for d in dimensions])
    found = dict(zip(dimensions, numbers, strict=True))
    parts = [str(found.get(d, ":")) for d in range(max(dimensions) + 1)]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _fix(write: _Write, change: str | None) -> str:
    """Return advice for a write to repeated indices.

    Args:
        write: The write.
        change: What it does to what was read at the same indices, or None.
    """
    call, dtype = find_at_call(write.first.location), write.first.equation.outvars[0].aval.dtype
    target, index = (call.target, call.index) if call else ("x.at[i]", "i")
    if change in (*_ACCUMULATING, "max", "min"):
        amount = call.amounts.get(change, "…") if call else "…"
        return f"`{target}.{change}({amount})`, which applies every update"
    if change == KEPT:
        return (
            f"give the rows to skip an index outside the array, `jnp.where(mask, {index}, n)`, and "
            "write with `mode='drop'`"
        )
    if change is not None:
        return (
            "combine the updates of each index first, for example with `jax.ops.segment_sum`, or "
            "apply one after the other in `jax.lax.scan`"
        )
    if not jnp.issubdtype(dtype, jnp.number):
        return "write each index only once"
    return f"write each index only once, or combine the values: `{target}.add`, `.max`, or `.min`"
