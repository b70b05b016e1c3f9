"""Labeled cases with modules that hold more than arrays, written before any detector ran on them.

Numbers, strings, and functions are leaves of these modules, as they are in several libraries. What
is static follows from the transformation under which a module is used.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from filtering import descend, filter_jit, filter_value_and_grad
from flax import nnx
from labelled_cases import registry

CASES, case, add = registry()


X = jnp.linspace(0.0, 1.0, 12).reshape(4, 3)
KEY = jax.random.key(11)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Network:
    """A module with an array, a size, an activation function, and a name."""

    weight: Any
    hidden_size: int = 3
    activation: Callable[[Any], Any] = jnp.tanh
    name: str = "network"
    use_noise: bool = True

    def __call__(self, x, key=None):
        state = jnp.zeros(self.hidden_size)
        hidden = self.activation(x @ self.weight + state)
        if self.use_noise and key is not None:
            hidden = hidden + 0.1 * jax.random.normal(key, hidden.shape)
        return hidden


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Recurrent:
    """A module whose leaves are an array and a Python integer."""

    weight: Any
    hidden_size: int = 3

    def __call__(self, x):
        return x @ self.weight + jnp.zeros(self.hidden_size)


NETWORK, RECURRENT = Network(jnp.eye(3)), Recurrent(jnp.eye(3))


def squared_error(model, x):
    return jnp.mean((model(x) - x) ** 2)


@filter_jit
def filtered_step(model, x):
    loss, gradients = filter_value_and_grad(squared_error)(model, x)
    return descend(model, gradients), loss


@filter_jit
def filtered_prediction(model, x, mode="train"):
    return model(x) if mode == "train" else model(2 * x)


@filter_jit
def filtered_repeats(model, x, count):
    for _ in range(count):
        x = model(x)
    return x


# ------------------------------------------------------------ control_flow
add("control_flow", False, filtered_step, NETWORK, X)
add("control_flow", False, filtered_step, RECURRENT, X)
add("control_flow", False, filtered_prediction, NETWORK, X, "train")
add("control_flow", False, filtered_prediction, NETWORK, X, mode="test")
add("control_flow", False, filtered_repeats, NETWORK, X, 2)
add("control_flow", False, lambda model, x: filtered_step(model, x)[1], NETWORK, X)


@case("control_flow", False, X, 3, 0.5)
@functools.partial(jax.jit, static_argnums=1)
def static_count_and_traced_rate(x, count, rate):
    return x * rate if count > 2 else x


@case("control_flow", False, X, 3, rate=0.5)
@functools.partial(jax.jit, static_argnames=("count",))
def static_name_and_traced_rate(x, count, rate):
    return x * rate if count > 2 else x


@case("control_flow", False, nnx.Linear(3, 2, rngs=nnx.Rngs(0)), X, 2)
@functools.partial(nnx.jit, static_argnames=("count",))
def nnx_step_with_a_static_count(model, x, count):
    for _ in range(count):
        x = x + model(x).sum()
    return x


@case("control_flow", True, X, 3, 0.5)
@functools.partial(jax.jit, static_argnums=1)
def branches_on_the_traced_rate(x, count, rate):
    return x * count if rate > 0.1 else x


@case("control_flow", True, NETWORK, X)
@filter_jit
def filtered_branch_on_an_array(model, x):
    return model(x) if x.sum() > 0 else x


@case("control_flow", True, RECURRENT, X)
@filter_jit
def filtered_loop_on_an_array(model, x):
    while x.max() > 0.5:
        x = model(x) / 2
    return x


@case("control_flow", True, nnx.Linear(3, 2, rngs=nnx.Rngs(0)), X, 2)
@nnx.jit
def nnx_step_with_a_traced_count(model, x, count):
    for _ in range(count):
        x = x + model(x).sum()
    return x


add("control_flow", True, lambda x, name: x if name == "a" else -x, X, "a")


# ------------------------------------------------------------ dynamic_shape
add("dynamic_shape", False, filtered_step, NETWORK, X)
add("dynamic_shape", False, filtered_step, RECURRENT, X)
add("dynamic_shape", False, filter_jit(lambda model, x, n: model(x)[:n]), NETWORK, X, 2)
add("dynamic_shape", False, squared_error, NETWORK, X)
add("dynamic_shape", False, functools.partial(filtered_prediction, NETWORK), X)
add(
    "dynamic_shape",
    False,
    jax.jit(lambda x, n, rate: rate * x[:n], static_argnames="n"),
    X,
    n=2,
    rate=0.5,
)
add("dynamic_shape", True, filter_jit(lambda model, x: model(x[x[:, 0] > 0.5])), NETWORK, X)
add("dynamic_shape", True, filter_jit(lambda model, x, n: model(x)[:n]), NETWORK, X, jnp.int32(2))
add("dynamic_shape", True, filter_jit(lambda model, x: jnp.unique(model(x))), RECURRENT, X)


@case("dynamic_shape", True, X, 2, 3)
@functools.partial(jax.jit, static_argnums=1)
def slices_by_the_traced_number(x, n, m):
    return x[:n].sum() + x[:m].sum()


# ------------------------------------------------------------ key_reuse
@filter_jit
def filtered_one_key_for_two_draws(model, x, key):
    return model(x + 0.1 * jax.random.normal(key, x.shape), key)


@filter_jit
def filtered_one_key_for_each(model, x, key):
    for_input, for_model = jax.random.split(key)
    return model(x + 0.1 * jax.random.normal(for_input, x.shape), for_model)


def noisy_loss(model, x, key):
    keys = jax.random.split(key, 4)
    noise = jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)
    return jnp.mean((model(x + noise) - x) ** 2)


@filter_jit
def filtered_step_splits_the_key_again(model, x, key):
    loss, gradients = filter_value_and_grad(noisy_loss)(model, x, key)
    return descend(model, gradients), loss, jax.random.split(key, 1)[0]


@filter_jit
def filtered_step_splits_the_key_once(model, x, key):
    key, for_loss = jax.random.split(key)
    loss, gradients = filter_value_and_grad(noisy_loss)(model, x, for_loss)
    return descend(model, gradients), loss, key


@filter_jit
def filtered_draw_in_every_iteration(model, x, key):
    return jax.lax.fori_loop(0, 3, lambda i, h: model(h, key), x)


@filter_jit
def filtered_fold_in_every_iteration(model, x, key):
    return jax.lax.fori_loop(0, 3, lambda i, h: model(h, jax.random.fold_in(key, i)), x)


add("key_reuse", True, filtered_one_key_for_two_draws, NETWORK, X, KEY)
add("key_reuse", True, filtered_step_splits_the_key_again, NETWORK, X, KEY)
add("key_reuse", True, filtered_draw_in_every_iteration, NETWORK, X, KEY)
add("key_reuse", True, lambda m, x, k: filtered_one_key_for_two_draws(m, x, k), NETWORK, X, KEY)
add("key_reuse", False, filtered_one_key_for_each, NETWORK, X, KEY)
add("key_reuse", False, filtered_step_splits_the_key_once, NETWORK, X, KEY)
add("key_reuse", False, filtered_fold_in_every_iteration, NETWORK, X, KEY)
add("key_reuse", False, lambda m, x, k: filtered_one_key_for_each(m, x, k), NETWORK, X, KEY)


# ------------------------------------------------------------ carry
@filter_jit
def filtered_step_with_a_narrow_state(model, x):
    return dataclasses.replace(model, weight=model.weight.astype(jnp.bfloat16)), x.sum()


@filter_jit
def filtered_step_with_a_new_axis(model, x):
    return dataclasses.replace(model, weight=model.weight[None] + x.mean()), x.sum()


@filter_jit
def filtered_step_without_the_name(model, x):
    return dataclasses.replace(model, weight=model.weight * x.mean(), name=None), x.sum()


add("carry", True, filtered_step_with_a_narrow_state, NETWORK, X, carry=0)
add("carry", True, filtered_step_with_a_new_axis, NETWORK, X, carry=0)
add("carry", True, filtered_step_without_the_name, NETWORK, X, carry=0)
add("carry", False, filtered_step, NETWORK, X, carry=0)
add("carry", False, filtered_step, RECURRENT, X, carry="model")
add("carry", False, filter_jit(lambda model, x: (model, x.sum())), NETWORK, X, carry=0)


# ------------------------------------------------------------ inplace
def own_in_update_lost(model, x):
    model.weight = model.weight - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).sum())(model.weight)
    return (x**2).mean()


def own_in_helper_updates(model, x):
    def normalize(module):
        module.weight = module.weight / jnp.linalg.norm(module.weight)

    normalize(model)
    return x @ model.weight


def own_in_update_returned(model, x):
    model.weight = model.weight - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).sum())(model.weight)
    return model, (x**2).mean()


def own_in_copy_updated(model, x):
    model = dataclasses.replace(model, weight=model.weight * 2)
    return x @ model.weight


def own_in_batch_replaced(state, batch):
    batch["x"] = batch["x"] / 255
    return state - batch["x"].mean()


def own_in_weight_of_another_argument(model, weight, x):
    model.weight = weight
    return x @ model.weight


def own_in_change_of_another_argument(model, weight, x):
    model.weight = 2 * weight
    return x @ model.weight


PLAIN = Recurrent(jnp.eye(3), jnp.int32(3))

add("inplace", True, jax.jit(own_in_update_lost), PLAIN, X)
add("inplace", True, jax.jit(own_in_helper_updates), PLAIN, X)
add("inplace", True, functools.partial(jax.jit(own_in_update_lost), x=X), PLAIN)
add("inplace", False, jax.jit(own_in_update_returned), PLAIN, X)
add("inplace", False, jax.jit(lambda m, x: x @ m.weight), PLAIN, X)
add("inplace", False, jax.jit(own_in_copy_updated), PLAIN, jnp.eye(3))
add("inplace", False, jax.jit(own_in_batch_replaced), X, {"x": X})


# ------------------------------------------------------------ the line of a returned key
def draw_batch(key, data):
    return data[jax.random.randint(key, (3,), 0, len(data))]


def own_kr_helper_draws_from_the_returned_key(total, key, data):
    _, unused = jax.random.split(key)
    return total + draw_batch(key, data).sum(), key


add("key_reuse", True, own_kr_helper_draws_from_the_returned_key, 0.0, KEY, X)


# ------------------------------------------------------------ state of the methods of an argument
scales = {"gain": 2.0}
seen_values = []


class Monitor:
    """A class whose attributes other classes set."""

    latest = None


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Watched:
    """A module whose methods touch state outside of it."""

    weight: Any

    def remember(self, x):
        Monitor.latest = self.weight * x
        return self.weight * x

    def remember_in_class(self, x):
        type(self).latest = self.weight * x
        return self.weight * x

    def append(self, x):
        seen_values.append(self.weight * x)
        return self.weight * x

    def scale(self, x):
        return self.weight * x * scales["gain"]

    def apply(self, x):
        return self.weight * x

    def count(self, x):
        seen_values.append(1)
        return self.weight * x


WATCHED = Watched(jnp.float32(2))

add("leak", True, jax.jit(lambda m, x: m.remember(x)), WATCHED, X)
add("leak", True, lambda m, x: m.remember_in_class(x), WATCHED, X)
add("leak", True, jax.jit(lambda ms, x: ms[0].append(x)), [WATCHED], X)
add("leak", False, jax.jit(lambda m, x: m.apply(x)), WATCHED, X)
add("leak", False, jax.jit(lambda m, x: m.count(x)), WATCHED, X)
add("leak", False, jax.jit(lambda m, x: m.scale(x)), WATCHED, X)
add("side_effect", True, jax.jit(lambda m, x: m.count(x)), WATCHED, X)
add("side_effect", False, jax.jit(lambda m, x: m.apply(x)), WATCHED, X)
add("stale_global", True, jax.jit(lambda m, x: m.scale(x)), WATCHED, X)
add("stale_global", False, jax.jit(lambda m, x: m.apply(x)), WATCHED, X)


# ------------------------------------------------------------ list_args
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Dropout:
    """A layer whose leaves are only Python numbers."""

    rate: float = 0.1
    is_off: bool = True

    def __call__(self, x):
        return x if self.is_off else x * (1 - self.rate)


@filter_jit
def filtered_evaluation(layers, x):
    for layer in layers:
        x = layer(x)
    return x.sum()


@case("list_args", False, X, tuple(range(20)))
@functools.partial(jax.jit, static_argnums=1)
def static_positions(x, positions):
    return x.sum() + sum(positions)


@case("list_args", False, X, (tuple(range(20)),), rates={"a": 0.5})
@functools.partial(jax.jit, static_argnames=("positions",))
def static_positions_by_name(x, positions, rates):
    return x.sum() + sum(positions[0]) * rates["a"]


@case("list_args", True, X, rates=[0.5] * 20, positions=(1, 2))
@functools.partial(jax.jit, static_argnames=("positions",))
def traced_rates_next_to_static_positions(x, positions, rates):
    return x.sum() * jnp.array(rates).sum() + sum(positions)


add("list_args", False, filtered_evaluation, [Dropout() for _ in range(20)], X)
add("list_args", True, jax.jit(lambda n, x: x * n[0].rate), [Dropout() for _ in range(20)], X)
add("list_args", True, filtered_evaluation, [Dropout(jnp.float32(0.1)) for _ in range(40)], X)
add("inplace", False, jax.jit(own_in_weight_of_another_argument), PLAIN, jnp.eye(3), X)
add("inplace", True, jax.jit(own_in_change_of_another_argument), PLAIN, jnp.eye(3), X)
