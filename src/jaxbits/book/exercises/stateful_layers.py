"""The exercises for chapter 16, stateful layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxbits.book.exercises.assertions import AnswerRejected, call, under_jit
from jaxbits.book.exercises.base import Exercise


def training_pass(model: Any, variables: Any, x: jax.Array, key: jax.Array) -> Any:
    """Return the outputs of one pass in training mode, and the variables for the next pass."""
    raise NotImplementedError


def solve_training_pass(model: Any, variables: Any, x: jax.Array, key: jax.Array) -> Any:
    """Let apply update the statistics, and merge them with the other variables."""
    outputs, written = model.apply(
        variables, x, train=True, mutable=["batch_stats"], rngs={"dropout": key}
    )
    return outputs, {**variables, **written}


def _model() -> Any:
    from flax import linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array, train: bool) -> Any:
            x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
            return nn.Dropout(0.5, deterministic=not train)(x)

    return Model()


def verify_training_pass(answer: Callable[..., Any]) -> None:
    """Check the outputs, the parameters, and the statistics after a pass."""
    from flax.core import FrozenDict, unfreeze

    model, key = _model(), jax.random.key(5)
    x = 3 * jax.random.normal(jax.random.key(1), (32, 8)) + 5
    variables = model.init(jax.random.key(0), x, train=False)
    before = copy.deepcopy(jax.device_get(variables))
    result = call(answer, model, variables, x, key)
    if not isinstance(result, tuple) or len(result) != 2:
        raise AnswerRejected(
            "your function must return a pair of the outputs and the variables for the next pass"
        )
    outputs, new = result
    if getattr(outputs, "shape", None) != x.shape:
        raise AnswerRejected(f"the first result must be the outputs, an array of shape {x.shape}")
    wanted, kept = solve_training_pass(model, before, x, key)
    if not bool((np.asarray(outputs) == 0).any()):
        raise AnswerRejected("no unit was dropped, so the pass was not in training mode")
    if not np.allclose(outputs, wanted, atol=1e-5):
        raise AnswerRejected(
            "the outputs differ from those for the given key; pass it for the stream 'dropout'"
        )
    if isinstance(new, FrozenDict):
        new = unfreeze(new)
    if not isinstance(new, dict) or "params" not in new:
        raise AnswerRejected(
            "the variables for the next pass lack 'params', because apply returns only the "
            "collections that it may change"
        )
    if "batch_stats" not in new:
        raise AnswerRejected("the variables for the next pass lack 'batch_stats'")
    if str(jax.tree.structure(new)) != str(jax.tree.structure(kept)):
        raise AnswerRejected("the new variables must have the same structure as the old ones")
    if not all(jax.tree.leaves(jax.tree.map(np.array_equal, new["params"], before["params"]))):
        raise AnswerRejected("the parameters have changed, but a pass must not train them")
    stats = new["batch_stats"]["BatchNorm_0"]["mean"]
    if np.array_equal(stats, before["batch_stats"]["BatchNorm_0"]["mean"]):
        raise AnswerRejected(
            "the statistics are unchanged, because your function discards the ones that apply "
            "returns"
        )
    if not np.allclose(stats, kept["batch_stats"]["BatchNorm_0"]["mean"], atol=1e-5):
        raise AnswerRejected("the statistics differ from those after one pass over x")
    if not all(jax.tree.leaves(jax.tree.map(np.array_equal, variables, before))):
        raise AnswerRejected(
            "your function modifies its variables argument in place; return a new dict"
        )
    jitted = under_jit(answer, static=(0,))
    call(answer, model, variables, x, key, how="under jit, ", through=jitted)


def kernel_after_flatten(
    weight: np.ndarray, channels: int, height: int, width: int
) -> np.ndarray | jax.Array:
    """Return a linen kernel for the weight of a PyTorch Linear layer that follows Flatten."""
    raise NotImplementedError


def solve_kernel_after_flatten(
    weight: np.ndarray, channels: int, height: int, width: int
) -> np.ndarray | jax.Array:
    """Split the inputs into channel, row, and column, reorder them, and put the outputs last."""
    unfolded = weight.reshape(-1, channels, height, width)
    return unfolded.transpose(2, 3, 1, 0).reshape(height * width * channels, -1)


def verify_kernel_after_flatten(answer: Callable[..., Any]) -> None:
    """Compare the Linear and linen layers on images of two sizes, and recognize common mistakes."""
    rng = np.random.default_rng(0)
    # Images that are not square reveal swapped axes, and two sizes reveal a hard-coded one.
    for channels, height, width, outputs in ((3, 2, 4, 5), (2, 3, 2, 4)):
        images = rng.normal(size=(6, channels, height, width)).astype(np.float32)
        weight = rng.normal(size=(outputs, channels * height * width)).astype(np.float32)
        wanted = images.reshape(6, -1) @ weight.T
        what = f"for images of shape ({channels}, {height}, {width}) and {outputs} outputs"
        kernel = call(answer, weight, channels, height, width)
        shape = (channels * height * width, outputs)
        try:
            kernel = np.asarray(kernel, np.float32)
        except (TypeError, ValueError):
            raise AnswerRejected("your function must return an array of numbers") from None
        if kernel.shape != shape:
            raise AnswerRejected(
                "a linen kernel has the shape (inputs, outputs). "
                f"{what[0].upper()}{what[1:]}, its shape must be {shape}, got {kernel.shape}"
            )
        if np.array_equal(kernel, weight.T):
            raise AnswerRejected(
                "your function only transposes the weight, so its rows are still "
                "in PyTorch's input order: channel, row, column"
            )
        swapped = weight.reshape(-1, channels, height, width).transpose(3, 2, 1, 0).reshape(shape)
        if np.array_equal(kernel, swapped):
            raise AnswerRejected("your function swaps the rows and the columns of the image")
        seen = images.transpose(0, 2, 3, 1).reshape(6, -1) @ kernel
        if not np.allclose(seen, wanted, atol=1e-4):
            off = float(np.abs(seen - wanted).max())
            raise AnswerRejected(
                f"{what}, the kernel has the right shape, but the outputs differ from "
                f"PyTorch's by up to {off:.1f}"
            )


def jitted_call(model: Any, x: jax.Array) -> Any:
    """Return an nnx model's outputs under jit, and update the model as an eager call would."""
    raise NotImplementedError


