"""What a test may ask of an answer, and what it must not take for one."""

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


AGREE = {
    "a Python int for a float": (1, 1.0),
    "an int array for floats": (jnp.arange(3), [0.0, 1.0, 2.0]),
    "a 0-d array for a number": (jnp.float32(2.5), 2.5),
    "a number for a 0-d array": (2.5, np.asarray(2.5)),
    "a list for an array": ([1.0, 2.0], jnp.array([1.0, 2.0])),
    "a list of 0-d arrays": ([jnp.float32(1), jnp.float32(2)], np.array([1.0, 2.0])),
    "a list of rows": ([jnp.ones(2), jnp.zeros(2)], [[1.0, 1.0], [0.0, 0.0]]),
    "rows of other lengths": ([jnp.ones(2), jnp.zeros(3)], [np.ones(2), np.zeros(3)]),
    "names and numbers": ([("a", 1), ["b", 2]], [("a", 1), ("b", 2)]),
    "names": (["a", "b"], ["a", "b"]),
    "bytes": (b"a", b"a"),
    "float16": (jnp.float16(0.5), 0.5),
    "bfloat16": (jnp.ones(2, jnp.bfloat16), [1.0, 1.0]),
    "a narrow integer": (jnp.ones(2, jnp.int4), [1, 1]),
    "unsigned for signed": (jnp.uint32(7), 7),
    "booleans": (jnp.array([True, False]), [True, False]),
    "NaN": (jnp.array([jnp.nan, 1.0]), [np.nan, 1.0]),
    "infinities": (jnp.array([-jnp.inf, jnp.inf]), [-np.inf, np.inf]),
    "a key": (jax.random.key(1), jax.random.key(1)),
    "keys": (jax.random.split(jax.random.key(1)), jax.random.split(jax.random.key(1))),
    "a dictionary": ({"b": 1, "a": jnp.ones(2)}, {"a": [1.0, 1.0], "b": 1}),
    "a dictionary of two kinds of keys": ({1: 2, "a": 3}, {"a": 3, 1: 2}),
    "an ordered dictionary": (OrderedDict(a=1), {"a": 1}),
    "a named tuple for a tuple": (Pair(1.0, jnp.ones(2)), (1.0, [1.0, 1.0])),
    "a list for a tuple": ([1.0, None], (1.0, None)),
    "a named tuple": (Pair(1.0, 2.0), Pair(1.0, 2.0)),
    "a dataclass that is a tree": (State(1.0, jnp.int32(2)), State(1.0, 2)),
    "nothing": (None, None),
    "no numbers": ([], jnp.zeros(0)),
}

DIFFER = {
    "a float for an int": (1.0, 1),
    "a float for a boolean": (1.0, True),
    "a complex number for a boolean": (1 + 0j, True),
    "an int for a boolean": (1, True),
    "a boolean for an int": (True, 1),
    "a boolean for a float": (True, 1.0),
    "a complex number for a float": (1 + 0j, 1.0),
    "another shape": (jnp.ones((3, 1)), np.ones(3)),
    "one number for an array": (1.0, [1.0]),
    "an array for one number": (jnp.ones(1), 1.0),
    "another size of a row": ([jnp.ones(2), jnp.zeros(2)], [np.ones(2), np.zeros(3)]),
    "NaN for a number": (jnp.nan, 1.0),
    "a number for NaN": (1.0, np.nan),
    "an infinity for another": (jnp.inf, -np.inf),
    "another key": (jax.random.key(1), jax.random.key(2)),
    "a key too few": ({"a": 1}, {"a": 1, "b": 2}),
    "a key too many": ({"a": 1, "b": 2}, {"a": 1}),
    "no dictionary": ([1], {"a": 1}),
    "a part of a tuple": ((1.0,), (1.0, 2.0)),
    "an array for a tuple": (jnp.ones(2), (1.0, 1.0)),
    "a number in a string": ("1", 1),
    "another string": ("a", "b"),
    "a number for a string": (1, "1"),
    "a string for None": ("", None),
    "None for a number": (None, 0),
    "an object array": (np.array([1, None]), [1, 2]),
    "a set": ({1, 2}, [1, 2]),
    "a range": (range(2), [0, 1]),
    "a decimal number": (decimal.Decimal(1), 1.0),
    "a function": (len, 1.0),
    "a tuple for a tree": ((1.0, 2), State(1.0, 2)),
    "another tree": (State(1.0, 3), State(1.0, 2)),
    "a structured array": (np.zeros(2, [("a", int), ("b", float)]), [0, 0]),
    "further off than the tolerance": (1.001, 1.0),
}


