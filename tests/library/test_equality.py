"""Test which values count as equal in claims, exercises, and assignment tests."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits._equality import find_mismatch, is_equal
from jaxbits.testing import WrongAnswer, assert_close

KEY = jax.random.key(1)

# Each entry contains a value, the expected value, and whether the two are equal in claims (with the
# defaults of `find_mismatch`) and in assignments (with `assert_close`).
COMPARISONS = {
    "equal numbers": (1, 1, True, True),
    "within the relative tolerance": (1.000001, 1.0, True, True),
    "beyond the relative tolerance": (1.001, 1.0, False, False),
    "within the smaller absolute tolerance": (5e-8, 0.0, True, True),
    "within the larger absolute tolerance": (5e-7, 0.0, False, True),
    "beyond both absolute tolerances": (5e-6, 0.0, False, False),
    "NaN": (np.nan, float("nan"), True, True),
    "a float for a Python int": (2.0, 2, True, False),
    "a float array for an int array": (np.ones(2), np.ones(2, int), False, False),
    "a Python int for a float": (1, 1.0, False, True),
    "an int array for a float array": (jnp.arange(2), np.array([0.0, 1.0]), False, True),
    "a real number for a complex one": (1.0, 1 + 0j, False, True),
    "a complex number for a real one": (1 + 0j, 1.0, False, False),
    "a bool for an int": (True, 1, False, False),
    "an int for a bool": (1, True, False, False),
    "a bool for a float": (True, 1.0, False, False),
    "an unsigned integer for a signed one": (jnp.uint32(7), np.int8(7), True, True),
    "a float16 scalar within the tolerance of a float": (np.float16(1.0), 1.000001, False, True),
    "neighbors in bfloat16": (jnp.bfloat16(1.0), jnp.bfloat16(1.0078125), False, False),
    "bfloat16 and float32": (jnp.bfloat16(1.5), np.float32(1.5), True, True),
    "int4": (jnp.ones(2, jnp.int4), np.ones(2, int), True, True),
    "a different shape": (np.ones((2, 1)), np.ones(2), False, False),
    "a list for an array": ([1.0, 2.0], np.array([1.0, 2.0]), False, True),
    "a list of arrays for an array": ([np.ones(2)] * 2, np.ones((2, 2)), False, True),
    "a list for a tuple": ([1, None], (1, None), False, True),
    "an array for a tuple": (np.ones(2), (1.0, 1.0), False, False),
    "lists of different lengths": ([1, 2], [1], False, False),
    "an empty list for an empty array": ([], np.zeros(0), False, True),
    "dicts": ({"a": 1, "b": [2.0]}, {"b": [2.0], "a": 1}, True, True),
    "an extra key in a dict": ({"a": 1, "b": 2}, {"a": 1}, False, False),
    "None": (None, None, True, True),
    "None for a number": (None, 0, False, False),
    "strings": ("a", "a", True, True),
    "a string for a number": ("1", 1, False, False),
    "random keys": (KEY, jax.random.key(1), True, True),
    "different random keys": (KEY, jax.random.key(2), False, False),
    "a key and its data": (KEY, jax.random.key_data(KEY), True, True),
    "dtypes": (jnp.zeros(2).dtype, jnp.float32, True, False),
    "an array of objects": (np.array([1, None]), np.array([1, None]), True, False),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_is_equal_and_assert_close_compare_values_and_types(name):
    value, expected, is_equal_in_claims, is_equal_in_assignments = COMPARISONS[name]
    assert is_equal(value, expected) is is_equal_in_claims
    if is_equal_in_assignments:
        assert_close(value, expected, "they differ")
    else:
        with pytest.raises(WrongAnswer, match="they differ"):
            assert_close(value, expected, "they differ")


def test_find_mismatch_returns_first_different_parts():
    tree = {"a": [1, 2], "b": (3.0, "x")}
    assert find_mismatch(tree, {"a": [1, 2], "b": (3.0, "x")}) is None
    assert find_mismatch(tree, {"a": [1, 5], "b": (4.0, "y")}) == (2, 5)
    assert find_mismatch([1], (1,)) == ([1], (1,))
    lenient = {"allow_lists": True, "allow_integers": True}
    assert find_mismatch(tree, {"a": (1, 2), "b": [3, "y"]}, **lenient) == (3.0, 3)
    assert find_mismatch({"b": ["y"]}, {"b": ("x",)}, **lenient) == ("y", "x")


def test_find_mismatch_validates_each_part_first():
    parts = []
    find_mismatch([1.0, {"a": 2.0}], (1.0, {"a": 2.0}), allow_lists=True, validate=parts.append)
    assert parts == [[1.0, {"a": 2.0}], 1.0, {"a": 2.0}, 2.0]
