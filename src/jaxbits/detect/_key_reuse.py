"""The detector `key_reuse`: PRNG keys that are used more than once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from jaxbits._analysis.carried_keys import CarriedKey, find_carried_keys
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.key_children import find_equal_children
from jaxbits._analysis.key_repetition import (
    Repetition,
    find_own_repetition,
    find_repetition,
)
from jaxbits._analysis.key_values import (
    EVERY_ITERATION,
    EVERY_ROW,
    NEXT_ITERATION,
    KeyUse,
    are_alternatives,
)

_FIXES = {
    "": "`jax.random.split` first, and use each child once",
    "loop": "`jax.random.fold_in(key, i)` with the loop's counter, or carry the key and split it",
    "next": "`key, subkey = jax.random.split(key)`: use `subkey`, and carry on `key`",
    "vmap": "`jax.random.split(key, n)` first, and map over the keys as well",
    "fold": "split the key first, and fold the numbers into a child that nothing else uses",
}
"""The advice by how a key is used repeatedly."""

_ENTRIES = {
    "loop": "dropout-same-mask",
    "vmap": "one-key-under-vmap",
    "fold": "fold-in-meets-split",
    "split": "parent-key-after-split",
}
"""The catalogue entries by how a key is used repeatedly, apart from the usual one."""

_UNSEEN = {"next", "vmap", "fold"}
"""The kinds of repetition that `jax.debug_key_reuse` does not detect."""


@detector
def key_reuse(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find PRNG keys that are used more than once, which makes random numbers equal or related.

    The detector numbers the values in the traced program. It therefore recognizes a reused key no
    matter how the program obtains it, for example if the program splits the same parent twice,
    repeats the same `fold_in`, or draws from one key in every iteration of a loop. It follows the
    keys that a loop carries from one iteration to the next. It knows that ``fold_in(key, 1)``
    equals ``split(key)[1]``, also under `jax.vmap`, no matter whether the number is a constant, an
    index of an axis, the counter of a loop, or an argument that is 1 in this call. It also reports
    a key that the program uses and then returns, because the next call uses the key again. If
    ``carry=`` specifies the argument that holds the state, the detector follows the state into a
    second step. Draws and splits whose results are never used do not count. If two calls of one
    function use the same key with other arguments, and the program subtracts or compares the
    results, the finding is a warning, because common random numbers may be intended. It is a note
    if one argument is a shifted copy of the other, as in antithetic sampling. It is also a note if
    the program evaluates one function again with equal arguments to differentiate another result,
    or if it rearranges several arrays in the same order, or if a library other than JAX repeats the
    numbers in a loop of its own, as diffrax does for a Brownian path. A key that a function makes
    from a literal in every call is left to `const_key`. The detector handles typed and raw keys.
    Apart from children, it cannot see that two different values in the program are equal keys. If
    the program chooses one of several keys with their values, as `jnp.where` does, and another line
    uses one of them, the detector warns that it cannot tell whether this key is reused. It
    also cannot see that the caller passes one key twice, that a key belongs to an array of keys
    that was used as a whole, or that the number that you fold in is the number of a child only in
    other calls. `jax.debug_key_reuse(True)` comes closest, but it stops at the first reuse and
    ignores raw keys.

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
    if (chosen := _find_chosen_key(target.key_uses)) is not None:
        place = f" at {chosen.location}" if chosen.location else ""
        target.left_out.append(
            f"key_reuse cannot tell which of several keys is used{place}, and another line uses "
            "one of them"
        )
    computations = target.key_uses.computations
    groups = [*by_key.values(), *find_equal_children(target.key_uses)]
    found = [find_repetition(uses, computations) for uses in groups]
    repetitions = [repetition for repetition in found if repetition is not None]
    split_again = {r.uses[0].key: r.is_intended for r in repetitions if r.splits > 1}
    for repetition in repetitions:
        # The children of a key that is split twice are equal, so they are not reported as well.
        parents = repetition.uses[0].split_from & split_again.keys()
        own: Repetition | None = repetition
        if not all(split_again[parent] and not repetition.is_intended for parent in parents):
            splits = [use for parent in parents for use in by_key[parent] if use.is_split]
            own = find_own_repetition(repetition, splits, computations)
        if own is not None:
            yield _repeated(own)
    for carried in find_carried_keys(target):
        yield _carried(carried)


def _find_chosen_key(uses: Iterable[KeyUse]) -> KeyUse | None:
    """Return a use of a key that may be the same key as one that is used elsewhere."""
    calls: dict[object, set[int]] = defaultdict(set)
    for use in uses:
        calls[use.key].add(use.call)
    return next(
        (
            use
            for use in uses
            if any(calls.get(key, set()) - {use.call} for key in use.candidates - {use.key})
        ),
        None,
    )


def _repeated(repetition: Repetition) -> Finding:
    uses = repetition.uses
    if _is_due_to_library(uses):
        return _repeated_by_library(repetition)
    if repetition.is_intended:
        return _shared(repetition)
    places = repetition.places
    descriptions = list(dict.fromkeys(map(KeyUse.describe, uses, places)))
    kind = _kind(uses)
    is_harmless = are_alternatives(uses)
    message = f"one PRNG key is used {repetition.count} times"
    if is_harmless:
        message += ", but a selection keeps only one of the results"
    elif kind == "next":
        message = "a PRNG key is carried on after its use, so the next iteration uses it again"
    evidence = "; ".join(descriptions[:4])
    fix = _FIXES[kind]
    for pair in repetition.shared[:1]:
        calls = pair.description if pair.function else f"calls at {pair.lines}"
        evidence += f"; the {calls} seem to share their numbers on purpose"
        fix += f"; the {calls} may share one child"
    entry = _ENTRIES.get(kind, "same-key-same-numbers")
    if not kind and any(use.how == "a split" for use in uses):
        entry = _ENTRIES["split"]
    first = places[0]
    again = next((place for place in places[1:] if place), first)
    return Finding(
        "note" if is_harmless else "error",
        message,
        evidence,
        fix,
        first if kind == "next" and first else again,
        entry,
        has_switch=kind not in _UNSEEN and not any(use.is_raw for use in uses),
    )


def _is_due_to_library(uses: list[KeyUse]) -> bool:
    """Return whether a library uses the key again in a single call from user code."""
    if not all(use.is_in_library for use in uses) or len({use.frames for use in uses}) > 1:
        return False
    if len({use.call for use in uses if use.call != use.number}) > 1:
        return False
    # If a loop of the user makes the call, some frames are between the loop and the use.
    return all(not use.again or use.loop_depth == len(use.frames) for use in uses)


def _repeated_by_library(repetition: Repetition) -> Finding:
    """Return a finding about uses in one call of a library, which the user cannot change."""
    use = repetition.uses[0]
    return Finding(
        "note",
        f"a library uses one PRNG key {repetition.count} times in one call",
        use.describe(),
        "none needed if the library needs the same numbers again, as for a Brownian path",
        use.location,
        "same-key-same-numbers",
    )


def _kind(uses: list[KeyUse]) -> str:
    """Return how a key is used repeatedly, which decides about the advice."""
    times = {use.again for use in uses}
    if EVERY_ROW in times:
        return "vmap"
    if EVERY_ITERATION in times:
        return "loop"
    if any(use.why for use in uses):
        return "fold"
    return "next" if NEXT_ITERATION in times and len(uses) == 2 else ""


def _shared(repetition: Repetition) -> Finding:
    """Return a finding about uses that seem to share their random numbers on purpose."""
    pairs = sorted(repetition.shared, key=lambda pair: pair.is_clear)
    pair, count = pairs[0], len(repetition.uses)
    evidence = repetition.uses[0].describe()
    if pair.kind == "aligned":
        message = f"one PRNG key rearranges {count} arrays in the same order"
        evidence = f"the same order at {pair.lines}"
        fix = (
            "keep the key if the arrays belong together; if their orders should be independent, "
            "split the key and give each array one child"
        )
    elif pair.kind == "evaluated":
        message = f"`{pair.function}` is evaluated {count} times with one PRNG key"
        evidence += f", with equal arguments in the {pair.description}"
        fix = "keep the key if the evaluations belong to one sample, or evaluate only once"
    else:
        calls = f"{count} calls of `{pair.function}`"
        message = f"{calls} use one PRNG key, and their results are {pair.verb}"
        arguments = "shifted" if pair.kind == "shifted" else "other"
        evidence += f", in the {pair.description}, with {arguments} arguments"
        fix = (
            "if the calls should be independent, split the key and give each call one child; if "
            "they should share the numbers, draw them once and pass them, or keep the key and add "
            "`# jaxbits: ignore[key_reuse]`"
        )
    return Finding(
        "note" if pair.is_clear else "warning",
        message,
        evidence,
        fix,
        pair.sites[1].location,
        "same-key-same-numbers",
        has_switch=not any(use.is_raw for use in repetition.uses),
    )


def _carried(carried: CarriedKey) -> Finding:
    use = carried.use
    message = "every step uses the same PRNG key, because the state keeps it"
    evidence = f"{use.describe()}, from the same key again in the next step"
    fix = "split the key in every step and keep one child in the state, or fold in the step"
    location = use.location
    entry = _ENTRIES["fold"] if use.why else "same-key-same-numbers"
    if carried.path is not None:
        location = carried.location
        message = "a PRNG key is returned after its use, so the next call uses it again"
        evidence = f"{use.describe()}, and result{carried.path} is the same key"
        fix = "`key, subkey = jax.random.split(key)`: use `subkey`, and return `key`"
        fix = _FIXES["fold"] if use.why else fix
    return Finding(
        "error",
        message,
        evidence,
        fix,
        location,
        entry,
        has_switch=carried.is_argument and not use.is_raw,
    )
