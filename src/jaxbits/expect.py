"""What the tests of an assignment ask of an answer; plain assertions, with a word for the student.

>>> from jaxbits import expect
>>> expect.close(0.1 + 0.2, 0.3, "the sum of both")
>>> try:
...     expect.close([1.0, 2.0], [1.0, 3.0], "each entry is doubled")
... except expect.WrongAnswer as wrong:
...     print(wrong, wrong.__notes__)
each entry is doubled ['got [1.0, 2.0], expected [1.0, 3.0]']
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class WrongAnswer(AssertionError):
    """An answer that is not what was asked for; the message is for the student."""


class ForeignAnswer(AssertionError):
    """An answer of a type that could agree with anything; a grader has a person look at it."""


def plain(seen: Any) -> None:
    """Make sure that no part of an answer says for itself what it is equal to.

    Arrays, numbers, strings, None, containers of them and what the libraries define are taken for
    what they are; whether they are the right answer is for `close` to say.

    Raises:
        ForeignAnswer: when a part is of a class that could agree with anything.
    """
    for part in _parts(seen):
        kind = type(part)
        if not _of_a_library(kind) and (_own_equality(kind) or hasattr(kind, "__array__")):
            name = f"{kind.__module__}.{kind.__qualname__}"
            raise ForeignAnswer(f"the answer is a {name}, not an array or a number")


# Of these a student may return something by mistake: it is wrong, and nothing worse.
_LIBRARIES = {"builtins", "numpy", "jax", "jaxlib", "ml_dtypes", "torch", "decimal", "fractions"}
# CPython's flag of a class that is not part of a compiled module's own data.
_MADE_IN_PYTHON = 1 << 9
# A masked number agrees with all.
_MASKED = {"numpy.ma", "numpy.ma.core"}


def _parts(seen: Any) -> Iterator[Any]:
    """An answer and what it is made of; a class of the student's own may be a tree to JAX."""
    yield seen
    if isinstance(seen, dict):
        inside: Iterable[Any] = dict.values(seen)
    elif isinstance(seen, list | tuple):
        inside = _as_it_is(seen)
    else:
        leaves = jax.tree.leaves(seen)
        inside = () if any(leaf is seen for leaf in leaves) else leaves
    for part in inside:
        yield from _parts(part)


def _of_a_library(kind: type) -> bool:
    """Whether a class is what its name says, in a library that nobody's answer comes from."""
    if not kind.__flags__ & _MADE_IN_PYTHON:
        return True
    if kind.__module__.partition(".")[0] not in _LIBRARIES or kind.__module__ in _MASKED:
        return False
    there: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        there = getattr(there, name, None)
    return there is kind


def _own_equality(kind: type) -> bool:
    """Whether a class, or one that it inherits from, says itself what is equal to it.

    The equality that a dataclass is given compares its fields, and is none of its own.
    """
    for base in kind.__mro__:
        equal = vars(base).get("__eq__")
        if equal is None or _of_a_library(base):
            continue
        code = getattr(equal, "__code__", None)
        if not (dataclasses.is_dataclass(base) and code and code.co_filename == "<string>"):
            return True
    return False


