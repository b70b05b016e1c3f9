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
from jaxbits._analysis.copying import copy_leaf, is_array
from jaxbits._analysis.program_values import (
    is_array_object,
    leaves_in_modules,
    split_outputs,
    stored_arrays,
    without_unchanged_arrays,
)
from jaxbits._analysis.python_state.call_monitor import CallLog, monitor_calls
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import Reference, argument_references
from jaxbits._analysis.python_state.snapshot import StateChange, StateSnapshot
from jaxbits._analysis.settings import find_settings, is_in_typed_field
from jaxbits._analysis.wrapped_call import WrappedCall, is_plain_jit, wrapped_code


@dataclass
class Trace:
    """The result of tracing a function in a sandbox.

    Attributes:
        log: What the user's code did while it was traced.
        wrapped_call: The call from a wrapper, such as `jax.jit`, to the function that it wraps.
        program: The traced program, or None if tracing failed. Its last outputs are the arrays that
            the function stored in its arguments, for example the new weights of a module.
        inputs: The values of the program's inputs, in order.
        traced: For each input, its index among the leaves of the arguments.
        num_returned: How many outputs of the program belong to what the function returns.
        output_types: The results, with the type of each array in place of the array.
        error: The exception that tracing raised, if any.
        changed_arguments: The containers among the arguments that tracing modified.
        strict_error: The exception that tracing raised when all numbers were traced, if tracing
            succeeded when Python numbers were static.
        strictly_traced: The leaves that were traced when `strict_error` was raised.
        is_strict_in_settings: Whether `strict_error` disappears if the numbers that are settings
            are static.
        escaped_at: The line that uses a tracer outside the transformation that created it, if any.
        outermost: The object that represents this trace in JAX, unlike the traces of inner
            transformations, or None if the function was not called.
    """

    log: CallLog
    wrapped_call: WrappedCall
    program: ClosedJaxpr | None = None
    inputs: list[Any] = field(default_factory=list)
    traced: list[int] = field(default_factory=list)
    num_returned: int = 0
    output_types: Any = None
    error: Exception | None = None
    changed_arguments: list[StateChange] = field(default_factory=list)
    strict_error: Exception | None = None
    strictly_traced: list[int] = field(default_factory=list)
    is_strict_in_settings: bool = False
    escaped_at: CodeLocation | None = None
    outermost: Any = None

    @property
    def is_compiled(self) -> bool:
        """Whether the whole program is one call that the function's own `jax.jit` compiles."""
        if not self.wrapped_call.is_compiled:
            return False
        equations = [] if self.program is None else self.program.jaxpr.eqns
        return all(equation.primitive.name in ("jit", "pjit") for equation in equations)

    @property
    def size(self) -> int:
        """The number of equations in the program, including those of nested sub-jaxprs."""
        return (
            0 if self.program is None else sum(1 for _ in jaxpr_utils.all_equations(self.program))
        )

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
    earlier: Trace | None = None,
    keeps_caches: bool = False,
) -> Trace:
    """Trace a function, treating as static what the function's own transformation makes static.

    Python numbers are static if the function is a wrapper, such as the result of `jax.jit`, and the
    wrapper does not trace them. They are also static in modules that `jax.jit` rejects, and if
    tracing would otherwise fail.

    Args:
        function: The function to trace.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        references: The Python state to watch and to restore.
        earlier: An earlier trace of the function, if there is one. The new trace then treats the
            same leaves as static, and it does not record calls, which makes it much faster.
        keeps_caches: Whether JAX may use its caches instead of tracing every function again. In
            that case, calls are recorded even if there is an earlier trace.
    """

    def trace(indices: Iterable[int]) -> Trace:
        indices = sorted(indices)
        return _trace(function, args, kwargs, references, indices, earlier, keeps_caches)

    if earlier is not None:
        return trace(earlier.traced)
    leaves = jax.tree.leaves((tuple(args), dict(kwargs)), is_leaf=is_iterator)
    arrays = {index for index, leaf in enumerate(leaves) if is_array_object(leaf)}
    numbers = {index for index, leaf in enumerate(leaves) if is_array(leaf)} - arrays
    variable = numbers - leaves_in_modules((tuple(args), dict(kwargs)))
    strict = None
    if not numbers or is_plain_jit(function) or wrapped_code(function) is None:
        strict = trace(arrays | variable)
        if strict.error is None or not variable:
            return strict
    relaxed = trace(arrays)
    if relaxed.wrapped_call.is_compiled:
        received = relaxed.wrapped_call.traced_leaves(args, kwargs) & numbers
        if strict is not None and received == variable:
            return strict
        return trace(arrays | received) if received else relaxed
    if not variable:
        return relaxed
    strict = strict or trace(arrays | variable)
    if strict.error is None or relaxed.error is not None:
        return strict
    chosen = relaxed
    settings = variable & find_settings(function, args, kwargs)
    if is_in_typed_field(strict.error):
        settings |= {index for index in variable if type(leaves[index]) is int}
    if settings:
        partly = trace(arrays | (variable - settings)) if variable - settings else relaxed
        if partly.error is None:
            chosen, chosen.is_strict_in_settings = partly, True
    chosen.log.calls += strict.log.calls - chosen.log.calls
    chosen.log.shape_prints |= strict.log.shape_prints
    chosen.log.headings |= strict.log.headings
    chosen.log.trace_markers |= strict.log.trace_markers
    chosen.log.switched_off |= strict.log.switched_off
    chosen.strict_error, chosen.strictly_traced = strict.error, strict.traced
    return chosen


