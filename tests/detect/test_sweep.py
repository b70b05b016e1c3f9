"""Test that an audit raises no false alarms on functions from JAX, Optax, and Flax.

Every Optax update, every Flax layer, and every eighth JAX function gets a full audit. On the
other JAX functions, only the checks that do not run the program are performed.
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

FULL_AUDIT_INTERVAL = 8
CHECKS_WITH_RUN = {
    "out_of_bounds", "recompile", "inplace", "nan", "cast", "overflow", "x64", "transfer",
    "donation", "timing", "carry", "duplicate_indices",
}  # fmt: skip
"""The checks that run or compile the program."""
CHECKS_WITHOUT_RUN = [check for check in detect.detectors() if check not in CHECKS_WITH_RUN]

DYNAMIC_SIZE = """argwhere bincount compress extract flatnonzero intersect1d nonzero repeat roots
setdiff1d setxor1d trim_zeros union1d unique unique_all unique_counts unique_inverse
unique_values"""
STATIC_SIZE = "delete empty expand_dims indices ones zeros"
EXPECTED = {
    **{
        (f"numpy.{n}", "dynamic_shape"): "its size depends on the values"
        for n in DYNAMIC_SIZE.split()
    },
    **{(f"numpy.{n}", "dynamic_shape"): "takes a static argument" for n in STATIC_SIZE.split()},
    ("numpy.tile", "dynamic_shape"): "takes the repetitions as static numbers",
    ("numpy.from_dlpack", "untraced"): "reads memory, so it takes no traced arrays",
    ("numpy.choose", "dynamic_shape"): "compares its indices unless mode is given",
    ("numpy.acosh", "nan"): "is undefined below 1",
    ("scipy.special.polygamma", "nan"): "is undefined for orders that are not integers",
    ("scipy.special.zeta", "nan"): "is undefined at and below 1",
    ("scipy.stats.geom.pmf", "nan"): "its gradient is NaN where p is 0",
    ("scipy.stats.pareto.pdf", "nan"): "its gradient is NaN where b is 0",
}
"""The reason for each correct finding, by function and check."""

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
NAMESPACES = (
    jnp, jnp.linalg, jnp.fft, jax.nn, jax.scipy.special, jax.scipy.linalg, jax.scipy.signal,
    jax.scipy.stats,
    *(module for _, module in inspect.getmembers(jax.scipy.stats, inspect.ismodule)),
)  # fmt: skip


def jax_functions():
    """Yield the name of each JAX function that takes arrays, the function, and valid arguments."""
    seen = set()
    for namespace in NAMESPACES:
        for name, fn in vars(namespace).items():
            is_excluded = name.startswith("_") or isinstance(fn, type) or id(fn) in seen
            # JAX re-exports NumPy functions such as `can_cast`, which crash Python under `jax.jit`.
            is_from_numpy = (
                type(fn).__module__ == "numpy" or getattr(fn, "__module__", "") == "numpy"
            )
            if (
                is_excluded
                or is_from_numpy
                or not callable(fn)
                or name in ("load", "broadcast_shapes")
            ):
                continue
            seen.add(id(fn))
            if (args := find_accepted_arguments(fn)) is not None:
                yield f"{namespace.__name__.removeprefix('jax.')}.{name}", fn, args


def find_accepted_arguments(fn):
    """Return the first candidates with which a function can be traced or, failing that, called."""
    for call in (jax.eval_shape, lambda fn, *args: fn(*args)):
        for args in CANDIDATES:
            try:
                results = jax.tree.leaves(call(fn, *args))
            except Exception:  # Try the next candidate.
                continue
            if results and all(hasattr(leaf, "dtype") for leaf in results):
                return args
    return None


def find_unexpected_reports(name, fn, args, checks=None):
    """Check that the expected findings are right, and return all other findings and failures."""
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
    ] + [
        f"{name}: {gap}"
        for gap in report.gaps
        if not {(name, gap.case), (name, "dynamic_shape")} & set(EXPECTED)
    ]


def has_nan(fn, args):
    """Return True if a result has NaNs, or if a gradient does when the first entry is 0."""
    floats = [n for n, array in enumerate(args) if jnp.issubdtype(array.dtype, jnp.floating)]

    def gradients(n):
        given = [array.at[0].set(0.0) if m == n else array for m, array in enumerate(args)]
        return jax.grad(lambda *xs: fn(*xs).sum(), argnums=tuple(floats))(*given)

    seen = [fn(*args), *(gradients(n) for n in floats)]
    return any(bool(jnp.isnan(leaf).any()) for leaf in jax.tree.leaves(seen))


def optax_updates():
    """Yield the name, update function, and arguments of each Optax optimizer."""
    params = {"w": SQUARE, "b": VECTOR}
    gradients = jax.tree.map(lambda leaf: 0.1 * leaf, params)
    for name in sorted(vars(optax)):
        make = getattr(optax, name)
        if name.startswith("_") or not inspect.isfunction(make):
            continue
        for given in ((), (0.1,)):
            try:
                optimizer = make(*given)
                state = optimizer.init(params)
                jax.eval_shape(optimizer.update, gradients, state, params)
            except Exception:  # It is not an optimizer, or it needs different arguments.
                continue
            yield name, optimizer.update, (gradients, state, params)
            break


def flax_layers():
    """Yield the name, function, and arguments of each Flax layer."""
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
    nnx_layers = {
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
    for name, (layer, x) in nnx_layers.items():
        graph, state = nnx.split(layer)

        def apply(state, x, graph=graph):
            layer = nnx.merge(graph, state)
            return layer(x), nnx.state(layer)

        yield f"nnx.{name}", apply, (state, x)


def test_audit_reports_nothing_on_jax_functions():
    wrong, count = [], 0
    for number, (name, fn, args) in enumerate(jax_functions()):
        checks = None if number % FULL_AUDIT_INTERVAL == 0 else CHECKS_WITHOUT_RUN
        wrong += find_unexpected_reports(name, fn, args, checks)
        count += 1
    assert count > 400
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("programs", [optax_updates, flax_layers])
def test_audit_reports_nothing_on_optax_and_flax(programs):
    wrong, count = [], 0
    for name, fn, args in programs():
        wrong += find_unexpected_reports(name, fn, args)
        count += 1
    assert count > 20
    assert not wrong, "\n".join(wrong)
