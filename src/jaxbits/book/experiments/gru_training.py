"""A small recurrent training whose settings are numbers in a dict: the experiment of chapter 18.

A GRU hears a tone and says what a damped oscillator answers: for the input cos(t + phase) it should
give exp(-gamma t) cos(omega t + phase + delta), with some noise. The phase is another one for each
sequence, and is nowhere given.
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
"""So many numbers are heard before an answer counts: a single one does not tell the phase."""


Settings: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Numbers of any kind in groups, with the names that `SETTINGS` has."""

State: TypeAlias = tuple[Any, Any]
"""The weights, and the state of the optimiser."""


class Model(nn.Module):
    """A GRU and a linear layer: from a number at each time to a number at each time."""

    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, heard: jax.Array) -> jax.Array:
        """Return what is answered at each time, for inputs of shape (batch, time)."""
        states = nn.RNN(nn.GRUCell(WIDTH, param_dtype=self.dtype))(heard[..., None])
        answer: jax.Array = nn.Dense(1, param_dtype=self.dtype)(states)[..., 0]
        return answer


class TrainingRun(NamedTuple):
    """What a training leaves: the loss before each step, all weights after it, the last answers."""

    losses: jax.Array
    weights: jax.Array
    answers: jax.Array


def heard(phases: jax.Array) -> jax.Array:
    """Return the tones of these phases, shape (batch, time), in the dtype of the phases."""
    return jnp.cos(jnp.arange(LENGTH, dtype=phases.dtype) + phases[:, None])


def wanted(settings: Settings, phases: jax.Array) -> jax.Array:
    """Return what the oscillator answers to these tones, without noise."""
    wave = settings["wave"]
    t = jnp.arange(LENGTH, dtype=phases.dtype)
    turned = wave["omega"] * t + phases[:, None] + wave["delta"]
    return jnp.exp(-wave["gamma"] * t) * jnp.cos(turned)


def loss(params: Any, settings: Settings, key: jax.Array, dtype: Any = jnp.float32) -> jax.Array:
    """Return the mean squared error of a model on a batch that the key draws."""
    for_phases, for_noise = jax.random.split(key)
    phases = jax.random.uniform(for_phases, (BATCH,), dtype, 0.0, 2 * math.pi)
    noise = jax.random.normal(for_noise, (BATCH, LENGTH), dtype)
    targets = wanted(settings, phases) + settings["noise"]["scale"] * noise
    answers = Model(dtype).apply({"params": params}, heard(phases))
    return jnp.mean((answers - targets)[:, WARMUP_STEPS:] ** 2)


def start(seed: int, nudge: int = 0, dtype: Any = "float32") -> State:
    """Return the first weights that a seed gives, and Adam's state for them.

    Args:
        seed: of the weights.
        nudge: where it is 1, the largest weight is moved to the next number that its dtype has:
            a change by one unit in the last place.
        dtype: of the weights.
    """
    state: State = _start(seed, nudge, dtype)
    return state


@functools.partial(jax.jit, static_argnames="dtype")
def _start(seed: Any, nudge: Any, dtype: Any) -> State:
    still = jnp.zeros((BATCH, LENGTH), dtype)
    flat, named = ravel_pytree(Model(dtype).init(jax.random.key(seed), still)["params"])
    largest = jnp.argmax(flat)
    nudged = jnp.nextafter(flat[largest], 2 * flat[largest])
    params = named(flat.at[largest].set(jnp.where(nudge, nudged, flat[largest])))
    state: State = (params, optax.adam(0.0).init(params))
    return state


def step(
    state: State, settings: Settings, key: jax.Array, dtype: Any = jnp.float32
) -> tuple[State, jax.Array]:
    """Take one step of Adam on one batch; return the new state, and the loss before it."""
    params, opt_state = state
    before, slopes = jax.value_and_grad(loss)(params, settings, key, dtype)
    adam = optax.adam(settings["training"]["rate"])
    updates, opt_state = adam.update(slopes, opt_state)
    return (optax.apply_updates(params, updates), opt_state), before


def train(settings: Settings, seed: int, nudge: int = 0, *, dtype: Any = "float32") -> TrainingRun:
    """Train a model for `STEPS` steps, all of them in one program.

    Args:
        settings: numbers of any kind, named as in `SETTINGS`.
        seed: of the first weights and of all batches.
        nudge: where it is 1, one of the first weights is moved by its last digit, see `start`.
        dtype: of the weights, the inputs, and the random numbers.
    """
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), 1), STEPS)
    params, losses, weights = _steps(start(seed, nudge, dtype), settings, keys, dtype)
    return TrainingRun(losses, weights, _answers(params, dtype))


@functools.partial(jax.jit, static_argnames="dtype")
def _steps(
    state: State, settings: Settings, keys: jax.Array, dtype: Any
) -> tuple[Any, jax.Array, jax.Array]:
    def scanned(state: State, key: jax.Array) -> tuple[State, tuple[jax.Array, jax.Array]]:
        state, before = step(state, settings, key, dtype)
        return state, (before, ravel_pytree(state[0])[0])

    (params, _), (losses, weights) = lax.scan(scanned, state, keys)
    return params, losses, weights


@functools.partial(jax.jit, static_argnames="dtype")
def _answers(params: Any, dtype: Any) -> jax.Array:
    answers: jax.Array = jnp.asarray(
        Model(dtype).apply({"params": params}, heard(_held_out(dtype)))
    )
    return answers


def _held_out(dtype: Any) -> jax.Array:
    phases: jax.Array = jnp.linspace(0.0, 2 * math.pi, 100, endpoint=False, dtype=dtype)
    return phases


def r2_score(run: TrainingRun) -> float:
    """Return the R² of a training's last answers on a hundred phases, computed in NumPy.

    One is perfect; zero is as good as the mean.
    """
    wave = SETTINGS["wave"]
    phases = np.linspace(0.0, 2 * np.pi, 100, endpoint=False)[:, None]
    t = np.arange(LENGTH)
    truth = np.exp(-wave["gamma"] * t) * np.cos(wave["omega"] * t + phases + wave["delta"])
    truth, answers = truth[:, WARMUP_STEPS:], np.asarray(run.answers, np.float64)[:, WARMUP_STEPS:]
    return float(1 - ((answers - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())


def is_identical(one: TrainingRun, other: TrainingRun) -> bool:
    """Return whether two trainings agree in dtype and in every bit of every number."""
    return all(
        a.dtype == b.dtype and np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(one, other, strict=True)
    )


def relative_weight_distance(one: TrainingRun, other: TrainingRun) -> np.ndarray[Any, Any]:
    """Return how far apart the weights are after each step, relative to their own size."""
    a, b = (np.asarray(run.weights, np.float64) for run in (one, other))
    distances: np.ndarray[Any, Any] = np.linalg.norm(a - b, axis=1) / np.linalg.norm(a, axis=1)
    return distances