def _trace(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    references: Iterable[Reference],
    traced: list[int],
    earlier: Trace | None,
    keeps_caches: bool,
) -> Trace:
    # Arrays need no copies because tracers replace them, and `unflatten` creates new containers.
    given, tree = jax.tree.flatten((tuple(args), dict(kwargs)), is_leaf=is_iterator)
    leaves = [leaf if is_array(leaf) else copy_leaf(leaf) for leaf in given]
    inputs = [leaves[index] for index in traced]

    # `blamed_argument` recognizes the name `values` in JAX's error messages.
    def call_with_leaves(*values: Any) -> Any:
        trace.outermost = _jax_compat.current_trace()
        all_leaves = list(leaves)
        for index, value in zip(traced, values, strict=True):
            all_leaves[index] = value
        args, kwargs = jax.tree.unflatten(tree, all_leaves)
        snapshot = StateSnapshot(argument_references(args, kwargs), objects=False)
        try:
            output = function(*args, **kwargs)
        finally:
            trace.changed_arguments = snapshot.changes()
        output, trace.output_types = split_outputs(output, is_passed_through)
        trace.num_returned = len(jax.tree.leaves(output))
        # The caller sees these as well. A step of Flax nnx, for example, often returns nothing, and
        # a method may store its results in attributes of its object.
        attributes = [r.get() for r in references if r.kind == "attribute"]
        return output, stored_arrays([args, kwargs, *attributes], values, trace.outermost)

    # A wrapper that compiles the function has accepted its results. Another transformation that
    # accepts what it was given, such as a module's functions, accepts it in the results as well.
    def is_passed_through(leaf: Any) -> bool:
        return wrapped_call.is_compiled or any(leaf is value for value in leaves)

    if earlier is None:
        wrapped_call = WrappedCall(function, call_with_leaves.__code__)
        monitor = monitor_calls(references, wrapped_call)
    else:
        wrapped_call = earlier.wrapped_call
        monitor = monitor_calls(references, records_calls=keeps_caches)
    caches = contextlib.nullcontext() if keeps_caches else _jax_compat.fresh_caches()
    with monitor as log, caches:
        trace = Trace(log, wrapped_call, inputs=inputs, traced=traced)
        try:
            with resource_limits.exits_as_errors():
                program = jax.make_jaxpr(call_with_leaves)(*inputs)
                trace.program = without_unchanged_arrays(program, trace.num_returned)
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
