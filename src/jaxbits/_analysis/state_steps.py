"""Trace two steps of a function together, to see how the types in its state change."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.copying import copy_tree
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.state_argument import (
    find_new_state,
    find_state_argument,
    traced_state,
)
from jaxbits._analysis.state_types import KINDS, ArrayType, children_of, differences, types_of


@dataclass
class Steps:
    """The types of the state before a step, after it, and after another step.

    Attributes:
        old: The types before the step.
        new: The types after one step.
        again: The types after two steps, or None if the second step raises an error.
        others: The types of the other arguments.
        is_aside: Whether the new state is in an unusual position in the output.
        changed_at: The line that computes the first array whose type changes, if it is known.
    """

    old: Any = None
    new: Any = None
    again: Any = None
    others: tuple[Any, ...] = ()
    is_aside: bool = False
    changed_at: CodeLocation | None = None


def run_steps(target: FunctionUnderTest, state_argument: int | str) -> Steps:
    """Trace two steps together, and return the types of the state before and after each.

    The types are missing if the step does not change them.
    """
    key = find_state_argument(target.function, target.args, target.kwargs, state_argument)
    states = None if key is None else traced_state(target, key)
    if key is None or (states and next(differences(*states, ""), None) is None):
        return Steps()  # The trace that all checks share shows no difference.
    copies = copy_tree((list(target.args), target.kwargs))
    leaves, tree = jax.tree.flatten(copies, is_leaf=is_iterator)
    traced = target.trace.traced
    found = Steps()

    def run(*values: Any) -> Any:
        step_leaves = list(leaves)
        for index, value in zip(traced, values, strict=True):
            step_leaves[index] = value

        def step(state: Any) -> Any:
            args, kwargs = jax.tree.unflatten(tree, step_leaves)
            if state is not None:
                (args if isinstance(key, int) else kwargs)[key] = state
            return target.function(*args, **kwargs)

        args, kwargs = jax.tree.unflatten(tree, step_leaves)
        found.old = types_of((args if isinstance(key, int) else kwargs)[key])
        found.others = tuple(types_of([v for i, v in enumerate(args) if i != key]))
        new, found.is_aside = find_new_state(found.old, step(None), key)
        found.new = types_of(new)
        if new is not None and next(differences(found.old, found.new, ""), None):
            with contextlib.suppress(Exception):
                found.again = types_of(find_new_state(found.new, step(new), key)[0])
        return _first_changed(found, new)

    with target.restore_state(records_calls=False), _jax_compat.fresh_caches():
        program = jax.make_jaxpr(run)(*[leaves[index] for index in traced])
    if program.jaxpr.outvars:
        found.changed_at = jaxpr_utils.location_of_output(program, 0)
    return found


def _first_changed(steps: Steps, new: Any) -> Any:
    """Return the first array of the new state whose type differs in the most severe way."""
    pairs = [jax.tree.leaves(types, is_leaf=is_iterator) for types in (steps.old, steps.new)]
    values = jax.tree.leaves(new, is_leaf=is_iterator)
    if len({len(pairs[0]), len(pairs[1]), len(values)}) > 1:
        return None
    changed = [
        (KINDS.index(difference.kind), index)
        for index, (old, new_type) in enumerate(zip(*pairs, strict=True))
        for difference in differences(old, new_type, "")
    ]
    return values[min(changed)[1]] if changed else None


def is_not_a_step(steps: Steps) -> bool:
    """Return whether the output is not a new state but a loss, a prediction, or a mask."""
    old, new, again = steps.old, steps.new, steps.again
    if isinstance(old, ArrayType):
        if not isinstance(new, ArrayType):
            return True
        keys = [jnp.issubdtype(t.dtype, jax.dtypes.prng_key) for t in (old, new)]
        if keys[0] != keys[1] or (new.dtype == bool and old.dtype != bool):
            return True
        if len(new.shape) < len(old.shape):
            return True
        if steps.is_aside and old.shape == new.shape and old.dtype == new.dtype:
            return True  # Only the weak type differs.
        if not old.shape and jnp.issubdtype(old.dtype, jnp.integer) and new.shape:
            return again is None or new in steps.others  # A counter precedes the state.
        return old.shape != new.shape and again is None
    a, b = children_of(old), children_of(new)
    if a is None or b is None or new is None:
        return True
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        if len(a) != len(b) and not (isinstance(old, list) and isinstance(new, list)):
            return True
    elif type(old) is not type(new) or (a and not set(a) & set(b)):
        return True
    pairs = list(zip(a.values(), b.values(), strict=False))
    if not all(isinstance(part, ArrayType) for pair in pairs for part in pair):
        return False
    keeps_a_shape = any(x.shape == y.shape for x, y in pairs)
    return (
        bool(pairs)
        and not keeps_a_shape
        and (again is None or any(len(x.shape) > len(y.shape) for x, y in pairs))
    )