@pytest.mark.parametrize("name", AGREE)
def test_what_is_the_answer(name: str) -> None:
    testing.assert_close(*AGREE[name], "not the same")


@pytest.mark.parametrize("name", DIFFER)
def test_what_is_another_answer(name: str) -> None:
    with pytest.raises(testing.WrongAnswer, match=r"^not the same"):
        testing.assert_close(*DIFFER[name], "not the same")


def test_a_torch_tensor_is_a_mistake_and_no_fraud() -> None:
    torch = pytest.importorskip("torch")
    for seen, wanted in ((torch.ones(2), [1.0, 1.0]), ([torch.tensor(1.0)], [1.0])):
        with pytest.raises(testing.WrongAnswer):
            testing.assert_close(seen, wanted, "an array of JAX")


def test_tolerances() -> None:
    testing.assert_close(1.001, 1.0, "near", rtol=0.01)
    testing.assert_close(0.001, 0.0, "near", atol=0.01)
    testing.assert_close({"a": (1.001,)}, {"a": (1.0,)}, "near", rtol=0.01)
    with pytest.raises(testing.WrongAnswer):
        testing.assert_close(0.001, 0.0, "near")


class Anything:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class AnyFloat(float):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Heir(AnyFloat):
    pass


class AnyText(str):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class AnyArray(np.ndarray):
    def __eq__(self, other: object) -> Any:
        return np.True_


class Pretender:
    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.ones(2)


@jax.tree_util.register_pytree_node_class
class TreePretender(Pretender):
    def tree_flatten(self) -> Any:
        return (jnp.ones(2),), None

    @classmethod
    def tree_unflatten(cls, _: Any, __: Any) -> TreePretender:
        return cls()


Disguised = type("ndarray", (Anything,), {"__module__": "numpy", "__eq__": Anything.__eq__})


@dataclasses.dataclass
class Own:
    x: float

    def __eq__(self, other: object) -> bool:
        return True


FOREIGN = [
    Anything(),
    AnyFloat(1),
    Heir(1),
    AnyText("a"),
    np.ones(2).view(AnyArray),
    Pretender(),
    TreePretender(),
    Disguised(),
    Own(1.0),
    unittest.mock.ANY,
    np.ma.masked,
]


@pytest.mark.parametrize("seen", FOREIGN, ids=lambda s: type(s).__qualname__)
@pytest.mark.parametrize("around", [lambda s: s, lambda s: [s], lambda s: {"a": (s, 1.0)}])
def test_an_answer_that_could_agree_with_anything(seen: Any, around: Any) -> None:
    with pytest.raises(testing.UntrustedType):
        testing.assert_close(around(seen), around(1.0), "one")


def test_a_class_that_only_holds_fields_is_wrong_and_no_fraud() -> None:
    @dataclasses.dataclass
    class Point:
        x: float

    with pytest.raises(testing.WrongAnswer):
        testing.assert_close(Point(1.0), 1.0, "a number")


def test_is_array() -> None:
    testing.assert_array(jnp.ones((2, 3), jnp.int32), "", shape=(2, 3), dtype="int32")
    for seen in (np.ones(3, np.float32), [1.0] * 3, jnp.ones(3, jnp.float16), jnp.ones((3, 1))):
        with pytest.raises(testing.WrongAnswer, match="three"):
            testing.assert_array(seen, "three", shape=(3,), dtype=jnp.float32)


def test_raises() -> None:
    testing.assert_raises(ArithmeticError, lambda: 1 / 0, "division")
    for fn in (lambda: 1, lambda: [][0]):
        with pytest.raises(testing.WrongAnswer, match="division"):
            testing.assert_raises(ZeroDivisionError, fn, "division")


def test_both_ways_of_counting_traces_agree_and_fail_in_their_own_ways() -> None:
    calls = [(1.0,), (2.0,), (jnp.ones(3),), (jnp.zeros(3),)]
    assert testing.count_traces(lambda x: x + 1, calls) == 2
    assert assertions.count_traces(lambda x: x + 1, calls) == 2

    def branches(x: Any) -> Any:
        return x if x > 0 else -x

    with pytest.raises(jax.errors.TracerBoolConversionError):
        testing.count_traces(branches, calls)
    with pytest.raises(assertions.AnswerRejected, match=r"^under jit, branches\(x=1\.0\) raises"):
        assertions.count_traces(branches, calls)
