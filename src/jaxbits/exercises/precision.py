"""The exercises of chapter 10, precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.compat import x64_on
from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call, returns, returns_under_jit

IMAGE = jnp.array([[0, 100, 200, 255]], jnp.uint8)


def brighten(image: jax.Array, amount: jax.Array | int) -> jax.Array:
    """Return a uint8 image with `amount` added to each pixel, black and white at the ends."""
    raise NotImplementedError


def solve_brighten(image: jax.Array, amount: jax.Array | int) -> jax.Array:
    """Add where there is room, stop at the ends, and only then go back to uint8."""
    wide = image.astype(jnp.int32) + amount
    return jnp.clip(wide, 0, 255).astype(jnp.uint8)


def verify_brighten(answer: Callable[..., Any]) -> None:
    """Ask for a brighter, a darker and an all-white image, eager and with a traced amount."""

    def pixels(*values: int) -> np.ndarray[Any, Any]:
        return np.array([values], np.uint8)

    seen = call(answer, IMAGE, 100)
    if np.array_equal(np.asarray(seen), pixels(100, 200, 44, 99)):
        raise NotYet("200 + 100 became 44: the sum was made in uint8, which goes round at 256")
    if getattr(seen, "dtype", None) != jnp.uint8:
        kind = getattr(seen, "dtype", type(seen).__name__)
        raise NotYet(f"it returns {kind}: an image goes in as uint8 and comes out as uint8")
    returns(answer, IMAGE, 100, expected=pixels(100, 200, 255, 255))
    returns(answer, IMAGE, -100, expected=pixels(0, 0, 100, 155), why="black stays black")
    returns(answer, IMAGE, 300, expected=pixels(255, 255, 255, 255), why="300 is more than a uint8")
    returns(answer, IMAGE, -300, expected=pixels(0, 0, 0, 0), why="nothing is left")
    white = pixels(255, 255, 255, 255)
    returns(answer, IMAGE, 40_000, expected=white, why="40000 is more than an int16")
    returns_under_jit(answer, IMAGE, 100, expected=pixels(100, 200, 255, 255))
    returns_under_jit(answer, IMAGE, -300, expected=pixels(0, 0, 0, 0))


def scale_scores(scores: jax.Array, features: int) -> jax.Array:
    """Return scores divided by the square root of the number of features, in their own dtype."""
    raise NotImplementedError


def solve_scale_scores(scores: jax.Array, features: int) -> jax.Array:
    """Divide by a number of Python's, which takes the dtype of what it meets."""
    scaled: jax.Array = scores / float(features) ** 0.5
    return scaled


def verify_scale_scores(answer: Callable[..., Any]) -> None:
    """Ask for every float dtype, for a NumPy integer, under jit, and with x64 on."""
    for features in (64, np.int64(64)):
        for dtype in ("bfloat16", "float16", "float32"):
            scores = jnp.array([8.0, -16.0], dtype)
            seen = call(answer, scores, features)
            _must_keep(seen, dtype, f"for {dtype} scores and {type(features).__name__} features")
            if not np.array_equal(np.asarray(seen, np.float32), [1.0, -2.0]):
                said = np.asarray(seen, np.float32).tolist()
                raise NotYet(f"for scores of 8 and -16 and 64 features it returns {said}")
    half = jnp.array([8.0, -16.0], "bfloat16")
    jitted = jax.jit(lambda scores: answer(scores, 64))
    _must_keep(call(jitted, half, how="under jit, "), "bfloat16", "under jit, for bfloat16 scores")
    with x64_on():
        for dtype in ("bfloat16", "float32", "float64"):
            seen = call(answer, jnp.array([8.0, -16.0], dtype), 64, how="with x64 on, ")
            _must_keep(seen, dtype, f"with x64 on, for {dtype} scores")
        third = call(answer, jnp.array([1.0], "float64"), 3, how="with x64 on, ")
        if abs(float(third[0]) - 3**-0.5) > 1e-3:
            raise NotYet(f"for a score of 1 and 3 features it returns {float(third[0]):.4f}")
        if abs(float(third[0]) - 3**-0.5) > 1e-12:
            raise NotYet("with x64 on, float64 scores come back with 32 bits of precision only")


def _must_keep(seen: Any, dtype: str, where: str) -> None:
    kind = getattr(seen, "dtype", type(seen).__name__)
    if str(kind) != dtype:
        raise NotYet(f"{where} it returns {kind}: the divisor decides the dtype")


