"""Record the values that a test compares, so that the grader can compare them again.

The grader calls `start` before a test and `take` after it, in the student's kernel and in a process
that runs the solution. The tests' copies of `jaxbits.testing` pass each comparison to `observe`.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_recorded: list[tuple[str, tuple[np.ndarray, np.ndarray], dict[str, float]]] = []


def observe(answer: Any, expected: Any, message: str, **rules: float) -> None:
    """Record a comparison.

    Args:
        answer: The value to check, a number, an array, or a tree of them.
        expected: The value that it is compared with.
        message: The message of the check.
        rules: The tolerances, such as ``rtol=1e-5``.
    """
    # Arrays may change after this call, so copy the numbers.
    numbers = flatten_numbers(answer), flatten_numbers(expected)
    _recorded.append((message, numbers, rules))


def start() -> str:
    """Forget earlier comparisons.

    Returns:
        The word "started".
    """
    _recorded.clear()
    return "started"


def take(part: str) -> str:
    """Return what has been recorded since `start`, as JSON.

    Args:
        part: Either "answer" or "expected".

    Returns:
        A list with the message, the numbers of this part, and the rules of each comparison.

    Example:
        >>> start()
        'started'
        >>> observe([1, 2.5], [1, 2], "twice", rtol=0.1)
        >>> message, numbers, rules = json.loads(take("answer"))[0]
        >>> message, decode_numbers(numbers), rules
        ('twice', array([1. , 2.5]), {'rtol': 0.1})
    """
    chosen = ("answer", "expected").index(part)
    return json.dumps(
        [
            (message, base64.b64encode(numbers[chosen].tobytes()).decode(), rules)
            for message, numbers, rules in _recorded
        ]
    )


def decode_numbers(text: str) -> np.ndarray:
    """Return the numbers that `take` has encoded, a float64 array of shape (n,).

    Raises:
        ValueError: If the text does not encode such numbers.
    """
    return np.frombuffer(base64.b64decode(text, validate=True), "<f8")


def flatten_numbers(value: Any) -> np.ndarray:
    """Return all numbers in a tree as a float64 array of shape (n,).

    A list of numbers and an array give the same result. A complex number counts as two numbers, and
    a PRNG key as its data. Everything that is not a number is left out.

    Example:
        >>> flatten_numbers({"b": [1, True], "a": np.float32(0.5), "c": "text"})
        array([0.5, 1. , 1. ])
    """
    parts = [_numbers(leaf) for leaf in jax.tree.leaves(value)]
    return np.concatenate([*parts, np.zeros(0)])


def _numbers(leaf: Any) -> np.ndarray:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    array = np.asarray(leaf)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    try:
        return array.astype("<f8").ravel()
    except (TypeError, ValueError):
        return np.zeros(0)
