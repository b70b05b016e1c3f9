"""Numbers of 64 bits that JAX cuts to 32."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import compat
from jaxbits.detect import jaxprs
from jaxbits.detect.detector import detector
from jaxbits.detect.finding import Finding, Place, Severity, is_users, place_of, place_of_error
from jaxbits.detect.memory import is_iterator
from jaxbits.detect.subject import Subject, is_array

_NARROW = {
    "int64": np.int32,
    "uint64": np.uint32,
    "float64": np.float32,
    "complex128": np.complex64,
}
_WHOLE = (2.0**24, 2.0**53)
_FEW, _MOST = 16, 100_000
_FIX = "`jax.config.update('jax_enable_x64', True)` at the start, or numbers that 32 bits can hold"
_TOO_LARGE = re.compile("too large to convert|overflow was encountered|out of bounds for")
_NAMES = "_operator_ deferring_binary_op __call__ promote_ asarray array cache_miss"
_ADDED = tuple(_NAMES.split())


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
        loss = _lost(leaf) if type(leaf) is float or _is_wide(leaf) else None
        name = jax.tree_util.keystr(path[1:])
        label = f"args{name}" if path[0].idx == 0 else name.strip("[]'")
        if loss is not None and type(leaf) is not float:
            few = np.ndim(leaf) > 0 and np.size(leaf) <= _FEW
            yield _finding(label, leaf, loss, "warning" if few else "note")
        elif loss is not None and loss.severity:
            yield _finding(label, leaf, loss, "note")
    for name, value, place in _captured(subject):
        loss = _lost(value)
        if loss is not None and loss.severity:
            known.append(np.asarray(value))
            yield _finding(f"`{name}`", value, loss, "note", place)
    for number, place in _written(subject):
        loss = _lost(number)
        if loss is not None and loss.severity:
            text = f"{loss.text}, where it meets an array"
            yield _finding("a number", number, _Loss(text, "warning"), "note", place)
    for value, place in _constants(subject):
        loss = _lost(value)
        seen = any(np.array_equal(value, other) for other in known)
        if loss is not None and loss.severity and not seen:
            yield _finding("a NumPy constant", value, loss, "note", place)


@dataclass(frozen=True)
class _Loss:
    """What 32 bits do to a value; no severity where floats are rounded as all are."""

    text: str
    severity: Severity | None = None


def _is_wide(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in _NARROW


def _lost(value: Any) -> _Loss | None:
    array = np.asarray(value).reshape(-1)
    if array.dtype.kind == "c":
        array = np.concatenate([array.real, array.imag])
    with np.errstate(all="ignore"):
        cut = array.astype(_NARROW[array.dtype.name]).astype(array.dtype)
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
    large = changed & (size > _WHOLE[0]) & (size < _WHOLE[1])
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
    return Finding("x64", severity, f"{name} ({kind}) {said}", loss.text, _FIX, place)


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
        )


def _captured(subject: Subject) -> Iterator[tuple[str, Any, Place | None]]:
    """Yield NumPy values that the function sees without being passed them."""
    function: Any = subject.function
    while isinstance(function, functools.partial):
        for path, leaf in jax.tree_util.tree_leaves_with_path((function.args, function.keywords)):
            if _is_wide(leaf):
                yield f"partial{jax.tree_util.keystr(path[1:])}", leaf, None
        function = function.func
    for reference in subject.references:
        value = reference.get()
        parts = jax.tree.leaves(value) if isinstance(value, (dict, list, tuple)) else [value]
        for part in parts[:1000]:
            if _is_wide(part):
                yield reference.name, part, reference.place


def _written(subject: Subject) -> Iterator[tuple[float, Place]]:
    """Yield the floats in the function's own code."""
    if subject.trace.program is None:
        return
    function = inspect.unwrap(subject.function)
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    top = getattr(function, "__code__", None)
    if top is None or not is_users(top.co_filename):
        return
    for code in _codes(top):
        for constant in code.co_consts:
            for number in constant if isinstance(constant, tuple) else (constant,):
                if type(number) is float:
                    yield number, Place(code.co_filename, code.co_firstlineno, code.co_name)