def mean_squared_error(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """Return the mean squared error of n predictions and n targets, as a float32 number."""
    raise NotImplementedError


def solve_mean_squared_error(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """Flatten both, refuse what does not fit, and square and add in float32."""
    predictions, targets = jnp.ravel(predictions), jnp.ravel(targets)
    if predictions.shape != targets.shape:
        raise ValueError(f"{predictions.size} predictions for {targets.size} targets")
    errors = predictions.astype(jnp.float32) - targets.astype(jnp.float32)
    return jnp.mean(errors**2)


def verify_mean_squared_error(answer: Callable[..., Any]) -> None:
    """Ask for rows and columns of both, for other lengths, for float16, and under jit."""
    flat = jnp.array([1.0, 2.0, 3.0, 6.0])
    column = flat[:, None]
    off = jnp.array([1.0, 2.0, 5.0, 5.0])
    want = np.float32(1.25)
    returns(answer, flat, off, expected=want)
    seen = call(answer, column, off)
    if np.shape(seen) == () and not np.isclose(float(seen), want):
        raise NotYet(
            f"for predictions of shape (4, 1) and targets of shape (4,) it returns "
            f"{float(seen):.4f}, should be {want:.4f}: a column minus a row is a square"
        )
    for a, b in ((column, off), (flat, off[:, None]), (column, off[:, None])):
        returns(answer, a, b, expected=want)
        returns_under_jit(answer, a, b, expected=want)
    for a, b in ((flat, off[:1]), (flat[:1], off)):
        try:
            value = answer(a, b)
        except ValueError:
            continue
        except Exception as error:
            raise NotYet(f"for {a.size} and {b.size} values it raises {error!r}") from error
        raise NotYet(f"for {a.size} predictions and {b.size} target it returns {value}: refuse")
    big = jnp.array([300.0, 0.0, 0.0, 0.0], jnp.float16)
    seen = call(answer, big, jnp.zeros(4, jnp.float16))
    if not np.isfinite(np.asarray(seen, np.float32)):
        raise NotYet("an error of 300 in float16 makes it infinite: 300² is more than 65504")
    if getattr(seen, "dtype", None) != jnp.float32:
        kind = getattr(seen, "dtype", type(seen).__name__)
        raise NotYet(f"for float16 it returns {kind}: a loss wants float32")
    returns(answer, big, jnp.zeros(4, jnp.float16), expected=np.float32(22500))


def seconds_since_first(stamps: np.ndarray[Any, Any]) -> jax.Array:
    """Return Unix times, a NumPy float64 array, as a JAX array of seconds after the first."""
    raise NotImplementedError


def solve_seconds_since_first(stamps: np.ndarray[Any, Any]) -> jax.Array:
    """Subtract in NumPy, which has 64 bits, and hand over what is small."""
    return jnp.asarray(stamps - stamps[0], jnp.float32)


def verify_seconds_since_first(answer: Callable[..., Any]) -> None:
    """Ask for seconds, milliseconds, an hour out of order, and that x64 is left as it was."""
    for start, after in (
        (1763645590.25, [0.0, 1.0, 2.0, 3.0]),
        (1763645590.25, [0.0, 0.001, 0.002, 0.003]),
        (1763645777.5, [0.0, 3600.001, -2.5, 1800.25]),
    ):
        stamps = start + np.array(after)
        before = stamps.copy()
        x64 = jax.config.read("jax_enable_x64")
        seen = call(answer, stamps)
        if jax.config.read("jax_enable_x64") != x64:
            jax.config.update("jax_enable_x64", x64)
            raise NotYet("it leaves x64 on for the whole program")
        if not np.array_equal(before, stamps):
            raise NotYet("it changes the array that it was given")
        if not isinstance(seen, jax.Array):
            raise NotYet(f"it returns a {type(seen).__name__}, should be a JAX array")
        if seen.shape != (4,):
            raise NotYet(f"for 4 times it returns the shape {seen.shape}")
        apart = np.asarray(seen, np.float64)
        said = f"for times {after} s after the first it returns {apart.tolist()}"
        if not np.allclose(apart, after, rtol=0, atol=1e-5 if max(after) < 10 else 5e-4):
            large = not np.any(apart % 128)
            why = ": a float32 as large as a Unix time is a multiple of 128" if large else ""
            raise NotYet(said + why)
        if seen.dtype != jnp.float32:
            raise NotYet(f"it returns {seen.dtype}, should be float32")


EXERCISES = (
    Exercise(
        id="precision/1",
        title="a brighter image without wrapping",
        stub=brighten,
        hints=(
            "Print image + 100 for a pixel of 200. Clipping afterwards comes too late.",
            "Go to a type with room first: image.astype(jnp.int32).",
            "Then add, then jnp.clip to 0 and 255, then back to jnp.uint8. "
            "In that order no step can wrap.",
        ),
        verify=verify_brighten,
        solution=solve_brighten,
    ),
    Exercise(
        id="precision/2",
        title="scores that keep their dtype",
        stub=scale_scores,
        hints=(
            "np.sqrt gives a NumPy number, and NumPy numbers have a dtype that counts.",
            "Which square root gives a number of Python's, whatever features is?",
            "math.sqrt(features), or float(features) ** 0.5: both are floats of Python's.",
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
            "jnp.ravel makes both flat. Shapes are known while tracing, so a plain if may "
            "compare them and raise a ValueError.",
            "Convert to float32 before you subtract and square: 300² is no float16.",
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
            "The large part is the same in all of them. Where can it be taken away "
            "without losing the rest?",
            "stamps is a NumPy array: subtract stamps[0] there, then hand over to JAX.",
        ),
        verify=verify_seconds_since_first,
        solution=solve_seconds_since_first,
    ),
)