def close(seen: Any, expected: Any, says: str, *, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Ask that an answer is the expected number, array or tree of them, within a tolerance.

    Args:
        seen: the answer; a list of numbers may stand for an array, a list for a tuple.
        expected: what it should be. Shapes must agree, and the kind of number too: no float for an
            integer or boolean; an integer may stand for a float.
        says: what is wrong if it is not, in the student's terms.
        rtol: the relative tolerance of floats; NaN agrees with NaN.
        atol: the absolute tolerance of floats.

    Raises:
        WrongAnswer: with what was to be said, when it is not.
        ForeignAnswer: when the answer is of a class that could agree with anything.

    Example:
        >>> close(jnp.array([1.0, 2.0]) * 1.000001, [1.0, 2.0], "twice the input")
    """
    plain(seen)
    seen = _as_it_is(seen)
    if isinstance(expected, dict):
        if not isinstance(seen, dict) or set(seen) != set(expected):
            raise _wrong(says, seen, expected)
        for key, part in expected.items():
            close(seen[key], part, says, rtol=rtol, atol=atol)
        return
    if isinstance(expected, tuple) or (isinstance(expected, list) and not _is_array(expected)):
        if not isinstance(seen, tuple | list) or len(seen) != len(expected):
            raise _wrong(says, seen, expected)
        for mine, part in zip(seen, expected, strict=True):
            close(mine, part, says, rtol=rtol, atol=atol)
        return
    if expected is None or isinstance(expected, str | bytes):
        if type(seen) is not type(expected) or seen != expected:
            raise _wrong(says, seen, expected)
        return
    if not isinstance(expected, list) and not jax.tree_util.all_leaves([expected]):
        # A class that JAX knows as a tree.
        shapes: list[Any] = [jax.tree.structure(tree) for tree in (seen, expected)]
        if shapes[0] != shapes[1]:
            raise _wrong(says, seen, expected)
        close(jax.tree.leaves(seen), tuple(jax.tree.leaves(expected)), says, rtol=rtol, atol=atol)
        return
    if not _agree(seen, expected, rtol, atol):
        raise _wrong(says, seen, expected)


def _wrong(says: str, seen: Any, expected: Any) -> WrongAnswer:
    """The error, with a note of what was got: a grader shows a student only the message."""
    error = WrongAnswer(says)
    error.add_note(f"got {_short(seen)}, expected {_short(expected)}")
    return error


def _short(value: Any) -> str:
    """A value in a few words: of an array its dtype and shape, too."""
    try:
        if isinstance(value, np.ndarray | np.generic | jax.Array):
            text = np.array2string(np.asarray(value), threshold=6, separator=", ", precision=6)
            return f"{' '.join(text.split())[:120]} ({value.dtype}{list(value.shape)})"
        return " ".join(repr(value).split())[:160]
    except Exception:  # a value may refuse to be shown; the answer is wrong all the same
        return f"a {type(value).__name__}"


def _as_it_is(seen: Any) -> Any:
    """A container by its own contents, whatever a class derived from it says of them."""
    if isinstance(seen, dict):
        return dict(dict.items(seen))
    if isinstance(seen, tuple):
        return tuple(tuple.__iter__(seen))
    return list(list.__iter__(seen)) if isinstance(seen, list) else seen


def _is_array(value: list[Any]) -> bool:
    """Whether a list stands for an array: numbers, or lists of the same length of them."""
    try:
        return _numbers(value).dtype.kind in _KINDS
    except (TypeError, ValueError):
        return False


_KINDS = "biufc"


def _agree(seen: Any, expected: Any, rtol: float, atol: float) -> bool:
    try:
        a, b = _numbers(seen), _numbers(expected)
    except (TypeError, ValueError):
        return False
    mine, wanted = a.dtype.kind, b.dtype.kind
    if a.shape != b.shape or mine not in _KINDS or wanted not in _KINDS:
        return False
    if wanted in "iub":
        return (mine == "b") == (wanted == "b") and mine in "iub" and bool(np.array_equal(a, b))
    if mine == "b" or (mine == "c" and wanted != "c"):
        return False
    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def _numbers(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(value))
    if isinstance(value, list | tuple):
        value = [x if type(x) in (bool, int, float, complex) else _numbers(x) for x in value]
    elif not isinstance(value, bool | int | float | complex | np.ndarray | np.generic | jax.Array):
        raise TypeError(f"{type(value).__name__} is no array and no number")
    found = np.asarray(value)
    if found.dtype.kind == "V":  # jax's own narrow types, which NumPy calls void
        found = found.astype(np.int32 if "int" in found.dtype.name else np.float32)
    return found


def is_array(
    seen: Any, says: str, *, shape: tuple[int, ...] | None = None, dtype: Any = None
) -> None:
    """Ask that an answer is a JAX array, and of this shape and dtype where they are given.

    Raises:
        WrongAnswer: with what was to be said, when it is not.

    Example:
        >>> is_array(jnp.ones(3), "three numbers", shape=(3,), dtype=jnp.float32)
    """
    ok = isinstance(seen, jax.Array)
    if ok and shape is not None:
        ok = seen.shape == shape
    if ok and dtype is not None:
        ok = seen.dtype == jnp.dtype(dtype)
    if not ok:
        raise WrongAnswer(says)


def _wait(jitted: Callable[..., Any], *args: Any) -> None:
    jax.block_until_ready(jitted(*args))


def traces(
    fn: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    *,
    call: Callable[..., Any] = _wait,
) -> int:
    """Count how often `jax.jit` traces a function over a list of calls, each a tuple of arguments.

    Args:
        fn: the function.
        calls: the arguments of each call.
        call: what calls the jitted function; it gets that and the arguments.

    Example:
        >>> traces(lambda x: x + 1, [(1.0,), (2.0,), (jnp.ones(3),)])
        2
    """
    count = 0

    def counted(*args: Any) -> Any:
        nonlocal count
        count += 1
        return fn(*args)

    jitted = jax.jit(counted)
    for args in calls:
        call(jitted, *args)
    return count


def raises(error: type[BaseException], fn: Callable[[], Any], says: str) -> None:
    """Ask that a call raises an error of this class.

    Raises:
        WrongAnswer: with what was to be said, when it does not.

    Example:
        >>> raises(ZeroDivisionError, lambda: 1 / 0, "an empty mean is an error")
    """
    try:
        fn()
    except error:
        return
    except Exception as other:
        raise WrongAnswer(says) from other
    raise WrongAnswer(says)
