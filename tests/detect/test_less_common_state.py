"""Test that detectors see state in less common objects, or say that they cannot read it."""

from __future__ import annotations

import contextlib
import decimal
import functools
import gc
import io
import itertools
import math
import pickle
import random
import re
import struct

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from scipy import sparse

from jaxbits import detect

pairs = np.broadcast(np.arange(9), 0)
table = sparse.dok_matrix((2, 2))
rows = sparse.lil_matrix((1, 1))
boxes = np.array([[], None], dtype=object)
slope = torch.ones((), requires_grad=True)
fixed = torch.ones(())
bound = functools.partial(max, 1, key=None)
letters = re.finditer("a", "aaaa")
records = struct.iter_unpack("b", b"aaaa")
pickler = pickle.Pickler(io.BytesIO())
generator = np.random.default_rng(0)
filled = []
fill = functools.partial(filled.append, "call")


precision = decimal.Context(prec=1)
zeros = [0.0] * 99
unknown = [math.nan] * 99
following = itertools.count().__next__
advance = functools.partial(next, itertools.count())


async def count_up():
    number = 0
    while True:
        number += 1
        yield number


async def pause_forever():
    number = 0
    while True:
        number += 1
        await Pause()


class Pause:
    def __await__(self):
        yield


ticks = count_up()
task = pause_forever()
task.send(None)  # Python warns if a coroutine never starts.


class Shelf(dict):
    opened = 0


class Row(list):
    pass


shelf = Shelf(a=1)
row = Row([1])


def advance_pairs(x):
    next(pairs)
    return x


def fill_table(x):
    table[0, 0] += 1
    return x


def fill_rows(x):
    rows[0, 0] += 1
    return x


def fill_box(x):
    boxes[0].append("call")
    return x


def accumulate(x):
    (2 * slope).backward()
    return x


def record_gradients(x):
    fixed.requires_grad_(not fixed.requires_grad)
    return x


def count_in_subclass(x):
    shelf.opened = vars(shelf).get("opened", 0) + 1
    return x


def count_in_list(x):
    vars(row)["opened"] = vars(row).get("opened", 0) + 1
    return x


def bind(x):
    bound.keywords["call"] = bound.keywords.get("call", 0) + 1
    return x


def switch_collector(x):
    gc.disable() if gc.isenabled() else gc.enable()
    return x


def spawn(x):
    generator.spawn(1)
    return x


def tick(x):
    with contextlib.suppress(StopIteration):
        ticks.asend(None).send(None)
    return x


def go_on(x):
    task.send(None)
    return x


def set_buffer(x):
    np.setbufsize(np.getbufsize() + 16)
    return x


def set_error_call(x):
    np.seterrcall(None if np.geterrcall() else print)
    return x


def fill_partially(x):
    fill()
    return x


def find_letter(x):
    next(letters)
    return x


def unpack_record(x):
    next(records)
    return x


def pickle_object(x):
    pickler.dump(object())
    return x


def raise_precision(x):
    precision.prec += 1
    return x * precision.prec


def negate_zero(x):
    found = sum(math.copysign(1.0, zero) < 0 for zero in zeros)
    zeros[found] = -0.0
    return x * found


def replace_nan(x):
    found = sum(number == number for number in unknown)
    unknown[found] = 1.0
    return x * found


def call_bound_next(x):
    return x * following()


def call_partial_next(x):
    return x * advance()


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (raise_precision, "`precision`"),
        (negate_zero, "`zeros"),
        (replace_nan, "`unknown"),
        (call_bound_next, "`following`"),
        (call_partial_next, "of a partial"),
        (advance_pairs, "`pairs`"),
        (fill_table, "`table"),
        (fill_rows, "`rows"),
        (fill_box, "`boxes"),
        (accumulate, "`slope`"),
        (record_gradients, "`fixed`"),
        (count_in_subclass, "`shelf"),
        (count_in_list, "`row"),
        (bind, "partial"),
        (switch_collector, "`gc.disable`"),
        (spawn, "`generator"),
        (fill_partially, "`append of a partial`"),
        (tick, "`ticks"),
        (go_on, "`task"),
        (set_buffer, "`np.setbufsize`"),
        (set_error_call, "`np.seterrcall`"),
    ],
)
def test_side_effect_reports_change(fn, name) -> None:
    messages = [found.message for found in detect.side_effect(fn, 1.0)]
    assert any(name in message for message in messages), messages


def test_side_effect_restores_what_it_can() -> None:
    was_on = gc.isenabled()
    for fn in (fill_table, accumulate, record_gradients, count_in_subclass, bind, switch_collector):
        detect.side_effect(fn, 1.0)
    assert table.nnz == 0
    assert (slope.grad, fixed.requires_grad, gc.isenabled()) == (None, False, was_on)
    assert (vars(shelf), bound.keywords) == ({}, {"key": None})


@pytest.mark.parametrize(
    ("fn", "gap"),
    [
        (find_letter, "how far the callable_iterator `letters` advances is unknown"),
        (unpack_record, "how far the unpack_iterator `records` advances is unknown"),
        (pickle_object, "what `pickler.dump` changes is unknown"),
    ],
)
def test_side_effect_warns_about_state_that_only_c_code_can_read(fn, gap) -> None:
    with pytest.warns(UserWarning, match="may have missed something") as warned:
        detect.side_effect(fn, 1.0)
    assert any(gap in str(warning.message) for warning in warned)


def test_side_effect_says_nothing_about_patterns_and_dtypes() -> None:
    pattern, kind, order = re.compile("a"), np.dtype("float32"), struct.Struct("b")

    def measure(x):
        assert pattern.match("a")
        return x * kind.itemsize * order.size + jnp.zeros((), kind.newbyteorder("="))

    assert detect.side_effect(measure, 1.0) == []


system_random = random.SystemRandom()


def test_detectors_accept_a_generator_without_state() -> None:
    def increased(x):
        return x + 1 if system_random else x

    def scaled(x):
        return x * system_random.random()

    assert detect.side_effect(increased, jnp.ones(3)) == []
    assert detect.recompile(increased, jnp.ones(3)) == []
    (finding,) = detect.side_effect(scaled, jnp.ones(3))
    assert "`random.random` runs only while JAX traces" in finding.message
