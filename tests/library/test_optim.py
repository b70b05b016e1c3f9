"""Test that `dtype_stable` preserves dtypes and changes nothing else about an optimizer."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax
from optax import contrib

from jaxbits.book.experiments.optimizer_survey import composite_optimizers, optax_optimizers, survey
from jaxbits.optim import dtype_stable

DTYPE_COMBINATIONS = [
    ("float32", "float32", "float32"),
    ("bfloat16", "float32", "float32"),
    ("float32", "float64", "float64"),
]


def parameters(dtype):
    return {"w": jnp.arange(1.0, 7.0).reshape(2, 3).astype(dtype), "b": jnp.ones(3, dtype)}


def avals(tree):
    return jax.tree.map(jax.typeof, tree)


def leaf_types(tree):
    return [
        (leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False))
        for leaf in jax.tree.leaves(tree)
    ]


@pytest.mark.parametrize(
    "makers", [optax_optimizers(), composite_optimizers()], ids=["exported", "composite"]
)
def test_dtype_stable_stabilizes_every_surveyed_optimizer(makers):
    rows = survey(makers, DTYPE_COMBINATIONS, dtype_stable)
    unstable = [
        (name, dtypes, outcome)
        for name, row in rows.items()
        for dtypes, outcome in row.items()
        if outcome.verdict != "stable"
    ]
    assert unstable == []


COMPOSITE_OPTIMIZERS = composite_optimizers() | {
    "prodigy": contrib.prodigy,
    "muon": lambda: contrib.muon(0.1),
}


def update_jaxpr(make, wrap):
    """Return the jaxpr of an optimizer's update as a string without memory addresses."""
    tx = optax.with_extra_args_support(wrap(make()))
    params = parameters(jnp.float32)
    extra_arguments = {"value": sum_of_squares(params), "grad": params, "value_fn": sum_of_squares}
    traced = jax.make_jaxpr(lambda g, s, p: tx.update(g, s, p, **extra_arguments))
    return re.sub(r"0x[0-9a-f]+", "", str(traced(params, tx.init(params), params)))


@pytest.mark.parametrize("name", sorted(set(COMPOSITE_OPTIMIZERS) - {"backtracking"}))
def test_dtype_stable_keeps_jaxpr_if_dtypes_match(name):
    assert update_jaxpr(COMPOSITE_OPTIMIZERS[name], dtype_stable) == update_jaxpr(
        COMPOSITE_OPTIMIZERS[name], lambda tx: tx
    )


def test_dtype_stable_is_bitwise_identical_if_dtypes_match():
    params, results = parameters(jnp.float32), []
    for tx in (optax.adam(0.1), dtype_stable(optax.adam(0.1))):
        current, state = params, tx.init(params)
        for _ in range(3):
            updates, state = tx.update(current, state, current)
            current = optax.apply_updates(current, updates)
        results.append((current, state))
    assert jax.tree.structure(results[0]) == jax.tree.structure(results[1])
    for a, b in zip(*map(jax.tree.leaves, results), strict=True):
        assert jax.typeof(a) == jax.typeof(b)
        assert bool((a == b).all())


@pytest.mark.parametrize("name", ["add_noise", "inject_hyperparams", "masked", "multi_transform"])
def test_dtype_stable_makes_state_valid_scan_carry(name):
    params = parameters(jnp.bfloat16)

    def run(tx):
        def body(carry, _):
            params, state = carry
            gradient = jax.tree.map(lambda p: p.astype(jnp.float32), params)
            updates, state = tx.update(gradient, state, params)
            return (optax.apply_updates(params, updates), state), None

        start = (params, tx.init(params))
        end = jax.eval_shape(lambda: lax.scan(body, start, length=2)[0])
        return leaf_types(start), leaf_types(end)

    before, after = run(dtype_stable(COMPOSITE_OPTIMIZERS[name]()))
    assert before == after
    with pytest.raises(TypeError, match="equal types"):
        run(COMPOSITE_OPTIMIZERS[name]())


def sum_of_squares(params):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(params))


def test_dtype_stable_keeps_weak_types():
    params = parameters(jnp.float32)
    extra_arguments = {"value": sum_of_squares(params), "grad": params, "value_fn": sum_of_squares}
    weak = []
    for tx in (optax.lbfgs(), dtype_stable(optax.lbfgs())):
        state = tx.init(params)
        update = functools.partial(tx.update, **extra_arguments)
        _, new = jax.eval_shape(update, params, state, params)
        weak.append([[is_weak for *_, is_weak in leaf_types(tree)] for tree in (state, new)])
    (plain, plain_after), (before, after) = weak
    assert sum(plain) == 3
    assert sum(plain_after) == 0
    assert before == after == plain


