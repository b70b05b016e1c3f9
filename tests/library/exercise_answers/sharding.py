"""Right and wrong answers to the exercises on devices and sharding."""

import jax.numpy as jnp
import numpy as np
from jax import lax


def pad_rows_always(rows, devices):
    missing = devices - len(rows) % devices
    padded = jnp.pad(rows, [(0, missing)] + [(0, 0)] * (rows.ndim - 1))
    return padded, jnp.arange(len(padded)) < len(rows)


def pad_rows_without_mask(rows, devices):
    return jnp.pad(rows, [(0, -len(rows) % devices)] + [(0, 0)] * (rows.ndim - 1))


def pad_rows_by_dropping(rows, devices):
    kept = rows[: len(rows) // devices * devices]
    return kept, jnp.ones(len(kept), bool)


def pad_rows_unchanged(rows, devices):
    return rows, jnp.ones(len(rows), bool)


def pad_rows_with_the_last_one(rows, devices):
    missing = -len(rows) % devices
    padded = jnp.concatenate([rows, jnp.repeat(rows[-1:], missing, axis=0)])
    return padded, jnp.arange(len(padded)) < len(rows)


def pad_rows_in_every_axis(rows, devices):
    padded = jnp.pad(rows, (0, -len(rows) % devices))
    return padded, jnp.arange(len(padded)) < len(rows)


def pad_rows_in_two_axes(rows, devices):
    missing = -len(rows) % devices
    padded = jnp.pad(rows, [(0, missing), (0, 0)])
    return padded, jnp.arange(len(padded)) < len(rows)


def pad_rows_in_at_most_two_axes(rows, devices):
    missing = -len(rows) % devices
    padded = jnp.pad(rows, [(0, missing), (0, 0)][: rows.ndim])
    return padded, jnp.arange(len(padded)) < len(rows)


def pad_rows_with_float_mask(rows, devices):
    padded, mask = pad_rows_by_concatenating(rows, devices)
    return padded, mask.astype(float)


def pad_rows_with_float_zeros(rows, devices):
    missing = -len(rows) % devices
    padded = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return padded, jnp.arange(len(padded)) < len(rows)


def pad_rows_in_numpy(rows, devices):
    missing = -len(rows) % devices
    padded = np.pad(np.asarray(rows), [(0, missing)] + [(0, 0)] * (rows.ndim - 1))
    return padded, np.arange(len(padded)) < len(rows)


def pad_rows_by_concatenating(rows, devices):
    missing = -len(rows) % devices
    padded = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]), rows.dtype)])
    return padded, jnp.arange(len(padded)) < len(rows)


def pad_rows_by_ceiling(rows, devices):
    """Pad with `.at`, and return a list, which the check accepts as well."""
    size = (len(rows) + devices - 1) // devices * devices
    padded = jnp.zeros((size, *rows.shape[1:]), rows.dtype).at[: len(rows)].set(rows)
    return [padded, jnp.concatenate([jnp.ones(len(rows), bool), jnp.zeros(size - len(rows), bool)])]


def mean_on_this_device(values, mask):
    return jnp.sum(jnp.where(mask, values, 0)) / jnp.maximum(jnp.sum(mask), 1)


def mean_with_local_count(values, mask):
    total = lax.psum(jnp.sum(jnp.where(mask, values, 0)), "data")
    return total / jnp.maximum(jnp.sum(mask), 1)


def mean_of_means(values, mask):
    return lax.pmean(mean_on_this_device(values, mask), "data")


def mean_of_means_with_nan(values, mask):
    return lax.pmean(jnp.sum(jnp.where(mask, values, 0)) / jnp.sum(mask), "data")


def mean_of_nonempty_means(values, mask):
    is_used = mask.any()
    used = lax.psum(is_used.astype(float), "data")
    own = jnp.where(is_used, mean_on_this_device(values, mask), 0.0)
    return lax.psum(own, "data") / jnp.maximum(used, 1)


