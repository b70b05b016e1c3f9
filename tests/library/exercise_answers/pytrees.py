"""Right and wrong answers to the exercises on pytrees and vmap."""

import jax
import jax.numpy as jnp
from jax import lax


def penalty_of_all(params):
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))


def penalty_of_top_level(params):
    return sum(jnp.sum(w**2) for w in params.values() if w is not None and w.ndim > 1)


def penalty_by_name(params):
    found = jax.tree_util.tree_leaves_with_path(params)
    return sum(jnp.sum(leaf**2) for path, leaf in found if "'w'" in str(path[-1:]))


def penalty_in_python(params):
    return float(sum(jnp.sum(w**2) for w in jax.tree.leaves(params) if jnp.ndim(w) > 1))


def penalty_or_python_zero(params):
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params) if jnp.ndim(leaf) >= 2)


def penalty_nan_without_matrices(params):
    found = [jnp.sum(w**2) for w in jax.tree.leaves(params) if jnp.ndim(w) >= 2]
    return sum(found) if found else jnp.nan


def penalty_by_map(params):
    one = jax.tree.map(lambda w: jnp.sum(w**2) if jnp.ndim(w) > 1 else jnp.float32(0), params)
    return jax.tree.reduce(jnp.add, one, jnp.float32(0))


def penalty_by_ndim(params):
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params) if leaf.ndim >= 2)


def penalty_of_none(params):
    leaves = jax.tree.leaves(params, is_leaf=lambda leaf: leaf is None)
    return sum(jnp.sum(leaf**2) for leaf in leaves if leaf.ndim >= 2)


def penalty_by_norms(params):
    matrices = [leaf for leaf in jax.tree.leaves(params) if jnp.ndim(leaf) >= 2]
    return sum(jnp.linalg.norm(w.ravel()) ** 2 for w in matrices)


def penalty_of_two_axes(params):
    matrices = [leaf for leaf in jax.tree.leaves(params) if jnp.ndim(leaf) == 2]
    return sum((jnp.sum(w**2) for w in matrices), start=jnp.float32(0))


def penalty_of_numbers(params):
    return sum(jnp.sum(w) ** 2 for w in jax.tree.leaves(params) if jnp.ndim(w) != 1)


def penalty_by_reducing(params):
    return jax.tree.reduce(
        lambda total, w: total + (jnp.vdot(w, w) if jnp.ndim(w) > 1 else 0.0), params, 0.0
    )


def squared_distance(a, b):
    return jnp.sum((a - b) ** 2)


def distances_in_pairs(points, centers):
    return jax.vmap(squared_distance)(points, centers)


def distances_transposed(points, centers):
    return jax.vmap(jax.vmap(squared_distance, (0, None)), (None, 0))(points, centers)


def distances_to_all(points, centers):
    return jax.vmap(squared_distance, (0, None))(points, centers)


def distances_with_sqrt(points, centers):
    one = lambda a, b: jnp.sqrt(squared_distance(a, b))  # noqa: E731
    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(points, centers)


def distances_of_squared_norm(points, centers):
    one = lambda a, b: jnp.linalg.norm(a - b) ** 2  # noqa: E731
    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(points, centers)


def distances_by_out_axes(points, centers):
    return jax.vmap(jax.vmap(squared_distance, (0, None)), (None, 0), out_axes=1)(points, centers)


def distances_by_broadcasting(points, centers):
    return ((points[:, None] - centers[None]) ** 2).sum(-1)


def distances_in_loops(points, centers):
    return jnp.array([[squared_distance(point, center) for center in centers] for point in points])


def distances_in_one_loop(points, centers):
    return jnp.stack([jax.vmap(squared_distance, (None, 0))(point, centers) for point in points])


def distances_expanded(points, centers):
    mixed = points @ centers.T
    return (points**2).sum(1)[:, None] - 2 * mixed + (centers**2).sum(1)


def distances_by_absolute_difference(points, centers):
    return jnp.abs(points[:, None] - centers[None]).sum(-1)


def distances_by_lax_map(points, centers):
    return lax.map(lambda point: jax.vmap(squared_distance, (None, 0))(point, centers), points)


def standardize_by_squares(x):
    mean = lax.pmean(x, "batch")
    return (x - mean) / jnp.sqrt(lax.pmean(x**2, "batch") - mean**2)


def standardize_with_epsilon(epsilon):
    def answer(x):
        centered = x - lax.pmean(x, "batch")
        return centered / jnp.sqrt(lax.pmean(centered**2, "batch") + epsilon)

    return answer


def standardize_with_epsilon_outside(x):
    centered = x - lax.pmean(x, "batch")
    return centered / (jnp.sqrt(lax.pmean(centered**2, "batch")) + 1e-8)


