"""The detector `const_key`: random numbers that are the same on every call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.key_repetition import is_made_in_every_call, one_per_call
from jaxbits._analysis.key_values import KeyUse


@detector(reads=["program", "log"])
def const_key(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find random numbers that are the same on every call, because they depend on no argument.

    The detector follows PRNG keys through the traced program back to the arguments, and counts the
    draws from keys that do not depend on any argument. A call such as `jax.random.permutation`
    counts as one draw, even if it draws several times. It cannot tell whether a constant key is
    intended, as in a fixed initialization. JAX has no switch for this.

    >>> import jax
    >>> from jaxbits import detect
    >>> noisy = lambda x: x + jax.random.normal(jax.random.key(0))
    >>> print(detect.const_key(noisy, 1.0)[0].message)
    these random numbers are the same on every call
    >>> detect.const_key(lambda x, k: x + jax.random.normal(k), 1.0, jax.random.key(0))
    []
    """
    by_key: dict[object, list[KeyUse]] = defaultdict(list)
    for use in target.key_uses:
        if not use.from_input and not use.again and use.how == "a draw":
            by_key[use.key].append(use)
    groups = list(map(one_per_call, by_key.values()))
    if not groups:
        return
    draws = {use.call: use for group in groups for use in group}
    evidence = (
        f"{len(draws)} draw{'s' * (len(draws) > 1)} from keys that do not depend on an argument"
    )
    if any(len(group) > 1 and is_made_in_every_call(group) for group in groups):
        evidence += "; a function makes the same key in each of its calls, so the draws are related"
    made = [use.seed for use in draws.values() if use.seed and use.seed.location]
    has_generator = any(change.kind == "leak" for change in target.trace.log.changes)
    yield Finding(
        "warning",
        "these random numbers are the same on every call",
        evidence,
        "pass a key as an argument",
        made[0].location if made else next(iter(draws.values())).location,
        "key-generator-under-jit" if has_generator else "same-key-same-numbers",
    )
