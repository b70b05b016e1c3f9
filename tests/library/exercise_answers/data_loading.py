"""Answers to the exercises of *Data loading*: foreseen mistakes, and other right ones."""

import random
from collections import deque
from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np


def pad(array, size):
    return np.pad(array, [(0, size - len(array))] + [(0, 0)] * (array.ndim - 1))


def no_mask(batch, size):
    return tuple(pad(a, size) for a in batch)


def mask_from_labels(batch, size):
    images, labels = no_mask(batch, size)
    return images, labels, labels != 0


def mask_from_images(batch, size):
    made = no_mask(batch, size)
    return *made, made[0].reshape(size, -1).any(1)


def a_pair_only(batch, size):
    images, labels = batch
    return pad(images, size), pad(labels, size), np.arange(size) < len(labels)


def a_list_of_bools(batch, size):
    return (*no_mask(batch, size), [i < len(batch[0]) for i in range(size)])


def a_count(batch, size):
    return (*no_mask(batch, size), len(batch[0]))


def into_zeros(batch, size):
    made = [np.zeros((size, *a.shape[1:])) for a in batch]
    for whole, a in zip(made, batch, strict=True):
        whole[: len(a)] = a
    return (*made, np.arange(size) < len(batch[0]))


def at_the_start(batch, size):
    made = [np.pad(a, [(size - len(a), 0)] + [(0, 0)] * (a.ndim - 1)) for a in batch]
    return (*made, np.arange(size) < len(batch[0]))


def with_a_list(batch, size):
    return [*no_mask(batch, size), np.arange(size) < len(batch[0])]


def with_ones(batch, size):
    return (*no_mask(batch, size), (np.arange(size) < len(batch[0])).astype(np.float32))


def all_true(batch, size):
    return (*no_mask(batch, size), np.ones(size, bool))


def short_ones_only(batch, size):
    if len(batch[0]) == size:
        return batch
    return (*no_mask(batch, size), np.arange(size) < len(batch[0]))


def resized_in_place(batch, size):
    rows = len(batch[0])
    for a in batch:
        a.resize((size, *a.shape[1:]), refcheck=False)
    return (*batch, np.arange(size) < rows)


def by_concatenating(batch, size):
    missing = size - len(batch[0])
    made = [np.concatenate([a, np.zeros((missing, *a.shape[1:]), a.dtype)]) for a in batch]
    return (*made, np.array([True] * len(batch[0]) + [False] * missing))


def repeated(batch, size):
    rows = len(batch[0])
    made = tuple(a[np.arange(size) % rows] for a in batch)
    return (*made, np.arange(size) < rows)


def in_jax(batch, size):
    return tuple(jnp.asarray(a) for a in (*no_mask(batch, size), np.arange(size) < len(batch[0])))


def of_zeros(batch, size):
    made = [np.zeros((size, *a.shape[1:]), a.dtype) for a in batch]
    for whole, a in zip(made, batch, strict=True):
        whole[: len(a)] = a
    return (*made, np.arange(size) < len(batch[0]))


def queue_of(to_jax):
    def ahead(batches, size):
        batches, waiting = iter(batches), deque()
        for batch in islice(batches, size):
            waiting.append(to_jax(batch))
        while waiting:
            yield waiting.popleft()
            for batch in islice(batches, 1):
                waiting.append(to_jax(batch))

    return ahead


def nothing_ahead(batches, size):
    for batch in batches:
        yield jax.device_put(batch.copy())


def all_ahead(batches, size):
    yield from [jax.device_put(batch.copy()) for batch in batches]


def as_list(batches, size):
    return [jax.device_put(batch.copy()) for batch in batches]


def end_lost(batches, size):
    batches = iter(batches)
    waiting = deque(jax.device_put(b.copy()) for b in islice(batches, size))
    for batch in batches:
        yield waiting.popleft()
        waiting.append(jax.device_put(batch.copy()))


def restarted(batches, size):
    """Read from the loader itself, not from an iterator of it."""
    waiting = deque(jax.device_put(b.copy()) for b in islice(batches, size))
    while waiting:
        yield waiting.popleft()
        waiting.extend(jax.device_put(b.copy()) for b in islice(batches, 1))


def taken_by_next(batches, size):
    waiting = deque()
    while True:
        while len(waiting) < size:
            batch = next(batches, None)
            if batch is None:
                yield from waiting
                return
            waiting.append(jax.device_put(batch.copy()))
        yield waiting.popleft()


def never_fewer(batches, size):
    batches = iter(batches)
    waiting = deque(jax.device_put(next(batches).copy()) for _ in range(size))
    for batch in batches:
        yield waiting.popleft()
        waiting.append(jax.device_put(batch.copy()))
    yield from waiting


