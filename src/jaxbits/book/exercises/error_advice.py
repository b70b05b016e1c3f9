"""Describe an error to the reader, and name the sharp bit behind it if only one fits."""

from __future__ import annotations

import contextvars
import re

from jaxbits._catalogue import SharpBit, load
from jaxbits._error_origin import has_leaked_tracer, is_from_jax_ecosystem, user_frame

# A message that matches at least this many characters of a symptom can only come from JAX.
_MIN_SCORE = 40

current_topic: contextvars.ContextVar[str] = contextvars.ContextVar("current_topic", default="")
"""The topic of the exercise that is being checked, such as ``out-of-bounds``."""

_FUNCTION_REPR = re.compile(r"<function (?:\w+\.<locals>\.)*(\S+) at 0x[0-9a-f]+>")
_BOOLEAN_ERRORS = {"TracerBoolConversionError", "ConcretizationTypeError"}
_COMPREHENSION = re.compile(r"\bfor\b[^:]*?\bin\b")
# Many things other than these sharp bits can cause the same errors, so a bit applies only if the
# reader's line matches its pattern.
_REQUIRED_CODE = {
    "array-in-a-list": r"\bin\b|\.index\(",
    "disable-jit-other-types": r"\.at\b",
    "python-logic-on-tracer": r"\b(?:and|or|not|in|max|min|sorted|all|any)\b|[<>][^<>]+[<>]",
    "shuffle-in-place": r"shuffle",
}


def describe_error(error: BaseException, subject: str) -> str:
    """Return a sentence such as "f(x=1.0) raises ValueError: …", with advice if the cause is clear.

    Args:
        error: The error that the reader's code raised.
        subject: What raised the error, such as the call ``"f(x=1.0)"``.
    """
    lines = str(error).strip().split("\n")
    # If a callback fails, JAX's message is the callback's traceback, whose last line is the error.
    first = lines[-1] if lines[0].endswith("Traceback (most recent call last):") else lines[0]
    first = _FUNCTION_REPR.sub(r"\1", first)
    text = f"{subject} raises {type(error).__name__}" + (f": {first}" if first else "")
    if bit := find_sharp_bit(error):
        text += f"\n  That is a sharp bit: {bit.title}. {bit.fix}"
    return text


def find_sharp_bit(error: BaseException) -> SharpBit | None:
    """Return the sharp bit behind an error, or None if it is not clear which one it is.

    Wrong advice is worse than none, so the function returns a bit only in these cases:

    - One bit has a symptom that fits the message and the reader's line better than any other bit's.
    - Several bits fit equally well, but only one of them belongs to the exercise's chapter.
    - Among those bits, only one has a title that names something in the reader's line or, if there
      is no such title, only one has a title without any names.
    - The error says that JAX needed a value that is unknown while it traces. The function then
      returns the general bit about such errors.
    """
    threshold = 1 if is_from_jax_ecosystem(error) else _MIN_SCORE
    frame = user_frame(error)
    code = _COMPREHENSION.sub(" ", frame.code if frame else "")
    # A line with `if` counts as a branch, even if its condition contains `and` or `in`.
    is_branch = bool(re.search(r"\b(?:if|while)\b", code))
    leaked = has_leaked_tracer(error)
    classes = [kind.__name__ for kind in type(error).__mro__]
    found: list[tuple[int, int, SharpBit]] = []
    for bit in load().values():
        if bit.id in _REQUIRED_CODE and not re.search(_REQUIRED_CODE[bit.id], code):
            continue
        fits = [
            (s.message_score(name, str(error)), 0 if is_branch else s.line_score(code))
            for s in bit.symptoms
            for name in classes
            if (leaked or not s.leaked) and not (is_branch and s.line)
        ]
        score, line_score = max(fits, default=(0, 0))
        if score >= threshold and line_score >= 0:
            found.append((score, line_score, bit))
    has_general_bit = not leaked and type(error).__name__ in _BOOLEAN_ERRORS
    return _choose_one(found, code, has_general_bit)


def _choose_one(
    found: list[tuple[int, int, SharpBit]], code: str, has_general_bit: bool
) -> SharpBit | None:
    if not found:
        return None
    best = max(entry[:2] for entry in found)
    bits = [bit for *score, bit in found if tuple(score) == best]
    if len(bits) == 1:
        return bits[0]
    topic = current_topic.get()
    here = [bit for bit in bits if topic and bit.chapter[3:].startswith(topic)]
    if len(here) == 1:
        return here[0]
    words = set(re.findall(r"\w+", code))
    named = [bit for bit in bits if words & _names_in(bit.title)]
    named = named or [bit for bit in bits if not _names_in(bit.title)]
    if len(named) == 1:
        return named[0]
    return load()["value-needed-while-tracing"] if has_general_bit else None


def _names_in(title: str) -> set[str]:
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", title))))
