"""What a widened value costs: where it goes in a program, and whether it stays wide there."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any, Literal

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import is_other_library, is_user_code
from jaxbits._analysis.value_graph import MOVE, Step, ValueGraph

Effect = Literal["much", "little", "none"]
"""What a widening costs. It costs nothing if other values make the same results wide anyway."""

_PRODUCTS = {"dot_general", "conv_general_dilated"}
_RESHAPING = {"broadcast_in_dim", "reshape", "squeeze", "transpose", "expand_dims", MOVE}
_MIN_SHARE = 0.05
"""The share of a program's products, or of its results, from which a widening costs much."""
_MIN_PART = 0.1
"""The share of a joined array from which its widened part costs much."""


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
            self._is_own[value] = _is_float(graph.types[value])
        while self._spread_marks():
            pass
        self._cost_of_products = sum(map(self._cost, graph.steps))
        results = [graph.types[value] for value in graph.outputs]
        self._size_of_results = sum(_size(aval) for aval in results if _is_float(aval))

    def of(self, equation: Any) -> Effect:
        """Return the effect of a widening.

        Args:
            equation: The equation, which is a conversion or a product of operands of two dtypes.
        """
        effects = {self._effect(step) for step in self._graph.steps_of(equation)}
        return next((effect for effect in ("much", "little") if effect in effects), "none")

    def _spread_marks(self) -> bool:
        """Mark what is computed from marked values, and return whether any mark is new."""
        is_changed = False
        for step in self._graph.steps:
            for value in step.outputs:
                aval = self._graph.types[value]
                if not _is_float(aval):
                    continue
                same = [i for i in step.inputs if _dtype(self._graph.types[i]) == aval.dtype]
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
        return _is_float(old) and old.dtype.itemsize < new.dtype.itemsize

    def _cost(self, step: Step) -> float:
        """Return how many multiplications a product needs, or 0 for any other step."""
        if step.name not in _PRODUCTS:
            return 0.0
        left, right = (self._graph.types[value] for value in step.inputs[:2])
        out = _size(self._graph.types[step.outputs[0]])
        if step.name == "dot_general":
            contracted = step.equation.params["dimension_numbers"][0][0]
            return step.times * out * math.prod(left.shape[axis] for axis in contracted)
        channels = step.equation.params["dimension_numbers"].rhs_spec[0]
        return step.times * out * _size(right) / max(1, right.shape[channels])

    def _effect(self, step: Step) -> Effect:
        graph = self._graph
        flow = _Flow(graph, self._is_own, self._is_cast, step)
        products = sum(self._cost(product) for product in flow.products)
        if products and products >= _MIN_SHARE * self._cost_of_products:
            return "much"
        narrow = _size(graph.types[step.inputs[0]])
        is_double = step.outputs and _dtype(graph.types[step.outputs[0]]) == jnp.float64
        kept = [_size(graph.types[value]) for value in flow.kept]
        large = [size for size in kept if size > 1 and size >= narrow]
        stored = sum(_size(graph.types[v]) for v in flow.kept & set(graph.outputs))
        is_large = bool(large) and (
            stored >= _MIN_SHARE * self._size_of_results or bool(flow.kept - set(graph.outputs))
        )
        # Doubles are slow on accelerators, even if only a scalar remains of them.
        is_large |= bool(is_double and kept and max(narrow, flow.largest) > 1)
        if is_large and not self._belongs_to_state(step):
            return "much"
        is_little = flow.largest > 1 and (flow.products or flow.is_used)
        return "little" if is_little else "none"

    def _belongs_to_state(self, step: Step) -> bool:
        """Return whether a narrow value is an update of the very value that it is added to.

        For example, a network receives a state in a narrow dtype and returns a change of it.
        """
        graph = self._graph
        partners = {
            value
            for number in graph.users[step.outputs[0]]
            for value in graph.steps[number].inputs
            if value != step.outputs[0] and _size(graph.types[value]) > 1
        }
        return bool(partners) and not partners.isdisjoint(_ancestors(graph, step.inputs[0]))


