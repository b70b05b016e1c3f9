"""Labeled cases for key_reuse and const_key, written before the detectors ran on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


X = jnp.arange(10.0)


# ------------------------------------------------------------ key_reuse
KEY = jax.random.key(7)
RAW = jax.random.PRNGKey(7)
normal, uniform, split = jax.random.normal, jax.random.uniform, jax.random.split
add("key_reuse", True, lambda k: normal(k) + uniform(k), KEY)
add("key_reuse", True, lambda k: normal(k) + normal(k), RAW)
add("key_reuse", True, lambda k: (split(k)[0], normal(k)), KEY)
add("key_reuse", True, lambda k: [normal(k, (2,)) for _ in range(3)], KEY)
add("key_reuse", True, lambda k: lax.fori_loop(0, 4, lambda i, s: s + normal(k), 0.0), KEY)
add(
    "key_reuse",
    True,
    jax.jit(lambda k, x: jax.vmap(lambda v: v + normal(k))(x) + normal(k)),
    RAW,
    X,
)
add("key_reuse", True, lambda k: (split(k, 3), split(k, 2)), KEY)
add("key_reuse", True, lambda k: lax.scan(lambda c, _: (c, normal(c)), k, None, length=3)[1], KEY)


@case("key_reuse", True, KEY, X)
def own_kr_dropout(key, x):
    a, b = split(key)
    x = x * jax.random.bernoulli(a, 0.5, x.shape)
    return x * jax.random.bernoulli(a, 0.5, x.shape) + normal(b)


@case("key_reuse", True, RAW)
def own_kr_children(key):
    keys = split(key, 4)
    return normal(keys[1]) + uniform(keys[1])


@case("key_reuse", True, KEY)
def own_kr_fold(key):
    return normal(jax.random.fold_in(key, 1)) + normal(jax.random.fold_in(key, 1))


@case("key_reuse", True, KEY, True)
def own_kr_cond(key, flag):
    y = lax.cond(flag, lambda k: normal(k), lambda k: 0.0, key)
    return y + uniform(key)


add("key_reuse", False, lambda k: [normal(c) for c in split(k, 3)], KEY)
add(
    "key_reuse",
    False,
    lambda k: normal(jax.random.fold_in(k, 0)) + normal(jax.random.fold_in(k, 1)),
    RAW,
)
add(
    "key_reuse",
    False,
    lambda k: lax.fori_loop(0, 4, lambda i, s: s + normal(jax.random.fold_in(k, i)), 0.0),
    KEY,
)
add(
    "key_reuse",
    False,
    lambda k: lax.scan(
        lambda c, _: tuple((n := split(c), (n[0], normal(n[1])))[1]), k, None, length=3
    ),
    KEY,
)
add("key_reuse", False, lambda k, f: lax.cond(f, lambda: normal(k), lambda: uniform(k)), KEY, True)
add("key_reuse", False, lambda k: jax.vmap(normal)(split(k, 5)), KEY)
add("key_reuse", False, lambda k: jax.random.permutation(k, 10), KEY)
add("key_reuse", False, lambda k: normal(k) * 2, RAW)
add("key_reuse", False, lambda k, x: jax.grad(lambda w: (w * normal(k, (10,))).sum())(x), KEY, X)
add(
    "key_reuse",
    False,
    lambda k: lax.scan(lambda c, kk: (c + normal(kk), None), 0.0, split(k, 6))[0],
    RAW,
)


@case("key_reuse", False, KEY)
def own_nkr_chain(key):
    total = 0.0
    for _ in range(4):
        key, sub = split(key)
        total += normal(sub)
    return total, key


# The same bug over two calls: a key that was used is returned, so the next call uses it again.
@case("key_reuse", True, X, KEY)
def own_kr_returns_the_drawn_key(x, key):
    return x + normal(key, x.shape), key


@case("key_reuse", True, {"w": X}, KEY, X, carry=0)
def own_kr_batch_from_the_returned_key(params, key, data):
    rows = jax.random.permutation(key, data)[:4]
    return {"w": params["w"] - 0.1 * rows.mean()}, rows.sum(), key


@case("key_reuse", True, {"w": X, "rng": RAW}, carry=0)
def own_kr_state_keeps_the_split_key(state):
    noise_key, _ = split(state["rng"])
    return {**state, "w": state["w"] + normal(noise_key, (10,))}


@case("key_reuse", True, (X, KEY), X, carry="state")
@jax.jit
def own_kr_jitted_state_keeps_the_key(state, batch):
    x, key = state
    keep = jax.random.bernoulli(key, 0.5, batch.shape)
    return (x + keep * batch, key), keep.mean()


@case("key_reuse", True, X, KEY)
def own_kr_returns_the_drawn_child(x, key):
    key, _ = split(key)
    return x * uniform(key, x.shape), key


@case("key_reuse", True, {"w": X, "rng": KEY}, carry=0)
def own_kr_state_folds_the_same_number(state):
    noise = normal(jax.random.fold_in(state["rng"], 0), (10,))
    return {**state, "w": state["w"] + noise}


@case("key_reuse", True, X, split(KEY, 10))
def own_kr_returns_the_drawn_keys(x, keys):
    return x + jax.vmap(normal)(keys), keys


@case("key_reuse", True, X, KEY)
def own_kr_draws_after_a_scan_and_returns(x, key):
    def body(carry, row):
        total, key = carry
        return (total + row, key), None

    (total, key), _ = lax.scan(body, (0.0, key), x)
    return total + normal(key), key


@case("key_reuse", False, X, KEY)
def own_nkr_returns_the_other_child(x, key):
    key, noise_key = split(key)
    return x + normal(noise_key, x.shape), key


@case("key_reuse", False, {"w": X}, KEY, X, carry=0)
def own_nkr_batch_from_a_child(params, key, data):
    key, batch_key = split(key)
    rows = jax.random.permutation(batch_key, data)[:4]
    return {"w": params["w"] - 0.1 * rows.mean()}, rows.sum(), key


@case("key_reuse", False, {"w": X, "rng": RAW}, carry=0)
def own_nkr_state_takes_the_new_key(state):
    rng, noise_key = split(state["rng"])
    return {"w": state["w"] + normal(noise_key, (10,)), "rng": rng}


@case("key_reuse", False, {"w": X, "rng": KEY, "step": jnp.int32(0)}, carry=0)
def own_nkr_state_folds_the_step(state):
    noise = normal(jax.random.fold_in(state["rng"], state["step"]), (10,))
    return {**state, "w": state["w"] + noise, "step": state["step"] + 1}


@case("key_reuse", False, {"w": X, "rng": KEY}, 3, carry=0)
def own_nkr_state_folds_an_argument(state, step):
    noise = normal(jax.random.fold_in(state["rng"], step), (10,))
    return {**state, "w": state["w"] + noise}


@case("key_reuse", False, KEY)
def own_nkr_initializes_and_returns_an_unused_key(key):
    first, second = jax.random.fold_in(key, 0), jax.random.fold_in(key, 1)
    return {"w": normal(first, (3,)), "b": normal(second)}, key


@case("key_reuse", False, X, split(KEY, 10))
def own_nkr_returns_the_next_keys(x, keys):
    pairs = jax.vmap(split)(keys)
    return x + jax.vmap(normal)(pairs[:, 0]), pairs[:, 1]


@case("key_reuse", False, (X, KEY), carry=0)
def own_nkr_state_with_the_key_of_a_scan(state):
    x, key = state

    def body(key, row):
        key, noise_key = split(key)
        return key, row + normal(noise_key)

    key, x = lax.scan(body, key, x)
    return x, key


@case("key_reuse", False, X, KEY)
def own_nkr_returns_a_key_whose_children_are_unused(x, key):
    _, _ = split(key)
    return jnp.zeros_like(x), key


@case("key_reuse", False, X, KEY, True)
def own_nkr_renews_the_key_if_asked(x, key, flag):
    renewed, noise_key = split(key)
    return x + normal(noise_key, x.shape), jnp.where(flag, renewed, jax.random.fold_in(key, 7))


# ------------------------------------------------------------ const_key
add("const_key", True, lambda x: x + normal(jax.random.key(0), (10,)), X)
add("const_key", True, lambda x: x * jax.random.bernoulli(jax.random.PRNGKey(3), 0.5, (10,)), X)
add("const_key", True, lambda x: x + normal(KEY, (10,)), X)
add("const_key", True, jax.jit(lambda x: x + uniform(split(jax.random.key(1))[0], (10,))), X)
add("const_key", True, lambda x: lax.scan(lambda c, v: (c + v * normal(RAW), None), 0.0, x)[0], X)
add("const_key", True, lambda x: jax.random.permutation(jax.random.key(0), x), X)
add("const_key", True, lambda x: jax.vmap(lambda v: v + normal(KEY))(x), X)
add("const_key", True, lambda x: x + normal(jax.random.fold_in(jax.random.key(0), 3)), X)
add("const_key", True, lambda x, k: x + normal(k, (10,)) + normal(jax.random.key(9)), X, KEY)
add("const_key", True, jax.grad(lambda x: (x * normal(jax.random.key(0), (10,))).sum()), X)
add("const_key", False, lambda x, k: x + normal(k, (10,)), X, KEY)
add("const_key", False, lambda x, seed: x + normal(jax.random.key(seed), (10,)), X, 3)
add(
    "const_key",
    False,
    lambda x, i: x + normal(jax.random.fold_in(jax.random.key(0), i), (10,)),
    X,
    5,
)
add("const_key", False, lambda x: jnp.sin(x), X)
add("const_key", False, lambda k: jax.vmap(normal)(split(k, 3)), RAW)
add("const_key", False, jax.jit(lambda x, seed: x + normal(jax.random.PRNGKey(seed), (10,))), X, 3)
add(
    "const_key",
    False,
    lambda k: lax.scan(lambda c, _: (split(c)[0], normal(split(c)[1])), k, None, length=3)[1],
    KEY,
)
add(
    "const_key",
    False,
    lambda x, k: lax.fori_loop(0, 3, lambda i, s: s + normal(jax.random.fold_in(k, i)), x),
    X,
    KEY,
)
add("const_key", False, lambda s: normal(s["key"]) * s["x"], {"key": KEY, "x": 1.0})
add("const_key", False, lambda x: x + 0 * jnp.uint32(7), X)


# ------------------------------------------------------------ keys that nobody draws from
def _zeros_for_a_cell(key, shape):
    first, second = split(key)
    del first, second
    return jnp.zeros(shape), jnp.zeros(shape)


def _noise_for_a_cell(key, shape):
    first, second = split(key)
    return normal(first, shape), normal(second, shape)


@case("key_reuse", False, X)
def own_nkr_zeros_from_equal_constants(x):
    forward = _zeros_for_a_cell(jax.random.key(0), x.shape)
    backward = _zeros_for_a_cell(jax.random.key(0), x.shape)
    return x + forward[0] - backward[1]


@case("key_reuse", False, KEY, X)
def own_nkr_zeros_from_the_dropout_key(key, x):
    hidden, _ = _zeros_for_a_cell(key, x.shape)
    return (hidden + x) * jax.random.bernoulli(key, 0.5, x.shape)


@case("key_reuse", False, RAW, X)
def own_nkr_children_dropped_by_a_scan(key, x):
    def body(carry, v):
        unused, total = carry
        return (split(unused)[0], total + v), None

    total = lax.scan(body, (key, 0.0), x)[0][1]
    return total + normal(key)


@case("key_reuse", False, KEY, X)
def own_nkr_zeros_inside_jit(key, x):
    start = jax.jit(_zeros_for_a_cell, static_argnums=1)
    return start(key, (10,))[0] + start(key, (10,))[1] + x


@case("key_reuse", True, X)
def own_kr_noise_from_equal_constants(x):
    forward = _noise_for_a_cell(jax.random.key(0), x.shape)
    backward = _noise_for_a_cell(jax.random.key(0), x.shape)
    return x + forward[0] - backward[1]


@case("key_reuse", True, KEY, X)
def own_kr_noise_from_the_dropout_key(key, x):
    hidden, _ = _noise_for_a_cell(key, x.shape)
    return (hidden + x) * jax.random.bernoulli(key, 0.5, x.shape)


@case("key_reuse", True, RAW, X)
def own_kr_children_drawn_by_a_scan(key, x):
    def body(total, pair):
        child, v = pair
        return total + v * normal(child), None

    total = lax.scan(body, 0.0, (split(key, 10), x))[0]
    return total + normal(key)


add("key_reuse", True, lambda k: (split(k), normal(split(k)[1])), KEY)


# ------------------------------------------------------------ keys that a loop starts with
@case("key_reuse", True, RAW, X)
def own_kr_loop_starts_with_a_used_key(key, x):
    def body(carry, v):
        current, total = carry
        current, child = split(current)
        return (current, total + v * normal(child)), None

    total = lax.scan(body, (key, 0.0), x)[0][1]
    return total + normal(key)


@case("key_reuse", True, KEY)
def own_kr_drawn_before_a_loop_splits_it(key):
    def body(_, carry):
        current, total = carry
        current, child = split(current)
        return current, total + normal(child)

    return lax.fori_loop(0, 3, body, (key, normal(key)))[1]


@case("key_reuse", False, KEY, X)
def own_nkr_loop_starts_with_a_child(key, x):
    key, loop_key = split(key)

    def body(carry, v):
        current, total = carry
        current, child = split(current)
        return (current, total + v * normal(child)), None

    total = lax.scan(body, (loop_key, 0.0), x)[0][1]
    return total + normal(key)


@case("key_reuse", False, KEY, X)
def own_nkr_loop_returns_its_key(key, x):
    def body(current, v):
        current, child = split(current)
        return current, v * normal(child)

    key, noisy = lax.scan(body, key, x)
    return noisy + normal(key)


# ------------------------------------------------------------ draws of which one is kept
def own_nkr_greedy_or_not(q, key, is_greedy):
    explored = jax.random.categorical(key, 0.1 * q)
    greedy = jax.random.categorical(key, q)
    return lax.select(is_greedy, greedy, explored)


def own_nkr_one_of_three(key, x, i):
    draws = [normal(key), jax.random.uniform(key), jax.random.gumbel(key)]
    return x * lax.select_n(i, *draws)


def own_kr_choice_uses_the_key(q, key):
    explores = jax.random.uniform(key) < 0.1
    return jnp.where(explores, jax.random.categorical(key, q), q.argmax())


def own_kr_greedy_and_logged(q, key, is_greedy):
    explored = jax.random.categorical(key, 0.1 * q)
    greedy = jax.random.categorical(key, q)
    return lax.select(is_greedy, greedy, explored), explored


def own_kr_two_choices(q, key, first, second):
    a = jnp.where(first, normal(key), 0.0)
    return a + jnp.where(second, jax.random.uniform(key), 1.0)


add("key_reuse", False, own_nkr_greedy_or_not, X, KEY, jnp.bool_(True))
add("key_reuse", False, jax.jit(own_nkr_greedy_or_not), X, KEY, jnp.bool_(True))
add("key_reuse", False, own_nkr_one_of_three, KEY, X, jnp.int32(1))
add("key_reuse", True, own_kr_choice_uses_the_key, X, KEY)
add("key_reuse", True, own_kr_greedy_and_logged, X, KEY, jnp.bool_(True))
add("key_reuse", True, own_kr_two_choices, X, KEY, jnp.bool_(True), jnp.bool_(False))


# ------------------------------------------------------------ children by `split` and by `fold_in`
@case("key_reuse", True, X, KEY)
def folds_index_into_key_that_it_splits(x, key):
    _, new_key = jax.random.split(key)
    dropout_key = jax.random.fold_in(key, 1)
    return x * jax.random.bernoulli(dropout_key, 0.5, x.shape), new_key


@case("key_reuse", True, jax.random.PRNGKey(0))
def draws_from_child_and_folded_raw_key(key):
    first, second, third = jax.random.split(key, 3)
    return normal(first) + normal(second) + normal(third) + normal(jax.random.fold_in(key, 2))


@case("key_reuse", True, KEY)
def draws_from_folded_key_and_child(key):
    noise = normal(jax.random.fold_in(key, 0))
    return noise + normal(jax.random.split(key)[0])


@case("key_reuse", False, X, KEY)
def folds_index_into_child(x, key):
    step_key, new_key = jax.random.split(key)
    dropout_key = jax.random.fold_in(step_key, 1)
    return x * jax.random.bernoulli(dropout_key, 0.5, x.shape), new_key


@case("key_reuse", False, KEY)
def folds_number_that_no_child_has(key):
    first, second = jax.random.split(key)
    return normal(first) + normal(second) + normal(jax.random.fold_in(key, 2))


@case("key_reuse", False, jax.random.key(0, impl="rbg"))
def folds_other_kind_of_key(key):
    return normal(jax.random.fold_in(key, 0)) + normal(jax.random.split(key)[0])


@case("key_reuse", False, KEY)
def folds_number_of_unused_child(key):
    first, _ = jax.random.split(key)
    return normal(first) + normal(jax.random.fold_in(key, 1))
