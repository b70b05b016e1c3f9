"""Answers to the exercises of *Data loading*: foreseen mistakes, and other right ones."""

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
        (no_mask, "images, labels and a mask, was 2 things"),
        (mask_from_labels, "a label of 0 is real, too"),
        (mask_from_images, "so is a black picture"),
        (a_pair_only, "not enough values to unpack"),
        (a_list_of_bools, "the mask should be 3 booleans of NumPy"),
        (a_count, "the mask should be 3 booleans of NumPy"),
        (into_zeros, "should be NumPy's uint8"),
        (repeated, "and zeros after them"),
        (in_jax, "should be NumPy's uint8"),
    ],
    "data-loading/2": [
        (queue_of(jax.device_put), "one buffer is refilled"),
        (queue_of(np.copy), "should be a JAX array"),
        (nothing_ahead, "it had read 1 batches when it handed out the first"),
        (all_ahead, "it had read 5 batches when it handed out the first"),
        (as_list, "it should be a generator"),
        (ahead_on_the_host, "there were 1 on the device"),
        (never_ends, "it does not end after 5"),
        (then_all, "no more than 2 should wait"),
        (end_lost, "it hands out the batches [0, 1, 2], should be"),
    ],
    "data-loading/3": [
        (own_order, "a sample is read by two processes"),
        (everything, "each should read 20"),
        (rest_given_out, "each should read 10"),
        (one_epoch, "epoch 1 has the order of epoch 0"),
        (added_up, "do not add them up"),
        (added_up_apart, "do not add them up"),
        (shuffled_within, "the same samples in every epoch"),
        (as_floats, "should be integers"),
        (unshuffled, "the samples are not shuffled"),
        (global_generator, "NumPy's global generator"),
        (lambda *a: list(in_blocks(*a)), "it should return a NumPy array"),
    ],
}
RIGHT = [
    ("data-loading/1", of_zeros),
    ("data-loading/2", filled_before),
    ("data-loading/3", in_blocks),
]
