"""Test that detectors see state in objects of the standard library and in cached results."""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import mmap
import queue
import warnings
import zlib

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from PIL import Image

from jaxbits import audit, detect

log = logging.getLogger("tests.library_state")
digest = hashlib.sha256()
long_digest = hashlib.shake_128()
letters = queue.SimpleQueue()
letters.put("first")
history = ValueError("start")
cells = np.zeros(9).flat
entries = np.nditer(np.zeros(9))
bits = np.random.MT19937(1)
seeds = np.random.SeedSequence(1)
compressor = zlib.compressobj()
picture = Image.new("L", (2, 2))
turns = {"one": 1, "two": 2}


@functools.cache
def memory():
    return {}


@functools.cache
def numbers():
    return itertools.count()


@functools.lru_cache(maxsize=8)
def weights(count):
    return [1.0] * count


def set_level(x):
    logging.getLogger("tests.other_state").setLevel(logging.getLogger("tests").level + 1)
    return x


def toggle_logger(x):
    log.disabled = not log.disabled
    return x


def update_digest(x):
    digest.update(b"call")
    return x


def update_long_digest(x):
    long_digest.update(b"call")
    return x


def put(x):
    letters.put("call")
    return x


def note_in_error(x):
    history.args = (*history.args, "call")
    return x


def advance_flat(x):
    next(cells)
    return x


def draw_bits(x):
    bits.random_raw()
    return x


def spawn(x):
    seeds.spawn(1)
    return x


def reorder(x):
    first = next(iter(turns))
    turns[first] = turns.pop(first)
    return x


def compress(x):
    compressor.compress(b"call")
    return x


def paint(x):
    picture.putpixel((0, 0), picture.getpixel((0, 0)) + 1)
    return x


def note_in_default(x, *, seen=[]):  # noqa: B006 - the detector must find it
    seen.append("call")
    return x


def advance_nditer(x):
    next(entries)
    return x


def count_in_cache(x):
    memory()["calls"] = memory().get("calls", 0) + 1
    return x


def take_number(x):
    return x + next(numbers())


def weigh(x):
    return x * jnp.asarray(weights(3))


@pytest.mark.parametrize(
    ("fn", "message", "evidence"),
    [
        (set_level, "`logging.setLevel` runs only while JAX traces", "1 time"),
        (toggle_logger, "global `log` is changed", "disabled: False → True"),
        (update_digest, "global `digest` is changed", "'e3b0c442"),
        (update_long_digest, "global `long_digest` is changed", "'7f9c2ba4"),
    ],
)
def test_side_effect_reports_changed_loggers_and_hashes(monkeypatch, fn, message, evidence) -> None:
    monkeypatch.setitem(globals(), "digest", hashlib.sha256())
    monkeypatch.setitem(globals(), "long_digest", hashlib.shake_128())
    (found,) = detect.side_effect(fn, 1.0)
    assert message in found.message
    assert evidence in found.evidence
    assert (found.severity, found.subject != "output") == ("warning", True)


def test_audit_restores_settings_of_logger() -> None:
    log.isEnabledFor(logging.INFO)
    audit(toggle_logger, 1.0)
    assert not log.disabled
    audit(lambda x: log.setLevel(logging.DEBUG) or x, 1.0)
    assert log.level == logging.NOTSET
    assert not log.isEnabledFor(logging.DEBUG)


def test_side_effect_ignores_what_loggers_remember() -> None:
    def report(x):
        log.debug("a call")
        return x

    (found,) = detect.side_effect(report, 1.0)
    assert found.subject == "output"


def test_side_effect_reports_change_of_cached_result() -> None:
    memory.cache_clear()
    memory()
    (found,) = detect.side_effect(count_in_cache, 1.0)
    assert "`memory` is changed" in found.message