def last_in_first_out(batches, size):
    batches = iter(batches)
    waiting = [jax.device_put(b.copy()) for b in islice(batches, size)]
    while waiting:
        yield waiting.pop()
        waiting.extend(jax.device_put(b.copy()) for b in islice(batches, 1))


def by_zipping(batches, size):
    """Each batch is read just before the one `size` places ahead of it is handed out."""
    batches = iter(batches)
    waiting = [jnp.array(batch) for batch in islice(batches, size)]
    for batch in batches:
        yield waiting.pop(0)
        waiting.append(jnp.array(batch))
    yield from waiting


def ahead_on_the_host(batches, size):
    batches = iter(batches)
    waiting = deque(batch.copy() for batch in islice(batches, size))
    while waiting:
        yield jax.device_put(waiting.popleft())
        waiting.extend(batch.copy() for batch in islice(batches, 1))


def never_ends(batches, size):
    batches = iter(batches)
    waiting = deque(jax.device_put(b.copy()) for b in islice(batches, size))
    while True:
        yield waiting[0]
        for batch in islice(batches, 1):
            waiting.append(jax.device_put(batch.copy()))
        if len(waiting) > 1:
            waiting.popleft()


def then_all(batches, size):
    batches = iter(batches)
    yield from [jax.device_put(b.copy()) for b in islice(batches, size)]
    yield from [jax.device_put(b.copy()) for b in batches]


def filled_before(batches, size):
    batches, waiting = iter(batches), deque()
    while True:
        for batch in islice(batches, size - len(waiting)):
            waiting.append(jax.device_put(np.array(batch)))
        if not waiting:
            return
        yield waiting.popleft()


def order_of(seed, epoch, samples):
    return np.random.default_rng((seed, epoch)).permutation(samples)


