"""Test that train steps can be audited as each library's documentation writes them."""

from __future__ import annotations

import functools

import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from flax.training.train_state import TrainState
from optax.tree_utils import tree_bias_correction

from jaxbits import assert_clean, audit, detect
from jaxbits._analysis.function_under_test import FunctionUnderTest

KEY = jax.random.key(0)
BATCH = (
    np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32),
    np.arange(8, dtype=np.int32) % 3,
)


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def line_of(report, check):
    """Return the source line that the first finding of a check names."""
    place = report[check][0].place
    return place.text if place else ""


# Plain pytrees and Optax


def plain_step(params, opt_state, batch):
    def loss_of(params):
        return cross_entropy(batch[0] @ params["w"] + params["b"], batch[1])

    loss, grads = jax.value_and_grad(loss_of)(params)
    updates, opt_state = optax.adam(1e-2).update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@pytest.mark.parametrize("wrap", [jax.jit, lambda step: step], ids=["jit", "plain"])
def test_plain_step_is_clean(wrap):
    params = {"w": jnp.ones((4, 3)), "b": jnp.zeros(3)}
    opt_state = optax.adam(1e-2).init(params)
    assert_clean(wrap(plain_step), params, opt_state, BATCH, carry=0)


# Flax linen


class LinenClassifier(nn.Module):
    features: int = 16

    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.relu(nn.Dense(self.features)(x))
        x = nn.Dropout(0.1, deterministic=not train)(x)
        return nn.Dense(3)(x)


def create_linen_state():
    model = LinenClassifier()
    params = model.init(KEY, BATCH[0], train=False)["params"]
    return TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-2))


@jax.jit
def linen_step(state, batch, key):
    key = jax.random.fold_in(key, state.step)

    def loss_of(params):
        logits = state.apply_fn({"params": params}, batch[0], train=True, rngs={"dropout": key})
        return cross_entropy(logits, batch[1])

    loss, grads = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=grads), loss


def test_linen_step_is_clean():
    assert_clean(linen_step, create_linen_state(), BATCH, KEY, carry=0, allow=["recompile"])


def test_linen_step_reports_reused_key():
    def step(state, batch, key):
        noise = 0.1 * jax.random.normal(key, batch[0].shape)
        logits = state.apply_fn(
            {"params": state.params}, batch[0] + noise, train=True, rngs={"dropout": key}
        )
        return cross_entropy(logits, batch[1]) + jax.random.uniform(key)

    report = audit(jax.jit(step), create_linen_state(), BATCH, KEY)
    assert "jax.random.uniform(key)" in line_of(report, "key_reuse")


# Flax nnx


class NnxClassifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.hidden = nnx.Linear(4, 16, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.out = nnx.Linear(16, 3, rngs=rngs)

    def __call__(self, x):
        return self.out(self.dropout(nnx.relu(self.hidden(x))))


@nnx.jit
def nnx_step(model, optimizer, batch):
    loss, grads = nnx.value_and_grad(lambda m: cross_entropy(m(batch[0]), batch[1]))(model)
    optimizer.update(model, grads)
    return loss


def create_nnx_arguments():
    model = NnxClassifier(nnx.Rngs(0))
    return model, nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param), BATCH


def test_nnx_step_is_clean():
    assert_clean(nnx_step, *create_nnx_arguments())


def test_nnx_step_reports_label_outside_logits():
    @nnx.jit
    def step(model, batch):
        logits = model(batch[0])
        return logits[jnp.arange(8), batch[1] + 1].mean()

    report = audit(step, NnxClassifier(nnx.Rngs(0)), BATCH)
    assert "batch[1] + 1" in line_of(report, "out_of_bounds")


@nnx.jit
def nnx_step_without_result(model, optimizer, x, key):
    def loss_of(model):
        first, second = jax.random.normal(key, (2,)), jax.random.normal(key, (2,))
        return jnp.linalg.norm(model(x), axis=-1).mean() + (model.bias[...] * first * second).sum()

    optimizer.update(model, nnx.grad(loss_of)(model))


def test_nnx_step_without_result_reports_nan_weights_and_key_reuse():
    model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    report = audit(nnx_step_without_result, model, optimizer, jnp.zeros((4, 3)), KEY)
    assert "norm" in line_of(report, "nan")
    assert "second" in line_of(report, "key_reuse")


class NnxMasked(nnx.Module):
    def __init__(self):
        self.scale = nnx.Param(jnp.ones(3))
        self.mask = nnx.Variable(jnp.array([0.0, -jnp.inf, 0.0]))

    def __call__(self, x):
        return jax.nn.softmax(x * self.scale[...] + self.mask[...])


