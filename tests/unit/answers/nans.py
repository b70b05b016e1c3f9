"""Answers to the exercises of *NaNs and gradients*: foreseen mistakes, and other right ones."""

import jax
import jax.numpy as jnp


def python_if(height):
    return jnp.sqrt(2 * 9.81 * height) if height > 0 else 0.0


def where_only(height):
    return jnp.where(height > 0, jnp.sqrt(2 * 9.81 * height), 0.0)


def one_by_one(height):
    return jax.vmap(lambda h: jax.lax.cond(h > 0, lambda h: jnp.sqrt(19.62 * h), lambda h: 0.0, h))(
        height
    )


def by_name(tree):
    return [name for name, leaf in tree.items() if not jnp.isfinite(leaf).all()]


def leaves(tree, bad):
    found = jax.tree_util.tree_flatten_with_path(tree)[0]
    return [jax.tree_util.keystr(path) for path, leaf in found if bad(leaf)]


WRONG = {
    "nans/1": [
        (where_only, "the value is right and the gradient is NaN"),
        (lambda h: jnp.nan_to_num(jnp.sqrt(2 * 9.81 * h)), "the gradient is NaN"),
        (lambda h: jnp.sqrt(2 * 9.81 * jnp.abs(h)), "got [4.42945"),
        (python_if, "raises ValueError"),
        (lambda h: jax.lax.stop_gradient(where_only(h)), "the gradient is 0, should be"),
        (lambda h: jnp.sqrt(2 * 9.81 * jnp.maximum(h, 0.0) + 1e-6), "got [0.001"),
    ],
    "nans/2": [
        (lambda x, keep: (x * keep.astype(float)).sum() / keep.sum(), "the NaN is masked"),
        (lambda x, keep: (x * keep).sum() / keep.sum(), "nothing is kept"),
        (lambda x, keep: jnp.where(keep, x, 0).sum() / keep.sum(), "nothing is kept"),
        (lambda x, keep: x[keep].mean(), "nothing is kept"),
        (
            lambda x, keep: (jnp.nan_to_num(x) * keep).sum() / jnp.maximum(keep.sum(), 1),
            "a NaN that is kept must show",
        ),
        (
            lambda x, keep: (
                jnp.where(keep & ~jnp.isinf(x), x, 0).sum() / jnp.maximum(keep.sum(), 1)
            ),
            "an infinity that is kept must show",
        ),
        (lambda x, keep: jnp.where(keep, x, 0).mean(), "must return 3.5"),
    ],
    "nans/3": [
        (lambda tree: leaves(tree, lambda x: jnp.isnan(x).any()), "inf counts"),
        (lambda tree: leaves(tree, lambda x: ~jnp.isfinite(x.sum())), "their sum is not"),
        (by_name, "must return [\"['w']\"]"),
        (lambda tree: bool(leaves(tree, lambda x: ~jnp.isfinite(x).all())), "must return []"),
    ],
}
RIGHT = [
    ("nans/1", one_by_one),
    ("nans/2", lambda x, keep: jnp.sum(x, where=keep) / jnp.maximum(jnp.sum(keep), 1)),
]
