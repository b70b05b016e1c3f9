"""Test the dataset and the data loaders of the XOR classifier."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader  # noqa: E402

from jaxbits import xor  # noqa: E402
from jaxbits.xor.variants.faster import WholeBatches  # noqa: E402


def test_xor_data_is_seeded_and_labeled_by_corner():
    data = xor.XorData(200, seed=42)
    again = xor.XorData(200, seed=42)
    assert np.array_equal(data.inputs, again.inputs)
    corners = np.rint(data.inputs).astype(int)
    assert np.array_equal(corners[:, 0] ^ corners[:, 1], data.labels)
    assert 0.08 < (data.inputs - corners).std() < 0.12
    assert not np.array_equal(data.inputs, xor.XorData(200, seed=1).inputs)
    assert np.array_equal(xor.XorData(50, seed=3, std=0.0).inputs % 1, np.zeros((50, 2)))


@pytest.mark.parametrize("make_loader", [xor.train_loader, xor.faster_loader])
def test_train_loaders_yield_full_batches_without_repeats(make_loader):
    loader = make_loader(xor.XorData(300, seed=0), batch_size=128)
    batches = list(loader)
    assert len(loader) == 2
    assert [x.shape for x, _ in batches] == [(128, 2)] * 2
    assert all(isinstance(x, np.ndarray) and y.dtype == np.int32 for x, y in batches)
    rows = np.concatenate([x for x, _ in batches])
    assert len(np.unique(rows, axis=0)) == 256


def labels_of(loader, seed):
    loader.generator.manual_seed(seed)
    return [y.tolist() for _, y in loader]


@pytest.mark.parametrize("at_once", [1, 2, 32])
def test_faster_loader_yields_same_batches_as_train_loader(at_once):
    data = xor.XorData(300, seed=0)
    plain = xor.train_loader(data, batch_size=64)
    faster = xor.faster_loader(data, batch_size=64, at_once=at_once)
    assert labels_of(plain, 0) == labels_of(faster, 0) == labels_of(plain, 0)
    assert labels_of(plain, 1) == labels_of(faster, 1) != labels_of(plain, 0)


def test_train_loader_without_seed_reshuffles_each_epoch():
    loader = xor.train_loader(xor.XorData(300, seed=0), batch_size=64)
    epochs = [np.concatenate([x for x, _ in loader]) for _ in range(2)]
    assert not np.array_equal(*epochs)


def test_eval_loader_keeps_order_and_every_sample():
    data = xor.XorData(300, seed=0)
    loader = xor.eval_loader(data, batch_size=128)
    batches = list(loader)
    assert [len(y) for _, y in batches] == [128, 128, 44]
    assert len(loader) == 3
    assert np.array_equal(np.concatenate([x for x, _ in batches]), data.inputs)


def test_workers_load_same_batches_without_importing_jax():
    data = xor.XorData(64, seed=0)
    options = {"batch_size": 32, "collate_fn": xor.numpy_collate}
    without_workers = list(DataLoader(data, **options))
    with_workers = list(DataLoader(data, num_workers=1, multiprocessing_context="spawn", **options))
    assert all(
        np.array_equal(a[0], b[0]) for a, b in zip(without_workers, with_workers, strict=True)
    )
    code = (
        "import sys, jaxbits.xor.data; from jaxbits.xor import XorData, numpy_collate;"
        "print('jax' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_whole_batches_is_indexed_once_per_batch():
    sizes = []

    class RecordingBatches(WholeBatches):
        def __getitems__(self, indices):
            sizes.append(len(indices))
            return super().__getitems__(indices)

    loader = DataLoader(
        RecordingBatches(xor.XorData(100, seed=0)), 40, collate_fn=lambda batch: batch
    )
    assert [x.shape for x, _ in loader] == [(40, 2), (40, 2), (20, 2)]
    assert sizes == [40, 40, 20]


def test_numpy_collate_returns_tuple_and_keeps_dtypes():
    samples = [(np.ones((28, 28), np.uint8), np.int64(1)), (np.zeros((28, 28), np.uint8), 0)]
    batch = xor.numpy_collate(samples)
    assert isinstance(batch, tuple)
    assert [(type(x), x.shape, x.dtype.name) for x in batch] == [
        (np.ndarray, (2, 28, 28), "uint8"),
        (np.ndarray, (2,), "int64"),
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: xor.XorData(0, 0), "size must be at least 1, got 0"),
        (lambda d: xor.XorData(True, 0), "size must be a whole number, got True"),
        (lambda d: xor.XorData(3, seed=1.5), "seed must be a whole number, got 1.5"),
        (lambda d: xor.XorData(3, seed=-1), "seed must be at least 0, got -1"),
        (lambda d: xor.XorData(3, 1, std=-1), "std must be at least 0, got -1"),
        (lambda d: xor.XorData(3, 1, std=float("nan")), "std must be finite, got nan"),
        (lambda d: xor.XorData(3, 1, std="a"), "std must be a number, got 'a'"),
        (lambda d: xor.train_loader(d, 0), "batch_size must be between 1 and 300, got 0"),
        (lambda d: xor.train_loader(d, 301), "batch_size must be between 1 and 300, got 301"),
        (lambda d: xor.train_loader(d, 64.0), "batch_size must be a whole number, got 64.0"),
        (lambda d: xor.eval_loader(d, 0), "batch_size must be at least 1, got 0"),
        (lambda d: xor.faster_loader(d, 301), "batch_size must be between 1 and 300, got 301"),
        (lambda d: xor.faster_loader(d, at_once=0), "at_once must be at least 1, got 0"),
        (lambda d: xor.numpy_collate([]), "the length of samples must be at least 1, got 0"),
    ],
)
def test_xor_data_functions_name_invalid_argument(call, message):
    with pytest.raises((TypeError, ValueError)) as raised:
        call(xor.XorData(300, seed=0))
    assert str(raised.value) == message


def test_xor_public_names_exist_and_have_docstrings():
    for name in xor.__all__:
        assert inspect.getdoc(getattr(xor, name))
    assert dir(xor) == sorted(xor.__all__)
    with pytest.raises(AttributeError, match="no attribute 'fit'"):
        _ = xor.fit
