"""The detector `x64`: 64-bit numbers that JAX truncates to 32 bits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from jaxbits._analysis import int64_inputs
from jaxbits._analysis.code_location import CodeLocation, location_of_error
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding, Severity
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.tracing_errors import error_signature
from jaxbits._formatting import first_line

_MAX_ERROR = 0.05
_EXACT_INTEGERS = (2.0**24, 2.0**53)
_MAX_COMPARED, _MAX_DIFFERENCE_ERROR = 100_000, 0.05
_ROUNDED_FIX = "none needed; make it float32 where it is created to see the rounding in the code"
_FIX = (
    "`jax.config.update('jax_enable_x64', True)` at the start, or use numbers that fit into 32 bits"
)
_TOO_LARGE = re.compile("too large to convert|overflow was encountered|out of bounds for")


@detector(reads=["program", "state"])
def x64(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find 64-bit numbers that lose information when JAX converts them to 32 bits with x64 off.

    The detector examines arguments, captured NumPy arrays, NumPy numbers in the code, and Python
    integers that need more than 32 bits. It also reports dtypes that the code requests but does not
    get. It compares values, so numbers that fit into 32 bits are not findings, and it reports the
    usual rounding of float64 values only as a note. It warns if float32 changes a number visibly,
    if it makes different numbers equal, or if it changes the differences between neighbors by more
    than 5%. It cannot see 32-bit computations that need 64 bits, and it cannot see NumPy values
    that functions in other files create. JAX has no switch that reports these losses, although
    ``jax_enable_x64`` avoids all of them. The closest equivalent is the warning that JAX issues
    only if code requests a 64-bit dtype by name, which ``warnings.filterwarnings("error")`` turns
    into an error.

    >>> import jax.numpy as jnp, numpy as np
    >>> from jaxbits import detect
    >>> found = detect.x64(lambda n: jnp.asarray(n) // 2, np.array([3_000_000_000, 1]))[0]
    >>> found.message, found.evidence
    ('args[0] (int64) does not fit 32 bits', '1 of 2 changes: 3000000000 becomes -1294967296')
    >>> detect.x64(lambda n: jnp.asarray(n) // 2, np.array([3, 1]))
    []
    """
    if jax.config.read("jax_enable_x64"):
        return
    yield from _refused_integers(target)
    yield from _unavailable_dtypes(target)
    reported: list[Any] = []
    rounded: list[Finding] = []
    arguments = (list(target.args), target.kwargs)
    for path, leaf in jax.tree_util.tree_leaves_with_path(arguments, is_leaf=is_iterator):
        loss = _loss_of(leaf) if type(leaf) is float or int64_inputs.is_wide(leaf) else None
        if path[0].idx == 0:
            label = f"args{jax.tree_util.keystr(path[1:])}"
        else:
            label = f"{path[1].key}{jax.tree_util.keystr(path[2:])}"
        if loss is not None and loss.severity:
            yield _finding(label, leaf, loss)
        elif loss is not None and type(leaf) is not float:
            rounded.append(_finding(label, leaf, loss))
    if rounded:
        yield replace(rounded[0], count=len(rounded))
    for name, value, location in int64_inputs.captured_values(target):
        loss = _loss_of(value)
        if loss is not None and loss.severity:
            reported.append(np.asarray(value))
            yield _finding(f"`{name}`", value, loss, location)
    for number, location in int64_inputs.float_literals(target):
        loss = _loss_of(number)
        if loss is not None and loss.severity:
            text = f"{loss.text}, where it meets an array"
            yield _finding("a number", number, _Loss(text, "warning"), location)
    for value, location in int64_inputs.wide_constants(target):
        loss = _loss_of(value)
        seen = any(np.array_equal(value, earlier) for earlier in reported)
        if loss is not None and loss.severity and not seen:
            yield _finding("a NumPy constant", value, loss, location)


@dataclass(frozen=True)
class _Loss:
    """What a value loses in 32 bits. The severity is None for a float that is merely rounded."""

    text: str
    severity: Severity | None = None


def _loss_of(value: Any) -> _Loss | None:
    array = np.asarray(value).reshape(-1)
    if array.dtype.kind == "c":
        array = np.concatenate([array.real, array.imag])
    with np.errstate(all="ignore"):
        narrowed = array.astype(int64_inputs.NARROWED[array.dtype.name]).astype(array.dtype)
    changed = (narrowed != array) & ~((array != array) & (narrowed != narrowed))
    count = int(changed.sum())
    if not count:
        return None
    if array.dtype.kind in "iu":
        return _Loss(_describe_changes(array, narrowed, changed), "error")
    size = np.abs(array)
    corrupted = changed & (np.abs(narrowed - array) > 1e-6 * size)
    if corrupted.any():
        return _Loss(_describe_changes(array, narrowed, corrupted), "error")
    # Find large values that are no longer exact integers or have lost their fractional part.
    large = changed & (size > _EXACT_INTEGERS[0]) & (size < _EXACT_INTEGERS[1])
    large |= changed & (size <= _EXACT_INTEGERS[0]) & (np.abs(narrowed - array) > _MAX_ERROR)
    if large.any():
        return _Loss(_describe_changes(array, narrowed, large), "warning")
    sample, narrowed_sample = array[:_MAX_COMPARED], narrowed[:_MAX_COMPARED]
    collisions = len(np.unique(_without_noise(sample))) - len(np.unique(narrowed_sample))
    n = len(sample)
    # About n**2 / 2**24 of n random float64 values collide as float32, so warn only about more.
    if collisions > max(0 if n < 100 else n / 100, 8 * n * n / 2**24):
        return _Loss(f"{collisions} of {n} values become equal", "warning")
    error = _difference_error(sample, narrowed_sample)
    if error > _MAX_DIFFERENCE_ERROR:
        return _Loss(f"differences between neighbors change by {error:.0%}", "warning")
    return _Loss(_describe_changes(array, narrowed, changed))


