"""The detector `carry`: state that a step returns with a different type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jax

from jaxbits._analysis.code_location import location_of_error, user_location_of_function
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.state_steps import is_not_a_step, run_steps
from jaxbits._analysis.state_types import ArrayType, Difference, differences
from jaxbits._analysis.tracing_errors import error_signature

_LOOP_WORDS = re.compile(r"carry|body_fun|branch|true_fun|false_fun", re.IGNORECASE)
_MISMATCH_WORDS = re.compile(
    r"(type|structure)[\s\S]*(equal|identical|same|differ|match)", re.IGNORECASE
)
_FIX = {
    "tree": "return the same containers with the same keys, and start with arrays instead of None",
    "shape": "keep the shape: write into an array that is large enough from the start",
    "dtype": "`.astype(old.dtype)` on the new value, or start with the dtype that it ends with",
    "weak": "start with a strong type: `jnp.{dtype}(0)` instead of a Python number, or `dtype=` "
    "where the array is created",
}
"""What to do about each kind of difference, starting with the most severe."""

_STRONG_FIX = "`.astype(old.dtype)` on the new value, which also makes its type strong"

_SAME_KIND = "use a Python number of the same kind (`+ 1`, not `+ 1.0`)"

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
    "start with an array, such as `jnp.float32(1)`, instead of the Python number among the other "
    "arguments"
)

_EFFECTS = {
    "tree": "comes back with a different tree structure",
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
    `lax.scan`, `lax.while_loop`, or `lax.cond` rejects. It cannot see state that is stored in an
    object instead of being returned. JAX raises an error only for loops. For a step,
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
                "the carry of a loop, or the result of a branch, changes its type",
                re.sub(r"\s+", " ", str(error))[:240],
                "give both the same dtype, shape, and tree structure",
                location_of_error(error.__traceback__),
                explains=error_signature(error),
            )
            return
    state_argument = target.default_carry if target.carry is None else target.carry
    if state_argument is None or target.trace.program is None:
        return
    steps = run_steps(target, state_argument)
    old, new, again = steps.old, steps.new, steps.again
    found = list(differences(old, new, "state"))
    if not found or is_not_a_step(steps):
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
        steps.changed_at or user_location_of_function(target.function),
        catalogue_id,
    )


def _advise(found: list[Difference]) -> tuple[str, str]:
    """Return the fix for the most severe difference that users can fix, and a catalogue entry."""
    own = {difference.kind for difference in found if not difference.is_library}
    kinds = own or {difference.kind for difference in found}
    kind = next(kind for kind in _FIX if kind in kinds)
    if not own:
        return _LIBRARY_FIX.get(kind, (_FIX[kind], ""))
    types = [d.types for d in found if d.kind == kind and d.types and not d.is_library]
    if kind == "weak":
        weak = [old.dtype for old, _ in types if old.weak]
        return _FIX[kind].format(dtype=weak[0]) if weak else _STRONG_FIX, ""
    if kind != "dtype" or not all(old.weak for old, _ in types):
        return _FIX[kind], ""
    # A cast to the old dtype would make a strong type of a weak one, which is a change as well.
    strong = f"start with a strong type of the final dtype, such as `jnp.{types[0][1].dtype}(0)`"
    is_number = all(new.weak for _, new in types)
    return f"{_SAME_KIND}, or {strong}" if is_number else f"{strong}, instead of a number", ""


def _is_weak(leaf: Any) -> bool:
    return isinstance(leaf, ArrayType) and leaf.weak


def _is_loop_error(message: str) -> bool:
    return bool(_LOOP_WORDS.search(message) and _MISMATCH_WORDS.search(message))


def _describe_trend(new: Any, again: Any) -> str:
    """Return a phrase that says in which steps the type changes."""
    if again is None:
        return "and a second step raises an error"
    if next(differences(new, again, ""), None) is None:
        return "at the first step"
    # Only two steps are traced, and what changes in both may stay the same in the third.
    return "at each of the first two steps"
