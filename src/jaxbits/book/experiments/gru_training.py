"""Train a small GRU whose settings are numbers in a dict, for the experiment in chapter 18.

The GRU receives a tone and learns the response of a damped oscillator. For the input
``cos(t + phase)``, its target is ``exp(-gamma t) cos(omega t + phase + delta)``, plus some noise.
Each sequence has its own phase, which the network does not receive.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from jax import lax
from jax.flatten_util import ravel_pytree

SETTINGS: dict[str, dict[str, float]] = {
    "wave": {"gamma": 0.1, "delta": -3 * math.pi / 2, "omega": 0.7},
    "noise": {"scale": 0.02},
    "training": {"rate": 0.02},
}
STEPS, BATCH, LENGTH, WIDTH = 300, 16, 24, 12
WARMUP_STEPS = 2
"""How many initial time steps the loss skips, because one input does not determine the phase."""


Settings: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Groups of numbers of any numeric type, under the same names as in `SETTINGS`."""

State: TypeAlias = tuple[Any, Any]
"""The weights and the optimizer state."""


class Batch(NamedTuple):
    """The random numbers behind the inputs and targets of one batch, or of all batches.

    Attributes:
        phases: The phase of each sequence, [..., batch].
        noise: Noise with mean 0 and variance 1 for each target, [..., batch, time].
    """

    phases: Any
    noise: Any


class Model(nn.Module):
    """A GRU followed by a linear layer, with one input and one output per time step."""

    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, tones: jax.Array) -> jax.Array:
        """Return the outputs, [batch, time], for inputs of the same shape."""
        states = nn.RNN(nn.GRUCell(WIDTH, param_dtype=self.dtype))(tones[..., None])
        outputs: jax.Array = nn.Dense(1, param_dtype=self.dtype)(states)[..., 0]
        return outputs


class TrainingRun(NamedTuple):
    """The record of a training run.

    Attributes:
        losses: The loss before each step, [STEPS].
        weights: All weights after each step, [STEPS, weights].
        params: The weights after the last step, as a tree.
    """

    losses: jax.Array
    weights: jax.Array
    params: Any


def inputs(phases: jax.Array) -> jax.Array:
    """Return the input tones for the given phases, [batch, time], in the phases' dtype."""
    return jnp.cos(jnp.arange(LENGTH, dtype=phases.dtype) + phases[:, None])


def targets(settings: Settings, phases: jax.Array) -> jax.Array:
    """Return the noiseless responses of the oscillator to the tones for the given phases."""
    wave = settings["wave"]
    t = jnp.arange(LENGTH, dtype=phases.dtype)
    angle = wave["omega"] * t + phases[:, None] + wave["delta"]
    return jnp.exp(-wave["gamma"] * t) * jnp.cos(angle)


def loss(params: Any, settings: Settings, batch: Batch) -> jax.Array:
    """Return the model's mean squared error on a batch."""
    scale = settings["noise"]["scale"]
    noisy = targets(settings, batch.phases) + scale * batch.noise
    model = Model(batch.phases.dtype)
    outputs = model.apply({"params": params}, inputs(batch.phases))
    return jnp.mean((outputs - noisy)[:, WARMUP_STEPS:] ** 2)


def draw_batches(seed: int, dtype: Any = "float32") -> Batch:
    """Draw the random numbers for all batches of a run with NumPy."""
    generator = np.random.default_rng([seed, 1])
    phases = generator.uniform(0.0, 2 * np.pi, (STEPS, BATCH))
    noise = generator.normal(size=(STEPS, BATCH, LENGTH))
    return Batch(phases.astype(dtype), noise.astype(dtype))


def initial_state(seed: int, nudge: int = 0, dtype: Any = "float32") -> State:
    """Draw the initial weights for a seed with NumPy, and return them with Adam's state for them.

    Args:
        seed: The seed for the weights.
        nudge: If 1, replace the largest weight with the next larger number in its dtype.
        dtype: The dtype of the weights.
    """
    generator = np.random.default_rng([seed, 0])

    def draw(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        is_bias = len(shape) == 1
        scale = 0.0 if is_bias else shape[0] ** -0.5
        return generator.normal(0.0, scale, shape).astype(dtype)

    params = jax.tree.map(draw, _weight_shapes(), is_leaf=lambda node: isinstance(node, tuple))
    if nudge:
        matrix = max(jax.tree.leaves(params), key=np.max)
        largest = np.unravel_index(np.argmax(matrix), matrix.shape)
        matrix[largest] = np.nextafter(matrix[largest], matrix.dtype.type(np.inf))
    return params, optax.adam(0.0).init(params)


@functools.cache
def _weight_shapes() -> Any:
    tones = jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.float32)
    weights = jax.eval_shape(Model().init, jax.random.key(0), tones)["params"]
    return jax.tree.map(lambda weight: weight.shape, weights)


