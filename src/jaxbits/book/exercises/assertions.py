"""What a check can ask of a reader's function; each says in the reader's terms what is wrong."""

from __future__ import annotations

import contextvars
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import expect
from jaxbits._catalogue import SharpBit, load
from jaxbits._equality import same, show
from jaxbits._explain import has_leaked, is_from_stack, reader_frame

_LONG = 110  # letters of arguments, beyond which they are shown by kind and shape
_TELLING = 40  # letters of a message that no library but JAX writes
_MANY = 16  # numbers of an array, beyond which it is shown by dtype and shape

topic: contextvars.ContextVar[str] = contextvars.ContextVar("topic", default="")
"""The topic of the exercise that is being checked, such as ``out-of-bounds``."""


class AnswerRejected(Exception):
    """What is wrong with an answer, as a sentence for the reader."""


def call(
    answer: Callable[..., Any],
    *args: Any,
    how: str = "",
    through: Callable[..., Any] | None = None,
) -> Any:
    """Call an answer, turning whatever it raises into a `AnswerRejected`.

    Args:
        answer: the reader's function, by whose name and parameters the message speaks.
        args: the arguments that the message shows.
        how: what the message begins with, such as ``"under jit, "``.
        through: what to call with the arguments instead, such as the jitted answer.

    Raises:
        AnswerRejected: when the answer raises anything, `SystemExit` included.
    """
    try:
        return (through or answer)(*args)
    except AnswerRejected:
        raise
    except (Exception, SystemExit) as error:  # an answer may call exit()
        if isinstance(error, NotImplementedError) and not error.args:
            text = f"{_name(answer) or 'it'} is not written yet: it raises NotImplementedError"
            raise AnswerRejected(text) from error
        raise AnswerRejected(raised(error, f"{how}{call_text(answer, args) or 'it'}")) from error


def raised(error: BaseException, what: str) -> str:
    """Return the sentence that something raises an error, with advice where it is sure to fit."""
    lines = str(error).strip().split("\n")
    # Of an error in a callback, JAX passes the traceback on, which ends with the error.
    first = lines[-1] if lines[0].endswith("Traceback (most recent call last):") else lines[0]
    first = _FUNCTION.sub(r"\1", first)
    text = f"{what} raises {type(error).__name__}" + (f": {first}" if first else "")
    if bit := advice(error):
        text += f"\n  That is a sharp bit: {bit.title}. {bit.fix}"
    return text


_FUNCTION = re.compile(r"<function (?:\w+\.<locals>\.)*(\S+) at 0x[0-9a-f]+>")
_BOOLEAN = {"TracerBoolConversionError", "ConcretizationTypeError"}
_COMPREHENSION = re.compile(r"\bfor\b[^:]*?\bin\b")
# Errors that are raised for many reasons: the bit fits a line that looks like this.
_ONLY_FOR = {
    "array-in-a-list": r"\bin\b|\.index\(",
    "disable-jit-other-types": r"\.at\b",
    "shuffle-in-place": r"shuffle",
}


def advice(error: BaseException) -> SharpBit | None:
    """Return the sharp bit behind an error, or None where it could be one of several.

    Wrong advice is worse than none. A bit is returned when it is the only one whose symptom fits
    the message best, or the only one of those in the chapter of the exercise; when the reader's
    line looks as that one's symptom says, or names what the bit's title names; and for a value that
    is not known while tracing, the bit about all of them.
    """
    least = 1 if is_from_stack(error) else _TELLING
    frame = reader_frame(error)
    code = _COMPREHENSION.sub(" ", frame.code if frame else "")
    # An if with an `and` in it is an if.
    chooses = bool(re.search(r"\b(?:if|while)\b", code))
    leaked = has_leaked(error)
    classes = [kind.__name__ for kind in type(error).__mro__]
    found: list[tuple[int, int, SharpBit]] = []
    for bit in load().values():
        if bit.id in _ONLY_FOR and not re.search(_ONLY_FOR[bit.id], code):
            continue
        fits = [
            (s.matches(name, str(error)), 0 if chooses else s.suits(code))
            for s in bit.symptoms
            for name in classes
            if (leaked or not s.leaked) and not (chooses and s.line)
        ]
        score, suits = max(fits, default=(0, 0))
        if score >= least and suits >= 0:
            found.append((score, suits, bit))
    return _only_one(found, code, leaked or type(error).__name__ not in _BOOLEAN)


