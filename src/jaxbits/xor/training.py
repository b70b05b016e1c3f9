"""Train and evaluate the classifier, with a loss, compiled steps, and loops over a loader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from flax import nnx
from flax.training.train_state import TrainState
from tqdm import tqdm

from jaxbits.xor._arguments import (
    check_int,
    check_linen_module,
    check_not_empty,
    check_optimizer,
    check_same_shape,
    check_seeded_loader,
)
from jaxbits.xor.model import NnxClassifier


def loss_and_accuracy(
    params: Any, apply_fn: Callable[..., jax.Array], inputs: jax.Array, labels: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the mean loss of a batch and the fraction of correct predictions.

    The loss is computed from the logits with `optax.sigmoid_binary_cross_entropy`, because taking
    the logarithm of a sigmoid can overflow.

    Args:
        params: The parameters of the model.
        apply_fn: The model's `apply` method, which maps {"params": params} and inputs to logits.
        inputs: The points, as float32[batch, 2].
        labels: The labels, 0 or 1, as int32[batch].

    Returns:
        The loss and the accuracy, as two float32 scalars.

    Raises:
        ValueError: If the logits do not have the same shape as the labels. Without this check,
            Optax would broadcast the two and compare every logit with every label.

    >>> logits = lambda variables, inputs: inputs[:, 0]
    >>> inputs, labels = jnp.array([[-1.0, 0.0], [2.0, 0.0]]), jnp.array([0, 0])
    >>> loss, accuracy = loss_and_accuracy({}, logits, inputs, labels)
    >>> float(accuracy)
    0.5
    """
    logits = apply_fn({"params": params}, inputs)
    check_same_shape("logits", logits, "labels", labels)
    losses = optax.sigmoid_binary_cross_entropy(logits, labels)
    return losses.mean(), jnp.mean((logits > 0) == labels)


def create_state(seed: int, model: Any, tx: optax.GradientTransformation) -> TrainState:
    """Return the initial train state, with new parameters, a new optimizer state, and step 0.

    Args:
        seed: The seed for initializing the parameters.
        model: A linen module that maps float32[batch, 2] to float32[batch].
        tx: The Optax optimizer.

    Returns:
        A Flax TrainState with float32 parameters.

    Raises:
        TypeError: If `seed` is not a whole number, if `model` is not a linen module, or if `tx` is
            not an Optax optimizer.

    >>> from jaxbits.xor import Classifier
    >>> state = create_state(0, Classifier(), optax.sgd(0.1))
    >>> state.params["hidden"]["kernel"].shape
    (2, 8)
    """
    check_int("seed", seed)
    check_linen_module("model", model)
    check_optimizer("tx", tx)
    variables = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    return TrainState.create(apply_fn=model.apply, params=variables["params"], tx=tx)


@jax.jit
def train_step(
    state: TrainState, inputs: jax.Array, labels: jax.Array
) -> tuple[TrainState, tuple[jax.Array, jax.Array]]:
    """Take one training step, and return the new state and the metrics from before the step.

    Args:
        state: The state before the step.
        inputs: The points, as float32[batch, 2].
        labels: The labels, 0 or 1, as int32[batch].

    Returns:
        The new state, and the pair (loss, accuracy) of float32 scalars.

    >>> from jaxbits.xor import Classifier, XorData
    >>> state = create_state(0, Classifier(), optax.sgd(0.1))
    >>> state, (loss, accuracy) = train_step(state, *XorData(128, seed=42)[:])
    >>> int(state.step), loss.dtype
    (1, dtype('float32'))
    """
    grad_fn = jax.value_and_grad(loss_and_accuracy, has_aux=True)
    metrics, grads = grad_fn(state.params, state.apply_fn, inputs, labels)
    return state.apply_gradients(grads=grads), metrics


