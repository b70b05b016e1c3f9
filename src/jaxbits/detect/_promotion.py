"""The detector `promotion`: operands that are widened without a cast in the code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.detector import detector
from jaxbits._analysis.dtype_conversions import (
    ConversionContext,
    IntegerValues,
    find_conversions,
    largest_exact_integer,
    largest_integer,
    library_frames,
    record_integer,
)
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.inner_limits import LIMITS
from jaxbits._analysis.wide_inputs import state_inputs
from jaxbits._analysis.widened_values import find_consequences
from jaxbits._analysis.widening_effects import WideningEffects

# Most of these functions are in
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/reductions.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/lax_numpy.py and
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/nn/functions.py
_CONVERTING_NAMES = (
    "astype _astype asarray array sum _reduce_sum mean _mean var _var std _std nanvar "
    "nanmean average cov corrcoef owens_t prod cumsum cumprod norm softmax log_softmax logsumexp "
    "standardize isclose allclose "
    "array_equal searchsorted digitize view convert_element_type "
)
_CONVERTING_FUNCTIONS = set(_CONVERTING_NAMES.split())
"""Functions that change a dtype only because the caller asked for it, or only internally."""

_FIX = "use a Python number, or the same dtype: `np.asarray(…, x.dtype)`, `y.astype(x.dtype)`"
# jax.numpy.iinfo has no types, and mypy rejects untyped calls.
_iinfo: Any = jnp.iinfo


@detector
def promotion(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find operands that are widened because another operand has a stronger dtype.

    For example, a float32 NumPy number combined with bfloat16 makes the rest of the program
    float32. Similarly, int8 combined with uint8 becomes int16, and int32 combined with uint32
    becomes int32 if x64 is off, although uint32 can hold larger numbers. The detector looks for
    conversions that JAX adds on its own. Python numbers, `astype`, `dtype=`, comparisons, and
    conversions inside library functions do not count. It reports integers that become floats if
    they are known to be too large to be exact. It leaves out operands that JAX widens only because
    it widened an earlier result. It reports only a note if integers become wider integers and the
    wider type can hold all their values. It cannot see what NumPy promotes before JAX does, and it
    cannot see operands that `jax.lax` rejects. ``jax.numpy_dtype_promotion("strict")`` comes
    closest, but it stops at the first promotion and also rejects comparisons and operations that
    mix integers with floats.

    >>> import jax.numpy as jnp, numpy as np
    >>> from jaxbits import detect
    >>> narrow = jnp.ones(4, jnp.bfloat16)
    >>> found = detect.promotion(lambda x: x / np.sqrt(8.0), narrow)[0]
    >>> found.message, found.evidence
    ('bfloat16 becomes float32, because of another operand', 'bfloat16[4] -> float32[4]')
    >>> detect.promotion(lambda x: x / 8.0, narrow)
    []
    """
    program = target.trace.program
    if program is None:
        return
    integers: IntegerValues = {}
    for variable, value in zip(program.jaxpr.invars, target.trace.inputs, strict=True):
        record_integer(integers, variable, value)
    conversions = find_conversions(program, ConversionContext(integers=integers))
    judged = [
        (equation, finding)
        for equation, context in itertools.islice(conversions, LIMITS.conversions)
        for finding in _judge(equation, context)
    ]
    if next(conversions, None) is not None:
        target.left_out.append(f"promotion: only {LIMITS.conversions} conversions were examined")
    judged = _weigh(judged, program, target)
    reported = {id(equation) for equation, finding in judged if finding.severity != "note"}
    consequences = find_consequences(program, reported)
    seen: set[tuple[Any, ...]] = set()
    for equation, finding in judged:
        key = (finding.place, finding.evidence.split("[")[0], finding.severity)
        if key not in seen and id(equation) not in consequences:
            seen.add(key)
            yield finding


def _weigh(
    judged: list[tuple[Any, Finding]], program: ClosedJaxpr, target: FunctionUnderTest
) -> list[tuple[Any, Finding]]:
    """Return the findings about floats whose widening costs something, and all other findings."""
    widenings = {id(equation) for equation, _ in judged}
    floats = {id(equation) for equation, _ in judged if _widens_float(equation)}
    if not floats:
        return judged
    effects = WideningEffects(program, widenings, state_inputs(target))
    weighed = []
    for equation, finding in judged:
        effect = effects.of(equation) if id(equation) in floats else "much"
        if effect == "little":
            message = f"{finding.message}, without a lasting effect"
            finding = replace(finding, severity="note", message=message, fix="none needed")
        if effect != "none":
            weighed.append((equation, finding))
    return weighed


