"""Collect the exercises for all topics, and provide `check`, `hint`, and `solution`."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

from jaxbits.book.exercises.base import Exercise

_hints_given: dict[str, int] = {}


@functools.cache
def all_exercises() -> dict[str, Exercise]:
    """Return all of the book's exercises as a dict keyed by id."""
    names = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    modules = (importlib.import_module(f"{__package__}.{name}") for name in names)
    found = {e.id: e for module in modules for e in getattr(module, "EXERCISES", ())}
    return dict(sorted(found.items()))


def get_exercise(id: str) -> Exercise:
    """Return the exercise with the given id.

    Raises:
        KeyError: If there is no exercise with this id. The message lists the closest ids.

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
    """Print whether `answer` solves an exercise and, if not, what is wrong with it.

    `check` does not raise an error for a wrong answer, even if the answer itself raises one.

    Args:
        id: The id of the exercise, such as ``"out-of-bounds/1"``.
        answer: The reader's function.

    Raises:
        KeyError: If there is no exercise with this id.

    >>> check("out-of-bounds/1", lambda table, i, default: table[i])  # doctest: +ELLIPSIS
    ○ out-of-bounds/1: f(table=[10.0, 20.0, 30.0], i=3, default=-1.0) must return -1.0, got 30.0
      hint("out-of-bounds/1") gives a hint.
    """
    exercise = get_exercise(id)
    problem = exercise.find_problem(answer)
    if problem is None:
        print(f"✓ {id}: {exercise.title}")
    else:
        print(f'○ {id}: {problem}\n  hint("{id}") gives a hint.')


def hint(id: str) -> None:
    """Print the next hint for an exercise or, after the last hint, how to print the solution.

    Raises:
        KeyError: If there is no exercise with this id.
    """
    hints = get_exercise(id).hints
    given = _hints_given.get(id, 0)
    if given >= len(hints):
        print(f'That was the last hint. solution("{id}") shows one way to do it.')
        return
    _hints_given[id] = given + 1
    print(f"Hint {given + 1} of {len(hints)}: {hints[given]}")


def solution(id: str) -> None:
    """Print a solution that the reader can paste over an exercise's stub.

    The printed source imports only what the notebook has not imported yet.

    Raises:
        KeyError: If there is no exercise with this id.
    """
    exercise = get_exercise(id)
    notebook = vars(sys.modules["__main__"])
    module = sys.modules[exercise.solution.__module__]
    missing = object()
    known = {name for name in notebook if notebook[name] is getattr(module, name, missing)}
    print(exercise.solution_source(known))
