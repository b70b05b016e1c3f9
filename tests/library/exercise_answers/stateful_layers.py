"""Right and wrong answers to the exercises on stateful layers."""

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


def apply_model(model, variables, x, key, **changed):
    options = {"train": True, "mutable": ["batch_stats"], "rngs": {"dropout": key}, **changed}
    return model.apply(variables, x, **options)


def return_updates_only(model, variables, x, key):
    return apply_model(model, variables, x, key)


def return_old_variables(model, variables, x, key):
    return apply_model(model, variables, x, key)[0], variables


def pass_no_key(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, key, rngs={})
    return outputs, {**variables, **updates}


def ignore_key(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, jax.random.key(0))
    return outputs, {**variables, **updates}


def apply_in_eval_mode(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, key, train=False)
    return outputs, {**variables, **updates}


def modify_variables(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, key)
    variables.update(updates)
    return outputs, variables


def make_all_mutable(model, variables, x, key):
    return apply_model(model, variables, x, key, mutable=True)


def merge_in_wrong_order(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, key)
    return outputs, {**updates, **variables}


def split_key_first(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, jax.random.split(key)[0])
    return outputs, {**variables, **updates}


def make_nothing_mutable(model, variables, x, key):
    return apply_model(model, variables, x, key, mutable=False), variables


def omit_train(model, variables, x, key):
    outputs, updates = model.apply(variables, x, mutable=["batch_stats"], rngs={"dropout": key})
    return outputs, {**variables, **updates}


def return_variables_first(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, key)
    return {**variables, **updates}, outputs


def rename_batch_stats(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, key)
    return outputs, {"params": variables["params"], "stats": updates["batch_stats"]}


def return_frozen_dict(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, key, mutable="batch_stats", rngs=key)
    return outputs, flax.core.freeze({**variables, **updates})


def merge_with_operator(model, variables, x, key):
    outputs, updates = apply_model(model, variables, x, key)
    return outputs, variables | updates


def unflatten_weight(weight, channels, height, width):
    return weight.reshape(-1, channels, height, width)


def swap_outputs_and_channels(*args):
    return unflatten_weight(*args).transpose(2, 3, 0, 1).reshape(-1, 5)


def use_index_array(weight, channels, height, width):
    where = np.arange(channels * height * width).reshape(channels, height, width)
    return jnp.asarray(weight.T)[where.transpose(1, 2, 0).reshape(-1)]


def assume_five_outputs(weight, channels, height, width):
    return weight.reshape(5, channels, height, width).transpose(2, 3, 1, 0).reshape(-1, 5)


def convert_flax_to_pytorch(weight, channels, height, width):
    """Convert in the wrong direction, from Flax's layout to PyTorch's."""
    inputs = weight.T.reshape(height, width, channels, -1)
    return inputs.transpose(2, 0, 1, 3).reshape(weight.shape[::-1])


def put_inputs_last(*args):
    return unflatten_weight(*args).transpose(0, 2, 3, 1).reshape(len(args[0]), -1)


def return_four_axes(*args):
    return unflatten_weight(*args).transpose(2, 3, 1, 0)


def use_einsum(*args):
    return jnp.einsum("ochw->hwco", unflatten_weight(*args)).reshape(-1, len(args[0]))


def keep_state_inside_jit(model, x):
    graph, state = nnx.split(model)
    return jax.jit(lambda state, x: nnx.merge(graph, state)(x))(state, x)


def discard_state(model, x):
    graph, state = nnx.split(model)

    @jax.jit
    def run(state, x):
        inside = nnx.merge(graph, state)
        return inside(x), nnx.state(inside)

    return run(state, x)[0]


def capture_model(model, x):
    return jax.jit(lambda x: model(x))(x)


def call_without_jit_too(model, x):
    outputs = nnx.jit(lambda model, x: model(x))(model, x)
    model(x)
    return outputs


