import collections
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jaxbits import xor  # noqa: E402


def test_the_data_are_seeded_and_labelled_by_their_corner():
    data = xor.XorData(200, seed=42)
    again = xor.XorData(200, seed=42)
    assert np.array_equal(data.inputs, again.inputs)
    corners = np.rint(data.inputs).astype(int)
    assert np.array_equal(corners[:, 0] ^ corners[:, 1], data.labels)
    assert 0.08 < (data.inputs - corners).std() < 0.12
    assert not np.array_equal(data.inputs, xor.XorData(200, seed=1).inputs)
    assert np.array_equal(xor.XorData(50, seed=3, std=0.0).inputs % 1, np.zeros((50, 2)))


def test_a_negative_spread_is_refused():
    with pytest.raises(ValueError, match=r"std=-1: should be a number"):
        xor.XorData(3, seed=0, std=-1)


def test_the_train_loader_has_one_shape_and_each_sample_once():
    data = xor.XorData(300, seed=0)
    batches = list(xor.train_loader(data, batch_size=128))
    assert [x.shape for x, _ in batches] == [(128, 2)] * 2
    assert all(isinstance(x, np.ndarray) and y.dtype == np.int32 for x, y in batches)
    rows = np.concatenate([x for x, _ in batches])
    assert len(np.unique(rows, axis=0)) == 256


@pytest.mark.parametrize("at_once", [1, 2, 32])
def test_the_order_is_that_of_seed_and_epoch_however_much_is_fetched_at_once(at_once):
    data = xor.XorData(300, seed=0)
    loader = xor.train_loader(data, batch_size=64, seed=7, at_once=at_once)
    assert len(loader) == len(list(loader)) == 4

    def labels(epoch):
        loader.epoch = epoch
        return np.concatenate([y for _, y in loader]).tolist()

    first = np.random.default_rng((7, 0)).permutation(300)[:256]
    assert labels(0) == data.labels[first].tolist() == labels(0)
    assert labels(1) != labels(0)


def test_each_pass_has_an_order_of_its_own_without_anyone_setting_it():
    loader = xor.train_loader(xor.XorData(300, seed=0), batch_size=64)
    passes = [np.concatenate([x for x, _ in loader]) for _ in range(2)]
    assert not np.array_equal(*passes)
    next(iter(loader))
    assert loader.epoch >= 2


def test_the_eval_loader_keeps_order_and_every_sample():
    data = xor.XorData(300, seed=0)
    loader = xor.eval_loader(data, batch_size=128)
    batches = list(loader)
    assert [len(y) for _, y in batches] == [128, 128, 44]
    assert len(loader) == 3
    assert np.array_equal(np.concatenate([x for x, _ in batches]), data.inputs)


def test_workers_are_started_afresh_and_load_no_jax():
    data = xor.XorData(64, seed=0)
    alone = list(xor.train_loader(data, batch_size=32))
    helped = list(xor.train_loader(data, batch_size=32, workers=1))
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(alone, helped, strict=True))
    code = "import sys, jaxbits.xor.data; print('jax' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("size", [0, 301])
def test_a_batch_size_out_of_range_is_named(size):
    with pytest.raises(ValueError, match=f"batch_size={size}: should be between 1 and 300"):
        xor.train_loader(xor.XorData(300, seed=0), batch_size=size)
    with pytest.raises(ValueError, match="at_once=0"):
        xor.train_loader(xor.XorData(300, seed=0), at_once=0)


def test_collate_keeps_the_structure_and_makes_numpy():
    samples = [(np.ones(2, np.float32), {"label": 1}), (np.zeros(2, np.float32), {"label": 0})]
    points, rest = xor.numpy_collate(samples)
    assert isinstance(points, np.ndarray)
    assert points.shape == (2, 2)
    assert rest["label"].tolist() == [1, 0]
    assert isinstance(xor.numpy_collate([[1, 2], [3, 4]]), list)
    pair = collections.namedtuple("pair", "x y")
    assert xor.numpy_collate([pair(1, 2), pair(3, 4)]).y.tolist() == [2, 4]
    with pytest.raises(TypeError, match="samples of type str"):
        xor.numpy_collate(["a", "b"])
