"""The `Exercise` class: a stub, its hints, the function that verifies an answer, and a solution."""

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
    """An exercise of a chapter, with its hints, its check, and its solution.

    Attributes:
        id: ``topic/number``, such as ``out-of-bounds/1``. The topic is the chapter's.
        title: The task in a few words.
        stub: The unwritten function, as the chapter shows it.
        hints: The hints, from a nudge to nearly the answer.
        verify: A function that takes an answer. It raises `AnswerRejected`, with a message for the
            reader, if the answer is wrong.
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
            return f"pass the function itself to check, got {format_value(answer)}"
        token = current_topic.set(self.id.partition("/")[0])
        try:
            self.verify(answer)
        except AnswerRejected as rejection:
            return str(rejection)
        except Exception as error:
            return describe_error(error, "the check cannot use what your function returns: it")
        finally:
            current_topic.reset(token)
        return None

    def solution_source(self, known: Collection[str] = ()) -> str:
        """Return the source of the solution under the name of the stub.

        Args:
            known: The names that the notebook has imported. The source starts with the imports and
                helper functions for all other names.
        """
        return pasteable_source(self.solution, self.stub.__name__, known)
