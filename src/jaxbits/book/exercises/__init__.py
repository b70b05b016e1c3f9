"""The book's exercises, with functions that `check` an answer and print a `hint` or `solution`."""

from __future__ import annotations

from jaxbits.book.exercises.base import Exercise as Exercise
from jaxbits.book.exercises.registry import all_exercises as all_exercises
from jaxbits.book.exercises.registry import check as check
from jaxbits.book.exercises.registry import get_exercise as get_exercise
from jaxbits.book.exercises.registry import hint as hint
from jaxbits.book.exercises.registry import solution as solution

__all__ = ["Exercise", "all_exercises", "check", "get_exercise", "hint", "solution"]
