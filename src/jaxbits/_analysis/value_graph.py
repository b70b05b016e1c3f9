"""A graph of the values in a program, which no call, loop, or branch divides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.resource_limits import TooLarge

MOVE = "move"
"""The name of a step that only passes a value into or out of a loop or a branch."""
_MAX_STEPS = 200_000


@dataclass
class Step:
    """One step of a program.

    Attributes:
        name: The name of the step's primitive, or `MOVE`.
        equation: The equation that the step comes from.
        inputs: The numbers of the values that it uses.
        outputs: The numbers of the values that it computes.
        times: How many times it runs. An iteration of a `while` loop counts as one time.
    """

    name: str
    equation: Any
    inputs: list[int]
    outputs: list[int]
    times: int


class ValueGraph:
    """The values in a program and the steps that compute them.

    A function that is called twice appears twice. A loop's carry is one value, which depends on the
    initial value and on the result of an iteration.

    Attributes:
        types: The abstract value of each value, by its number.
        steps: The steps, in the order of the program.
        users: For each value, the numbers of the steps that use it.
        producers: For each value, the numbers of the steps that compute it.
        inputs: The numbers of the values that are the program's inputs.
        outputs: The numbers of the values that are its results.
        carries: The numbers of the values that are the carry of a loop.

    >>> import jax
    >>> program = jax.make_jaxpr(jax.jit(lambda x: x * x + 1.0))(2.0)
    >>> [step.name for step in ValueGraph(program).steps]
    ['mul', 'add']
    """

    def __init__(self, program: ClosedJaxpr) -> None:
        self.types: list[Any] = []
        self.steps: list[Step] = []
        self.users: list[list[int]] = []
        self.producers: list[list[int]] = []
        self.carries: set[int] = set()
        self._steps_of: dict[int, list[int]] = {}
        self.inputs = self._new_values(program.jaxpr.invars)
        self.outputs = self._add_program(program, self.inputs, 1)

    def steps_of(self, equation: Any) -> Iterator[Step]:
        """Yield the steps that come from an equation, which are several if it runs several times.

        Args:
            equation: The equation, which is not a call, a loop, or a branch.
        """
        yield from (self.steps[number] for number in self._steps_of.get(id(equation), ()))

    def _new_values(self, variables: Sequence[Any]) -> list[int]:
        first = len(self.types)
        self.types += [variable.aval for variable in variables]
        self.users += [[] for _ in variables]
        self.producers += [[] for _ in variables]
        return list(range(first, len(self.types)))

    def _add_step(
        self, name: str, equation: Any, inputs: list[int], outputs: list[int], times: int
    ) -> None:
        number = len(self.steps)
        if number >= _MAX_STEPS:
            raise TooLarge(f"the program has more than {_MAX_STEPS} equations")
        self.steps.append(Step(name, equation, inputs, outputs, times))
        if name != MOVE:
            self._steps_of.setdefault(id(equation), []).append(number)
        for value in inputs:
            self.users[value].append(number)
        for value in outputs:
            self.producers[value].append(number)

    def _move(self, equation: Any, old: Sequence[int], new: Sequence[int], times: int) -> None:
        for a, b in zip(old, new, strict=True):
            self._add_step(MOVE, equation, [a], [b], times)

    def _add_program(self, program: ClosedJaxpr, inputs: Sequence[int], times: int) -> list[int]:
        jaxpr = program.jaxpr
        known = dict(zip(jaxpr.invars, inputs, strict=True))
        known.update(zip(jaxpr.constvars, self._new_values(jaxpr.constvars), strict=True))

        def read(atom: Any) -> int:
            return self._new_values([atom])[0] if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            values = list(map(read, equation.invars))
            outputs = self._add_equation(equation, values, times)
            known.update(zip(equation.outvars, outputs, strict=True))
        return list(map(read, jaxpr.outvars))

    def _add_equation(self, equation: Any, inputs: list[int], times: int) -> list[int]:
        name, params = equation.primitive.name, equation.params
        if name == "scan":
            count, carry = _jax_compat.scan_counts(equation)
            first_x = count + carry
            body = params["jaxpr"]
            times *= int(params["length"])
            xs = self._new_values(body.jaxpr.invars[first_x:])
            self._move(equation, inputs[first_x:], xs, times)
            state = self._add_carry(body.jaxpr.invars[count:first_x])
            self._move(equation, inputs[count:first_x], state, times)
            results = self._add_program(body, [*inputs[:count], *state, *xs], times)
            self._move(equation, results[:carry], state, times)
            ys = self._new_values(equation.outvars[carry:])
            self._move(equation, results[carry:], ys, times)
            return [*state, *ys]
        if name == "while":
            counts = params["cond_nconsts"], params["body_nconsts"]
            first_carry = sum(counts)
            state = self._add_carry(params["body_jaxpr"].jaxpr.invars[counts[1] :])
            self._move(equation, inputs[first_carry:], state, times)
            self._add_program(params["cond_jaxpr"], [*inputs[: counts[0]], *state], times)
            constants = inputs[counts[0] : first_carry]
            results = self._add_program(params["body_jaxpr"], [*constants, *state], times)
            self._move(equation, results, state, times)
            return state
        if name == "cond":
            outputs = self._new_values(equation.outvars)
            for branch in params["branches"]:
                self._move(equation, self._add_program(branch, inputs[1:], times), outputs, times)
            return outputs
        called = jaxpr_utils.called_jaxpr(equation)
        if called is not None:
            return self._add_program(called, inputs, times)
        outputs = self._new_values(equation.outvars)
        self._add_step(name, equation, inputs, outputs, times)
        return outputs

    def _add_carry(self, variables: Sequence[Any]) -> list[int]:
        values = self._new_values(variables)
        self.carries.update(values)
        return values
