"""Derive wrong answers from the limits of a task's inputs and results.

A test with small inputs accepts an answer that cannot handle large ones. For each limit that the
author declares, this module therefore makes an answer from the solution that breaks only there. For
example, one uses only the first 460 of 512 levels. The tests must reject all of these answers.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from pathlib import Path

from jaxbits_grader.authoring import narrowed_inputs
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.cell_markers import solution_source
from jaxbits_grader.authoring.input_limits import RESULT, InputLimits, LimitError
from jaxbits_grader.authoring.reference_answers import Answer
from jaxbits_grader.cell_names import bound_names

# An answer that breaks handles all but this part of the sizes and of the values.
_REST = 0.1


def answers_at_limits(assignment: Assignment) -> list[Answer]:
    """Return the answers that show whether tests reach the limits of the inputs.

    Returns:
        For each task with limits, a right answer, which only passes on all arguments of the
        solution, and a wrong answer per limit.

    Raises:
        LimitError: If limits name a function that no answer defines, or an argument that it lacks.
    """
    answers = []
    limits = list(assignment.limits)
    for task in assignment.tasks:
        source = solution_source(assignment.cell(task.id).source)
        names = bound_names(source)
        own = [one for one in limits if one.function in names]
        limits = [one for one in limits if one not in own]
        for one in own:
            _check_argument(one, source)
        wrapped = f"{source}\n\n{Path(narrowed_inputs.__file__).read_text(encoding='utf-8')}\n"
        if own:
            calls = "".join(
                _call(one, "clip", low=low, high=high)
                for one in own
                for low, high in [one.values or (-math.inf, math.inf)]
            )
            answers.append(Answer(task.id, True, "passes on all inputs", wrapped + calls))
        for one in own:
            for what, call in _breaks(one):
                description = f"{one.function} {what}"
                answers.append(Answer(task.id, False, description, wrapped + call))
    if limits:
        raise LimitError(f"'limits' names {limits[0].function!r}, which no answer defines")
    return answers


def _check_argument(limits: InputLimits, source: str) -> None:
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == limits.function:
            given = node.args
            names = [part.arg for part in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            if limits.argument not in (*names, RESULT):
                raise LimitError(
                    f"an argument of {limits.function!r} in 'limits' must be one of "
                    f"{', '.join(names)}, got {limits.argument!r}"
                )


def _call(limits: InputLimits, change: str, **settings: float | int | str) -> str:
    given = "".join(f", {name}={_literal(value)}" for name, value in settings.items())
    name, argument = limits.function, limits.argument
    return f"{name} = _narrowed({name}, {argument!r}, {change!r}{given})\n"


def _literal(value: float | str) -> str:
    return f"float({str(value)!r})" if isinstance(value, float) else repr(value)


def _breaks(limits: InputLimits) -> Iterator[tuple[str, str]]:
    """Yield what each answer that breaks at a limit does, and the line that makes it do so."""
    argument = "its result" if limits.argument == RESULT else limits.argument
    for axis, (least, most) in enumerate(limits.sizes):
        on_axis = f" on axis {axis}" if axis else ""
        if most > 1:
            kept = max(1, min(most - 1, int((1 - _REST) * most)))
            what = f"uses only the first {kept} items of {argument}{on_axis}"
            yield what, _call(limits, "shorten", most=kept, axis=axis)
        if least < most:
            what = f"does not work if {argument} has the size {least}{on_axis}"
            yield what, _call(limits, "refuse size", size=least, axis=axis)
    if limits.values:
        low, high = limits.values
        low_end, high_end = low + _margin(low, high - low), high - _margin(high, high - low)
        for what, ends in (
            (f"clips {argument} below {low_end:g}", (low_end, high)),
            (f"clips {argument} above {high_end:g}", (low, high_end)),
        ):
            yield what, _call(limits, "clip", low=ends[0], high=ends[1])
    if limits.step:
        what = f"rounds {argument} to multiples of {limits.step:g}"
        yield what, _call(limits, "round", step=float(limits.step))
    for special in limits.special:
        what = f"takes {special} in {argument} for another number"
        yield what, _call(limits, "forget", what=special)
    for kind in limits.kinds:
        yield f"does not accept {kind} for {argument}", _call(limits, "refuse kind", kind=kind)


def _margin(end: float, width: float) -> float:
    """Return how far from an end an answer already clips."""
    if end:
        return _REST * min(abs(end), width)
    return 1 if isinstance(end, int) and width >= 10 else width / 1000
