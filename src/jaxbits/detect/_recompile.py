"""The detector `recompile`: calls that make JAX trace or compile again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils, resource_limits
from jaxbits._analysis.call_errors import confirm_later_call
from jaxbits._analysis.code_location import CodeLocation, location_of, user_location_of_function
from jaxbits._analysis.copying import copy_tree
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.static_arrays import find_static_arrays
from jaxbits._analysis.tracing_errors import parameter_names

_WARM_UP_CALLS = 2
_MAX_CALLS = 5


@detector(needs="calls")
def recompile(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find calls that make JAX trace or compile again, and functions that compile on every call.

    If you pass several calls (``calls=[(x,), (y,)]``), the detector makes them in order, starting
    with empty caches, and counts how many calls after the first are traced again. If the function
    is not jitted, the detector also makes one call three to five times, and it reports what the
    third call compiles if the later ones compile as well. An array in a static field of an
    argument, such as a module, is reported as well, because JAX compares it in every call. It
    cannot see calls that you do not pass. `jax.log_compiles()` comes closest, but it lists all
    compilations with their reasons instead of judging them.

    >>> import jax, jax.numpy as jnp
    >>> from jaxbits import detect
    >>> lengths = [(jnp.ones(n),) for n in (2, 3, 4)]
    >>> found = detect.recompile(jax.jit(jnp.sin), calls=lengths)[0]
    >>> found.message, found.evidence
    ('3 traces for 3 calls', 'x: float32[2] then float32[3]')
    >>> detect.recompile(jax.jit(jnp.sin), calls=[(jnp.ones(2),), (jnp.zeros(2),)])
    []
    """
    if target.calls and len(target.calls) > 1:
        retraces = _count_traces(target, target.calls) - 1
        if retraces > 0:
            evidence, catalogue_id = _describe_difference(target.function, target.calls)
            yield Finding(
                "warning",
                f"{retraces + 1} traces for {len(target.calls)} calls",
                evidence,
                "keep shapes, dtypes, tree structures, and static values the same: pad, "
                "`jnp.asarray(number, dtype)`, or make an argument traced",
                user_location_of_function(target.function),
                catalogue_id,
            )
    yield from _static_arrays(target)
    program = target.trace.program
    if target.is_jitted or program is None:
        return
    calls = list(_top_level_calls(program))
    jits = [location for name, location in calls if name in ("jit", "pjit")]
    loops = [location for name, location in calls if name in ("scan", "while", "cond")]
    if not jits and not (loops and target.calls):
        return
    compiled = _count_warm_compilations(target, target.calls[0] if target.calls else target.args)
    if compiled:
        yield Finding(
            "warning",
            "each call compiles again, with the same arguments",
            f"{compiled} in the third call",
            "create the jitted function once, outside"
            if jits
            else "`jax.jit` the whole function, or define the body of the loop once, outside",
            (jits or loops)[0],
            "fresh-function-each-call" if jits else "loop-body-recompiles",
        )


def _static_arrays(target: FunctionUnderTest) -> Iterator[Finding]:
    """Yield a finding for each array in a static field of an argument."""
    for kept_by, array in find_static_arrays((target.args, target.kwargs)):
        comparison = (
            "a new array with other values compiles again"
            if array.size == 1
            else "for a new array, this raises an error"
        )
        yield Finding(
            "warning",
            f"an array in a static field of a {kept_by.__name__} is part of its structure",
            f"{array.dtype}[{','.join(map(str, array.shape))}]; JAX compares it with `==`, and "
            f"{comparison}",
            "make it an ordinary field, so that it is an input, or store a tuple of numbers",
            user_location_of_function(target.function),
            "static-value-recompiles",
        )


