"""What a widened value costs: where it goes in a program, and whether it stays wide there."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Literal

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from jaxbits._analysis.value_graph import Step, ValueGraph
from jaxbits._analysis.widened_flow import PRODUCTS, WidenedFlow, float_dtype, is_float, size_of

Effect = Literal["much", "little", "none"]
"""What a widening costs. It costs nothing if other values make the same results wide anyway."""

_MIN_SHARE = 0.05
"""The share of a program's products, or of its results, from which a widening costs much."""


class WideningEffects:
    """The effects of the widenings in a program.

    Wide values may be wide on their own. They are if they come from an argument, from a loop's
    carry, or from a cast in the code, and not only from a constant or from a scalar.
    """

    def __init__(
        self, program: ClosedJaxpr, widenings: Collection[int], data: Collection[int]
    ) -> None:
        """Analyze a program.

        Args:
            program: The program.
            widenings: The `id` of each equation that widens an operand without a cast in the code.
            data: The positions of the inputs whose dtype the caller has chosen for the result.
        """
        self._graph = graph = ValueGraph(program)
        self._widenings = widenings
        self._is_own = [False] * len(graph.types)
        self._is_cast = [False] * len(graph.types)
        for value in (*graph.carries, *(graph.inputs[n] for n in data)):
            self._is_own[value] = is_float(graph.types[value])
        self._data = {*graph.inputs, *graph.carries}
        while self._spread_marks():
            pass
        self._cost_of_products = sum(map(self._cost, graph.steps))
        results = [graph.types[value] for value in graph.outputs]
        self._largest = max(map(size_of, filter(is_float, graph.types)), default=0)
        self._size_of_results = sum(size_of(aval) for aval in results if is_float(aval))

    def of(self, equation: Any) -> Effect:
        """Return the effect of a widening, which counts as much if it cannot be determined.

        Args:
            equation: The equation, which is a conversion or a product of operands of two dtypes.
        """
        effects = {self._effect(step) for step in self._graph.steps_of(equation)}
        if not effects:  # It is inside a primitive with a program of its own, such as a solver.
            return "much"
        return next((effect for effect in ("much", "little") if effect in effects), "none")

    def _spread_marks(self) -> bool:
        """Mark what is computed from marked values, and return whether any mark is new."""
        is_changed = False
        for step in self._graph.steps:
            for value in step.outputs:
                aval = self._graph.types[value]
                if not is_float(aval):
                    continue
                same = [i for i in step.inputs if float_dtype(self._graph.types[i]) == aval.dtype]
                is_cast = any(self._is_cast[i] for i in same) or self._is_cast_in_code(step)
                is_own = is_cast or any(self._is_own[i] for i in same)
                for marks, is_marked in ((self._is_cast, is_cast), (self._is_own, is_own)):
                    is_changed |= is_marked and not marks[value]
                    marks[value] |= is_marked
        return is_changed and bool(self._graph.carries)

    def _is_cast_in_code(self, step: Step) -> bool:
        """Return whether a step widens a float because the code says so."""
        if step.name != "convert_element_type" or id(step.equation) in self._widenings:
            return False
        old, new = (self._graph.types[value] for value in (step.inputs[0], step.outputs[0]))
        return is_float(old) and old.dtype.itemsize < new.dtype.itemsize

    def _cost(self, step: Step) -> float:
        """Return how many multiplications a product needs, or 0 for any other step."""
        if step.name not in PRODUCTS:
            return 0.0
        left, right = (self._graph.types[value] for value in step.inputs[:2])
        out = size_of(self._graph.types[step.outputs[0]])
        if step.name == "dot_general":
            contracted = step.equation.params["dimension_numbers"][0][0]
            return float(step.times * out * math.prod(left.shape[axis] for axis in contracted))
        channels = step.equation.params["dimension_numbers"].rhs_spec[0]
        return float(step.times * out * size_of(right) / max(1, right.shape[channels]))

    def _effect(self, step: Step) -> Effect:
        graph = self._graph
        narrow = size_of(graph.types[step.inputs[0]])
        is_due_to_scalar = self._is_due_to_scalar(step)
        if step.name not in PRODUCTS and narrow == 1 and not is_due_to_scalar:
            return "none"  # The other operand alone makes the result wide.
        flow = WidenedFlow(graph, self._is_own, self._is_cast, step)
        products = sum(self._cost(product) for product in flow.products)
        if products and products >= _MIN_SHARE * self._cost_of_products:
            return "much"
        kept = [size_of(graph.types[value]) for value in flow.kept]
        large = [size for size in kept if size > 1 and size >= narrow]
        stored = sum(size_of(graph.types[v]) for v in flow.kept & set(graph.outputs))
        is_large = bool(large) and (
            stored >= _MIN_SHARE * self._size_of_results or bool(flow.kept - set(graph.outputs))
        )
        # Doubles are slow on accelerators, even if only a scalar remains of them.
        is_double = step.outputs and float_dtype(graph.types[step.outputs[0]]) == jnp.float64
        is_large |= bool(is_double and kept and max(narrow, flow.largest) > 1)
        # A Python number would have had the same effect as a scalar constant, so nobody wants that.
        is_large |= is_due_to_scalar and narrow >= max(2, _MIN_SHARE * self._largest)
        if is_large:
            return "much"
        is_little = flow.largest > 1 and (flow.products or flow.is_used)
        return "little" if is_little else "none"

    def _is_due_to_scalar(self, step: Step) -> bool:
        """Return whether a value is widened because it meets a constant that is a scalar."""
        graph = self._graph
        if step.name in PRODUCTS:
            return False
        others = {
            value
            for number in graph.users[step.outputs[0]]
            for value in graph.steps[number].inputs
            if value != step.outputs[0] and float_dtype(graph.types[value])
        }
        return bool(others) and all(map(self._is_constant_scalar, others))

    def _is_constant_scalar(self, value: int) -> bool:
        graph = self._graph
        found, waiting = {value}, [value]
        while waiting:
            source = waiting.pop()
            is_data = source in self._data
            if is_data or (source != value and size_of(graph.types[source]) != 1):
                return False
            for number in graph.producers[source]:
                new = set(graph.steps[number].inputs) - found
                found |= new
                waiting += new
        return True
