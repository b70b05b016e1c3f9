"""The exercises of chapter 16, stateful layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call


def training_pass(model: Any, variables: Any, x: jax.Array, key: jax.Array) -> Any:
    """Return the outputs of one pass in training mode, and the variables for the next one."""
    raise NotImplementedError


def solve_training_pass(model: Any, variables: Any, x: jax.Array, key: jax.Array) -> Any:
    """The key by the name of its stream; what was written comes beside the outputs."""
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
    """Ask for the outputs under two keys, and for what came of parameters and statistics."""
    model, key = _model(), jax.random.key(5)
    x = 3 * jax.random.normal(jax.random.key(1), (32, 8)) + 5
    variables = model.init(jax.random.key(0), x, train=False)
    before = copy.deepcopy(jax.device_get(variables))
    result = call(answer, model, variables, x, key)
    if not isinstance(result, tuple) or len(result) != 2:
        raise NotYet("it should return a pair: the outputs and the variables for the next pass")
    outputs, new = result
    if getattr(outputs, "shape", None) != x.shape:
        raise NotYet(f"the outputs come first and have the shape {x.shape}")
    wanted, kept = solve_training_pass(model, before, x, key)
    if not bool((np.asarray(outputs) == 0).any()):
        raise NotYet("no unit was dropped: the pass should be one in training mode")
    if not np.allclose(outputs, wanted, atol=1e-5):
        raise NotYet("the outputs are not those that the key gives for the stream 'dropout'")
    if not isinstance(new, dict) or "params" not in new:
        raise NotYet("the variables for the next pass lack 'params': apply returns what it wrote")
    if "batch_stats" not in new:
        raise NotYet("the variables for the next pass lack 'batch_stats'")
    if str(jax.tree.structure(new)) != str(jax.tree.structure(kept)):
        raise NotYet("the new variables should have the structure of the old ones")
    if not all(jax.tree.leaves(jax.tree.map(np.array_equal, new["params"], before["params"]))):
        raise NotYet("the parameters have changed: a pass trains nothing")
    stats = new["batch_stats"]["BatchNorm_0"]["mean"]
    if np.array_equal(stats, before["batch_stats"]["BatchNorm_0"]["mean"]):
        raise NotYet("the statistics are the old ones: those that apply returns are thrown away")
    if not np.allclose(stats, kept["batch_stats"]["BatchNorm_0"]["mean"], atol=1e-5):
        raise NotYet("the statistics are not those of one pass over x")
    if not all(jax.tree.leaves(jax.tree.map(np.array_equal, variables, before))):
        raise NotYet("the variables that were handed in have changed: make a new dict")
    call(jax.jit(lambda v, x, k: answer(model, v, x, k)), variables, x, key, how="under jit, ")


def kernel_after_flatten(
    weight: np.ndarray, channels: int, height: int, width: int
) -> np.ndarray | jax.Array:
    """Return the linen kernel for a PyTorch Linear that follows a Flatten of an image."""
    raise NotImplementedError


def solve_kernel_after_flatten(
    weight: np.ndarray, channels: int, height: int, width: int
) -> np.ndarray | jax.Array:
    """Unfold the inputs into (channel, row, column), reorder, fold again; outputs come last."""
    unfolded = weight.reshape(-1, channels, height, width)
    return unfolded.transpose(2, 3, 1, 0).reshape(height * width * channels, -1)


def verify_kernel_after_flatten(answer: Callable[..., Any]) -> None:
    """Compare the two layers on images that are not square, and say which mistake it looks like."""
    channels, height, width, outputs = 3, 2, 4, 5
    rng = np.random.default_rng(0)
    images = rng.normal(size=(6, channels, height, width)).astype(np.float32)
    weight = rng.normal(size=(outputs, channels * height * width)).astype(np.float32)
    wanted = images.reshape(6, -1) @ weight.T
    kernel = call(answer, weight, channels, height, width)
    shape = (channels * height * width, outputs)
    try:
        kernel = np.asarray(kernel, np.float32)
    except (TypeError, ValueError):
        raise NotYet("it should return an array of numbers") from None
    if kernel.shape != shape:
        raise NotYet(f"a linen kernel has the shape (inputs, outputs), here {shape}; "
                     f"this one has {kernel.shape}")  # fmt: skip
    if np.array_equal(kernel, weight.T):
        raise NotYet("it is transposed only: its rows are still in PyTorch's order of the inputs")
    if np.array_equal(
        kernel, weight.reshape(-1, channels, height, width).transpose(3, 2, 1, 0).reshape(shape)
    ):
        raise NotYet("rows and columns of the image have changed places")
    seen = images.transpose(0, 2, 3, 1).reshape(6, -1) @ kernel
    if not np.allclose(seen, wanted, atol=1e-4):
        off = float(np.abs(seen - wanted).max())
        raise NotYet(f"the shape is right, but outputs differ from PyTorch's by up to {off:.1f}")


def jitted_call(model: Any, x: jax.Array) -> Any:
    """Call an nnx model on x, compiled, so that it holds afterwards what an eager call leaves."""
    raise NotImplementedError


def solve_jitted_call(model: Any, x: jax.Array) -> Any:
    """Take the model apart, return its new state beside the outputs, and put that back."""
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
    """Compare with an eager twin: outputs, statistics, and whether it was traced at all."""
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
    twin, model = Model(nnx.Rngs(0)), Model(nnx.Rngs(0))
    wanted = [twin(x), twin(x)]
    traced.clear()
    seen = [call(answer, model, x)]
    if getattr(seen[0], "shape", None) != x.shape or not hasattr(seen[0], "dtype"):
        raise NotYet(f"it should return the outputs of the model, an array of shape {x.shape}")
    if not traced or not all(traced):
        raise NotYet("the model was not called under jit")
    if not np.allclose(seen[0], wanted[0], atol=1e-4):
        raise NotYet("the outputs are not those of an eager call of the same model")
    if np.array_equal(np.asarray(model.norm.mean[...]), np.zeros(3)):
        raise NotYet("the running mean is still 0: what the model wrote under jit is lost")
    seen.append(call(answer, model, x))
    if np.array_equal(np.asarray(seen[0]) == 0, np.asarray(seen[1]) == 0):
        raise NotYet("a second call drops the same units: the model's keys are not kept")
    mean = np.asarray(twin.norm.mean[...])
    if not np.allclose(model.norm.mean[...], mean, atol=1e-4):
        raise NotYet(
            f"after two calls the running mean is {np.asarray(model.norm.mean[...]).round(3)}, "
            f"two eager calls leave {mean.round(3)}"
        )
    if not np.allclose(seen[1], wanted[1], atol=1e-4):
        raise NotYet("the second call is not that of an eager model called twice")
    if not isinstance(model.norm.mean, nnx.BatchStat) or isinstance(
        model.norm.mean[...], jax.core.Tracer
    ):
        raise NotYet("the model should hold variables with arrays in them, as before")


EXERCISES = (
    Exercise(
        id="stateful-layers/1",
        title="one training pass",
        stub=training_pass,
        hints=(
            "apply wants three more things: the mode, the key, and leave to write.",
            "mutable=['batch_stats'] makes apply return a pair; rngs is a dict by stream.",
            "What apply returns second holds only what it wrote: {**variables, **written}.",
        ),
        verify=verify_training_pass,
        solution=solve_training_pass,
    ),
    Exercise(
        id="stateful-layers/2",
        title="a kernel after a flatten",
        stub=kernel_after_flatten,
        hints=(
            "A column of the weight belongs to one (channel, row, column) of the image.",
            "reshape the columns into these three axes, and bring the axes into Flax's order.",
            "weight.reshape(-1, channels, height, width).transpose(2, 3, 1, 0), then reshape.",
        ),
        verify=verify_kernel_after_flatten,
        solution=solve_kernel_after_flatten,
    ),
    Exercise(
        id="stateful-layers/3",
        title="a compiled call that is remembered",
        stub=jitted_call,
        hints=(
            "What changes inside of a compiled function leaves it by return only.",
            "nnx.split gives a description and a state, which is a tree of arrays; "
            "nnx.merge makes a model of both again.",
            "Return nnx.state(model_inside) beside the outputs, then nnx.update(model, state).",
        ),
        verify=verify_jitted_call,
        solution=solve_jitted_call,
    ),
)