def read_library_objects():
    return letters.qsize(), history.args, str(bits.state), picture.tobytes(), list(turns)


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (put, "letters"),
        (note_in_error, "history"),
        (advance_flat, "cells"),
        (advance_nditer, "entries"),
        (draw_bits, "bits"),
        (spawn, "seeds"),
        (reorder, "turns"),
        (compress, "compressor"),
        (paint, "picture"),
        (note_in_default, "seen"),
    ],
)
def test_side_effect_reports_change_in_object_of_library(fn, name) -> None:
    before = read_library_objects()
    (finding,) = detect.side_effect(fn, 1.0)
    assert f"`{name}`" in finding.message
    assert read_library_objects() == before


@pytest.mark.parametrize(("fn", "cache"), [(count_in_cache, memory), (take_number, numbers)])
def test_side_effect_warns_that_new_cached_results_are_unknown(fn, cache) -> None:
    cache.cache_clear()
    with pytest.warns(UserWarning, match=f"new results in the cache of `{cache.__name__}`"):
        detect.side_effect(fn, 1.0)


def test_side_effect_trusts_cached_results_that_are_only_read() -> None:
    weights.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert detect.side_effect(weigh, 1.0) == []


tensors = {
    "tensor": torch.zeros(2),
    "column": torch.zeros(2, 3)[:, 1],
    "bfloat16": torch.zeros(2, dtype=torch.bfloat16),
    "parameter": torch.nn.Parameter(torch.zeros(1)),
    "boolean": torch.zeros(2, dtype=torch.bool),
}
generator = torch.Generator()
view = memoryview(bytearray(4))
mapped = mmap.mmap(-1, 4)


@pytest.mark.parametrize("name", tensors)
def test_side_effect_reports_and_undoes_change_of_tensor(name) -> None:
    tensor = tensors[name]

    def count(x):
        with torch.no_grad():
            tensor.add_(torch.ones_like(tensor))
        return x

    (found,) = detect.side_effect(count, 1.0)
    assert "`tensor` is changed" in found.message
    assert not tensor.any()


def draw(x):
    torch.rand(1, generator=generator)
    return x


def count_in_view(x):
    view[0] += 1
    return x


def count_in_map(x):
    mapped[0] += 1
    return x


@pytest.mark.parametrize("fn", [draw, count_in_view, count_in_map])
def test_side_effect_reports_and_undoes_change_of_foreign_buffer(fn) -> None:
    before = generator.get_state().tolist()
    assert len(detect.side_effect(fn, 1.0)) == 1
    assert (view[0], mapped[0], generator.get_state().tolist()) == (0, 0, before)


def test_side_effect_reports_and_undoes_draw_from_global_generator_of_torch() -> None:
    before = torch.get_rng_state().tolist()
    (found,) = detect.side_effect(lambda x: x * float(torch.rand(1)), 1.0)
    assert "`torch.random` runs only while JAX traces" in found.message
    assert torch.get_rng_state().tolist() == before


def test_side_effect_trusts_tensor_that_is_only_read() -> None:
    weights = torch.ones(3)
    assert detect.side_effect(lambda x: x * weights.numpy().sum(), 1.0) == []


def closed_image():
    image = Image.new("L", (2, 2))
    image.close()
    return image


def finished_compressor():
    finished = zlib.compressobj()
    finished.flush()
    return finished


def closed_nditer():
    iterator = np.nditer(np.zeros(2))
    iterator.close()
    return iterator


@pytest.mark.parametrize("make", [closed_image, finished_compressor, closed_nditer])
def test_side_effect_accepts_objects_that_can_no_longer_be_read(make) -> None:
    held = make()

    def name_kind(x):
        return x * len(type(held).__name__)

    assert detect.side_effect(name_kind, 1.0) == []


def test_side_effect_sees_that_image_gets_smaller() -> None:
    held = Image.new("L", (4, 4))

    def shrink(x):
        held.thumbnail((2, 2))
        return x

    assert detect.side_effect(shrink, 1.0)
