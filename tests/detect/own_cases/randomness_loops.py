"""More labeled cases for key_reuse and const_key: loops, batches of keys, and intended repetition.

They were written before the detectors followed a key from one iteration of a loop to the next,
compared the children of keys under `jax.vmap`, and knew common random numbers.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()
KEY = jax.random.key(5)
RAW = jax.random.PRNGKey(5)
KEYS, RAW_KEYS = jax.random.split(KEY, 4), jax.random.split(RAW, 4)
X = jnp.arange(8.0)
fold_in, normal, split, uniform = (
    jax.random.fold_in,
    jax.random.normal,
    jax.random.split,
    jax.random.uniform,
)


# ------------------------------------------------------------ a loop carries on a used key
@case("key_reuse", True, KEY)
def scan_draws_from_the_carried_child(key):
    def body(key, _):
        _, key = split(key)
        return key, normal(key)

    return lax.scan(body, key, None, length=5)[1]


@case("key_reuse", True, RAW)
def scan_splits_the_carried_child(key):
    def body(key, _):
        first, second = split(key)
        return second, normal(first) + sum(normal(k) for k in split(second))

    return lax.scan(body, key, None, length=5)[1]


@case("key_reuse", True, KEY)
def while_loop_draws_from_the_next_key(key):
    def body(state):
        key, total = state
        key, _ = split(key)
        return key, total + uniform(key)

    return lax.while_loop(lambda state: state[1] < 9, body, (key, 0.0))[1]


@case("key_reuse", True, RAW, X)
def fori_loop_draws_from_the_next_key(key, x):
    def body(i, state):
        key, x = state
        key, unused = split(key)
        return key, x.at[i].add(normal(key))

    return lax.fori_loop(0, len(x), body, (key, x))[1]


@case("key_reuse", True, {"w": X, "rng": KEY}, X)
@jax.jit
def scan_over_a_step_that_keeps_the_used_key(state, rates):
    def step(state, rate):
        rng, noise_key = split(state["rng"])
        state = {"w": state["w"] + rate * normal(noise_key, (8,)), "rng": noise_key}
        return state, state["w"].sum()

    return lax.scan(step, state, rates)


@case("key_reuse", True, KEY)
def inner_loop_starts_with_the_carried_key(key):
    def inner(key, _):
        key, child = split(key)
        return key, normal(child)

    def outer(key, _):
        key = split(key, 3)[2]
        return key, lax.scan(inner, key, None, length=2)[1]

    return lax.scan(outer, key, None, length=4)[1]


@case("key_reuse", True, KEY)
def draws_again_from_the_last_key_of_a_loop(root):
    def body(carry, i):
        key = fold_in(root, i)
        return (carry[0] + normal(key), key), None

    (total, last), _ = lax.scan(body, (0.0, root), jnp.arange(3))
    return total + uniform(last)


@case("key_reuse", True, KEYS)
def batch_of_loops_that_carry_a_used_key(keys):
    return jax.vmap(scan_draws_from_the_carried_child)(keys)


@case("key_reuse", True, KEY)
def carries_the_child_that_it_folds(key):
    """The child that `fold_in` computes is the one that the loop carries on."""

    def body(key, _):
        noise = normal(fold_in(key, 1))
        return split(key)[1], noise

    return lax.scan(body, key, None, length=3)[1]


@case("key_reuse", False, KEY)
def scan_carries_the_other_child(key):
    def body(key, _):
        key, noise_key = split(key)
        return key, normal(noise_key)

    return lax.scan(body, key, None, length=5)[1]


@case("key_reuse", False, RAW)
def rejection_sampling(key):
    def body(state):
        key, _ = state
        key, x_key, y_key = split(key, 3)
        return key, uniform(x_key) - uniform(y_key)

    return lax.while_loop(lambda state: state[1] <= 0, body, (key, -1.0))[1]


@case("key_reuse", False, KEY)
def two_carried_keys(key):
    def body(keys, _):
        (a, a_noise), (b, b_noise) = split(keys[0]), split(keys[1])
        return (b, a), normal(a_noise) - uniform(b_noise)

    first, second = split(key)
    return lax.scan(body, (first, second), None, length=4)[1]


@case("key_reuse", False, KEY)
def carries_a_used_key_that_nothing_uses_again(root):
    def body(carry, i):
        key = fold_in(root, i)
        return (carry[0] + normal(key), key), None

    (total, last), _ = lax.scan(body, (0.0, root), jnp.arange(3))
    return total + (jax.random.key_data(last).sum() > 0)


@case("key_reuse", False, KEY)
def carried_counter_is_folded(key):
    def body(state):
        step, total = state
        return step + 1, total + normal(fold_in(key, step))

    return lax.while_loop(lambda state: state[0] < 4, body, (0, 0.0))[1]


@case("key_reuse", False, KEY, X > 3)
def renews_the_carried_key_after_an_episode(key, dones):
    def body(key, done):
        key, noise_key, reset_key = split(key, 3)
        return jnp.where(done, reset_key, key), normal(noise_key)

    return lax.scan(body, key, dones)[1]


@case("key_reuse", False, KEY)
def nested_loops_that_split(key):
    def inner(key, _):
        key, child = split(key)
        return key, normal(child)

    def outer(key, _):
        key, inner_key = split(key)
        return key, lax.scan(inner, inner_key, None, length=2)[1]

    return lax.scan(outer, key, None, length=4)[1]


@case("key_reuse", False, KEYS)
def library_functions_with_loops(keys):
    counts = jax.random.poisson(keys[0], 4.0, (3,)) + jax.random.binomial(keys[1], 9, 0.5, (3,))
    order = jax.random.permutation(keys[2], 70_000)
    return counts.sum() + jax.random.gamma(keys[3], 2.0) + order[0]


# ------------------------------------------------------------ children of keys under `vmap`
def _folds_the_number_of_a_child(key, number=1):
    _, second = split(key)
    return normal(fold_in(key, number)) - normal(second)


add("key_reuse", True, jax.vmap(_folds_the_number_of_a_child), KEYS)
add("key_reuse", True, jax.jit(jax.vmap(_folds_the_number_of_a_child)), RAW_KEYS)
add(
    "key_reuse",
    True,
    jax.vmap(jax.vmap(_folds_the_number_of_a_child)),
    KEYS.reshape(2, 2),
)
add("key_reuse", False, jax.vmap(lambda k: _folds_the_number_of_a_child(k, 2)), KEYS)
add("key_reuse", False, jax.vmap(lambda k: _folds_the_number_of_a_child(k, 0)), RAW_KEYS)
add(
    "key_reuse",
    False,
    jax.vmap(_folds_the_number_of_a_child),
    jax.random.split(jax.random.key(0, impl="rbg"), 3),
)


@case("key_reuse", True, KEYS, jnp.arange(4))
def folds_the_row_into_a_key_that_each_row_splits(keys, rows):
    """In row 1, the folded key is the second child."""

    def of_row(key, row):
        return normal(fold_in(key, row)) + normal(split(key)[1])

    return jax.vmap(of_row)(keys, rows)


@case("key_reuse", False, KEYS, jnp.arange(2, 6))
def folds_larger_numbers_into_a_key_that_each_row_splits(keys, rows):
    def of_row(key, row):
        return normal(fold_in(key, row)) + normal(split(key)[1])

    return jax.vmap(of_row)(keys, rows)


@case("key_reuse", False, RAW_KEYS, jnp.arange(4))
def folds_the_row_into_a_child_of_each_row(keys, rows):
    def of_row(key, row):
        first, second = split(key)
        return normal(fold_in(first, row)) + normal(second)

    return jax.vmap(of_row)(keys, rows)


@case("key_reuse", True, KEYS)
def draws_from_all_children_and_a_folded_key(keys):
    def of_row(key):
        return jax.vmap(normal)(split(key, 5)).sum() + normal(fold_in(key, 4))

    return jax.vmap(of_row)(keys)


@case("key_reuse", False, KEYS)
def draws_from_some_children_and_a_folded_key(keys):
    def of_row(key):
        return jax.vmap(normal)(split(key, 5)[:4]).sum() + normal(fold_in(key, 4))

    return jax.vmap(of_row)(keys)


# ------------------------------------------------------------ common random numbers
def _rollout(theta, key):
    noise = normal(key, theta.shape)
    return jnp.sum((noise - theta) ** 2)


@jax.jit
def _long_rollout(theta, key):
    def step(carry, _):
        x, key = carry
        key, noise_key = split(key)
        return (x - 0.1 * theta * x + normal(noise_key, x.shape), key), None

    return lax.scan(step, (theta, key), None, length=4)[0][0].sum()


@case("key_reuse", False, X, KEY)
def antithetic_estimate(theta, key):
    noise_key, key = split(key)
    noise = 0.1 * normal(noise_key, theta.shape)
    pos, neg = _rollout(theta + noise, key), _rollout(theta - noise, key)
    return (pos - neg) / 0.02 * noise


@case("key_reuse", False, X, KEYS)
@jax.jit
def batch_of_antithetic_estimates(theta, keys):
    return jax.vmap(antithetic_estimate, in_axes=(None, 0))(theta, keys).mean(0)


@case("key_reuse", False, X, RAW)
def finite_difference_of_a_long_rollout(theta, key):
    after = _long_rollout(theta + 1e-2, key)
    before = _long_rollout(theta, key)
    return (after - before) / 1e-2


@case("key_reuse", False, {"a": X, "b": jnp.float32(1)}, KEY)
def antithetic_estimate_of_a_tree(params, key):
    def loss(params, key):
        return _long_rollout(params["a"], key) + params["b"]

    losses = [loss(jax.tree.map(lambda p: p + h, params), key) for h in (0.1, -0.1)]
    return losses[0] - losses[1]


@case("key_reuse", False, X, KEY)
def proposal_is_compared_under_common_numbers(x, key):
    step_key, key = split(key)
    proposal = x + normal(step_key, x.shape)
    return jnp.where(_rollout(proposal, key) < _rollout(x, key), proposal, x)


@case("key_reuse", True, X, KEY)
def antithetic_estimate_with_the_key_of_its_noise(theta, key):
    noise = 0.1 * normal(key, theta.shape)
    pos, neg = _rollout(theta + noise, key), _rollout(theta - noise, key)
    return (pos - neg) / 0.02 * noise


@case("key_reuse", True, X, X, KEY)
def losses_of_two_inputs_are_subtracted(real, fake, key):
    return _rollout(real, key) - _rollout(fake, key)


@case("key_reuse", True, X, X, KEY)
def two_samples_are_compared(low, high, key):
    def sample(mean, key):
        return mean + normal(key, mean.shape)

    return (sample(low, key) < sample(high, key)).mean()


@case("key_reuse", True, X, KEY)
def mean_of_two_rollouts(theta, key):
    return (_rollout(theta + 0.1, key) + _rollout(theta - 0.1, key)) / 2


@case("key_reuse", True, X, KEY)
def same_noise_is_subtracted(x, key):
    def noise(key):
        return normal(key, (8,))

    return (x + 1) * noise(key) - (x - 1) * noise(key)


@case("key_reuse", True, X, KEY)
def equal_views_are_compared(x, key):
    def augment(x, key):
        return x + normal(key, x.shape)

    return jnp.sum((augment(x, key) - augment(x, key)) ** 2)


@case("key_reuse", True, X, KEY)
def corners_of_a_crop(image, key):
    top = jax.random.randint(key, (), 0, 4)
    left = jax.random.randint(key, (), 0, 3)
    return lax.dynamic_slice(image, (top - left + 3,), (2,))


def _dropout(x, key):
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), 2 * x, 0)


def _dense(key, inputs, outputs):
    return normal(key, (inputs, outputs)) / inputs


@case("key_reuse", True, X, KEY)
def dropout_in_two_layers(x, key):
    hidden = _dropout(jnp.tanh(x), key)
    return x - _dropout(jnp.tanh(2 * hidden), key)


@case("key_reuse", True, X, KEY)
def dropout_of_residual_layers(x, key):
    for scale in (1.0, 2.0, 3.0):
        x = x - _dropout(scale * x, key)
    return x


@case("key_reuse", True, X, KEY)
def two_layers_start_equal(x, key):
    first, second = _dense(key, 8, 8), _dense(key, 8, 8)
    return (jnp.tanh(x @ first) @ second - x).sum()


@case("key_reuse", True, X, KEY)
def two_layers_of_different_sizes(x, key):
    first, second = _dense(key, 8, 4), _dense(key, 4, 8)
    return (jnp.tanh(x @ first) @ second - x).sum()


# ------------------------------------------------------------ one sample of several results
def _losses(params, x, key):
    _, noise_key = split(key)
    action = x * params["actor"] + normal(noise_key, x.shape)
    value = (action * params["critic"]).mean()
    return -value, (value - 1.0) ** 2 + (action**2).mean()


PARAMS = {"actor": jnp.float32(1), "critic": jnp.float32(2)}


@case("key_reuse", False, PARAMS, X, KEY)
@jax.jit
def gradient_of_each_loss(params, x, key):
    actor, critic = (jax.grad(lambda p: _losses(p, x, key)[i])(params) for i in range(2))  # noqa: B023
    return {"actor": actor["actor"], "critic": critic["critic"]}


@case("key_reuse", False, PARAMS, X, RAW)
def loss_and_then_its_gradient(params, x, key):
    def loss(params):
        return _losses(params, x, key)[1]

    return loss(params), jax.grad(loss)(params)


@case("key_reuse", False, PARAMS, X, KEY)
def loss_with_powers_and_then_its_gradient(params, x, key):
    """The derivative computes a power of another order on the same line."""

    def loss(params):
        return (params["actor"] * x + normal(key, x.shape) ** 4).sum() ** 3

    return loss(params), jax.grad(loss)(params)


@case("key_reuse", True, PARAMS, X, KEY)
def loss_and_the_gradient_of_another_power(params, x, key):
    def loss(params, order):
        return (params["actor"] * x + normal(key, x.shape)).sum() ** order

    return loss(params, 2), jax.grad(loss)(params, 4)


@case("key_reuse", False, PARAMS, X, KEY)
def gradients_for_the_actor_and_the_critic(params, x, key):
    actor = jax.grad(lambda p: _losses({**params, "actor": p}, x, key)[0])(params["actor"])
    critic = jax.grad(lambda p: _losses({**params, "critic": p}, x, key)[1])(params["critic"])
    return actor, critic


@case("key_reuse", True, PARAMS, X, X, KEY)
def gradients_of_two_batches(params, first, second, key):
    def loss(params, x):
        return _losses(params, x, key)[1]

    one, two = jax.grad(loss)(params, first), jax.grad(loss)(params, second)
    return jax.tree.map(jnp.add, one, two)


@case("key_reuse", True, X, X.reshape(2, 4), KEY)
def gradients_of_a_linear_loss(weights, batches, key):
    """The gradient depends on the data only in the backward pass."""

    def loss(weights, x):
        return (x * weights[:4] * jax.random.bernoulli(key, 0.5, (4,))).sum()

    return sum(jax.grad(loss)(weights, batches[i]) for i in range(2))


@case("key_reuse", True, X, KEY)
def gradients_at_two_scales(x, key):
    def loss(x, scale):
        return (x * scale * normal(key, x.shape)).sum()

    return jax.grad(loss)(x, 0.1), jax.grad(loss)(x, 0.2)


@case("key_reuse", True, PARAMS, X, KEY)
def same_gradient_twice(params, x, key):
    def loss(params):
        return _losses(params, x, key)[1]

    return jax.tree.map(jnp.add, jax.grad(loss)(params), jax.grad(loss)(params))


@case("key_reuse", True, PARAMS, X, KEY)
def gradient_step_and_the_loss_after_it(params, x, key):
    def loss(params):
        return _losses(params, x, key)[1]

    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))
    return params, loss(params)


def _layer(weights, x, key):
    mask_key, noise_key = split(key)
    return _dropout(jnp.tanh(x * weights), mask_key) + normal(noise_key, x.shape)


LAYERS = [X, X + 1, X + 2]


@case("key_reuse", True, LAYERS, X, KEY)
@jax.grad
def gradient_of_layers_with_one_dropout_key(layers, x, key):
    for weights in layers:
        x = _dropout(jnp.tanh(x * weights), key)
    return x.sum()


@case("key_reuse", True, LAYERS, X, RAW)
@jax.jit
def loss_and_gradient_of_layers_that_split_one_key(layers, x, key):
    def loss(layers):
        hidden = x
        for weights in layers:
            hidden = _layer(weights, hidden, key)
        return hidden.sum()

    return jax.value_and_grad(loss)(layers)


@case("key_reuse", True, LAYERS, X, KEY)
@jax.grad
def gradient_of_checkpointed_layers(layers, x, key):
    for weights in layers:
        x = jax.checkpoint(_layer)(weights, x, key)
    return x.sum()


@case("key_reuse", True, LAYERS, jnp.stack([X, X]), KEYS[:2])
def gradients_of_the_rows_of_a_batch(layers, rows, keys):
    def loss(layers, x, key):
        for weights in layers:
            x = jax.jit(_layer)(weights, x, key)
        return x.sum()

    return jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(layers, rows, keys)


@case("key_reuse", True, LAYERS, X, KEY)
@jax.grad
def gradient_of_heads_with_one_mask(heads, x, key):
    return sum(jnp.sin(_dropout(x, key) * weights).sum() for weights in heads)


@case("key_reuse", True, LAYERS, X, KEY)
def gradient_of_each_loss_of_layers_with_one_key(layers, x, key):
    def losses(layers):
        hidden = x
        for weights in layers:
            hidden = _layer(weights, hidden, key)
        return hidden.sum(), (hidden**2).mean()

    return [jax.grad(lambda p: losses(p)[i])(layers) for i in range(2)]  # noqa: B023


@case("key_reuse", False, LAYERS, X, KEY)
@jax.value_and_grad
def gradient_of_layers_with_their_own_keys(layers, x, key):
    for weights, child in zip(layers, split(key, len(layers)), strict=True):
        x = _layer(weights, x, child)
    return x.sum()


@case("key_reuse", False, PARAMS, X, KEY)
def sum_of_the_gradients_of_two_losses(params, x, key):
    one, two = (jax.grad(lambda p: _losses(p, x, key)[i])(params) for i in range(2))  # noqa: B023
    return jax.tree.map(jnp.add, one, two)


@case("key_reuse", False, PARAMS, X, KEY)
@jax.grad
def gradient_through_the_gradients_of_two_losses(params, x, key):
    one, two = (jax.grad(lambda p: _losses(p, x, key)[i])(params) for i in range(2))  # noqa: B023
    return (one["actor"] * two["critic"]).sum()


# ------------------------------------------------------------ arrays that belong together
@case("key_reuse", False, KEY, X, jnp.arange(8))
def shuffles_data_and_labels(key, x, labels):
    return [jax.random.permutation(key, a) for a in (x, labels)]


@case("key_reuse", False, RAW, X.reshape(4, 2), jnp.arange(4))
def shuffles_rows_and_labels(key, rows, labels):
    return jax.random.permutation(key, rows), labels[jax.random.permutation(key, 4)]


@case("key_reuse", False, KEY, X, jnp.arange(8))
def selects_a_batch_with_its_labels(key, x, labels):
    return jax.random.choice(key, x, (4,)), jax.random.choice(key, labels, (4,))


@case("key_reuse", False, KEY, jnp.arange(3000.0), jnp.arange(3000))
def shuffles_long_arrays_in_several_rounds(key, x, labels):
    return jax.random.permutation(key, x), jax.random.permutation(key, labels)


def _shuffled_training(rewards, key, observations, targets, params):
    """Train on actions that the parameters choose, each with its reward."""

    def update(params, key):
        actions = jnp.argmax(observations @ params, -1)
        actions, wanted = (jax.random.permutation(key, a) for a in (actions, targets))

        def loss(params):
            return ((params.sum() * rewards[actions] - wanted) ** 2).mean()

        return params - 0.1 * jax.grad(loss)(params), None

    return lax.scan(update, params, split(key, 3))[0]


TRAINING = (jnp.ones((8, 4)), X, jnp.ones((4, 3)))
add("key_reuse", False, functools.partial(_shuffled_training, jnp.arange(3.0)), KEY, *TRAINING)
add(
    "key_reuse",
    False,
    jax.vmap(functools.partial(_shuffled_training, jnp.arange(3.0)), in_axes=(0, None, None, None)),
    RAW_KEYS,
    *TRAINING,
)


@case("key_reuse", True, KEY, X, jnp.arange(8), jnp.float32(0))
def trains_twice_on_the_same_batch(key, x, labels, bias):
    """The parameters depend on both orders, but each order depends only on its own draw."""

    def update(bias, key):
        for _ in range(2):
            order = jax.random.permutation(key, 8)[:4]
            bias -= (bias + x[order] - labels[order]).mean()
        return bias, None

    return lax.scan(update, bias, split(key, 3))[0]


@case("key_reuse", True, KEY, X)
def shuffles_the_same_data_for_two_epochs(key, x):
    first, second = jax.random.permutation(key, x), jax.random.permutation(key, x)
    return (first * jnp.arange(8)).sum() - second[0]


@case("key_reuse", True, KEY, X, jnp.arange(8))
def two_equal_batches_with_labels(key, x, labels):
    orders = [jax.random.permutation(key, 8)[:4] for _ in range(2)]
    return [(x[order], labels[order]) for order in orders]


@case("key_reuse", True, KEY, X, jnp.arange(6))
def shuffles_arrays_of_different_lengths(key, x, y):
    return jax.random.permutation(key, x), jax.random.permutation(key, y)


@case("key_reuse", True, KEY, X, X)
def shuffles_data_and_draws_noise(key, x, y):
    return jax.random.permutation(key, x) + normal(key, (8,)), jax.random.permutation(key, y)


@case("key_reuse", True, KEY, X, X)
def crops_two_images(key, first, second):
    return [
        lax.dynamic_slice(a, (jax.random.randint(key, (), 0, 4),), (4,)) for a in (first, second)
    ]


# ------------------------------------------------------------ keys made from a literal
def _break_ties(x):
    order = jax.random.permutation(jax.random.key(42), x.size)
    return jnp.argsort(x[order])


def _fixed_noise(x):
    return x + normal(jax.random.PRNGKey(0), x.shape)


def _correlated_noise(x):
    key = jax.random.key(1)
    return x + normal(key, x.shape) * uniform(key)


def masks_of_all_leaves(params):
    return jax.tree.map(_break_ties, params)


def noise_in_two_calls(x):
    return _fixed_noise(x) * _fixed_noise(2 * x)


def noise_in_a_loop(x):
    return sum(normal(jax.random.key(0), x.shape) for _ in range(3)) + x


def noise_from_a_loop_in_a_helper(x):
    def add_noise(x):
        for scale in (0.1, 0.2):
            x = x + scale * normal(jax.random.key(0), x.shape)
        return x

    return add_noise(x)


def correlated_noise_in_a_helper(x):
    return _correlated_noise(x)


TREE = {"a": X, "b": jnp.ones(5)}
for function, args, is_reused in [
    (masks_of_all_leaves, (TREE,), False),
    (jax.jit(masks_of_all_leaves), (TREE,), False),
    (noise_in_two_calls, (X,), False),
    (functools.partial(jax.tree.map, jax.jit(_fixed_noise)), (TREE,), False),
    (noise_in_a_loop, (X,), True),
    (noise_from_a_loop_in_a_helper, (X,), True),
    (correlated_noise_in_a_helper, (X,), True),
]:
    add("key_reuse", is_reused, function, *args)
    add("const_key", True, function, *args)
