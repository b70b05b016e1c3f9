"""Find gradients that are not finite, for the arguments of a call or for variants of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils, resource_limits
from jaxbits._analysis.carried_state import library_state_constants, library_state_inputs
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.gradient_flow import (
    GradientFlow,
    constants_of_result,
    inputs_of_result,
    is_floating,
)
from jaxbits._analysis.inner_limits import LIMITS
from jaxbits._analysis.instrumented_run import (
    as_arrays,
    count_nonfinite,
    has_nan,
    run_instrumented,
)
from jaxbits._analysis.nonfinite_probes import INF_PROBE, NAN_PROBE
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.quick_compilation import jit_quickly
from jaxbits._analysis.stopwatch import Stopwatch
from jaxbits._formatting import first_line

_MAX_INPUTS = 8
_TRIED_VALUES = (0.0, -1.0, 1.0, 1000.0, -1000.0)
"""The values that inputs are set to. Only 0 is tried even if the gradient takes long to compute."""


@dataclass(frozen=True)
class NonfiniteGradient:
    """A gradient that is not finite for the arguments of the call.

    Attributes:
        count: How many of its values are NaN or infinite.
        has_nan: Whether any of them is NaN.
        primitive: The first primitive in the backward pass whose result is not finite, or "" if it
            is unknown.
        location: The line of user code that the primitive comes from.
    """

    count: int
    has_nan: bool
    primitive: str
    location: CodeLocation | None


@dataclass(frozen=True)
class GradientTrap:
    """A gradient that is NaN for a changed input, although the loss for that input is finite.

    Attributes:
        argument: The index of the input among the program's inputs.
        change: A description of how the input was changed.
        is_guarded: Whether a `where` appears to guard against this input.
        location: The line of this `where`, or None if there is none.
    """

    argument: int
    change: str
    is_guarded: bool
    location: CodeLocation | None


class GradientTest:
    """A test of the gradient of a program's loss.

    If the first result of the program is a floating-point scalar, the loss is the sum of all
    results that are floating-point scalars. Otherwise, if the function returns only one array, the
    loss is the sum of its elements. Results that depend on a library's own state, such as the
    weights that an optimizer has updated, are not part of the loss, because nobody differentiates
    them. The gradient is taken with respect to the floating-point inputs that the loss depends on.
    """

    def __init__(self, target: FunctionUnderTest) -> None:
        program = target.trace.program
        assert program is not None
        self._left_out = target.left_out
        self._inputs = as_arrays(program, target.trace.inputs)
        leaves = jax.tree_util.tree_leaves_with_path(
            (target.args, target.kwargs), is_leaf=is_iterator
        )
        # The first two keys of a path lead to the argument of the call.
        self._argument_of = [leaves[index][0][:2] for index in target.trace.traced]
        returned = program.out_avals[: target.trace.num_returned]
        results = [n for n, aval in enumerate(returned) if is_floating(aval)]
        scalars = [n for n in results if returned[n].shape == ()]
        # A function returns its loss first, so a scalar after other results is not a loss.
        self.is_scalar = scalars[:1] == [0]
        only_result = results if len(returned) == 1 else []
        self._results = scalars if self.is_scalar else only_result
        if state := library_state_inputs(target):
            self._results = [n for n in self._results if not state & inputs_of_result(program, n)]
        if kept := set(map(id, library_state_constants(target))):
            self._results = [
                n
                for n in self._results
                if kept.isdisjoint(map(id, constants_of_result(program, n)))
            ]
        inputs = [n for n, aval in enumerate(program.in_avals) if is_floating(aval) and aval.size]
        self.flow = GradientFlow(program, self._results, inputs)
        names = {equation.primitive.name for equation in jaxpr_utils.all_equations(program)}
        self.has_eigenvectors = bool(names & {"eig", "eigh", "svd"})
        used = self.flow.used_inputs
        self._positions = [n for n in inputs if n in used] if self._results else []
        # A training step also computes gradients and an update, which the loss does not need.
        is_result = [n in self._results for n in range(len(program.out_avals))]
        self._loss_program = _jax_compat.remove_dead_code(program, is_result)
        self._arguments = [self._inputs[n] for n in self._positions]
        self._value_and_grad = jit_quickly(jax.value_and_grad(self._loss), self._loss_program)

    def run(self) -> Iterator[NonfiniteGradient | GradientTrap]:
        """Yield the problems with the gradient, at most one per input."""
        if not self._positions or not self.flow.is_risky or count_nonfinite(self._arguments):
            return
        try:
            value, gradient = self._evaluate(self._arguments)
        except Exception as error:
            # A program without reverse-mode derivatives has no gradient to check:
            # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/control_flow/loops.py
            # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/callback.py
            # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/special.py
            is_derivative = re.search("everse-mode|JVP|differentia|gradient", str(error))
            if not is_derivative and not isinstance(error, NotImplementedError):
                reason = f"{type(error).__name__}: {first_line(error, None)}"
                self._left_out.append(f"the gradient was not examined: {reason}")
            return
        if count := count_nonfinite(gradient):
            yield NonfiniteGradient(count, has_nan(gradient), *self._find_origin())
        elif np.isfinite(value):
            yield from self._find_traps()

    def _loss(self, arguments: Sequence[Any]) -> Any:
        inputs = list(self._inputs)
        for n, value in zip(self._positions, arguments, strict=True):
            inputs[n] = value
        program = self._loss_program
        outputs = jax.core.eval_jaxpr(program.jaxpr, program.consts, *inputs)
        if len(outputs) > len(self._results):  # This version of JAX cannot remove the others.
            outputs = [outputs[n] for n in self._results]
        return sum(jnp.sum(jnp.asarray(output).astype(jnp.float32)) for output in outputs)

    def _evaluate(self, arguments: Sequence[Any]) -> tuple[float, list[Any]]:
        value, gradient = resource_limits.wait_for(self._value_and_grad(list(arguments)))
        return float(value), list(gradient)

    def _find_origin(self) -> tuple[str, CodeLocation | None]:
        """Return the first primitive with a nonfinite result in the backward pass, and its line."""
        try:
            program = jax.make_jaxpr(jax.grad(self._loss))(self._arguments)
            leaves = jax.tree.leaves(self._arguments)
            sites = run_instrumented(program, leaves, NAN_PROBE, INF_PROBE).flagged_sites
        except Exception:  # A finding without a location is still useful.
            return "", None
        first = next(iter(sites), None)
        return (first.equation.primitive.name, first.location) if first else ("", None)

    def _find_traps(self) -> list[GradientTrap]:
        clock, found = Stopwatch(), dict[int, GradientTrap]()
        arrays = dict(zip(self._positions, self._arguments, strict=True))
        inputs = [(n, arrays[n]) for n in self._take_turns(self._positions)[:_MAX_INPUTS]]
        for number, (position, array) in itertools.product(_TRIED_VALUES, inputs):
            if position in found:
                continue
            if number and clock.seconds > LIMITS.gradient_seconds:
                self._left_out.append(
                    "the gradient was computed for only some of the other values that the inputs "
                    f"may have, because computing all takes more than {LIMITS.gradient_seconds:g} s"
                )
                break
            if change := self._find_trap(array, number):
                found[position] = self._describe_trap(position, number, change)
        return [found[position] for position in sorted(found)]

    def _take_turns(self, positions: Sequence[int]) -> list[int]:
        """Order inputs so that each argument has its turn, because parameters are many leaves."""
        groups: dict[Any, list[int]] = {}
        for n in positions:
            groups.setdefault(self._argument_of[n], []).append(n)
        rounds = itertools.zip_longest(*groups.values())
        return [n for group in rounds for n in group if n is not None]

    def _find_trap(self, array: Any, number: float) -> str:
        """Return the change to an input that makes the gradient NaN, or "" if there is none."""
        for change, changed in _changed_inputs(array, number):
            value, gradient = self._evaluate(
                [changed if a is array else a for a in self._arguments]
            )
            if np.isfinite(value) and has_nan(gradient):
                return change
        return ""

    def _describe_trap(self, position: int, number: float, change: str) -> GradientTrap:
        guarded = self.flow.guarded
        # A `where` that compares with small numbers guards only against small inputs.
        is_guarded = bool(guarded) and (abs(number) <= 1 or self.flow.compares_large)
        return GradientTrap(position, change, is_guarded, guarded[0] if is_guarded else None)


def _changed_inputs(array: Any, number: float) -> Iterator[tuple[str, Any]]:
    """Yield (description, array) for variants of an input with one or all entries set."""
    original = np.asarray(array)
    if original.ndim:
        changed = original.copy()
        changed.flat[0] = number
        yield f"an entry of {number:g}", jnp.asarray(changed)
    change = f"every entry {number:g}" if original.ndim else f"a value of {number:g}"
    yield change, jnp.asarray(np.full_like(original, number))
