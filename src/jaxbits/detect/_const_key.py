"""The detector `const_key`: random numbers that are the same on every call."""

from __future__ import annotations

from collections.abc import Iterator

from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest


@detector
def const_key(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find random numbers that are the same on every call, because they depend on no argument.

    The detector follows PRNG keys through the traced program back to the arguments, and counts the
    draws from keys that do not depend on any argument. It cannot tell whether a constant key is
    intended, as in a fixed initialization. JAX has no switch for this.

    >>> import jax
    >>> from jaxbits import detect
    >>> noisy = lambda x: x + jax.random.normal(jax.random.key(0))
    >>> print(detect.const_key(noisy, 1.0)[0].message)
    these random numbers are the same on every call
    >>> detect.const_key(lambda x, k: x + jax.random.normal(k), 1.0, jax.random.key(0))
    []
    """
    constant = [use for use in target.key_uses if not use.from_input and use.how == "a draw"]
    if constant:
        yield Finding(
            "warning",
            "these random numbers are the same on every call",
            f"{len(constant)} draw{'s' * (len(constant) > 1)} from keys that do not depend on an "
            "argument",
            "pass a key as an argument",
            next((use.seeded_at for use in constant if use.seeded_at), constant[0].location),
        )
