"""The exercises for chapter 18, lists or arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._formatting import format_value
from jaxbits._jax_compat import x64_on
from jaxbits.book.exercises.assertions import AnswerRejected, call
from jaxbits.book.exercises.base import Exercise


def settle(settings: Mapping[str, Any], dtype: Any) -> dict[str, Any]:
    """Return a nested dict in which each number is a strongly typed array of the given dtype."""
    raise NotImplementedError


def solve_settle(settings: Mapping[str, Any], dtype: Any) -> Any:
    """Map over the dict, which is a pytree. An explicit dtype makes an array strongly typed."""
    return jax.tree.map(lambda n: jnp.asarray(n, dtype), settings)


def verify_settle(answer: Callable[..., Any]) -> None:
    """Test every kind of number at two nesting depths, with x64 off and on."""
    for dtype in ("float32", "bfloat16"):
        _must_settle(answer, dtype, "")
    with x64_on():
        for dtype in ("float32", "float64"):
            _must_settle(answer, dtype, "with x64 on, ")


def _must_settle(answer: Callable[..., Any], dtype: str, when: str) -> None:
    numbers = [0.1, np.float64(-1.5), jnp.array([0.25, 2.0])[0], 2, jnp.array(0.75)]
    settings = {
        "wave": {"gamma": numbers[0], "omega": numbers[1], "tau": numbers[2]},
        "noise": {"scale": numbers[3], "shape": {"tail": numbers[4]}},
    }
    before = jax.tree.map(id, settings)
    try:
        seen = call(answer, settings, dtype, how=when)
    except AnswerRejected as error:
        cause = error.__cause__
        if isinstance(cause, TypeError | AttributeError) and "dict" in str(cause):
            raise AnswerRejected(
                f"{error}\n  settings is nested; `jax.tree.map` reaches the inner numbers."
            ) from cause
        raise
    structure: Any = jax.tree.structure(seen)
    if structure != jax.tree.structure(settings):
        raise AnswerRejected(
            f"{when}your function must return a nested dict with the same keys as settings"
        )
    if jax.tree.map(id, settings) != before:
        raise AnswerRejected(
            f"{when}your function modifies its argument in place; return a new dict"
        )
    leaves = zip(jax.tree_util.tree_leaves_with_path(seen), jax.tree.leaves(settings), strict=True)
    for (path, got), was in leaves:
        name, kind = f"{when}{jax.tree_util.keystr(path)}", _kind(was)
        if not isinstance(got, jax.Array):
            raise AnswerRejected(f"{name} must be a JAX array, got {_kind(got)}")
        if str(got.dtype) != dtype:
            raise AnswerRejected(f"{name}, which was {kind}, must be {dtype}, got {got.dtype}")
        if got.weak_type:
            raise AnswerRejected(
                f"{name}, which was {kind}, has a weak type, so it adapts to the arrays that it "
                "is combined with"
            )
        if got.shape != ():
            raise AnswerRejected(f"{name} must have shape (), got {got.shape}")
        wanted = float(jnp.asarray(was, dtype))
        if float(got) != wanted:
            shown = [f"{number:.6g}" for number in (float(got), wanted)]
            if shown[0] == shown[1]:
                raise AnswerRejected(f"{name} has fewer digits than {dtype} can store")
            raise AnswerRejected(f"{name} must be {shown[1]}, got {shown[0]}")


def _kind(value: Any) -> str:
    if isinstance(value, jax.Array):
        return "a JAX array"
    if isinstance(value, np.generic | np.ndarray):
        return f"a NumPy {value.dtype}"
    return f"a Python {type(value).__name__}"


def culprits(f: Callable[..., Any], settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the numbers that, each on its own, make the result of `f` float64."""
    raise NotImplementedError


def solve_culprits(f: Callable[..., Any], settings: Mapping[str, Any]) -> list[str]:
    """Make all numbers harmless, put one back at a time, and compute only the dtype."""
    plain = {name: float(number) for name, number in settings.items()}
    return [
        name
        for name, number in settings.items()
        if jax.eval_shape(f, plain | {name: number}).dtype == jnp.float64
    ]


def verify_culprits(answer: Callable[..., Any]) -> None:
    """Test two culprits among numbers that are cast, unused, weakly typed, or Python floats."""
    computed: list[bool] = []
    with x64_on():
        x = jnp.ones(3, jnp.float32)
        wide = jnp.array([0.1, 0.2, 0.3, 0.4])
        settings = {
            "unused": wide[0],
            "shift": wide[1],
            "scale": 2.0,
            "cast": wide[2],
            "weak": jnp.array(0.5),
            "power": np.float64(1.5),
        }
        before = dict(settings)

        def f(given: Mapping[str, Any]) -> Any:
            jax.debug.callback(lambda: computed.append(True))  # JAX does not call it while tracing.
            cast = jnp.asarray(given["cast"], jnp.float32)
            bent = (x * given["scale"] + cast) ** given["power"]
            return bent * given["weak"] + given["shift"]

        seen = call(answer, f, settings, how="with x64 on, ")
        jax.effects_barrier()
    if list(settings) != list(before) or any(settings[name] is not before[name] for name in before):
        raise AnswerRejected("your function modifies its settings argument in place")
    try:
        names = list(seen)
    except TypeError:
        raise AnswerRejected(f"the result must be a list of names, got {seen!r}") from None
    if isinstance(seen, str) or not all(isinstance(n, str) and n in settings for n in names):
        raise AnswerRejected(f"the result must be a list of names in settings, got {seen!r:.80}")
    for name, why in {
        "unused": "f does not use it, so looking at the dtype of each number is not enough",
        "cast": "f casts it to float32 before it uses it",
        "weak": "a JAX array made from a bare number has a weak type, so it adapts to the others",
        "scale": "it is a Python float; when you test one number, make sure that all others are "
        "harmless",
    }.items():
        if name in names:
            raise AnswerRejected(f"{name!r} is not a culprit: {why}")
    missing = [name for name in ("shift", "power") if name not in names]
    if missing:
        raise AnswerRejected(
            f"{missing[0]!r} is missing. It makes the result float64 even if all other numbers "
            "are plain Python floats"
        )
    if names != ["shift", "power"]:
        raise AnswerRejected(
            f"the result must be ['shift', 'power'], in the order of settings, got {names!r}"
        )
    if computed:
        raise AnswerRejected(
            "your function evaluates f, but jax.eval_shape returns the dtype without doing so"
        )


