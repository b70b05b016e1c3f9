"""A function with its arguments, and the evidence about it that detectors share."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils, nonfinite_probes, resource_limits
from jaxbits._analysis.code_location import Place, place_of
from jaxbits._analysis.eager_run import PlainRun, plain_run
from jaxbits._analysis.instrumented_run import SIZE, Observation, not_finite
from jaxbits._analysis.key_dataflow import Use, uses
from jaxbits._analysis.probes import Plan, Probe, Site
from jaxbits._analysis.python_state import reachable_state, references
from jaxbits._analysis.python_state.call_monitor import Watched, watch
from jaxbits._analysis.python_state.iterators import copy_of_iterator, is_iterator
from jaxbits._analysis.python_state.snapshot import Change, Memory

_SCALARS = (bool, int, float, complex)


def is_array(value: Any) -> bool:
    """Whether `jax.jit` takes a value as an array: arrays, and Python's numbers."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biufcV" and value.dtype != object
    return isinstance(value, (jax.Array, *_SCALARS))


def copied(tree: Any) -> Any:
    """Return a tree with its containers and arrays copied, so that nothing can hurt the original.

    Raises:
        TooLarge: where the arrays hold more than is copied.

    >>> given = {"x": np.ones(2)}
    >>> copied(given)["x"] is given["x"]
    False
    """
    resource_limits.check_size(tree)

    return jax.tree.map(_copied_leaf, tree, is_leaf=is_iterator)


