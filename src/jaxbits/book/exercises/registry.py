"""Exercises: what one consists of, and `check`, `hint` and `solution` for the reader."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import jaxbits.book.exercises
from jaxbits.book.exercises.assertions import AnswerRejected, format_value, raised, topic
from jaxbits.book.exercises.solution_source import pasteable_source

_MACHINERY = {"assertions", "listing", "registry"}
_hints_given: dict[str, int] = {}


@dataclass(frozen=True)
class Exercise:
    """A task of a chapter, with its check, its hints and its solution.

    Attributes:
        id: ``topic/number``, such as ``out-of-bounds/1``; the topic names the module.
        title: the task in a few words.
        stub: the unwritten function, as the chapter shows it.
        hints: the hints, from a nudge to nearly the answer.
        verify: a function that raises `AnswerRejected`, with a message for the reader, on a wrong answer.
        solution: a function that passes.
    """

    id: str
    title: str
    stub: Callable[..., Any]
    hints: tuple[str, ...]
    verify: Callable[[Callable[..., Any]], None]
    solution: Callable[..., Any]

    def problem(self, answer: Any) -> str | None:
        """Return a sentence that says what is wrong with an answer, or None if it passes."""
        if not callable(answer):
            return f"pass the function itself to check, got {format_value(answer)}"
        before = topic.set(self.id.partition("/")[0])
        try:
            self.verify(answer)
        except AnswerRejected as why:
            return str(why)
        except Exception as error:
            return raised(error, "the check cannot use what your function returns: it")
        finally:
            topic.reset(before)
        return None

    def source(self, known: Collection[str] = ()) -> str:
        """Return the source of the solution, ready to be pasted over the stub.

        Args:
            known: the names that the notebook has imported; an import or a helper for any other
                name comes first.
        """
        return pasteable_source(self.solution, self.stub.__name__, known)


@functools.cache
def all_exercises() -> dict[str, Exercise]:
    """Return every exercise of the book by id."""
    rooms = sorted(m.name for m in pkgutil.iter_modules(jaxbits.book.exercises.__path__))
    modules = (
        importlib.import_module(f"jaxbits.book.exercises.{room}")
        for room in rooms
        if room not in _MACHINERY
    )
    return {e.id: e for module in modules for e in module.EXERCISES}


def get_exercise(id: str) -> Exercise:
    """Return one exercise.

    Raises:
        KeyError: when there is no exercise with that id; the message lists the closest ones.

    >>> get_exercise("out-of-bounds/99")
    Traceback (most recent call last):
    KeyError: "no exercise 'out-of-bounds/99'; there are out-of-bounds/1, out-of-bounds/2, ..."
    """
    known = all_exercises()
    if id not in known:
        topic = str(id).split("/")[0]
        near = [name for name in known if name.split("/")[0] == topic]
        near = near or difflib.get_close_matches(str(id), known, n=3, cutoff=0.4) or list(known)
        raise KeyError(f"no exercise {id!r}; there are {', '.join(near)}")
    return known[id]


def check(id: str, answer: Any) -> None:
    """Print whether an answer solves an exercise, and if not, what is wrong with it.

    Args:
        id: the exercise, such as ``"out-of-bounds/1"``.
        answer: the reader's function. An answer that is wrong, or raises, does not make `check`
            raise.

    Raises:
        KeyError: when there is no exercise with that id.

    >>> check("out-of-bounds/1", lambda table, i, default: table[i])  # doctest: +ELLIPSIS
    ○ out-of-bounds/1: f(table=[10.0, 20.0, 30.0], i=3, default=-1.0) must return -1.0, got 30.0
      hint("out-of-bounds/1") gives a hint.
    """
    task = get_exercise(id)
    problem = task.problem(answer)
    if problem is None:
        print(f"✓ {id}: {task.title}")
    else:
        print(f'○ {id}: {problem}\n  hint("{id}") gives a hint.')


def hint(id: str) -> None:
    """Print the next hint for an exercise; after the last one, say how to see the solution.

    Raises:
        KeyError: when there is no exercise with that id.
    """
    task = get_exercise(id)
    given = _hints_given.get(id, 0)
    if given >= len(task.hints):
        print(f'That was the last hint. solution("{id}") shows one way to do it.')
        return
    _hints_given[id] = given + 1
    print(f"Hint {given + 1} of {len(task.hints)}: {task.hints[given]}")


def solution(id: str) -> None:
    """Print one solution of an exercise, ready to be pasted over the stub.

    Modules that the notebook has already imported are not imported again.

    Raises:
        KeyError: when there is no exercise with that id.
    """
    task = get_exercise(id)
    there = vars(sys.modules["__main__"])
    needed = sys.modules[task.solution.__module__]
    known = {name for name in there if there[name] is getattr(needed, name, task)}
    print(task.source(known))