def _count_traces(target: FunctionUnderTest, calls: Sequence[tuple[Any, ...]]) -> int:
    """Return how many of the calls JAX traces if its caches start empty, or 0 if a call fails."""
    function = target.function
    if not target.is_jitted:
        # Jitting a NumPy function crashes the interpreter, but jitting a partial of it does not.
        function = jax.jit(functools.partial(function))
    copies = [copy_tree(args) for args in calls]
    traced, failed = 0, 0
    with target.restore_state(), _jax_compat.fresh_caches():
        for number, args in enumerate(copies, 1):
            with _jax_compat.count_compilations("trace") as count:
                try:
                    resource_limits.wait_for(function(*args, **target.kwargs))
                except Exception:  # A call that fails says nothing about traces.
                    failed = number
                    break
            traced += count[0] > 0
    if failed:
        confirm_later_call(target, failed)
    return 0 if failed else traced


def _count_warm_compilations(target: FunctionUnderTest, args: tuple[Any, ...]) -> int:
    """Return how many programs the third of several identical calls compiles.

    The result is 0 if one of the first three calls fails, or if a later call compiles nothing. The
    function's own state may need a few calls until its types no longer change, for example from
    weak to strong.
    """
    counts: list[int] = []
    with target.restore_state(), _kept_arrays(target):
        try:
            for _ in range(_MAX_CALLS):
                copied = copy_tree(args)
                with _jax_compat.count_compilations("compile") as count:
                    target.function(*copied, **target.kwargs)
                counts.append(count[0])
                if len(counts) > _WARM_UP_CALLS and not count[0]:
                    return 0
        except Exception as error:
            if len(counts) <= _WARM_UP_CALLS:  # The audit reports it.
                target.add_call_error(1, error)
                return 0
    return counts[_WARM_UP_CALLS]


@contextmanager
def _kept_arrays(target: FunctionUnderTest) -> Iterator[None]:
    """Keep the arrays that the function's Python state refers to, even if a call donates them."""
    program = target.trace.program
    if program is None or not jaxpr_utils.donates(program):
        yield
        return
    # With empty caches, every call takes the path on which donation can be disabled.
    with _jax_compat.fresh_caches(), _jax_compat.intercept_dispatch(lambda *_: None):
        yield


def _top_level_calls(program: ClosedJaxpr) -> Iterator[tuple[str, CodeLocation | None]]:
    """Yield the name and line of each top-level `jit` call and loop in user code."""
    for equation in program.jaxpr.eqns:
        jaxpr = next(jaxpr_utils.sub_jaxprs(equation), None)
        if jaxpr is not None and not jaxpr_utils.is_library_jaxpr(jaxpr):
            yield equation.primitive.name, location_of(equation)


def _signature(args: Any) -> tuple[str, list[str]]:
    """Return a description of the arguments' tree structure, and one of each leaf's type."""
    leaves, tree = jax.tree.flatten(args, is_leaf=is_iterator)
    types = []
    for leaf in leaves:
        if hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
            weak = " (weak)" if getattr(leaf, "weak_type", False) else ""
            types.append(f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]{weak}")
        else:
            types.append(f"{type(leaf).__name__} {leaf!r:.20}")
    return str(tree), types


def _argument_names(function: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """Return the name of the parameter to which each leaf of the arguments belongs."""
    names = parameter_names(function)
    positions = [
        path[0].idx for path, _ in jax.tree_util.tree_leaves_with_path(args, is_leaf=is_iterator)
    ]
    return [f"{names[i]}: " if i < len(names) else "" for i in positions]


def _describe_difference(function: Callable[..., Any], calls: Sequence[Any]) -> tuple[str, str]:
    """Return a description of how the calls differ, and the id of the matching catalogue entry."""
    first = _signature(calls[0])
    for other in map(_signature, calls[1:]):
        if other[0] != first[0]:
            return f"{first[0]:.60} then {other[0]:.60}", "batch-list-or-tuple"
        names = _argument_names(function, calls[0])
        for name, a, b in zip(names, first[1], other[1], strict=True):
            if a != b:
                return f"{name}{a} then {b}", _cause_of(a, b)
    return "the arguments look the same, but a static one is not equal to itself", "static-nan"


def _cause_of(a: str, b: str) -> str:
    if "[" not in a and "[" not in b:
        return "static-value-recompiles"
    shapes = [type_.partition("[")[2].partition("]")[0] for type_ in (a, b)]
    return "retrace-on-call-form" if shapes[0] == shapes[1] else "retrace-on-new-shape"
