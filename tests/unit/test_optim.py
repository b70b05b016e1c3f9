"""A wrapped optimiser keeps every type it began with, and else does what it did."""

import functools

import jax
import jax.numpy as jnp
import optax
import pytest
from jax import lax
from optax import contrib

from jaxbits.optim import dtype_stable

NAMES = """
    adabelief adadelta adagrad adam adamax adamaxw adamw adan amsgrad lamb lars lion nadam
    novograd radam rmsprop rprop signum sm3 yogi
"""
WIDE = {name: functools.partial(getattr(optax, name), 0.1) for name in NAMES.split()} | {
    "momentum": lambda: optax.sgd(0.1, momentum=0.9),
    "inject_hyperparams": lambda: optax.inject_hyperparams(optax.adam)(learning_rate=0.1),
    "schedule": lambda: optax.adam(optax.cosine_decay_schedule(0.1, 10)),
    "masked": lambda: optax.masked(optax.adam(0.1), {"w": True, "b": False}),
    "multi_transform": lambda: optax.multi_transform(
        {"a": optax.adam(0.1), "s": optax.sgd(0.1)}, {"w": "a", "b": "s"}
    ),
    "apply_if_finite": lambda: optax.apply_if_finite(optax.adam(0.1), 3),
    "typed key": lambda: optax.chain(
        optax.add_noise(0.1, 0.55, jax.random.key(0)), optax.adam(1.0)
    ),
    "prodigy": lambda: contrib.prodigy(1.0),
    "muon": lambda: contrib.muon(0.1),
    "schedule_free": lambda: contrib.schedule_free_adamw(0.1),
}
STEADY = {
    "sgd": lambda: optax.sgd(0.1),
    "adafactor": lambda: optax.adafactor(0.1),
    "multi steps": lambda: optax.MultiSteps(optax.adam(0.1), 2).gradient_transformation(),
}


def parameters(dtype):
    return {"w": jnp.arange(1.0, 7.0).reshape(2, 3).astype(dtype), "b": jnp.ones(3, dtype)}


def types(tree):
    return jax.tree.map(jax.typeof, tree)


def step(tx, wide):
    def one(params, state):
        gradient = jax.tree.map(lambda p: (2 * p).astype(wide), params)
        updates, state = tx.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, updates

    return one


@pytest.mark.parametrize("name", WIDE)
def test_wide_gradients_change_no_type(name):
    plain, tx, params = WIDE[name](), dtype_stable(WIDE[name]()), parameters(jnp.bfloat16)
    one = step(tx, jnp.float32)

    def turn(carry, _):
        params, state, _ = one(*carry)
        return (params, state), None

    state = tx.init(params)
    assert types(state) == types(plain.init(params))
    (_, last), _ = lax.scan(turn, (params, state), length=2)
    assert types(last) == types(state)
    assert types(one(params, state)[2]) == types(params)
    with pytest.raises((TypeError, AssertionError)):
        assert types(step(plain, jnp.float32)(params, plain.init(params))[1:]) == types(
            (state, params)
        )


@pytest.mark.parametrize("name", WIDE | STEADY)
def test_where_all_was_well_every_bit_stays(name):
    make, params = (WIDE | STEADY)[name], parameters(jnp.float32)
    ends = []
    for tx in (make(), dtype_stable(make())):
        now, state = params, tx.init(params)
        for _ in range(3):
            now, state, updates = step(tx, jnp.float32)(now, state)
        ends.append((now, state, updates))
    one, other = ends
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert jax.typeof(a) == jax.typeof(b)
        assert bool((a == b).all())


def value_of(params):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(params))


def searched(make, params, steps):
    """Run a line search `steps` times under jit; returns the number of traces and both states."""
    traces = []
    tx = optax.with_extra_args_support(make)

    @jax.jit
    def one(params, state):
        traces.append(1)
        value, gradient = jax.value_and_grad(value_of)(params)
        updates, state = tx.update(
            gradient, state, params, value=value, grad=gradient, value_fn=value_of
        )
        return optax.apply_updates(params, updates), state

    first = state = tx.init(params)
    for _ in range(steps):
        params, state = one(params, state)
    return len(traces), first, state


