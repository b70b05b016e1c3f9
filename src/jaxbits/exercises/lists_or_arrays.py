"""The exercises of chapter 18, lists or arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.compat import x64_on
from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call


def settle(settings: Mapping[str, Any], dtype: Any) -> dict[str, Any]:
    """Return a nested dict with each number an array of the dtype, strongly typed."""
    raise NotImplementedError


def solve_settle(settings: Mapping[str, Any], dtype: Any) -> dict[str, Any]:
    """A dict of dicts is a pytree, and a dtype that is named is strong."""
    settled: dict[str, Any] = jax.tree.map(lambda n: jnp.asarray(n, dtype), settings)
    return settled


def verify_settle(answer: Callable[..., Any]) -> None:
    """Ask for every kind of number, at two depths, x64 off and on."""
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
    seen = call(answer, settings, dtype, how=when)
    structure: Any = jax.tree.structure(seen)
    if structure != jax.tree.structure(settings):
        raise NotYet(f"{when}it returns another tree: {structure}")
    if jax.tree.map(id, settings) != before:
        raise NotYet(f"{when}it changes the dict that it was given, should return a new one")
    leaves = zip(jax.tree_util.tree_leaves_with_path(seen), jax.tree.leaves(settings), strict=True)
    for (path, got), was in leaves:
        name, kind = jax.tree_util.keystr(path), type(was).__name__
        if not isinstance(got, jax.Array):
            raise NotYet(f"{when}{name} is a {type(got).__name__}, should be a JAX array")
        if str(got.dtype) != dtype:
            raise NotYet(f"{when}{name} ({kind}) is {got.dtype}, should be {dtype}")
        if got.weak_type:
            raise NotYet(f"{when}{name} ({kind}) is weak: it would still give way")
        if got.shape != ():
            raise NotYet(f"{when}{name} has the shape {got.shape}, should be a single number")
        if float(got) != (wanted := float(jnp.asarray(was, dtype))):
            raise NotYet(f"{when}{name} is {float(got)}, should be {wanted}")


def culprits(f: Callable[..., Any], settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the numbers that alone make the result of `f` float64."""
    raise NotImplementedError


def solve_culprits(f: Callable[..., Any], settings: Mapping[str, Any]) -> list[str]:
    """Make all of them harmless, put one back at a time, and ask for the dtype alone."""
    plain = {name: float(number) for name, number in settings.items()}
    return [
        name
        for name, number in settings.items()
        if jax.eval_shape(f, plain | {name: number}).dtype == jnp.float64
    ]


def verify_culprits(answer: Callable[..., Any]) -> None:
    """Ask for two culprits among numbers that are cast, unused, weak or Python's."""
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

        def f(given: Mapping[str, Any]) -> Any:
            jax.debug.callback(lambda: computed.append(True))  # only a run calls back, no trace
            cast = jnp.asarray(given["cast"], jnp.float32)
            bent = (x * given["scale"] + cast) ** given["power"]
            return bent * given["weak"] + given["shift"]

        seen = call(answer, f, settings, how="with x64 on, ")
        jax.effects_barrier()
    try:
        names = list(seen)
    except TypeError:
        raise NotYet(f"it returns {seen!r}, should be a list of names") from None
    if names == ["shift", "power", "unused"] or set(names) - set(settings):
        raise NotYet(f"it returns {names!r}, should be names of the settings, in their order")
    for name, why in {
        "unused": "f does not use it: try each number, instead of looking at its dtype",
        "cast": "f casts it to float32 before it uses it",
        "weak": "an array made of one bare number gives way",
        "scale": "it is a float of Python's; are all others made harmless when it is tried?",
    }.items():
        if name in names:
            raise NotYet(f"{name!r} is no culprit: {why}")
    missing = [name for name in ("shift", "power") if name not in names]
    if missing:
        raise NotYet(
            f"{missing[0]!r} is missing: alone, with all others plain floats, it makes float64"
        )
    if names != ["shift", "power"]:
        raise NotYet(f"it returns {names!r}, should be ['shift', 'power'], in their order")
    if computed:
        raise NotYet("it computes f: jax.eval_shape tells the dtype without computing")


def ulps_apart(a: Any, b: Any) -> float:
    """Return by how many units in the last place two float32 arrays differ at most."""
    raise NotImplementedError


def solve_ulps_apart(a: Any, b: Any) -> float:
    """Measure each difference by the gap between neighbours at that size, in NumPy."""
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    gap = np.spacing(np.maximum(np.abs(a), np.abs(b)))
    return float(np.max(np.abs(a.astype(np.float64) - b) / gap))


def verify_ulps_apart(answer: Callable[..., Any]) -> None:
    """Ask for neighbours of several sizes and signs, for a mixture, and for no difference."""
    ones = np.array([0.75, -1.5, 1e6, -3e-5], np.float32)
    up = np.nextafter(ones, np.float32(np.inf) * np.sign(ones))
    two_up = np.nextafter(up, np.float32(np.inf) * np.sign(ones))
    _must_be(answer, ones, ones, 0.0, "equal arrays")
    for at in range(len(ones)):
        where = f"{ones[at]:g} and the next float32 outwards"
        _must_be(answer, ones[at : at + 1], up[at : at + 1], 1.0, where)
        _must_be(answer, up[at : at + 1], ones[at : at + 1], 1.0, f"{where}, the other way round")
    mixed = np.array([two_up[0], ones[1], up[2], ones[3]], np.float32)
    _must_be(answer, ones, mixed, 2.0, "four numbers, of which one is two steps away")
    _must_be(answer, jnp.asarray(ones), jnp.asarray(two_up), 2.0, "JAX arrays, two steps away")


def _must_be(answer: Callable[..., Any], a: Any, b: Any, expected: float, what: str) -> None:
    seen = call(answer, a, b)
    try:
        number = float(seen)
    except (TypeError, ValueError):
        raise NotYet(f"it returns {seen!r}, should be a number") from None
    if not abs(number - expected) < 1e-3:
        raise NotYet(f"for {what} it returns {number:.4g}, should be {expected:g}")


EXERCISES = (
    Exercise(
        id="lists-or-arrays/1",
        title="numbers that keep their dtype",
        stub=settle,
        hints=(
            "jax.tree.map goes through dicts of dicts by itself.",
            "jnp.array(0.5) is weak. What makes it strong?",
            "jax.tree.map(lambda n: jnp.asarray(n, dtype), settings): a dtype that you name is "
            "strong, whatever came in.",
        ),
        verify=verify_settle,
        solution=solve_settle,
    ),
    Exercise(
        id="lists-or-arrays/2",
        title="the numbers that widen a result",
        stub=culprits,
        hints=(
            "Make a dict in which every number is float(number). With it the result is float32.",
            "Put one number back at a time: plain | {name: number}.",
            "jax.eval_shape(f, given).dtype traces f and computes nothing.",
        ),
        verify=verify_culprits,
        solution=solve_culprits,
    ),
    Exercise(
        id="lists-or-arrays/3",
        title="a distance in last digits",
        stub=ulps_apart,
        hints=(
            "The unit is not the same for 0.75 and for a million. Which function of NumPy's "
            "knows it?",
            "np.spacing(x) is the distance from x to the next number; give it sizes: np.abs.",
            "Divide the size of the difference, taken in float64, by "
            "np.spacing(np.maximum(np.abs(a), np.abs(b))), and take the largest.",
        ),
        verify=verify_ulps_apart,
        solution=solve_ulps_apart,
    ),
)
