"""Operands whose dtype another operand changes, without a cast in the code."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, is_users
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._finding import Finding

_JAX = os.path.dirname(jax.__file__) + os.sep
_NUMPY = os.path.join("_src", "numpy")
_PRIVATE = ("random", "random.py", "prng.py", "indexing.py", "scatter.py", "slicing.py")
"""Files of JAX whose arithmetic is not the user's: that of generators and of indices."""

_WORDS = (
    "astype _astype asarray array sum _reduce_sum mean _mean var _var std _std nanvar "
    "nanmean average cov corrcoef owens_t prod cumsum cumprod norm softmax log_softmax logsumexp "
    "standardize isclose allclose "
    "array_equal searchsorted digitize view convert_element_type "
)
_ASKED = set(_WORDS.split())
"""Functions that change a dtype because they are asked to, or that keep it to themselves."""

_COMPARING = {"lt", "le", "gt", "ge", "eq", "ne", "sign", "is_finite"}
_PASSING = {
    *("broadcast_in_dim", "reshape", "squeeze", "slice", "transpose", "rev", "copy"),
    *("gather", "dynamic_slice", "stop_gradient", "expand_dims"),
}
_FIX = "a Python number, or the same dtype: `np.asarray(…, x.dtype)`, `y.astype(x.dtype)`"
_MOST = 500
"""So many conversions are looked at; each takes the frames that it was traced under."""

_Bounds = dict[Any, Any]


@detector
def promotion(subject: Subject) -> Iterator[Finding]:
    """Find operands that are widened because another operand has a stronger dtype.

    A NumPy number or an array of float32 that meets bfloat16 makes the rest of the program
    float32; int8 and uint8 give int16; int32 and uint32 give int32 where x64 is off. It looks for
    the conversions that JAX adds by itself: Python's numbers, `astype`, `dtype=`, comparisons and
    the insides of library functions are none. Whole numbers that become floats are reported where
    they are known to be too large for it. It cannot see what NumPy promotes before JAX, nor
    operands that `jax.lax` refuses. ``jax.numpy_dtype_promotion("strict")`` comes closest: it
    raises at the first one, also at comparisons and at integers that meet floats.

    >>> import jax.numpy as jnp, numpy as np
    >>> from jaxbits import detect
    >>> narrow = jnp.ones(4, jnp.bfloat16)
    >>> found = detect.promotion(lambda x: x / np.sqrt(8.0), narrow)[0]
    >>> found.message, found.evidence
    ('bfloat16 becomes float32, because of another operand', 'bfloat16[4] -> float32[4]')
    >>> detect.promotion(lambda x: x / 8.0, narrow)
    []
    """
    program = subject.trace.program
    if program is None:
        return
    bounds: _Bounds = {}
    for variable, value in zip(program.jaxpr.invars, subject.trace.inputs, strict=True):
        _bound(bounds, variable, value)
    seen: set[tuple[Any, ...]] = set()
    judged = (_judged(*candidate) for candidate in _walk(program, _Around(bounds=bounds)))
    for found in itertools.chain.from_iterable(itertools.islice(judged, _MOST)):
        key = (found.place, found.evidence.split("[")[0], found.severity)
        if key not in seen:
            seen.add(key)
            yield found


@dataclass
class _Around:
    place: Place | None = None
    calls: tuple[str, ...] = ()
    hidden: bool = False
    numpys: bool = False
    others: bool = False
    bounds: _Bounds = field(default_factory=dict)


def _walk(program: ClosedJaxpr, around: _Around) -> Iterator[tuple[Any, _Around]]:
    """Yield the equations that may be promotions, with what they stand in."""
    bounds = around.bounds
    for variable, value in zip(program.jaxpr.constvars, program.consts, strict=True):
        _bound(bounds, variable, value)
    waiting: list[Any] = []
    used: dict[Any, set[str]] = {}
    for equation in program.jaxpr.eqns:
        name = equation.primitive.name
        for variable in equation.invars:
            if not isinstance(variable, Literal) and variable in used:
                used[variable].add(name)
        if name == "iota":
            bounds[equation.outvars[0]] = int(
                equation.params["shape"][equation.params["dimension"]]
            )
        elif name in _PASSING and not isinstance(equation.invars[0], Literal):
            if equation.invars[0] in bounds:
                bounds[equation.outvars[0]] = bounds[equation.invars[0]]
        elif name == "convert_element_type" and _widens(equation, bounds):
            used[equation.outvars[0]] = set()
            waiting.append(equation)
        elif name == "dot_general" and _mixed(equation):
            waiting.append(equation)
        for part in jaxpr_utils.inner(equation):
            yield from _walk(part, _inside(equation, part, around))
    for equation in waiting:
        by = used.get(equation.outvars[0])
        if not by or not by <= _COMPARING:
            yield equation, around


def _inside(equation: Any, part: ClosedJaxpr, around: _Around) -> _Around:
    bounds: _Bounds = {}
    if jaxpr_utils.called(equation) is not None:
        for outer, own in zip(equation.invars, part.jaxpr.invars, strict=True):
            if not isinstance(outer, Literal) and outer in around.bounds:
                bounds[own] = around.bounds[outer]
    if not (around.hidden or jaxpr_utils.is_librarys(part)):
        return _Around(bounds=bounds)
    place, calls, others = around.place, around.calls, around.others
    if not around.hidden:
        names, others, place = _own_frames(equation)
        calls = tuple(names)
    calls += (str(equation.params.get("name", "")),)
    numpys = not around.hidden and _NUMPY in _jax_compat.home_of(part.jaxpr)
    return _Around(place, calls, True, numpys, others, bounds)


