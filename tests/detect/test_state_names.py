"""Test how findings name a piece of Python state, and which line they name."""

from __future__ import annotations

import array
import types

import jax.numpy as jnp
import pytest

from jaxbits import detect


class Cache:
    def __init__(self):
        self.hits, self.last = 0, None


class Model:
    def __init__(self):
        self.cache, self.layers, self.log = Cache(), [Cache()], []
        self.space = types.SimpleNamespace(count=0)

    def count(self, x):
        self.cache.hits += 1
        return x

    def count_in_layer(self, x):
        self.layers[0].hits += 1
        return x

    def count_in_namespace(self, x):
        self.space.count += 1
        return x

    def add_attribute(self, x):
        self.cache.extra = 1
        return x

    def append(self, x):
        self.log.append(1)
        return x

    def store(self, x):
        self.cache.last = x
        return x

    def store_two(self, x):
        self.cache.last = x
        self.cache.hits = 1
        return x


model = Model()


def count_in_global(x):
    model.cache.hits += 1
    return x


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (Model().count, ["attribute `self.cache.hits`"]),
        (Model().count_in_layer, ["attribute `self.layers[0].hits`"]),
        (Model().count_in_namespace, ["attribute `self.space.count`"]),
        (Model().add_attribute, ["attribute `self.cache.extra`"]),
        (Model().append, ["attribute `self.log`"]),
        (Model().store_two, ["attribute `self.cache.hits`", "attribute `self.cache.last`"]),
        (count_in_global, ["attribute `model.cache.hits`"]),
    ],
)
def test_side_effect_names_changed_attribute(function, names):
    found = detect.side_effect(function, jnp.ones(2))
    assert sorted(finding.subject for finding in found) == names


def test_side_effect_says_how_attribute_changed():
    (found,) = detect.side_effect(Model().count, jnp.ones(2))
    assert found.evidence.startswith("0 → 1;")
    assert found.place.text == "self.cache.hits += 1"


def test_leak_names_attribute_of_inner_object():
    (found,) = detect.leak(Model().store, jnp.ones(2))
    assert found.message == "a traced value is stored in attribute `self.cache.last`"
    assert found.place.text == "self.cache.last = x"


rate = 0.5


def change_rate():
    global rate
    rate = 0.1


def scale_with_inner_function(x):
    def halve(rate):
        return rate / 2

    return halve(x) * rate


def test_stale_global_skips_variables_of_inner_functions():
    (found,) = detect.stale_global(scale_with_inner_function, jnp.ones(2))
    assert found.place.text == "return halve(x) * rate"


class Pair:
    def __init__(self):
        self.first, self.second = Cache(), Cache()

    def count(self, x):
        first = Cache()
        first.hits = 0
        self.first.last = None
        self.second.hits += x.shape[0]
        return x * self.first.hits


def test_side_effect_tells_attributes_of_two_objects_apart():
    (found,) = detect.side_effect(Pair().count, jnp.ones(2))
    assert found.subject == "attribute `self.second.hits`"
    assert found.place.text == "self.second.hits += x.shape[0]"


SEEN, TABLE = [], {"rate": 0.5}
add, rate_of = SEEN.append, TABLE.get
COUNTS, FLAGS = array.array("i", [0]), bytearray(2)


def add_by_method(x):
    add(1)
    return x


def count_in_array(x):
    COUNTS[0] += 1
    return x


def set_flag(x):
    FLAGS[1] = 1
    return x


def read_by_method(x):
    return x * rate_of("rate")


@pytest.mark.parametrize(
    ("function", "subject", "state", "before"),
    [
        (add_by_method, "the list behind `add`", SEEN, []),
        (count_in_array, "global `COUNTS`", COUNTS, array.array("i", [0])),
        (set_flag, "global `FLAGS`", FLAGS, bytearray(2)),
    ],
)
def test_side_effect_sees_state_behind_methods_and_in_buffers(function, subject, state, before):
    (finding,) = detect.side_effect(function, jnp.ones(2))
    assert finding.subject == subject
    assert state == before  # The detector has restored it.


def test_method_of_a_table_is_no_finding():
    assert detect.side_effect(read_by_method, jnp.ones(2)) == []
    assert detect.stale_global(read_by_method, jnp.ones(2)) == []
