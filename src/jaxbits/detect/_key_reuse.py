"""The detector `key_reuse`: PRNG keys that are used more than once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.key_dataflow import Use
from jaxbits._finding import Finding


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
    for use in subject.key_uses:
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