def _constants(subject: Subject) -> Iterator[tuple[Any, Place]]:
    """Yield what the function's own lines make in NumPy and hand to JAX, still in 64 bits."""
    if subject.trace.program is None or not _uses_numpy(subject.function):
        return
    args, kwargs = jax.tree.map(
        lambda leaf: jax.numpy.asarray(leaf) if _is_wide(leaf) and is_array(leaf) else leaf,
        (subject.args, subject.kwargs),
        is_leaf=is_iterator,
    )
    with compat.x64_on():
        program = Subject(subject.function, args, kwargs).trace.program
    if program is not None:
        yield from _wide_constants(program)


def _uses_numpy(function: Any) -> bool:
    """Whether the code of a function, or of the user's functions that it calls, names NumPy."""
    waiting, seen = [function], set()
    while waiting and len(seen) < 500:
        here = waiting.pop()
        if isinstance(here, functools.partial):
            waiting += [here.func, *here.args, *here.keywords.values()]
            continue
        here = inspect.unwrap(here) if callable(here) else here
        here = getattr(here, "__func__", here)
        if id(here) in seen:
            continue
        seen.add(id(here))
        if not isinstance(here, types.FunctionType):
            if not isinstance(here, types.ModuleType) and is_users(_file_of(type(here))):
                waiting += [f for f in vars(type(here)).values() if inspect.isfunction(f)]
            continue
        if not is_users(here.__code__.co_filename):
            continue
        if {"numpy", "np"} & set(here.__code__.co_names):
            return True
        names = [n for code in _codes(here.__code__) for n in code.co_names]
        values = [here.__globals__[name] for name in names if name in here.__globals__]
        for cell in here.__closure__ or ():
            with contextlib.suppress(ValueError):  # not bound yet
                values.append(cell.cell_contents)
        if any(_is_numpys(value) for value in values):
            return True
        waiting += [value for value in values if callable(value)]
    return False


def _file_of(kind: type) -> str:
    module = sys.modules.get(kind.__module__)
    if kind.__module__ == "builtins":
        return ""
    return getattr(module, "__file__", None) or "<a notebook>"


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_numpys(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        return value.__name__.split(".")[0] == "numpy"
    module = getattr(value, "__module__", None)
    return callable(value) and isinstance(module, str) and module.split(".")[0] == "numpy"


def _wide_constants(program: ClosedJaxpr) -> Iterator[tuple[Any, Place]]:
    constants = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    for equation in program.jaxpr.eqns:
        for variable in equation.invars:
            value = variable.val if isinstance(variable, Literal) else constants.get(variable)
            kind = str(getattr(value, "dtype", ""))
            if kind in _NARROW and not getattr(variable.aval, "weak_type", False):
                place, value = place_of(equation), np.asarray(value)
                if place is not None and not _is_limit(value) and _is_plain(equation):
                    yield value, place
        for part in jaxprs.inner(equation):
            if not jaxprs.is_librarys(part):
                yield from _wide_constants(part)


def _is_limit(value: Any) -> bool:
    """Whether a number is the largest or the least of its dtype, as library functions use them."""
    if np.ndim(value) or value.dtype.kind == "c":
        return False
    limits: Any = np.finfo(value.dtype) if value.dtype.kind == "f" else np.iinfo(value.dtype)
    return value in (limits.max, limits.min, getattr(limits, "tiny", None))


def _is_plain(equation: Any) -> bool:
    """Whether the user's line makes an equation with an operator, or a conversion to an array."""
    for function, file, _ in compat.frames(equation):
        if is_users(file):
            return True
        name = function.rpartition(".")[2]
        if "/_src/numpy/" in file.replace("\\", "/") and not name.startswith(_ADDED):
            return name in ("op", "_where", "where", "add", "multiply", "subtract")
    return False
