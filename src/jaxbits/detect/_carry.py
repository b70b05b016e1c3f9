"""The detector `carry`: state that a step returns with a different type."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import (
    CodeLocation,
    is_user_code,
    location_of_error,
    location_of_function,
)
from jaxbits._analysis.copying import copy_tree
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.state_argument import (
    find_new_state,
    find_state_argument,
    traced_state,
)
from jaxbits._analysis.state_types import (
    ArrayType,
    Difference,
    children_of,
    differences,
    types_of,
)
from jaxbits._analysis.tracing_errors import error_signature

_LOOP_WORDS = re.compile(r"carry|body_fun|branch|true_fun|false_fun", re.IGNORECASE)
_MISMATCH_WORDS = re.compile(
    r"(type|structure)[\s\S]*(equal|identical|same|differ|match)", re.IGNORECASE
)
_FIX = {
    "tree": "return the same containers with the same keys, and start with arrays in place of None",
    "shape": "keep the shape: write into an array that is large enough from the start",
    "dtype": "`.astype(old.dtype)` on the new value, or start with the dtype it ends in",
    "weak": "start with a strong type: `jnp.int32(0)` in place of a Python number, or `dtype=` "
    "where the array is made",
}
"""What to do about each kind of difference, starting with the most severe."""

_STABLE = "wrap an Optax optimizer with `jaxbits.optim.dtype_stable`"
_LIBRARY_FIX = {
    "dtype": (
        f"{_STABLE}, or cast the gradients to the dtypes of the parameters",
        "optimiser-state-widens",
    ),
    "weak": (
        f"{_STABLE}, or accept that the second call compiles again",
        "weak-state-compiles-twice",
    ),
}
"""The fix and the catalogue entry if all differences are in a library's own state."""

_WEAK_ARGUMENT_FIX = (
    "start with an array, such as `jnp.float32(1)`, in place of the Python number among the other "
    "arguments"
)

_EFFECTS = {
    "tree": "comes back as another tree",
    "shape": "changes its shape",
    "dtype": "changes its dtype",
    "weak": "changes between weak and strong type",
}


@detector(needs="calls")
def carry(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find a step that returns its state with different dtypes, shapes, or tree structure.

    JAX has to retrace such a step when its state is passed back, and `lax.scan` rejects it. The
    state is the argument that ``carry=`` specifies by position or name. The default is the first
    argument, but `jaxbits.audit` has no default. The new state is the output, or the part of the
    output that is most similar to the old state. The detector always reports a state that
    `lax.scan`, `lax.while_loop`, or `lax.cond` rejects. It cannot see states that are stored in
    objects instead of being returned. JAX raises an error only for loops. For a step,
    ``jax.config.update("jax_explain_cache_misses", True)`` comes closest.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.carry(lambda n, x: n + x.mean(), jnp.int32(0), jnp.ones(3))[0]
    >>> found.message, found.evidence
    ('the state changes its dtype, at the first step', 'state: int32[] -> float32[]')
    >>> detect.carry(lambda n, x: n + x.sum(), jnp.float32(0), jnp.ones(3))
    []
    """
    for error in target.errors:
        if isinstance(error, TypeError) and _is_loop_error(str(error)):
            yield Finding(
                "error",
                "what a loop carries, or what branches return, changes its type",
                re.sub(r"\s+", " ", str(error))[:240],
                "give both sides the same dtype, shape and tree",
                location_of_error(error.__traceback__),
                explains=error_signature(error),
            )
            return
    state_argument = target.default_carry if target.carry is None else target.carry
    if state_argument is None or target.trace.program is None:
        return
    steps = _run_steps(target, state_argument)
    old, new, again = steps.old, steps.new, steps.again
    found = list(differences(old, new, "state"))
    if not found or _is_not_a_step(steps):
        return
    kinds = {difference.kind for difference in found}
    kind = next(kind for kind in _FIX if kind in kinds)
    texts = [difference.text for difference in found]
    rest = f"; {len(texts) - 4} more" if len(texts) > 4 else ""
    fix, catalogue_id = _advise(found)
    is_library = all(difference.is_library for difference in found)
    if kind == "weak" and is_library and any(map(_is_weak, jax.tree.leaves(steps.others))):
        fix = _WEAK_ARGUMENT_FIX
    yield Finding(
        "warning",
        f"the state {_EFFECTS[kind]}, {_describe_trend(new, again)}",
        "; ".join(texts[:4]) + rest,
        fix,
        _user_location(target.function),
        catalogue_id,
    )


def _advise(found: list[Difference]) -> tuple[str, str]:
    """Return the fix for the most severe difference that users can fix, and a catalogue entry."""
    own = {difference.kind for difference in found if not difference.is_library}
    kinds = own or {difference.kind for difference in found}
    kind = next(kind for kind in _FIX if kind in kinds)
    return (_FIX[kind], "") if own else _LIBRARY_FIX.get(kind, (_FIX[kind], ""))


def _is_weak(leaf: Any) -> bool:
    return isinstance(leaf, ArrayType) and leaf.weak


def _is_loop_error(message: str) -> bool:
    return bool(_LOOP_WORDS.search(message) and _MISMATCH_WORDS.search(message))


@dataclass
class _Steps:
    """The types of the state before a step, after it, and after another step.

    Attributes:
        old: The types before the step.
        new: The types after one step.
        again: The types after two steps, or None if the second step raises an error.
        others: The types of the other arguments.
        is_aside: Whether the new state is in an unusual position in the output.
    """

    old: Any = None
    new: Any = None
    again: Any = None
    others: tuple[Any, ...] = ()
    is_aside: bool = False


def _run_steps(target: FunctionUnderTest, state_argument: int | str) -> _Steps:
    """Trace two steps together, and return the types of the state before and after each.

    The types are missing if the step does not change them.
    """
    key = find_state_argument(target.function, target.args, target.kwargs, state_argument)
    states = None if key is None else traced_state(target, key)
    if key is None or (states and next(differences(*states, ""), None) is None):
        return _Steps()  # The trace that all checks share shows no difference.
    copies = copy_tree((list(target.args), target.kwargs))
    leaves, tree = jax.tree.flatten(copies, is_leaf=is_iterator)
    traced = target.trace.traced
    found = _Steps()

    def run(*values: Any) -> None:
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

    with target.restore_state(), _jax_compat.fresh_caches():
        jax.make_jaxpr(run)(*[leaves[index] for index in traced])
    return found


def _is_not_a_step(steps: _Steps) -> bool:
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


def _describe_trend(new: Any, again: Any) -> str:
    """Return a phrase that says in which steps the type changes."""
    if again is None:
        return "and a second step from there raises"
    if next(differences(new, again, ""), None) is None:
        return "at the first step"
    return "at every step"


def _user_location(function: Any) -> CodeLocation | None:
    location = location_of_function(function)
    return location if location and is_user_code(location.file) else None
