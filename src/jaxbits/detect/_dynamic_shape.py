"""The detector `dynamic_shape`: shapes that depend on the values in an array."""

from __future__ import annotations

from collections.abc import Iterator

from jaxbits import _catalogue
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.static_numbers import ONLY_IF_JITTED, find_static_number
from jaxbits._analysis.tracing_errors import classify_error, error_signature


@detector(reads=["log"])
def dynamic_shape(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find shapes that depend on the values in an array, and traced numbers that must be static.

    The detector traces the function as `jax.jit` would, with all numbers traced, and classifies the
    error that tracing raises. If a library function raises an error for a traced integer, the
    detector runs the function without `jax.jit`. If this run succeeds, the integer must be static.
    The detector cannot see more than the first shape that depends on values. `jax.jit` itself and
    `jax.eval_shape` come closest, because they raise the same error.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.dynamic_shape(lambda x: x[x > 1], jnp.arange(4.0))[0]
    >>> found.message, found.evidence
    ('a shape depends on the values in an array', 'NonConcreteBooleanIndexError')
    >>> detect.dynamic_shape(lambda x: jnp.where(x > 1, x, 0), jnp.arange(4.0))
    []
    """
    for error in target.errors:
        check, location = classify_error(error)
        if check == "dynamic_shape":
            severity = target.severity_of(error)
            fix = "`jnp.where(mask, x, fill)`, `size=`, `lax.dynamic_slice`; or a static argument"
            yield Finding(
                severity,
                "a shape depends on the values in an array"
                if severity == "error"
                else "a shape depends on a Python number",
                type(error).__name__,
                ONLY_IF_JITTED if severity == "note" else fix,
                location,
                _catalogue.best_match("dynamic_shape", error),
                explains=error_signature(error),
            )
    for unclassified in target.errors:
        call = find_static_number(target, unclassified)
        if call is not None:
            name, location = call
            severity = target.severity_of(unclassified)
            fix = "make the number static with `static_argnames=`, or compute it from a shape"
            yield Finding(
                severity,
                "a traced number is passed where a static one is needed",
                f"{type(unclassified).__name__} in {name}, which works without `jax.jit`",
                ONLY_IF_JITTED if severity == "note" else fix,
                location,
                explains=error_signature(unclassified),
            )
