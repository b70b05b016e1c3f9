"""The exercises of the book: `check` an answer, ask for a `hint`, see the `solution`."""

from __future__ import annotations

from jaxbits.book.exercises.registry import Exercise as Exercise
from jaxbits.book.exercises.registry import check as check
from jaxbits.book.exercises.registry import exercise as exercise
from jaxbits.book.exercises.registry import exercises as exercises
from jaxbits.book.exercises.registry import hint as hint
from jaxbits.book.exercises.registry import solution as solution

__all__ = ["Exercise", "check", "exercise", "exercises", "hint", "solution"]