class _Flow:
    """Where a widened value goes.

    Attributes:
        products: The products that are computed in the wide dtype because of it.
        kept: The values in the wide dtype that are results or that a library narrows.
        largest: The size of the largest value that is wide because of it.
        is_used: Whether any step uses it that would not have a wide result anyway.
    """

    def __init__(
        self, graph: ValueGraph, is_own: list[bool], is_cast: list[bool], start: Step
    ) -> None:
        self.products: list[Step] = []
        self.kept: set[int] = set()
        self.is_used = False
        self._graph, self._is_own, self._is_cast = graph, is_own, is_cast
        self._dtype = graph.types[start.outputs[0]].dtype
        self._direct: set[int] = set()
        self._reached = set()
        if start.name in _PRODUCTS:
            if not any(is_cast[value] for value in start.inputs):
                self.products.append(start)
            self._reached.update(start.outputs)
        else:
            self._direct.update(start.outputs)
            self._reached.update(start.outputs)
        self._follow()
        sizes = (_size(graph.types[value]) for value in self._reached)
        self.largest = max(sizes, default=0)

    def _follow(self) -> None:
        waiting, seen = list(self._reached), set[int]()
        while waiting:
            value = waiting.pop()
            if value in self._graph.outputs:
                self.kept.add(value)
            for number in self._graph.users[value]:
                if number in seen:
                    continue
                step = self._graph.steps[number]
                if step.name not in _PRODUCTS and step.name != "concatenate":
                    seen.add(number)
                for output in self._wide_outputs(step, value):
                    if output not in self._reached:
                        self._reached.add(output)
                        waiting.append(output)

    def _wide_outputs(self, step: Step, value: int) -> Iterator[int]:
        """Yield the outputs of a step that are wide because of a value, and record its effects."""
        types = self._graph.types
        if step.name == "convert_element_type":
            if types[step.outputs[0]].dtype.itemsize < self._dtype.itemsize:
                self.is_used = True
                if _is_in_library(step.equation):
                    self.kept.add(value)
                return
        others = [other for other in step.inputs if other not in self._reached]
        if step.name in _PRODUCTS:
            if self._is_widened_product(step, value, others) and step not in self.products:
                self.products.append(step)
        elif step.name == "concatenate":
            part = sum(_size(types[i]) for i in step.inputs if i in self._reached)
            if part < _MIN_PART * _size(types[step.outputs[0]]):
                self.is_used = True
                return
        if any(self._is_own[other] and _dtype(types[other]) == self._dtype for other in others):
            return
        self.is_used |= step.name != MOVE
        for output in step.outputs:
            if _dtype(types[output]) == self._dtype:
                yield output
                if step.name in _RESHAPING and value in self._direct:
                    self._direct.add(output)

    def _is_widened_product(self, step: Step, value: int, others: list[int]) -> bool:
        """Return whether a product is in the wide dtype although an operand was narrow."""
        narrow = {dtype for other in others if (dtype := _dtype(self._graph.types[other]))}
        if any(dtype.itemsize < self._dtype.itemsize for dtype in narrow):
            return True
        return value in self._direct and not any(self._is_cast[other] for other in others)


def _ancestors(graph: ValueGraph, value: int) -> set[int]:
    found, waiting = {value}, [value]
    while waiting:
        for number in graph.producers[waiting.pop()]:
            new = set(graph.steps[number].inputs) - found
            found |= new
            waiting += new
    return found


def _is_in_library(equation: Any) -> bool:
    """Return whether a library other than JAX contains an equation."""
    for _, file, _ in _jax_compat.frames(equation):
        if is_user_code(file):
            return False
        if is_other_library(file):
            return True
    return False


def _dtype(aval: Any) -> Any:
    """Return the dtype of a value if it is a float, or None."""
    return aval.dtype if _is_float(aval) else None


def _is_float(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and bool(jnp.issubdtype(dtype, jnp.floating))


def _size(aval: Any) -> int:
    return math.prod(getattr(aval, "shape", ()))
