"""False alarms elsewhere: libraries' own functions, on plain arrays, all alarms looked at.

Audited in full are the updates of all of optax's optimisers, layers of flax, and every eighth of
JAX's functions; the others only by the checks that need no run of the program.
"""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import jax.scipy
import optax
import pytest
from flax import linen, nnx

from jaxbits import audit, detect

pytestmark = pytest.mark.slow

EVERY = 8
RUNS = {
    "out_of_bounds", "recompile", "inplace", "nan", "cast", "overflow", "x64", "transfer",
    "donation", "timing", "carry",
}  # fmt: skip
"""The checks that run the program, or compile it."""
QUICK = [check for check in detect.detectors() if check not in RUNS]

SIZES = """argwhere bincount compress extract flatnonzero intersect1d nonzero repeat roots setdiff1d
setxor1d trim_zeros union1d unique unique_all unique_counts unique_inverse unique_values"""
STATIC = "delete empty expand_dims indices ones zeros"
EXPECTED = {
    **{(f"numpy.{n}", "dynamic_shape"): "its size depends on the numbers" for n in SIZES.split()},
    **{(f"numpy.{n}", "dynamic_shape"): "takes a static argument" for n in STATIC.split()},
    ("numpy.choose", "dynamic_shape"): "compares its indices, unless given a mode",
    ("numpy.acosh", "nan"): "has no value below 1",
    ("scipy.special.polygamma", "nan"): "takes whole orders only",
    ("scipy.special.zeta", "nan"): "has no value at or below 1",
    ("scipy.stats.geom.pmf", "nan"): "its slope is NaN where p is 0",
    ("scipy.stats.pareto.pdf", "nan"): "its slope is NaN where b is 0",
}
"""Alarms that are true, with the reason: by function and check."""

SQUARE = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
VECTOR = jnp.array([0.2, 0.5, 0.7])
WHOLE = jnp.array([1, 2, 0])
KEY = jax.random.key(0)
CANDIDATES = (
    (VECTOR,),
    (SQUARE,),
    (VECTOR, VECTOR + 0.1),
    (SQUARE, SQUARE),
    (SQUARE, VECTOR),
    (VECTOR, SQUARE),
    (WHOLE,),
    (WHOLE, WHOLE),
    (VECTOR, WHOLE),
    (WHOLE, VECTOR),
    (SQUARE, WHOLE),
    (VECTOR, VECTOR + 0.1, VECTOR + 0.2),
    (SQUARE, SQUARE, SQUARE),
    (VECTOR > 0.3,),
    (VECTOR > 0.3, VECTOR, VECTOR),
    (VECTOR, VECTOR + 0.1, VECTOR + 0.2, VECTOR + 0.3),
    (SQUARE[None, None], SQUARE[None, None], SQUARE[None, None]),
    ([VECTOR, VECTOR],),
    ([SQUARE, SQUARE],),
)
ROOMS = (
    jnp, jnp.linalg, jnp.fft, jax.nn, jax.scipy.special, jax.scipy.linalg, jax.scipy.signal,
    jax.scipy.stats, *(room for _, room in inspect.getmembers(jax.scipy.stats, inspect.ismodule)),
)  # fmt: skip


def library():
    """Yield the functions of JAX's that take arrays, by name, with arguments that they take."""
    seen = set()
    for room in ROOMS:
        for name, fn in vars(room).items():
            known = name.startswith("_") or isinstance(fn, type) or id(fn) in seen
            # NumPy's own, such as `can_cast`, are not JAX's; `jax.jit` of one ends the interpreter.
            numpys = type(fn).__module__ == "numpy" or getattr(fn, "__module__", "") == "numpy"
            if known or numpys or not callable(fn) or name in ("load", "broadcast_shapes"):
                continue
            seen.add(id(fn))
            if (args := accepted(fn)) is not None:
                yield f"{room.__name__.removeprefix('jax.')}.{name}", fn, args


def accepted(fn):
    """Return the first arguments that a function can be traced with, else called with."""
    for call in (jax.eval_shape, lambda fn, *args: fn(*args)):
        for args in CANDIDATES:
            try:
                made = jax.tree.leaves(call(fn, *args))
            except Exception:  # other arguments, then
                continue
            if made and all(hasattr(leaf, "dtype") for leaf in made):
                return args
    return None


def unexpected(name, fn, args, checks=None):
    """Return the alarms about a function that nobody has looked at, and those that are untrue."""
    report = audit(fn, *args, checks=checks)
    if (name, "dynamic_shape") in EXPECTED:
        with pytest.raises((TypeError, jax.errors.JAXTypeError, jax.errors.JAXIndexError)):
            jax.jit(fn)(*args)
    if (name, "nan") in EXPECTED:
        assert has_nan(fn, args)
    return [
        f"{name}: {finding}"
        for finding in report
        if finding.severity != "note" and (name, finding.check) not in EXPECTED
    ] + [f"{name}: {note}" for note in report.notes if "failed" in note]


