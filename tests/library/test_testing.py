"""Test which answers the assertions for assignments accept, reject, or refuse to trust."""

from __future__ import annotations

import dataclasses
import decimal
import unittest.mock
from collections import OrderedDict
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import testing
from jaxbits.book.exercises import assertions


class Pair(NamedTuple):
    first: Any
    second: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    total: Any
    count: Any


EQUAL_VALUES = {
    "a Python int for a float": (1, 1.0),
    "an int array for floats": (jnp.arange(3), [0.0, 1.0, 2.0]),
    "a 0-d array for a number": (jnp.float32(2.5), 2.5),
    "a number for a 0-d array": (2.5, np.asarray(2.5)),
    "a list for an array": ([1.0, 2.0], jnp.array([1.0, 2.0])),
    "a list of 0-d arrays": ([jnp.float32(1), jnp.float32(2)], np.array([1.0, 2.0])),
    "a list of rows": ([jnp.ones(2), jnp.zeros(2)], [[1.0, 1.0], [0.0, 0.0]]),
    "rows of different lengths": ([jnp.ones(2), jnp.zeros(3)], [np.ones(2), np.zeros(3)]),
    "names and numbers": ([("a", 1), ["b", 2]], [("a", 1), ("b", 2)]),
    "names": (["a", "b"], ["a", "b"]),
    "bytes": (b"a", b"a"),
    "float16": (jnp.float16(0.5), 0.5),
    "bfloat16": (jnp.ones(2, jnp.bfloat16), [1.0, 1.0]),
    "a narrow integer": (jnp.ones(2, jnp.int4), [1, 1]),
    "an unsigned integer for a signed one": (jnp.uint32(7), 7),
    "booleans": (jnp.array([True, False]), [True, False]),
    "NaN": (jnp.array([jnp.nan, 1.0]), [np.nan, 1.0]),
    "infinities": (jnp.array([-jnp.inf, jnp.inf]), [-np.inf, np.inf]),
    "a random key": (jax.random.key(1), jax.random.key(1)),
    "random keys": (jax.random.split(jax.random.key(1)), jax.random.split(jax.random.key(1))),
    "a dictionary": ({"b": 1, "a": jnp.ones(2)}, {"a": [1.0, 1.0], "b": 1}),
    "a dictionary with keys of two types": ({1: 2, "a": 3}, {"a": 3, 1: 2}),
    "an ordered dictionary": (OrderedDict(a=1), {"a": 1}),
    "a named tuple for a tuple": (Pair(1.0, jnp.ones(2)), (1.0, [1.0, 1.0])),
    "a list for a tuple": ([1.0, None], (1.0, None)),
    "a named tuple": (Pair(1.0, 2.0), Pair(1.0, 2.0)),
    "a dataclass that is a pytree": (State(1.0, jnp.int32(2)), State(1.0, 2)),
    "None": (None, None),
    "an empty list for an empty array": ([], jnp.zeros(0)),
}

DIFFERENT_VALUES = {
    "a float for an int": (1.0, 1),
    "a float for a boolean": (1.0, True),
    "a complex number for a boolean": (1 + 0j, True),
    "an int for a boolean": (1, True),
    "a boolean for an int": (True, 1),
    "a boolean for a float": (True, 1.0),
    "a complex number for a float": (1 + 0j, 1.0),
    "a different shape": (jnp.ones((3, 1)), np.ones(3)),
    "a scalar for an array": (1.0, [1.0]),
    "an array for a scalar": (jnp.ones(1), 1.0),
    "a row of a different size": ([jnp.ones(2), jnp.zeros(2)], [np.ones(2), np.zeros(3)]),
    "NaN for a number": (jnp.nan, 1.0),
    "a number for NaN": (1.0, np.nan),
    "an infinity of the other sign": (jnp.inf, -np.inf),
    "a different random key": (jax.random.key(1), jax.random.key(2)),
    "a missing key in a dictionary": ({"a": 1}, {"a": 1, "b": 2}),
    "an extra key in a dictionary": ({"a": 1, "b": 2}, {"a": 1}),
    "a list for a dictionary": ([1], {"a": 1}),
    "a part of a tuple": ((1.0,), (1.0, 2.0)),
    "an array for a tuple": (jnp.ones(2), (1.0, 1.0)),
    "a number in a string": ("1", 1),
    "a different string": ("a", "b"),
    "a number for a string": (1, "1"),
    "a string for None": ("", None),
    "None for a number": (None, 0),
    "an object array": (np.array([1, None]), [1, 2]),
    "a set": ({1, 2}, [1, 2]),
    "a range": (range(2), [0, 1]),
    "a decimal number": (decimal.Decimal(1), 1.0),
    "a function": (len, 1.0),
    "a tuple for a dataclass": ((1.0, 2), State(1.0, 2)),
    "a dataclass with a different field": (State(1.0, 3), State(1.0, 2)),
    "a structured array": (np.zeros(2, [("a", int), ("b", float)]), [0, 0]),
    "a difference beyond the tolerance": (1.001, 1.0),
}


@pytest.mark.parametrize("name", EQUAL_VALUES)
def test_assert_close_accepts_equal_value(name: str) -> None:
    testing.assert_close(*EQUAL_VALUES[name], "not the same")


@pytest.mark.parametrize("name", DIFFERENT_VALUES)
def test_assert_close_rejects_different_value(name: str) -> None:
    with pytest.raises(testing.WrongAnswer, match=r"^not the same"):
        testing.assert_close(*DIFFERENT_VALUES[name], "not the same")


