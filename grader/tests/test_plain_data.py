"""Test that values survive the channel between a judge and a student's process."""

from __future__ import annotations

import enum
import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbits_grader.judging.array_data import NotPlain
from jaxbits_grader.judging.plain_data import Codec

VALUES = [
    None, True, 3, 10**30, 0.1, float("inf"), 2 - 1j, "text", (1, [2.0], {"a": None, 3: (4,)}),
    {1, 2}, frozenset({3}), slice(1, None, 2), ..., np.dtype("int8"), jnp.dtype("bfloat16"),
    jnp.float32, np.int16, float,
]  # fmt: skip
ARRAYS = [
    np.arange(6, dtype=np.int16).reshape(2, 3), np.float64(0.5), np.array(["ab", "c"]),
    np.ones(2, jnp.bfloat16), jnp.float32([1, jnp.nan]), jnp.asarray(2.0), jnp.zeros((0, 3)),
    jnp.bfloat16(1.5), jnp.array([True, False]),
]  # fmt: skip


def sent(value: Any) -> Any:
    return Codec().decode(json.loads(json.dumps(Codec().encode(value))))


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_plain_values_arrive_unchanged(value: Any) -> None:
    assert sent(value) == value
    assert type(sent(value)) is type(value)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{type(array).__name__}{array.dtype}")
def test_arrays_keep_dtype_shape_and_weak_type(array: Any) -> None:
    got = sent(array)
    assert type(got) is type(array)
    assert (got.dtype, got.shape) == (array.dtype, array.shape)
    assert getattr(got, "weak_type", None) == getattr(array, "weak_type", None)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(array))


def test_members_of_enums_arrive_as_their_values() -> None:
    class Name(enum.StrEnum):
        FIRST = "first"

    class Loud(float):
        def __repr__(self) -> str:
            raise ValueError

    assert sent({Name.FIRST: Loud(2.5)}) == {"first": 2.5}


def test_keys_keep_implementation() -> None:
    keys = jax.random.split(jax.random.key(3, impl="rbg"), 2)
    assert sent(keys).dtype == keys.dtype
    np.testing.assert_array_equal(*map(jax.random.key_data, (sent(keys), keys)))


def test_generator_keeps_state() -> None:
    generator = np.random.default_rng(5)
    generator.random(3)
    assert sent(generator).random() == generator.random()


@pytest.mark.parametrize(
    "value",
    [object(), np.array([object()]), lambda x: x, [[[]]] and Codec()],
    ids=["object", "array of objects", "function", "instance"],
)
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(NotPlain, match="must"):
        Codec().encode(value)


def test_deeply_nested_values_are_refused() -> None:
    nested: list[Any] = []
    for _ in range(100):
        nested = [nested]
    with pytest.raises(NotPlain, match="nested"):
        Codec().encode(nested)


@pytest.mark.parametrize(
    "data",
    [
        None, [], "list", 3, ["no such kind"], ["list"], ["list", 3], ["int", "3"], ["bool"],
        ["numpy", "float32", [2], "AAAA"], ["numpy", "object", [1], "AAAAAAAAAAA="],
        ["numpy", "float32", [-1], ""], ["numpy", "float32", [10**12], ""], ["dict", [[1]]],
        ["import", "os", "system"], ["import", "builtins", "eval"], ["import", "jax.numpy", "sin"],
        ["import", "numpy", "load"], ["key", "no_such", "uint32", [2], "AAAAAAAAAAA="],
    ],
    ids=str,
)  # fmt: skip
def test_malformed_and_dangerous_data_is_refused(data: Any) -> None:
    with pytest.raises(NotPlain):
        Codec().decode(data)
