"""Look for an input for which an answer differs from right answers."""

from __future__ import annotations

import contextlib
import random
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxbits_grader.judging.fuzzing.agreement import (
    NoAgreement,
    agrees,
    has_same_types,
    is_finite,
    rounding_error,
)
from jaxbits_grader.judging.fuzzing.input_drawer import InputDrawer
from jaxbits_grader.judging.fuzzing.perturbation import perturbed
from jaxbits_grader.judging.fuzzing.recorded_calls import RecordedCall, describe_call
from jaxbits_grader.judging.remote_objects import CannotSplit, ChangedArgument, NoReply

_MAX_DRAWS = 3000
_FAST_SHARE = 0.7  # How many calls are not transformed.
# How many more seconds to look for a few calls that can be compared, and for a first one.
_FEW, _SECONDS_FOR_FEW, _PATIENCE = 8, 1.0, 20.0
_GRADIENTS = {"grad", "value_and_grad"}
_PERTURBED = 4  # How many inputs with other last digits to try.


class SearchResult(NamedTuple):
    """What a search for a difference has found.

    Attributes:
        difference: A description of a call for which the answer differs, or None.
        compared: For how many calls the results were compared.
    """

    difference: str | None
    compared: int


def find_difference(
    answer: Callable[..., Any],
    references: Sequence[Callable[..., Any]],
    drawers: Sequence[InputDrawer],
    rng: random.Random,
    seconds: float,
    atol: float = 0.0,
    *,
    same_types: bool = False,
) -> SearchResult:
    """Look for a call for which an answer differs from all right answers.

    A call counts only if the right answers agree, because the arguments may not fit together.

    Args:
        answer: The answer to check.
        references: Right answers, of which the first is called for each input.
        drawers: What draws the inputs.
        rng: The source of random numbers.
        seconds: How long to look, in seconds.
        atol: How far numbers may be from those of the solution, in addition to rounding errors.
        same_types: Whether results must also have the same types and dtypes as right results.
    """
    own = _Transformable(answer)
    first, *others = map(_Transformable, references)
    end, compared = time.monotonic() + seconds, 0
    fast = [drawer for drawer in drawers if drawer.is_fast]
    for _ in range(_MAX_DRAWS):
        some = fast if fast and rng.random() < _FAST_SHARE else drawers
        call = rng.choice(some).draw()
        if call is not None:
            with contextlib.suppress(NoAgreement):
                found = _difference(call, own, first, others, rng, atol, same_types)
                compared += 1
                if found is not None:
                    return SearchResult(found, compared)
        extra = 0.0 if compared >= _FEW else _SECONDS_FOR_FEW if compared else _PATIENCE
        if time.monotonic() > end + extra:
            break
    return SearchResult(None, compared)


def _difference(
    call: RecordedCall,
    own: _Transformable,
    first: _Transformable,
    others: list[_Transformable],
    rng: random.Random,
    atol: float,
    same_types: bool,
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
    except CannotSplit as reason:
        if call.transforms.names:
            raise NoAgreement(str(reason)) from None
        result, error = None, ", where its result contains more than numbers"
    except Exception as raised:
        result, error = None, f", where it raises {type(raised).__name__}"
    rounding = rounding_error((call.args, call.kwargs, expected))
    is_close = not error and agrees(result, [expected], atol, rounding)
    if is_close and (not same_types or has_same_types(result, [expected])):
        return None
    # Rounding may change a result by as much as a last digit of the arguments does.
    near = [first.result(perturbed(call, rng)) for _ in range(_PERTURBED)]
    all_expected = [expected, *near]
    all_expected += [other.result(call) for other in others]
    is_right = agrees(result, all_expected, atol, rounding) and not error
    if is_right and same_types and not has_same_types(result, all_expected):
        return f"{describe_call(call)}, where the type or dtype of a result is wrong"
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