def own_order(process, processes, samples, seed, epoch):
    order = np.random.default_rng((seed, epoch, process)).permutation(samples)
    return order[: samples // processes]


def everything(process, processes, samples, seed, epoch):
    return order_of(seed, epoch, samples)


def rest_given_out(process, processes, samples, seed, epoch):
    return order_of(seed, epoch, samples)[process::processes]


def one_epoch(process, processes, samples, seed, epoch):
    return order_of(seed, 0, samples)[: samples - samples % processes][process::processes]


def added_up(process, processes, samples, seed, epoch):
    order = np.random.default_rng(seed + epoch).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def unshuffled(process, processes, samples, seed, epoch):
    each = samples // processes
    return np.arange(process * each, process * each + each)


def shuffled_within(process, processes, samples, seed, epoch):
    each = samples // processes
    return process * each + np.random.default_rng((seed, epoch)).permutation(each)


def added_up_apart(process, processes, samples, seed, epoch):
    order = np.random.default_rng(1000 * seed + epoch).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def times_a_prime(process, processes, samples, seed, epoch):
    order = np.random.default_rng(31 * seed + epoch).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def epochs_apart(process, processes, samples, seed, epoch):
    order = np.random.default_rng(seed + 1000 * epoch).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def times_each_other(process, processes, samples, seed, epoch):
    order = np.random.default_rng((seed + 1) * (epoch + 1)).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def from_the_clock(process, processes, samples, seed, epoch):
    return np.random.default_rng().permutation(samples)[process : samples // processes + process]


def counted_from_one(*given):
    return in_blocks(*given) + 1


def by_the_standard_library(process, processes, samples, seed, epoch):
    random.seed(f"{seed} {epoch}")
    order = random.sample(range(samples), samples)
    return np.array(order[: samples - samples % processes][process::processes])


def own_random(process, processes, samples, seed, epoch):
    order = random.Random(f"{seed} {epoch}").sample(range(samples), samples)
    return np.array(order)[: samples - samples % processes].reshape(processes, -1)[process]


def by_jax(process, processes, samples, seed, epoch):
    key = jax.random.fold_in(jax.random.key(seed), epoch)
    order = np.asarray(jax.random.permutation(key, samples))
    return order[: samples - samples % processes][process::processes]


def as_floats(*given):
    return in_blocks(*given).astype(float)


def global_generator(process, processes, samples, seed, epoch):
    np.random.seed(1000 * seed + epoch)
    order = np.random.permutation(samples)
    return order[: samples - samples % processes][process::processes]


def in_blocks(process, processes, samples, seed, epoch):
    each = samples // processes
    return order_of(seed, epoch, samples)[process * each : process * each + each]


WRONG = {
    "data-loading/1": [
        (
            no_mask,
            "for a batch of 3 rows and size 3, your function must return a tuple of images, "
            "labels, and a mask, got 2 arrays",
        ),
        (mask_from_labels, "a label of 0 and a black image can be real"),
        (mask_from_images, "a label of 0 and a black image can be real"),
        (a_pair_only, "not enough values to unpack"),
        (
            a_list_of_bools,
            "for a batch of 3 rows and size 3, the mask must be a NumPy array of 3 booleans, got "
            "[True, True, True]",
        ),
        (
            a_count,
            "for a batch of 3 rows and size 3, the mask must be a NumPy array of 3 booleans, got 3",
        ),
        (into_zeros, "for a batch of 3 rows and size 3, the images must be uint8, got float64"),
        (repeated, "for a batch of 2 rows and size 3, the added images must be zeros"),
        (
            in_jax,
            "for a batch of 3 rows and size 3, the images must be a NumPy array, got a JAX array",
        ),
        (
            at_the_start,
            "for a batch of 2 rows and size 3, the images must start with those of the batch",
        ),
        (
            with_a_list,
            "for a batch of 3 rows and size 3, your function must return a tuple of images, "
            "labels, and a mask, got a list",
        ),
        (
            with_ones,
            "for a batch of 3 rows and size 3, the mask must be a NumPy array of 3 booleans, got "
            "float32 (3,)",
        ),
        (all_true, "The rows that you add are not real"),
        (
            short_ones_only,
            "for a batch of 3 rows and size 3, your function must return a tuple of images, "
            "labels, and a mask, got 2 arrays",
        ),
        (resized_in_place, "your function modifies its input batch in place"),
    ],
    "data-loading/2": [
        (queue_of(jax.device_put), "from a loader that refills one buffer"),
        (queue_of(np.copy), "your function must yield JAX arrays, got a NumPy array"),
        (
            nothing_ahead,
            "with 5 batches and size=2, your function must have read 2 when it yields the first, "
            "got 1",
        ),
        (
            all_ahead,
            "with 5 batches and size=2, your function must have read 2 when it yields the first, "
            "got 5",
        ),
        (as_list, "your function must yield each batch, got a list"),
        (
            ahead_on_the_host,
            "with 5 batches and size=2, 2 of them must be on the device when your function "
            "yields the first, got 1",
        ),
        (restarted, "call iter(batches) once"),
        (taken_by_next, "'_Loader' object is not an iterator"),
        (never_fewer, "raises RuntimeError"),
        (
            last_in_first_out,
            "with 5 batches and size=2, your function must yield the batches [0, 1, 2, 3, 4], "
            "got [1, 2, 3, 4, 0]",
        ),
        (never_ends, "with 5 batches and size=2, your generator does not end after 5"),
        (
            then_all,
            "with 9 batches and size=2, your function has read 9 when it yields number 3, but at "
            "most 2 may wait",
        ),
        (
            end_lost,
            "with 5 batches and size=2, your function must yield the batches [0, 1, 2, 3, 4], "
            "got [0, 1, 2]",
        ),
    ],
    "data-loading/3": [
        (own_order, "two processes read the same sample"),
        (
            everything,
            "for 40 samples and 2 processes, each process must read 20 samples, got [40, 40]",
        ),
        (
            rest_given_out,
            "for 43 samples and 4 processes, each process must read 10 samples, got [11, 11, 11, "
            "10]",
        ),
        (one_epoch, "epoch 1 has the same order as epoch 0"),
        (added_up, "seed 0 gives the same order in epoch 1 as seed 1 in epoch 0"),
        (added_up_apart, "seed 0 gives the same order in epoch 1000 as seed 1 in epoch 0"),
        (times_a_prime, "seed 0 gives the same order in epoch 31 as seed 1 in epoch 0"),
        (epochs_apart, "seed 1000 gives the same order in epoch 0 as seed 0 in epoch 1"),
        (times_each_other, "seed 0 gives the same order in epoch 1 as seed 1 in epoch 0"),
        (from_the_clock, "read the same sample"),
        (counted_from_one, "for 40 samples, all numbers must be from 0 to 39"),
        (by_the_standard_library, "a global random generator"),
        (shuffled_within, "the same samples in every epoch"),
        (as_floats, "the numbers must be integers, got float64"),
        (unshuffled, "the samples are not shuffled"),
        (global_generator, "a global random generator"),
        (
            lambda *a: list(in_blocks(*a)),
            "the result must be a NumPy array with one axis, got a list",
        ),
    ],
}
RIGHT = [
    ("data-loading/1", of_zeros),
    ("data-loading/1", by_concatenating),
    ("data-loading/2", by_zipping),
    ("data-loading/3", own_random),
    ("data-loading/3", by_jax),
    ("data-loading/2", filled_before),
    ("data-loading/3", in_blocks),
]
