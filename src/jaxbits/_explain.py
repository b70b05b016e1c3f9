"""Find the sharp bits behind an error, and tell the reader how to fix them."""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass

from jaxbits._catalogue import SharpBit, load
from jaxbits._error_origin import Frame, has_leaked_tracer, is_from_jax_ecosystem, user_frame

_MAX_BITS = 3
_LEAK_BONUS = 1000  # This is more than any message can score.
_CODE_WORD = re.compile(r"[a-z_]{3,}")
# The line at the end of a traceback that gives the error's class and the start of its message.
_ERROR_LINE = re.compile(r"(?:\w+\.)*[A-Z]\w*(?::|\s*$)")
_ERROR = re.compile(r"(?:\w+\.)*([A-Z]\w*)(?::\s?(.*))?$", re.DOTALL)


@dataclass(frozen=True)
class Explanation:
    """The sharp bits that may have caused an error. Printing an explanation shows each fix.

    Attributes:
        error: The name of the error's class.
        bits: Up to three sharp bits, with the best match first.
        frame: The line of the reader's code that led to the error, or None if it is unknown.
    """

    error: str
    bits: tuple[SharpBit, ...]
    frame: Frame | None = None

    def __bool__(self) -> bool:
        return bool(self.bits)

    def __str__(self) -> str:
        if not self.bits:
            name = f" ({self.error})" if self.error else ""
            return f"No sharp bit in the book matches this error{name}."
        lines = [f"Sharp bit? ({self.frame})" if self.frame else "Sharp bit?"]
        for bit in self.bits:
            lines += [
                f"  • {bit.title}",
                f"    Fix: {bit.fix}",
                f"    Read: {bit.link or bit.reference}",
            ]
        return "\n".join(lines).replace("`", "")

    def __repr__(self) -> str:
        return str(self)


def explain(error: BaseException | str) -> Explanation:
    """Find the sharp bits in the book that may have caused an error.

    Args:
        error: The exception, or the text of a traceback that ends with the error's class and
            message.

    Returns:
        An explanation with up to three sharp bits, with the best match first. It contains none if
        the error does not come from JAX or a library that builds on it, or if the book does not
        cover the error.

    Raises:
        TypeError: If `error` is neither an exception nor a string.

    >>> import jax.numpy as jnp
    >>> try:
    ...     jnp.arange(3)[1.0]
    ... except TypeError as error:
    ...     explain(error).bits[0].id
    'float-index'
    >>> bool(explain(IndexError("list index out of range")))
    False
    """
    if isinstance(error, str):
        return _explain_text(error)
    if not isinstance(error, BaseException):
        raise TypeError(f"error must be an exception or a traceback, got {error!r}")
    name = type(error).__name__
    frame = user_frame(error)
    if not is_from_jax_ecosystem(error):
        return Explanation(name, (), frame)
    classes = [c.__name__ for c in type(error).__mro__]
    code = frame.code if frame else ""
    return Explanation(name, _rank(classes, str(error), code, has_leaked_tracer(error)), frame)


def _explain_text(text: str) -> Explanation:
    lines = text.strip().splitlines()
    # A message may have several lines, and more than one of them may look like the start of an
    # error.
    for start in range(len(lines) - 1, -1, -1):
        if not _ERROR_LINE.match(lines[start]):
            continue
        match = _ERROR.match("\n".join(lines[start:]).strip())
        if match is None:
            continue
        name, message = match[1], match[2] or ""
        if bits := _rank([name], message) or (() if message else _bits_with_class(name)):
            return Explanation(name, bits)
    return Explanation(lines[-1] if lines else "", ())


def _bits_with_class(name: str) -> tuple[SharpBit, ...]:
    """Return up to three bits that cause this class of error, or none if the class is built in."""
    bits = (b for b in load().values() if any(s.error == name for s in b.symptoms))
    return () if hasattr(builtins, name) else tuple(bits)[:_MAX_BITS]


def _rank(
    classes: list[str], message: str, code: str = "", has_leaked: bool = False
) -> tuple[SharpBit, ...]:
    """Return up to three sharp bits whose symptoms match an error, with the best match first.

    Args:
        classes: The names of the error's class and of its base classes, in method resolution order.
        message: The error's message.
        code: The line of the reader's code, which breaks ties between equally good matches. A bit
            whose symptom describes such a line comes first, followed by those whose title and fix
            share the most words with it.
        has_leaked: Whether the error is about a tracer that has outlived its trace.
    """
    matches: list[tuple[int, int, int, int, SharpBit]] = []
    words = set(_CODE_WORD.findall(code.lower()))
    for position, bit in enumerate(load().values()):
        symptoms = (s for s in bit.symptoms if has_leaked or not s.leaked)
        score, line_score = max(
            # The leak explains the error better than the operation that used the leaked tracer.
            (
                (score + _LEAK_BONUS * symptom.leaked, symptom.line_score(code))
                for symptom in symptoms
                for name in classes
                if (score := symptom.message_score(name, message))
            ),
            default=(0, 0),
        )
        if score:
            shared = len(words & set(_CODE_WORD.findall(f"{bit.title} {bit.fix}".lower())))
            matches.append((-score, -line_score, -shared, position, bit))
    return tuple(bit for *_, bit in sorted(matches, key=lambda match: match[:4])[:_MAX_BITS])
