"""Answers to the exercises of *Optimisers that change their types*: mistakes, and right ones."""

import jax
import jax.numpy as jnp
import optax


def cast_all(tree):
    return jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), tree)


def cast_before(loss, params, x):
    return jax.value_and_grad(loss)(cast_all(params), cast_all(x))


def cast_parameters_only(loss, params, x):
    return jax.value_and_grad(lambda p: loss(cast_all(p), x))(params)


def value_in_full(loss, params, x):
    half_x = x.astype(jnp.bfloat16)
    return loss(params, x), jax.grad(lambda p: loss(cast_all(p), half_x))(params)


def cast_back(loss, params, x):
    value, gradient = cast_before(loss, params, x)
    return value, jax.tree.map(lambda g, p: g.astype(p.dtype), gradient, params)


def mask_of(frozen, inside):
    return lambda params: {name: (name in frozen) == inside for name in params}


def no_gradient(tx, frozen):
    return optax.chain(optax.masked(optax.set_to_zero(), mask_of(frozen, True)), tx)


def zeroed_afterwards(tx, frozen):
    return optax.chain(tx, optax.masked(optax.set_to_zero(), mask_of(frozen, True)))


WRONG = {
    "dtype-stability/1": [
        (lambda old, new: new, "the leaf 'm' should be bfloat16, as in old; it is float32"),
        (lambda old, new: old, "the numbers should be those of new"),
        (
            lambda old, new: jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.bfloat16), new),
            "the leaf 'count' should be int32",
        ),
        (
            lambda old, new: jax.tree.map(lambda was, now: now.astype(was.dtype), old, new),
            "AttributeError",
        ),
        (
            lambda old, new: [
                jnp.asarray(n, o.dtype)
                for o, n in zip(jax.tree.leaves(old), jax.tree.leaves(new), strict=True)
            ],
            "it returns another tree",
        ),
    ],
    "dtype-stability/2": [
        (
            lambda loss, params, x: jax.value_and_grad(loss)(params, x),
            "the loss should see bfloat16 parameters",
        ),
        (cast_before, "the gradient should be float32"),
        (cast_parameters_only, "cast the batch as well"),
        (value_in_full, "the loss should see bfloat16 parameters"),
        (lambda *args: cast_back(*args)[::-1], "the first of the two should be the value"),
        (lambda *args: (0.0, cast_back(*args)[1]), "the first of the two should be the value"),
        (
            lambda loss, params, x: jax.grad(lambda p: loss(cast_all(p), cast_all(x)))(params),
            "return two things",
        ),
    ],
    "dtype-stability/3": [
        (lambda tx, frozen: tx, "weight decay needs no gradient"),
        (no_gradient, "weight decay needs no gradient"),
        (lambda tx, frozen: optax.masked(tx, mask_of(frozen, False)), "its raw gradient"),
        (lambda tx, frozen: optax.set_to_zero(), "tx alone takes it"),
        (lambda tx, frozen: tx.update, "return a transformation"),
    ],
}
RIGHT = [
    ("dtype-stability/2", cast_back),
    ("dtype-stability/3", zeroed_afterwards),
    (
        "dtype-stability/1",
        lambda old, new: jax.tree.map(lambda was, now: (was * 0 + now).astype(was.dtype), old, new),
    ),
]
