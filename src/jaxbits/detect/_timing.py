"""Clocks that are read before the device is done."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import BuiltinFunctionType, ModuleType
from typing import Any

import jax

from jaxbits._analysis.detector import detector
from jaxbits._analysis.eager_run import Event, names_in
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.source import ast_utils
from jaxbits._finding import Finding

_MANY = 1000
_MODULES = {"time", "timeit", "datetime"}
_CREATORS = "ones zeros full arange linspace eye identity empty array asarray float32 float64 int32"
_CREATORS += " int64 default_rng RandomState seed dtype prod shape ndim"
_MADE = set(_CREATORS.split())


@detector
def timing(subject: Subject) -> Iterator[Finding]:
    """Find durations that are measured while the device still works.

    It runs the function once with the clocks, the programs that start and the waits recorded. A
    duration that ends before anyone waited for the last program that started in it is reported.
    It knows the clocks of `time`, `datetime` and `timeit`, wherever they are called; it cannot see
    what NumPy reads straight from memory on a CPU, and takes a call of NumPy's for a wait. That a
    first call also compiles is not its business. JAX has no switch for it.

    >>> import time, jax.numpy as jnp
    >>> from jaxbits import detect
    >>> def timed(x):
    ...     start = time.perf_counter()
    ...     y = x @ x
    ...     return y, time.perf_counter() - start
    >>> found = detect.timing(timed, jnp.ones((10, 10)))[0]
    >>> found.message, found.evidence
    ('the clock is read before the device is done', '1 program started, the last not waited for')
    """
    seen = any(name.startswith("time.") or "." in name for name, _ in subject.trace.seen.calls)
    if not seen and not any(map(_is_clock, names_in(subject).values())):
        return
    for place, started, meant in dict.fromkeys(_early(subject)):
        yield Finding(
            "timing",
            "note" if meant else "warning",
            "the clock is read before the device is done",
            f"{started} program{'s' * (started > 1)} started, the last not waited for",
            "`jax.block_until_ready(result)` before the clock is read again",
            place,
        )


def _is_clock(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return value.__name__ in _MODULES
    known = isinstance(value, (BuiltinFunctionType, type)) or callable(value)
    return known and getattr(value, "__module__", None) in _MODULES


def _early(subject: Subject) -> Iterator[tuple[Any, int, bool]]:
    """Yield the clock readings that end a duration too early: place, programs, whether meant."""
    run = subject.plain
    old = {id(leaf) for leaf in jax.tree.leaves(run.arguments)}
    made: dict[int, int] = {}
    base: Event | None = None
    count, since, done = [0, 0], [0, 0], 0  # of programs that ran, of parts that were traced
    for index, event in enumerate(run.events):
        if event.kind == "dispatch":
            count[event.tracing] += 1
            if not event.tracing:
                made.update(dict.fromkeys(event.arrays, count[0]))
        elif event.kind in ("wait", "read", "get"):
            known = [made[i] for i in event.arrays if i in made]
            strange = any(i not in made and i not in old for i in event.arrays)
            done = count[0] if strange else max([done, *known])
        elif event.kind == "clock":
            starts, ends = _roles(event)
            begun = since[1] if event.tracing else max(done, since[0])
            started = count[event.tracing] - begun
            if ends and base is not None and started > 0 and not _numpy_between(base, event):
                every = count[event.tracing] - since[event.tracing]
                yield event.place, every, _is_meant(run.events[index + 1 :])
            if starts:
                base, since = event, list(count)
    if run.cut and base is not None and count[0] > max(done, since[0]) + _MANY:
        yield base.place, count[0] - since[0], False


def _is_meant(later: list[Event]) -> bool:
    """Whether the time to start the work was wanted: the next reading follows a mere wait."""
    waited = False
    for event in later:
        if event.kind == "dispatch" and not event.tracing:
            return False
        waited = waited or event.kind in ("wait", "read", "get")
        if event.kind == "clock":
            return waited and _roles(event)[1]
    return False


def _roles(event: Event) -> tuple[bool, bool]:
    """Return whether a reading may start a duration, and whether it may end one."""
    call = event.call
    around = getattr(call, "above", None)
    if isinstance(around, ast.BinOp) and isinstance(around.op, ast.Sub):
        return around.right is call, around.left is call
    targets = getattr(around, "targets", None) or [getattr(around, "target", None)]
    if not isinstance(around, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) or len(targets) != 1:
        return True, True
    name = _name(targets[0])
    scope = ast_utils.scope_of(call)
    if not isinstance(targets[0], ast.Name):
        *_, scope = ast_utils.above(call)
    starts = ends = False
    for node in ast.walk(scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            starts = starts or _name(node.right) == name
            ends = ends or _name(node.left) == name
        elif isinstance(node, ast.Assign) and _name(node.value) == name:
            starts = True
    return (starts, ends) if starts or ends else (True, True)


def _name(node: Any) -> str:
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Subscript)) else ""


def _numpy_between(first: Event, last: Event) -> bool:
    """Whether a call of NumPy's, on something, stands in the text between two readings."""
    if not first.place or not last.place or first.place.file != last.place.file:
        return False
    if first.place.function != last.place.function:
        return False
    tree = ast_utils.parsed(first.place.file)
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if not first.place.line <= node.lineno <= last.place.line:
            continue
        root: Any = node.func
        ending = getattr(root, "attr", "")
        while isinstance(root, ast.Attribute):
            root = root.value
        value = first.scope.get(getattr(root, "id", ""))
        module = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", "")
        made = ending in _MADE or ".random" in ast.unparse(node.func)
        if str(module).split(".")[0] == "numpy" and not made:
            return True
    return False
