"""Right and wrong answers to the exercises on dtype stability."""

import jax
import jax.numpy as jnp
import optax


def cast_all(tree):
    return jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), tree)


def cast_before(loss, params, x):
    return jax.value_and_grad(loss)(cast_all(params), cast_all(x))


def cast_parameters_only(loss, params, x):
    return jax.value_and_grad(lambda p: loss(cast_all(p), x))(params)


def value_in_float32(loss, params, x):
    half_x = x.astype(jnp.bfloat16)
    return loss(params, x), jax.grad(lambda p: loss(cast_all(p), half_x))(params)


def cast_back(loss, params, x):
    value, gradient = cast_before(loss, params, x)
    return value, jax.tree.map(lambda g, p: g.astype(p.dtype), gradient, params)


def mask_for(frozen, inside):
    return lambda params: {name: (name in frozen) == inside for name in params}


def zero_gradients_before_tx(tx, frozen):
    return optax.chain(optax.masked(optax.set_to_zero(), mask_for(frozen, True)), tx)


def zero_updates_after_tx(tx, frozen):
    return optax.chain(tx, optax.masked(optax.set_to_zero(), mask_for(frozen, True)))


def labels_for(frozen, freeze="freeze", train="train"):
    return lambda params: {name: freeze if name in frozen else train for name in params}


def transform_with_labels(tx, labels, zero=None):
    return optax.multi_transform({"train": tx, "freeze": zero or optax.set_to_zero()}, labels)


def custom_transformation(tx, frozen):
    def update(gradient, state, params):
        updates, state = tx.update(gradient, state, params)
        kept = {n: jnp.zeros_like(u) if n in frozen else u for n, u in updates.items()}
        return kept, state

    return optax.GradientTransformation(tx.init, update)


def freeze_in_first_step_only(tx, frozen):
    """Set the updates to zero only in the first step."""

    def update(gradient, state, params):
        updates, inner = tx.update(gradient, state[0], params)
        kept = {n: 0 * u if n in frozen and not state[1] else u for n, u in updates.items()}
        return kept, (inner, True)

    return optax.GradientTransformation(lambda params: (tx.init(params), False), update)


def modify_params(loss, params, x):
    params.update(cast_all(params))
    return jax.value_and_grad(loss)(params, x.astype(jnp.bfloat16))


def differentiate_by_x(loss, params, x):
    return jax.value_and_grad(lambda x: loss(cast_all(params), x))(cast_all(x))


def cast_to_float16(loss, params, x):
    half = lambda tree: jax.tree.map(lambda leaf: leaf.astype(jnp.float16), tree)  # noqa: E731
    return jax.value_and_grad(lambda p: loss(half(p), half(x)))(params)


def use_vjp(loss, params, x):
    value, pull = jax.vjp(lambda p: loss(cast_all(p), cast_all(x)), params)
    return value, pull(jnp.ones_like(value))[0]


def negate_gradient(loss, params, x):
    value, gradient = cast_back(loss, params, x)
    return value, jax.tree.map(jnp.negative, gradient)