def train_step(state: State, settings: Settings, batch: Batch) -> tuple[State, jax.Array]:
    """Return the state after one step of Adam on one batch, and the loss before the step.

    Args:
        state: The weights and the optimizer state.
        settings: Numbers of any numeric type, under the same names as in `SETTINGS`.
        batch: The random numbers for the batch, in the dtype of the weights.
    """
    params, opt_state = state
    before, gradients = jax.value_and_grad(loss)(params, settings, batch)
    adam = optax.adam(settings["training"]["rate"])
    updates, opt_state = adam.update(gradients, opt_state)
    return (optax.apply_updates(params, updates), opt_state), before


def train(
    settings: Settings,
    seed: int,
    nudge: int = 0,
    *,
    dtype: Any = "float32",
    start: State | None = None,
) -> TrainingRun:
    """Train a model for `STEPS` steps in one compiled program, and return its record.

    Args:
        settings: Numbers of any numeric type, under the same names as in `SETTINGS`.
        seed: The seed for the weights and for all batches.
        nudge: If 1, change the last digit of one initial weight, as `initial_state` does.
        dtype: The dtype of the weights, the inputs, and the noise.
        start: The weights and the optimizer state to start from, instead of `initial_state`.
    """
    start = initial_state(seed, nudge, dtype) if start is None else start
    params, losses, weights = _run_steps(start, settings, draw_batches(seed, dtype))
    return TrainingRun(losses, weights, params)


@jax.jit
def _run_steps(
    state: State, settings: Settings, batches: Batch
) -> tuple[Any, jax.Array, jax.Array]:
    def body(state: State, batch: Batch) -> tuple[State, tuple[jax.Array, jax.Array]]:
        state, before = train_step(state, settings, batch)
        return state, (before, ravel_pytree(state[0])[0])

    (params, _), (losses, weights) = lax.scan(body, state, batches)
    return params, losses, weights


@jax.jit
def _final_answers(params: Any) -> jax.Array:
    """Return the outputs of a trained model for 100 phases, [100, LENGTH]."""
    dtype = jax.tree.leaves(params)[0].dtype
    phases = jnp.asarray(np.linspace(0.0, 2 * np.pi, 100, endpoint=False), dtype)
    answers: jax.Array = jnp.asarray(Model(dtype).apply({"params": params}, inputs(phases)))
    return answers


def r2_score(run: TrainingRun) -> float:
    """Return the R² of the final outputs for 100 phases, computed in NumPy.

    A perfect model scores 1, and a model that always returns the mean scores 0.
    """
    wave = SETTINGS["wave"]
    phases = np.linspace(0.0, 2 * np.pi, 100, endpoint=False)[:, None]
    t = np.arange(LENGTH)
    truth = np.exp(-wave["gamma"] * t) * np.cos(wave["omega"] * t + phases + wave["delta"])
    answers = np.asarray(_final_answers(run.params), np.float64)[:, WARMUP_STEPS:]
    truth = truth[:, WARMUP_STEPS:]
    return float(1 - ((answers - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())


def is_identical(one: TrainingRun, other: TrainingRun) -> bool:
    """Return whether two runs agree in every dtype and in every bit of every number."""
    return all(
        a.dtype == b.dtype and np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def relative_weight_distance(one: TrainingRun, other: TrainingRun) -> np.ndarray[Any, Any]:
    """Return the relative distance between the weights of two runs after each step, [STEPS].

    The distance is the norm of the difference, divided by the norm of the weights of `one`.
    """
    a, b = (np.asarray(run.weights, np.float64) for run in (one, other))
    distances: np.ndarray[Any, Any] = np.linalg.norm(a - b, axis=1) / np.linalg.norm(a, axis=1)
    return distances