def has_nan(fn, args):
    """Whether a function gives NaN, or its slope is NaN where one of its numbers is 0."""
    floats = [n for n, one in enumerate(args) if jnp.issubdtype(one.dtype, jnp.floating)]

    def slopes(n):
        given = [one.at[0].set(0.0) if m == n else one for m, one in enumerate(args)]
        return jax.grad(lambda *xs: fn(*xs).sum(), argnums=tuple(floats))(*given)

    seen = [fn(*args), *(slopes(n) for n in floats)]
    return any(bool(jnp.isnan(leaf).any()) for leaf in jax.tree.leaves(seen))


def optimisers():
    """Yield the updates of optax's optimisers, by name, with their arguments."""
    params = {"w": SQUARE, "b": VECTOR}
    gradients = jax.tree.map(lambda leaf: 0.1 * leaf, params)
    for name in sorted(vars(optax)):
        make = getattr(optax, name)
        if name.startswith("_") or not inspect.isfunction(make):
            continue
        for given in ((), (0.1,)):
            try:
                optimiser = make(*given)
                state = optimiser.init(params)
                jax.eval_shape(optimiser.update, gradients, state, params)
            except Exception:  # no optimiser, or one that needs more than defaults
                continue
            yield name, optimiser.update, (gradients, state, params)
            break


def layers():
    """Yield layers of flax, by name, with their arguments."""
    image, row, words = jnp.ones((2, 8, 8, 3)), jnp.ones((2, 5, 8)), jnp.array([[1, 2], [3, 0]])
    modules = {
        "Dense": (linen.Dense(4), row),
        "Conv": (linen.Conv(4, (3, 3)), image),
        "ConvTranspose": (linen.ConvTranspose(4, (3, 3)), image),
        "Embed": (linen.Embed(7, 4), words),
        "LayerNorm": (linen.LayerNorm(), row),
        "GroupNorm": (linen.GroupNorm(num_groups=2), row),
        "RMSNorm": (linen.RMSNorm(), row),
        "MultiHeadDotProductAttention": (linen.MultiHeadDotProductAttention(2), row),
        "RNN": (linen.RNN(linen.LSTMCell(4)), row),
        "GRU": (linen.RNN(linen.GRUCell(4)), row),
        "Sequential": (linen.Sequential([linen.Dense(4), linen.relu, linen.Dense(2)]), row),
    }
    for name, (module, x) in modules.items():
        yield f"linen.{name}", module.apply, (module.init(KEY, x), x)
    norm = linen.BatchNorm(use_running_average=False)
    yield (
        "linen.BatchNorm",
        lambda v, x: norm.apply(v, x, mutable=["batch_stats"]),
        (norm.init(KEY, row), row),
    )
    drop = linen.Dropout(0.5, deterministic=False)
    yield "linen.Dropout", lambda x, key: drop.apply({}, x, rngs={"dropout": key}), (row, KEY)
    rngs = nnx.Rngs(0)
    units = {
        "Linear": (nnx.Linear(8, 4, rngs=rngs), row),
        "Conv": (nnx.Conv(3, 4, (3, 3), rngs=rngs), image),
        "Embed": (nnx.Embed(7, 4, rngs=rngs), words),
        "LayerNorm": (nnx.LayerNorm(8, rngs=rngs), row),
        "BatchNorm": (nnx.BatchNorm(8, rngs=rngs), row),
        "RMSNorm": (nnx.RMSNorm(8, rngs=rngs), row),
        "GroupNorm": (nnx.GroupNorm(8, num_groups=2, rngs=rngs), row),
        "MultiHeadAttention": (nnx.MultiHeadAttention(2, 8, rngs=rngs, decode=False), row),
        "Dropout": (nnx.Dropout(0.5, rngs=rngs), row),
    }
    for name, (unit, x) in units.items():
        graph, state = nnx.split(unit)

        def apply(state, x, graph=graph):
            unit = nnx.merge(graph, state)
            return unit(x), nnx.state(unit)

        yield f"nnx.{name}", apply, (state, x)


def test_jaxs_own_functions_are_quiet():
    wrong, count = [], 0
    for number, (name, fn, args) in enumerate(library()):
        checks = None if number % EVERY == 0 else QUICK
        wrong += unexpected(name, fn, args, checks)
        count += 1
    assert count > 400
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("programs", [optimisers, layers])
def test_libraries_are_quiet(programs):
    wrong, count = [], 0
    for name, fn, args in programs():
        wrong += unexpected(name, fn, args)
        count += 1
    assert count > 20
    assert not wrong, "\n".join(wrong)
