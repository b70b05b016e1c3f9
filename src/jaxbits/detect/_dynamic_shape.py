"""The detector `dynamic_shape`: shapes that depend on the values in an array."""

from __future__ import annotations

from collections.abc import Iterator

from jaxbits import _catalogue
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.tracing_errors import classify_error
from jaxbits._finding import Finding


@detector
def dynamic_shape(subject: Subject) -> Iterator[Finding]:
    """Find shapes that depend on the numbers in an array, not on its shape.

    It traces the function as `jax.jit` would, all numbers traced, and reads the error. It sees the
    first of several. `jax.jit` itself, or `jax.eval_shape`, raises the same error.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.dynamic_shape(lambda x: x[x > 1], jnp.arange(4.0))[0]
    >>> found.message, found.evidence
    ('a shape depends on the numbers in an array', 'NonConcreteBooleanIndexError')
    >>> detect.dynamic_shape(lambda x: jnp.where(x > 1, x, 0), jnp.arange(4.0))
    []
    """
    for error in subject.errors:
        kind, place = classify_error(error)
        if kind == "dynamic_shape":
            yield Finding(
                "dynamic_shape",
                "error",
                "a shape depends on the numbers in an array",
                type(error).__name__,
                "`jnp.where(mask, x, fill)`, `size=`, `lax.dynamic_slice`; or a static argument",
                place,
                _catalogue.best_match("dynamic_shape", error),
            )