def standardize_unbiased(x):
    count = lax.psum(1, "batch")
    centered = x - lax.pmean(x, "batch")
    return centered / jnp.sqrt(lax.psum(centered**2, "batch") / (count - 1))


def standardize_by_variance(x):
    centered = x - lax.pmean(x, "batch")
    return centered / lax.pmean(centered**2, "batch")


def standardize_over_features(x):
    return (x - lax.pmean(x.mean(), "batch")) / lax.pmean(x.std(), "batch")


def standardize_by_mean_deviation(x):
    return (x - lax.pmean(x, "batch")) / lax.pmean(x.std(), "batch")


def standardize_whole_batch(x):
    rows = lax.all_gather(x, "batch")
    return (rows - rows.mean(0)) / rows.std(0)


def standardize_by_sums(x):
    count = lax.psum(1.0, "batch")
    centered = x - lax.psum(x, "batch") / count
    return centered * lax.rsqrt(lax.psum(centered * centered, "batch") / count)


def standardize_by_axis_index(x):
    """Standardize the gathered batch, and return this example's row."""
    rows = lax.all_gather(x, "batch")
    return ((rows - rows.mean(0)) / jnp.sqrt(jnp.var(rows, 0)))[lax.axis_index("batch")]


def standardize_each_example(x):
    return (x - x.mean()) / x.std()


def standardize_mean_only(x):
    return x - lax.pmean(x, "batch")


def standardize_by_second_moment(x):
    return (x - lax.pmean(x, "batch")) / jnp.sqrt(lax.pmean(x**2, "batch"))


def standardize_other_name(x):
    return x - lax.pmean(x, "data")


def standardize_by_gathering(x):
    rows = lax.all_gather(x, "batch")
    return (x - rows.mean(0)) / rows.std(0)


WRONG = {
    "pytrees/1": [
        (penalty_of_all, "a bias has only one axis"),
        (penalty_of_top_level, "raises AttributeError: 'list' object"),
        (penalty_by_name, "the tree is a single array"),
        (penalty_in_python, "under jit"),
        (
            penalty_nan_without_matrices,
            "for a tree without a matrix, the result must be 0, got nan",
        ),
        (penalty_by_ndim, "so use jnp.ndim, which also accepts numbers"),
        (penalty_of_none, "None is not a leaf"),
        (penalty_by_norms, "a norm has no gradient at zero"),
        (penalty_of_two_axes, "the tree is a single array"),
        (penalty_of_numbers, "64.0"),
    ],
    "pytrees/2": [
        (distances_in_pairs, "inconsistent sizes"),
        (
            distances_transposed,
            "because the outer vmap maps over the centers",
        ),
        (distances_to_all, "an array of shape"),
        (distances_with_sqrt, "the task asks for their squares"),
        (distances_of_squared_norm, "NaN where a point lies on a center"),
        (
            distances_in_loops,
            "the program grows with the number of points or centers, so it contains an unrolled "
            "loop; use jax.vmap",
        ),
        (
            distances_in_one_loop,
            "the program grows with the number of points or centers, so it contains an unrolled "
            "loop; use jax.vmap",
        ),
        (distances_expanded, "subtract before you square"),
        (distances_by_absolute_difference, "[25.0, 20.0]"),
    ],
    "pytrees/3": [
        (standardize_each_example, "your function standardizes each example separately"),
        (
            standardize_mean_only,
            "your function subtracts the mean but does not divide by the standard deviation",
        ),
        (
            standardize_by_second_moment,
            "must be [[-0.9258, -1.225]",
        ),
        (standardize_other_name, "unbound axis name"),
        (standardize_by_squares, "suffers from cancellation"),
        (standardize_with_epsilon(1e-5), "an epsilon in the denominator"),
        (standardize_with_epsilon(1e-12), "an epsilon in the denominator"),
        (standardize_with_epsilon_outside, "an epsilon in the denominator"),
        (
            standardize_unbiased,
            "your function divides by n - 1 in the variance. Divide by n, as jnp.std does",
        ),
        (
            standardize_by_variance,
            "must be [[-0.9258, -1.225]",
        ),
        (
            standardize_over_features,
            "must be [[-0.9258, -1.225]",
        ),
        (standardize_by_mean_deviation, "not the standard deviations of the examples"),
        (standardize_whole_batch, "returns an array of shape (3, 3, 2)"),
    ],
}
RIGHT = [
    ("pytrees/1", penalty_by_map),
    ("pytrees/1", penalty_or_python_zero),
    ("pytrees/2", distances_by_out_axes),
    ("pytrees/2", distances_by_broadcasting),
    ("pytrees/1", penalty_by_reducing),
    ("pytrees/2", distances_by_lax_map),
    ("pytrees/3", standardize_by_gathering),
    ("pytrees/3", standardize_by_sums),
    ("pytrees/3", standardize_by_axis_index),
]
