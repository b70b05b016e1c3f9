"""Answers to the exercises of *Immutable arrays*: foreseen mistakes, and other right ones."""

import jax
import jax.numpy as jnp
from jax import lax


def assigned(memory, place, item):
    memory[place] = item
    return memory, (place + 1) % len(memory)


def discarded(memory, place, item):
    memory.at[place].set(item)
    return memory, (place + 1) % len(memory)


def read_and_set(values, groups, count):
    sums = jnp.zeros(count)
    sums = sums.at[groups].set(sums[groups] + values)
    sizes = jnp.zeros(count).at[groups].add(1.0)
    return sums / jnp.maximum(sizes, 1.0)


def sums_only(values, groups, count):
    return jnp.zeros(count).at[groups].add(values)


def nothing_is_nan(values, groups, count):
    return sums_only(values, groups, count) / jnp.zeros(count).at[groups].add(1.0)


def two_writes(x, pairs):
    def swap(k, x):
        i, j = pairs[k]
        return x.at[i].set(x[j]).at[j].set(x[i])

    return lax.fori_loop(0, len(pairs), swap, x)


def read_first(x, pairs):
    def swap(k, x):
        i, j = pairs[k]
        at_i, at_j = x[i], x[j]
        return x.at[i].set(at_j).at[j].set(at_i)

    return lax.fori_loop(0, len(pairs), swap, x)


def permuted(x, pairs):
    places = lax.fori_loop(
        0, len(pairs), lambda k, p: p.at[pairs[k]].set(p[pairs[k][::-1]]), jnp.arange(len(x))
    )
    return x[places]


def overwritten(x, pairs):
    for i, j in pairs:
        x = x.at[i].set(x[j])
        x = x.at[j].set(x[i])
    return x


def written_out(x, pairs):
    for there in pairs:
        x = x.at[there].set(x[there[::-1]])
    return x


def all_at_once(x, pairs):
    return x.at[pairs].set(x[pairs[:, ::-1]])


def added(x, pairs):
    def swap(k, x):
        i, j = pairs[k]
        return x.at[pairs[k]].add(jnp.array([x[j] - x[i], x[i] - x[j]]))

    return lax.fori_loop(0, len(pairs), swap, x)


def scanned(x, pairs):
    return lax.scan(lambda x, p: (x.at[p].set(x[p[::-1]]), None), x, pairs)[0]


WRONG = {
    "immutable-arrays/1": [
        (assigned, "That is a sharp bit: A JAX array cannot be assigned to"),
        (discarded, "is the result of .at kept?"),
        (lambda memory, place, item: memory.at[place].set(item), "it should return a pair"),
        (
            lambda memory, place, item: (memory.at[place].set(item), place + 1),
            "after the last place comes the first",
        ),
        (
            lambda memory, place, item: (jnp.asarray(memory).at[place].set(item), (place + 1) % 3),
            "this one has 5 places",
        ),
    ],
    "immutable-arrays/2": [
        (read_and_set, "an update of one place got lost"),
        (sums_only, "these are the sums"),
        (nothing_is_nan, "should be 0.0"),
        (
            lambda values, groups, count: jnp.zeros(3).at[groups].add(values),
            "must return [1.0, 2.0]",
        ),
    ],
    "immutable-arrays/3": [
        (two_writes, "a second array, copied in every step")
        if jax.default_backend() == "cpu"
        else (overwritten, "is there twice"),
        *(
            [
                (read_first, "a second array, copied in every step"),
                (permuted, "of scratch: memory for another array"),
            ]
            if jax.default_backend() == "cpu"
            else []
        ),
        (overwritten, "is there twice"),
        (written_out, "use lax.fori_loop"),
        (all_at_once, "one pair after the other"),
    ],
    "immutable-arrays/4": [
        (lambda reader: [jax.device_put(batch) for batch in reader], "the reader's memory"),
        (lambda reader: [jnp.from_dlpack(batch) for batch in reader], "the reader's memory"),
        (lambda reader: [jax.device_put(batch) for batch in list(reader)], "the reader's memory"),
        (list, "should be JAX arrays"),
        (lambda reader: jnp.array([batch.copy() for batch in reader]), "a list of three"),
    ],
}
RIGHT = [
    ("immutable-arrays/1", lambda m, p, item: (jnp.asarray(m).at[p].set(item), (p + 1) % len(m))),
    (
        "immutable-arrays/2",
        lambda v, g, n: (
            jax.ops.segment_sum(v, g, n)
            / jnp.maximum(jax.ops.segment_sum(jnp.ones_like(v), g, n), 1)
        ),
    ),
    ("immutable-arrays/3", scanned),
    ("immutable-arrays/3", added),
    (
        "immutable-arrays/4",
        lambda reader: [jnp.array(batch).block_until_ready() for batch in reader],
    ),
]
