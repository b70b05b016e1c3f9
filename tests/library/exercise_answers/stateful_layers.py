"""Answers to the exercises of *Stateful layers*: foreseen mistakes, and other right ones."""

import flax
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


def in_the_other_order(model, variables, x, key):
    outputs, written = passed(model, variables, x, key)
    return outputs, {**written, **variables}


def with_a_part_of_the_key(model, variables, x, key):
    outputs, written = passed(model, variables, x, jax.random.split(key)[0])
    return outputs, {**variables, **written}


def not_mutable(model, variables, x, key):
    return passed(model, variables, x, key, mutable=False), variables


def the_mode_forgotten(model, variables, x, key):
    outputs, written = model.apply(variables, x, mutable=["batch_stats"], rngs={"dropout": key})
    return outputs, {**variables, **written}


def variables_first(model, variables, x, key):
    outputs, written = passed(model, variables, x, key)
    return {**variables, **written}, outputs


def statistics_only(model, variables, x, key):
    outputs, written = passed(model, variables, x, key)
    return outputs, {"params": variables["params"], "stats": written["batch_stats"]}


def frozen(model, variables, x, key):
    outputs, written = passed(model, variables, x, key, mutable="batch_stats", rngs=key)
    return outputs, flax.core.freeze({**variables, **written})


def joined(model, variables, x, key):
    outputs, written = passed(model, variables, x, key)
    return outputs, variables | written


def unfolded(weight, channels, height, width):
    return weight.reshape(-1, channels, height, width)


def outputs_inside(*args):
    return unfolded(*args).transpose(2, 3, 0, 1).reshape(-1, 5)


def by_indices(weight, channels, height, width):
    where = np.arange(channels * height * width).reshape(channels, height, width)
    return jnp.asarray(weight.T)[where.transpose(1, 2, 0).reshape(-1)]


def built_for_five(weight, channels, height, width):
    return weight.reshape(5, channels, height, width).transpose(2, 3, 1, 0).reshape(-1, 5)


def back_to_front(weight, channels, height, width):
    """The way from Flax's order to PyTorch's."""
    inputs = weight.T.reshape(height, width, channels, -1)
    return inputs.transpose(2, 0, 1, 3).reshape(weight.shape[::-1])


def inputs_last(*args):
    return unfolded(*args).transpose(0, 2, 3, 1).reshape(len(args[0]), -1)


def four_axes(*args):
    return unfolded(*args).transpose(2, 3, 1, 0)


def by_einsum(*args):
    return jnp.einsum("ochw->hwco", unfolded(*args)).reshape(-1, len(args[0]))


def state_left_inside(model, x):
    graph, state = nnx.split(model)
    return jax.jit(lambda state, x: nnx.merge(graph, state)(x))(state, x)


def state_thrown_away(model, x):
    graph, state = nnx.split(model)

    @jax.jit
    def run(state, x):
        inside = nnx.merge(graph, state)
        return inside(x), nnx.state(inside)

    return run(state, x)[0]


def model_by_name(model, x):
    return jax.jit(lambda x: model(x))(x)


def eagerly_as_well(model, x):
    outputs = nnx.jit(lambda model, x: model(x))(model, x)
    model(x)
    return outputs


def by_splitting_again(model, x):
    graph, state = nnx.split(model)

    def run(state, x):
        inside = nnx.merge(graph, state)
        return inside(x), nnx.split(inside)[1]

    outputs, state = jax.jit(run)(state, x)
    nnx.update(model, state)
    return outputs


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
        (old_variables, "discards the ones that apply returns"),
        (no_key, "InvalidRngError"),
        (key_inside, "the outputs do not match the key for the stream 'dropout'"),
        (evaluating, "no unit was dropped"),
        (written_into, "return a new dict"),
        (
            in_the_other_order,
            "the statistics are unchanged, because your function discards the ones that apply "
            "returns",
        ),
        (with_a_part_of_the_key, "the outputs do not match the key for the stream 'dropout'"),
        (not_mutable, "ModifyScopeVariableError"),
        (the_mode_forgotten, "missing 1 required positional argument: 'train'"),
        (variables_first, "the first result must be the outputs, an array of shape (32, 8)"),
        (statistics_only, "lack 'batch_stats'"),
        (
            lambda *args: passed(*args)[0],
            "your function must return a pair of the outputs and the variables for the next pass",
        ),
    ],
    "stateful-layers/2": [
        (
            lambda weight, *shape: weight.T,
            "your function only transposes the weight, so its rows are still in PyTorch's input "
            "order",
        ),
        (lambda weight, *shape: weight, "has the shape (inputs, outputs)"),
        (
            lambda *args: unfolded(*args).transpose(3, 2, 1, 0).reshape(-1, 5),
            "your function swaps the rows and the columns of the image",
        ),
        (outputs_inside, "outputs differ from PyTorch's"),
        (built_for_five, "raises ValueError"),
        (back_to_front, "outputs differ from PyTorch's"),
        (inputs_last, "it must be (24, 5), got (5, 24)"),
        (four_axes, "it must be (24, 5), got (2, 4, 3, 5)"),
        (lambda weight, *shape: [weight, [1]], "an array of numbers"),
    ],
    "stateful-layers/3": [
        (under_jax_jit, "the running mean is still 0"),
        (lambda model, x: model(x), "your function does not call the model under jit"),
        (
            state_left_inside,
            "the running mean is still 0, because the changes that the model made under jit are "
            "lost",
        ),
        (
            state_thrown_away,
            "the running mean is still 0, because the changes that the model made under jit are "
            "lost",
        ),
        (model_by_name, "Pass the model as an argument"),
        (lambda model, x: nnx.jit(model)(x), "TraceContextError"),
        (eagerly_as_well, "but also without jit"),
        (without_keys, "drops the same units"),
        (lambda model, x: jax.jit(model)(x), "TraceContextError"),
        (
            lambda model, x: (model(x), model),
            "your function must return the outputs of the model, an array of shape (16, 3)",
        ),
    ],
}
RIGHT = [
    ("stateful-layers/1", everything_mutable),
    ("stateful-layers/1", frozen),
    ("stateful-layers/1", joined),
    ("stateful-layers/2", by_einsum),
    ("stateful-layers/3", by_splitting_again),
    ("stateful-layers/2", by_indices),
    ("stateful-layers/3", nnx_jitted),
    ("stateful-layers/3", by_returning),
]