def test_dtype_stable_supports_line_search_in_while_loop():
    tx, params = dtype_stable(optax.lbfgs()), parameters(jnp.float32)

    def body(carry):
        params, state = carry
        value, gradient = optax.value_and_grad_from_state(sum_of_squares)(params, state=state)
        extra_arguments = {"value": value, "grad": gradient, "value_fn": sum_of_squares}
        updates, state = tx.update(gradient, state, params, **extra_arguments)
        return optax.apply_updates(params, updates), state

    start = (params, tx.init(params))
    end = jax.eval_shape(lambda: lax.while_loop(lambda c: sum_of_squares(c[0]) > 1e-6, body, start))
    assert [leaf[:2] for leaf in leaf_types(end)] == [leaf[:2] for leaf in leaf_types(start)]


def test_dtype_stable_supports_vmap():
    tx = dtype_stable(optax.adam(0.1))
    params = jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), parameters(jnp.float16))
    wide = jax.tree.map(lambda p: p.astype(jnp.float32), params)
    state = jax.eval_shape(jax.vmap(tx.init), params)
    updates, new = jax.eval_shape(jax.vmap(tx.update), wide, state, params)
    assert leaf_types(new) == leaf_types(state)
    assert leaf_types(updates) == leaf_types(params)


def test_dtype_stable_keeps_none_leaves():
    params = {"w": jnp.ones(2, jnp.float16), "frozen": None}
    tx = dtype_stable(optax.adam(0.1))
    updates, state = tx.update({"w": jnp.ones(2), "frozen": None}, tx.init(params), params)
    assert updates["frozen"] is None
    assert state[0].mu["frozen"] is None


def test_dtype_stable_computes_in_gradient_dtype():
    tiny, params = {"w": jnp.full(2, 1e-6, jnp.float32)}, {"w": jnp.ones(2, jnp.float16)}
    narrow = jax.tree.map(lambda g: g.astype(jnp.float16), tiny)
    tx = optax.adam(0.1, eps=1e-12)
    cast_before = tx.update(narrow, tx.init(params), params)[0]["w"]
    stable = dtype_stable(tx).update(tiny, tx.init(params), params)[0]["w"]
    assert not jnp.isfinite(cast_before).any()
    assert jnp.allclose(stable, -0.1, atol=1e-3)


def test_dtype_stable_without_params_keeps_gradient_dtype():
    tx = dtype_stable(optax.sgd(0.1, momentum=0.9))
    state = tx.init({"w": jnp.ones(2, jnp.bfloat16)})
    updates, new = tx.update({"w": jnp.ones(2)}, state)
    assert updates["w"].dtype == jnp.float32
    assert avals(new) == avals(state)


def test_dtype_stable_names_invalid_input():
    with pytest.raises(TypeError, match=r"tx must be an Optax optimizer .*, got 0\.1"):
        dtype_stable(0.1)
    counts = {"w": jnp.ones(2), "n": jnp.ones(2, jnp.int32)}
    tx = dtype_stable(optax.adam(0.1))
    gradient = jax.tree.map(lambda p: 0.5 * p, counts)
    with pytest.raises(TypeError, match=r"parameter \['n'\] must be a float array, got int32"):
        tx.update(gradient, tx.init(counts), counts)
    with pytest.raises(TypeError, match=r"mu\['n'\] must stay int32, got float32; a cast would"):
        tx.update(gradient, tx.init(counts))
    grown = optax.GradientTransformation(lambda p: {"a": p}, lambda u, s, p: (u, {"a": u, "b": u}))
    with pytest.raises(ValueError, match=r"new state must have the structure of .* \['b'\]"):
        dtype_stable(grown).update(jnp.ones(2), {"a": jnp.ones(2)}, jnp.ones(2))


OUTER_OPTIMIZERS = {
    "chain": lambda tx: optax.chain(optax.clip(1.0), tx, optax.ema(0.9)),
    "flatten": optax.flatten,
    "lookahead": lambda tx: optax.lookahead(tx, 3, 0.5),
    "conditionally_mask": lambda tx: optax.conditionally_mask(tx, lambda step: step < 2),
    "MultiSteps": lambda tx: optax.MultiSteps(tx, 2),
    "itself": dtype_stable,
}