def mean_without_mask(values, mask):
    return lax.pmean(values.mean(), "data")


def mean_over_all_rows(values, mask):
    return lax.pmean(jnp.where(mask, values, 0).mean(), "data")


def mean_by_multiplying(values, mask):
    total = lax.psum(jnp.sum(values * mask.astype(float)), "data")
    return total / jnp.maximum(lax.psum(jnp.sum(mask), "data"), 1)


def mean_of_nothing(values, mask):
    total = lax.psum(jnp.sum(jnp.where(mask, values, 0)), "data")
    return total / lax.psum(jnp.sum(mask), "data")


def mean_by_indexing(values, mask):
    return lax.pmean(values[mask].mean(), "data")


def mean_over_other_axis(values, mask):
    total = lax.psum(jnp.sum(jnp.where(mask, values, 0)), "batch")
    return total / jnp.maximum(lax.psum(jnp.sum(mask), "batch"), 1)


def mean_by_position(values, mask):
    total = lax.psum(jnp.where(mask, values, 0), "data")
    return total / jnp.maximum(lax.psum(mask.astype(float), "data"), 1)


def mean_of_gathered_values(values, mask):
    every, real = lax.all_gather((values, mask), "data")
    return jnp.where(real, every, 0).sum() / jnp.maximum(real.sum(), 1)


def mean_from_two_pmeans(values, mask):
    total = lax.pmean(jnp.sum(values, where=mask), "data")
    count = lax.pmean(jnp.sum(mask, dtype=jnp.float32), "data")
    return jnp.where(count > 0, total / jnp.where(count > 0, count, 1), 0.0)


def mean_from_one_psum(values, mask):
    pair = jnp.stack([jnp.where(mask, values, 0).sum(), mask.sum().astype(values.dtype)])
    total, count = lax.psum(pair, "data")
    return total / jnp.maximum(count, 1)


WRONG = {
    "sharding/1": [
        (pad_rows_always, "16 rows already divide evenly among 8 devices, so add none"),
        (pad_rows_without_mask, "must return the padded rows and the mask"),
        (pad_rows_by_dropping, "must return"),
        (pad_rows_unchanged, "must be a multiple of 8, got 6"),
        (pad_rows_with_the_last_one, "must return"),
        (pad_rows_in_every_axis, "must return"),
        (pad_rows_in_two_axes, "may have any number of axes, and here it has 1 axis"),
        (pad_rows_in_at_most_two_axes, "may have any number of axes, and here it has 4 axes"),
        (pad_rows_with_float_mask, "one boolean for each of the 8 rows"),
        (pad_rows_with_float_zeros, "padding must keep the dtype of the rows"),
        (pad_rows_in_numpy, "under jit"),
    ],
    "sharding/2": [
        (mean_on_this_device, "Each device sees only its own part"),
        (mean_with_local_count, "must be 36.56, got 109.7: the count covers only one device"),
        (mean_of_means, "gives every device the same weight"),
        (mean_of_means_with_nan, "a device without real values computes 0 / 0"),
        (mean_of_nonempty_means, "gives every device the same weight"),
        (mean_without_mask, "the values that are masked out must not count"),
        (mean_over_all_rows, "must not count in the denominator"),
        (mean_by_multiplying, "NaN times zero is NaN"),
        (mean_of_nothing, "if no value is real on any device, the mean must be 0"),
        (mean_by_indexing, "NonConcreteBooleanIndexError"),
        (mean_over_other_axis, "unbound axis name"),
        (mean_by_position, "each device must return a single number"),
        (mean_of_gathered_values, "in shard_map on one device"),
    ],
}
RIGHT = [
    ("sharding/1", pad_rows_by_concatenating),
    ("sharding/1", pad_rows_by_ceiling),
    ("sharding/2", mean_from_two_pmeans),
    ("sharding/2", mean_from_one_psum),
]
