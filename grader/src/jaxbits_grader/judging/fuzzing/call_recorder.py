"""Record the calls of answers, without becoming part of what an answer can reach."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable
from typing import Any

from jaxbits_grader.judging.fuzzing.recorded_calls import RecordedCalls
from jaxbits_grader.judging.fuzzing.transformed_answers import UNTRANSFORMED, Note, Transforms
from jaxbits_grader.judging.remote_objects import Remote


class CallRecorder:
    """Records the calls of a student's answers in the judge's process.

    Args:
        settings: A function that returns the settings of JAX. Calls with other settings than now
            are not recorded, because a right answer would be called without them.
    """

    def __init__(self, settings: Callable[[], dict[str, Any]]) -> None:
        self._settings, self._usual = settings, settings()
        self._names: dict[int, str] = {}
        self.calls = RecordedCalls(random.Random())

    def add_answer(self, name: str, value: Any) -> None:
        """Record the calls of an answer from now on, if it is an object of the student's."""
        if isinstance(value, Remote):
            self._names[value._number] = name

    def is_answer(self, value: Any) -> bool:
        """Return whether a value is one of the answers."""
        return isinstance(value, Remote) and value._number in self._names

    def record(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        transforms: Transforms,
    ) -> None:
        """Record a call if the function is an answer."""
        if self.is_answer(function) and self._settings() == self._usual:
            self.calls.note(self._names[function._number], args, kwargs, transforms)

    def weak_note(self) -> Note:
        """Return a function that records a call as long as this object exists.

        The answers refer to this function. If it referred to the recorded calls, a detector would
        take them for state that the answer changes.
        """
        recorder = weakref.ref(self)

        def note(
            function: Any,
            args: tuple[Any, ...],
            kwargs: dict[str, Any],
            transforms: Transforms = UNTRANSFORMED,
        ) -> None:
            found = recorder()
            if found is not None:
                found.record(function, args, kwargs, transforms)

        return note
