"""Relate the inputs and outputs of a traced program to the leaves of arguments and results."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import device_maps, jaxpr_utils
from jaxbits._analysis.copying import PYTHON_NUMBERS, is_array
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.safe_attributes import has_attribute
from jaxbits._analysis.state_types import ArrayType, children_of, types_of


@dataclass(frozen=True)
class NumberedType(ArrayType):
    """The type of an input or output of a program, with its index among all of them."""

    number: int = -1


def is_array_object(leaf: Any) -> bool:
    """Return whether a value is an array but neither a Python number nor a NumPy scalar.

    Both of these are hashable, so they may be static arguments.
    """
    return is_array(leaf) and not isinstance(leaf, (*PYTHON_NUMBERS, np.generic))


def can_be_traced(leaf: Any) -> bool:
    """Return whether `jax.jit` accepts a value as an argument and as a result."""
    return is_array(leaf) or isinstance(leaf, jax.Ref) or has_attribute(leaf, "__jax_array__")


def numbered_types(tree: Any, numbers: Sequence[int | None]) -> Any:
    """Return a tree with the types of the leaves that are inputs or outputs of a program.

    Args:
        tree: The arguments or the results.
        numbers: For each leaf, its index among the inputs or outputs, or None if it is neither.
    """
    leaves, structure = jax.tree.flatten(tree, is_leaf=is_iterator)
    described = []
    for leaf, number in zip(leaves, numbers, strict=True):
        type_ = types_of(leaf)
        if number is not None and isinstance(type_, ArrayType):
            type_ = NumberedType(type_.shape, type_.dtype, type_.weak, number)
        described.append(type_)
    return jax.tree.unflatten(structure, described)


def split_outputs(output: Any, is_dropped: Callable[[Any], bool]) -> tuple[Any, Any]:
    """Return what a traced function has to return, and a tree with the types of its results.

    Args:
        output: The result of the function.
        is_dropped: Whether to leave out a leaf that is neither an array nor a number.
    """
    leaves = jax.tree.leaves(output, is_leaf=is_iterator)
    keeps = [can_be_traced(leaf) or not is_dropped(leaf) for leaf in leaves]
    counter = itertools.count()
    types = None
    with contextlib.suppress(Exception):  # A user's container may accept only arrays.
        types = numbered_types(output, [next(counter) if keep else None for keep in keeps])
    if all(keeps):
        return output, types
    return list(itertools.compress(leaves, keeps)), types


def stored_arrays(state: Sequence[Any], given: Sequence[Any], trace: Any) -> list[Any]:
    """Return the arrays that a traced function has stored in its arguments or its state.

    Args:
        state: The arguments and the attributes after the call.
        given: The arrays that the function received.
        trace: The object that represents the trace of the function. Arrays of inner traces, which
            must not be used outside them, are left out.
    """
    found: dict[int, Any] = {}
    for part in state:
        with contextlib.suppress(Exception):  # A user's container may reject what it now contains.
            for leaf in jax.tree.leaves(part, is_leaf=is_iterator):
                if isinstance(leaf, Tracer) and _jax_compat.trace_of(leaf) is trace:
                    found[id(leaf)] = leaf
    return [leaf for leaf in found.values() if all(leaf is not value for value in given)]


def without_unchanged_arrays(program: ClosedJaxpr, num_returned: int) -> ClosedJaxpr:
    """Return a program without the outputs after the returned ones that are just its inputs.

    A wrapper such as `nnx.jit` stores all arrays of a module again, even those that did not change.

    Args:
        program: The program.
        num_returned: How many of its outputs belong to what the function returns.
    """
    origins = _unchanged_inputs(program)
    keeps = [n < num_returned or origin is None for n, origin in enumerate(origins)]
    return program if all(keeps) else _jax_compat.keep_outputs(program, keeps)


def _unchanged_inputs(program: ClosedJaxpr) -> list[int | None]:
    """Return, for each output of a program, the index of the input that it is, or None."""
    known: dict[Any, int] = {v: number for number, v in enumerate(program.jaxpr.invars)}
    for equation in program.jaxpr.eqns:
        called = jaxpr_utils.called_jaxpr(equation)
        if called is None or equation.primitive.name in device_maps.MAPS:
            continue
        origins = _unchanged_inputs(called)
        if len(called.jaxpr.invars) == len(equation.invars) and len(origins) == len(
            equation.outvars
        ):
            for variable, origin in zip(equation.outvars, origins, strict=True):
                atom = None if origin is None else equation.invars[origin]
                if atom is not None and not isinstance(atom, Literal) and atom in known:
                    known[variable] = known[atom]
    atoms = program.jaxpr.outvars
    return [None if isinstance(atom, Literal) else known.get(atom) for atom in atoms]


def leaves_in_modules(tree: Any) -> set[int]:
    """Return the indices of the leaves that belong to modules which `jax.jit` rejects.

    A module is a container of a class that was registered as a pytree. If one of its leaves is, for
    example, a function, nobody can pass the module to `jax.jit`. It is used under a transformation
    that treats such leaves as static, and the numbers next to them as well.

    >>> leaves_in_modules((3, [4, "a"]))
    set()
    """
    leaves = jax.tree.leaves(tree, is_leaf=is_iterator)
    if all(map(can_be_traced, leaves)):
        return set()
    return {index for index, flag in enumerate(_in_rejected_modules(tree, False)) if flag}


def are_in_objects(node: Any, is_inside: bool = False) -> list[bool]:
    """Return, for each leaf of a tree, whether it is a field of an object.

    The object's class is a named tuple or was registered as a pytree.

    Args:
        node: The tree.
        is_inside: Whether the tree itself is inside such an object.

    >>> import collections
    >>> Settings = collections.namedtuple("Settings", ["depth"])
    >>> are_in_objects([3, {"a": 4}, Settings(5)])
    [False, False, True]
    """
    children = None if is_iterator(node) else children_of(node)
    if children is None:
        return [is_inside]
    is_plain = isinstance(node, (tuple, list, dict)) and not hasattr(node, "_fields")
    is_inside = is_inside or not is_plain
    return [flag for child in children.values() for flag in are_in_objects(child, is_inside)]


def _in_rejected_modules(node: Any, is_inside: bool) -> list[bool]:
    """Return, for each leaf of a tree, whether it is in a module that `jax.jit` rejects."""
    children = None if is_iterator(node) else children_of(node)
    if children is None:
        return [is_inside]
    if not is_inside and not isinstance(node, (tuple, list, dict)):
        is_inside = not all(map(can_be_traced, jax.tree.leaves(node, is_leaf=is_iterator)))
    return [flag for child in children.values() for flag in _in_rejected_modules(child, is_inside)]
