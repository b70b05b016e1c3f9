"""Conversions between types of numbers that lose the value, which JAX makes in silence."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, is_users
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.probes import Around, Probe, Reading, Site, made_by_library, plain
from jaxbits._finding import Finding

_iinfo: Any = jnp.iinfo
_finfo: Any = jnp.finfo
_ASKED = {"astype", "asarray", "array", "call", "convert_element_type", "full", "full_like"}
_VISIBLE = {"cumsum", "cumprod", "where", "clip"}
_WITH_NUMBERS_WORDS = "add sub mul div rem max min lt le gt ge eq ne select_n pow and or xor"
_WITH_NUMBERS = frozenset(_WITH_NUMBERS_WORDS.split())
_WITH_NUMBERS |= {"scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max"}
_FIX = "bring the values into range first (`jnp.clip`, `jnp.nan_to_num`), or take a wider type"


@detector
def cast(subject: Subject) -> Iterator[Finding]:
    """Find conversions whose values do not fit the new type: every one of a run, with its line.

    A float out of an integer's range, or NaN; an integer that a narrower one cannot hold; a
    negative number made unsigned; a float that a half cannot hold; whole numbers too great for a
    float to tell apart. It reads the values of these arguments, inside of loops and branches too.
    A conversion whose bad values are masked afterwards is a note; a fraction that `astype` cuts off
    is taken to be meant. Nothing of JAX's comes close: `jax_numpy_dtype_promotion="strict"` sees
    types, not values, and says nothing of `astype`.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.cast(lambda x: x.astype(jnp.int32), jnp.array([1.5, 3e10]))[0]
    >>> found.message, found.evidence
    ('float32 to int32: values that do not fit', '1 value, 3e+10')
    >>> detect.cast(lambda x: x.astype(jnp.int32), jnp.array([1.5, 2.5]))
    []
    """
    observed = subject.observed
    for site in observed.of("cast") if observed else ():
        yield _finding(site, observed is not None and site.number in observed.masked)
    for place, message in complaints(subject, "in cast"):
        yield Finding("cast", "error", f"NumPy: {message}", "while tracing", _FIX, place)
    yield from _numbers(subject)


def complaints(subject: Subject, said: str) -> list[tuple[Place, str]]:
    """Return the warnings of NumPy's that were given in a user's line, with this in their text."""
    found: dict[tuple[Place, str], None] = {}
    for warning in subject.trace.seen.complaints:
        message = str(warning.message)
        if re.search(said, message) and is_users(warning.filename):
            found[Place(warning.filename, warning.lineno), message] = None
    return list(found)


def values_seen(site: Site) -> str:
    """Return in words how many values were bad, and from where to where they reach."""
    low, high = f"{site.low:.6g}", f"{site.high:.6g}"
    many = "value" if site.count == 1 else "values"
    return f"{site.count} {many}, {low}" + (f" to {high}" if high != low else "")


def _finding(site: Site, masked: bool) -> Finding:
    old, new = _types(site.equation)
    evidence = values_seen(site)
    if "nan" in evidence or "inf" in evidence:
        evidence = f"{site.count} {'value' if site.count == 1 else 'values'}, NaN or infinite"
    change = f"{old} to {new}"
    if masked:
        message = f"{change}: values that do not fit, but do not reach the result"
        return Finding("cast", "note", message, evidence, "none needed", site.place)
    if _kind(site.equation) == "fine":
        message = f"{change}: whole numbers that it cannot tell apart"
        fix = "keep them integers, or take a float with more digits"
        bit = "integers-become-halves"
        return Finding("cast", "warning", message, evidence, fix, site.place, bit)
    if _kind(site.equation) == "complex":
        fix = "say what is meant: `x.real` or `jnp.abs(x)`"
        return Finding(
            "cast", "warning", f"{change}: imaginary parts are dropped", evidence, fix, site.place
        )
    if _sets(site.equation) and jnp.issubdtype(old, jnp.floating):
        message = f"{change}, in an update with `.at`: values that do not fit"
        fix, bit = "update a float array, or round what you put in", "float-into-int-update"
        return Finding("cast", "error", message, evidence, fix, site.place, bit)
    message, bit = f"{change}: values that do not fit", "cast-stops-or-wraps"
    return Finding("cast", "error", message, evidence, _FIX, site.place, bit)


def _types(equation: Any) -> tuple[jnp.dtype, jnp.dtype]:
    return equation.invars[0].aval.dtype, jnp.dtype(equation.params["new_dtype"])


def _kind(equation: Any) -> str:
    """Return what can be lost: "range", "fine", "complex", or nothing."""
    if equation.primitive.name != "convert_element_type":
        return ""
    old, new = _types(equation)
    if any(jnp.issubdtype(t, jax.dtypes.extended) or t == jnp.bool_ for t in (old, new)):
        return ""
    if jnp.issubdtype(old, jnp.complexfloating):
        return "" if jnp.issubdtype(new, jnp.complexfloating) else "complex"
    if jnp.issubdtype(new, jnp.integer):
        if jnp.issubdtype(old, jnp.floating):
            return "range"
        a, b = _iinfo(old), _iinfo(new)
        return "range" if a.max > b.max or a.min < b.min else ""
    if not jnp.issubdtype(new, jnp.floating):
        return ""
    if jnp.issubdtype(old, jnp.floating):
        return "range" if float(_finfo(old).max) > float(_finfo(new).max) else ""
    signed = jnp.issubdtype(old, jnp.signedinteger) or old.itemsize < 4
    return "fine" if signed and old.itemsize * 8 - 1 > _finfo(new).nmant + 1 else ""


def _wants(equation: Any, around: Around) -> bool:
    kind = _kind(equation)
    if not kind or made_by_library(equation, around):
        return False
    if around.library and plain(around.library[0]) not in _VISIBLE:
        return False
    asked = plain(around.entry(equation)) in _ASKED or around.entry(equation) is None
    return asked if kind == "fine" else True


def _read(equation: Any, values: Sequence[Any], outputs: list[Any]) -> Reading:
    x, out = jnp.asarray(values[0]), outputs[0]
    if _kind(equation) == "complex":
        return Reading(x.imag != 0, jnp.abs(x.imag))
    if jnp.issubdtype(out.dtype, jnp.floating):
        if jnp.issubdtype(x.dtype, jnp.floating):
            return Reading(jnp.isfinite(x) & ~jnp.isfinite(out), x)
        return Reading(out.astype(x.dtype) != x, x)
    limits = _iinfo(out.dtype)
    if jnp.issubdtype(x.dtype, jnp.floating):
        low, high = float(limits.min), 2.0 ** (limits.bits - (limits.min < 0))
        wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        bad = ~((wide < high) & ((wide > low - 1) | (wide == low)))
        if equation.params.get("weak_type") is False and _sets(equation):
            bad |= wide != jnp.trunc(wide)
        return Reading(bad, wide)
    had = _iinfo(x.dtype)
    bad = jnp.zeros(x.shape, bool)
    if had.max > limits.max:
        bad |= x > jnp.asarray(limits.max, x.dtype)
    if had.min < limits.min:
        bad |= x < jnp.asarray(limits.min, x.dtype)
    return Reading(bad, x)


def _sets(equation: Any) -> bool:
    """Whether the conversion ends an `x.at[i].set(v)` of integers with a float."""
    return (Around().entry(equation) or "").startswith("_IndexUpdateRef")


def _spoil(equation: Any, values: Sequence[Any], outputs: list[Any]) -> list[Any]:
    out = outputs[0]
    bad = _read(equation, values, outputs).bad
    other = ~out if jnp.issubdtype(out.dtype, jnp.integer) else jnp.full_like(out, jnp.nan)
    return [jnp.where(bad, other, out)]


cast.probe = Probe("cast", _wants, _read, _spoil, jnp.float32)


def _numbers(subject: Subject) -> Iterator[Finding]:
    """Find Python's numbers that were too great for a small type: `x + 300` in uint8 adds 44."""
    program = subject.trace.program
    for equation, place in jaxpr_utils.placed(program) if program else ():
        if equation.primitive.name not in _WITH_NUMBERS:
            continue
        for variable in equation.invars:
            aval: Any = variable.aval
            kind = getattr(aval, "dtype", None)
            if not isinstance(variable, Literal) or kind is None or kind.itemsize > 2:
                continue
            if not jnp.issubdtype(kind, jnp.integer) or aval.shape or place is None:
                continue
            limits, became = _iinfo(kind), int(variable.val)
            written = _written(place.text)
            for number in written if became not in written else ():
                fits = limits.min <= number <= limits.max
                if not fits and (number - became) % 2**limits.bits == 0:
                    message = f"the number {number} does not fit {kind}"
                    fix = "convert the array to a wider type first"
                    evidence, bit = f"it became {became}", "uint8-wraps"
                    yield Finding("cast", "error", message, evidence, fix, place, bit)


@functools.lru_cache(maxsize=1024)
def _written(text: str) -> set[int]:
    """Return the whole numbers that stand in a line, also as `2**20` or `-1`."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):  # a part of a statement
        return {int(number) for number in re.findall(r"(?<![\w.])-?\b\d{1,30}\b(?![.\w])", text)}
    found = [_whole(node) for node in nodes if isinstance(node, ast.expr)]
    return {number for number in found if number is not None}


def _whole(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return int(number)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            positive = _whole(inner)
            return None if positive is None else -positive
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _whole(left), _whole(right)
            if a is None or b is None or abs(a) > 2**64 or not 0 <= b <= 2**64:
                return None
            if isinstance(op, (ast.Pow, ast.LShift)):
                return a**b if isinstance(op, ast.Pow) and b < 65 else a << min(b, 64)
            return {ast.Add: a + b, ast.Sub: a - b, ast.Mult: a * b}.get(type(op))
    return None