def solve_jitted_call(model: Any, x: jax.Array) -> Any:
    """Split the model, return its new state with the outputs, and write the state back."""
    from flax import nnx

    graph, state = nnx.split(model)

    @jax.jit
    def run(state: Any, x: jax.Array) -> Any:
        inside = nnx.merge(graph, state)
        outputs = inside(x)
        return outputs, nnx.state(inside)

    outputs, state = run(state, x)
    nnx.update(model, state)
    return outputs


def verify_jitted_call(answer: Callable[..., Any]) -> None:
    """Compare the outputs, statistics, and dropout masks with those of an eager model."""
    from flax import nnx

    traced = []

    class Model(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.norm = nnx.BatchNorm(3, momentum=0.9, rngs=rngs)
            self.drop = nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x: jax.Array) -> Any:
            traced.append(isinstance(x, jax.core.Tracer))
            return self.drop(self.norm(x))

    x = jax.random.normal(jax.random.key(1), (16, 3)) + 2
    model = Model(nnx.Rngs(0))
    seen = [call(answer, model, x)]
    if getattr(seen[0], "shape", None) != x.shape or not hasattr(seen[0], "dtype"):
        raise AnswerRejected(
            f"your function must return the model's outputs, an array of shape {x.shape}"
        )
    if not any(traced):
        raise AnswerRejected("your function does not call the model under jit")
    if not all(traced):
        raise AnswerRejected("your function calls the model under jit, but also without jit")
    twin = Model(nnx.Rngs(0))
    wanted = [twin(x), twin(x)]
    if not np.allclose(seen[0], wanted[0], atol=1e-4):
        raise AnswerRejected("the outputs differ from those of an eager call to the same model")
    if np.array_equal(np.asarray(model.norm.mean[...]), np.zeros(3)):
        raise AnswerRejected(
            "the running mean is still 0, because the changes that the model made under jit "
            "are lost"
        )
    seen.append(call(answer, model, x))
    if np.array_equal(np.asarray(seen[0]) == 0, np.asarray(seen[1]) == 0):
        raise AnswerRejected(
            "a second call drops the same units, because the model's random state is "
            "not written back"
        )
    mean = np.asarray(twin.norm.mean[...])
    if not np.allclose(model.norm.mean[...], mean, atol=1e-4):
        raise AnswerRejected(
            "the running mean after two calls must equal the mean after two eager calls, which is "
            f"{mean.round(3)}; got {np.asarray(model.norm.mean[...]).round(3)}"
        )
    if not np.allclose(seen[1], wanted[1], atol=1e-4):
        raise AnswerRejected(
            "the outputs of a second call differ from those of a second eager call"
        )
    if not isinstance(model.norm.mean, nnx.BatchStat) or isinstance(
        model.norm.mean[...], jax.core.Tracer
    ):
        raise AnswerRejected("the model's variables no longer contain arrays")


EXERCISES = (
    Exercise(
        id="stateful-layers/1",
        title="one training pass",
        stub=training_pass,
        hints=(
            "Besides the variables and x, apply needs three arguments: the mode, the key, and the "
            "names of the collections that it may change.",
            "With mutable=['batch_stats'], apply returns a pair. Pass rngs, a dict that maps the "
            "name of each stream to a key.",
            "The second element of this pair contains only the new statistics, so merge them with "
            "the other variables: {**variables, **written}.",
        ),
        verify=verify_training_pass,
        solution=solve_training_pass,
    ),
    Exercise(
        id="stateful-layers/2",
        title="a kernel after a flatten",
        stub=kernel_after_flatten,
        hints=(
            "Each column of the weight belongs to one (channel, row, column) position in the "
            "image. Flax flattens these positions in another order, so a transpose alone is not "
            "enough.",
            "Split the weight's input axis into these three axes, and put them in Flax's order: "
            "row, column, channel.",
            "Compute weight.reshape(-1, channels, height, width).transpose(2, 3, 1, 0), and then "
            "reshape the result to (inputs, outputs).",
        ),
        verify=verify_kernel_after_flatten,
        solution=solve_kernel_after_flatten,
    ),
    Exercise(
        id="stateful-layers/3",
        title="a compiled call that keeps the model's state",
        stub=jitted_call,
        hints=(
            "Whatever changes inside a function compiled with jax.jit is lost unless the function "
            "returns it.",
            "nnx.split returns the structure of the model and its state, a tree of arrays. "
            "nnx.merge builds a model from these two parts.",
            "From the jitted function, return the outputs and the nnx.state of the merged model. "
            "Then call nnx.update(model, state). nnx.jit does all of this for you.",
        ),
        verify=verify_jitted_call,
        solution=solve_jitted_call,
    ),
)
