"""Checkpoints of a train state, written and read with Orbax."""

from __future__ import annotations

import os
from pathlib import Path

import orbax.checkpoint as ocp
from flax.training.train_state import TrainState


def save(path: str | os.PathLike[str], state: TrainState) -> None:
    """Save a train state: its parameters, its optimizer state, and its step.

    Orbax writes a temporary folder next to `path` and renames it when it is complete, so an
    interrupted call leaves no checkpoint that is half written.

    Args:
        path: The folder to create. Orbax accepts only absolute paths, so a relative one is made
            absolute here.
        state: The state. The model and the optimizer are code and are not saved.

    Raises:
        ValueError: If there is something at `path` already.

    >>> import tempfile
    >>> import optax
    >>> from jaxbits.xor import Classifier, create_state
    >>> state = create_state(0, Classifier(), optax.adam(0.01))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(f"{folder}/first", state)
    ...     restored = restore(f"{folder}/first", create_state(1, Classifier(), state.tx))
    >>> (restored.params["output"]["kernel"] == state.params["output"]["kernel"]).all()
    Array(True, dtype=bool)
    """
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(Path(path).absolute(), state)


def restore(path: str | os.PathLike[str], state: TrainState) -> TrainState:
    """Return a train state with the arrays of a checkpoint and the types of `state`.

    Args:
        path: A folder that `save` wrote.
        state: A state of the same model and optimizer, which is not changed. Orbax compares the
            names and the shapes of the two trees, and nothing else. The state of `optax.adam` can
            therefore be restored into that of `optax.adabelief`, because both have the fields
            `count`, `mu`, and `nu`.

    Returns:
        A new state. Its functions, `apply_fn` and `tx`, are those of `state`.

    Raises:
        FileNotFoundError: If there is no checkpoint at `path`.
        ValueError: If the checkpoint has another structure than `state`, or another shape.

    The example of `save` restores a checkpoint, too.
    """
    with ocp.StandardCheckpointer() as checkpointer:
        return checkpointer.restore(Path(path).absolute(), state)
