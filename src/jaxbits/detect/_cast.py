"""The detector `cast`: conversions that silently lose information."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.call_context import (
    CallContext,
    is_random_number_code,
    unqualified_name,
)
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.numpy_warnings import numpy_warnings
from jaxbits._analysis.probes import Measurement, Probe, Site, contradict
from jaxbits._analysis.source.integer_literals import integer_literals

# jax.numpy leaves `iinfo` and `finfo` without types, and mypy rejects untyped calls.
_iinfo: Any = jnp.iinfo
_finfo: Any = jnp.finfo
_EXPLICIT_FUNCTIONS_WORDS = "astype asarray array call convert_element_type full full_like"
_EXPLICIT_FUNCTIONS = frozenset(_EXPLICIT_FUNCTIONS_WORDS.split())
# Library functions that convert values on behalf of user code. Their conversions are reported, too.
_VISIBLE_FUNCTIONS = {"cumsum", "cumprod", "where", "clip"}
_PRIMITIVE_NAMES = "add sub mul div rem max min lt le gt ge eq ne select_n pow and or xor"
_PRIMITIVES_WITH_LITERALS = frozenset(_PRIMITIVE_NAMES.split())
_PRIMITIVES_WITH_LITERALS |= {"scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max"}
_FIX = "bring the values into range first (`jnp.clip`, `jnp.nan_to_num`), or use a wider type"


def _possible_loss(equation: Any) -> str:
    """Return what kind of information a conversion can lose.

    Returns:
        ``"range"`` if values can be out of range, ``"fine"`` if digits can be lost, ``"complex"``
        if imaginary parts can be lost, or an empty string if nothing can be lost.
    """
    if equation.primitive.name != "convert_element_type":
        return ""
    old, new = _dtypes(equation)
    if any(jnp.issubdtype(t, jax.dtypes.extended) or t == jnp.bool_ for t in (old, new)):
        return ""
    if jnp.issubdtype(old, jnp.complexfloating):
        return "" if jnp.issubdtype(new, jnp.complexfloating) else "complex"
    if jnp.issubdtype(new, jnp.integer):
        if jnp.issubdtype(old, jnp.floating):
            return "range"
        a, b = _iinfo(old), _iinfo(new)
        return "range" if a.max > b.max or a.min < b.min else ""
    if not jnp.issubdtype(new, jnp.floating):
        return ""
    if jnp.issubdtype(old, jnp.floating):
        return "range" if float(_finfo(old).max) > float(_finfo(new).max) else ""
    signed = jnp.issubdtype(old, jnp.signedinteger) or old.itemsize < 4
    return "fine" if signed and old.itemsize * 8 - 1 > _finfo(new).nmant + 1 else ""


def _dtypes(equation: Any) -> tuple[jnp.dtype, jnp.dtype]:
    return equation.invars[0].aval.dtype, jnp.dtype(equation.params["new_dtype"])


def _selects(equation: Any, context: CallContext) -> bool:
    loss = _possible_loss(equation)
    if not loss or is_random_number_code(equation, context):
        return False
    if context.library and unqualified_name(context.library[0]) not in _VISIBLE_FUNCTIONS:
        return False
    old, new = _dtypes(equation)
    is_narrowed_update = jnp.issubdtype(new, jnp.floating) and _is_at_update(equation)
    # The transpose of a cast converts a gradient back to the old dtype, and nothing is lost.
    is_undone = loss == "complex" or (is_narrowed_update and jnp.issubdtype(old, jnp.floating))
    if is_undone and context.is_transposed(equation):
        return False
    entry = context.library_entry(equation)
    # Many conversions inside library functions lose digits, so only explicit conversions count.
    return loss != "fine" or entry is None or unqualified_name(entry) in _EXPLICIT_FUNCTIONS


def _measure(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> Measurement:
    x, out = jnp.asarray(inputs[0]), outputs[0]
    if _possible_loss(equation) == "complex":
        return Measurement(x.imag != 0, jnp.abs(x.imag))
    if jnp.issubdtype(out.dtype, jnp.floating):
        if jnp.issubdtype(x.dtype, jnp.floating):
            bad = jnp.isfinite(x) & ~jnp.isfinite(out)
            if _is_at_update(equation):
                bad |= jnp.isfinite(x) & (out.astype(x.dtype) != x)
            return Measurement(bad, x)
        return Measurement(out.astype(x.dtype) != x, x)
    limits = _iinfo(out.dtype)
    if jnp.issubdtype(x.dtype, jnp.floating):
        low, high = float(limits.min), 2.0 ** (limits.bits - (limits.min < 0))
        wider = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        bad = ~((wider < high) & ((wider > low - 1) | (wider == low)))
        if equation.params.get("weak_type") is False and _is_at_update(equation):
            bad |= wider != jnp.trunc(wider)
        return Measurement(bad, wider)
    old_limits = _iinfo(x.dtype)
    bad = jnp.zeros(x.shape, bool)
    if old_limits.max > limits.max:
        bad |= x > jnp.asarray(limits.max, x.dtype)
    if old_limits.min < limits.min:
        bad |= x < jnp.asarray(limits.min, x.dtype)
    return Measurement(bad, x)


def _is_at_update(equation: Any) -> bool:
    """Return whether a conversion belongs to an update such as `x.at[i].set(v)`."""
    return (CallContext().library_entry(equation) or "").startswith("_IndexUpdateRef")


def _corrupt(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> list[Any]:
    out = outputs[0]
    bad = _measure(equation, inputs, outputs).bad
    return [jnp.where(bad, contradict(out), out)]


_PROBE = Probe(_selects, _measure, _corrupt, jnp.float32)


@detector(probes=[_PROBE], needs="values")
def cast(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find conversions of values that do not fit the new dtype.

    The detector reports all such conversions that occur in a run, with their lines, including those
    inside loops and branches. It looks for floats outside an integer's range, NaNs that become
    integers, integers outside the range of a narrower dtype, and negative numbers that become
    unsigned. It also looks for floats outside the range of a half-precision dtype, and for integers
    that are too large to be exact as floats. It reports floats that an update with `.at` rounds to
    the dtype of the array. If the bad values are masked afterward, the finding is
    only a note. The detector assumes that you intend to drop fractions with `astype`. It cannot see
    values that do not occur with these arguments. `jax_numpy_dtype_promotion="strict"` comes
    closest, but it looks at dtypes instead of values and accepts every `astype`.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.cast(lambda x: x.astype(jnp.int32), jnp.array([1.5, 3e10]))[0]
    >>> found.message, found.evidence
    ('float32 to int32: values that do not fit', '1 value, 3e+10')
    >>> detect.cast(lambda x: x.astype(jnp.int32), jnp.array([1.5, 2.5]))
    []
    """
    for site, is_masked in target.bad_sites(_PROBE):
        yield _finding(site, is_masked)
    for location, message in numpy_warnings(target, "in cast"):
        yield Finding("error", f"NumPy: {message}", "while tracing", _FIX, location)
    yield from _wrapped_literals(target)