@pytest.mark.parametrize("name", OUTER_OPTIMIZERS)
def test_dtype_stable_wraps_optimizer_with_dtype_stable_inside(name):
    tx = dtype_stable(OUTER_OPTIMIZERS[name](dtype_stable(optax.adam(0.1))))
    params = parameters(jnp.bfloat16)
    outer_params = optax.LookaheadParams.init_synced(params) if name == "lookahead" else params
    gradient = jax.tree.map(lambda p: p.astype(jnp.float32), params)
    state = jax.eval_shape(tx.init, outer_params)
    updates, new = jax.eval_shape(tx.update, gradient, state, outer_params)
    assert leaf_types(new) == leaf_types(state)
    assert leaf_types(updates) == leaf_types(outer_params)


def test_dtype_stable_inside_apply_if_finite_raises_error():
    params = parameters(jnp.bfloat16)
    gradient = jax.tree.map(lambda p: p.astype(jnp.float32), params)
    inside = optax.apply_if_finite(dtype_stable(optax.adam(0.1)), 3)
    with pytest.raises(TypeError, match="cond"):
        jax.eval_shape(inside.update, gradient, inside.init(params), params)


@pytest.mark.parametrize("dtype", ["complex64", "float8_e4m3fn"])
def test_dtype_stable_supports_complex_and_float8(dtype):
    tx, params = dtype_stable(optax.adam(0.1)), parameters(dtype)
    state = jax.eval_shape(tx.init, params)
    updates, new = jax.eval_shape(tx.update, params, state, params)
    assert leaf_types(new) == leaf_types(state)
    assert leaf_types(updates) == leaf_types(params)


@pytest.mark.parametrize("convert", [lambda tx: tx, lambda tx: tx.gradient_transformation()])
def test_dtype_stable_passes_extra_arguments_that_tx_accepts(convert):
    on_plateau = optax.chain(optax.sgd(0.1), contrib.reduce_on_plateau())
    params = {"w": jnp.ones(2)}
    tx = dtype_stable(convert(optax.MultiSteps(on_plateau, 2)))
    step = functools.partial(tx.update, value=jnp.float32(1.0), unknown=2)
    jax.eval_shape(step, params, tx.init(params), params)
    plain = dtype_stable(optax.GradientTransformation(*optax.scale(0.5)))
    updates, _ = plain.update(params, plain.init(params), params, value=1.0)
    assert updates["w"][0] == 0.5


def test_dtype_stable_accepts_numpy_scalar_in_state():
    tx = dtype_stable(optax.inject_hyperparams(optax.sgd)(learning_rate=0.1))
    params = {"w": jnp.ones(2, jnp.bfloat16)}
    state = tx.init(params)
    state.hyperparams["learning_rate"] = np.float64(0.25)
    _, new = jax.eval_shape(tx.update, params, state, params)
    assert avals(new) == avals(state)


def test_dtype_stable_accepts_float0_and_non_array_leaves():
    params = {"w": jnp.ones(2), "n": jnp.ones(2, jnp.int32)}
    gradient = jax.grad(lambda p: (p["w"] * p["n"]).sum(), allow_int=True)(params)
    tx = dtype_stable(optax.masked(optax.sgd(0.1), {"w": True, "n": False}))
    updates, _ = tx.update(gradient, tx.init(params), params)
    assert updates["n"].dtype == jax.dtypes.float0
    named = optax.GradientTransformation(lambda p: {"name": "x"}, lambda u, s, p=None: (u, s))
    tx = dtype_stable(named)
    assert tx.update(params, tx.init(params), params)[1] == {"name": "x"}
    becomes = optax.GradientTransformation(lambda p: {"a": p}, lambda u, s, p=None: (u, {"a": "x"}))
    with pytest.raises(TypeError, match=r"state leaf \['a'\] must stay float32, got a str"):
        dtype_stable(becomes).update(jnp.ones(2), {"a": jnp.ones(2)}, jnp.ones(2))


def test_dtype_stable_preserves_optimizer_errors():
    tx = dtype_stable(optax.adamw(0.1))
    params = parameters(jnp.float16)
    with pytest.raises(ValueError, match="params"):
        tx.update(jax.tree.map(lambda p: p.astype(jnp.float32), params), tx.init(params))
