import os
import shutil
from pathlib import Path

import jax
import numpy as np
import optax
import pytest

pytest.importorskip("orbax.checkpoint")

from jaxbits import xor

# Orbax leaves a coroutine of a failed read behind, whose event loop is gone when it is collected.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def adam():
    return xor.create_state(1, tx=optax.adam(0.01))


def test_what_is_saved_comes_back_in_the_same_types(tmp_path, adam):
    xor.save(tmp_path / "c", adam)
    back = xor.restore(tmp_path / "c", xor.create_state(2, tx=adam.tx))
    assert jax.tree.structure(back) == jax.tree.structure(adam)
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, back, adam)))
    assert type(back.opt_state[0]) is type(adam.opt_state[0])
    assert os.listdir(tmp_path) == ["c"]


def test_a_relative_path_and_an_overwrite_are_fine(tmp_path, monkeypatch, adam):
    monkeypatch.chdir(tmp_path)
    xor.save("c", adam)
    other = xor.create_state(7, tx=adam.tx)
    xor.save("c", other)
    back = xor.restore("c", adam)
    assert np.array_equal(back.params["hidden"]["kernel"], other.params["hidden"]["kernel"])
    assert os.listdir(tmp_path) == ["c"]


def test_a_missing_checkpoint_is_named(tmp_path, adam):
    with pytest.raises(xor.CheckpointError, match="nowhere is not there"):
        xor.restore(tmp_path / "nowhere", adam)


def test_a_foreign_folder_is_neither_read_nor_replaced(tmp_path, adam):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    for use in (xor.restore, xor.save):
        with pytest.raises(xor.CheckpointError, match="is no checkpoint"):
            use(tmp_path / "mine", adam)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"


def test_another_model_or_optimiser_is_told_by_the_first_leaf_that_differs(tmp_path, adam):
    xor.save(tmp_path / "c", adam)
    with pytest.raises(xor.CheckpointError, match=r"\['opt_state'\].* not there"):
        xor.restore(tmp_path / "c", xor.create_state(1))
    wide = xor.create_state(1, width=16, tx=adam.tx)
    with pytest.raises(
        xor.CheckpointError, match=r"float32\[8\] in the checkpoint and float32\[16\]"
    ):
        xor.restore(tmp_path / "c", wide)


@pytest.mark.parametrize("other", [optax.adamw, optax.adabelief])
def test_an_optimiser_with_arrays_of_the_same_shapes_is_still_another(tmp_path, adam, other):
    xor.save(tmp_path / "c", adam)
    with pytest.raises(xor.CheckpointError, match=r"of another optimiser|in the checkpoint"):
        xor.restore(tmp_path / "c", xor.create_state(1, tx=other(0.01)))


def test_a_file_is_no_checkpoint_and_a_home_is_found(tmp_path, monkeypatch, adam):
    (tmp_path / "file").write_text("text")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(xor.CheckpointError, match="is a file"):
            xor.save(path, adam)
    monkeypatch.setenv("HOME", str(tmp_path))
    xor.save("~/c", adam)
    assert (tmp_path / "c" / "manifest.json").exists()


def test_a_manifest_of_nothing_is_damaged(tmp_path, adam):
    xor.save(tmp_path / "c", adam)
    (tmp_path / "c" / "manifest.json").write_text('{"format": "jaxbits.xor.TrainState"}')
    with pytest.raises(xor.CheckpointError, match="damaged"):
        xor.restore(tmp_path / "c", adam)


def test_half_a_checkpoint_is_damaged(tmp_path, adam):
    xor.save(tmp_path / "c", adam)
    shutil.copytree(tmp_path / "c", tmp_path / "d")
    shutil.copytree(tmp_path / "c", tmp_path / "e")
    manifest = tmp_path / "c" / "manifest.json"
    manifest.write_text(manifest.read_text()[:40])
    with pytest.raises(xor.CheckpointError, match="damaged"):
        xor.restore(tmp_path / "c", adam)
    shutil.rmtree(tmp_path / "d" / "arrays")
    with pytest.raises(xor.CheckpointError, match="damaged"):
        xor.restore(tmp_path / "d", adam)
    for file in (tmp_path / "e" / "arrays").rglob("d/*"):
        file.write_bytes(b"")
    with pytest.raises(xor.CheckpointError, match="damaged"):
        xor.restore(tmp_path / "e", adam)


def test_a_crash_while_saving_leaves_the_old_one(tmp_path, monkeypatch, adam):
    xor.save(tmp_path / "c", adam)
    monkeypatch.setattr("jaxbits.xor.checkpoints._leaves", lambda tree: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        xor.save(tmp_path / "c", xor.create_state(5, tx=adam.tx))
    monkeypatch.undo()
    back = xor.restore(tmp_path / "c", adam)
    assert np.array_equal(back.params["hidden"]["bias"], adam.params["hidden"]["bias"])
    assert os.listdir(tmp_path) == ["c"]


def test_broken_off_between_two_renames_the_old_one_is_still_in_its_place(
    tmp_path, monkeypatch, adam
):
    xor.save(tmp_path / "c", adam)
    rename, calls = Path.rename, []

    def broken_off(self, target):
        if self.parent != tmp_path:  # Orbax renames, too
            return rename(self, target)
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", broken_off)
    with pytest.raises(KeyboardInterrupt):
        xor.save(tmp_path / "c", xor.create_state(5, tx=adam.tx))
    monkeypatch.undo()
    back = xor.restore(tmp_path / "c", adam)
    assert np.array_equal(back.params["hidden"]["bias"], adam.params["hidden"]["bias"])
    assert os.listdir(tmp_path) == ["c"]
