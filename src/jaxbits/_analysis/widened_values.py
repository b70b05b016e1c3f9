"""Follow widened values through a program, to find widenings that only other widenings cause."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from jaxbits._analysis import jaxpr_utils

_RESHAPING = {"broadcast_in_dim", "reshape", "squeeze", "transpose", "expand_dims"}


def find_consequences(program: ClosedJaxpr, reported: Collection[int]) -> set[int]:
    """Return the `id` of each reported widening that another reported widening causes.

    That is the case if the wide operand, because of which JAX widens the other one, was computed
    from a value that JAX had widened.

    Args:
        program: The program to search.
        reported: The `id` of each equation that widens an operand and that is reported. It is a
            ``convert_element_type`` or a ``dot_general`` with operands of two dtypes.
    """
    if len(reported) < 2:
        return set()
    walk = _Walk(reported)
    walk.follow(program, set())
    return walk.consequences - walk.causes


class _Walk:
    """A walk through a program that records why each reported widening happens.

    Attributes:
        consequences: The `id` of each widening that another one causes.
        causes: The `id` of each widening that has another cause, at least in one call.
    """

    def __init__(self, reported: Collection[int]) -> None:
        self._reported = reported
        self.consequences: set[int] = set()
        self.causes: set[int] = set()

    def follow(self, program: ClosedJaxpr, widened: set[Any]) -> list[bool]:
        """Walk through a program, and return whether each of its results is a widened value.

        Args:
            program: The program.
            widened: The inputs of the program that are widened values.
        """
        widened, direct = set(widened), set[Any]()
        users: dict[Any, list[Any]] = {}
        for equation in program.jaxpr.eqns:
            for variable in _variables(equation.invars):
                users.setdefault(variable, []).append(equation)
            widened |= self._widened_results(equation, widened)
            if self._is_conversion(equation) or (
                equation.primitive.name in _RESHAPING and direct & set(_variables(equation.invars))
            ):
                direct |= set(equation.outvars)
        for equation in program.jaxpr.eqns:
            if id(equation) in self._reported:
                operands = set(_wide_operands(equation, users))
                # Float16 and bfloat16 widen each other, so neither conversion causes the other.
                is_caused = bool(operands & widened - direct)
                group = self.consequences if is_caused else self.causes
                group.add(id(equation))
        return [
            not isinstance(variable, Literal) and variable in widened
            for variable in program.jaxpr.outvars
        ]

    def _is_conversion(self, equation: Any) -> bool:
        is_reported = id(equation) in self._reported
        return is_reported and equation.primitive.name == "convert_element_type"

    def _widened_results(self, equation: Any, widened: set[Any]) -> set[Any]:
        if id(equation) in self._reported:
            self.follow_inner(equation, widened)
            return set(equation.outvars)
        inner = self.follow_inner(equation, widened)
        if inner is not None and len(inner) == len(equation.outvars):
            flags = zip(equation.outvars, inner, strict=True)
            return {variable for variable, is_widened in flags if is_widened}
        # A result of another dtype, as after a cast, is no longer wide because of the widening.
        dtypes = {v.aval.dtype for v in _variables(equation.invars) if v in widened}
        return {v for v in equation.outvars if getattr(v.aval, "dtype", None) in dtypes}

    def follow_inner(self, equation: Any, widened: set[Any]) -> list[bool] | None:
        """Walk through the programs inside an equation, and return which results are widened."""
        flags: list[bool] | None = None
        for program, inputs in jaxpr_utils.inner_inputs(equation):
            pairs = zip(program.jaxpr.invars, inputs, strict=False)
            inner = {a for a, b in pairs if not isinstance(b, Literal) and b in widened}
            found = self.follow(program, inner)
            is_same = flags is not None and len(flags) == len(found)
            flags = [a or b for a, b in zip(flags or (), found, strict=True)] if is_same else found
        return flags


def _variables(atoms: Any) -> list[Any]:
    return [atom for atom in atoms if not isinstance(atom, Literal)]


def _wide_operands(equation: Any, users: dict[Any, list[Any]]) -> Iterator[Any]:
    """Yield the variables because of which an equation widens one of its inputs."""
    if equation.primitive.name == "dot_general":
        yield from _variables([max(equation.invars[:2], key=_item_size)])
        return
    waiting = [equation.outvars[0]]
    dtype = equation.outvars[0].aval.dtype
    while waiting:
        variable = waiting.pop()
        for user in users.get(variable, ()):
            if user.primitive.name in _RESHAPING:
                waiting.append(user.outvars[0])
                continue
            for other in _variables(user.invars):
                if other is not variable and getattr(other.aval, "dtype", None) == dtype:
                    yield other


def _item_size(atom: Any) -> int:
    return int(atom.aval.dtype.itemsize)
