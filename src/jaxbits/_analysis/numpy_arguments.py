"""Judge the NumPy arrays among a function's arguments by how often a caller has to send them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.carried_state import carried_leaves
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import is_python_function
from jaxbits._analysis.safe_attributes import get_attribute, has_attribute
from jaxbits._analysis.settings import is_key

_OPAQUE_TYPES = (np.ndarray, jax.Array, type)
_NO_STATE = (type, types.ModuleType)


class NumpyArguments:
    """The NumPy arrays among the arguments of a call.

    The kind of an array is ``state`` if the function returns it updated, so that only the first
    call receives a NumPy array. It is ``batch`` if the array is probably a new one in every call.
    Otherwise, it is an empty string.

    Attributes:
        large: The large arrays, each with its kind.
    """

    def __init__(self, target: FunctionUnderTest, min_bytes: int) -> None:
        self._target = target
        self.large = self._judge(min_bytes)

    @functools.cached_property
    def small_kind(self) -> str:
        """The kind of all arrays if even the small ones count."""
        return _common_kind(self._judge(0))

    @property
    def kind_of_all(self) -> str:
        """The kind that all large arrays have in common, or an empty string."""
        return _common_kind(self.large)

    def _judge(self, min_bytes: int) -> list[tuple[Any, str]]:
        """Return each array that takes up at least `min_bytes`, with its kind."""
        target = self._target
        paths = jax.tree_util.tree_leaves_with_path(
            (target.args, target.kwargs), is_leaf=is_iterator
        )
        arrays = [
            (n, path[:2], leaf)
            for n, (path, leaf) in enumerate(paths)
            if isinstance(leaf, np.ndarray) and leaf.dtype != object and leaf.nbytes >= min_bytes
        ]
        if not arrays:
            return []
        carried = carried_leaves(target)
        states = {paths[n][0][:2] for n in carried} | self._states(paths)
        has_own_state = _holds_arrays(_owner(target.function))
        # A key is a new one in every call, so the calls belong to the steps of a loop.
        has_key = any(isinstance(leaf, jax.Array) and is_key(leaf) for _, leaf in paths)
        found = []
        for n, argument, leaf in arrays:
            has_state = has_own_state or bool(states - {argument})
            is_batch = self._is_new_in_every_call(n, leaf, has_state or has_key)
            found.append((leaf, "state" if n in carried else "batch" if is_batch else ""))
        return found

    @staticmethod
    def _states(paths: list[Any]) -> set[Any]:
        """Return the arguments that are containers of JAX arrays or objects, such as models."""
        found = set()
        for path, leaf in paths:
            is_nested = len(path) > 2 and isinstance(leaf, jax.Array)
            is_opaque = isinstance(leaf, _OPAQUE_TYPES) or is_python_function(leaf)
            if is_nested or (has_attribute(leaf, "__dict__") and not is_opaque):
                found.add(path[:2])
        return found

    def _is_new_in_every_call(self, position: int, leaf: Any, is_step: bool) -> bool:
        """Return whether an array is a new one in every call.

        The examples in `calls` show this. With a single call, an array next to a state or a PRNG
        key is assumed to be a batch.
        """
        calls = self._target.calls
        if len(calls) < 2:
            return is_step
        leaves = [
            jax.tree.leaves((call, self._target.kwargs), is_leaf=is_iterator) for call in calls
        ]
        others = [found[position] for found in leaves[1:] if position < len(found)]
        return not any(other is leaf for other in others)


def _common_kind(arrays: list[tuple[Any, str]]) -> str:
    """Return the kind that all arrays have in common, or an empty string."""
    kinds = {kind for _, kind in arrays}
    return kinds.pop() if len(kinds) == 1 else "batch" if kinds and "" not in kinds else ""


def _owner(function: Callable[..., Any]) -> Any:
    """Return the object that a function is a method of, or the function itself if it is none."""
    while isinstance(function, functools.partial):
        function = function.func
    return get_attribute(function, "__self__", function)


def _holds_arrays(owner: Any, depth: int = 2) -> bool:
    """Return whether JAX arrays are among an object's attributes, as in a learner or a model."""
    fields = get_attribute(owner, "__dict__")
    if not isinstance(fields, dict) or isinstance(owner, _NO_STATE) or is_python_function(owner):
        return False
    leaves = jax.tree.leaves(fields, is_leaf=is_iterator)
    return any(
        isinstance(leaf, jax.Array) or (depth > 1 and _holds_arrays(leaf, depth - 1))
        for leaf in leaves
    )
