"""Optimisers whose state keeps the types it began with."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from jaxbits import compat


def dtype_stable(
    tx: optax.GradientTransformation | optax.GradientTransformationExtraArgs,
) -> optax.GradientTransformationExtraArgs:
    """Keep every leaf of an optimiser's state, and its updates, at the types they began with.

    An optimiser whose gradients are wider than its parameters, or whose state begins weakly typed,
    returns another type of state than it got: `lax.scan` and `lax.while_loop` refuse that, `jit`
    compiles again, and the state takes more memory from then on. Here each leaf of the new state is
    cast to the dtype and the weak type of the old one, and each update to the dtype of its
    parameter. `init` and the shape of the state are those of `tx`; where nothing changed its type,
    nothing is done, and every bit stays what it was.

    The arithmetic inside of `tx` is left at the width of the gradients. Only where `tx` itself
    raises a TypeError, as one with a `lax.cond` in it does when its branches come to differ, are
    the gradients cast to the dtypes of the parameters beforehand.

    Args:
        tx: any transformation of Optax's; also `inject_hyperparams`, `masked`, `multi_transform`,
            `MultiSteps(…).gradient_transformation()`, and those that take more arguments, such as
            L-BFGS with ``value``, ``grad`` and ``value_fn``.

    Returns:
        The transformation. Its `update` passes further keyword arguments on to `tx`. Without
        ``params`` the updates have the gradients' dtypes, since nothing says which others.

    Raises:
        TypeError: by `dtype_stable`, when `tx` is not a transformation; by `update`, when a leaf
            would have to be cut: a fraction where the state holds integers, a complex number where
            it holds real ones, a key of another generator. The message names the leaf.
        ValueError: by `update`, when the new state is another tree than the old one.

    Example:
        >>> tx = dtype_stable(optax.adam(0.1))
        >>> params = {"w": jnp.ones(2, jnp.bfloat16)}
        >>> state = tx.init(params)
        >>> updates, state = tx.update({"w": jnp.ones(2, jnp.float32)}, state, params)
        >>> print(updates["w"].dtype, state[0].mu["w"].dtype)
        bfloat16 bfloat16
        >>> _, plain = optax.adam(0.1).update({"w": jnp.ones(2)}, state, params)
        >>> print(plain[0].mu["w"].dtype)
        float32

    The remedy of casting the new state to the types of the old one comes from the discussion of
    the issue google-deepmind/optax#1207.
    """
    if not (callable(getattr(tx, "init", None)) and callable(getattr(tx, "update", None))):
        raise TypeError(
            "tx should be an Optax transformation, with functions init and update; "
            f"it was a {type(tx).__name__}"
        )
    inner = optax.with_extra_args_support(tx)

    def update(
        updates: optax.Updates,
        state: optax.OptState,
        params: optax.Params | None = None,
        **more: Any,
    ) -> tuple[optax.Updates, optax.OptState]:
        try:
            new_updates, new_state = inner.update(updates, state, params, **more)
        except TypeError:
            if params is None:
                raise
            narrowed = _as_in(params, updates, "gradient")
            if _types(narrowed) == _types(updates):
                raise
            new_updates, new_state = inner.update(narrowed, state, params, **more)
        if params is not None:
            new_updates = _as_in(params, new_updates, "update")
        return new_updates, _as_in(state, new_state, "state leaf")

    return optax.GradientTransformationExtraArgs(inner.init, update)


def _types(tree: Any) -> list[tuple[Any, bool]]:
    return [(jnp.result_type(leaf), _is_weak(leaf)) for leaf in jax.tree.leaves(tree)]


def _is_weak(leaf: Any) -> bool:
    return bool(getattr(leaf, "weak_type", isinstance(leaf, (bool, int, float, complex))))


def _as_in(old: Any, new: Any, what: str) -> Any:
    """Cast each leaf of `new` to the type of its counterpart in `old`, the same tree."""
    shape: Any = jax.tree.structure(old)
    if shape != jax.tree.structure(new):
        # `masked` puts nodes without leaves in the place of some: only what has leaves must agree.
        before, after = (_paths(tree) for tree in (old, new))
        if what != "state leaf" and after <= before:
            return _where_present(old, new, what)
        strange = sorted(before ^ after)
        raise ValueError(
            f"the {what}s should be a tree like the one before; "
            f"{', '.join(strange[:3]) or 'its kinds of nodes'} differ"
        )
    return jax.tree_util.tree_map_with_path(
        lambda path, one, other: _cast(other, one, f"{what} {jax.tree_util.keystr(path)}"), old, new
    )


def _paths(tree: Any) -> set[str]:
    return {jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)}


def _where_present(old: Any, new: Any, what: str) -> Any:
    by_path = {
        jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(old)
    }

    def cast(path: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(path)
        return _cast(leaf, by_path[name], f"{what} {name}")

    return jax.tree_util.tree_map_with_path(cast, new)


def _cast(new: Any, old: Any, what: str) -> Any:
    """Return `new` with the dtype and the weak type of `old`, itself where it has them."""
    to, now = jnp.result_type(old), jnp.result_type(new)
    if to == now and _is_weak(new) == _is_weak(old):
        return new
    if to != now and not _keeps_its_kind(now, to):
        raise TypeError(f"{what} should stay {to}; it became {now}, which a cast would cut")
    return compat.cast(new, to, weak_type=_is_weak(old))


def _keeps_its_kind(now: Any, to: Any) -> bool:
    """Whether a cast loses precision at most: no fraction, no imaginary part, no key."""
    return 0 <= _kind(now) <= _kind(to)


def _kind(dtype: Any) -> int:
    order = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)
    return next((i for i, kind in enumerate(order) if jnp.issubdtype(dtype, kind)), -1)
