"""The detector `nan`: NaN and infinity in the results, in gradients, or with other inputs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding, Severity
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.indexing_functions import FILLED_READ, is_filled_read
from jaxbits._analysis.instrumented_run import count_nonfinite, inexact_arrays
from jaxbits._analysis.nonfinite_gradient import GradientTest, GradientTrap, NonfiniteGradient
from jaxbits._analysis.nonfinite_probes import NAN_PROBE
from jaxbits._analysis.numpy_warnings import numpy_warnings
from jaxbits._analysis.probes import Site
from jaxbits._analysis.tracing_errors import leaf_names

_LINEAR_ALGEBRA = {"cholesky", "lu", "qr", "eig", "eigh", "svd", "triangular_solve", "schur"}
_GUARD = "guard the input of the operation: `safe = jnp.where(ok, x, 1.0)`, then `where` again"
_GUARD_GRADIENT = (
    "guard the input: `safe = jnp.where(ok, x, 1.0)`, then `jnp.where(ok, f(safe), 0.0)`"
)
_MASK_SOFTMAX = (
    "if a mask keeps nothing in some row, pass the mask, as in `jax.nn.softmax(x, where=mask)`"
)
_LARGER_EPSILON = (
    "keep the parameters and the optimizer's state in float32, or pass the optimizer an epsilon "
    "that float16 can represent, such as `eps=1e-4`"
)
_CORRECT_INDEX = "correct the index, which is out of bounds, or pass a `fill_value`"
_MAX_ORIGINS = 3


@detector(needs="values")
def nan(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find where NaN and infinity arise in the results, in their gradient, or with other inputs.

    If a result is not finite, the detector names the operations that produced a NaN or infinity
    from good inputs. If all results are finite and an operation has a derivative that can fail, the
    detector computes the gradient. Finally, it sets inputs to 0, -1, 1, and large numbers. If the
    value at such an input is finite but the gradient is NaN, the input is a trap, especially behind
    a `where` that should have guarded against it. Values that are masked later, and infinities that
    the program itself writes, are not findings. The detector cannot see inputs other than these
    arguments and the few that it tries. `jax_debug_nans` comes closest, but it misses traps at
    other inputs and a NaN that one jitted function both produces and masks.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> x = jnp.array([1.0, 2.0])
    >>> found = detect.nan(lambda x: jnp.where(x > 0, x * jnp.log(x), 0.0).sum(), x)[0]
    >>> found.message, found.evidence
    ('the gradient is NaN on other inputs, behind a where', 'argument x with an entry of 0')
    >>> detect.nan(lambda x: jnp.log1p(jnp.exp(x)).sum(), x)
    []
    """
    run = target.instrumented_run
    if run is None:
        return
    if inexact_arrays(run.outputs) and count_nonfinite(run.outputs):
        yield from _nonfinite_results(target)
        return
    with target.suppress_effects():
        gradient_test = GradientTest(target)
        problems = list(gradient_test.run())
        jax.effects_barrier()
    for problem in problems:
        if isinstance(problem, NonfiniteGradient):
            yield _nonfinite_gradient(problem, gradient_test)
        else:
            names = leaf_names(target.function, target.args, target.kwargs, target.trace.traced)
            yield _gradient_trap(problem, names[problem.argument])


def _nonfinite_results(target: FunctionUnderTest) -> Iterator[Finding]:
    for site in target.nonfinite_origins[:_MAX_ORIGINS]:
        yield _origin(site)
    if target.nonfinite_origins:
        return
    warnings = numpy_warnings(target, "invalid value encountered|divide by zero")
    for location, message in warnings:
        evidence = "while tracing, outside the program"
        yield Finding("error", f"NumPy: {message}", evidence, _GUARD, location)
    inputs = [np.asarray(value) for value in target.trace.inputs if _is_floating(value)]
    count = sum(int((~np.isfinite(array)).sum()) for array in inputs)
    if count and not warnings:
        message = "NaN or infinity among the arguments reaches the result"
        evidence = f"{count} value{'s' * (count != 1)}"
        fix = "find out where they come from; or use `jnp.nan_to_num`, `jnp.nanmean`"
        yield Finding("note", message, evidence, fix)


def _is_floating(value: Any) -> bool:
    dtype = getattr(value, "dtype", np.asarray(value).dtype if np.isscalar(value) else None)
    return dtype is not None and bool(jnp.issubdtype(dtype, jnp.floating))


def _origin(site: Site) -> Finding:
    is_nan = site.probe is NAN_PROBE
    inputs = "inputs that are not NaN" if is_nan else "finite inputs"
    name = site.equation.primitive.name
    evidence = f"{site.count} value{'s' * (site.count != 1)} of {name}, from {inputs}"
    message = f"{'NaN' if is_nan else 'infinity'} arises in {name}"
    if _subtracts_in_softmax(name, site.location):
        return Finding("error", message, evidence, _MASK_SOFTMAX, site.location, "empty-mask")
    if is_filled_read(site.equation):
        return Finding(
            "error",
            message,
            evidence,
            _CORRECT_INDEX,
            site.location,
            "take-fills",
            subject=FILLED_READ,
        )
    if _is_float16_division_in_optax(site.equation):
        location = site.location
        return Finding("error", message, evidence, _LARGER_EPSILON, location, "adam-float16-eps")
    catalogue_id = "linalg-never-raises" if name in _LINEAR_ALGEBRA else "debug-nans-blind-spots"
    return Finding("error", message, evidence, _GUARD, site.location, catalogue_id)


def _subtracts_in_softmax(primitive: str | None, location: CodeLocation | None) -> bool:
    """Return whether a softmax subtracted the largest element, which may be -infinity."""
    return primitive == "sub" and location is not None and "softmax(" in location.text


def _is_float16_division_in_optax(equation: Any) -> bool:
    """Return whether Optax divides in float16, where the default epsilon of Adam is zero."""
    if equation.primitive.name != "div" or equation.outvars[0].aval.dtype != jnp.float16:
        return False
    return any("optax" in Path(file).parts for _, file, _ in _jax_compat.frames(equation))


def _nonfinite_gradient(problem: NonfiniteGradient, gradient_test: GradientTest) -> Finding:
    severity: Severity = "warning" if problem.has_nan else "note"
    if gradient_test.is_scalar:
        severity = "error"
    evidence = f"{problem.count} value{'s' * (problem.count != 1)} of the gradient"
    if problem.primitive:
        evidence += f", first in {problem.primitive} of the backward pass"
    kind = "NaN" if problem.has_nan else "infinite"
    message = f"the value is finite, but its gradient is {kind}"
    if _subtracts_in_softmax(problem.primitive, problem.location):
        return Finding(severity, message, evidence, _MASK_SOFTMAX, problem.location, "empty-mask")
    if gradient_test.has_eigenvectors:
        catalogue_id = "degenerate-eigenvectors"
    else:
        is_guarded = bool(gradient_test.flow.guarded)
        catalogue_id = "where-gradient-nan" if is_guarded else "norm-gradient-at-zero"
    return Finding(severity, message, evidence, _GUARD_GRADIENT, problem.location, catalogue_id)


def _gradient_trap(problem: GradientTrap, argument: str) -> Finding:
    message = "the gradient is NaN on other inputs"
    evidence = f"argument {argument} with {problem.change}"
    if problem.is_guarded:
        message += ", behind a where"
        return Finding("warning", message, evidence, _GUARD_GRADIENT, problem.location)
    catalogue_id = "norm-gradient-at-zero"
    return Finding("note", message, evidence, _GUARD_GRADIENT, catalogue_id=catalogue_id)
