"""Find the array types in a state, and the differences between the types in two states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._analysis.copying import PYTHON_NUMBERS, is_array
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import is_library_tuple

KINDS = ("tree", "shape", "dtype", "weak")
"""The kinds of differences between two states, starting with the most severe."""


@dataclass(frozen=True)
class ArrayType:
    """The properties of an array that determine whether JAX has to retrace.

    Attributes:
        shape: The array's shape.
        dtype: The array's dtype.
        weak: Whether the array is weakly typed.
    """

    shape: tuple[int, ...]
    dtype: Any
    weak: bool

    def __str__(self) -> str:
        return f"{'weak ' if self.weak else ''}{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Difference:
    """A difference between two states.

    Attributes:
        kind: One of `KINDS`.
        text: A description of the difference.
        is_library: Whether it is in a library's own state, such as that of an optimizer.
        types: The types of the old and the new array, or None if they are not arrays.
    """

    kind: str
    text: str
    is_library: bool = False
    types: tuple[ArrayType, ArrayType] | None = None


def types_of(tree: Any) -> Any:
    """Return a copy of a tree in which an `ArrayType` replaces each array."""

    def type_of(leaf: Any) -> Any:
        if not is_array(leaf):
            return leaf
        if isinstance(leaf, PYTHON_NUMBERS) and not isinstance(leaf, np.generic):
            return ArrayType((), jnp.result_type(leaf), not isinstance(leaf, bool))
        weak = bool(getattr(leaf, "weak_type", getattr(jax.typeof(leaf), "weak_type", False)))
        return ArrayType(tuple(leaf.shape), jax.typeof(leaf).dtype, weak)

    return jax.tree.map(type_of, tree, is_leaf=is_iterator)


def children_of(node: Any) -> dict[str, Any] | None:
    """Return the children of a container, keyed by their path, or None for a leaf."""
    if node is None:
        return {}
    parts = jax.tree_util.tree_flatten_with_path(node, is_leaf=lambda part: part is not node)[0]
    if len(parts) == 1 and not parts[0][0]:
        return None
    return {jax.tree_util.keystr(path): part for path, part in parts}


def likeness(old: Any, new: Any) -> float:
    """Return a score for how similar two states are. A higher score means more similar.

    Args:
        old: The types in a state.
        new: The types in a value that may be the next state.
    """
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        is_same_shape = old.shape == new.shape
        bonus = 0.5 * (len(old.shape) == len(new.shape)) + 0.25 * (old.weak == new.weak)
        return 2.0 * is_same_shape + bool(old.dtype == new.dtype) + bonus
    if old is None or new is None:
        return float(old is new)
    a, b = children_of(old), children_of(new)
    if a is None or b is None:
        return 0.0
    if type(old) is type(new):
        return 1.0 + sum(likeness(a[name], b[name]) for name in a if name in b)
    if len(a) == len(b) and isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        return 0.5 + sum(map(likeness, a.values(), b.values()))
    return 0.0


def differences(old: Any, new: Any, name: str, is_library: bool = False) -> Iterator[Difference]:
    """Yield the differences between two states.

    Args:
        old: The types in the old state.
        new: The types in the new state.
        name: What to call the state in the descriptions.
        is_library: Whether the state is part of a library's own state.
    """
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        if old != new:
            other = "dtype" if old.dtype != new.dtype else "weak"
            kind = "shape" if old.shape != new.shape else other
            yield Difference(kind, f"{name}: {old} -> {new}", is_library, (old, new))
        return
    a, b = children_of(old), children_of(new)
    if a is None and b is None:
        return  # Neither is an array or a container.
    if old is None or new is None or a is None or b is None or type(old) is not type(new):
        if old is not new:
            yield Difference("tree", f"{name}: {_describe_node(old)} -> {_describe_node(new)}")
        return
    is_library = is_library or is_library_tuple(type(old))
    for key in a:
        if key in b:
            yield from differences(a[key], b[key], name + key, is_library)
        else:
            yield Difference("tree", f"{name}{key} is gone")
    for key in b:
        if key not in a:
            yield Difference("tree", f"{name}{key} is new")
    if list(a) == list(b) and _node_structure(old) != _node_structure(new):
        yield Difference("tree", f"{name}: the static part of {type(old).__name__} differs")


def _node_structure(node: Any) -> Any:
    return jax.tree.structure(node, is_leaf=lambda part: part is not node)


def _describe_node(node: Any) -> str:
    return str(node) if node is None or isinstance(node, ArrayType) else type(node).__name__
