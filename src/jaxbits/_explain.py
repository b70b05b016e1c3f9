"""Find the sharp bits behind an error, and tell the reader how to fix them."""

from __future__ import annotations

import dataclasses
import traceback
from dataclasses import dataclass

from jaxbits._catalogue import SharpBit, load
from jaxbits._error_origin import (
    Frame,
    clues_beyond_the_text,
    has_leaked_tracer,
    is_from_jax_ecosystem,
    user_frame,
)
from jaxbits._matching import catalogue_matcher
from jaxbits._pasted_error import Message

_MAX_BITS = 3
_HEADINGS = {
    "message": "Sharp bit?",
    "cut": "Sharp bit? The message seems to be cut off, and it may be this one:",
    "another": "Sharp bit? The last error is not in the book, but an earlier one is:",
    "aside": "Sharp bit? There is no error in this text that is in the book, but there is this:",
    "words": "Sharp bit? No message in the book is the same, but these are similar:",
    "class": "Sharp bit? Only the class of the error is known. Its message would tell more:",
}
_JAX = "https://github.com/jax-ml/jax"


@dataclass(frozen=True)
class Explanation:
    """The sharp bits that may have caused an error. Printing an explanation shows each fix.

    Attributes:
        error: The name of the error's class.
        bits: Up to three sharp bits, with the best match first.
        frame: The line of the reader's code that led to the error, or None if it is unknown.
        how: What of the error matches: its ``message``, the beginning of it (``cut``), ``another``
            error in the text, a warning or a line of a log (``aside``), only some ``words``, or
            only the ``class``. It is "" if nothing matches.
        library: The package outside JAX whose code raised the error, or "" if it is unknown.
    """

    error: str
    bits: tuple[SharpBit, ...]
    frame: Frame | None = None
    how: str = ""
    library: str = ""

    def __bool__(self) -> bool:
        return bool(self.bits)

    def __str__(self) -> str:
        if not self.bits:
            return self._advice()
        heading = _HEADINGS.get(self.how, "Sharp bit?")
        lines = [heading.replace("?", f"? ({self.frame})", 1) if self.frame else heading]
        for bit in self.bits:
            lines += [
                f"  • {bit.title}",
                f"    Fix: {bit.fix}",
                f"    Read: {bit.link or bit.reference}",
            ]
        return "\n".join(lines).replace("`", "")

    def __repr__(self) -> str:
        return str(self)

    def _advice(self) -> str:
        """Return where to look next if the book does not cover the error."""
        name = f" ({self.error})" if self.error else ""
        library = (
            f" Since {self.library} raised it, also search its issues." if self.library else ""
        )
        return (
            f"No sharp bit in the book matches this error{name}.\n"
            "  • If you have not done so, pass the whole traceback, or its last lines, with the "
            "name of the error.\n"
            f"  • Search JAX's issues, {_JAX}/issues, and discussions, {_JAX}/discussions.{library}"
        )


def explain(error: BaseException | str) -> Explanation:
    """Find the sharp bits in the book that may have caused an error.

    The finder on the page *Errors* gives the same answers for a text.

    Args:
        error: The exception, or a text that contains its message, such as a traceback, the output
            of a test, or a whole log.

    Returns:
        An explanation with up to three sharp bits, with the best match first. It contains none if
        the error does not come from JAX or a library that builds on it, or if the book does not
        cover the error. Printing it then tells where to look next.

    Raises:
        TypeError: If `error` is neither an exception nor a string.

    >>> import jax.numpy as jnp
    >>> try:
    ...     jnp.arange(3)[1.0]
    ... except TypeError as error:
    ...     explain(error).bits[0].id
    'float-index'
    >>> explain("UserWarning: Some donated buffers were not usable").bits[0].id
    'donation-not-usable'
    >>> bool(explain(IndexError("list index out of range")))
    False
    """
    matcher = catalogue_matcher()
    frame, classes = None, []
    if isinstance(error, str):
        pasted = matcher.read(error)
    elif isinstance(error, BaseException):
        frame = user_frame(error)
        if not is_from_jax_ecosystem(error):
            return Explanation(type(error).__name__, (), frame)
        classes = [kind.__name__ for kind in type(error).__mro__]
        pasted = matcher.read("".join(traceback.format_exception(error)))
        pasted = dataclasses.replace(
            pasted,
            whole=" ".join([pasted.whole, *clues_beyond_the_text(error)]),
            main=Message(classes[0], [str(error)]),
            code=frame.code if frame else "",
            is_leak=has_leaked_tracer(error),
            is_foreign=False,
        )
    else:
        raise TypeError(f"error must be an exception or a traceback, got {error!r}")
    matches = matcher.rank(pasted, classes)
    bits = tuple(load()[match.entry.id] for match in matches[:_MAX_BITS])
    how = matches[0].how if matches else ""
    return Explanation(pasted.main.name, bits, frame, how, pasted.library)
