"""side_effect, stale_global, leak, iterator, inplace: the state is put back."""

from __future__ import annotations

import contextvars
import functools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import audit, detect
from jaxbits._analysis.source.rebinding import collect_evidence


@functools.lru_cache(maxsize=4)
def table(n):
    return jnp.arange(n)


@functools.cache
def numpy_table(n):
    return np.arange(n)


class Thing:
    __slots__ = ("count", "log")
    made = 0

    def __init__(self):
        self.count, self.log = 0, []


current: contextvars.ContextVar = contextvars.ContextVar("current", default=None)
space = types.SimpleNamespace()


def messy(thing, x):
    global new_while_tracing
    new_while_tracing = x
    thing.count += 1
    thing.log.append(x)
    thing.extra = None if hasattr(thing, "__dict__") else 1
    return x


def spread(thing, x):
    thing.count += 1
    thing.log.append(x)
    Thing.made += 1
    messy.mark = x
    space.first = x
    current.set(x)
    return x + table(3) + numpy_table(3)


@pytest.mark.parametrize("fn", [spread, messy])
def test_what_is_reached_is_put_back(fn):
    thing, x = Thing(), jnp.ones(3)
    table.cache_clear()
    numpy_table.cache_clear()
    audit(fn, thing, x)
    assert (thing.count, thing.log, Thing.made) == (0, [], 0)
    assert not hasattr(messy, "mark")
    assert "new_while_tracing" not in globals()
    assert vars(space) == {}
    assert current.get() is None
    float(table(3).sum())


def test_a_cache_of_arrays_is_kept():
    numpy_table.cache_clear()
    numpy_table(3)
    audit(lambda x: x + numpy_table(3), jnp.ones(3))
    assert numpy_table.cache_info().currsize == 1


def test_what_only_could_change_is_a_note():
    class Spring:
        def __init__(self):
            self.stiffness = 2.0

        def force(self, x):
            return -self.stiffness * x

    found = detect.stale_global(Spring().force, 1.0)
    assert [f.severity for f in found] == ["note"]


def test_names_bound_in_either_branch_are_bound_once():
    found = collect_evidence(("if 1:\n    a = 1\nelse:\n    a = 2\nfor b in c:\n    pass\n",))
    assert not found.is_rebound("a", 0)
    assert found.is_rebound("b", 0)


def test_a_source_that_is_no_python_says_nothing():
    assert collect_evidence(("%matplotlib inline", "a = 1")).events


def test_a_ref_is_read_at_each_call_and_not_stale():
    def counter():
        box = jax.new_ref(0.0)

        def add(value):
            box[...] += value
            return value

        return add

    assert detect.stale_global(counter(), 1.0) == []
    assert detect.side_effect(counter(), 1.0) == []
    counter()  # a new Ref can be made afterwards


def test_a_ref_with_entries_is_no_trouble_for_any_check():
    class Tally:
        def __init__(self):
            self.limit = 1.0

        def __call__(self, tally, value):
            tally[0] += jnp.where(value > self.limit, 1.0, 0.0)
            return value

    tally, made = jax.new_ref(jnp.zeros(2)), Tally()
    for found in (audit(lambda x: made(tally, x), 2.0), audit(made, tally, 2.0)):
        assert not found.notes
        assert {finding.severity for finding in found} <= {"note"}


def refills(data):
    buffer, kept = np.zeros(3), []
    for row in data:
        buffer[:] = row
        kept.append(jnp.asarray(buffer))
    return kept


def copies(data):
    buffer, kept = np.zeros(3), []
    for row in data:
        buffer[:] = row
        kept.append(jnp.asarray(buffer.copy()))
    return kept


def makes_a_buffer_each(data):
    kept = []
    for row in data:
        buffer = np.zeros(3)
        buffer[:] = row
        kept.append(jnp.asarray(buffer))
    return kept


def test_a_buffer_that_a_loop_fills_again_after_jax_has_taken_it():
    (found,) = detect.inplace(refills, (1, 2))
    assert found.place.text == "buffer[:] = row"
    assert found.catalogue_id == "host-buffer-shared"
    assert detect.inplace(copies, (1, 2)) == []
    assert detect.inplace(makes_a_buffer_each, (1, 2)) == []