def _bound(bounds: _Bounds, variable: Any, value: Any) -> None:
    kind = getattr(variable.aval, "dtype", None)
    if kind is not None and jnp.issubdtype(kind, jnp.integer):
        bounds[variable] = value


def _largest(value: Any) -> int:
    if isinstance(value, jax.core.Tracer) or not np.size(value):
        return 0
    array = np.asarray(value)
    return max(abs(int(array.max())), abs(int(array.min())))


def _widens(equation: Any, bounds: _Bounds) -> bool:
    """Whether a conversion is of a kind that promotion makes, and that does harm."""
    aval = equation.invars[0].aval
    old, new = aval.dtype, jnp.dtype(equation.params["new_dtype"])
    if getattr(aval, "weak_type", False) or equation.params.get("weak_type") or old == new:
        return False
    if jnp.issubdtype(old, jnp.floating) and jnp.issubdtype(new, jnp.floating):
        return bool(new.itemsize > old.itemsize)
    if not jnp.issubdtype(old, jnp.integer):
        return False
    if jnp.issubdtype(new, jnp.integer):
        return bool(new.itemsize >= old.itemsize)
    # Whole numbers that become floats: harmless, unless they are too large for it.
    source = equation.invars[0]
    if not jnp.issubdtype(new, jnp.floating) or isinstance(source, Literal):
        return False
    return _largest(bounds.get(source, 0)) > _exact(equation.outvars[0].aval)


def _mixed(equation: Any) -> bool:
    a, b = (variable.aval.dtype for variable in equation.invars[:2])
    floats = jnp.issubdtype(a, jnp.floating) and jnp.issubdtype(b, jnp.floating)
    integers = jnp.issubdtype(a, jnp.integer) and jnp.issubdtype(b, jnp.integer)
    return bool(a != b and (floats or integers))


def _own_frames(equation: Any) -> tuple[list[str], bool, Place | None]:
    """Return the functions below the user's line, whether any is of no JAX library, and the line.

    A function of a private file is called ``asarray``, as it promotes nothing of the user's.
    """
    names: list[str] = []
    others = False
    for function, file, line in _jax_compat.frames(equation):
        if is_users(file):
            return names, others, Place(file, line, function)
        if file.startswith(_JAX):
            private = any(part in _PRIVATE for part in file[len(_JAX) :].split(os.sep))
            names.append("asarray" if private else function.rpartition(".")[2])
        elif "site-packages" in file or "dist-packages" in file:
            others = True
            names.append(function.rpartition(".")[2])
    return names, others, None


def _is_promotion(names: list[str], hidden: bool) -> bool:
    if any(name.startswith("promote_") for name in names):
        return True
    # A function of jax.numpy that is inlined shows no more than its call; what the insides of
    # other libraries' functions do by such a call is theirs.
    direct = ("_operator_", "deferring_binary_op", "__call__", "cache_miss")
    return not hidden and any(name.startswith(direct) for name in names)


def _judged(equation: Any, around: _Around) -> Iterator[Finding]:
    names, others, place = _own_frames(equation)
    promotes = _is_promotion(names, around.hidden and not around.numpys)
    names += around.calls
    others = others or around.others
    place = around.place if around.hidden else place
    old, new = (variable.aval for variable in (equation.invars[0], equation.outvars[0]))
    library = others and "promote_dtype" in names  # flax, which widens inputs to its parameters
    if equation.primitive.name == "dot_general":
        a, b = (variable.aval for variable in equation.invars[:2])
        old = a if a.dtype.itemsize <= b.dtype.itemsize else b
        wide = b if old is a else a
        cause = f"{wide.dtype} in a product"
        yield _finding(old.dtype, new.dtype, _shown(a, b, new), place, cause, others)
        return
    if not library and (_ASKED & set(names) or not promotes):
        return
    if jnp.issubdtype(old.dtype, jnp.integer) and jnp.issubdtype(new.dtype, jnp.floating):
        yield _rounded(old, new, _exact(new), _largest(around.bounds[equation.invars[0]]), place)
        return
    if place is None:
        return
    note, shown = others and not library, _shown(old, new)
    yield _finding(old.dtype, new.dtype, shown, place, "another operand", note)


def _shown(*avals: Any) -> str:
    texts = [f"{a.dtype}[{','.join(map(str, a.shape))}]" for a in avals]
    return " × ".join(texts[:-1]) + f" -> {texts[-1]}"


def _finding(
    old: Any, new: Any, shown: str, place: Place | None, cause: str, note: bool = False
) -> Finding:
    what = f"{old} becomes {new}"
    if jnp.issubdtype(old, jnp.unsignedinteger) and jnp.issubdtype(new, jnp.signedinteger):
        what += ", signed"
    severity: Any = "note" if note else "warning"
    floats = jnp.issubdtype(old, jnp.floating)
    bit = "numpy-number-widens" if floats else "integers-become-halves"
    return Finding("promotion", severity, f"{what}, because of {cause}", shown, _FIX, place, bit)


def _exact(aval: Any) -> int:
    """Return up to where a float's dtype holds all whole numbers."""
    return int(2 ** (int(jnp.finfo(aval.dtype).nmant) + 1))  # type: ignore[no-untyped-call]


def _rounded(old: Any, new: Any, exact: int, largest: int, place: Place | None) -> Finding:
    return Finding(
        "promotion",
        "warning",
        f"{old.dtype} becomes {new.dtype}, which rounds numbers above {exact}",
        f"{_shown(old, new)}, the largest is {largest}",
        "keep such numbers in integers, or scale them first",
        place,
        "integers-become-halves",
    )
