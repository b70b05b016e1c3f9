"""Programs with problems that the guards in chapter 04-out-of-bounds catch."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

x, table, far = jnp.arange(10.0), jnp.ones((5, 3)), jnp.int32(12)


def labels_outside(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


# In the list, `mode=` would belong to the statement of all other examples, too.
def promised(a, i):
    return a.at[i].get(mode="promise_in_bounds")


EXAMPLES = [
    ("out-of-bounds-read", "out_of_bounds", lambda a, i: a[i], (x, far), {}),
    ("take-fills", "out_of_bounds", lambda a, i: jnp.take(a, i), (x, far), {}),
    (
        "promise-in-bounds",
        "out_of_bounds",
        promised,
        (x, far),
        {},
    ),
    ("out-of-bounds-write", "out_of_bounds", lambda a, i: a.at[i].set(1.0), (x, far), {}),
    (
        "dynamic-slice-shifts",
        "out_of_bounds",
        lambda a, i: lax.dynamic_slice(a, (i,), (3,)),
        (x, jnp.int32(8)),
        {},
    ),
    (
        "gradient-of-a-missed-read",
        "out_of_bounds",
        jax.grad(lambda a, i: jnp.take(a, i)),
        (x, far),
        {},
    ),
    (
        "label-out-of-range",
        "out_of_bounds",
        labels_outside,
        (table, jnp.array([0, 1, 2, 0, -100])),
        {},
    ),
    (
        "embedding-out-of-range",
        "out_of_bounds",
        lambda t, i: jnp.take(t, i, axis=0),
        (table, far),
        {},
    ),
    (
        "segment-out-of-range",
        "out_of_bounds",
        lambda a, i: jax.ops.segment_sum(a, i, num_segments=3),
        (x, jnp.arange(10)),
        {},
    ),
    ("list-traced-index", "control_flow", lambda i: [1.0, 2.0][i], (jnp.int32(0),), {}),
    ("dict-traced-key", "control_flow", lambda i: {1: 2.0}[i], (jnp.int32(1),), {}),
    (
        "searchsorted-past-end",
        "out_of_bounds",
        lambda a, v: a[jnp.searchsorted(a, v)],
        (x, 99.0),
        {},
    ),
    (
        "unsigned-index-below-zero",
        "out_of_bounds",
        lambda a, i: a[i - np.uint8(1)],
        (x, jnp.uint8(0)),
        {},
    ),
]
