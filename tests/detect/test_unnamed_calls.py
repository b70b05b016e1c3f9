"""Test that side_effect sees state that a function reaches through code that it does not name."""

from __future__ import annotations

import numpy as np
import pytest

from jaxbits import detect

calls = [0]


def count(*_):
    calls[0] += 1
    return 0


class Watched:
    def __eq__(self, other):
        count()
        return True

    def __hash__(self):
        count()
        return 1


class Missing(dict):
    def __missing__(self, key):
        return count()


class Descriptor:
    def __get__(self, owner, kind):
        return count()


class Holder:
    value = Descriptor()


class Meta(type):
    def __call__(cls):
        count()
        return super().__call__()


class Made(metaclass=Meta):
    pass


class Base:
    def __init_subclass__(cls):
        count()


class Plain:
    def __eq__(self, other):
        seen = [0]
        seen[0] += 1
        return True

    __hash__ = None


watched, missing, holder, plain = Watched(), Missing(), Holder(), Plain()
vectorized = np.vectorize(count)
table = np.array([count, None], dtype=object)


def compare(x):
    assert watched == 1
    return x


def look_up(x):
    return x + missing["a"]


def use_as_key(x):
    return {watched: x}[watched]


def read_descriptor(x):
    return x + holder.value


def create(x):
    Made()
    return x


def derive(x):
    type("Derived", (Base,), {})
    return x


def vectorize(x):
    vectorized([1, 2])
    return x


def call_from_array(x):
    return x + table[0]()


def call_by_name(x):
    return x + globals()["count"]()


def compare_plain(x):
    assert plain == 1
    return x


@pytest.mark.parametrize(
    "function",
    [
        *(compare, look_up, use_as_key, read_descriptor, create, derive),
        *(vectorize, call_from_array, call_by_name),
    ],
)
def test_side_effect_sees_state_behind_code_that_is_not_named(function):
    (finding,) = detect.side_effect(function, 1.0)
    assert "global `calls` is changed" in finding.message


def test_side_effect_accepts_local_changes_in_such_code():
    assert detect.side_effect(compare_plain, 1.0) == []
