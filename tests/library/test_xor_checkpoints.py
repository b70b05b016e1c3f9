"""Test saving and restoring checkpoints of the XOR classifier."""

import os
import subprocess
import sys

import jax
import numpy as np
import optax
import pytest

pytest.importorskip("orbax.checkpoint")

from jaxbits import xor

ADAM = optax.adam(0.01)


def initial_state(seed, tx=ADAM, width=8):
    return xor.create_state(seed, xor.Classifier(width), tx)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    saved_state, _ = xor.train_step(initial_state(1), *xor.XorData(128, seed=0)[:])
    path = tmp_path_factory.mktemp("checkpoints") / "c"
    xor.save(path, saved_state)
    return path, saved_state


def test_restore_returns_saved_values_and_types(checkpoint):
    path, saved_state = checkpoint
    target = initial_state(2)
    restored = xor.restore(path, target)
    assert jax.tree.structure(restored) == jax.tree.structure(target)
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, restored.params, saved_state.params)))
    assert all(
        jax.tree.leaves(jax.tree.map(np.array_equal, restored.opt_state, saved_state.opt_state))
    )
    assert type(restored.opt_state[0]) is type(saved_state.opt_state[0])
    assert int(restored.step) == 1
    assert restored.tx is target.tx
    assert os.listdir(path.parent) == ["c"]


def test_save_and_restore_accept_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    xor.save("c", initial_state(1))
    restored = xor.restore("c", initial_state(2))
    assert np.array_equal(
        restored.params["hidden"]["kernel"], initial_state(1).params["hidden"]["kernel"]
    )


def test_save_does_not_overwrite_existing_folder(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(ValueError, match="already exists"):
        xor.save(tmp_path / "mine", initial_state(1))
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"


def test_restore_names_missing_checkpoint(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        xor.restore(tmp_path / "nowhere", initial_state(1))


@pytest.mark.parametrize("optimizer", [optax.sgd(0.1), optax.adamw(0.01)])
def test_restore_rejects_state_from_different_optimizer(checkpoint, optimizer):
    with pytest.raises(ValueError, match="tree structures do not match"):
        xor.restore(checkpoint[0], initial_state(1, optimizer))


@pytest.mark.parametrize("width", [4, pytest.param(16, marks=pytest.mark.slow)])
def test_restore_rejects_model_with_different_width(checkpoint, width):
    # This code runs in a new process, because after the error, Orbax leaves behind coroutines whose
    # event loop is closed. Python warns when it collects them, possibly during a later test. The
    # message goes to standard output, because Orbax's threads write to standard error meanwhile.
    code = f"""
import optax
from jaxbits import xor

state = xor.create_state(1, xor.Classifier({width}), optax.adam(0.01))
try:
    xor.restore({str(checkpoint[0])!r}, state)
except ValueError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.startswith("Requested shape: ")
    assert "is not compatible with the stored shape: " in run.stdout


def test_restore_accepts_optimizer_whose_state_has_same_fields(checkpoint):
    path, saved_state = checkpoint
    restored = xor.restore(path, initial_state(1, optax.adabelief(0.01)))
    assert type(restored.opt_state[0]) is not type(saved_state.opt_state[0])
    assert np.array_equal(
        restored.opt_state[0].mu["hidden"]["bias"], saved_state.opt_state[0].mu["hidden"]["bias"]
    )
