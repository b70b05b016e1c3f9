"""NaN and infinity: born in a run, born in its gradient, and waiting there for another input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._analysis import nonfinite_gradient
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.instrumented_run import floats, not_finite
from jaxbits._analysis.probes import Site
from jaxbits._finding import Finding
from jaxbits.detect._cast import complaints

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
        found = list(nonfinite_gradient.gradient(subject))
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