def _finding(site: Site, is_masked: bool) -> Finding:
    old, new = _dtypes(site.equation)
    evidence = site.describe_values()
    if "nan" in evidence or "inf" in evidence:
        evidence = f"{site.count} {'value' if site.count == 1 else 'values'}, NaN or infinite"
    conversion = f"{old} to {new}"
    if is_masked:
        message = f"{conversion}: values that do not fit, but do not reach the result"
        return Finding("note", message, evidence, "none needed", site.location)
    if _possible_loss(site.equation) == "fine":
        message = f"{conversion}: different integers become equal"
        fix = "keep them as integers, or use a wider float"
        catalogue_id = "integers-become-halves"
        return Finding("warning", message, evidence, fix, site.location, catalogue_id)
    if _possible_loss(site.equation) == "complex":
        fix = "say what you mean: `x.real` or `jnp.abs(x)`"
        message, catalogue_id = f"{conversion}: imaginary parts are dropped", "cast-stops-or-wraps"
        return Finding("warning", message, evidence, fix, site.location, catalogue_id)
    is_update = _is_at_update(site.equation)
    if is_update and jnp.issubdtype(new, jnp.floating):
        if max(-site.low, site.high) <= float(_finfo(new).max):
            message = f"{conversion}, in an update with `.at`: values are rounded"
            fix = "give both arrays one dtype, or cast on purpose: `x.at[i].set(v.astype(x.dtype))`"
            catalogue_id = "float-into-int-update"
            return Finding("warning", message, evidence, fix, site.location, catalogue_id)
    elif is_update and jnp.issubdtype(old, jnp.floating):
        message = f"{conversion}, in an update with `.at`: values that do not fit"
        fix, catalogue_id = (
            "update a float array, or round the values first",
            "float-into-int-update",
        )
        return Finding("error", message, evidence, fix, site.location, catalogue_id)
    message, catalogue_id = f"{conversion}: values that do not fit", "cast-stops-or-wraps"
    return Finding("error", message, evidence, _FIX, site.location, catalogue_id)


def _wrapped_literals(target: FunctionUnderTest) -> Iterator[Finding]:
    """Yield a finding for each Python number that is too large for a small dtype.

    For example, `x + 300` adds 44 if `x` is uint8.
    """
    program = target.trace.program
    for equation, location in jaxpr_utils.located_equations(program) if program else ():
        if equation.primitive.name not in _PRIMITIVES_WITH_LITERALS:
            continue
        for variable in equation.invars:
            aval: Any = variable.aval
            dtype = getattr(aval, "dtype", None)
            if not isinstance(variable, Literal) or dtype is None or dtype.itemsize > 2:
                continue
            if not jnp.issubdtype(dtype, jnp.integer) or aval.shape or location is None:
                continue
            limits, stored = _iinfo(dtype), int(variable.val)
            literals = integer_literals(location.text)
            for number in literals if stored not in literals else ():
                fits = limits.min <= number <= limits.max
                if not fits and (number - stored) % 2**limits.bits == 0:
                    message = f"the number {number} does not fit {dtype}"
                    fix = "convert the array to a wider type first"
                    evidence, catalogue_id = f"it became {stored}", "uint8-wraps"
                    yield Finding("error", message, evidence, fix, location, catalogue_id)
