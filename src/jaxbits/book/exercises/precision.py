"""The exercises for chapter 10, precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import detect
from jaxbits._formatting import format_value
from jaxbits._jax_compat import x64_on
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_returns,
    assert_returns_under_jit,
    call,
    type_name,
    under_jit,
)
from jaxbits.book.exercises.base import Exercise

IMAGE = jnp.array([[0, 100, 200, 255]], jnp.uint8)


def brighten(image: jax.Array, amount: jax.Array | int) -> jax.Array:
    """Return a uint8 image with `amount` added to each pixel, clipped to the range 0 to 255."""
    raise NotImplementedError


def solve_brighten(image: jax.Array, amount: jax.Array | int) -> jax.Array:
    """Add in int32, clip the sums, and only then convert back to uint8."""
    wide = image.astype(jnp.int32) + amount
    return jnp.clip(wide, 0, 255).astype(jnp.uint8)


def verify_brighten(answer: Callable[..., Any]) -> None:
    """Test brighter and darker images, eagerly and under jit, and reject out-of-range casts."""

    def pixels(*values: int) -> np.ndarray[Any, Any]:
        return np.array([values], np.uint8)

    seen = call(answer, IMAGE, 100)
    if np.array_equal(np.asarray(seen), pixels(100, 200, 44, 99)):
        raise AnswerRejected(
            "200 + 100 became 44, because the sum was computed in uint8, which wraps around"
        )
    if getattr(seen, "dtype", None) != jnp.uint8:
        kind = getattr(seen, "dtype", type(seen).__name__)
        raise AnswerRejected(f"the result must be uint8 like the image, got {kind}")
    assert_returns(answer, IMAGE, 100, expected=pixels(100, 200, 255, 255))
    assert_returns(
        answer,
        IMAGE,
        -100,
        expected=pixels(0, 0, 100, 155),
        why="no pixel can be darker than black",
    )
    white = pixels(255, 255, 255, 255)
    assert_returns(
        answer, IMAGE, 300, expected=white, why="the amount itself does not fit into uint8"
    )
    assert_returns(
        answer, IMAGE, -300, expected=pixels(0, 0, 0, 0), why="no pixel can be darker than black"
    )
    assert_returns(answer, IMAGE, 40_000, expected=white, why="40000 does not fit into int16")
    assert_returns_under_jit(answer, IMAGE, 100, expected=pixels(100, 200, 255, 255))
    assert_returns_under_jit(answer, IMAGE, -300, expected=pixels(0, 0, 0, 0))
    for amount in (300, -300):
        for found in detect.cast(answer, IMAGE, amount):
            # A cast between integers wraps around on every device, so the checks above catch it.
            if found.severity == "error" and found.message.startswith(("float", "bfloat")):
                raise AnswerRejected(
                    f"for an amount of {amount}, your function casts numbers in the range "
                    f"{_range(found.evidence)} to uint8. The result of such a cast depends "
                    "on the device, so clip before you cast"
                )


def _range(evidence: str) -> str:
    """Extract the range from evidence such as "4 values, 300 to 555"."""
    return evidence.rpartition(", ")[2]


def scale_scores(scores: jax.Array, features: int) -> jax.Array:
    """Divide scores by the square root of the number of features, without changing their dtype."""
    raise NotImplementedError


def solve_scale_scores(scores: jax.Array, features: int) -> Any:
    """Divide by a Python number, which adapts to the dtype of the array."""
    return scores / float(features) ** 0.5


def verify_scale_scores(answer: Callable[..., Any]) -> None:
    """Test every floating-point dtype and a NumPy integer, also under jit and with x64 on."""
    for features in (64, np.int64(64)):
        kind = "a Python int" if type(features) is int else "a NumPy integer"
        for dtype in ("bfloat16", "float16", "float32"):
            seen = call(answer, jnp.array([8.0, -16.0], dtype), features)
            _must_keep(seen, dtype, f"for {dtype} scores and {kind}")
            if not np.array_equal(np.asarray(seen, np.float32), [1.0, -2.0]):
                said = np.asarray(seen, np.float32).tolist()
                raise AnswerRejected(
                    "for scores of 8 and -16 with 64 features, the result must be [1.0, "
                    f"-2.0], got {said}"
                )
    half = jnp.array([8.0, -16.0], "bfloat16")
    jitted = under_jit(answer, static=(1,))
    seen = call(answer, half, 64, how="under jit, ", through=jitted)
    _must_keep(seen, "bfloat16", "under jit, for bfloat16 scores")
    with x64_on():
        for features in (64, np.int64(64)):
            for dtype in ("bfloat16", "float32", "float64"):
                seen = call(answer, jnp.array([8.0, -16.0], dtype), features, how="with x64 on, ")
                _must_keep(seen, dtype, f"with x64 on, for {dtype} scores")
        third = call(answer, jnp.array([1.0], "float64"), 3, how="with x64 on, ")
        if abs(float(third[0]) - 3**-0.5) > 1e-3:
            raise AnswerRejected(
                f"for a score of 1 and 3 features, the result must be {3**-0.5:.4f}, got "
                f"{float(third[0]):.4f}"
            )
        if abs(float(third[0]) - 3**-0.5) > 1e-12:
            raise AnswerRejected(
                "with x64 on, the result for float64 scores is only as precise as float32, "
                "because the divisor was rounded to 32 bits"
            )


def _must_keep(seen: Any, dtype: str, where: str) -> None:
    kind = getattr(seen, "dtype", type(seen).__name__)
    if str(kind) != dtype:
        raise AnswerRejected(
            f"{where}, the result must be {dtype}, got {kind}. A Python float adapts to the "
            "dtype of the scores, but a NumPy number or an array does not"
        )


def mean_squared_error(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """Return the mean squared error of n predictions and n targets as a float32 scalar."""
    raise NotImplementedError


def solve_mean_squared_error(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """Flatten both, check that they have the same length, and compute in float32."""
    predictions, targets = jnp.ravel(predictions), jnp.ravel(targets)
    if predictions.shape != targets.shape:
        raise ValueError(f"got {predictions.size} predictions and {targets.size} targets")
    errors = predictions.astype(jnp.float32) - targets.astype(jnp.float32)
    return jnp.mean(errors**2)


def verify_mean_squared_error(answer: Callable[..., Any]) -> None:
    """Test rows and columns for both arguments, unequal lengths, float16, and jit."""
    flat = jnp.array([1.0, 2.0, 3.0, 6.0])
    column = flat[:, None]
    off = jnp.array([1.0, 2.0, 5.0, 5.0])
    want = np.float32(1.25)
    assert_returns(answer, flat, off, expected=want)
    seen = call(answer, column, off)
    if np.shape(seen) == () and not np.isclose(float(seen), want):
        raise AnswerRejected(
            "for predictions of shape (4, 1) and targets of shape (4,), the result must be "
            f"{want:.4g}, got {float(seen):.4g}, because the difference between a column "
            "and a row is a 4 × 4 array"
        )
    for a, b in ((column, off), (flat, off[:, None]), (column, off[:, None])):
        assert_returns(answer, a, b, expected=want)
        assert_returns_under_jit(answer, a, b, expected=want)
    for a, b in ((flat, off[:1]), (flat[:1], off), (column, off[:1, None])):
        _must_refuse(answer, a, b)
    big, zeros = jnp.array([300.0, 0.0, 0.0, 0.0], jnp.float16), jnp.zeros(4, jnp.float16)
    seen = call(answer, big, zeros)
    if not np.isfinite(np.asarray(seen, np.float32)):
        raise AnswerRejected(
            "a float16 error of 300 makes the result infinite, because 300² exceeds 65504, the "
            "largest float16"
        )
    if getattr(seen, "dtype", None) != jnp.float32:
        kind = getattr(seen, "dtype", type(seen).__name__)
        raise AnswerRejected(f"for float16 arrays, the result must be float32, got {kind}")
    assert_returns(answer, big, zeros, expected=np.float32(22500))
    fine, half = jnp.array([2048.0], jnp.float16), jnp.array([0.5], jnp.float16)
    if float(call(answer, fine, half)) == 2048.0**2:
        raise AnswerRejected(
            "for float16 values of 2048 and 0.5, the error must be 2047.5, got 2048, because "
            "the difference was rounded to float16. Convert to float32 before you subtract"
        )
    assert_returns(answer, fine, half, expected=np.float32(2047.5**2))


def _must_refuse(answer: Callable[..., Any], predictions: jax.Array, targets: jax.Array) -> None:
    sizes = f"for arrays of {predictions.size} and {targets.size} values"
    expected = f"{sizes}, your function must raise a ValueError"
    try:
        value = answer(predictions, targets)
    except ValueError:
        return
    except Exception as error:
        raise AnswerRejected(f"{expected}, got {type(error).__name__}") from error
    raise AnswerRejected(f"{expected}, but it returns {format_value(value)}")


def seconds_since_first(stamps: np.ndarray[Any, Any]) -> jax.Array:
    """Convert Unix times in a NumPy float64 array to a JAX array of seconds since the first one."""
    raise NotImplementedError


def solve_seconds_since_first(stamps: np.ndarray[Any, Any]) -> jax.Array:
    """Subtract in NumPy, which has 64 bits. The small differences then fit into float32."""
    return jnp.asarray(stamps - stamps[0], jnp.float32)


def verify_seconds_since_first(answer: Callable[..., Any]) -> None:
    """Test seconds, milliseconds, and unsorted times, and check that x64 is unchanged."""
    for start, after in (
        (1763645590.25, [0.0, 1.0, 2.0, 3.0]),
        (1763645590.25, [0.0, 0.001, 0.002, 0.003]),
        (1763645777.5, [0.0, 3600.001, -2.5, 1800.25]),
    ):
        stamps = start + np.array(after)
        before = stamps.copy()
        x64 = jax.config.read("jax_enable_x64")
        try:
            seen = call(answer, stamps)
        finally:
            switched = jax.config.read("jax_enable_x64") != x64
            jax.config.update("jax_enable_x64", x64)
        if switched:
            raise AnswerRejected("your function leaves x64 on for the whole program")
        if not np.array_equal(before, stamps):
            raise AnswerRejected("your function modifies its argument in place")
        if not isinstance(seen, jax.Array):
            raise AnswerRejected(f"the result must be a JAX array, got {type_name(seen)}")
        if seen.shape != (4,):
            raise AnswerRejected(f"for 4 times, the shape must be (4,), got {seen.shape}")
        apart = np.asarray(seen, np.float64)
        if not np.allclose(apart, after, rtol=0, atol=1e-5 if max(after) < 10 else 5e-4):
            why = ""
            if not np.any(apart % 128):
                why = ": at the size of a Unix time, neighboring float32 numbers are 128 s apart"
            elif np.allclose(apart, np.array(after) - min(after), atol=5e-4):
                why = ": these are seconds since the earliest time, which is not the first one"
            said = [float(f"{value:.7g}") for value in apart]
            raise AnswerRejected(f"for times {after} s after the first, the result is {said}{why}")
        if seen.dtype != jnp.float32:
            raise AnswerRejected(f"the result must be float32, got {seen.dtype}")


EXERCISES = (
    Exercise(
        id="precision/1",
        title="a brighter image without wrapping",
        stub=brighten,
        hints=(
            "Print image + 100 for a pixel of 200. Clipping after that is too late.",
            "First convert to a type that has room for the sum: image.astype(jnp.int32).",
            (
                "Add, clip to 0 and 255 with jnp.clip, and then convert back to jnp.uint8. "
                "Clip before you convert, because a cast from float is undefined outside 0 to "
                "255, and a cast from int32 wraps around."
            ),
        ),
        verify=verify_brighten,
        solution=solve_brighten,
    ),
    Exercise(
        id="precision/2",
        title="scores that keep their dtype",
        stub=scale_scores,
        hints=(
            "np.sqrt returns a NumPy number, which has its own dtype and can widen the scores.",
            "Which square root returns a Python float, even if features is a NumPy integer?",
            "math.sqrt(features) and float(features) ** 0.5 are both Python floats.",
        ),
        verify=verify_scale_scores,
        solution=solve_scale_scores,
    ),
    Exercise(
        id="precision/3",
        title="a mean squared error that takes rows and columns",
        stub=mean_squared_error,
        hints=(
            "Print the shape of predictions - targets for the shapes (4, 1) and (4,).",
            "jnp.ravel flattens both. Shapes are known while JAX traces, so an ordinary if can "
            "compare them and raise a ValueError.",
            "Convert to float32 before you subtract and square: float16 cannot hold 300².",
        ),
        verify=verify_mean_squared_error,
        solution=solve_mean_squared_error,
    ),
    Exercise(
        id="precision/4",
        title="times that differ by seconds",
        stub=seconds_since_first,
        hints=(
            "What does jnp.asarray make of 1763645590.25?",
            "All the times share the same large part. Where can you subtract it without losing "
            "the rest?",
            "stamps is a NumPy array: subtract stamps[0] in NumPy, and convert the result to JAX.",
        ),
        verify=verify_seconds_since_first,
        solution=solve_seconds_since_first,
    ),
)
