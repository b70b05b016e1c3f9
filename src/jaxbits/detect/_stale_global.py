"""The detector `stale_global`: outdated values that a compiled program keeps using."""

from __future__ import annotations

import ast
import enum
import types
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jaxbits._analysis.copying import is_array
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state import reachable_state
from jaxbits._analysis.python_state.changed_values import changed_values
from jaxbits._analysis.python_state.mutability import find_changeable, is_function_like
from jaxbits._analysis.python_state.references import ATTRIBUTE_KINDS, Reference
from jaxbits._analysis.repeated_calls import keeps_old_program
from jaxbits._analysis.trace import trace_function
from jaxbits._analysis.wrapped_call import is_plain_jit
from jaxbits.detect._side_effect import environment_findings

_MAX_TRIED = 24
_MIN_NOTES, _MAX_EQUATIONS = 3, 2000
"""The names that show no sign of changing to try at least, and how many equations to trace again
for them."""
_STATIC_TYPES = (bool, int, float, complex, str, bytes, tuple, enum.Enum, type, type(None))


@detector(needs="calls", reads=["program", "state"])
def stale_global(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find globals and attributes whose values are baked into the compiled program.

    For each name that can change, the detector traces the function again with a different value. If
    the program differs, the value is baked in. The module's source shows what can change, namely
    names that are reassigned after the function, containers that are mutated after it, and
    attributes that are set outside `__init__`. A value that is created on first use does not count,
    and neither does the only value that a function such as `main` assigns if the module calls it
    once. Even without evidence, the detector assumes that global containers change unless their
    names are in capitals, a function has loaded them, or they are tables of nested dictionaries. It
    reports a note for a value that could change but shows no sign of it, such as a NumPy array or a
    configuration that is bound only once, or an attribute that is set only once. The detector tries
    at most 24 names. If the program is large, it tries fewer of those that show no sign of
    changing, and prefers those that the function's code mentions. It suggests passing a value as an
    argument only if `jax.jit` accepts that. If the function is not jitted but calls jitted
    functions, the detector considers only the values that those functions keep. It cannot see what
    another module changes. JAX has no switch for this.

    >>> from jaxbits import detect
    >>> settings = {"rate": 0.1}
    >>> print(detect.stale_global(lambda x: x * settings["rate"], 1.0)[0].message)
    global `settings` is baked into the compiled program
    >>> detect.stale_global(lambda x, rate: x * rate, 1.0, settings["rate"])
    []
    """
    yield from environment_findings(target)
    if target.trace.program is None:
        return
    original: tuple[str, ...] | None = None
    candidates = _sorted_candidates(target)
    # Names that show no sign of changing could only be notes, so leaving them out hides nothing.
    untried = [reference for reference, is_meant, _ in candidates[_MAX_TRIED:] if is_meant]
    if untried:
        names = ", ".join(reference.name for reference in untried)
        target.left_out.append(f"stale_global: {_MAX_TRIED} names were tried, but not {names:.200}")
    # Every name costs a trace, so try fewer of them if the program is large.
    notes = _MAX_EQUATIONS // (1 + target.trace.size)
    named = sum(is_named for _, is_meant, is_named in candidates if not is_meant)
    limit = sum(is_meant for _, is_meant, _ in candidates) + max(notes, min(_MIN_NOTES, named))
    for reference, is_meant, _ in candidates[: min(_MAX_TRIED, limit)]:
        value = reference.get()
        original = original or target.trace.fingerprint()
        if any(
            _changes_program(target, reference, changed, original)
            for changed in changed_values(value, is_meant)
        ):
            yield Finding(
                "warning" if is_meant else "note",
                f"{reference.kind} `{reference.name}` is baked into the compiled program",
                "with a different value, the traced program differs, but a cached call "
                "keeps the old one" + ("" if is_meant else "; nothing seems to change it"),
                _fix(target, reference),
                reference.location,
                subject=reference.describe() if _is_updated(reference) else "",
            )


def _sorted_candidates(target: FunctionUnderTest) -> list[tuple[Reference, bool, bool]]:
    """Return (reference, is_meant, is_named) for each value to try, the most likely one first.

    `is_meant` is whether the value is meant to change, and `is_named` is whether the code names it.
    An object such as a configuration has many attributes that the function does not read.
    """
    used = reachable_state.used_names(target.function)
    found = [
        (reference, is_meant, reference.kind not in ATTRIBUTE_KINDS or reference.key in used)
        for reference, is_meant in find_changeable(target.references)
    ]
    return sorted(found, key=lambda candidate: (not candidate[1], not candidate[2]))


def _is_updated(reference: Reference) -> bool:
    """Return whether the line of a reference computes the new value from the old one.

    For such a line, as in `n += 1` or `n = n + 1`, other checks report the change of the value.
    """
    try:
        (statement,) = ast.parse(reference.location.text if reference.location else "").body
    except (SyntaxError, ValueError):
        return False
    if isinstance(statement, ast.AugAssign):
        return ast.unparse(statement.target) == reference.name
    if not isinstance(statement, ast.Assign):
        return False
    read = {ast.unparse(node) for node in ast.walk(statement.value) if isinstance(node, ast.expr)}
    return reference.name in read & {ast.unparse(target) for target in statement.targets}


def _changes_program(
    target: FunctionUnderTest, reference: Reference, changed: Any, original: tuple[str, ...]
) -> bool:
    """Return whether the program differs if a different value replaces the current one."""
    value = reference.get()
    try:
        reference.set(changed)
        if target.retrace().fingerprint() == original:
            return False
    finally:
        reference.set(value)
    # Nothing compiles a function that calls jitted functions, so only their programs can be stale.
    return not target.may_be_driver or keeps_old_program(target.retrace, reference, changed)


def _fix(target: FunctionUnderTest, reference: Reference) -> str:
    """Return advice that `jax.jit` accepts for the value of a reference."""
    name, value = reference.name, reference.get()
    if _is_in_static_self(target, reference):
        return (
            f"pass `{name}` as an argument, or create a new object instead of changing this one, "
            "because `self` is static"
        )
    if _can_be_traced(target, reference):
        return f"pass `{name}` as an argument"
    if isinstance(value, _STATIC_TYPES) or is_function_like(value):
        return f"pass `{name}` as a static argument (`static_argnames`)"
    return (
        f"pass what the function needs of `{name}` as arguments, and make those that are not "
        "arrays static (`static_argnames`)"
    )


def _is_in_static_self(target: FunctionUnderTest, reference: Reference) -> bool:
    """Return whether a value is an attribute of the object whose method was jitted.

    Such an object is static if JAX does not flatten it, because `jax.jit` rejects it otherwise.
    """
    function = target.function
    if not isinstance(function, types.MethodType) or not is_plain_jit(function):
        return False
    is_leaf = jax.tree.leaves(function.__self__) == [function.__self__]
    return is_leaf and reference.holder is function.__self__


def _can_be_traced(target: FunctionUnderTest, reference: Reference) -> bool:
    """Return whether the function can still be traced if the value of a reference is traced."""
    value = reference.get()

    def call(traced: Any, args: Any, kwargs: Any) -> Any:
        reference.set(traced)
        return target.function(*args, **kwargs)

    try:
        if not all(map(is_array, jax.tree.leaves(value))):
            return False
        arguments = (jax.tree.map(jnp.asarray, value), target.args, target.kwargs)
        return trace_function(call, arguments, {}, target.references).program is not None
    except Exception:  # JAX cannot flatten every value, such as a dictionary with mixed keys.
        return False
    finally:
        reference.set(value)
