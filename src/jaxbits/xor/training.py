"""Training: one step, a loop over a loader, and the whole training as one compiled program."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax

from jaxbits.xor.checks import whole_number
from jaxbits.xor.data import XorData
from jaxbits.xor.losses import accuracy, mean_loss
from jaxbits.xor.shuffle import shuffled
from jaxbits.xor.state import TrainState, no_sums


@dataclass(frozen=True)
class History:
    """Mean loss and accuracy over the batches of each epoch, float32 of shape (epochs,)."""

    loss: npt.NDArray[np.float32]
    accuracy: npt.NDArray[np.float32]


def step_of(state: TrainState, inputs: jax.Array, labels: jax.Array) -> TrainState:
    """Return the state after one batch: the pure function that `train_step` compiles.

    Args:
        state: what the last step returned.
        inputs: float32 of shape (batch, 2).
        labels: integers 0 or 1, of shape (batch,).
    """

    def loss_of(params: Any) -> tuple[jax.Array, jax.Array]:
        logits = state.apply_fn({"params": params}, inputs)
        return mean_loss(logits, labels), accuracy(logits, labels)

    (loss, share), grads = jax.value_and_grad(loss_of, has_aux=True)(state.params)
    stepped = state.apply_gradients(grads=grads)
    return stepped.replace(sums=state.sums + jnp.stack([loss, share, jnp.float32(1)]))


train_step = functools.partial(jax.jit, donate_argnums=0)(step_of)
"""One compiled training step, ``(state, inputs, labels) -> state``; the old state is donated."""


def fit(
    state: TrainState, loader: Any, *, epochs: int, first_epoch: int = 0, progress: bool = True
) -> tuple[TrainState, History]:
    """Train over a loader, one dispatched step a batch.

    Args:
        state: where to start; it stays as it is (the steps work on a copy).
        loader: of `train_loader`; its ``epoch`` is set before each epoch.
        epochs: how many to train in all.
        first_epoch: how many of them the state has behind it: 0, or where a checkpoint was made.
        progress: whether to show a bar, on stderr.

    Returns:
        The state after the last epoch, and the history of the epochs trained here.

    Raises:
        TypeError: when one of the numbers is not whole, or `loader` is no `Loader`.
        ValueError: when `first_epoch` does not lie between 0 and `epochs`, or the loader is empty.
    """
    whole_number("first_epoch", first_epoch, 0, whole_number("epochs", epochs, 0))
    if not (hasattr(loader, "epoch") and hasattr(loader, "__len__")):
        raise TypeError(
            f"loader={loader!r}: should have an epoch and a length, as xor.train_loader's has"
        )
    if not len(loader):
        raise ValueError("loader: should give at least one batch, gives none")
    state = jax.tree.map(jnp.copy, state)
    sums = []
    for epoch in _with_bar(range(first_epoch, epochs), progress):
        loader.epoch = epoch
        state = state.replace(sums=no_sums())
        for inputs, labels in loader:
            state = train_step(state, inputs, labels)
        # Not read here, which would wait for the last step. The next epoch begins with sums of its
        # own, so these are donated to nobody.
        sums.append(state.sums)
    return state, _history(np.array(jax.device_get(sums), np.float32).reshape(-1, 3))


def _with_bar(epochs: range, progress: bool) -> Iterable[int]:
    if not progress:
        return epochs
    from tqdm import tqdm

    bar: Iterable[int] = tqdm(epochs, unit="epoch")
    return bar


def _history(sums: npt.NDArray[np.float32]) -> History:
    """Turn the sums of each epoch, of shape (epochs, 3), into means."""
    return History(sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2])


def fit_on_device(
    state: TrainState, data: XorData, *, epochs: int, batch_size: int = 128, seed: int = 0
) -> tuple[TrainState, History]:
    """Train as one compiled program: a scan over epochs, in each a scan over batches.

    The data are moved to the device once; each epoch is shuffled there (see `shuffled`), and what
    does not fill a last batch is left out, as in `train_loader`.

    Args:
        state: where to start; it stays as it is.
        data: the data set.
        epochs: how many; each number compiles a program of its own.
        batch_size: samples in a batch.
        seed: of the shuffling.

    Returns:
        The state after the last epoch, and the history. Unlike `fit`, it has no first epoch: the
        order of a training that is broken in two is not that of a whole one.

    Raises:
        TypeError: when one of the numbers is not whole.
        ValueError: when `epochs` is below 1, or `batch_size` below 1 or above the number of
            samples.
    """
    whole_number("epochs", epochs, 1)
    whole_number("batch_size", batch_size, 1, len(data))
    key = jax.random.key(seed)
    state, sums = _train(state, data.inputs, data.labels, key, epochs, batch_size)
    return state, _history(np.asarray(sums))


@functools.partial(jax.jit, static_argnames=("epochs", "batch_size"))
def _train(
    state: TrainState,
    inputs: jax.Array,
    labels: jax.Array,
    key: jax.Array,
    epochs: int,
    batch_size: int,
) -> tuple[TrainState, jax.Array]:
    size = len(labels) // batch_size * batch_size

    def one_batch(state: TrainState, rows: jax.Array) -> tuple[TrainState, None]:
        return step_of(state, inputs[rows], labels[rows]), None

    def one_epoch(state: TrainState, key: jax.Array) -> tuple[TrainState, jax.Array]:
        order = shuffled(key, len(labels))[:size].reshape(-1, batch_size)
        state, _ = lax.scan(one_batch, state.replace(sums=no_sums()), order)
        return state, state.sums

    return lax.scan(one_epoch, state, jax.random.split(key, epochs))
