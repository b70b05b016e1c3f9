"""Right and wrong answers to the exercises on immutable arrays."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# In JAX 0.7, `jnp.array` copies before it returns, and `jnp.asarray` shares the buffer. Later
# versions of both copy when the device gets to it. Chapter 03 has the claims.
COPIES_AT_ONCE = jax.__version_info__ < (0, 8)


def copy_with_jax(reader):
    return [jnp.array(batch) for batch in reader]


def assign_item(memory, place, item):
    memory[place] = item
    return memory, (place + 1) % len(memory)


def in_numpy(memory, place, item):
    memory = np.array(memory)
    memory[place] = item
    return jnp.asarray(memory), (place + 1) % len(memory)


def use_python_if(memory, place, item):
    following = place + 1 if place + 1 < len(memory) else 0
    return memory.at[place].set(item), following


def use_where(memory, place, item):
    row = jnp.arange(len(memory)) == place
    following = jnp.where(place + 1 == len(memory), 0, place + 1)
    return jnp.where(row[:, None], item, memory), following


def discard_result(memory, place, item):
    memory.at[place].set(item)
    return memory, (place + 1) % len(memory)


def read_and_set(values, groups, count):
    sums = jnp.zeros(count)
    sums = sums.at[groups].set(sums[groups] + values)
    sizes = jnp.zeros(count).at[groups].add(1.0)
    return sums / jnp.maximum(sizes, 1.0)


def return_sums(values, groups, count):
    return jnp.zeros(count).at[groups].add(values)


def use_nan_to_num(values, groups, count):
    return jnp.nan_to_num(return_nan_for_empty_group(values, groups, count))


def use_one_hot_matrix(values, groups, count):
    table = jax.nn.one_hot(groups, count)
    return values @ table / jnp.maximum(table.sum(axis=0), 1)


def one_by_one(values, groups, count):
    kept = [values[groups == group] for group in range(count)]
    return jnp.stack([part.mean() if len(part) else jnp.float32(0) for part in kept])


def return_nan_for_empty_group(values, groups, count):
    return return_sums(values, groups, count) / jnp.zeros(count).at[groups].add(1.0)


def write_twice(x, pairs):
    def swap(k, x):
        i, j = pairs[k]
        return x.at[i].set(x[j]).at[j].set(x[i])

    return lax.fori_loop(0, len(pairs), swap, x)


def read_both_first(x, pairs):
    def swap(k, x):
        i, j = pairs[k]
        at_i, at_j = x[i], x[j]
        return x.at[i].set(at_j).at[j].set(at_i)

    return lax.fori_loop(0, len(pairs), swap, x)


def permute_indices(x, pairs):
    places = lax.fori_loop(
        0, len(pairs), lambda k, p: p.at[pairs[k]].set(p[pairs[k][::-1]]), jnp.arange(len(x))
    )
    return x[places]


def overwrite_before_read(x, pairs):
    for i, j in pairs:
        x = x.at[i].set(x[j])
        x = x.at[j].set(x[i])
    return x


def unroll_loop(x, pairs):
    for pair in pairs:
        x = x.at[pair].set(x[pair[::-1]])
    return x


def set_all_pairs_at_once(x, pairs):
    return x.at[pairs].set(x[pairs[:, ::-1]])


def add_differences(x, pairs):
    def swap(k, x):
        i, j = pairs[k]
        return x.at[pairs[k]].add(jnp.array([x[j] - x[i], x[i] - x[j]]))

    return lax.fori_loop(0, len(pairs), swap, x)


def scan_over_pairs(x, pairs):
    return lax.scan(lambda x, p: (x.at[p].set(x[p[::-1]]), None), x, pairs)[0]


WRONG = {
    "immutable-arrays/1": [
        (assign_item, "That is a sharp bit: You cannot assign to an element of a JAX array"),
        (discard_result, "keep the result of .at[...].set"),
        (
            lambda memory, place, item: memory.at[place].set(item),
            "the result must be a pair (memory, next place)",
        ),
        (in_numpy, "under jit, in_numpy(memory=[["),
        (use_python_if, "Choose with `jnp.where`"),
        (
            lambda memory, place, item: (memory.at[place].set(item), place + 1),
            "the place after the last one is 0",
        ),
        (
            lambda memory, place, item: (jnp.asarray(memory).at[place].set(item), (place + 1) % 3),
            "this memory has 5 rows",
        ),
    ],
    "immutable-arrays/2": [
        (
            read_and_set,
            "two values from a group are written to the same index, so one of them is lost",
        ),
        (use_nan_to_num, "a NaN must appear in the mean of its own group and nowhere else"),
        (use_one_hot_matrix, "and nowhere else"),
        (one_by_one, "one_by_one(values=[1.0, 2.0, 6.0, 5.0]"),
        (
            return_sums,
            "your function returns the sums; divide each by the number of values in its group",
        ),
        (
            return_nan_for_empty_group,
            "the mean of group 1, which has no values, must be 0.0, got nan",
        ),
        (
            lambda values, groups, count: jnp.zeros(3).at[groups].add(values),
            "must return [1.0, 2.0]",
        ),
    ],
    "immutable-arrays/3": [
        (write_twice, "a second array, copied in every step")
        if jax.default_backend() == "cpu"
        else (overwrite_before_read, "appears in the array twice"),
        *(
            [
                (read_both_first, "a second array, copied in every step"),
                (permute_indices, "of scratch memory: room for a second array"),
            ]
            if jax.default_backend() == "cpu"
            else []
        ),
        (overwrite_before_read, "appears in the array twice"),
        (unroll_loop, "use lax.fori_loop"),
        (set_all_pairs_at_once, "apply one pair after the other"),
    ],
    "immutable-arrays/4": [
        (
            lambda reader: [jax.device_put(batch) for batch in reader],
            "the batches must contain 0, 1, and 2, got [-1.0, -1.0, -1.0]: they may share memory "
            "with the reader's array",
        ),
        (
            lambda reader: [jnp.from_dlpack(batch) for batch in reader],
            "the batches must contain 0, 1, and 2, got [-1.0, -1.0, -1.0]: they may share memory "
            "with the reader's array",
        ),
        (
            lambda reader: [jax.device_put(batch) for batch in list(reader)],
            "the batches must contain 0, 1, and 2, got [-1.0, -1.0, -1.0]: they may share memory "
            "with the reader's array",
        ),
        (
            lambda reader: [jnp.asarray(batch) for batch in reader],
            "they may share memory" if COPIES_AT_ONCE else "with a busy device, ",
        ),
        *([] if COPIES_AT_ONCE else [(copy_with_jax, "the copies were made only after")]),
        (lambda reader: list(map(jnp.array, list(reader))), "got [-1.0, -1.0, -1.0]"),
        (list, "the batches must be JAX arrays, got ndarray"),
        (
            lambda reader: jnp.array([batch.copy() for batch in reader]),
            "for three batches, your function must return a list of three, got a JAX array",
        ),
    ],
}
RIGHT = [
    *([("immutable-arrays/4", copy_with_jax)] if COPIES_AT_ONCE else []),
    ("immutable-arrays/1", use_where),
    (
        "immutable-arrays/2",
        lambda v, g, n: jnp.where(
            (size := jnp.bincount(g, length=n)) > 0,
            return_sums(v, g, n) / jnp.maximum(size, 1),
            0.0,
        ),
    ),
    ("immutable-arrays/4", lambda reader: [jnp.asarray(np.array(batch)) for batch in reader]),
    ("immutable-arrays/1", lambda m, p, item: (jnp.asarray(m).at[p].set(item), (p + 1) % len(m))),
    (
        "immutable-arrays/2",
        lambda v, g, n: (
            jax.ops.segment_sum(v, g, n)
            / jnp.maximum(jax.ops.segment_sum(jnp.ones_like(v), g, n), 1)
        ),
    ),
    ("immutable-arrays/3", scan_over_pairs),
    ("immutable-arrays/3", add_differences),
    (
        "immutable-arrays/4",
        lambda reader: [jnp.array(batch).block_until_ready() for batch in reader],
    ),
]
