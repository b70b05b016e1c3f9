"""The detector `overflow`: arithmetic whose result the dtype cannot hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits import _jax_compat
from jaxbits._analysis.bit_arithmetic import BitArithmetic
from jaxbits._analysis.call_context import (
    CallContext,
    is_random_number_code,
    unqualified_name,
)
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.nonfinite_probes import INF_PROBE
from jaxbits._analysis.numpy_warnings import numpy_warnings
from jaxbits._analysis.probes import Measurement, Probe, Site
from jaxbits._analysis.source.dtype_argument import has_dtype_argument

# jax.numpy leaves `iinfo` and `finfo` without types, and mypy rejects untyped calls.
_iinfo: Any = jnp.iinfo
_finfo: Any = jnp.finfo
# JAX defines these primitives in https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/lax.py
_MEASURED_WORDS = (
    "add sub mul neg abs square pow integer_pow shift_left reduce_sum cumsum reduce_prod "
    "cumprod dot_general conv_general_dilated add_any scatter-add scatter-mul"
)
_MEASURED = frozenset(_MEASURED_WORDS.split())
_OVERFLOWING = {*_MEASURED, "convert_element_type", "exp", "exp2", "expm1", "sinh", "cosh"}
# Library functions that do arithmetic on behalf of user code. Others may wrap internally.
_VISIBLE_WORDS = (
    "cumsum cumprod trace diff power integer_power matmul dot inner outer tensordot kron "
    "cross square sum prod abs absolute vander polyval ediff1d"
)
_VISIBLE_FUNCTIONS = frozenset(_VISIBLE_WORDS.split())
# Arithmetic on indices and counts inside these functions is never reported.
_INDEX_WORDS = "histogram unique nonzero getitem repeat argwhere interp floor_divide"
_INDEX_FUNCTIONS = frozenset(_INDEX_WORDS.split())
# Inside these functions, only scattered sums count.
_INDEXING_FUNCTIONS = {
    "segment_sum",
    "segment_prod",
    "take",
    "take_along_axis",
    "bincount",
    "getitem",
}
_NUMPY_FIX = "compute in a wider NumPy type, such as `x.astype(np.int64)` or `np.float64`"


def _selects(equation: Any, context: CallContext) -> bool:
    name = equation.primitive.name
    if name not in _MEASURED or not equation.outvars:
        return False
    if not jnp.issubdtype(equation.outvars[0].aval.dtype, jnp.integer):
        return False
    if context.library and unqualified_name(context.library[0]) not in _VISIBLE_FUNCTIONS:
        return False
    entry = context.library_entry(equation) or ""
    is_indexing = (
        entry.startswith("_IndexUpdateRef") or unqualified_name(entry) in _INDEXING_FUNCTIONS
    )
    if unqualified_name(entry) in _INDEX_FUNCTIONS or (
        is_indexing and not name.startswith("scatter")
    ):
        return False
    return not is_random_number_code(equation, context)


def _measure(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> Measurement | None:
    out = outputs[0]
    bits = _iinfo(out.dtype).bits
    wide_dtype = jnp.float64 if bits == 64 else jnp.float32
    exact = _compute_in_floats(equation, inputs, wide_dtype)
    if exact is None:
        return None
    # The result can only be off by a multiple of 2**bits, so the float need not be exact.
    wraps = jnp.round((exact - out.astype(wide_dtype)) / 2.0**bits)
    return Measurement((wraps != 0) & ~jnp.isnan(wraps), exact)


def _compute_in_floats(equation: Any, inputs: Sequence[Any], wide_dtype: Any) -> Any:
    name, p = equation.primitive.name, equation.params
    arrays = [jnp.asarray(value) for value in inputs]
    if name.startswith("scatter"):
        scatter = lax.scatter_mul if name == "scatter-mul" else lax.scatter_add
        options = {key: p[key] for key in ("indices_are_sorted", "unique_indices", "mode")}
        start, updates = arrays[0].astype(wide_dtype), arrays[2].astype(wide_dtype)
        return scatter(start, arrays[1], updates, p["dimension_numbers"], **options)
    arrays = [value.astype(wide_dtype) for value in arrays]
    if name == "shift_left":
        return jnp.where(arrays[1] < 0, jnp.nan, arrays[0] * jnp.exp2(jnp.clip(arrays[1], 0, 100)))
    if name == "integer_pow":
        return arrays[0] ** p["y"]
    if name == "pow":
        return jnp.power(arrays[0], arrays[1])
    if name in ("dot_general", "conv_general_dilated"):
        return _jax_compat.bind(equation, arrays, preferred_element_type=np.dtype(wide_dtype))[0]
    if name == "square":
        return arrays[0] * arrays[0]
    return _jax_compat.bind(equation, arrays)[0]


def _corrupt(equation: Any, inputs: Sequence[Any], outputs: list[Any]) -> list[Any]:
    measurement = _measure(equation, inputs, outputs)
    return outputs if measurement is None else [jnp.where(measurement.bad, ~outputs[0], outputs[0])]


_PROBE = Probe(_selects, _measure, _corrupt, jnp.float32)


@detector(probes=[_PROBE], needs="values")
def overflow(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find arithmetic whose true result the dtype cannot hold.

    The detector compares sums, products, powers, shifts, matrix products, and scattered sums of
    integers with the same operations on floats, including those inside loops and branches. It
    reports the true results with their lines. It also reports floats that become infinite if the
    infinity reaches the result. It reports only a note for arithmetic that is mixed with bitwise
    operations, as in hashes and random generators, and for a wrapped value that is masked
    afterward. The detector cannot see values that do not occur with these arguments, and it cannot
    see a NumPy array that wraps around outside JAX. `jax_debug_infs` comes closest, but it handles
    only floats.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.overflow(lambda n: n * n, jnp.int32(70000))[0]
    >>> found.message, found.evidence
    ('int32 wraps around in mul', '1 result, 4.9e+09, the largest value that fits is 2147483647')
    >>> detect.overflow(lambda n: n * n, jnp.int32(700))
    []
    """
    sites = list(target.bad_sites(_PROBE))
    program = target.trace.program
    bit_arithmetic = BitArithmetic(program) if sites and program else None
    for site, is_masked in sites:
        is_meant = bit_arithmetic is not None and bit_arithmetic.includes(site)
        yield _finding(site, is_masked, is_meant)
    for site in target.nonfinite_origins:
        name, dtype = site.equation.primitive.name, site.equation.outvars[0].aval.dtype
        is_division = name == "integer_pow" and site.equation.params["y"] < 0  # As in `x**-2`.
        if site.probe is INF_PROBE and name in _OVERFLOWING and not is_division:
            yield Finding(
                "error",
                f"{dtype} overflows to infinity in {name}",
                f"{site.count} result{'s' * (site.count != 1)}; "
                f"the largest value that fits is {float(_finfo(dtype).max):.6g}",
                "scale the values, work with logarithms, or use a wider type",
                site.location,
                catalogue_id="running-sum-stops",
            )
    for location, message in numpy_warnings(target, "overflow encountered"):
        yield Finding("error", f"NumPy: {message}", "while tracing", _NUMPY_FIX, location)