def train(
    state: TrainState, loader: Any, epochs: int, first_epoch: int = 0
) -> tuple[TrainState, npt.NDArray[np.float32]]:
    """Train until a given number of epochs is complete, and show a progress bar.

    The order of the batches in an epoch depends only on the epoch's number. A run that is resumed
    at epoch 50 therefore sees the same batches as a run that was never interrupted.

    Args:
        state: The state to start from. It is not changed.
        loader: A loader with a `generator`, such as the one that `train_loader` returns.
        epochs: The total number of epochs, including those before `first_epoch`.
        first_epoch: The number of epochs that are already complete.

    Returns:
        The state after the last epoch, and the history as float32[epochs - first_epoch, 2]. Each
        row of the history contains the loss and the accuracy of one epoch, averaged over its
        batches.

    Raises:
        TypeError: If `epochs` or `first_epoch` is not a whole number, or if the loader has no
            generator.
        ValueError: If `first_epoch` is not between 0 and `epochs`, or if the loader has no batches.

    >>> from jaxbits.xor import Classifier, XorData, train_loader
    >>> state = create_state(0, Classifier(), optax.sgd(0.1))
    >>> state, history = train(state, train_loader(XorData(2500, seed=42)), epochs=2)
    >>> int(state.step), history.shape
    (38, (2, 2))
    """
    check_int("epochs", epochs, at_least=0)
    check_int("first_epoch", first_epoch, at_least=0, at_most=epochs)
    check_seeded_loader("loader", loader)
    history = []
    for epoch in tqdm(range(first_epoch, epochs)):
        loader.generator.manual_seed(epoch)  # shuffles each epoch differently
        metrics = []
        for inputs, labels in loader:
            state, batch_metrics = train_step(state, inputs, labels)
            metrics.append(batch_metrics)
        history.append(np.mean(jax.device_get(metrics), axis=0))
    return state, np.array(history)


@jax.jit
def eval_step(
    state: TrainState, inputs: jax.Array, labels: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the mean loss and the accuracy of one batch.

    Args:
        state: The state whose parameters are evaluated.
        inputs: The points, as float32[batch, 2].
        labels: The labels, 0 or 1, as int32[batch].

    Returns:
        The loss and the accuracy, as two float32 scalars.

    >>> from jaxbits.xor import Classifier, XorData
    >>> state = create_state(0, Classifier(), optax.sgd(0.1))
    >>> loss, accuracy = eval_step(state, *XorData(128, seed=42)[:])
    >>> 0 <= accuracy <= 1
    Array(True, dtype=bool)
    """
    return loss_and_accuracy(state.params, state.apply_fn, inputs, labels)


def evaluate(state: TrainState, loader: Iterable[tuple[Any, Any]]) -> npt.NDArray[np.float64]:
    """Return the mean loss and the accuracy over all samples from a loader.

    Each batch is weighted by its number of samples, so a smaller last batch does not count for too
    much, and the result does not depend on the batch size.

    Args:
        state: The state whose parameters are evaluated.
        loader: A loader that yields batches (inputs, labels), such as one from `eval_loader`.

    Returns:
        The loss and the accuracy, as float64[2].

    Raises:
        ValueError: If the loader has no batches.

    >>> from jaxbits.xor import Classifier, XorData, eval_loader
    >>> state = create_state(0, Classifier(), optax.sgd(0.1))
    >>> evaluate(state, eval_loader(XorData(500, seed=123))).shape
    (2,)
    """
    check_not_empty("loader", loader)
    total, count = np.zeros(2), 0
    for inputs, labels in loader:
        total += len(labels) * np.array(eval_step(state, inputs, labels))
        count += len(labels)
    return total / count


@nnx.jit
def nnx_train_step(
    model: NnxClassifier, optimizer: nnx.Optimizer[Any], inputs: jax.Array, labels: jax.Array
) -> jax.Array:
    """Update an nnx model and its optimizer with one batch, and return the loss before the step.

    Args:
        model: The model, whose parameters are updated.
        optimizer: The model's optimizer, whose state is updated.
        inputs: The points, as float32[batch, 2].
        labels: The labels, 0 or 1, as int32[batch].

    Returns:
        The mean loss, as a float32 scalar.

    >>> from jaxbits.xor import XorData
    >>> model = NnxClassifier(rngs=nnx.Rngs(0))
    >>> optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    >>> inputs, labels = XorData(128, seed=42)[:]
    >>> first, second = (nnx_train_step(model, optimizer, inputs, labels) for _ in range(2))
    >>> bool(second < first)
    True
    """

    def loss_of(model: NnxClassifier) -> jax.Array:
        logits = model(inputs)
        check_same_shape("logits", logits, "labels", labels)
        return optax.sigmoid_binary_cross_entropy(logits, labels).mean()

    loss, grads = nnx.value_and_grad(loss_of)(model)
    optimizer.update(model, grads)
    return loss
