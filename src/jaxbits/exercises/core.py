"""What an exercise is, and the three things a reader does with one."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jaxbits.exercises
from jaxbits.exercises.properties import NotYet

_MACHINERY = {"core", "properties"}
_hints_given: dict[str, int] = {}


@dataclass(frozen=True)
class Exercise:
    """A task of a chapter, with all that checks it and helps with it.

    Attributes:
        id: ``topic/number``, such as ``out-of-bounds/1``; the topic names the module.
        title: the task in a few words.
        stub: the function as the chapter hands it to the reader.
        hints: from a nudge to nearly the answer.
        verify: raises `NotYet` with what is wrong, in the reader's terms, or returns.
        solution: a function that passes.
    """

    id: str
    title: str
    stub: Callable[..., Any]
    hints: tuple[str, ...]
    verify: Callable[[Callable[..., Any]], None]
    solution: Callable[..., Any]

    def problem(self, answer: Any) -> str | None:
        """Return what is wrong with an answer, in a sentence, or None when it passes."""
        if not callable(answer):
            return f"hand over the function itself; this is {answer!r}"
        try:
            self.verify(answer)
        except NotYet as why:
            return str(why)
        return None

    def source(self) -> str:
        """Return the source of the solution, under the name of the stub."""
        source = textwrap.dedent(inspect.getsource(self.solution)).rstrip()
        return source.replace(f"def {self.solution.__name__}(", f"def {self.stub.__name__}(", 1)


@functools.cache
def exercises() -> dict[str, Exercise]:
    """Return every exercise of the book by id."""
    rooms = sorted(m.name for m in pkgutil.iter_modules(jaxbits.exercises.__path__))
    modules = (
        importlib.import_module(f"jaxbits.exercises.{room}")
        for room in rooms
        if room not in _MACHINERY
    )
    return {e.id: e for module in modules for e in module.EXERCISES}


def exercise(id: str) -> Exercise:
    """Return one exercise.

    Raises:
        KeyError: with the ids that come closest, when there is none of that id.

    >>> exercise("out-of-bounds/99")
    Traceback (most recent call last):
    KeyError: "no exercise 'out-of-bounds/99'; there are out-of-bounds/1, out-of-bounds/2, ..."
    """
    known = exercises()
    if id not in known:
        topic = str(id).split("/")[0]
        near = [name for name in known if name.split("/")[0] == topic]
        near = near or difflib.get_close_matches(str(id), known, n=3, cutoff=0.4) or list(known)
        raise KeyError(f"no exercise {id!r}; there are {', '.join(near)}")
    return known[id]


def check(id: str, answer: Any) -> None:
    """Say whether an answer solves an exercise, and if not, what is wrong with it.

    Args:
        id: the exercise, such as ``"out-of-bounds/1"``.
        answer: the reader's function. Whatever it does, nothing is raised.

    Raises:
        KeyError: when there is no exercise of that id.

    >>> check("out-of-bounds/1", lambda table, i, default: table[i])  # doctest: +ELLIPSIS
    ○ out-of-bounds/1: for (table=[10.0, 20.0, 30.0], i=3, ...) it returns 30.0, should be -1.0
      hint("out-of-bounds/1") gives a hint.
    """
    task = exercise(id)
    problem = task.problem(answer)
    if problem is None:
        print(f"✓ {id}: {task.title}")
    else:
        print(f'○ {id}: {problem}\n  hint("{id}") gives a hint.')


def hint(id: str) -> None:
    """Print the next hint for an exercise; after the last one, say how to see the solution.

    Raises:
        KeyError: when there is no exercise of that id.
    """
    task = exercise(id)
    given = _hints_given.get(id, 0)
    if given >= len(task.hints):
        print(f'That was the last hint. solution("{id}") shows one way to do it.')
        return
    _hints_given[id] = given + 1
    print(f"Hint {given + 1} of {len(task.hints)}: {task.hints[given]}")


def solution(id: str) -> None:
    """Print the source of one solution of an exercise.

    Raises:
        KeyError: when there is no exercise of that id.
    """
    print(exercise(id).source())
