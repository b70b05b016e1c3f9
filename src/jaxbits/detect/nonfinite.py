"""NaN and infinity: born in a run, born in its gradient, and waiting there for another input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.detect import traps
from jaxbits.detect.conversion import complaints
from jaxbits.detect.detector import detector
from jaxbits.detect.finding import Finding
from jaxbits.detect.observe import floats, not_finite
from jaxbits.detect.sites import Around, Probe, Reading, Site
from jaxbits.detect.subject import Subject

_MOVES_WORDS = (
    "broadcast_in_dim reshape squeeze slice transpose rev concatenate select_n copy copy_p "
    "stop_gradient expand_dims dynamic_update_slice split optimization_barrier reduce_max "
    "reduce_min max min neg abs sign real imag iota pad random_bits sort argmax argmin"
)
_MOVES = frozenset(_MOVES_WORDS.split())
_LINEAR_ALGEBRA = {"cholesky", "lu", "qr", "eig", "eigh", "svd", "triangular_solve", "schur"}
_GUARD = "guard what goes into the operation: `safe = jnp.where(ok, x, 1.0)`, then `where` again"
SECONDS = 1.0


@detector
def nan(subject: Subject) -> Iterator[Finding]:
    """Find where NaN and infinity are born: in the results, in their gradient, or on other inputs.

    If a result is not finite, it names the operations that made it so, out of what was no NaN. If
    results are finite, it takes the gradient, where there is an operation whose derivative can
    fail. Last it sets inputs to 0, -1, 1 and to large numbers: a gradient that is NaN there though
    the value is finite, behind a `where` that should have guarded it, is a trap. Values that are
    masked away, and infinities that the program itself writes, are no finding. It sees these
    arguments and those few others. `jax_debug_nans` comes closest; it misses a NaN that one jitted
    function makes and masks, and traps on other inputs.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> x = jnp.array([1.0, 2.0])
    >>> found = detect.nan(lambda x: jnp.where(x > 0, x * jnp.log(x), 0.0).sum(), x)[0]
    >>> found.message, found.evidence
    ('the gradient is NaN on other inputs, behind a where', 'argument 1 with an entry of 0')
    >>> detect.nan(lambda x: jnp.log1p(jnp.exp(x)).sum(), x)
    []
    """
    if subject.trace.program is None or subject.observed is None:
        return
    observed = subject.observed
    if floats(observed.outputs) and not_finite(observed.outputs):
        yield from _forward(subject)
        return
    with subject.quiet():
        found = list(traps.gradient(subject))
        jax.effects_barrier()
    yield from found


def _forward(subject: Subject) -> Iterator[Finding]:
    for site in subject.born[:3]:
        yield _born(site)
    if subject.born:
        return
    numpys = complaints(subject, "invalid value encountered|divide by zero")
    for place, message in numpys:
        evidence = "while tracing, outside of the program"
        yield Finding("nan", "error", f"NumPy: {message}", evidence, _GUARD, place)
    given = sum(int((~np.isfinite(np.asarray(x))).sum()) for x in subject.trace.inputs if _real(x))
    if given and not numpys:
        message = "NaN or infinity among the arguments reaches the result"
        evidence = f"{given} value{'s' * (given != 1)}"
        fix = "see where they come from; `jnp.nan_to_num`, `jnp.nanmean`"
        yield Finding("nan", "note", message, evidence, fix)


def _real(value: Any) -> bool:
    kind = getattr(value, "dtype", np.asarray(value).dtype if np.isscalar(value) else None)
    return kind is not None and bool(jnp.issubdtype(kind, jnp.floating))


def _born(site: Site) -> Finding:
    what = "NaN" if site.probe.check == "nan" else "infinity"
    given = "inputs that are no NaN" if what == "NaN" else "finite inputs"
    name = site.equation.primitive.name
    evidence = f"{site.count} value{'s' * (site.count != 1)} of {name}, from {given}"
    bit = "linalg-never-raises" if name in _LINEAR_ALGEBRA else "debug-nans-blind-spots"
    return Finding("nan", "error", f"{what} is born in {name}", evidence, _GUARD, site.place, bit)


def _is_float(variable: Any) -> bool:
    kind = getattr(variable.aval, "dtype", None)
    return kind is not None and bool(jnp.issubdtype(kind, jnp.inexact))


def _wants(equation: Any, around: Around) -> bool:
    if equation.primitive.name in _MOVES:
        return False
    if equation.primitive.name == "convert_element_type" and not _narrows(equation):
        return False
    return any(_is_float(v) for v in equation.outvars)


def _narrows(equation: Any) -> bool:
    old, new = equation.invars[0].aval.dtype, equation.params["new_dtype"]
    return bool(jnp.dtype(new).itemsize < old.itemsize)


def _reader(wrong: Callable[[Any], Any]) -> Callable[..., Reading]:
    def read(equation: Any, values: Sequence[Any], outputs: list[Any]) -> Reading:
        before = [jnp.asarray(v) for v in values]
        before = [v for v in before if jnp.issubdtype(v.dtype, jnp.inexact)]
        out = next(o for o in outputs if jnp.issubdtype(o.dtype, jnp.inexact))
        bad = wrong(out)
        for value in before:
            fits = value.shape in (out.shape, ())
            bad &= ~wrong(value) if fits else ~jnp.any(wrong(value))
        return Reading(bad, jnp.zeros((), jnp.int32))

    return read


def _mend(equation: Any, values: Sequence[Any], outputs: list[Any]) -> list[Any]:
    return [
        jnp.where(jnp.isfinite(o), o, 1) if jnp.issubdtype(o.dtype, jnp.inexact) else o
        for o in outputs
    ]


PROBES = (
    Probe("nan", _wants, _reader(jnp.isnan), _mend),
    Probe("inf", _wants, _reader(jnp.isinf), _mend),
)
