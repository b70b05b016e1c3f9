"""The exercises for chapter 19, devices and sharding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_returns,
    assert_returns_under_jit,
    call,
)
from jaxbits.book.exercises.base import Exercise


def pad_rows(rows: jax.Array, devices: int) -> tuple[jax.Array, jax.Array]:
    """Return padded rows whose number is a multiple of `devices`, and a mask of the real rows."""
    raise NotImplementedError


def solve_pad_rows(rows: jax.Array, devices: int) -> tuple[jax.Array, jax.Array]:
    """Pad only the first axis. For 6 rows and 8 devices, -6 % 8 is 2, so 2 rows are missing."""
    missing = -len(rows) % devices
    padded = jnp.pad(rows, [(0, missing)] + [(0, 0)] * (rows.ndim - 1))
    return padded, jnp.arange(len(padded)) < len(rows)


def verify_pad_rows(answer: Callable[..., Any]) -> None:
    """Test batches that divide and that do not, one to four axes, two dtypes, and jit."""
    six = jnp.arange(1.0, 13.0).reshape(6, 2)
    seen = call(answer, six, 8)
    if not (isinstance(seen, (tuple, list)) and len(seen) == 2):
        raise AnswerRejected(
            f"your function must return the padded rows and the mask, got {format_value(seen)}"
        )
    rows = np.shape(seen[0])[0] if np.ndim(seen[0]) else 0
    if rows % 8:
        raise AnswerRejected(
            f"for 6 rows and 8 devices, the number of rows must be a multiple of 8, got {rows}"
        )
    if np.shape(seen[1]) != (rows,) or np.asarray(seen[1]).dtype != bool:
        raise AnswerRejected(
            f"the mask must hold one boolean for each of the {rows} rows, got {_form(seen[1])}"
        )
    _check(answer, six, 8)
    sixteen = jnp.arange(16.0)
    seen = _call_with_other_axes(answer, sixteen, 8)
    if np.shape(seen[0]) == (24,):
        raise AnswerRejected("16 rows already divide evenly among 8 devices, so add none")
    _check(answer, sixteen, 8)
    _check(answer, jnp.arange(1, 7).reshape(3, 2), 2, "padding must keep the dtype of the rows")
    images = jnp.ones((5, 2, 2, 1))
    _call_with_other_axes(answer, images, 4)
    _check(answer, images, 4, "pad only the first axis")
    expected = _padded(six, 8)
    assert_returns_under_jit(lambda rows: tuple(answer(rows, 8)), six, expected=expected)


def _call_with_other_axes(answer: Callable[..., Any], rows: jax.Array, devices: int) -> Any:
    """Call an answer that accepts a matrix with an array that has more or fewer axes."""
    try:
        return call(answer, rows, devices)
    except AnswerRejected as wrong:
        axes = "1 axis" if rows.ndim == 1 else f"{rows.ndim} axes"
        raise AnswerRejected(
            f"{str(wrong).rstrip('.')}. The argument rows may have "
            f"any number of axes, and here it has {axes}"
        ) from wrong.__cause__


def _padded(rows: jax.Array, devices: int) -> tuple[Any, Any]:
    missing = -len(rows) % devices
    zeros = np.zeros((missing, *rows.shape[1:]), rows.dtype)
    real = np.arange(len(rows) + missing) < len(rows)
    return np.concatenate([np.asarray(rows), zeros]), real


def _check(answer: Callable[..., Any], rows: jax.Array, devices: int, why: str = "") -> None:
    def as_tuple(rows: jax.Array, devices: int) -> Any:
        return tuple(answer(rows, devices))

    as_tuple.__name__ = getattr(answer, "__name__", "f")
    assert_returns(as_tuple, rows, devices, expected=_padded(rows, devices), why=why)


def _form(value: Any) -> str:
    if not hasattr(value, "dtype"):
        return format_value(value)
    return f"an array of shape {value.shape} and dtype {value.dtype}"


def mean_of_real(values: jax.Array, mask: jax.Array) -> jax.Array:
    """Return the mean of the real values on all devices along the mesh axis "data"."""
    raise NotImplementedError


def solve_mean_of_real(values: jax.Array, mask: jax.Array) -> Any:
    """Add up the values and the counts separately across all devices, and divide once."""
    total = lax.psum(jnp.sum(jnp.where(mask, values, 0)), "data")
    count = lax.psum(jnp.sum(mask), "data")
    return total / jnp.maximum(count, 1)


def verify_mean_of_real(answer: Callable[..., Any]) -> None:
    """Test devices with different numbers of real values, NaN among the others, and shard_map."""
    # vmap with an axis name computes what shard_map computes, but it needs only one device.
    mapped = jax.vmap(lambda values, mask: answer(values, mask), axis_name="data")
    values = jnp.array([[1.0, 2.0, 6.0], [10.0, 50.0, 70.0], [20.0, 90.0, 80.0]])
    mask = jnp.array([[True, True, True], [True, False, False], [False, False, False]])
    how = "on three devices with 3, 1, and 0 real values, "

    def means(values: jax.Array, mask: jax.Array) -> Any:
        seen = call(answer, values, mask, how=how, through=mapped)
        if np.shape(seen) != (3,):
            raise AnswerRejected(
                f"{how}each device must return a single number, got an array of shape "
                f"{np.shape(seen)[1:]}"
            )
        return np.asarray(seen)

    seen = means(values, jnp.ones_like(mask))
    if not np.allclose(seen, seen[0]):
        raise AnswerRejected(
            f"every device must return the same mean, got {_rounded(seen)}. Each device sees only "
            "its own part, so combine the parts with lax.psum"
        )
    if not np.allclose(seen, values.mean()):
        why = ": the count covers only one device" if np.allclose(seen, values.sum() / 3) else ""
        raise AnswerRejected(
            f"if all values are real, the mean must be {values.mean():.4g}, got {seen[0]:.4g}{why}"
        )
    seen = means(values, mask)
    for wrong, why in (
        (np.nan, "a device without real values computes 0 / 0"),
        ((3 + 10 + 0) / 3, "the mean of the devices' means gives every device the same weight, "
                           "even one with few real values"),
        ((3 + 10) / 2, "the mean of the devices' means gives every device the same weight, even "
                       "one with few real values"),
        (19 / 9, "the values that are masked out must not count in the denominator"),
        (float(values.mean()), "the values that are masked out must not count"),
    ):  # fmt: skip
        if np.allclose(seen, wrong, equal_nan=True):
            raise AnswerRejected(f"{how}the mean must be 4.75, got {wrong:.4g}: {why}")
    if not np.allclose(seen, 4.75):
        raise AnswerRejected(f"{how}the mean must be 4.75, got {_rounded(seen)}")
    if not np.allclose(means(jnp.where(mask, values, jnp.nan), mask), 4.75):
        raise AnswerRejected(
            "a value that is masked out may be NaN, and NaN times zero is NaN. Replace it with "
            "jnp.where before you add up the values"
        )
    nothing = means(values, jnp.zeros_like(mask))
    if not np.allclose(nothing, 0):
        raise AnswerRejected(
            f"if no value is real on any device, the mean must be 0, got {_rounded(nothing)}"
        )
    mesh = jax.make_mesh((1,), ("data",), axis_types=(AxisType.Auto,))
    sharded = jax.jit(
        jax.shard_map(
            lambda values, mask: answer(values, mask), mesh=mesh, in_specs=P("data"), out_specs=P()
        )
    )
    seen = call(answer, values[0], mask[1], how="in shard_map on one device, ", through=sharded)
    if not np.allclose(seen, 1.0):
        raise AnswerRejected(
            f"in shard_map on one device, the mean of [1.0] must be 1.0, got {float(seen):.4g}"
        )


def _rounded(array: Any) -> str:
    return "[" + ", ".join(f"{number:.4g}" for number in np.asarray(array)) + "]"


EXERCISES = (
    Exercise(
        id="sharding/1",
        title="a batch for any number of devices",
        stub=pad_rows,
        hints=(
            "JAX knows the number of rows while it traces your function, so you can compute the "
            "number of missing rows with ordinary Python arithmetic.",
            "-len(rows) % devices is the number of missing rows. It is 0 if the rows already "
            "divide evenly. (If you write devices - len(rows) % devices, you add too many rows in "
            "that case.)",
            "Pass jnp.pad a pair (before, after) for each axis. It keeps the dtype. The mask is "
            "jnp.arange(len(padded)) < len(rows).",
        ),
        verify=verify_pad_rows,
        solution=solve_pad_rows,
    ),
    Exercise(
        id="sharding/2",
        title="a mean over all devices",
        stub=mean_of_real,
        hints=(
            "Each device sees only its own shard. Which function sums a value over all devices?",
            "A mean of the devices' means gives every device the same weight. Add up the values of "
            "all devices, add up their counts, and divide once.",
            'The total is lax.psum(jnp.sum(jnp.where(mask, values, 0)), "data"). Divide it by '
            "the count on all devices or by 1, whichever is larger.",
        ),
        verify=verify_mean_of_real,
        solution=solve_mean_of_real,
    ),
)
