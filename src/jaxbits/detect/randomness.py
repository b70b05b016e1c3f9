"""PRNG keys: used twice, or the same on every call."""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Iterator

from jaxbits.detect.detector import detector
from jaxbits.detect.finding import Finding
from jaxbits.detect.keyflow import Use, uses
from jaxbits.detect.subject import Subject

_known: weakref.WeakKeyDictionary[Subject, list[Use]] = weakref.WeakKeyDictionary()


def _uses(subject: Subject) -> list[Use]:
    if subject not in _known:
        program = subject.trace.program
        _known[subject] = [] if program is None else uses(program)
    return _known[subject]


@detector
def key_reuse(subject: Subject) -> Iterator[Finding]:
    """Find PRNG keys that are used more than once: the numbers drawn are the same or related.

    It numbers the values of the traced program, so that it knows a key again however it was
    reached: by two splits of the same parent, the same `fold_in`, or a loop that draws from it on
    every turn. Typed and raw keys alike. It cannot see keys that differ as values of the program
    and are equal as numbers, nor use in two calls. `jax.debug_key_reuse(True)` comes closest; it
    raises at the first, and does not see raw keys.

    >>> import jax
    >>> from jaxbits import detect
    >>> key = jax.random.key(0)
    >>> twice = detect.key_reuse(lambda k: jax.random.normal(k) + jax.random.uniform(k), key)
    >>> print(twice[0].message)
    one PRNG key is used 2 times
    >>> detect.key_reuse(lambda k: [jax.random.normal(c) for c in jax.random.split(k)], key)
    []
    """
    by_key: dict[object, list[Use]] = defaultdict(list)
    for use in _uses(subject):
        by_key[use.key].append(use)
    for same in by_key.values():
        if len(same) > 1:
            mapped = any("every row" in use.how for use in same)
            places = [f"{use.how} at {use.place}" if use.place else use.how for use in same]
            yield Finding(
                "key_reuse",
                "error",
                f"one PRNG key is used {len(same)} times",
                "; ".join(places[:4]),
                "`jax.random.split` first, and use each child once",
                next((use.place for use in same[1:] if use.place), same[0].place),
                "one-key-under-vmap" if mapped else "same-key-same-numbers",
            )


@detector
def const_key(subject: Subject) -> Iterator[Finding]:
    """Find random numbers that do not depend on any argument: every call draws the same ones.

    It follows keys through the traced program back to arguments. It cannot tell a constant that is
    meant, such as a fixed initialisation. JAX has no switch for it.

    >>> import jax
    >>> from jaxbits import detect
    >>> noisy = lambda x: x + jax.random.normal(jax.random.key(0))
    >>> print(detect.const_key(noisy, 1.0)[0].message)
    these random numbers are the same on every call
    >>> detect.const_key(lambda x, k: x + jax.random.normal(k), 1.0, jax.random.key(0))
    []
    """
    constant = [use for use in _uses(subject) if not use.from_input and use.how == "a draw"]
    if constant:
        yield Finding(
            "const_key",
            "warning",
            "these random numbers are the same on every call",
            f"{len(constant)} draw{'s' * (len(constant) > 1)} from keys that no argument enters",
            "pass a key as an argument",
            constant[0].place,
        )