def _only_one(
    found: list[tuple[int, int, SharpBit]], code: str, none_for_all: bool
) -> SharpBit | None:
    if not found:
        return None
    best = max(entry[:2] for entry in found)
    bits = [bit for *score, bit in found if tuple(score) == best]
    if len(bits) == 1:
        return bits[0]
    here = [bit for bit in bits if topic.get() and bit.chapter[3:].startswith(topic.get())]
    if len(here) == 1:
        return here[0]
    words = set(re.findall(r"\w+", code))
    named = [bit for bit in bits if words & _code_in(bit.title)]
    named = named or [bit for bit in bits if not _code_in(bit.title)]
    if len(named) == 1:
        return named[0]
    return None if none_for_all else load()["value-needed-while-tracing"]


def _code_in(title: str) -> set[str]:
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", title))))


def call_text(answer: Callable[..., Any], args: Iterable[Any]) -> str:
    """Return a call as one writes it, ``lookup(table=[1.0, 2.0], i=3)``.

    Without a name and without arguments there is nothing to write, and the text is empty.
    """
    args = list(args)
    name = _name(answer)
    return f"{name or 'f'}({arguments(answer, args)})" if name or args else ""


def _name(answer: Any) -> str:
    name = getattr(answer, "__name__", "")
    return name if isinstance(name, str) and name.isidentifier() else ""


def arguments(answer: Callable[..., Any], args: Iterable[Any]) -> str:
    """Return the arguments of a call in one line, named as the answer names them."""
    args = list(args)
    text = _arguments(answer, args, brief=False)
    return text if len(text) <= _LONG else _arguments(answer, args, brief=True)


def _arguments(answer: Callable[..., Any], args: list[Any], brief: bool) -> str:
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(answer).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    names = [f"{p.name}=" for p in parameters if p.kind in by_place]
    names = names[: len(args)] + [""] * (len(args) - len(names))
    return ", ".join(f"{n}{_short(a, brief)}" for n, a in zip(names, args, strict=True))


def _is_ref(value: Any) -> bool:
    kind = type(value)
    return kind.__name__ in ("Ref", "ArrayRef") and kind.__module__.startswith("jax")


