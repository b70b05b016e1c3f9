"""Right and wrong answers to the exercises on data loading."""

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
    padded = no_mask(batch, size)
    return *padded, padded[0].reshape(size, -1).any(1)


def assume_pair(batch, size):
    images, labels = batch
    return pad(images, size), pad(labels, size), np.arange(size) < len(labels)


def return_mask_as_list(batch, size):
    return (*no_mask(batch, size), [i < len(batch[0]) for i in range(size)])


def return_count(batch, size):
    return (*no_mask(batch, size), len(batch[0]))


def pad_in_float64(batch, size):
    padded = [np.zeros((size, *a.shape[1:])) for a in batch]
    for zeros, a in zip(padded, batch, strict=True):
        zeros[: len(a)] = a
    return (*padded, np.arange(size) < len(batch[0]))


def pad_at_start(batch, size):
    padded = [np.pad(a, [(size - len(a), 0)] + [(0, 0)] * (a.ndim - 1)) for a in batch]
    return (*padded, np.arange(size) < len(batch[0]))


def return_list(batch, size):
    return [*no_mask(batch, size), np.arange(size) < len(batch[0])]


def return_float_mask(batch, size):
    return (*no_mask(batch, size), (np.arange(size) < len(batch[0])).astype(np.float32))


def mask_all_true(batch, size):
    return (*no_mask(batch, size), np.ones(size, bool))


def pad_only_short_batches(batch, size):
    if len(batch[0]) == size:
        return batch
    return (*no_mask(batch, size), np.arange(size) < len(batch[0]))


def resize_in_place(batch, size):
    rows = len(batch[0])
    for a in batch:
        a.resize((size, *a.shape[1:]), refcheck=False)
    return (*batch, np.arange(size) < rows)


def pad_by_concatenating(batch, size):
    missing = size - len(batch[0])
    padded = [np.concatenate([a, np.zeros((missing, *a.shape[1:]), a.dtype)]) for a in batch]
    return (*padded, np.array([True] * len(batch[0]) + [False] * missing))


def pad_by_repeating_rows(batch, size):
    rows = len(batch[0])
    padded = tuple(a[np.arange(size) % rows] for a in batch)
    return (*padded, np.arange(size) < rows)


def return_jax_arrays(batch, size):
    return tuple(jnp.asarray(a) for a in (*no_mask(batch, size), np.arange(size) < len(batch[0])))


def pad_into_zeros(batch, size):
    padded = [np.zeros((size, *a.shape[1:]), a.dtype) for a in batch]
    for zeros, a in zip(padded, batch, strict=True):
        zeros[: len(a)] = a
    return (*padded, np.arange(size) < len(batch[0]))


def prefetch_with(to_jax):
    def ahead(batches, size):
        batches, waiting = iter(batches), deque()
        for batch in islice(batches, size):
            waiting.append(to_jax(batch))
        while waiting:
            yield waiting.popleft()
            for batch in islice(batches, 1):
                waiting.append(to_jax(batch))

    return ahead


def prefetch_nothing(batches, size):
    for batch in batches:
        yield jax.device_put(batch.copy())


def prefetch_everything(batches, size):
    yield from [jax.device_put(batch.copy()) for batch in batches]


def return_batches_as_list(batches, size):
    return [jax.device_put(batch.copy()) for batch in batches]


def drop_last_batches(batches, size):
    batches = iter(batches)
    waiting = deque(jax.device_put(b.copy()) for b in islice(batches, size))
    for batch in batches:
        yield waiting.popleft()
        waiting.append(jax.device_put(batch.copy()))


def iterate_over_loader_twice(batches, size):
    """Call `islice` on the loader itself, so that each call starts over at the first batch."""
    waiting = deque(jax.device_put(b.copy()) for b in islice(batches, size))
    while waiting:
        yield waiting.popleft()
        waiting.extend(jax.device_put(b.copy()) for b in islice(batches, 1))


def call_next_on_loader(batches, size):
    waiting = deque()
    while True:
        while len(waiting) < size:
            batch = next(batches, None)
            if batch is None:
                yield from waiting
                return
            waiting.append(jax.device_put(batch.copy()))
        yield waiting.popleft()


def require_size_batches(batches, size):
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


def prefetch_with_list(batches, size):
    """Load each batch just before yielding the batch `size` positions earlier."""
    batches = iter(batches)
    waiting = [jnp.array(batch) for batch in islice(batches, size)]
    for batch in batches:
        yield waiting.pop(0)
        waiting.append(jnp.array(batch))
    yield from waiting


def prefetch_on_host(batches, size):
    batches = iter(batches)
    waiting = deque(batch.copy() for batch in islice(batches, size))
    while waiting:
        yield jax.device_put(waiting.popleft())
        waiting.extend(batch.copy() for batch in islice(batches, 1))