@pytest.mark.parametrize("returns_loss", [False, True])
def test_nnx_step_that_keeps_infinite_mask_is_clean(returns_loss):
    @nnx.jit
    def step(model, optimizer, x):
        loss, grads = nnx.value_and_grad(lambda model: (model(x) ** 2).sum())(model)
        optimizer.update(model, grads)
        return loss if returns_loss else None

    model = NnxMasked()
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    assert not audit(step, model, optimizer, jnp.arange(3.0))["nan"]


def test_array_stored_in_an_argument_counts_as_a_result():
    def step(state, x):
        state["total"] = jnp.log(x - x).sum()

    assert "jnp.log" in line_of(audit(step, {"total": jnp.zeros(())}, jnp.ones(3)), "nan")


# A method that keeps the optimizer's state in an attribute


@jax.jit
def update_weights(weights, state, batch):
    grads = jax.grad(lambda weights: ((batch * weights) ** 2).mean())(weights)
    updates, state = optax.adam(1e-3).update(grads, state)
    weights = optax.apply_updates(weights, updates)
    return weights, state, {"loss": ((batch * weights) ** 2).mean()}


class Agent:
    def __init__(self):
        self.weights = jnp.ones(3)
        self.state = optax.adam(1e-3).init(self.weights)

    def step(self, batch):
        self.weights, self.state, info = update_weights(self.weights, self.state, batch)
        return info

    def loss(self, batch):
        return jnp.sqrt((batch * self.weights) ** 2 + self.state[0].mu).mean()


def test_gradient_of_a_loss_after_an_update_of_attributes_is_not_examined():
    assert not audit(Agent().step, np.zeros((4, 3), np.float32), checks=["nan"])["nan"]


def test_gradient_of_a_loss_that_only_reads_an_optimizer_state_is_examined():
    assert audit(Agent().loss, np.zeros((4, 3), np.float32), checks=["nan"])["nan"]


class WeakAgent(Agent):
    def __init__(self):
        self.weights = jnp.full((), 1.0)  # The update makes it strong.
        self.state = optax.adam(1e-3).init(self.weights)


class ForgetfulAgent(Agent):
    def step(self, batch):
        update = jax.jit(lambda weights: weights - 0.1 * batch.mean())
        self.weights = update(self.weights)


def test_types_that_settle_after_a_few_calls_do_not_compile_in_each_call():
    batch = np.ones(3, np.float32)
    assert not audit(WeakAgent().step, batch, checks=["recompile"])["recompile"]
    assert audit(ForgetfulAgent().step, batch, checks=["recompile"])["recompile"]


# Haiku


def haiku_forward(x):
    hidden = jax.nn.relu(hk.Linear(16)(x))
    return hk.Linear(3)(hk.dropout(hk.next_rng_key(), 0.1, hidden))


def create_haiku_step():
    model = hk.transform(haiku_forward)
    optimizer = optax.adam(1e-2)
    params = model.init(KEY, BATCH[0])

    @jax.jit
    def step(params, opt_state, key, batch):
        def loss_of(params):
            return cross_entropy(model.apply(params, key, batch[0]), batch[1])

        grads = jax.grad(loss_of)(params)
        updates, opt_state = optimizer.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state

    return step, (params, optimizer.init(params), KEY, BATCH)


def test_haiku_step_is_clean():
    step, arguments = create_haiku_step()
    assert_clean(step, *arguments, carry=0)


class KeepsLastOutput(hk.Module):
    last = None

    def __call__(self, x):
        KeepsLastOutput.last = hk.Linear(3)(x)
        return KeepsLastOutput.last


def test_haiku_transform_reports_leak_into_module_class():
    model = hk.without_apply_rng(hk.transform(lambda x: KeepsLastOutput()(x).sum()))
    x = jnp.ones((2, 4))
    params = model.init(jax.random.key(0), x)
    KeepsLastOutput.last = None

    @jax.jit
    def gradient(params, x):
        return jax.grad(model.apply)(params, x)

    (leak,) = [f for f in audit(gradient, params, x).findings if f.check == "leak"]
    assert leak.place.text.strip() == "KeepsLastOutput.last = hk.Linear(3)(x)"


# Equinox


class EquinoxClassifier(eqx.Module):
    layers: list
    depth: int
    activation: object = jax.nn.relu

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.layers = [eqx.nn.Linear(4, 16, key=first), eqx.nn.Linear(16, 3, key=second)]
        self.depth = 2

    def __call__(self, x):
        for layer in self.layers[: self.depth - 1]:
            x = self.activation(layer(x))
        return self.layers[-1](x) + jnp.zeros(self.depth + 1)


@eqx.filter_value_and_grad
def equinox_loss(model, batch):
    return cross_entropy(jax.vmap(model)(batch[0]), batch[1])


