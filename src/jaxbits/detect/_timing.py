"""The detector `timing`: clocks that are read while the device is still working."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import jax

from jaxbits._analysis.detector import detector
from jaxbits._analysis.eager_events import Event
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.reachable_state import used_names
from jaxbits._analysis.source import ast_utils

_CLOCK_MODULES = {"time", "timeit", "datetime"}
# NumPy functions that do not compute anything from a JAX array, so they do not wait for it.
_CREATORS_WORDS = (
    "ones zeros full arange linspace eye identity empty array asarray float32 float64 int32 "
    "int64 default_rng RandomState seed dtype prod shape ndim"
)
_CREATORS = frozenset(_CREATORS_WORDS.split())


@detector(needs="calls", reads=[])
def timing(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find measured durations that end before the device has finished.

    The detector runs the function once and records when it reads a clock, starts a program, or
    waits for a result. It reports a duration that ends before the code has waited for the last
    program that started during it. It knows the clocks of `time`, `datetime`, and `timeit`,
    wherever they are called. It cannot see what NumPy reads directly from memory on a CPU, so it
    treats a call to a NumPy function as a wait. It does not report that a duration includes
    compilation. JAX has no switch for this.

    >>> import time, jax.numpy as jnp
    >>> from jaxbits import detect
    >>> def timed(x):
    ...     start = time.perf_counter()
    ...     y = x @ x
    ...     return y, time.perf_counter() - start
    >>> found = detect.timing(timed, jnp.ones((10, 10)))[0]
    >>> print(found.message)
    the clock is read before the device has finished
    """
    calls_clock = any(name.startswith("time.") or "." in name for name, _ in target.trace.log.calls)
    if not calls_clock and not any(map(_is_clock, used_names(target.function).values())):
        return
    for location, count, is_meant in dict.fromkeys(_early_readings(target)):
        yield Finding(
            "note" if is_meant else "error",
            "the clock is read before the device has finished",
            f"{count} program{'s' * (count > 1)} started, and nothing waits for the results",
            "call `jax.block_until_ready(result)` before the clock is read again",
            location,
        )


def _is_clock(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return value.__name__ in _CLOCK_MODULES
    return callable(value) and getattr(value, "__module__", None) in _CLOCK_MODULES


def _early_readings(target: FunctionUnderTest) -> Iterator[tuple[Any, int, bool]]:
    """Yield (location, number of programs, is_meant) for each clock reading that is too early."""
    run = target.eager_run
    arguments = {id(leaf) for leaf in jax.tree.leaves(run.arguments)}
    program_of: dict[int, int] = {}
    start: Event | None = None
    # Each pair contains the number of programs that ran and the number of calls that were traced,
    # in total and up to the start of the duration.
    count, count_at_start, done = [0, 0], [0, 0], 0
    for index, event in enumerate(run.events):
        if event.kind == "dispatch":
            count[event.is_tracing] += 1
            if not event.is_tracing:
                program_of.update(dict.fromkeys(event.arrays, count[0]))
        elif event.kind in ("wait", "read", "get"):
            awaited = [program_of[i] for i in event.arrays if i in program_of]
            is_unknown = any(i not in program_of and i not in arguments for i in event.arrays)
            done = count[0] if is_unknown else max([done, *awaited])
        elif event.kind == "clock":
            starts, ends = _roles(event)
            at_start = count_at_start[event.is_tracing]
            finished = at_start if event.is_tracing else max(done, at_start)
            unfinished = count[event.is_tracing] - finished
            if ends and start is not None and unfinished > 0 and not _numpy_between(start, event):
                started = count[event.is_tracing] - at_start
                yield (
                    event.location,
                    started,
                    _is_meant(run.events[index + 1 :], bool(run.stopped_after)),
                )
            if starts:
                start, count_at_start = event, list(count)


def _is_meant(later: list[Event], is_cut: bool) -> bool:
    """Return whether the code may measure the dispatch time on purpose.

    It does if the reading is followed by a wait and then by another reading.

    Args:
        later: The events after the reading.
        is_cut: Whether the run was stopped, so that there may be further events.
    """
    has_waited = False
    for event in later:
        if event.kind == "dispatch" and not event.is_tracing:
            return False
        has_waited = has_waited or event.kind in ("wait", "read", "get")
        if event.kind == "clock":
            return has_waited and _roles(event)[1]
    return is_cut


def _roles(event: Event) -> tuple[bool, bool]:
    """Return whether a clock reading may start a duration, and whether it may end one."""
    call = event.call
    parent = getattr(call, "parent", None)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub):
        return parent.right is call, parent.left is call
    targets = getattr(parent, "targets", None) or [getattr(parent, "target", None)]
    if not isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) or len(targets) != 1:
        return True, True
    name = _assigned_name(targets[0])
    scope = ast_utils.enclosing_scope(call)
    if not isinstance(targets[0], ast.Name):
        *_, scope = ast_utils.ancestors(call)
    starts = ends = False
    for node in ast.walk(scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            starts = starts or _assigned_name(node.right) == name
            ends = ends or _assigned_name(node.left) == name
        elif isinstance(node, ast.Assign) and _assigned_name(node.value) == name:
            starts = True
    return (starts, ends) if starts or ends else (True, True)


def _assigned_name(node: Any) -> str:
    """Return the source of an assignment's target, without the object if it is an attribute."""
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Subscript)) else ""


def _numpy_between(first: Event, last: Event) -> bool:
    """Return whether, between two clock readings, the code passes arguments to a NumPy function."""
    if not first.location or not last.location or first.location.file != last.location.file:
        return False
    if first.location.function != last.location.function:
        return False
    tree = ast_utils.parse_file(first.location.file)
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if not first.location.line <= node.lineno <= last.location.line:
            continue
        function: Any = node.func
        name = getattr(function, "attr", "")
        while isinstance(function, ast.Attribute):
            function = function.value
        owner = first.scope.get(getattr(function, "id", ""))
        module = getattr(owner, "__name__" if isinstance(owner, ModuleType) else "__module__", "")
        is_creation = name in _CREATORS or ".random" in ast.unparse(node.func)
        if str(module).split(".")[0] == "numpy" and not is_creation:
            return True
    return False
