"""Save and restore checkpoints of a train state with Orbax."""

from __future__ import annotations

import os
from pathlib import Path

import orbax.checkpoint as ocp
from flax.training.train_state import TrainState


def save(path: str | os.PathLike[str], state: TrainState) -> None:
    """Save the parameters, the optimizer state, and the step of a train state.

    Orbax writes to a temporary folder next to `path` and renames the folder when it is complete, so
    an interrupted call never leaves a partial checkpoint behind.

    Args:
        path: The folder to create. Orbax accepts only absolute paths, so this function makes a
            relative path absolute.
        state: The state to save. The model and the optimizer are code, so they are not saved.

    Raises:
        ValueError: If `path` already exists.

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
    """Return a train state with the arrays from a checkpoint and the same types as `state`.

    Args:
        path: A folder that `save` wrote.
        state: A state of the same model and optimizer. It is not changed. Orbax compares only the
            names and shapes in the two trees. For example, it restores an `optax.adam` state into
            an `optax.adabelief` state without an error, because both have the fields `count`, `mu`,
            and `nu`.

    Returns:
        A new state with the same `apply_fn` and `tx` as `state`.

    Raises:
        FileNotFoundError: If there is no checkpoint at `path`.
        ValueError: If the structure or a shape in the checkpoint differs from that in `state`.

    For an example, see `save`.
    """
    with ocp.StandardCheckpointer() as checkpointer:
        return checkpointer.restore(Path(path).absolute(), state)
