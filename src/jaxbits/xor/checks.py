"""Checks of arguments, which raise an error that names the argument, the rule, and the value."""

from __future__ import annotations

import math
import operator
from typing import Any


def whole_number(
    name: str, value: Any, *, at_least: int | None = None, at_most: int | None = None
) -> None:
    """Check that an argument is a whole number within limits.

    Args:
        name: The argument's name, with which the message begins.
        value: What the caller passed. A bool is not a number here, and neither is a float.
        at_least: The smallest number allowed.
        at_most: The largest number allowed.

    Raises:
        TypeError: If the value is not a whole number.
        ValueError: If the number is out of range.

    >>> whole_number("epochs", 3, at_least=0)
    >>> whole_number("size", 0, at_least=1)
    Traceback (most recent call last):
    ValueError: size must be at least 1, got 0
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None
    is_below = at_least is not None and number < at_least
    if is_below or (at_most is not None and number > at_most):
        if at_most is None:
            limits = f"at least {at_least}"
        elif at_least is None:
            limits = f"at most {at_most}"
        else:
            limits = f"between {at_least} and {at_most}"
        raise ValueError(f"{name} must be {limits}, got {number}")


def nonnegative(name: str, value: Any) -> None:
    """Check that an argument is a finite number of at least 0.

    Raises:
        TypeError: If the value is not a real number.
        ValueError: If it is negative, infinite, or NaN.

    >>> nonnegative("std", -1.0)
    Traceback (most recent call last):
    ValueError: std must be at least 0, got -1.0
    """
    try:
        is_finite = math.isfinite(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    if not is_finite:
        raise ValueError(f"{name} must be finite, got {value}")
    if value < 0:
        raise ValueError(f"{name} must be at least 0, got {value}")


def not_empty(name: str, values: Any) -> None:
    """Check that an argument with a length is not empty. A generator has none, and passes.

    Raises:
        ValueError: If the length is 0.

    >>> not_empty("loader", [])
    Traceback (most recent call last):
    ValueError: the length of loader must be at least 1, got 0
    """
    if hasattr(values, "__len__") and not len(values):
        raise ValueError(f"the length of {name} must be at least 1, got 0")


def same_shape(name: str, value: Any, other_name: str, other: Any) -> None:
    """Check that two arrays have the same shape, so that nothing is broadcast.

    Shapes are known while JAX traces a function, so under `jit` this costs nothing per call.

    Raises:
        ValueError: If the shapes differ.

    >>> import numpy as np
    >>> same_shape("logits", np.ones((3, 1)), "labels", np.ones(3))
    Traceback (most recent call last):
    ValueError: logits must have the shape of labels, (3,), got (3, 1)
    """
    if value.shape != other.shape:
        raise ValueError(
            f"{name} must have the shape of {other_name}, {other.shape}, got {value.shape}"
        )


def optimizer(name: str, value: Any) -> None:
    """Check that an argument is an Optax optimizer, that is, that it has `init` and `update`.

    Raises:
        TypeError: If it lacks one of them.

    >>> optimizer("tx", "adam")
    Traceback (most recent call last):
    TypeError: tx must be an Optax optimizer such as optax.sgd(0.1), got 'adam'
    """
    if not (hasattr(value, "init") and hasattr(value, "update")):
        raise TypeError(f"{name} must be an Optax optimizer such as optax.sgd(0.1), got {value!r}")


def linen_model(name: str, value: Any) -> None:
    """Check that an argument is an instance of a Flax linen module, and not the class itself.

    Raises:
        TypeError: If it is not.

    >>> linen_model("model", int)
    Traceback (most recent call last):
    TypeError: model must be a linen module such as Classifier(), got <class 'int'>
    """
    if isinstance(value, type) or not (hasattr(value, "init") and hasattr(value, "apply")):
        raise TypeError(f"{name} must be a linen module such as Classifier(), got {value!r}")


def seeded_loader(name: str, value: Any) -> None:
    """Check that an argument is a loader with a generator to seed, and with at least one batch.

    Raises:
        TypeError: If it has no generator, as a DataLoader that was created without one.
        ValueError: If it has no batch.

    >>> seeded_loader("loader", [1])
    Traceback (most recent call last):
    TypeError: loader must have a generator, as that of train_loader(data) has, got [1]
    """
    if not hasattr(getattr(value, "generator", None), "manual_seed"):
        raise TypeError(
            f"{name} must have a generator, as that of train_loader(data) has, got {value!r}"
        )
    not_empty(name, value)
