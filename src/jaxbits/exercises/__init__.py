"""The exercises of the book: `check` an answer, ask for a `hint`, see the `solution`."""

from __future__ import annotations

from jaxbits.exercises.core import Exercise as Exercise
from jaxbits.exercises.core import check as check
from jaxbits.exercises.core import exercise as exercise
from jaxbits.exercises.core import exercises as exercises
from jaxbits.exercises.core import hint as hint
from jaxbits.exercises.core import solution as solution

__all__ = ["Exercise", "check", "exercise", "exercises", "hint", "solution"]