def _finding(site: Site, is_masked: bool, is_meant: bool) -> Finding:
    dtype, name = site.equation.outvars[0].aval.dtype, site.equation.primitive.name
    limits = _iinfo(dtype)
    is_below = site.high < limits.min or (site.low < limits.min and site.high <= limits.max)
    bound = (
        f"the smallest value that fits is {limits.min}"
        if is_below
        else (f"the largest value that fits is {limits.max}")
    )
    seen = site.describe_values().replace("value", "result")
    function = unqualified_name(site.context.library_entry(site.equation))
    has_dtype = site.location is not None and has_dtype_argument(site.location, function)
    fix = _fix(name, dtype, site.low, site.high, has_dtype)
    message = f"{dtype} wraps around in {name}"
    if is_meant:
        message, fix = f"{message}, as hashes do", "none needed if this is intended"
    elif is_masked:
        message, fix = f"{message}, but that does not reach the result", "none needed"
    if is_meant or is_masked:
        return Finding("note", message, f"{seen}, {bound}", fix, site.location)
    catalogue_id = "uint8-wraps" if dtype.itemsize == 1 else "int-overflow"
    return Finding("error", message, f"{seen}, {bound}", fix, site.location, catalogue_id)


def _fix(name: str, dtype: Any, low: float, high: float, has_dtype: bool) -> str:
    """Return advice for integers that wrap around.

    Args:
        name: The primitive whose results wrap around.
        dtype: The dtype of the integers.
        low: The smallest of the true results.
        high: The largest of the true results.
        has_dtype: Whether the code passes `dtype=` to the function, which converts its argument.
    """
    is_x64, widest = jax.config.read("jax_enable_x64"), _iinfo(jnp.int64)
    for wider in (jnp.int32, jnp.int64) if is_x64 else (jnp.int32,):
        limits = _iinfo(wider)
        if limits.bits > _iinfo(dtype).bits and limits.min <= low and high <= limits.max:
            if has_dtype:
                return f"pass a wider type to the function: `dtype=jnp.{limits.dtype}`"
            return f"compute in a wider type: `x.astype(jnp.{limits.dtype})` before this operation"
    # JAX does not shift floats.
    floats = "`x * 2.0**n`" if name == "shift_left" else "`x.astype(jnp.float32)` before"
    floats = "`dtype=jnp.float32`" if has_dtype else floats
    floats += ", if rounded results are good enough"
    if is_x64 or not (widest.min <= low and high <= widest.max):
        return floats
    return f"{floats}; or `jnp.int64`, after `jax.config.update('jax_enable_x64', True)`"
