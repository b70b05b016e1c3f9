"""Follow a widened value through a program, as far as other values are wide because of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import is_other_library, is_user_code
from jaxbits._analysis.value_graph import MOVE, Step, ValueGraph

PRODUCTS = {"dot_general", "conv_general_dilated"}
_RESHAPING = {"broadcast_in_dim", "reshape", "squeeze", "transpose", "expand_dims", MOVE}
_MIN_PART = 0.1
"""The share of a joined array from which its widened part costs much."""


class WidenedFlow:
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
        self._narrow = start.inputs[0]
        self._dtype = graph.types[start.outputs[0]].dtype
        self._direct: set[int] = set()
        self._reached = set(start.outputs)
        if start.name not in PRODUCTS:
            self._direct.update(start.outputs)
        elif not any(is_cast[value] for value in start.inputs):
            self.products.append(start)
        self._follow()
        sizes = (size_of(graph.types[value]) for value in self._reached)
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
                if step.name not in PRODUCTS and step.name != "concatenate":
                    seen.add(number)
                for output in self._wide_outputs(step, value):
                    if output not in self._reached:
                        self._reached.add(output)
                        waiting.append(output)

    def _wide_outputs(self, step: Step, value: int) -> Iterator[int]:
        """Yield the outputs of a step that are wide because of a value, and record its effects."""
        types = self._graph.types
        if step.name == "convert_element_type" and (
            types[step.outputs[0]].dtype.itemsize < self._dtype.itemsize
        ):
            self.is_used = True
            if _is_in_library(step.equation):
                self.kept.add(value)
            return
        others = [other for other in step.inputs if other not in self._reached]
        if step.name in PRODUCTS:
            if self._is_widened_product(step, value, others) and step not in self.products:
                self.products.append(step)
        elif step.name == "concatenate":
            part = sum(size_of(types[i]) for i in step.inputs if i in self._reached)
            if part < _MIN_PART * size_of(types[step.outputs[0]]):
                self.is_used = True
                return
        wide = [other for other in others if float_dtype(types[other]) == self._dtype]
        if any(self._is_own[other] or self._is_origin(other) for other in wide):
            return
        self.is_used |= step.name != MOVE
        for output in step.outputs:
            if float_dtype(types[output]) == self._dtype:
                yield output
                if step.name in _RESHAPING and value in self._direct:
                    self._direct.add(output)

    def _is_origin(self, value: int) -> bool:
        """Return whether the narrow value is an update of the very value that it is added to.

        For example, a network receives a state in a narrow dtype and returns a change of it.
        """
        graph = self._graph
        if size_of(graph.types[value]) == 1:
            return False
        found, waiting = {self._narrow}, [self._narrow]
        while waiting:
            for number in graph.producers[waiting.pop()]:
                # A value has a smaller number than what is computed from it, except in a loop,
                # whose carry counts as wide on its own anyway.
                new = {i for i in graph.steps[number].inputs if i >= value} - found
                found |= new
                waiting += new
        return value in found

    def _is_widened_product(self, step: Step, value: int, others: list[int]) -> bool:
        """Return whether a product is in the wide dtype although an operand was narrow."""
        narrow = {dtype for other in others if (dtype := float_dtype(self._graph.types[other]))}
        if any(dtype.itemsize < self._dtype.itemsize for dtype in narrow):
            return True
        return value in self._direct and not any(self._is_cast[other] for other in others)


def _is_in_library(equation: Any) -> bool:
    """Return whether a library other than JAX contains an equation."""
    for _, file, _ in _jax_compat.frames(equation):
        if is_user_code(file):
            return False
        if is_other_library(file):
            return True
    return False


def float_dtype(aval: Any) -> Any:
    """Return the dtype of a value if it is a float, or None."""
    return aval.dtype if is_float(aval) else None


def is_float(aval: Any) -> bool:
    """Return whether a value consists of real floats."""
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and bool(jnp.issubdtype(dtype, jnp.floating))


def size_of(aval: Any) -> int:
    """Return how many elements a value has."""
    return math.prod(getattr(aval, "shape", ()))