def ulps_apart(a: Any, b: Any) -> float:
    """Return the largest difference between two float32 arrays, in units in the last place."""
    raise NotImplementedError


def solve_ulps_apart(a: Any, b: Any) -> float:
    """Divide each difference by the spacing of float32 numbers of that size, in NumPy."""
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    gap = np.spacing(np.maximum(np.abs(a), np.abs(b)))
    return float(np.max(np.abs(a.astype(np.float64) - b) / gap))


def verify_ulps_apart(answer: Callable[..., Any]) -> None:
    """Test neighboring numbers of several magnitudes and signs, and pairs around 0 and around 1."""
    ones = np.array([0.75, -1.5, 1e6, -3e-5], np.float32)
    up = np.nextafter(ones, np.float32(np.inf) * np.sign(ones))
    two_up = np.nextafter(up, np.float32(np.inf) * np.sign(ones))
    _must_be(answer, ones, ones, 0.0, "equal arrays")
    for at in range(len(ones)):
        where = f"{ones[at]:g} and the next float32 away from 0"
        _must_be(answer, ones[at : at + 1], up[at : at + 1], 1.0, where)
        _must_be(answer, up[at : at + 1], ones[at : at + 1], 1.0, f"{where}, in reverse order")
    mixed = np.array([two_up[0], ones[1], up[2], ones[3]], np.float32)
    _must_be(answer, ones, mixed, 2.0, "four numbers, one of which is two steps away")
    _must_be(answer, jnp.asarray(ones), jnp.asarray(two_up), 2.0, "JAX arrays, two steps apart")
    zeros = np.array([0.0, 1.5], np.float32)
    _must_be(answer, zeros, zeros, 0.0, "equal arrays that contain a 0")
    one, inf = np.array([1.0], np.float32), np.float32(np.inf)
    below, above = np.nextafter(one, -inf), np.nextafter(one, inf)
    unit = "the unit is the spacing at the larger of the two"
    _must_be(answer, below, one, 0.5, "1 and the next float32 below it", unit)
    _must_be(answer, above, below, 1.5, "the neighbors of 1 on both sides", unit)
    apart = "numbers of opposite sign"
    _must_be(answer, one, -one, 2.0**24, "1 and -1", f"{unit}, even for {apart}")


def _must_be(
    answer: Callable[..., Any], a: Any, b: Any, expected: float, what: str, why: str = ""
) -> None:
    seen = call(answer, a, b)
    try:
        number = float(seen)
    except (TypeError, ValueError):
        raise AnswerRejected(f"the result must be a number, got {format_value(seen)}") from None
    if not abs(number - expected) < 1e-3 * max(1.0, expected):
        reason = f": {why}" if why else ""
        raise AnswerRejected(
            f"for {what}, the result must be {expected:g}, got {number:.4g}{reason}"
        )


EXERCISES = (
    Exercise(
        id="lists-or-arrays/1",
        title="numbers that keep their dtype",
        stub=settle,
        hints=(
            "jax.tree.map also maps over dicts inside dicts.",
            "jnp.array(0.5) has a weak type. How do you create a strongly typed array?",
            "Use jax.tree.map(lambda n: jnp.asarray(n, dtype), settings). An array is strongly "
            "typed if you create it with an explicit dtype, whatever you create it from.",
        ),
        verify=verify_settle,
        solution=solve_settle,
    ),
    Exercise(
        id="lists-or-arrays/2",
        title="the settings that widen a result",
        stub=culprits,
        hints=(
            "Create a dict in which every number is float(number). With this dict, the result is "
            "float32.",
            "Put back one original number at a time, as in plain | {name: number}.",
            "jax.eval_shape(f, given).dtype is the dtype of the result. JAX traces f to find it, "
            "but does not compute anything.",
        ),
        verify=verify_culprits,
        solution=solve_culprits,
    ),
    Exercise(
        id="lists-or-arrays/3",
        title="a distance in units in the last place",
        stub=ulps_apart,
        hints=(
            "The unit is larger for a million than for 0.75. Which NumPy function returns it?",
            "np.spacing(x) is the distance from x to the next number. It has the sign of x, so "
            "pass it np.abs(x).",
            "Compute the differences in float64, divide their absolute values by "
            "np.spacing(np.maximum(np.abs(a), np.abs(b))), and return the largest.",
        ),
        verify=verify_ulps_apart,
        solution=solve_ulps_apart,
    ),
)
