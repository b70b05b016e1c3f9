"""Right and wrong answers to the exercises on NaNs and gradients."""

import jax
import jax.numpy as jnp
import numpy as np


def python_if(height):
    return jnp.sqrt(2 * 9.81 * height) if height > 0 else 0.0


def safe_at_zero(height):
    safe = jnp.where(height > 0, height, 0.0)
    return jnp.where(height > 0, jnp.sqrt(2 * 9.81 * safe), 0.0)


def use_power(height):
    safe = jnp.where(height > 0, height, 4.0)
    return jnp.where(height > 0, (19.62 * safe) ** 0.5, 0 * height)


def where_only(height):
    return jnp.where(height > 0, jnp.sqrt(2 * 9.81 * height), 0.0)


def use_cond_under_vmap(height):
    return jax.vmap(lambda h: jax.lax.cond(h > 0, lambda h: jnp.sqrt(19.62 * h), lambda h: 0.0, h))(
        height
    )


def use_python_list(x, keep):
    kept = [number for number, k in zip(x, keep, strict=True) if k]
    return sum(kept) / len(kept) if kept else jnp.float32(0)


def use_select(x, keep):
    count = jnp.count_nonzero(keep)
    total = jax.lax.select(keep, x, jnp.zeros_like(x)).sum()
    return jnp.where(count > 0, total / jnp.where(count > 0, count, 1), 0.0)


def use_tree_map_with_path(tree):
    bad = jax.tree_util.tree_map_with_path(
        lambda path, x: jax.tree_util.keystr(path) if not np.isfinite(x).all() else "", tree
    )
    return [path for path in jax.tree.leaves(bad) if path]


def check_largest_only(tree):
    return leaves(tree, lambda x: jnp.abs(x).max() == jnp.inf)


def join_paths(tree):
    return ", ".join(leaves(tree, lambda x: ~jnp.isfinite(x).all()))


def use_top_level_names(tree):
    return [name for name, leaf in tree.items() if not jnp.isfinite(leaf).all()]


def leaves(tree, bad):
    found = jax.tree_util.tree_flatten_with_path(tree)[0]
    return [jax.tree_util.keystr(path) for path, leaf in found if bad(leaf)]


WRONG = {
    "nans/1": [
        (where_only, "at a height of -1, the value is right, but the gradient is NaN"),
        (lambda h: jnp.nan_to_num(jnp.sqrt(2 * 9.81 * h)), "the gradient is NaN"),
        (lambda h: jnp.sqrt(2 * 9.81 * jnp.abs(h)), "got [4.42945"),
        (lambda h: jnp.sqrt(jnp.maximum(19.62 * h, 0.0)), "the gradient is NaN"),
        (lambda h: jnp.sqrt(19.62 * jnp.where(h > 0, h, 1.0)), "got [4.42945"),
        (python_if, "raises ValueError"),
        (
            lambda h: jax.lax.stop_gradient(where_only(h)),
            "at a height of 5, the gradient must be 0.990454, got 0.0",
        ),
        (lambda h: jnp.sqrt(2 * 9.81 * jnp.maximum(h, 0.0) + 1e-6), "got [0.001"),
    ],
    "nans/2": [
        (lambda x, keep: (x * keep.astype(float)).sum() / keep.sum(), "the NaN is masked"),
        (lambda x, keep: (x * keep).sum() / keep.sum(), "nothing is kept"),
        (
            lambda x, keep: (x * keep).sum() / jnp.maximum(keep.sum(), 1),
            "run one operation at a time, f(x=[1.0, nan, 6.0], keep=[True, False, True]) must "
            "return 3.5, got nan: 0 times NaN is NaN",
        ),
        (
            lambda x, keep: x @ keep / jnp.maximum(keep.sum(), 1),
            # In JAX 0.7, this product is NaN. Later, XLA compiles it into a select.
            "the NaN is masked" if jax.__version_info__ < (0, 8) else "a dot product with keep",
        ),
        (
            lambda x, keep: jnp.nan_to_num(jnp.nanmean(jnp.where(keep, x, jnp.nan))),
            "a NaN that is kept must stay",
        ),
        (use_python_list, "Choose with `jnp.where`"),
        (lambda x, keep: jnp.where(keep, x, 0).sum() / keep.sum(), "nothing is kept"),
        (lambda x, keep: x[keep].mean(), "nothing is kept"),
        (
            lambda x, keep: (jnp.nan_to_num(x) * keep).sum() / jnp.maximum(keep.sum(), 1),
            "a NaN that is kept must stay",
        ),
        (
            lambda x, keep: (
                jnp.where(keep & ~jnp.isinf(x), x, 0).sum() / jnp.maximum(keep.sum(), 1)
            ),
            "an infinity that is kept must stay",
        ),
        (lambda x, keep: jnp.where(keep, x, 0).mean(), "must return 3.5"),
    ],
    "nans/3": [
        (lambda tree: leaves(tree, lambda x: jnp.isnan(x).any()), "an infinity is not finite"),
        (lambda tree: leaves(tree, lambda x: ~jnp.isfinite(x.sum())), "although their sum is not"),
        (check_largest_only, "must return [\"['w']\"], got []"),
        (join_paths, "must return [], got ''"),
        (use_top_level_names, "must return [\"['w']\"]"),
        (lambda tree: bool(leaves(tree, lambda x: ~jnp.isfinite(x).all())), "must return []"),
    ],
}
RIGHT = [
    ("nans/1", use_power),
    ("nans/1", safe_at_zero),
    ("nans/2", use_select),
    ("nans/3", use_tree_map_with_path),
    ("nans/1", use_cond_under_vmap),
    ("nans/2", lambda x, keep: jnp.sum(x, where=keep) / jnp.maximum(jnp.sum(keep), 1)),
]
