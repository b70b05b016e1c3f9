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


def state(seed, tx=ADAM, width=8):
    return xor.create_state(seed, xor.Classifier(width), tx)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    stepped, _ = xor.train_step(state(1), *xor.XorData(128, seed=0)[:])
    path = tmp_path_factory.mktemp("checkpoints") / "c"
    xor.save(path, stepped)
    return path, stepped


def test_what_is_saved_comes_back_in_the_same_types(saved):
    path, stepped = saved
    into = state(2)
    restored = xor.restore(path, into)
    assert jax.tree.structure(restored) == jax.tree.structure(into)
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, restored.params, stepped.params)))
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, restored.opt_state, stepped.opt_state)))
    assert type(restored.opt_state[0]) is type(stepped.opt_state[0])
    assert int(restored.step) == 1
    assert restored.tx is into.tx
    assert os.listdir(path.parent) == ["c"]


def test_a_relative_path_is_fine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    xor.save("c", state(1))
    restored = xor.restore("c", state(2))
    assert np.array_equal(restored.params["hidden"]["kernel"], state(1).params["hidden"]["kernel"])


def test_an_existing_folder_is_not_overwritten(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(ValueError, match="already exists"):
        xor.save(tmp_path / "mine", state(1))
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        xor.restore(tmp_path / "nowhere", state(1))


@pytest.mark.parametrize("other", [optax.sgd(0.1), optax.adamw(0.01)])
def test_another_optimizer_is_refused(saved, other):
    with pytest.raises(ValueError, match="tree structures do not match"):
        xor.restore(saved[0], state(1, other))


@pytest.mark.parametrize("width", [4, 16])
def test_another_width_is_refused(saved, width):
    # In a process of its own: after this error, Orbax leaves coroutines whose event loop is
    # closed, and the warnings about them come when they are collected, in any later test.
    code = (
        "import optax; from jaxbits import xor;"
        f"state = xor.create_state(1, xor.Classifier({width}), optax.adam(0.01));"
        f"xor.restore({str(saved[0])!r}, state)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert "ValueError: Requested shape: " in run.stderr
    assert "is not compatible with the stored shape: " in run.stderr


def test_an_optimizer_whose_state_has_the_same_fields_is_restored_without_an_error(saved):
    path, stepped = saved
    restored = xor.restore(path, state(1, optax.adabelief(0.01)))
    assert type(restored.opt_state[0]) is not type(stepped.opt_state[0])
    assert np.array_equal(
        restored.opt_state[0].mu["hidden"]["bias"], stepped.opt_state[0].mu["hidden"]["bias"]
    )
