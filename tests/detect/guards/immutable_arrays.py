"""Programs with problems that the guards in chapter 03-immutable-arrays catch."""

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.arange(10.0)


def discards(value):
    value.at[0].set(1.0)
    return value


def assigns(value):
    value[0] = 1.0
    return value


def deletes(value):
    del value[0]


def changes(value):
    value -= value.mean()
    return value


def refills(buffer):
    first = jax.device_put(buffer)
    buffer[:] = 1
    return first


def uses_what_it_gave_away(value):
    new = jax.jit(lambda v: v + 1, donate_argnums=0)(value)
    return new + value


def donates_its_backup(value):
    backup = value[:]
    return jax.jit(lambda v: v + 1, donate_argnums=0)(value) + backup


donates_in_vain = jax.jit(lambda v: v.astype(jnp.bfloat16), donate_argnums=0)
pixels = jnp.zeros(3, jnp.uint8)
keys = jnp.array([0, 1, 1])


def counts(value, indices):
    return value.at[indices].set(value[indices] + 1)


def promises(value, indices):
    return value.at[indices].add(1, unique_indices=True)


EXAMPLES = [
    ("item-assignment", "inplace", assigns, (x,), {}),
    ("update-discarded", "inplace", discards, (x,), {}),
    ("augmented-assignment-rebinds", "inplace", changes, (np.ones(3),), {}),
    ("host-buffer-shared", "inplace", refills, (np.zeros(16, np.float32),), {}),
    ("update-copies-all", "donation", donates_in_vain, (jnp.ones(3),), {}),
    ("duplicate-indices", "duplicate_indices", counts, (x, keys), {}),
    ("false-unique-indices", "duplicate_indices", promises, (x, keys), {}),
    ("float-into-int-update", "cast", lambda a: a.at[0].set(1.5), (jnp.arange(3),), {}),
    ("element-by-element", "transfer", lambda a: sum(float(a[i]) for i in range(3)), (x,), {}),
    ("delete-item", "inplace", deletes, (x,), {}),
    ("use-after-donation", "donation", uses_what_it_gave_away, (jnp.ones(3),), {}),
    ("full-slice-is-no-copy", "donation", donates_its_backup, (jnp.ones(3),), {}),
    ("integer-wraps-in-update", "cast", lambda a: a.at[0].set(300), (pixels,), {}),
]