def repeat_last_batch_forever(batches, size):
    batches = iter(batches)
    waiting = deque(jax.device_put(b.copy()) for b in islice(batches, size))
    while True:
        yield waiting[0]
        for batch in islice(batches, 1):
            waiting.append(jax.device_put(batch.copy()))
        if len(waiting) > 1:
            waiting.popleft()


def prefetch_rest_at_once(batches, size):
    batches = iter(batches)
    yield from [jax.device_put(b.copy()) for b in islice(batches, size)]
    yield from [jax.device_put(b.copy()) for b in batches]


def refill_queue_before_yield(batches, size):
    batches, waiting = iter(batches), deque()
    while True:
        for batch in islice(batches, size - len(waiting)):
            waiting.append(jax.device_put(np.array(batch)))
        if not waiting:
            return
        yield waiting.popleft()


def epoch_order(seed, epoch, samples):
    return np.random.default_rng((seed, epoch)).permutation(samples)


def shuffle_per_process(process, processes, samples, seed, epoch):
    order = np.random.default_rng((seed, epoch, process)).permutation(samples)
    return order[: samples // processes]


def return_all_samples(process, processes, samples, seed, epoch):
    return epoch_order(seed, epoch, samples)


def distribute_remainder(process, processes, samples, seed, epoch):
    return epoch_order(seed, epoch, samples)[process::processes]


def ignore_epoch(process, processes, samples, seed, epoch):
    return epoch_order(seed, 0, samples)[: samples - samples % processes][process::processes]


def seed_plus_epoch(process, processes, samples, seed, epoch):
    order = np.random.default_rng(seed + epoch).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def unshuffled(process, processes, samples, seed, epoch):
    each = samples // processes
    return np.arange(process * each, process * each + each)


def shuffle_within_blocks(process, processes, samples, seed, epoch):
    each = samples // processes
    return process * each + np.random.default_rng((seed, epoch)).permutation(each)


def seed_times_1000_plus_epoch(process, processes, samples, seed, epoch):
    order = np.random.default_rng(1000 * seed + epoch).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def seed_times_31_plus_epoch(process, processes, samples, seed, epoch):
    order = np.random.default_rng(31 * seed + epoch).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def seed_plus_1000_times_epoch(process, processes, samples, seed, epoch):
    order = np.random.default_rng(seed + 1000 * epoch).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def seed_times_epoch(process, processes, samples, seed, epoch):
    order = np.random.default_rng((seed + 1) * (epoch + 1)).permutation(samples)
    return order[: samples - samples % processes][process::processes]


def use_unseeded_generator(process, processes, samples, seed, epoch):
    return np.random.default_rng().permutation(samples)[process : samples // processes + process]


def count_from_1(*args):
    return split_into_blocks(*args) + 1


def seed_global_random_module(process, processes, samples, seed, epoch):
    random.seed(f"{seed} {epoch}")
    order = random.sample(range(samples), samples)
    return np.array(order[: samples - samples % processes][process::processes])


def use_random_module(process, processes, samples, seed, epoch):
    order = random.Random(f"{seed} {epoch}").sample(range(samples), samples)
    return np.array(order)[: samples - samples % processes].reshape(processes, -1)[process]


def use_jax_random(process, processes, samples, seed, epoch):
    key = jax.random.fold_in(jax.random.key(seed), epoch)
    order = np.asarray(jax.random.permutation(key, samples))
    return order[: samples - samples % processes][process::processes]


def return_floats(*args):
    return split_into_blocks(*args).astype(float)


def seed_global_numpy_generator(process, processes, samples, seed, epoch):
    np.random.seed(1000 * seed + epoch)
    order = np.random.permutation(samples)
    return order[: samples - samples % processes][process::processes]


def split_into_blocks(process, processes, samples, seed, epoch):
    each = samples // processes
    return epoch_order(seed, epoch, samples)[process * each : process * each + each]


WRONG = {
    "data-loading/1": [
        (
            no_mask,
            "for a batch of 3 rows and size 3, your function must return a tuple of images, "
            "labels, and a mask, got 2 arrays",
        ),
        (mask_from_labels, "A label of 0 or a black image can be real"),
        (mask_from_images, "A label of 0 or a black image can be real"),
        (assume_pair, "not enough values to unpack"),
        (
            return_mask_as_list,
            "for a batch of 3 rows and size 3, the mask must be a NumPy array of 3 booleans, got "
            "[True, True, True]",
        ),
        (
            return_count,
            "for a batch of 3 rows and size 3, the mask must be a NumPy array of 3 booleans, got 3",
        ),
        (pad_in_float64, "for a batch of 3 rows and size 3, the images must be uint8, got float64"),
        (
            pad_by_repeating_rows,
            "for a batch of 2 rows and size 3, the images that you add must be zeros",
        ),
        (
            return_jax_arrays,
            "for a batch of 3 rows and size 3, the images must be a NumPy array, got a JAX array",
        ),
        (
            pad_at_start,
            "for a batch of 2 rows and size 3, the images must start with the ones in the batch",
        ),
        (
            return_list,
            "for a batch of 3 rows and size 3, your function must return a tuple of images, "
            "labels, and a mask, got a list",
        ),
        (
            return_float_mask,
            "for a batch of 3 rows and size 3, the mask must be a NumPy array of 3 booleans, got "
            "float32 (3,)",
        ),
        (mask_all_true, "The rows that you add are padding, so mark them as False"),
        (
            pad_only_short_batches,
            "for a batch of 3 rows and size 3, your function must return a tuple of images, "
            "labels, and a mask, got 2 arrays",
        ),
        (resize_in_place, "your function modifies its input batch in place"),
    ],
    "data-loading/2": [
        (prefetch_with(jax.device_put), "from a loader that refills one buffer"),
        (prefetch_with(np.copy), "your function must yield JAX arrays, got a NumPy array"),
        (
            prefetch_nothing,
            "with 5 batches and size=2, your function must have read 2 batches when it yields "
            "the first one, got 1",
        ),
        (
            prefetch_everything,
            "with 5 batches and size=2, your function must have read 2 batches when it yields "
            "the first one, got 5",
        ),
        (return_batches_as_list, "your function must yield the batches one by one, got a list"),
        (
            prefetch_on_host,
            "with 5 batches and size=2, 2 of them must be on the device when your function "
            "yields the first one, got 1",
        ),
        (iterate_over_loader_twice, "call iter(batches) once"),
        (call_next_on_loader, "'_Loader' object is not an iterator"),
        (require_size_batches, "raises RuntimeError"),
        (
            last_in_first_out,
            "with 5 batches and size=2, your function must yield the batches [0, 1, 2, 3, 4], "
            "got [1, 2, 3, 4, 0]",
        ),
        (
            repeat_last_batch_forever,
            "with 5 batches and size=2, your generator yields more than 5",
        ),
        (
            prefetch_rest_at_once,
            "with 9 batches and size=2, your function has read 9 batches when it yields number "
            "3, but at most 2 may be waiting",
        ),
        (
            drop_last_batches,
            "with 5 batches and size=2, your function must yield the batches [0, 1, 2, 3, 4], "
            "got [0, 1, 2]",
        ),
    ],
    "data-loading/3": [
        (shuffle_per_process, "two processes read the same sample"),
        (
            return_all_samples,
            "for 40 samples and 2 processes, each process must read 20 samples, got [40, 40]",
        ),
        (
            distribute_remainder,
            "for 43 samples and 4 processes, each process must read 10 samples, got [11, 11, 11, "
            "10]",
        ),
        (ignore_epoch, "epoch 1 has the same order as epoch 0"),
        (seed_plus_epoch, "seed 0 gives the same order in epoch 1 as seed 1 in epoch 0"),
        (
            seed_times_1000_plus_epoch,
            "seed 0 gives the same order in epoch 1000 as seed 1 in epoch 0",
        ),
        (seed_times_31_plus_epoch, "seed 0 gives the same order in epoch 31 as seed 1 in epoch 0"),
        (
            seed_plus_1000_times_epoch,
            "seed 1000 gives the same order in epoch 0 as seed 0 in epoch 1",
        ),
        (seed_times_epoch, "seed 0 gives the same order in epoch 1 as seed 1 in epoch 0"),
        (use_unseeded_generator, "read the same sample"),
        (count_from_1, "for 40 samples, all indices must be from 0 to 39"),
        (seed_global_random_module, "a global random generator"),
        (shuffle_within_blocks, "the same samples in every epoch"),
        (return_floats, "the indices must be integers, got float64"),
        (unshuffled, "the samples are not shuffled"),
        (seed_global_numpy_generator, "a global random generator"),
        (
            lambda *a: list(split_into_blocks(*a)),
            "the result must be a NumPy array with one axis, got a list",
        ),
    ],
}
RIGHT = [
    ("data-loading/1", pad_into_zeros),
    ("data-loading/1", pad_by_concatenating),
    ("data-loading/2", prefetch_with_list),
    ("data-loading/3", use_random_module),
    ("data-loading/3", use_jax_random),
    ("data-loading/2", refill_queue_before_yield),
    ("data-loading/3", split_into_blocks),
]