WRONG = {
    "dtype-stability/1": [
        (lambda old, new: new, "the leaf 'm' must be bfloat16, its dtype in old, got float32"),
        (
            lambda old, new: old,
            "the values must come from the argument new, but those of the leaf 'm' do not",
        ),
        (
            lambda old, new: jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.bfloat16), new),
            "the leaf 'count' must be int32, its dtype in old, got bfloat16",
        ),
        (
            lambda old, new: jax.tree.map(lambda was, now: now.astype(was.dtype), old, new),
            "your function calls astype on a Python number, which has no astype",
        ),
        (
            lambda old, new: [
                jnp.asarray(n, o.dtype)
                for o, n in zip(jax.tree.leaves(old), jax.tree.leaves(new), strict=True)
            ],
            "the result must have the same tree structure as new",
        ),
        (
            lambda old, new: jax.tree.map(
                lambda was, now: (was * 0 + now).astype(was.dtype), old, new
            ),
            "those of the leaf 'm' do not",
        ),
        (
            lambda old, new: jax.tree.map(lambda was, now: jnp.zeros_like(was) + now, old, new),
            "the leaf 'm' must be bfloat16, its dtype in old, got float32",
        ),
        (
            lambda old, new: jax.tree.map(
                lambda was, now: (
                    jnp.asarray(now, was.dtype) if jnp.issubdtype(was.dtype, jnp.inexact) else now
                ),
                old,
                new,
            ),
            "the leaf 'count' must be int32, its dtype in old, got int",
        ),
    ],
    "dtype-stability/2": [
        (
            lambda loss, params, x: jax.value_and_grad(loss)(params, x),
            "the loss must receive bfloat16 parameters, got float32",
        ),
        (cast_before, "the gradient must be float32 like the parameters, got bfloat16"),
        (cast_parameters_only, "cast the batch, too"),
        (value_in_float32, "the loss must receive bfloat16 parameters, got float32"),
        (
            lambda *args: cast_back(*args)[::-1],
            "the first result must be the value of the loss, 0.8125",
        ),
        (
            lambda *args: (0.0, cast_back(*args)[1]),
            "the first result must be the value of the loss, 0.8125",
        ),
        (
            lambda loss, params, x: jax.grad(lambda p: loss(cast_all(p), cast_all(x)))(params),
            "your function must return a tuple of the value and the gradient",
        ),
        (modify_params, "your function modifies its parameters in place"),
        (
            differentiate_by_x,
            "the second result must be the gradient, a tree with the same structure as the "
            "parameters",
        ),
        (cast_to_float16, "the loss must receive bfloat16 parameters, got float16"),
        (negate_gradient, "the returned gradient differs from that of the loss"),
    ],
    "dtype-stability/3": [
        (lambda tx, frozen: tx, "Weight decay moves a parameter"),
        (zero_gradients_before_tx, "Weight decay moves a parameter"),
        (lambda tx, frozen: optax.masked(tx, mask_for(frozen, False)), "its raw gradient"),
        (
            lambda tx, frozen: optax.set_to_zero(),
            "with frozen=('b', 'c'), 'a' did not move, although it is not frozen",
        ),
        (
            lambda tx, frozen: zero_updates_after_tx(optax.chain(tx, optax.scale(0.5)), frozen),
            "with frozen=('b', 'c'), 'a' went from 1 to 0.945, but tx alone moves it to 0.89",
        ),
        (
            lambda tx, frozen: transform_with_labels(tx, labels_for(frozen), optax.identity()),
            "optax.identity passes gradients through unchanged",
        ),
        (
            lambda tx, frozen: transform_with_labels(tx, labels_for(frozen, "train", "freeze")),
            "with frozen=('b', 'c'), 'a' did not move, although it is not frozen",
        ),
        (
            lambda tx, frozen: transform_with_labels(tx, labels_for(frozen, "frozen")),
            "A label has no corresponding transformation in multi_transform",
        ),
        (
            lambda tx, frozen: transform_with_labels(tx, dict.fromkeys(frozen, "freeze")),
            "one for each parameter",
        ),
        (
            freeze_in_first_step_only,
            "with frozen=('b', 'c'), 'b' must be 1 after two steps, got 0.89",
        ),
        (
            lambda tx, frozen: tx.update,
            "your function must return a transformation with init and update, got a function",
        ),
    ],
}
RIGHT = [
    ("dtype-stability/1", lambda old, new: jax.tree.map(jnp.full_like, old, new)),
    (
        "dtype-stability/1",
        lambda old, new: jax.tree.unflatten(
            jax.tree.structure(old),
            [
                jax.lax.convert_element_type(now, was.dtype)
                for was, now in zip(jax.tree.leaves(old), jax.tree.leaves(new), strict=True)
            ],
        ),
    ),
    ("dtype-stability/2", cast_back),
    ("dtype-stability/2", use_vjp),
    ("dtype-stability/3", zero_updates_after_tx),
    ("dtype-stability/3", custom_transformation),
    (
        "dtype-stability/3",
        lambda tx, frozen: transform_with_labels(tx, labels_for(frozen), optax.sgd(0.0)),
    ),
]
