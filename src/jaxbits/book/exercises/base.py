"""Define the `Exercise` class, which holds a stub, hints, a check, and a solution."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import AnswerRejected
from jaxbits.book.exercises.error_advice import current_topic, describe_error
from jaxbits.book.exercises.solution_source import pasteable_source


@dataclass(frozen=True)
class Exercise:
    """An exercise in a chapter, with its stub, hints, check, and solution.

    Attributes:
        id: The chapter's topic and a number, such as ``out-of-bounds/1``.
        title: The task in a few words.
        stub: The function that the reader must write. As given, it only raises NotImplementedError.
        hints: The hints, in order. The first is a nudge, and the last nearly gives away the answer.
        verify: A function that takes an answer and, if it is wrong, raises `AnswerRejected` with a
            message for the reader.
        solution: A function that passes `verify`.
    """

    id: str
    title: str
    stub: Callable[..., Any]
    hints: tuple[str, ...]
    verify: Callable[[Callable[..., Any]], None]
    solution: Callable[..., Any]

    def find_problem(self, answer: Any) -> str | None:
        """Return a sentence that says what is wrong with `answer`, or None if it passes."""
        if not callable(answer):
            return f"the answer must be the function itself, got {format_value(answer)}"
        token = current_topic.set(self.id.partition("/")[0])
        try:
            self.verify(answer)
        except AnswerRejected as rejection:
            return str(rejection)
        except Exception as error:
            return describe_error(error, "the check cannot use your function's result and")
        finally:
            current_topic.reset(token)
        return None

    def solution_source(self, known: Collection[str] = ()) -> str:
        """Return the source of the solution, with the function renamed to match the stub.

        Args:
            known: The names that the notebook has already imported. The returned source starts
                with imports and helper functions for all other names that the solution uses.
        """
        return pasteable_source(self.solution, self.stub.__name__, known)