@eqx.filter_jit
def equinox_step(model, opt_state, batch, optimizer):
    loss, grads = equinox_loss(model, batch)
    updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), opt_state, loss


def create_equinox_arguments():
    model, optimizer = EquinoxClassifier(KEY), optax.adam(1e-2)
    return model, optimizer.init(eqx.filter(model, eqx.is_array)), BATCH, optimizer


def test_equinox_step_is_clean():
    assert_clean(equinox_step, *create_equinox_arguments(), carry=0)


def test_equinox_loss_is_clean():
    model, _, batch, _ = create_equinox_arguments()
    assert_clean(equinox_loss, model, batch)


def test_equinox_step_reports_reuse_in_loss_and_step():
    @eqx.filter_value_and_grad
    def loss_of(model, batch, key):
        keys = jax.random.split(key, 8)
        noise = jax.vmap(lambda k: jax.random.normal(k, (4,)))(keys)
        return cross_entropy(jax.vmap(model)(batch[0] + noise), batch[1])

    @eqx.filter_jit
    def step(model, opt_state, batch, optimizer, key):
        loss, grads = loss_of(model, batch, key)
        key = jax.random.split(key, 1)[0]
        updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), opt_state, loss, key

    report = audit(step, *create_equinox_arguments(), KEY)
    assert "jax.random.split(key, 1)[0]" in line_of(report, "key_reuse")


# Static arguments


def test_static_arguments_stay_static():
    @functools.partial(jax.jit, static_argnames=("count", "kind"))
    def summary(x, *, count, kind):
        return jnp.zeros(count) + (x.sum() if kind == "sum" else x.mean())

    assert_clean(summary, jnp.ones(3), count=4, kind="sum")


# Modules that `jax.jit` copies


def test_plain_jit_of_nnx_step_reports_lost_updates():
    @jax.jit
    def step(model, optimizer, batch):
        loss, grads = nnx.value_and_grad(lambda m: cross_entropy(m(batch[0]), batch[1]))(model)
        optimizer.update(model, grads)
        return loss

    found = audit(step, *create_nnx_arguments())["inplace"]
    assert [finding.message.split()[1] for finding in found] == ["model"]
    assert "optimizer" in found[0].also[0]


def test_returned_key_is_reported_where_the_step_passes_it():
    def draw(key, data):
        return data[jax.random.randint(key, (3,), 0, len(data))]

    @jax.jit
    def step(total, key, data):
        batch = draw(key, data)
        return total + batch.sum(), key

    report = audit(step, 0.0, KEY, jnp.arange(8.0))
    assert line_of(report, "key_reuse") == "batch = draw(key, data)"


# Functions that call jitted functions of a library


def fill(rows, step, x):
    for _ in range(2):
        x = step(x)
        rows.append(x)
    return x


def own_step(x):
    return jnp.sin(x) * 2


@pytest.mark.parametrize(
    "step",
    [
        eqx.filter_jit(own_step),
        eqx.filter_jit(eqx.filter_vmap(own_step)),
        eqx.filter_jit(eqx.nn.Linear(4, 4, key=KEY)),
        nnx.jit(own_step),
        jax.jit(functools.partial(optax.tree.scale, 0.5)),
        functools.partial(jax.jit(hk.without_apply_rng(hk.transform(own_step)).apply), {}),
    ],
    ids=["filter_jit", "filter_vmap", "equinox module", "nnx", "optax", "haiku"],
)
def test_loop_over_jitted_library_function_is_not_judged_as_jitted(step):
    target = FunctionUnderTest(lambda rows, x: fill(rows, step, x), ([], jnp.ones(4)))
    assert len(target.inner_jits) == 1
    assert [f.severity for f in detect.inplace.on(target)] == ["note"]


def test_library_function_that_is_jitted_in_its_own_module_makes_no_loop():
    def correct(rows, x):
        rows.append(tree_bias_correction(x, 0.9, jnp.int32(3)))
        return x

    target = FunctionUnderTest(correct, ([], jnp.ones(4)))
    assert target.inner_jits == []
    assert [f.severity for f in detect.inplace.on(target)] == ["error"]


class Field(eqx.Module):
    values: jax.Array
    depths: jax.Array = eqx.field(static=True)


@pytest.mark.filterwarnings("ignore:A JAX array is being set as static")
def test_recompile_reports_array_in_static_field_of_equinox_module():
    (found,) = detect.recompile(
        eqx.filter_jit(lambda f: f.values * 2), Field(jnp.ones(4), jnp.ones(3))
    )
    assert "static field of a Field" in found.message
    assert not detect.recompile(eqx.filter_jit(lambda f: f.values * 2), Field(jnp.ones(4), 3.0))
