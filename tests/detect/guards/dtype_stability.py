"""Programs with problems that the guards in chapter 11-dtype-stability catch."""

import jax
import jax.numpy as jnp
import optax

halves = jnp.ones(2, jnp.bfloat16)
adam, momentum, lbfgs = optax.adam(0.1), optax.sgd(0.1, momentum=0.9), optax.lbfgs()


def adam_step(state, gradient):
    updates, state = adam.update(gradient, state)
    return state, updates


def momentum_step(state, gradient):
    return momentum.update(gradient, state)[1]


def search(state, value):
    params, inner = state
    value, gradient = jax.value_and_grad(jnp.vdot)(params, params)
    more = {"value": value, "grad": gradient, "value_fn": lambda p: jnp.vdot(p, p)}
    updates, inner = lbfgs.update(gradient, inner, params, **more)
    return optax.apply_updates(params, updates), inner


def first_updates(gradient):
    return adam.update(gradient, adam.init(gradient))[0]


def injected_updates(gradient):
    tx = optax.inject_hyperparams(optax.adam)(learning_rate=0.1)
    return tx.update(gradient, tx.init(gradient))[0]


@jax.jit
def grown(weight):
    return (weight - jnp.float32(0.1) * weight,)


pair = (jnp.ones(2), lbfgs.init(jnp.ones(2)))
zero = jnp.array([0.0, 1e-4], jnp.float16)

EXAMPLES = [
    ("scan-over-wide-gradients", "carry", adam_step, (adam.init(halves), jnp.ones(2)), {}),
    (
        "optimiser-state-widens",
        "carry",
        momentum_step,
        (momentum.init(halves), jnp.ones(2)),
        {},
    ),
    ("weak-state-compiles-twice", "carry", search, (pair, 1.0), {}),
    ("python-number-params", "recompile", grown, (), {"calls": [(1.0,), grown(1.0)]}),
    ("adam-float16-eps", "nan", first_updates, (zero,), {}),
    ("hyperparams-in-bfloat16", "nan", injected_updates, (halves,), {}),
]
