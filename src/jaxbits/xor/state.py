"""What a training step carries from one call to the next."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from flax.training import train_state

from jaxbits.xor.checks import whole_number
from jaxbits.xor.model import WIDTH, Classifier


def no_sums() -> npt.NDArray[np.float32]:
    """Return the sums of no batch: loss, accuracy and number of batches, float32 of shape (3,)."""
    return np.zeros(3, np.float32)


class TrainState(train_state.TrainState):
    """Flax's train state (step, params, opt_state, apply_fn, tx) with the sums of the epoch.

    Attributes:
        sums: float32 of shape (3,): the losses and the accuracies of the epoch's batches so far,
            added up, and how many those were. They stay on the device: reading them waits for the
            step, adding to them does not.
    """

    sums: jax.Array


_SGD = optax.sgd(0.1)  # made once: another one, even if equal, would be traced again


@functools.cache
def _apply_of(model: Any) -> Callable[..., jax.Array]:
    """Return the model's apply as a plain function, one for each model.

    Every dispatch compares the state's static parts. For a bound method such as ``model.apply``
    that means to hash and compare the module field by field, in Python, on each step.
    """

    def apply(variables: Any, inputs: jax.Array) -> jax.Array:
        logits: jax.Array = model.apply(variables, inputs)
        return logits

    return apply


def create_state(
    seed: int = 0,
    *,
    width: int = WIDTH,
    tx: optax.GradientTransformation | None = None,
    model: Any = None,
) -> TrainState:
    """Return the state before the first step.

    Args:
        seed: of the parameters.
        width: hidden units of the model, where none is given.
        tx: the optimiser; plain SGD with a learning rate of 0.1 where none is given.
        model: a linen module from (batch, 2) to (batch,); `Classifier(width)` where none is given.

    Raises:
        TypeError: when `width` or `seed` is not a whole number, or `tx` is no optimiser of Optax.
        ValueError: when `width` is below 1.

    Returns:
        A state with float32 parameters, step 0 and empty sums.

    >>> jax.tree.map(jnp.shape, create_state().params)["hidden"]["kernel"]
    (2, 8)
    """
    whole_number("width", width, 1)
    if tx is not None and not hasattr(tx, "init"):
        raise TypeError(f"tx={tx!r}: should be an optimiser of Optax, such as optax.sgd(0.1)")
    model = Classifier(width) if model is None else model
    variables = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    state: TrainState = TrainState.create(
        apply_fn=_apply_of(model),
        params=variables["params"],
        tx=_SGD if tx is None else tx,
        sums=jnp.asarray(no_sums()),
    )
    # A Python 0 would fill a second entry of the step's cache.
    return state.replace(step=jnp.zeros((), jnp.int32))
