"""Trace a function as `jax.jit` would, and restore the Python state afterward."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils, resource_limits
from jaxbits._analysis.code_location import CodeLocation, location_of
from jaxbits._analysis.copying import PYTHON_NUMBERS, copy_leaf, is_array
from jaxbits._analysis.python_state.call_monitor import CallLog, monitor_calls
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import Reference, argument_references
from jaxbits._analysis.python_state.snapshot import StateChange, StateSnapshot
from jaxbits._analysis.state_types import types_of


@dataclass
class Trace:
    """The result of tracing a function in a sandbox.

    Attributes:
        log: What the user's code did while it was traced.
        program: The traced program, or None if tracing failed.
        inputs: The values of the program's inputs, in order.
        traced: For each input, its index among the leaves of the arguments.
        output_types: The results, with the type of each array in place of the array.
        error: The exception that tracing raised, if any.
        changed_arguments: The containers among the arguments that tracing modified.
        strict_error: The exception that tracing raised when all numbers were traced, if tracing
            succeeded when Python numbers were static.
        escaped_at: The line that uses a tracer outside the transformation that created it, if any.
    """

    log: CallLog
    program: ClosedJaxpr | None = None
    inputs: list[Any] = field(default_factory=list)
    traced: list[int] = field(default_factory=list)
    output_types: Any = None
    error: Exception | None = None
    changed_arguments: list[StateChange] = field(default_factory=list)
    strict_error: Exception | None = None
    escaped_at: CodeLocation | None = None

    def fingerprint(self) -> tuple[str, ...]:
        """Return strings that identify the program, including the values of its constants."""
        if self.program is None:
            return (type(self.error).__name__,)
        constants = [c for p in jaxpr_utils.all_jaxprs(self.program) for c in p.consts]
        text = re.sub(r"0x[0-9a-f]+|id=\d+", "", str(self.program))
        return (text, *map(_constant_fingerprint, constants))


def _constant_fingerprint(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    if isinstance(value, Tracer):
        return str(value.aval)
    if isinstance(value, jax.Ref):  # The program reads the Ref on every call.
        return f"Ref {id(value)}"
    return str(hash(np.asarray(value).tobytes()))


def trace_function(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    references: Iterable[Reference],
) -> Trace:
    """Trace a function, treating Python numbers as static only if tracing would otherwise fail.

    Args:
        function: The function to trace.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        references: The Python state to watch and to restore.
    """
    strict = _trace(function, args, kwargs, references, is_array)
    if strict.error is None or not any(isinstance(v, PYTHON_NUMBERS) for v in strict.inputs):
        return strict
    relaxed = _trace(function, args, kwargs, references, _is_array_object)
    if relaxed.error is not None:
        return strict
    relaxed.log.calls += strict.log.calls - relaxed.log.calls
    relaxed.strict_error = strict.error
    return relaxed


def _is_array_object(leaf: Any) -> bool:
    return is_array(leaf) and not isinstance(leaf, PYTHON_NUMBERS)


def _trace(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    references: Iterable[Reference],
    is_traced: Callable[[Any], bool],
) -> Trace:
    # Arrays need no copies because tracers replace them, and `unflatten` creates new containers.
    given, tree = jax.tree.flatten((tuple(args), dict(kwargs)), is_leaf=is_iterator)
    leaves = [leaf if is_array(leaf) else copy_leaf(leaf) for leaf in given]
    traced = [index for index, leaf in enumerate(leaves) if is_traced(leaf)]
    inputs = [leaves[index] for index in traced]

    # `blamed_argument` recognizes the name `values` in JAX's error messages.
    def call_with_leaves(*values: Any) -> Any:
        all_leaves = list(leaves)
        for index, value in zip(traced, values, strict=True):
            all_leaves[index] = value
        args, kwargs = jax.tree.unflatten(tree, all_leaves)
        snapshot = StateSnapshot(argument_references(args, kwargs), objects=False)
        try:
            output = function(*args, **kwargs)
        finally:
            trace.changed_arguments = snapshot.changes()
        with contextlib.suppress(Exception):  # A user's container may accept only arrays.
            trace.output_types = types_of(output)
        return output

    with monitor_calls(references) as log, _jax_compat.fresh_caches():
        trace = Trace(log, inputs=inputs, traced=traced)
        try:
            with resource_limits.exits_as_errors():
                trace.program = jax.make_jaxpr(call_with_leaves)(*inputs)
        except Exception as error:
            trace.error = error
        _fail_on_escaped_tracer(trace)
    return trace


def _fail_on_escaped_tracer(trace: Trace) -> None:
    """Mark a trace as failed, as `jax.jit` would, if a tracer is used outside its transformation.

    Unlike `jax.jit`, `jax.make_jaxpr` does not check for this.
    """
    found = trace.program and jaxpr_utils.find_escaped_tracer(trace.program)
    if found:
        value, user = found
        trace.program, trace.escaped_at = None, user and location_of(user)
        trace.error = jax.errors.UnexpectedTracerError(
            f"a traced {value.aval.str_short()} of an inner transformation is used outside it"
        )