def _copied_leaf(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    if isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.clone(leaf)
        return jnp.array(leaf, copy=True)
    if is_iterator(leaf):
        return copy_of_iterator(leaf) or _untouched(leaf)
    return leaf


def _untouched(iterator: Any) -> Iterator[Any]:
    raise TypeError(f"a {type(iterator).__name__} cannot be copied, and is not advanced by a check")
    yield


@dataclass
class Trace:
    """One sandboxed trace.

    Attributes:
        seen: what Python did meanwhile.
        program: what was traced; None where tracing failed.
        inputs: the values of the program's inputs, in order.
        error: what was raised, if anything.
        changed_arguments: the containers among the arguments that are not as they were.
        strict_error: what was raised when all numbers were traced, and not when some were static.
        escaped_at: the line that uses a traced value which its transformation has let escape.
    """

    seen: Watched
    program: ClosedJaxpr | None = None
    inputs: list[Any] = field(default_factory=list)
    error: Exception | None = None
    changed_arguments: list[Change] = field(default_factory=list)
    strict_error: Exception | None = None
    escaped_at: Place | None = None

    def text(self) -> tuple[str, ...]:
        """Return all that makes the program what it is, constants included, for comparing."""
        if self.program is None:
            return (type(self.error).__name__,)
        constants = [c for p in jaxpr_utils.programs(self.program) for c in p.consts]
        plain = re.sub(r"0x[0-9a-f]+|id=\d+", "", str(self.program))
        return (plain, *map(_constant, constants))


def _constant(value: Any) -> str:
    kind = getattr(value, "dtype", None)
    if kind is not None and jnp.issubdtype(kind, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    if isinstance(value, Tracer):
        return str(value.aval)
    if isinstance(value, jax.Ref):  # what it holds is read anew at each call
        return f"Ref {id(value)}"
    return str(hash(np.asarray(value).tobytes()))


def _refuse_escaped(trace: Trace) -> None:
    """Let a trace fail in which an inner value is used outside, as `jax.jit` would."""
    found = trace.program and jaxpr_utils.escaped(trace.program)
    if found:
        value, user = found
        trace.program, trace.escaped_at = None, user and place_of(user)
        trace.error = jax.errors.UnexpectedTracerError(
            f"a traced {value.aval.str_short()} of an inner transformation is used outside of it"
        )


def _refuse(function: Any) -> None:
    if not callable(function):
        raise TypeError(f"fn was {type(function).__name__}, and should be a function")
    plain = function if isinstance(function, functools.partial) else inspect.unwrap(function)
    if not inspect.isroutine(plain) and not isinstance(plain, (type, functools.partial)):
        plain = getattr(plain, "__call__", plain)  # noqa: B004 - the method is wanted
    if inspect.isgeneratorfunction(plain):
        raise TypeError("fn was a generator function, and should return its results")
    if inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain):
        raise TypeError("fn was an async function, and should be a plain one")


class Subject:
    """A function, its arguments, and what is found out about them, each once.

    Attributes:
        left_out: what was not looked into, a sentence each.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        calls: Sequence[tuple[Any, ...]] | None = None,
        carry: int | str | None = None,
        probes: Sequence[Probe] = (),
    ) -> None:
        _refuse(function)
        self.carry = carry
        self.probes = probes
        self.left_out: list[str] = []
        self.calls = [tuple(given) for given in calls or ()]
        self.function, self.kwargs = function, dict(kwargs or {})
        self.args = tuple(args) or (self.calls[0] if self.calls else ())

    @property
    def is_jitted(self) -> bool:
        """Whether the function is the result of `jax.jit`."""
        return hasattr(self.function, "lower") and hasattr(self.function, "trace")

    @functools.cached_property
    def references(self) -> reachable_state.References:
        """The names by which the function sees Python state."""
        found = reachable_state.references(self.function)
        found += reachable_state.objects(self.args, self.kwargs)
        if found.unread:
            self.left_out.append(f"state that {found.unread} more functions of yours may see")
        return found

    @functools.cached_property
    def trace(self) -> Trace:
        """The trace of the function on its arguments, as if it were jitted, caches off."""
        return self.traced_again()

    @functools.cached_property
    def plain(self) -> PlainRun:
        """One call of the function as it is, with what passes the device recorded."""
        return plain_run(self)

    @functools.cached_property
    def observed(self) -> Observation | None:
        """The instrumented run, shared by all detectors with probes; None where there is none."""
        program = self.trace.program
        if program is None:
            return None
        plan = Plan(program, self.probes)
        if plan.size > SIZE:
            self.left_out.append(
                f"values were not looked at: the program has {plan.size} equations"
            )
            return None
        observation = Observation(program, self.trace.inputs, plan, self.quiet)
        try:
            _ = observation.sites
        except Exception as error:
            first = (str(error).splitlines() or [""])[0]
            self.left_out.append(
                f"values were not looked at: {type(error).__name__}: {first[:100]}"
            )
            return None
        self.left_out += [f"the values of {name} were not looked at" for name in plan.failed]
        return observation

    @functools.cached_property
    def born(self) -> list[Site]:
        """Where NaN and infinity came into the results; looked for only if there are any."""
        observed, program = self.observed, self.trace.program
        if observed is None or program is None or not_finite(observed.outputs) == 0:
            return []
        plan = Plan(program, nonfinite_probes.PROBES)
        if plan.size > SIZE // 10:
            self.left_out.append("where NaN was born: the program is too long")
            return []
        return Observation(program, self.trace.inputs, plan, self.quiet).culprits

    @functools.cached_property
    def key_uses(self) -> list[Use]:
        """The uses of PRNG keys in the traced program."""
        return [] if self.trace.program is None else uses(self.trace.program)

    @property
    def errors(self) -> list[Exception]:
        """What tracing the function as `jax.jit` would has raised."""
        found = (self.trace.strict_error, self.trace.error)
        return [error for error in found if error is not None]

    def argument(self, error: Exception) -> str:
        """Return the name of the argument that an error of tracing speaks of, or an empty text."""
        said = re.search(r"the value of the argument (\w+)(?:\[(\d+)\])?", str(error))
        if said is None or said[1] != "values" or said[2] is None:
            return said[1] if said else ""
        given = (self.args, self.kwargs)
        leaves = jax.tree_util.tree_leaves_with_path(given, is_leaf=is_iterator)
        path = [path for path, leaf in leaves if is_array(leaf)][int(said[2])]
        try:
            names = list(inspect.signature(self.function).parameters)
        except (TypeError, ValueError):
            names = []
        place: Any = getattr(path[1], "idx", getattr(path[1], "key", ""))
        if not isinstance(place, int):
            return str(place)
        return names[place] if place < len(names) else f"number {place}"

    def traced_again(self) -> Trace:
        """Trace anew; numbers that a program cannot be traced over become static."""
        every = self._trace(lambda leaf: is_array(leaf))
        if every.error is None or not any(isinstance(v, _SCALARS) for v in every.inputs):
            return every
        arrays = self._trace(lambda leaf: is_array(leaf) and not isinstance(leaf, _SCALARS))
        if arrays.error is None:
            arrays.seen.calls += every.seen.calls - arrays.seen.calls
            arrays.strict_error = every.error
            return arrays
        return every

    def _trace(self, dynamic: Callable[[Any], bool]) -> Trace:
        # `unflatten` makes containers anew, and tracers stand for arrays: those need no copies.
        given, tree = jax.tree.flatten((self.args, self.kwargs), is_leaf=is_iterator)
        leaves = [leaf if is_array(leaf) else _copied_leaf(leaf) for leaf in given]
        traced = [index for index, leaf in enumerate(leaves) if dynamic(leaf)]
        inputs = [leaves[index] for index in traced]

        def flat(*values: Any) -> Any:
            given = list(leaves)
            for index, value in zip(traced, values, strict=True):
                given[index] = value
            args, kwargs = jax.tree.unflatten(tree, given)
            memory = Memory(references.arguments(args, kwargs), objects=False)
            try:
                return self.function(*args, **kwargs)
            finally:
                trace.changed_arguments = memory.changes()

        with watch(self.references) as seen, _jax_compat.fresh_caches():
            trace = Trace(seen, inputs=inputs)
            try:
                with resource_limits.exits_as_errors():
                    trace.program = jax.make_jaxpr(flat)(*inputs)
            except Exception as error:
                trace.error = error
            _refuse_escaped(trace)
        return trace

    def quiet(self) -> contextlib.AbstractContextManager[Any]:
        """Return `put_back` for a program that calls back into Python; others touch no state."""
        program = self.trace.program
        names = (e.primitive.name for e in jaxpr_utils.equations(program)) if program else ()
        if any("callback" in name or name == "debug_print" for name in names):
            context: contextlib.AbstractContextManager[Any] = self.put_back()
            return context
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def put_back(self) -> Any:
        """Run the function inside of this: state is put back, and nothing is printed."""
        with watch(self.references) as seen, resource_limits.exits_as_errors():
            yield seen