def _without_noise(array: Any) -> Any:
    """Round float64 values to 40 bits, because the last bits often are rounding errors themselves.

    >>> bool(_without_noise(np.array(0.1 + 0.2)) == _without_noise(np.array(0.3)))
    True
    """
    mantissa, exponent = np.frexp(array)
    with np.errstate(all="ignore"):
        return np.ldexp(np.round(mantissa * 2.0**40), exponent - 40)


def _difference_error(array: Any, narrowed: Any) -> float:
    """Return the median relative error of the differences between neighbors, or 0.0 without any.

    Readings that are close together, such as a time series that does not start at 0, lose most of
    these differences if they share many leading digits.
    """
    with np.errstate(all="ignore"):
        differences = np.diff(array)
        errors = np.abs(np.diff(narrowed) - differences)
        is_change = np.isfinite(differences) & (differences != 0)
        relative = errors[is_change] / np.abs(differences[is_change])
    return float(np.median(relative)) if relative.size else 0.0


def _describe_changes(array: Any, narrowed: Any, where: Any) -> str:
    first = int(np.argmax(where))
    number = str if array.dtype.kind in "iu" else (lambda x: f"{x:.17g}")
    count = int(where.sum())
    changes = "change" if count > 1 else "changes"
    before, after = number(array[first]), number(narrowed[first])
    return f"{count} of {array.size} {changes}: {before} becomes {after}"


def _finding(name: str, value: Any, loss: _Loss, location: CodeLocation | None = None) -> Finding:
    dtype = getattr(value, "dtype", None) or "a Python float"
    severity = loss.severity or "note"
    statement = "does not fit 32 bits" if loss.severity else "is rounded to 32 bits"
    catalogue_id = "int64-array-cut" if np.asarray(value).dtype.kind in "iu" else "float64-cut"
    fix = _FIX if loss.severity else _ROUNDED_FIX
    return Finding(
        severity, f"{name} ({dtype}) {statement}", loss.text, fix, location, catalogue_id
    )


def _refused_integers(target: FunctionUnderTest) -> Iterator[Finding]:
    """Yield a finding if JAX refused to convert an integer to 32 bits."""
    for error in target.errors:
        if isinstance(error, OverflowError) and _TOO_LARGE.search(str(error)):
            if error is target.trace.strict_error and target.is_jitted:
                continue  # The integer is a static argument.
            large = [
                leaf
                for leaf in jax.tree.leaves((target.args, target.kwargs), is_leaf=is_iterator)
                if type(leaf) is int and not -(2**31) <= leaf < 2**32
            ]
            statement = f"{large[0]} is more than 2**31 - 1" if large else first_line(error, 120)
            yield Finding(
                "error",
                "an integer does not fit 32 bits, and JAX raises",
                statement[:120],
                _FIX,
                location_of_error(error.__traceback__),
                "int64-array-cut",
                explains=error_signature(error),
            )
            return


def _unavailable_dtypes(target: FunctionUnderTest) -> Iterator[Finding]:
    """Yield a finding for each dtype that the code requests but, as JAX warns, does not get."""
    seen: set[Any] = set()
    for warning in target.trace.log.caught_warnings:
        statement = re.search(
            r"requested dtype (\S+)[\s\S]*truncated to dtype (\S+?)\.", warning.text
        )
        if statement is None or (statement[1], warning.place) in seen:
            continue
        seen.add((statement[1], warning.place))
        requested = re.sub(r"<class '[\w.]*?(\w+)'>", r"\1", statement[1])
        if warning.is_from_library:
            yield Finding(
                "note",
                f"a library requests {requested}, but gets {statement[2]}",
                "jax_enable_x64 is off",
                "none needed if 32 bits are enough here, or else "
                "`jax.config.update('jax_enable_x64', True)` at the start",
                warning.place,
                "float64-cut",
            )
            continue
        yield Finding(
            "warning",
            f"{requested} was requested, but {statement[2]} is what you get",
            "jax_enable_x64 is off",
            f"request {statement[2]}, or `jax.config.update('jax_enable_x64', True)` at the start",
            warning.place,
            "float64-cut",
        )