def split_twice(model, x):
    graph, state = nnx.split(model)

    def run(state, x):
        inside = nnx.merge(graph, state)
        return inside(x), nnx.split(inside)[1]

    outputs, state = jax.jit(run)(state, x)
    nnx.update(model, state)
    return outputs


def use_jax_jit(model, x):
    return jax.jit(lambda model, x: model(x))(model, x)


def return_batch_stats_only(model, x):
    graph, state = nnx.split(model)

    @jax.jit
    def run(state, x):
        inside = nnx.merge(graph, state)
        return inside(x), nnx.state(inside, nnx.BatchStat)

    outputs, stats = run(state, x)
    nnx.update(model, stats)
    return outputs


def return_model(model, x):
    outputs, new = jax.jit(lambda model, x: (model(x), model))(model, x)
    nnx.update(model, nnx.state(new))
    return outputs


def use_nnx_jit(model, x):
    return nnx.jit(lambda model, x: model(x))(model, x)


WRONG = {
    "stateful-layers/1": [
        (return_updates_only, "lack 'params'"),
        (return_old_variables, "discards the ones that apply returns"),
        (pass_no_key, "InvalidRngError"),
        (
            ignore_key,
            "the outputs differ from those for the given key; pass it for the stream 'dropout'",
        ),
        (apply_in_eval_mode, "no unit was dropped"),
        (modify_variables, "return a new dict"),
        (
            merge_in_wrong_order,
            "the statistics are unchanged, because your function discards the ones that apply "
            "returns",
        ),
        (
            split_key_first,
            "the outputs differ from those for the given key; pass it for the stream 'dropout'",
        ),
        (make_nothing_mutable, "ModifyScopeVariableError"),
        (omit_train, "missing 1 required positional argument: 'train'"),
        (return_variables_first, "the first result must be the outputs, an array of shape (32, 8)"),
        (rename_batch_stats, "lack 'batch_stats'"),
        (
            lambda *args: apply_model(*args)[0],
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
            lambda *args: unflatten_weight(*args).transpose(3, 2, 1, 0).reshape(-1, 5),
            "your function swaps the rows and the columns of the image",
        ),
        (swap_outputs_and_channels, "outputs differ from PyTorch's"),
        (assume_five_outputs, "raises ValueError"),
        (convert_flax_to_pytorch, "outputs differ from PyTorch's"),
        (put_inputs_last, "its shape must be (24, 5), got (5, 24)"),
        (return_four_axes, "its shape must be (24, 5), got (2, 4, 3, 5)"),
        (lambda weight, *shape: [weight, [1]], "an array of numbers"),
    ],
    "stateful-layers/3": [
        (use_jax_jit, "the running mean is still 0"),
        (lambda model, x: model(x), "your function does not call the model under jit"),
        (
            keep_state_inside_jit,
            "the running mean is still 0, because the changes that the model made under jit are "
            "lost",
        ),
        (
            discard_state,
            "the running mean is still 0, because the changes that the model made under jit are "
            "lost",
        ),
        (capture_model, "Pass the model as an argument"),
        (lambda model, x: nnx.jit(model)(x), "TraceContextError"),
        (call_without_jit_too, "but also without jit"),
        (return_batch_stats_only, "drops the same units"),
        (lambda model, x: jax.jit(model)(x), "TraceContextError"),
        (
            lambda model, x: (model(x), model),
            "your function must return the model's outputs, an array of shape (16, 3)",
        ),
    ],
}
RIGHT = [
    ("stateful-layers/1", make_all_mutable),
    ("stateful-layers/1", return_frozen_dict),
    ("stateful-layers/1", merge_with_operator),
    ("stateful-layers/2", use_einsum),
    ("stateful-layers/3", split_twice),
    ("stateful-layers/2", use_index_array),
    ("stateful-layers/3", use_nnx_jit),
    ("stateful-layers/3", return_model),
]