def test_weak_states_stay_weak_and_compile_once():
    params = parameters(jnp.float32)
    traces, first, last = searched(optax.lbfgs(), params, 3)
    assert traces == 2
    traces, first, last = searched(dtype_stable(optax.lbfgs()), params, 3)
    assert (traces, types(first)) == (1, types(last))


def test_a_line_search_in_a_while_loop():
    tx, params = dtype_stable(optax.lbfgs()), parameters(jnp.float32)

    def go(carry):
        params, state, turn = carry
        value, gradient = optax.value_and_grad_from_state(value_of)(params, state=state)
        updates, state = tx.update(
            gradient, state, params, value=value, grad=gradient, value_fn=value_of
        )
        return optax.apply_updates(params, updates), state, turn + 1

    start = (params, tx.init(params), 0)
    params, _, turns = lax.while_loop(lambda c: (c[2] < 20) & (value_of(c[0]) > 1e-6), go, start)
    assert turns < 20
    assert value_of(params) < 1e-6


def test_under_vmap():
    tx = dtype_stable(optax.adam(0.1))
    params = jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), parameters(jnp.float16))
    state = jax.vmap(tx.init)(params)
    updates, new = jax.vmap(tx.update)(
        jax.tree.map(lambda p: p.astype(jnp.float32), params), state, params
    )
    assert types(new) == types(state)
    assert types(updates) == types(params)


def test_leaves_that_are_none_stay_none():
    params = {"w": jnp.ones(2, jnp.float16), "frozen": None}
    tx = dtype_stable(optax.adam(0.1))
    updates, state = tx.update({"w": jnp.ones(2), "frozen": None}, tx.init(params), params)
    assert updates["frozen"] is None
    assert state[0].mu["frozen"] is None


def test_the_gradients_keep_their_width_inside():
    tiny, params = {"w": jnp.full(2, 1e-6, jnp.float32)}, {"w": jnp.ones(2, jnp.float16)}
    narrow = jax.tree.map(lambda g: g.astype(jnp.float16), tiny)
    tx = optax.adam(0.1, eps=1e-12)
    cast_before = tx.update(narrow, tx.init(params), params)[0]["w"]
    stable = dtype_stable(tx).update(tiny, tx.init(params), params)[0]["w"]
    assert not jnp.isfinite(cast_before).any()
    assert jnp.allclose(stable, -0.1, atol=1e-3)


def test_without_params_the_updates_stay_as_the_gradients():
    tx = dtype_stable(optax.sgd(0.1, momentum=0.9))
    state = tx.init({"w": jnp.ones(2, jnp.bfloat16)})
    updates, new = tx.update({"w": jnp.ones(2)}, state)
    assert updates["w"].dtype == jnp.float32
    assert types(new) == types(state)


def test_bad_input_is_named():
    with pytest.raises(TypeError, match=r"tx should be an Optax transformation.*it was a float"):
        dtype_stable(0.1)
    counts = {"w": jnp.ones(2), "n": jnp.ones(2, jnp.int32)}
    tx = dtype_stable(optax.adam(0.1))
    with pytest.raises(TypeError, match=r"\['n'\] should stay int32; it became float32"):
        tx.update(jax.tree.map(lambda p: 0.5 * p, counts), tx.init(counts), counts)
    grown = optax.GradientTransformation(lambda p: {"a": p}, lambda u, s, p: (u, {"a": u, "b": u}))
    with pytest.raises(ValueError, match=r"the state leafs should be a tree like .* \['b'\]"):
        dtype_stable(grown).update(jnp.ones(2), {"a": jnp.ones(2)}, jnp.ones(2))


def test_errors_of_the_optimiser_are_its_own():
    tx = dtype_stable(optax.adamw(0.1))
    params = parameters(jnp.float16)
    with pytest.raises(ValueError, match="params"):
        tx.update(jax.tree.map(lambda p: p.astype(jnp.float32), params), tx.init(params))
