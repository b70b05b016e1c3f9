"""Call answers with new inputs, and compare their results with those of right answers.

This runs in the judge's process, which no student's code enters. A call of the answer goes through
the channel to the student's process.
"""

from __future__ import annotations

import contextlib
import random
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jaxbits_grader.authoring.input_limits import InputLimits
from jaxbits_grader.authoring.new_inputs import NewInputs
from jaxbits_grader.judging.fuzzing.agreement import NoAgreement, agrees, is_finite
from jaxbits_grader.judging.fuzzing.input_drawer import InputDrawer
from jaxbits_grader.judging.fuzzing.perturbation import perturbed
from jaxbits_grader.judging.fuzzing.recorded_calls import (
    RecordedCall,
    RecordedCalls,
    describe_call,
)
from jaxbits_grader.judging.remote_objects import ChangedArgument, NoReply

_MAX_DRAWS = 3000
_GRADIENTS = {"grad", "value_and_grad"}
_PERTURBED = 4  # How many inputs with other last digits to try.


@dataclass(frozen=True)
class Comparison:
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
    def from_data(cls, data: dict[str, Any]) -> Comparison:
        """Return the comparison that `to_data` described."""
        limits = [InputLimits.from_data(one) for one in data["limits"]]
        functions = {
            name: NewInputs(tuple(one["arguments"]), one["condition"], one["atol"])
            for name, one in data["functions"].items()
        }
        return cls(**{**data, "limits": limits, "functions": functions})


def compare_with_references(
    comparison: Comparison, names: Mapping[str, Any], calls: RecordedCalls, rng: random.Random
) -> str | None:
    """Return a description of a call for which an answer differs from all right answers.

    Args:
        comparison: What to compare.
        names: The values of given cells, and the answers by their names.
        calls: The calls that tests have made.
        rng: The source of random numbers.
    """
    scopes = list(_scopes(comparison, names))
    for name, inputs in comparison.functions.items():
        references = [scope[name] for scope in scopes if name in scope]
        if name not in names or len(references) < 2 or not calls.of(name):
            continue
        found = find_difference(
            names[name],
            references,
            _drawers(references[0], calls.of(name), inputs, comparison, rng),
            rng,
            comparison.seconds,
            inputs.atol,
        )
        if found is not None:
            return found
    return None


def _scopes(comparison: Comparison, names: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
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
    comparison: Comparison,
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


def find_difference(
    answer: Callable[..., Any],
    references: Sequence[Callable[..., Any]],
    drawers: Sequence[InputDrawer],
    rng: random.Random,
    seconds: float,
    atol: float = 0.0,
) -> str | None:
    """Return a description of a call for which an answer differs from all right answers.

    A call counts only if the right answers agree, because the arguments may not fit together.

    Args:
        answer: The answer to check.
        references: Right answers, of which the first is called for each input.
        drawers: What draws the inputs.
        rng: The source of random numbers.
        seconds: How long to look, in seconds.
        atol: How far numbers may be from those of the solution, in addition to rounding errors.
    """
    own = _Transformable(answer)
    first, *others = map(_Transformable, references)
    end = time.monotonic() + seconds
    for _ in range(_MAX_DRAWS):
        call = rng.choice(drawers).draw()
        if call is not None:
            try:
                if (found := _difference(call, own, first, others, rng, atol)) is not None:
                    return found
            except NoAgreement:
                pass
        if time.monotonic() > end:
            break
    return None


def _difference(
    call: RecordedCall,
    own: _Transformable,
    first: _Transformable,
    others: list[_Transformable],
    rng: random.Random,
    atol: float,
) -> str | None:
    expected = first.result(call)
    agrees(expected, [expected])  # Raises NoAgreement unless the result is plain data.
    if _GRADIENTS.intersection(call.transforms.names) and not is_finite(expected):
        raise NoAgreement("where a gradient does not exist, right answers may return anything")
    try:
        result, error = own(call), ""
    except NoReply as reason:
        raise NoAgreement(str(reason)) from None
    except ChangedArgument:
        result, error = None, ", where it changes an argument"
    except Exception as raised:
        result, error = None, f", where it raises {type(raised).__name__}"
    if not error and agrees(result, [expected], atol):
        return None
    # Rounding may change a result by as much as a last digit of the arguments does.
    near = [first.result(perturbed(call, rng)) for _ in range(_PERTURBED)]
    all_expected = [expected, *near]
    all_expected += [other.result(call) for other in others]
    is_right = agrees(result, all_expected, atol) and not error
    return None if is_right else f"{describe_call(call)}{error}"


class _Transformable:
    """A function that can be called as a test has called the answer, such as under `jax.jit`.

    Each transformed function is kept, so that JAX compiles it only once for inputs of one shape.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._transformed: dict[str, Callable[..., Any]] = {}

    def __call__(self, call: RecordedCall) -> Any:
        key = repr(call.transforms)
        if key not in self._transformed:
            self._transformed[key] = call.transforms.apply(self._function)
        own = call.copied()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._transformed[key](*own.args, **own.kwargs)

    def result(self, call: RecordedCall) -> Any:
        """Return the result of a call to a right answer.

        Raises:
            NoAgreement: If the answer raises an exception, so the input is not allowed.
        """
        try:
            return self(call)
        except Exception as error:
            raise NoAgreement(f"a right answer raises {type(error).__name__}") from None
