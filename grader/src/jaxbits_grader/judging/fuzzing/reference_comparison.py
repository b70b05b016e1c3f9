"""Call answers with new inputs, and compare their results with those of right answers.

This runs in the judge's process, which no student's code enters. A call of the answer goes through
the channel to the student's process.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jaxbits_grader.authoring.input_limits import InputLimits
from jaxbits_grader.authoring.new_inputs import NewInputs
from jaxbits_grader.judging.fuzzing.difference_search import find_difference
from jaxbits_grader.judging.fuzzing.input_drawer import InputDrawer
from jaxbits_grader.judging.fuzzing.recorded_calls import RecordedCall, RecordedCalls


@dataclass(frozen=True)
class ReferenceComparison:
    """How to compare the answers to a task with right answers.

    Attributes:
        functions: Which arguments may be drawn anew, keyed by the name of the function.
        before: The solutions of the tasks above, which right answers may use.
        references: The sources of right answers, of which the first is the solution.
        limits: What the task allows as inputs.
        numbers: The unusual numbers in the student's code.
        seconds: How long to look for a difference in each function, in seconds.
    """

    functions: Mapping[str, NewInputs]
    before: Sequence[str]
    references: Sequence[str]
    limits: Sequence[InputLimits]
    numbers: Sequence[float]
    seconds: float

    def to_data(self) -> dict[str, Any]:
        """Return the comparison as data that JSON can represent."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ReferenceComparison:
        """Return the comparison that `to_data` described."""
        limits = [InputLimits.from_data(one) for one in data["limits"]]
        functions = {
            name: NewInputs(**{**one, "arguments": tuple(one["arguments"])})
            for name, one in data["functions"].items()
        }
        return cls(**{**data, "limits": limits, "functions": functions})


@dataclass(frozen=True)
class ComparisonResult:
    """What the comparison of the answers to a task with right answers has found.

    Attributes:
        difference: A description of a call for which an answer is wrong, or None.
        never_compared: The functions of which no call could be compared.
    """

    difference: str | None = None
    never_compared: tuple[str, ...] = ()


def compare_with_references(
    comparison: ReferenceComparison,
    names: Mapping[str, Any],
    calls: RecordedCalls,
    rng: random.Random,
) -> ComparisonResult:
    """Look for a call for which an answer differs from all right answers.

    Args:
        comparison: What to compare.
        names: The values of given cells, and the answers by their names.
        calls: The calls that tests have made.
        rng: The source of random numbers.
    """
    scopes, never_compared = list(_scopes(comparison, names)), []
    for name, inputs in comparison.functions.items():
        references = [scope[name] for scope in scopes if name in scope]
        if name not in names or len(references) < 2 or not calls.of(name):
            never_compared.append(name)
            continue
        found = find_difference(
            names[name],
            references,
            _drawers(references[0], calls.of(name), inputs, comparison, rng),
            rng,
            comparison.seconds,
            inputs.atol,
            same_types=inputs.same_types,
        )
        if found.difference is not None:
            return ComparisonResult(found.difference)
        if not found.compared:
            never_compared.append(name)
    return ComparisonResult(None, tuple(never_compared))


def _scopes(comparison: ReferenceComparison, names: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the names that each right answer defines, together with those that it uses."""
    above = dict(names)
    for source in comparison.before:
        exec(compile(source, "<solution>", "exec"), above)
    for source in comparison.references:
        scope = dict(above)
        with contextlib.suppress(Exception):  # An answer may need a module that is not installed.
            exec(compile(source, "<right answer>", "exec"), scope)
            yield scope


def _drawers(
    function: Callable[..., Any],
    calls: Sequence[RecordedCall],
    inputs: NewInputs,
    comparison: ReferenceComparison,
    rng: random.Random,
) -> list[InputDrawer]:
    """Return a drawer for each way in which the tests transform the function."""
    kinds: dict[tuple[str, ...], list[RecordedCall]] = {}
    for call in calls:
        kinds.setdefault(call.transforms.names, []).append(call)
    return [
        InputDrawer(function, some, inputs, comparison.limits, comparison.numbers, rng)
        for some in kinds.values()
    ]