def _short(value: Any, brief: bool) -> str:
    if _is_ref(value):
        return format_value(value)
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            return "a key" if value.shape == () else f"{value.size} keys"
        if value.size > _MANY or (brief and value.shape):
            return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
        return format_value(value)
    if value is None or isinstance(value, bool | int | float | complex | str):
        return format_value(value)
    if name := getattr(value, "__name__", ""):
        return str(name)
    if brief and isinstance(value, Mapping | list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if type(value) in (dict, list, tuple):
        return _container(value, lambda part: _short(part, brief))
    kind = type(value).__name__
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    text = show(value)
    return f"{article} {kind}" if brief or text.startswith("<") or len(text) > 60 else text


def assert_returns(answer: Callable[..., Any], *args: Any, expected: Any, why: str = "") -> None:
    """Ask for a value.

    Raises:
        AnswerRejected: when the answer raises, or returns another value, shape or kind of number.
    """
    assert_equal(call(answer, *args), expected, f"{call_text(answer, args)} must return", why)


def under_jit(answer: Callable[..., Any], static: tuple[int, ...] = ()) -> Callable[..., Any]:
    """Return the answer jitted, under its own name and with its own parameters.

    What an earlier trace of the answer did is not in its cache.

    Args:
        answer: the reader's function.
        static: the positions of arguments that are not traced.
    """

    @functools.wraps(answer)
    def traced(*args: Any) -> Any:
        return answer(*args)

    # jit would look up the positions in the answer's signature, which may be anything.
    del traced.__wrapped__
    return jax.jit(traced, static_argnums=static)


def assert_returns_under_jit(
    answer: Callable[..., Any],
    *args: Any,
    expected: Any,
    why: str = "",
    static: tuple[int, ...] = (),
) -> None:
    """Ask for the same value when every argument is traced, those at `static` positions excepted.

    Raises:
        AnswerRejected: when the answer cannot be traced, or gives another value then.
    """
    how = "under jit, "
    seen = call(answer, *args, how=how, through=under_jit(answer, static))
    assert_equal(seen, expected, f"{how}{call_text(answer, args)} must return", why)


def assert_returns_under_grad(
    answer: Callable[..., Any], *args: Any, expected: Any, why: str = ""
) -> None:
    """Ask for the gradient of the answer's (scalar) result with respect to its first argument.

    Raises:
        AnswerRejected: when the answer cannot be differentiated, or has another gradient.
    """
    gradient = jax.grad(lambda *given: answer(*given))
    seen = call(answer, *args, how="under grad, ", through=gradient)
    first = _first_parameter(answer)
    what = f"the gradient of {call_text(answer, args)} with respect to {first} must be"
    assert_equal(seen, expected, what, why)


def _first_parameter(answer: Callable[..., Any]) -> str:
    name = _arguments(answer, [0], brief=False).partition("=")
    return name[0] if name[1] else "the first argument"


def assert_equal(seen: Any, expected: Any, what: str, why: str = "") -> None:
    """Ask that a value is the expected one.

    Args:
        seen: what came of the answer.
        expected: what it should be.
        what: the beginning of the sentence, such as ``"after one step, w must be"``.
        why: a reason for the reader.

    Raises:
        AnswerRejected: when the two differ in value, shape or kind of number.

    >>> assert_equal(np.float32(0.9), 0.81, "after one step, w must be")
    Traceback (most recent call last):
    jaxbits.book.exercises.assertions.AnswerRejected: after one step, w must be 0.81, got 0.9
    """
    try:
        agree = same(seen, expected)
    except Exception:  # what an answer returns may be anything at all
        agree = False
    if not agree:
        wanted, got = _told_apart(expected, seen)
        raise AnswerRejected(f"{what} {wanted}, got {got}" + (f": {why}" if why else ""))


def _told_apart(expected: Any, seen: Any) -> tuple[str, str]:
    for digits in (6, 9, 17):
        texts = format_value(expected, digits), format_value(seen, digits)
        if texts[0] != texts[1]:
            return texts
    return f"{texts[0]} ({_kind(expected)})", f"{texts[1]} ({_kind(seen)})"


def _kind(value: Any) -> str:
    if hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, np.shape(value)))}]"
    return type(value).__name__


def format_value(value: Any, digits: int = 6) -> str:
    """Return a value as one reads it: lists for arrays, numbers to so many digits, no types.

    >>> format_value({"w": np.array([0.81, 2.1], np.float32), "steps": 5})
    "{'w': [0.81, 2.1], 'steps': 5}"
    """
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return _short(value, brief=True)
    if isinstance(value, np.ndarray | jax.Array | np.generic):
        return show(_rounded(np.asarray(value).tolist(), digits))
    if type(value) in (float, complex):
        return show(_rounded(value, digits))
    if type(value) in (tuple, list, dict):
        return _container(value, lambda part: format_value(part, digits))
    if _is_ref(value):
        return f"a Ref of {format_value(value[...], digits)}"
    return show(value)


def _container(value: Any, shown: Callable[[Any], str]) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {shown(part)}" for key, part in value.items()) + "}"
    inside = ", ".join(map(shown, value))
    if isinstance(value, tuple):
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return f"[{inside}]"


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, list):
        return [_rounded(part, digits) for part in value]
    if isinstance(value, complex):
        return complex(_rounded(value.real, digits), _rounded(value.imag, digits))
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def assert_returns_op_by_op(
    answer: Callable[..., Any], *args: Any, expected: Any, why: str = ""
) -> None:
    """Ask for a value when XLA sees only one operation at a time.

    It compiles a product with a boolean mask, for example, into a choice, which drops a masked NaN.
    Nothing promises that it does.

    Raises:
        AnswerRejected: when the answer raises, or returns another value, shape or kind of number.
    """
    how = "run one operation at a time, "
    with jax.disable_jit():
        seen = call(answer, *args, how=how)
    assert_equal(seen, expected, f"{how}{call_text(answer, args)} must return", why)


def traces(answer: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> int:
    """Count how often `jax.jit` traces an answer over a list of calls.

    Raises:
        AnswerRejected: when one of the calls raises.
    """

    def run(jitted: Callable[..., Any], *args: Any) -> Any:
        return call(answer, *args, how="under jit, ", through=jitted)

    return expect.traces(answer, calls, call=run)
