"""Numbers of 64 bits that JAX cuts to 32."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxbits._analysis import int64_inputs
from jaxbits._analysis.code_location import Place, is_users, place_of_error
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._finding import Finding, Severity

_FRACTION = 0.05
_WHOLE = (2.0**24, 2.0**53)
_FEW, _MOST = 16, 100_000
_FIX = "`jax.config.update('jax_enable_x64', True)` at the start, or numbers that 32 bits can hold"
_TOO_LARGE = re.compile("too large to convert|overflow was encountered|out of bounds for")


@detector
def x64(subject: Subject) -> Iterator[Finding]:
    """Find 64-bit numbers that lose something when JAX makes them 32-bit, with x64 off.

    Arguments, captured NumPy arrays, NumPy's numbers in the code, Python's integers beyond 32
    bits, and dtypes that were asked for and not given. It goes by value: numbers that 32 bits hold
    are no finding, the usual rounding of many float64 is a note. It cannot see what is computed in
    32 bits and should not be, nor NumPy values that other files make. Nothing in JAX looks at
    values; it warns where a 64-bit dtype is asked for by name, which
    ``warnings.filterwarnings("error")`` turns into errors, and ``jax_enable_x64`` ends it all.

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
    yield from _refused(subject)
    yield from _asked_for(subject)
    known: list[Any] = []
    given = (list(subject.args), subject.kwargs)
    for path, leaf in jax.tree_util.tree_leaves_with_path(given, is_leaf=is_iterator):
        loss = _lost(leaf) if type(leaf) is float or int64_inputs.is_wide(leaf) else None
        name = jax.tree_util.keystr(path[1:])
        label = f"args{name}" if path[0].idx == 0 else name.strip("[]'")
        if loss is not None and type(leaf) is not float:
            few = np.ndim(leaf) > 0 and np.size(leaf) <= _FEW
            yield _finding(label, leaf, loss, "warning" if few else "note")
        elif loss is not None and loss.severity:
            yield _finding(label, leaf, loss, "note")
    for name, value, place in int64_inputs.captured(subject):
        loss = _lost(value)
        if loss is not None and loss.severity:
            known.append(np.asarray(value))
            yield _finding(f"`{name}`", value, loss, "note", place)
    for number, place in int64_inputs.written(subject):
        loss = _lost(number)
        if loss is not None and loss.severity:
            text = f"{loss.text}, where it meets an array"
            yield _finding("a number", number, _Loss(text, "warning"), "note", place)
    for value, place in int64_inputs.constants(subject):
        loss = _lost(value)
        seen = any(np.array_equal(value, other) for other in known)
        if loss is not None and loss.severity and not seen:
            yield _finding("a NumPy constant", value, loss, "note", place)


@dataclass(frozen=True)
class _Loss:
    """What 32 bits do to a value; no severity where floats are rounded as all are."""

    text: str
    severity: Severity | None = None


def _lost(value: Any) -> _Loss | None:
    array = np.asarray(value).reshape(-1)
    if array.dtype.kind == "c":
        array = np.concatenate([array.real, array.imag])
    with np.errstate(all="ignore"):
        cut = array.astype(int64_inputs.NARROW[array.dtype.name]).astype(array.dtype)
    changed = (cut != array) & ~((array != array) & (cut != cut))
    count = int(changed.sum())
    if not count:
        return None
    if array.dtype.kind in "iu":
        return _Loss(_shown(array, cut, changed), "error")
    size = np.abs(array)
    broken = changed & (np.abs(cut - array) > 1e-6 * size)
    if broken.any():
        return _Loss(_shown(array, cut, broken), "error")
    # Whole numbers are no longer whole, or the fraction of a large number is gone.
    large = changed & (size > _WHOLE[0]) & (size < _WHOLE[1])
    large |= changed & (size <= _WHOLE[0]) & (np.abs(cut - array) > _FRACTION)
    if large.any():
        return _Loss(_shown(array, cut, large), "warning")
    some, same = array[:_MOST], cut[:_MOST]
    merged = len(np.unique(some)) - len(np.unique(same))
    n = len(some)
    if merged > max(0 if n < 100 else n / 100, 8 * n * n / 2**24):
        return _Loss(f"{merged} of {n} values are no longer told apart", "warning")
    return _Loss(_shown(array, cut, changed))


def _shown(array: Any, cut: Any, where: Any) -> str:
    first = int(np.argmax(where))
    number = str if array.dtype.kind in "iu" else (lambda x: f"{x:.17g}")
    count = int(where.sum())
    changes = "change" if count > 1 else "changes"
    return f"{count} of {array.size} {changes}: {number(array[first])} becomes {number(cut[first])}"


def _finding(
    name: str, value: Any, loss: _Loss, otherwise: Severity, place: Place | None = None
) -> Finding:
    kind = getattr(value, "dtype", None) or "a Python float"
    severity = loss.severity or otherwise
    said = "does not fit 32 bits" if loss.severity else "is rounded to 32 bits"
    bit = "int64-array-cut" if np.asarray(value).dtype.kind in "iu" else "float64-cut"
    return Finding("x64", severity, f"{name} ({kind}) {said}", loss.text, _FIX, place, bit)


def _refused(subject: Subject) -> Iterator[Finding]:
    """Integers that JAX refuses to make 32-bit."""
    for error in subject.errors:
        if isinstance(error, OverflowError) and _TOO_LARGE.search(str(error)):
            if error is subject.trace.strict_error and subject.is_jitted:
                continue  # a static argument
            large = [
                leaf
                for leaf in jax.tree.leaves((subject.args, subject.kwargs), is_leaf=is_iterator)
                if type(leaf) is int and not -(2**31) <= leaf < 2**32
            ]
            said = f"{large[0]} is more than 2**31 - 1" if large else str(error).splitlines()[0]
            yield Finding(
                "x64",
                "error",
                "an integer does not fit 32 bits, and JAX raises",
                said[:120],
                _FIX,
                place_of_error(error.__traceback__),
                "int64-array-cut",
            )
            return


def _asked_for(subject: Subject) -> Iterator[Finding]:
    """Dtypes that the code names and does not get; JAX warns of them."""
    seen: set[Any] = set()
    for complaint in subject.trace.seen.complaints:
        text = str(complaint.message)
        said = re.search(r"requested dtype (\S+)[\s\S]*truncated to dtype (\S+?)\.", text)
        if said is None:
            continue
        users = is_users(complaint.filename)
        place = Place(complaint.filename, complaint.lineno) if users else None
        if (said[1], place) in seen:
            continue
        seen.add((said[1], place))
        asked = re.sub(r"<class '[\w.]*?(\w+)'>", r"\1", said[1])
        yield Finding(
            "x64",
            "warning",
            f"{asked} was asked for, and {said[2]} is what it gets",
            "jax_enable_x64 is off",
            f"ask for {said[2]}, or `jax.config.update('jax_enable_x64', True)` at the start",
            place,
            "float64-cut",
        )
