"""Check arguments. Each error message gives the argument's name, the rule, and the value."""

from __future__ import annotations

import math
import operator
from typing import Any


def check_int(
    name: str, value: Any, *, at_least: int | None = None, at_most: int | None = None
) -> None:
    """Check that an argument is an integer within limits.

    Args:
        name: The argument's name, with which the message begins.
        value: The argument to check. Neither a bool nor a float counts as an integer.
        at_least: The smallest number allowed, or None if there is no lower limit.
        at_most: The largest number allowed, or None if there is no upper limit.

    Raises:
        TypeError: If the value is not a whole number.
        ValueError: If the number is out of range.

    >>> check_int("epochs", 3, at_least=0)
    >>> check_int("size", 0, at_least=1)
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


def check_nonnegative(name: str, value: Any) -> None:
    """Check that an argument is a finite number that is not negative.

    Args:
        name: The argument's name, with which the message begins.
        value: The argument to check.

    Raises:
        TypeError: If the value is not a real number.
        ValueError: If it is negative, infinite, or NaN.

    >>> check_nonnegative("std", -1.0)
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


def check_not_empty(name: str, values: Any) -> None:
    """Check that an argument is not empty. A generator passes, because it has no length.

    Args:
        name: The argument's name, with which the message begins.
        values: The argument to check.

    Raises:
        ValueError: If the argument has a length, and the length is 0.

    >>> check_not_empty("loader", [])
    Traceback (most recent call last):
    ValueError: the length of loader must be at least 1, got 0
    """
    if hasattr(values, "__len__") and not len(values):
        raise ValueError(f"the length of {name} must be at least 1, got 0")


def check_same_shape(name: str, value: Any, other_name: str, other: Any) -> None:
    """Check that two arrays have the same shape, so that JAX does not broadcast them.

    Shapes are known while JAX traces a function, so under `jit` the check runs once per trace.

    Args:
        name: The argument's name, with which the message begins.
        value: The argument to check, which is an array or a tracer.
        other_name: The name of the other argument.
        other: The other argument, which has the required shape.

    Raises:
        ValueError: If the shapes differ.

    >>> import numpy as np
    >>> check_same_shape("logits", np.ones((3, 1)), "labels", np.ones(3))
    Traceback (most recent call last):
    ValueError: logits must have the shape of labels, (3,), got (3, 1)
    """
    if value.shape != other.shape:
        raise ValueError(
            f"{name} must have the shape of {other_name}, {other.shape}, got {value.shape}"
        )


def check_optimizer(name: str, value: Any) -> None:
    """Check that an argument has `init` and `update`, as every Optax optimizer does.

    Args:
        name: The argument's name, with which the message begins.
        value: The argument to check.

    Raises:
        TypeError: If the argument lacks either of them.

    >>> check_optimizer("tx", "adam")
    Traceback (most recent call last):
    TypeError: tx must be an Optax optimizer such as optax.sgd(0.1), got 'adam'
    """
    if not (hasattr(value, "init") and hasattr(value, "update")):
        raise TypeError(f"{name} must be an Optax optimizer such as optax.sgd(0.1), got {value!r}")


def check_linen_module(name: str, value: Any) -> None:
    """Check that an argument is an instance of a Flax linen module, not the class itself.

    Args:
        name: The argument's name, with which the message begins.
        value: The argument to check.

    Raises:
        TypeError: If the argument is a class or is not a linen module.

    >>> check_linen_module("model", int)
    Traceback (most recent call last):
    TypeError: model must be a linen module such as Classifier(), got <class 'int'>
    """
    if isinstance(value, type) or not (hasattr(value, "init") and hasattr(value, "apply")):
        raise TypeError(f"{name} must be a linen module such as Classifier(), got {value!r}")


def check_seeded_loader(name: str, value: Any) -> None:
    """Check that an argument is a loader that can be seeded and has at least one batch.

    Args:
        name: The argument's name, with which the message begins.
        value: The argument to check.

    Raises:
        TypeError: If the loader has no generator. A DataLoader has a generator only if you passed
            one when you created it.
        ValueError: If the loader has no batches.

    >>> check_seeded_loader("loader", [1])
    Traceback (most recent call last):
    TypeError: loader must have a generator to seed, as train_loader(data) does; got [1]
    """
    if not hasattr(getattr(value, "generator", None), "manual_seed"):
        raise TypeError(
            f"{name} must have a generator to seed, as train_loader(data) does; got {value!r}"
        )
    check_not_empty(name, value)