def _widens_float(equation: Any) -> bool:
    return bool(jnp.issubdtype(equation.invars[0].aval.dtype, jnp.floating))


def _is_promotion(names: list[str], is_hidden: bool) -> bool:
    if any(name.startswith("promote_") for name in names):
        return True
    # Calls inside other library functions are not the user's. The traceback of an inlined
    # `jax.numpy` function shows only that it was called, not the `promote_` function inside it:
    # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/util.py
    prefixes = ("_operator_", "deferring_binary_op", "__call__", "cache_miss")
    return not is_hidden and any(name.startswith(prefixes) for name in names)


def _judge(equation: Any, context: ConversionContext) -> Iterator[Finding]:
    names, has_other_library, location = library_frames(equation)
    promotes = _is_promotion(names, context.is_hidden and not context.is_jax_numpy)
    names += context.calls
    has_other_library = has_other_library or context.has_other_library
    location = context.location if context.is_hidden else location
    old, new = (variable.aval for variable in (equation.invars[0], equation.outvars[0]))
    # Flax widens the inputs of a layer to the dtype of its parameters:
    # https://github.com/google/flax/blob/v0.12.8/flax/linen/dtypes.py
    is_flax = has_other_library and "promote_dtype" in names
    if equation.primitive.name == "dot_general":
        left, right = (variable.aval for variable in equation.invars[:2])
        old = left if left.dtype.itemsize <= right.dtype.itemsize else right
        wider = right if old is left else left
        cause, evidence = f"{wider.dtype} in a product", _describe_avals(left, right, new)
        yield _finding(old.dtype, new.dtype, evidence, location, cause, has_other_library)
        return
    if "transpose(" in _jax_compat.name_stack(equation):
        return  # In the backward pass, the transpose of a cast converts back to the old dtype.
    if not is_flax and (_CONVERTING_FUNCTIONS & set(names) or not promotes):
        return
    if jnp.issubdtype(old.dtype, jnp.integer) and jnp.issubdtype(new.dtype, jnp.floating):
        largest = largest_integer(context.integers[equation.invars[0]])
        yield _rounding_finding(old, new, largest, location)
        return
    if location is None:
        return
    is_note, evidence = has_other_library and not is_flax, _describe_avals(old, new)
    yield _finding(old.dtype, new.dtype, evidence, location, "another operand", is_note)


def _describe_avals(*avals: Any) -> str:
    types = [f"{aval.dtype}[{','.join(map(str, aval.shape))}]" for aval in avals]
    return " × ".join(types[:-1]) + f" -> {types[-1]}"


def _finding(
    old: Any,
    new: Any,
    evidence: str,
    location: CodeLocation | None,
    cause: str,
    is_note: bool = False,
) -> Finding:
    change = f"{old} becomes {new}"
    if jnp.issubdtype(old, jnp.unsignedinteger) and jnp.issubdtype(new, jnp.signedinteger):
        change += ", signed"
    severity: Any = "note" if is_note or _holds_all_integers(old, new) else "warning"
    is_float = jnp.issubdtype(old, jnp.floating)
    catalogue_id = "numpy-number-widens" if is_float else "integers-become-halves"
    return Finding(
        severity, f"{change}, because of {cause}", evidence, _FIX, location, catalogue_id
    )


def _holds_all_integers(old: Any, new: Any) -> bool:
    """Return whether both dtypes are integers and the new one has every value of the old one."""
    if not all(jnp.issubdtype(dtype, jnp.integer) for dtype in (old, new)):
        return False
    old, new = _iinfo(old), _iinfo(new)
    return int(new.min) <= int(old.min) and int(old.max) <= int(new.max)


def _rounding_finding(old: Any, new: Any, largest: int, location: CodeLocation | None) -> Finding:
    limit = largest_exact_integer(new)
    return Finding(
        "warning",
        f"{old.dtype} becomes {new.dtype}, which rounds numbers above {limit}",
        f"{_describe_avals(old, new)}, the largest is {largest}",
        "keep such numbers in integers, or scale them first",
        location,
        "integers-become-halves",
    )