def test_assert_close_treats_torch_tensor_as_wrong_answer() -> None:
    torch = pytest.importorskip("torch")
    for value, expected in ((torch.ones(2), [1.0, 1.0]), ([torch.tensor(1.0)], [1.0])):
        with pytest.raises(testing.WrongAnswer):
            testing.assert_close(value, expected, "a JAX array")


def test_assert_close_applies_tolerances() -> None:
    testing.assert_close(1.001, 1.0, "near", rtol=0.01)
    testing.assert_close(0.001, 0.0, "near", atol=0.01)
    testing.assert_close({"a": (1.001,)}, {"a": (1.0,)}, "near", rtol=0.01)
    with pytest.raises(testing.WrongAnswer):
        testing.assert_close(0.001, 0.0, "near")


class AlwaysEqual:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class AlwaysEqualFloat(float):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class AlwaysEqualFloatSubclass(AlwaysEqualFloat):
    pass


class AlwaysEqualString(str):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class AlwaysEqualArray(np.ndarray):
    def __eq__(self, other: object) -> Any:
        return np.True_


class ConvertibleToArray:
    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.ones(2)


@jax.tree_util.register_pytree_node_class
class PytreeConvertibleToArray(ConvertibleToArray):
    def tree_flatten(self) -> Any:
        return (jnp.ones(2),), None

    @classmethod
    def tree_unflatten(cls, _: Any, __: Any) -> PytreeConvertibleToArray:
        return cls()


FakeNdarray = type("ndarray", (AlwaysEqual,), {"__module__": "numpy", "__eq__": AlwaysEqual.__eq__})


@dataclasses.dataclass
class AlwaysEqualDataclass:
    x: float

    def __eq__(self, other: object) -> bool:
        return True


UNTRUSTED_VALUES = [
    AlwaysEqual(),
    AlwaysEqualFloat(1),
    AlwaysEqualFloatSubclass(1),
    AlwaysEqualString("a"),
    np.ones(2).view(AlwaysEqualArray),
    ConvertibleToArray(),
    PytreeConvertibleToArray(),
    FakeNdarray(),
    AlwaysEqualDataclass(1.0),
    unittest.mock.ANY,
    np.ma.masked,
]


@pytest.mark.parametrize("value", UNTRUSTED_VALUES, ids=lambda s: type(s).__qualname__)
@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: [s], lambda s: {"a": (s, 1.0)}])
def test_assert_close_rejects_untrusted_type(value: Any, wrap: Any) -> None:
    with pytest.raises(testing.UntrustedType):
        testing.assert_close(wrap(value), wrap(1.0), "one")


def test_assert_close_treats_dataclass_as_wrong_answer() -> None:
    @dataclasses.dataclass
    class Point:
        x: float

    with pytest.raises(testing.WrongAnswer):
        testing.assert_close(Point(1.0), 1.0, "a number")


def test_assert_array_checks_type_shape_and_dtype() -> None:
    testing.assert_array(jnp.ones((2, 3), jnp.int32), "", shape=(2, 3), dtype="int32")
    for value in (np.ones(3, np.float32), [1.0] * 3, jnp.ones(3, jnp.float16), jnp.ones((3, 1))):
        with pytest.raises(testing.WrongAnswer, match="three"):
            testing.assert_array(value, "three", shape=(3,), dtype=jnp.float32)


def test_assert_raises_checks_error_class() -> None:
    testing.assert_raises(ArithmeticError, lambda: 1 / 0, "division")
    for fn in (lambda: 1, lambda: [][0]):
        with pytest.raises(testing.WrongAnswer, match="division"):
            testing.assert_raises(ZeroDivisionError, fn, "division")


def test_count_traces_agree_in_testing_and_exercises() -> None:
    calls = [(1.0,), (2.0,), (jnp.ones(3),), (jnp.zeros(3),)]
    assert testing.count_traces(lambda x: x + 1, calls) == 2
    assert assertions.count_traces(lambda x: x + 1, calls) == 2

    def branches(x: Any) -> Any:
        return x if x > 0 else -x

    with pytest.raises(jax.errors.TracerBoolConversionError):
        testing.count_traces(branches, calls)
    with pytest.raises(assertions.AnswerRejected, match=r"^under jit, branches\(x=1\.0\) raises"):
        assertions.count_traces(branches, calls)


LABELS = np.array([True, False, True, True])


@pytest.mark.parametrize(
    "answer", [LABELS, jnp.asarray(LABELS), [True, True, True, True], [1, 0, 1, 1]]
)
def test_assert_accuracy_accepts_enough_right_entries(answer: Any) -> None:
    testing.assert_accuracy(answer, LABELS, "the labels", at_least=0.75)


@pytest.mark.parametrize("answer", [~LABELS, LABELS[:3], True, None, [False, True, True, True]])
def test_assert_accuracy_rejects_too_few_right_entries(answer: Any) -> None:
    with pytest.raises(testing.WrongAnswer, match="the labels"):
        testing.assert_accuracy(answer, LABELS, "the labels", at_least=0.75)


def test_assert_accuracy_rejects_class_that_equals_everything() -> None:
    class Right:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(testing.UntrustedType):
        testing.assert_accuracy([Right()] * 4, LABELS, "the labels", at_least=0.75)
