"""Test that a judge evaluates the jaxpr of an answer as JAX evaluates the answer itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jaxbits_grader.judging.array_data import NotPlain
from jaxbits_grader.judging.jaxpr_data import JaxprEncoder
from jaxbits_grader.judging.jaxpr_evaluation import JaxprEvaluator
from jaxbits_grader.judging.plain_data import Codec

X = jnp.linspace(-1.0, 1.0, 6)
KEY = jax.random.key(0)
TWO = jnp.array([1, 1])


def transferred(fn: Callable[..., Any], *args: Any) -> Callable[..., list[Any]]:
    data = JaxprEncoder(Codec()).encode(jax.make_jaxpr(fn)(*args))
    return JaxprEvaluator(Codec()).function(json.loads(json.dumps(data)))


def weigh(fn: Callable[..., Any], *args: Any) -> Any:
    return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(fn(*args)))


@jax.custom_vjp
def clipped_slope(x: Any, low: Any) -> Any:
    return jnp.sin(x) + low


clipped_slope.defvjp(
    lambda x, low: (clipped_slope(x, low), (x, jnp.cos(x))),
    lambda kept, g: (jnp.clip(g * kept[1] + kept[0], -0.5, 0.5), None),
)

DIFFERENTIABLE = {
    "custom_vjp": lambda x: clipped_slope(x, 2.0) * 3,
    "arithmetic": lambda x: jnp.sin(x) * 2 + 1,
    "relu": jax.nn.relu,
    "softmax": jax.nn.softmax,
    "logsumexp": jax.nn.logsumexp,
    "scan": lambda x: lax.scan(lambda c, v: (c + v, c * v), 0.0, x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, s: s * x, x),
    "cond": lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    "switch out of range": lambda x: lax.switch(jnp.int32(7), [jnp.sin, jnp.cos], x),
    "gather": lambda x: x[jnp.array([1, 9])] + x[2],
    "scatter": lambda x: x.at[TWO].add(2.0).at[3].set(5.0),
    "scatter max": lambda x: x.at[TWO].max(2.0),
    "sort": jnp.sort,
    "matrix product": lambda x: jnp.einsum("i,j->ij", x, x) @ x,
    "where": lambda x: jnp.where(x > 0, x, 0.0),
    "jit": jax.jit(jnp.sin),
    "checkpoint": jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))),
    "checkpoint with a policy": jax.checkpoint(
        lambda x: jnp.sin(jnp.sin(x)), policy=jax.checkpoint_policies.dots_saveable
    ),
    "tile": lambda x: jnp.tile(x, 3),
    "unstack": lambda x: jnp.unstack(x.reshape(2, 3), axis=1),
    "optimization_barrier": lambda x: lax.optimization_barrier((x, 2 * x)),
    "reduce": lambda x: lax.reduce(x.reshape(2, 3), 0.0, lambda a, b: a + b, (1,)),
    "integers in a custom derivative": lambda x: jnp.ldexp(x, jnp.int32(2)),
    "round": lambda x: jnp.round(x * 3) + x,
    "convolution": lambda x: jnp.convolve(x, x),
    "split": lambda x: jnp.split(x, 2),
    "select": lambda x: jnp.select([x > 0.5, x > 0], [x, 2 * x], 3 * x),
    "stack": lambda x: lax.stack([x, x]) if hasattr(lax, "stack") else jnp.stack([x, x]),
    "median": jnp.median,
    "interpolation": lambda x: jnp.interp(x, x, x),
    "associative scan": lambda x: lax.associative_scan(jnp.add, x),
    "stop_gradient": lambda x: lax.stop_gradient(x) * x,
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_evaluation_agrees_with_function_and_its_transformations(name: str) -> None:
    fn = DIFFERENTIABLE[name]
    evaluate = transferred(fn, X)
    expected = jax.tree.leaves(fn(X))
    for result in (evaluate(X), jax.jit(evaluate)(X)):
        for got, wanted in zip(result, expected, strict=True):
            assert (got.dtype, got.weak_type) == (wanted.dtype, wanted.weak_type)
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    slope = jax.grad(lambda x: weigh(evaluate, x))(X)
    np.testing.assert_allclose(slope, jax.grad(lambda x: weigh(fn, x))(X), rtol=1e-5, atol=1e-6)
    batch = jnp.stack([X, 1.5 * X])
    for got, wanted in zip(
        jax.vmap(evaluate)(batch), jax.tree.leaves(jax.vmap(fn)(batch)), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_evaluation_ends_mapped_loops_separately() -> None:
    def halvings(x: Any) -> Any:
        return lax.while_loop(lambda s: s[1] > 1, lambda s: (s[0] + 1, s[1] / 2), (0, x))[0]

    x = jnp.array([1.0, 9.0, 70.0])
    np.testing.assert_array_equal(transferred(jax.vmap(halvings), x)(x)[0], [0, 4, 7])


RANDOM = {
    "normal": lambda key: jax.random.normal(key, (3,)),
    "split": lambda key: jax.random.split(key, 3),
    "permutation": lambda key: jax.random.permutation(key, 5),
    "fold_in": lambda key: jax.random.uniform(jax.random.fold_in(key, 3)),
    "fold_in of many": lambda key: jax.vmap(lambda n: jax.random.fold_in(key, n))(jnp.arange(4)),
    "vmap": lambda key: jax.vmap(jax.random.normal)(jax.random.split(key, 3)),
    "categorical": lambda key: jax.random.categorical(key, X),
    "new key": lambda key: jax.random.normal(jax.random.key(7)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_evaluation_draws_the_same_numbers(name: str) -> None:
    expected = RANDOM[name](KEY)
    (got,) = transferred(RANDOM[name], KEY)(KEY)
    assert got.dtype == expected.dtype
    if jnp.issubdtype(got.dtype, jax.dtypes.prng_key):
        got, expected = map(jax.random.key_data, (got, expected))
    np.testing.assert_array_equal(got, expected)


def test_encoding_leaves_out_prints_and_refuses_callbacks() -> None:
    def chatty(x: Any) -> Any:
        jax.debug.print("{}", x)
        return x + 1

    np.testing.assert_array_equal(transferred(chatty, X)(X)[0], X + 1)
    shape = jax.ShapeDtypeStruct((6,), jnp.float32)
    with pytest.raises(NotPlain, match="parameter of a jaxpr must be plain data"):
        transferred(lambda x: jax.pure_callback(np.sin, shape, x), X)
    with pytest.raises(NotPlain):
        transferred(lambda x: jax.debug.callback(print, x), X)


def test_evaluation_keeps_unrolled_loops_and_policies() -> None:
    def unrolled(x: Any) -> Any:
        return lax.scan(lambda c, v: (c + v, c), 0.0, x, unroll=3)[0]

    again = jax.make_jaxpr(transferred(unrolled, X))(X)
    assert [e.params["unroll"] for e in again.eqns if e.primitive.name == "scan"] == [3]
    policies = jax.checkpoint_policies
    saves = jax.checkpoint(jnp.sin, policy=policies.everything_saveable)
    again = jax.make_jaxpr(transferred(saves, X))(X)
    assert [e.params["policy"] for e in again.eqns] == [policies.everything_saveable]


@jax.custom_vjp
def numpy_slope(x: Any) -> Any:
    return x * 2


numpy_slope.defvjp(lambda x: (x * 2, None), lambda kept, g: (np.full(6, 5.0, np.float32),))


@jax.custom_jvp
def symbolic(x: Any) -> Any:
    return x * 2


symbolic.defjvp(lambda primals, tangents: (primals[0], tangents[0]), symbolic_zeros=True)


def test_evaluation_keeps_slopes_that_are_numpy_arrays() -> None:
    slope = jax.grad(lambda x: transferred(numpy_slope, X)(x)[0].sum())(X)
    np.testing.assert_array_equal(slope, np.full(6, 5.0))


def test_encoding_refuses_symbolic_zeros_and_strings_of_own_classes() -> None:
    class Text(str):
        pass

    class Counter:
        def __format__(self, spec: str) -> str:
            return "1"

    prints_text = lambda x: (jax.debug.print(Text("{}"), x), x)[1]  # noqa: E731
    prints_object = lambda x: (jax.debug.print("{} {}", Counter(), x), x)[1]  # noqa: E731
    for fn in (symbolic, prints_text, prints_object):
        with pytest.raises(NotPlain):
            transferred(fn, X)


def test_encoding_refuses_policies_with_arguments() -> None:
    policy = jax.checkpoint_policies.save_only_these_names("a")
    with pytest.raises(NotPlain, match="a policy of"):
        transferred(jax.checkpoint(jnp.sin, policy=policy), X)


@pytest.mark.parametrize("name", ["pure_callback", "io_callback", "outfeed", "no_such_primitive"])
def test_evaluation_refuses_unsafe_and_unknown_primitives(name: str) -> None:
    data = {"in": [0], "consts": [], "eqns": [[name, [0], [1], {}]], "out": [1]}
    with pytest.raises(NotPlain, match="does not know the primitive"):
        JaxprEvaluator(Codec()).function(data)(X)
