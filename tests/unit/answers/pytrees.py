"""Answers to the exercises of *Pytrees and transformations*: foreseen mistakes, right ones."""

import jax
import jax.numpy as jnp
from jax import lax


def penalty_of_all(params):
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))


def penalty_of_the_top(params):
    return sum(jnp.sum(w**2) for w in params.values() if w is not None and w.ndim > 1)


def penalty_by_name(params):
    found = jax.tree_util.tree_leaves_with_path(params)
    return sum(jnp.sum(leaf**2) for path, leaf in found if "'w'" in str(path[-1:]))


def penalty_in_python(params):
    return float(sum(jnp.sum(w**2) for w in jax.tree.leaves(params) if jnp.ndim(w) > 1))


def penalty_or_the_number_0(params):
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params) if jnp.ndim(leaf) >= 2)


def penalty_without_matrices(params):
    found = [jnp.sum(w**2) for w in jax.tree.leaves(params) if jnp.ndim(w) >= 2]
    return sum(found) if found else jnp.nan


def penalty_by_map(params):
    one = jax.tree.map(lambda w: jnp.sum(w**2) if jnp.ndim(w) > 1 else jnp.float32(0), params)
    return jax.tree.reduce(jnp.add, one, jnp.float32(0))


def between(a, b):
    return jnp.sum((a - b) ** 2)


def distances_in_pairs(points, centres):
    return jax.vmap(between)(points, centres)


def distances_turned(points, centres):
    return jax.vmap(jax.vmap(between, (0, None)), (None, 0))(points, centres)


def distances_to_all(points, centres):
    return jax.vmap(between, (0, None))(points, centres)


def distances_rooted(points, centres):
    one = lambda a, b: jnp.sqrt(between(a, b))  # noqa: E731
    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(points, centres)


def distances_squared_again(points, centres):
    one = lambda a, b: jnp.linalg.norm(a - b) ** 2  # noqa: E731
    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(points, centres)


def distances_by_out_axes(points, centres):
    return jax.vmap(jax.vmap(between, (0, None)), (None, 0), out_axes=1)(points, centres)


def distances_by_broadcasting(points, centres):
    return ((points[:, None] - centres[None]) ** 2).sum(-1)


def standardise_itself(x):
    return (x - x.mean()) / x.std()


def standardise_halfway(x):
    return x - lax.pmean(x, "batch")


def standardise_squares(x):
    return (x - lax.pmean(x, "batch")) / jnp.sqrt(lax.pmean(x**2, "batch"))


def standardise_other_name(x):
    return x - lax.pmean(x, "data")


def standardise_by_gathering(x):
    rows = lax.all_gather(x, "batch")
    return (x - rows.mean(0)) / rows.std(0)


WRONG = {
    "pytrees/1": [
        (penalty_of_all, "a bias has one axis"),
        (penalty_of_the_top, "raises AttributeError"),
        (penalty_by_name, "four axes, one leaf"),
        (penalty_in_python, "under jit"),
        (penalty_without_matrices, "where there is no matrix, it should be 0"),
    ],
    "pytrees/2": [
        (distances_in_pairs, "inconsistent sizes"),
        (distances_turned, "the outer map is over the centres"),
        (distances_to_all, "should be a 3 × 2 table"),
        (distances_rooted, "must return [[0.0, 1.0], [25.0, 20.0]"),
        (distances_squared_again, "NaN where a point lies on a centre"),
    ],
    "pytrees/3": [
        (standardise_itself, "each example by itself"),
        (standardise_halfway, "the standard deviation is missing"),
        (standardise_squares, "should be"),
        (standardise_other_name, "unbound axis name"),
    ],
}
RIGHT = [
    ("pytrees/1", penalty_by_map),
    ("pytrees/1", penalty_or_the_number_0),
    ("pytrees/2", distances_by_out_axes),
    ("pytrees/2", distances_by_broadcasting),
    ("pytrees/3", standardise_by_gathering),
]
