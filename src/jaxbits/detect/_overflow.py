"""Arithmetic whose result the type cannot hold: integers wrap around, floats become infinite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Jaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.probes import Around, Probe, Reading, Site, made_by_library, plain
from jaxbits._finding import Finding
from jaxbits.detect._cast import complaints, values_seen

_iinfo: Any = jnp.iinfo
_finfo: Any = jnp.finfo
_ARITHMETIC_WORDS = (
    "add sub mul neg abs square pow integer_pow shift_left reduce_sum cumsum reduce_prod "
    "cumprod dot_general conv_general_dilated add_any scatter-add scatter-mul"
)
_ARITHMETIC = frozenset(_ARITHMETIC_WORDS.split())
_FLOATS = {*_ARITHMETIC, "convert_element_type", "exp", "exp2", "expm1", "sinh", "cosh"}
_VISIBLE_WORDS = (
    "cumsum cumprod trace diff power integer_power matmul dot inner outer tensordot kron "
    "cross square sum prod abs absolute vander polyval ediff1d"
)
_VISIBLE = frozenset(_VISIBLE_WORDS.split())
_UNSEEN_WORDS = "histogram unique nonzero getitem repeat argwhere interp floor_divide"
_UNSEEN = frozenset(_UNSEEN_WORDS.split())
_INDEXED = {"segment_sum", "segment_prod", "take", "take_along_axis", "bincount", "getitem"}
_BITS = {"xor", "or", "not", "shift_right_logical", "population_count", "clz"}
_MIXING = {31, 33, 37, 65599, 131, 137, 257, 263}
_PASSING = {"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "add", "sub", "mul"}
_PASSING |= {"shift_left", "slice", "transpose", "concatenate", "select_n"}
_FIX = "compute in a wider type: `x.astype(jnp.int32)`, a float, or x64"


@detector
def overflow(subject: Subject) -> Iterator[Finding]:
    """Find arithmetic whose true result the type cannot hold, with the result and its line.

    Sums, products, powers, shifts, matrix products and scattered sums of integers are compared with
    the same in floats; floats that became infinite are reported where that reaches the result. It
    reads the values of these arguments, inside of loops and branches too. Arithmetic mixed with
    operations on bits, as hashes and random generators do it, is taken to be meant; so is a wrapped
    value that is masked afterwards, and both are notes. It cannot see what NumPy's arrays do
    outside of JAX. Nothing of JAX's comes close; `jax_debug_infs` sees floats only.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.overflow(lambda n: n * n, jnp.int32(70000))[0]
    >>> found.message, found.evidence
    ('int32 wraps around in mul', '1 result, 4.9e+09, the most that fits is 2147483647')
    >>> detect.overflow(lambda n: n * n, jnp.int32(700))
    []
    """
    observed = subject.observed
    sites = observed.of("overflow") if observed else []
    meant = _Meant(subject) if sites else None
    for site in sites:
        masked = observed is not None and site.number in observed.masked
        yield _finding(site, masked, meant is not None and meant(site))
    for site in subject.born:
        name, kind = site.equation.primitive.name, site.equation.outvars[0].aval.dtype
        if site.probe.check == "inf" and name in _FLOATS:
            yield Finding(
                "overflow",
                "warning",
                f"{kind} overflows to infinity in {name}",
                f"{site.count} result{'s' * (site.count != 1)}; "
                f"the most that fits is {float(_finfo(kind).max):.6g}",
                "scale the values, work with logarithms, or take a wider type",
                site.place,
                bit="running-sum-stops",
            )
    for place, message in complaints(subject, "overflow encountered"):
        yield Finding("overflow", "warning", f"NumPy: {message}", "while tracing", _FIX, place)


def _finding(site: Site, masked: bool, meant: bool) -> Finding:
    kind, name = site.equation.outvars[0].aval.dtype, site.equation.primitive.name
    limits = _iinfo(kind)
    below = site.high < limits.min or (site.low < limits.min and site.high <= limits.max)
    bound = (
        f"the least that fits is {limits.min}" if below else (f"the most that fits is {limits.max}")
    )
    seen = values_seen(site).replace("value", "result")
    message, fix = f"{kind} wraps around in {name}", _FIX
    if meant:
        message, fix = f"{message}, as hashes do", "none needed, if that is meant"
    elif masked:
        message, fix = f"{message}, but that does not reach the result", "none needed"
    if meant or masked:
        return Finding("overflow", "note", message, f"{seen}, {bound}", fix, site.place)
    bit = "uint8-wraps" if kind.itemsize == 1 else "int-overflow"
    return Finding("overflow", "error", message, f"{seen}, {bound}", fix, site.place, bit)


def _wants(equation: Any, around: Around) -> bool:
    name = equation.primitive.name
    if name not in _ARITHMETIC or not equation.outvars:
        return False
    if not jnp.issubdtype(equation.outvars[0].aval.dtype, jnp.integer):
        return False
    if around.library and plain(around.library[0]) not in _VISIBLE:
        return False
    entry = around.entry(equation) or ""
    indexed = entry.startswith("_IndexUpdateRef") or plain(entry) in _INDEXED
    if plain(entry) in _UNSEEN or (indexed and not name.startswith("scatter")):
        return False
    return not made_by_library(equation, around)


def _read(equation: Any, values: Sequence[Any], outputs: list[Any]) -> Reading | None:
    out = outputs[0]
    bits = _iinfo(out.dtype).bits
    wide = jnp.float64 if bits == 64 else jnp.float32
    exact = _in_floats(equation, values, wide)
    if exact is None:
        return None
    # The result is right but for a multiple of 2**bits, so the float need not be exact.
    turns = jnp.round((exact - out.astype(wide)) / 2.0**bits)
    return Reading((turns != 0) & ~jnp.isnan(turns), exact)


def _in_floats(equation: Any, values: Sequence[Any], wide: Any) -> Any:
    name, p = equation.primitive.name, equation.params
    given = [jnp.asarray(value) for value in values]
    if name.startswith("scatter"):
        same = lax.scatter_mul if name == "scatter-mul" else lax.scatter_add
        asked = {key: p[key] for key in ("indices_are_sorted", "unique_indices", "mode")}
        start, more = given[0].astype(wide), given[2].astype(wide)
        return same(start, given[1], more, p["dimension_numbers"], **asked)
    given = [value.astype(wide) for value in given]
    if name == "shift_left":
        return jnp.where(given[1] < 0, jnp.nan, given[0] * jnp.exp2(jnp.clip(given[1], 0, 100)))
    if name == "integer_pow":
        return given[0] ** p["y"]
    if name == "pow":
        return jnp.power(given[0], given[1])
    if name in ("dot_general", "conv_general_dilated"):
        return _jax_compat.bind(equation, given, preferred_element_type=np.dtype(wide))[0]
    if name == "square":
        return given[0] * given[0]
    return _jax_compat.bind(equation, given)[0]


def _spoil(equation: Any, values: Sequence[Any], outputs: list[Any]) -> list[Any]:
    reading = _read(equation, values, outputs)
    return outputs if reading is None else [jnp.where(reading.bad, ~outputs[0], outputs[0])]


overflow.probe = Probe("overflow", _wants, _read, _spoil, jnp.float32)


class _Meant:
    """Whether a site's arithmetic is on bits: hashes, generators of random numbers, masks."""

    def __init__(self, subject: Subject) -> None:
        program = subject.trace.program
        self.home: dict[int, Jaxpr] = {}
        for part in jaxpr_utils.programs(program) if program else ():
            self.home.update((id(equation), part.jaxpr) for equation in part.jaxpr.eqns)

    def __call__(self, site: Site) -> bool:
        home, kind = self.home.get(id(site.equation)), site.equation.outvars[0].aval.dtype
        if home is None:
            return False
        if jnp.issubdtype(kind, jnp.signedinteger):
            return self._reaches(site.equation, home) or self._comes_from(site.equation, home)
        around = [home] + [
            self.home[id(caller)] for caller in site.around.callers if id(caller) in self.home
        ]
        here: list[Any] = [e for jaxpr in around for e in jaxpr.eqns if e.outvars]
        here = [e for e in here if e.outvars[0].aval.dtype == kind]
        if any(e.primitive.name in {*_BITS, "and"} for e in here):
            return True
        mixed = kind.itemsize >= 4 and any(_mixes(e) for e in here)
        return mixed and site.equation.primitive.name != "sub"

    def _reaches(self, equation: Any, home: Jaxpr) -> bool:
        """Whether the result goes into an operation on bits, through arithmetic alone."""
        reached = set(map(id, equation.outvars))
        for later in home.eqns:
            if reached & set(map(id, later.invars)):
                if _on_bits(later):
                    return True
                if later.primitive.name in _PASSING:
                    reached |= set(map(id, later.outvars))
        return False

    def _comes_from(self, equation: Any, home: Jaxpr) -> bool:
        wanted = set(map(id, equation.invars))
        for earlier in reversed(home.eqns):
            if wanted & set(map(id, earlier.outvars)):
                if _on_bits(earlier) and earlier.primitive.name != "shift_right_logical":
                    return True
                if earlier.primitive.name in _PASSING:
                    wanted |= set(map(id, earlier.invars))
        return False


def _on_bits(equation: Any) -> bool:
    name = equation.primitive.name
    if not jnp.issubdtype(equation.outvars[0].aval.dtype, jnp.integer):
        return False
    if name != "and":
        return name in _BITS
    return any(abs(number) >= 255 for number in _constants(equation))


def _mixes(equation: Any) -> bool:
    """Whether an equation has a constant as hashes do: an odd one, large or well known."""
    name = equation.primitive.name
    if name not in ("mul", "add"):
        return False
    numbers = _constants(equation)
    return any((n in _MIXING and name == "mul") or (n % 2 and n >= 2**16) for n in numbers)


def _constants(equation: Any) -> list[int]:
    return [int(v.val) for v in equation.invars if isinstance(v, Literal) and not np.ndim(v.val)]
