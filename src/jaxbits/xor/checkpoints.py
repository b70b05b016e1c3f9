"""Checkpoints by Orbax: saved whole or not at all, restored into the right types."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import jax

from jaxbits.xor.state import TrainState

_FORMAT = "jaxbits.xor.TrainState"
_MANIFEST = "manifest.json"
_ARRAYS = "arrays"


class CheckpointError(Exception):
    """A checkpoint is missing, damaged, or not one of this state; the message says which."""


def save(path: str | os.PathLike[str], state: TrainState) -> None:
    """Save a state: parameters, optimiser state, step, and the sums of the epoch.

    The checkpoint is written beside its place and moved there when it is complete, so that
    whoever breaks it off finds the old one, if there was one, and never half of one.

    Args:
        path: the folder to make, relative or not; ``~`` is your home. A folder that is a
            checkpoint already is replaced.
        state: any `TrainState`. Its functions (model and optimiser) are code and are not saved.

    Raises:
        CheckpointError: when `path` is there and is not a checkpoint of this module.
    """
    import orbax.checkpoint as ocp

    final = _place(path)
    if final.exists():
        _manifest(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    fresh, old = (final.with_name(f".{final.name}.{uuid.uuid4().hex[:8]}") for _ in range(2))
    try:
        with ocp.StandardCheckpointer() as checkpointer:
            checkpointer.save(fresh / _ARRAYS, _arrays(state))
            checkpointer.wait_until_finished()  # saving goes on in a thread
        manifest = {"format": _FORMAT, "tree": _form(state), "leaves": _leaves(_arrays(state))}
        (fresh / _MANIFEST).write_text(json.dumps(manifest, indent=1), "utf8")
        if final.exists():
            final.rename(old)
        fresh.rename(final)
    finally:
        if old.exists() and not final.exists():
            old.rename(final)
        shutil.rmtree(old, ignore_errors=True)
        shutil.rmtree(fresh, ignore_errors=True)


def restore(path: str | os.PathLike[str], state: TrainState) -> TrainState:
    """Return a state with the numbers of a checkpoint and the functions of `state`.

    Args:
        path: a folder made by `save`.
        state: one of the same model and optimiser; it gives the types to restore into. Without
            it the optimiser state would come back as plain dicts and lists. Learning rates and
            schedules are code: they are those of `state`, and are not compared, and neither are
            optimisers that keep the same state, as radam does that of adam.

    Returns:
        A new state; `state` stays as it is.

    Raises:
        CheckpointError: when there is no checkpoint, when it is another program's, when it is
            damaged, or when its arrays are not those of `state`: the first that differs is named.
    """
    import orbax.checkpoint as ocp

    place = _place(path)
    manifest = _manifest(place)
    target = _arrays(state)
    stored, wanted = manifest["leaves"], _leaves(target)
    for name in sorted(stored.keys() | wanted.keys()):
        if stored.get(name) != wanted.get(name):
            raise CheckpointError(
                f"{place}: {name} is {stored.get(name, 'not there')} in the checkpoint and "
                f"{wanted.get(name, 'not there')} in the state to restore into"
            )
    if manifest["tree"] != _form(state):
        raise CheckpointError(
            f"{place}: the checkpoint is of another optimiser or model: {manifest['tree']}, and "
            f"the state to restore into is {_form(state)}"
        )
    try:
        with ocp.StandardCheckpointer() as checkpointer:
            abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, target)
            arrays = checkpointer.restore(place / _ARRAYS, abstract)
    except Exception as error:  # Orbax raises many kinds for files that are gone or cut short
        first = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise CheckpointError(f"{place} is damaged: {first}") from error
    return state.replace(**arrays)


def _arrays(state: TrainState) -> dict[str, Any]:
    return {
        "params": state.params,
        "opt_state": state.opt_state,
        "step": state.step,
        "sums": state.sums,
    }


def _place(path: str | os.PathLike[str]) -> Path:
    place = Path(path).expanduser().absolute()  # Orbax refuses relative paths, in another thread
    for folder in (place, *place.parents):
        if folder.is_file():
            raise CheckpointError(f"{folder} is a file; a checkpoint is a folder")
    return place


def _form(state: TrainState) -> str:
    """The types around the arrays, as text: NamedTuples of the optimiser by their names."""
    return str(jax.tree.structure((state.params, state.opt_state)))


def _leaves(tree: Any) -> dict[str, str]:
    """Name each leaf by its path, with its dtype and shape: ``float32[2, 8]``."""
    leaves = jax.tree.leaves_with_path(tree)
    return {jax.tree_util.keystr(path): f"{x.dtype}{list(x.shape)}" for path, x in leaves}


def _manifest(place: Path) -> dict[str, Any]:
    if not place.exists():
        raise CheckpointError(f"{place} is not there")
    try:
        manifest: dict[str, Any] = json.loads((place / _MANIFEST).read_text("utf8"))
    except FileNotFoundError:
        raise CheckpointError(f"{place} is no checkpoint of jaxbits.xor: no {_MANIFEST}") from None
    except (json.JSONDecodeError, UnicodeDecodeError, NotADirectoryError) as error:
        raise CheckpointError(f"{place} is damaged: {_MANIFEST} cannot be read") from error
    keys = {"format", "tree", "leaves"}
    if not isinstance(manifest, dict) or not keys <= manifest.keys():
        raise CheckpointError(f"{place} is damaged: {_MANIFEST} lacks {', '.join(sorted(keys))}")
    if manifest["format"] != _FORMAT:
        raise CheckpointError(f"{place} is no checkpoint of jaxbits.xor: another format")
    return manifest
