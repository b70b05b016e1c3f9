"""More labeled cases for key_reuse, with traced numbers in `fold_in`.

With JAX's default generator, `fold_in(key, i)` equals `split(key, n)[i]` if i < n. Each positive
case draws from such a child in both ways. In the negative cases, all keys that are drawn from
differ. The cases were written before the detector followed traced numbers.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec
from labelled_cases import registry

CASES, case, add = registry()
KEY = jax.random.key(7)
RAW = jax.random.PRNGKey(7)
X = jnp.arange(10.0)
fold_in, normal, split, uniform = (
    jax.random.fold_in,
    jax.random.normal,
    jax.random.split,
    jax.random.uniform,
)


# ------------------------------------------------------------ an index of an axis
def _noise_for_rows(key, x, offset=0):
    def add_noise(value):
        return value + normal(fold_in(key, lax.axis_index("batch") + offset))

    return jax.vmap(add_noise, axis_name="batch")(x)


@case("key_reuse", True, KEY, X)
def folds_axis_index_and_draws_from_child(key, x):
    first, second = split(key)
    return _noise_for_rows(key, x) * uniform(first) * uniform(second)


@case("key_reuse", True, RAW, X)
@jax.jit
def folds_axis_index_and_draws_from_last_child(key, x):
    keys = split(key, 10)
    return _noise_for_rows(key, x) * uniform(keys[9])


@case("key_reuse", True, KEY, X)
def folds_axis_index_and_maps_over_children(key, x):
    scales = jax.vmap(uniform)(split(key, 3))
    return _noise_for_rows(key, x) * scales.sum()


@case("key_reuse", True, KEY, X)
def folds_shifted_axis_index(key, x):
    _, second = split(key)
    return _noise_for_rows(key, x, -1)[1:] * uniform(second)


@case("key_reuse", True, X, KEY)
def splits_folded_keys_and_child(x, key):
    def add_noise(value):
        noise_key, scale_key = split(fold_in(key, lax.axis_index("i")))
        return (value + normal(noise_key)) * uniform(scale_key)

    _, second = split(key)
    return jax.vmap(add_noise, axis_name="i")(x) + normal(second)


def _on_each_device(function, key, x):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    specs = (PartitionSpec(), PartitionSpec("i"))
    mapped = jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=PartitionSpec("i"))
    return mapped(key, x)


def _noise_for_device(key, x):
    return x + normal(fold_in(key, lax.axis_index("i")), x.shape)


@case("key_reuse", True, KEY, X)
def folds_device_index_into_key_that_it_splits(key, x):
    first, second = split(key)
    x = x * uniform(first) + uniform(second)
    return _on_each_device(_noise_for_device, key, x)


@case("key_reuse", False, KEY, X)
def folds_device_index_into_child(key, x):
    scale_key, noise_key = split(key)
    return _on_each_device(_noise_for_device, noise_key, x * uniform(scale_key))


@case("key_reuse", False, KEY, X)
def folds_axis_index_into_child(key, x):
    scale_key, noise_key = split(key)
    return _noise_for_rows(noise_key, x) * uniform(scale_key)


@case("key_reuse", False, KEY, X)
def folds_axis_index_only(key, x):
    return _noise_for_rows(key, x)


@case("key_reuse", False, KEY, X)
def folds_axis_index_below_drawn_child(key, x):
    return _noise_for_rows(key, x) * uniform(split(key, 12)[11])


@case("key_reuse", False, KEY, X)
def folds_axis_index_above_drawn_children(key, x):
    first, second = split(key)
    return _noise_for_rows(key, x, 2) * uniform(first) * uniform(second)


@case("key_reuse", False, KEY, X)
def folds_axis_index_and_draws_from_parent(key, x):
    """The draw uses other numbers, because it hashes the key once and the folded keys twice."""
    return _noise_for_rows(key, x) + normal(key)


@case("key_reuse", False, split(KEY, 10), X)
def folds_axis_index_into_key_of_each_row(keys, x):
    def add_noise(key, value):
        return value + normal(fold_in(key, lax.axis_index("batch")))

    return jax.vmap(add_noise, axis_name="batch")(keys, x)


@case("key_reuse", False, jax.random.key(0, impl="rbg"), X)
def folds_axis_index_into_other_kind_of_key(key, x):
    first, _ = split(key)
    return _noise_for_rows(key, x) * uniform(first)


# ------------------------------------------------------------ the counter of a loop
@case("key_reuse", True, KEY)
def splits_root_and_folds_steps_of_scan(root):
    init_key, data_key = split(root)

    def step(w, i):
        return w + normal(fold_in(root, i), w.shape), None

    w = normal(init_key, (3,)) * normal(data_key, (3,))
    return lax.scan(step, w, jnp.arange(5))[0]


@case("key_reuse", True, RAW)
def folds_counter_and_draws_from_third_child(key):
    third = split(key, 4)[2]
    return lax.fori_loop(0, 4, lambda i, s: s + normal(fold_in(key, i)), normal(third))


@case("key_reuse", True, KEY)
def folds_counter_of_while_loop(key):
    first, _ = split(key)

    def step(state):
        i, total = state
        return i + 1, total + normal(fold_in(key, i))

    return lax.while_loop(lambda state: state[1] < 3, step, (0, normal(first) ** 2))


@case("key_reuse", True, KEY)
def folds_later_numbers(key):
    keys = split(key, 12)
    body = lambda total, i: (total + normal(fold_in(key, 10 + i)), None)  # noqa: E731
    return lax.scan(body, normal(keys[11]), jnp.arange(4))[0]


@case("key_reuse", True, KEY, jnp.arange(6))
def folds_given_numbers_under_vmap(key, rows):
    first, second = split(key)
    noise = jax.vmap(lambda row: normal(fold_in(key, row)))(rows)
    return noise * normal(first) + normal(second)


@case("key_reuse", False, KEY)
def splits_root_and_folds_steps_into_child(root):
    init_key, loop_key = split(root)
    step = lambda w, i: (w + normal(fold_in(loop_key, i), w.shape), None)  # noqa: E731
    return lax.scan(step, normal(init_key, (3,)), jnp.arange(5))[0]


@case("key_reuse", False, KEY)
def splits_key_of_each_step(root):
    def step(w, i):
        key = fold_in(root, i)
        noise_key, scale_key = split(key)
        return w * uniform(scale_key) + normal(noise_key, w.shape), None

    return lax.scan(step, jnp.zeros(3), jnp.arange(5))[0]


@case("key_reuse", False, KEY)
def folds_numbers_above_children(key):
    keys = split(key, 10)
    body = lambda total, i: (total + normal(fold_in(key, 10 + i)), None)  # noqa: E731
    return lax.scan(body, jax.vmap(normal)(keys).sum(), jnp.arange(4))[0]


@case("key_reuse", False, KEY)
def folds_epoch_and_step(root):
    def epoch(w, number):
        key = fold_in(root, number)
        return lax.fori_loop(0, 3, lambda i, s: s + normal(fold_in(key, i)), w), None

    return lax.scan(epoch, 0.0, jnp.arange(2))[0]


# ------------------------------------------------------------ the number of a step
@case("key_reuse", True, {"w": X, "step": jnp.int32(0)}, KEY, carry=0)
def folds_step_of_state_into_key_that_it_splits(state, root):
    scale_key, _ = split(root)
    noise = normal(fold_in(root, state["step"]), (10,))
    return {"w": state["w"] + noise * uniform(scale_key), "step": state["step"] + 1}


@case("key_reuse", True, KEY, X, 1)
@jax.jit
def folds_step_and_draws_from_second_child(key, x, step):
    _, second = split(key)
    keep = jax.random.bernoulli(fold_in(key, step), 0.5, x.shape)
    return x * keep + normal(second)


@case("key_reuse", True, KEY, X)
def calls_jitted_step_with_number(key, x):
    step = jax.jit(lambda key, x, i: x + normal(fold_in(key, i), x.shape))
    return step(key, x, 0) * normal(split(key)[0])


@case("key_reuse", True, KEY, jnp.int32(4))
def folds_previous_step(key, step):
    keys = split(key, 4)
    return normal(keys[3]) + normal(fold_in(key, step - 1))


@case("key_reuse", False, KEY, X, 0)
def splits_key_of_step(key, x, step):
    key = fold_in(key, step)
    noise_key, scale_key = split(key)
    return (x + normal(noise_key, x.shape)) * uniform(scale_key)


@case("key_reuse", False, RAW, X, jnp.int32(0))
def folds_step_and_tags(key, x, step):
    key = fold_in(key, step)
    return x * normal(fold_in(key, 0)) + normal(fold_in(key, 1)) + normal(fold_in(key, 2))


@case("key_reuse", False, {"w": X, "rng": KEY, "step": jnp.int32(0)}, carry=0)
def state_folds_step_for_dropout(state):
    key = fold_in(state["rng"], state["step"])
    keep = jax.random.bernoulli(key, 0.5, (10,))
    return {**state, "w": state["w"] * keep, "step": state["step"] + 1}


@case("key_reuse", False, {"w": X, "rng": KEY, "step": jnp.int32(1)}, carry=0)
def state_folds_step_and_splits_its_key(state):
    rng, noise_key = split(state["rng"])
    noise = normal(fold_in(noise_key, state["step"]), (10,))
    return {"w": state["w"] + noise, "rng": rng, "step": state["step"] + 1}


@case("key_reuse", False, KEY, jnp.array([4, 1, 4]), jnp.array([1, 2, 3]))
def folds_users_of_two_tables(key, rows, others):
    """Every user has noise of their own, which is the same wherever the user appears."""
    noise_of = jax.vmap(lambda user: normal(fold_in(key, user)))
    return noise_of(rows) - noise_of(others)


@case("key_reuse", False, KEY, X, 3)
def folds_two_steps(key, x, step):
    return x * normal(fold_in(key, step)) + normal(fold_in(key, step + 1))


@case("key_reuse", False, KEY, 1)
def folds_step_into_folded_key(key, step):
    first, second = split(key)
    return normal(first) + normal(second) + normal(fold_in(fold_in(key, 5), step))
