"""The detector `key_reuse`: PRNG keys that are used more than once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxbits._analysis.carried_keys import find_carried_keys
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.key_children import find_equal_children
from jaxbits._analysis.key_values import KeyUse, are_alternatives

_FIXES = {
    "": "`jax.random.split` first, and use each child once",
    "loop": "`jax.random.fold_in(key, i)` with the loop's counter, or carry the key and split it",
    "vmap": "`jax.random.split(key, n)` first, and map over the keys as well",
    "fold": "split the key first, and fold the numbers into a child that nothing else uses",
}
"""The advice by how a key is used repeatedly."""

_ENTRIES = {"vmap": "one-key-under-vmap", "fold": "fold-in-meets-split"}
"""The catalogue entries by how a key is used repeatedly, apart from the usual one."""


@detector
def key_reuse(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find PRNG keys that are used more than once, which makes random numbers equal or related.

    The detector numbers the values in the traced program. It therefore recognizes a reused key no
    matter how the program obtains it, for example if the program splits the same parent twice,
    repeats the same `fold_in`, or draws from one key in every iteration of a loop. It knows that
    ``fold_in(key, 1)`` equals ``split(key)[1]``, no matter whether the number is a constant, an
    index of an axis, the counter of a loop, or an argument that is 1 in this call. It also reports
    a key that the program uses and then returns, because the next call uses the key again. If
    ``carry=`` specifies the argument that holds the state, the detector follows the state into a
    second step. Draws and splits whose results are never used do not count. The detector handles
    typed and raw keys. Apart from such children, it cannot see that two different values in the
    program are equal keys. It also cannot see that the caller passes one key twice, that a key
    belongs to an array of keys that was used as a whole, or that the number that you fold in is the
    number of a child only in other calls.
    `jax.debug_key_reuse(True)` comes closest, but it stops at the first reuse and ignores raw keys.

    >>> import jax
    >>> from jaxbits import detect
    >>> key = jax.random.key(0)
    >>> twice = detect.key_reuse(lambda k: jax.random.normal(k) + jax.random.uniform(k), key)
    >>> print(twice[0].message)
    one PRNG key is used 2 times
    >>> detect.key_reuse(lambda k: [jax.random.normal(c) for c in jax.random.split(k)], key)
    []
    >>> print(detect.key_reuse(lambda k: (jax.random.normal(k), k), key)[0].message)
    a PRNG key is returned after its use, so the next call uses it again
    """
    by_key: dict[object, list[KeyUse]] = defaultdict(list)
    for use in target.key_uses:
        by_key[use.key].append(use)
    groups = [*by_key.values(), *find_equal_children(target.key_uses)]
    split_again = {key for key, uses in by_key.items() if sum(use.is_split for use in uses) > 1}
    for uses in groups:
        # The children of a key that is split twice are equal, so they are not reported as well.
        if len(uses) > 1 and not uses[0].split_from & split_again:
            is_under_vmap = any("every row" in use.how for use in uses)
            is_in_loop = any("every iteration" in use.how for use in uses)
            descriptions = [
                use.how + (f" at {use.location}" if use.location else "") + use.why for use in uses
            ]
            is_folded = any(use.why for use in uses)
            kind = "vmap" if is_under_vmap else "loop" if is_in_loop else "fold" * is_folded
            is_harmless = are_alternatives(uses)
            kept = ", but a selection keeps only one of the results" if is_harmless else ""
            yield Finding(
                "note" if is_harmless else "error",
                f"one PRNG key is used {len(uses)} times{kept}",
                "; ".join(list(dict.fromkeys(descriptions))[:4]),
                _FIXES[kind],
                next((use.location for use in uses[1:] if use.location), uses[0].location),
                _ENTRIES.get(kind, "same-key-same-numbers"),
            )
    for carried in find_carried_keys(target):
        use = carried.use
        if carried.path is not None:
            location = use.call or use.location
            message = "a PRNG key is returned after its use, so the next call uses it again"
            evidence = f"{use.how}{use.why}, and result{carried.path} is the same key"
            fix = "`key, subkey = jax.random.split(key)`: use `subkey`, and return `key`"
        else:
            location = use.location
            message = "every step uses the same PRNG key, because the state keeps it"
            evidence = f"{use.how}{use.why}, from the same key again in the next step"
            fix = "split the key in every step and keep one child in the state, or fold in the step"
        yield Finding("error", message, evidence, fix, location, "same-key-same-numbers")
