"""When two values count as equal: for claims and exercises, and for the tests of assignments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits._equality import find_mismatch, is_equal
from jaxbits.testing import WrongAnswer, assert_close

KEY = jax.random.key(1)

# The value, the expected value, and whether they are equal by the rules of claims (the defaults of
# `find_mismatch`) and by those of `assert_close`.
VERDICTS = {
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
    "unsigned for signed": (jnp.uint32(7), np.int8(7), True, True),
    "float16 within the tolerance": (np.float16(1.0), 1.000001, False, True),
    "neighbors in bfloat16": (jnp.bfloat16(1.0), jnp.bfloat16(1.0078125), False, False),
    "bfloat16 and float32": (jnp.bfloat16(1.5), np.float32(1.5), True, True),
    "int4": (jnp.ones(2, jnp.int4), np.ones(2, int), True, True),
    "another shape": (np.ones((2, 1)), np.ones(2), False, False),
    "a list for an array": ([1.0, 2.0], np.array([1.0, 2.0]), False, True),
    "a list of arrays for an array": ([np.ones(2)] * 2, np.ones((2, 2)), False, True),
    "a list for a tuple": ([1, None], (1, None), False, True),
    "an array for a tuple": (np.ones(2), (1.0, 1.0), False, False),
    "lists of another length": ([1, 2], [1], False, False),
    "an empty list for an empty array": ([], np.zeros(0), False, True),
    "dicts": ({"a": 1, "b": [2.0]}, {"b": [2.0], "a": 1}, True, True),
    "a key too many": ({"a": 1, "b": 2}, {"a": 1}, False, False),
    "None": (None, None, True, True),
    "None for a number": (None, 0, False, False),
    "strings": ("a", "a", True, True),
    "a string for a number": ("1", 1, False, False),
    "random keys": (KEY, jax.random.key(1), True, True),
    "other random keys": (KEY, jax.random.key(2), False, False),
    "a key and its data": (KEY, jax.random.key_data(KEY), True, True),
    "dtypes": (jnp.zeros(2).dtype, jnp.float32, True, False),
    "an array of objects": (np.array([1, None]), np.array([1, None]), True, False),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_rules_of_claims_and_of_assignments(name):
    value, expected, by_claims, by_assignments = VERDICTS[name]
    assert is_equal(value, expected) is by_claims
    if by_assignments:
        assert_close(value, expected, "they differ")
    else:
        with pytest.raises(WrongAnswer, match="they differ"):
            assert_close(value, expected, "they differ")


def test_the_first_parts_that_differ_are_found():
    tree = {"a": [1, 2], "b": (3.0, "x")}
    assert find_mismatch(tree, {"a": [1, 2], "b": (3.0, "x")}) is None
    assert find_mismatch(tree, {"a": [1, 5], "b": (4.0, "y")}) == (2, 5)
    assert find_mismatch([1], (1,)) == ([1], (1,))
    lenient = {"allow_lists": True, "allow_integers": True}
    assert find_mismatch(tree, {"a": (1, 2), "b": [3, "y"]}, **lenient) == (3.0, 3)
    assert find_mismatch({"b": ["y"]}, {"b": ("x",)}, **lenient) == ("y", "x")


def test_each_part_is_validated_before_it_is_compared():
    parts = []
    find_mismatch([1.0, {"a": 2.0}], (1.0, {"a": 2.0}), allow_lists=True, validate=parts.append)
    assert parts == [[1.0, {"a": 2.0}], 1.0, {"a": 2.0}, 2.0]
