"""Answers to the exercises of *Stateful layers*: foreseen mistakes, and other right ones."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


def passed(model, variables, x, key, **changed):
    how = {"train": True, "mutable": ["batch_stats"], "rngs": {"dropout": key}, **changed}
    return model.apply(variables, x, **how)


def only_written(model, variables, x, key):
    return passed(model, variables, x, key)


def old_variables(model, variables, x, key):
    return passed(model, variables, x, key)[0], variables


def no_key(model, variables, x, key):
    outputs, written = passed(model, variables, x, key, rngs={})
    return outputs, {**variables, **written}


def key_inside(model, variables, x, key):
    outputs, written = passed(model, variables, x, jax.random.key(0))
    return outputs, {**variables, **written}


def evaluating(model, variables, x, key):
    outputs, written = passed(model, variables, x, key, train=False)
    return outputs, {**variables, **written}


def written_into(model, variables, x, key):
    outputs, written = passed(model, variables, x, key)
    variables.update(written)
    return outputs, variables


def everything_mutable(model, variables, x, key):
    return passed(model, variables, x, key, mutable=True)


def unfolded(weight, channels, height, width):
    return weight.reshape(-1, channels, height, width)


def outputs_inside(*args):
    return unfolded(*args).transpose(2, 3, 0, 1).reshape(-1, 5)


def by_indices(weight, channels, height, width):
    where = np.arange(channels * height * width).reshape(channels, height, width)
    return jnp.asarray(weight.T)[where.transpose(1, 2, 0).reshape(-1)]


def under_jax_jit(model, x):
    return jax.jit(lambda model, x: model(x))(model, x)


def without_keys(model, x):
    graph, state = nnx.split(model)

    @jax.jit
    def run(state, x):
        inside = nnx.merge(graph, state)
        return inside(x), nnx.state(inside, nnx.BatchStat)

    outputs, stats = run(state, x)
    nnx.update(model, stats)
    return outputs


def by_returning(model, x):
    outputs, new = jax.jit(lambda model, x: (model(x), model))(model, x)
    nnx.update(model, nnx.state(new))
    return outputs


def nnx_jitted(model, x):
    return nnx.jit(lambda model, x: model(x))(model, x)


WRONG = {
    "stateful-layers/1": [
        (only_written, "lack 'params'"),
        (old_variables, "are thrown away"),
        (no_key, "InvalidRngError"),
        (key_inside, "not those that the key gives"),
        (evaluating, "no unit was dropped"),
        (written_into, "make a new dict"),
        (lambda *args: passed(*args)[0], "should return a pair"),
    ],
    "stateful-layers/2": [
        (lambda weight, *shape: weight.T, "transposed only"),
        (lambda weight, *shape: weight, "has the shape (inputs, outputs)"),
        (
            lambda *args: unfolded(*args).transpose(3, 2, 1, 0).reshape(-1, 5),
            "rows and columns of the image",
        ),
        (outputs_inside, "outputs differ from PyTorch's"),
        (lambda weight, *shape: [weight, [1]], "an array of numbers"),
    ],
    "stateful-layers/3": [
        (under_jax_jit, "the running mean is still 0"),
        (lambda model, x: model(x), "was not called under jit"),
        (without_keys, "drops the same units"),
        (lambda model, x: jax.jit(model)(x), "TraceContextError"),
        (lambda model, x: (model(x), model), "should return the outputs"),
    ],
}
RIGHT = [
    ("stateful-layers/1", everything_mutable),
    ("stateful-layers/2", by_indices),
    ("stateful-layers/3", nnx_jitted),
    ("stateful-layers/3", by_returning),
]
