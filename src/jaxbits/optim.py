"""Optimisers whose state keeps the types it began with."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import optax

from jaxbits import _jax_compat


def dtype_stable(
    tx: optax.GradientTransformation | optax.GradientTransformationExtraArgs | optax.MultiSteps,
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
    the gradients cast to the dtypes of the parameters beforehand. Wrap the outermost one:
    around `optax.apply_if_finite(tx, 3)` it does that, inside of it there is still the `lax.cond`
    of `apply_if_finite`, with two dtypes.

    A cast rounds, and a number too large for its dtype becomes infinite, as ever; integers are
    taken to fit. Two dtypes that JAX does not promote, such as float8 with float32, stay its error.

    Args:
        tx: any transformation of Optax's; also `inject_hyperparams`, `masked`, `multi_transform`,
            `MultiSteps`, and those that take more arguments, such as L-BFGS with ``value``,
            ``grad`` and ``value_fn``.

    Returns:
        The transformation. Its `update` passes further keyword arguments on to `tx`, as far as
        `tx` takes any. Without ``params`` the updates have the gradients' dtypes, since nothing
        says which others.

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
    init, inner = getattr(tx, "init", None), getattr(tx, "update", None)
    if not (callable(init) and callable(inner)):
        raise TypeError(
            "tx should be an Optax transformation, with functions init and update; "
            f"it was a {type(tx).__name__}"
        )
    takes = _keywords(tx)

    def update(
        updates: optax.Updates,
        state: optax.OptState,
        params: optax.Params | None = None,
        **more: Any,
    ) -> tuple[optax.Updates, optax.OptState]:
        more = more if takes is None else {k: v for k, v in more.items() if k in takes}
        try:
            new_updates, new_state = inner(updates, state, params, **more)
        except TypeError:
            cast = _as_params(updates, params)
            if cast is None:
                raise
            new_updates, new_state = inner(cast, state, params, **more)
        if params is not None:
            new_updates = _as_in(params, new_updates, "update")
        return new_updates, _as_in(state, new_state, "state leaf")

    return optax.GradientTransformationExtraArgs(init, update)


def _keywords(tx: Any) -> set[str] | None:
    """Return the keyword arguments that an update takes; None when it takes any."""
    if isinstance(tx, optax.GradientTransformationExtraArgs):
        return None
    parameters = inspect.signature(tx.update).parameters
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return None  # as that of `MultiSteps`, which does not say so by its class
    return set(list(parameters)[3:])


def _as_params(gradients: Any, params: Any) -> Any:
    """Cast gradients to the dtypes of their parameters; None where that would change nothing."""
    try:
        cast = _as_in(params, gradients, "gradient")
    except (TypeError, ValueError):
        return None
    before, after = ([_type(leaf) for leaf in jax.tree.leaves(t)] for t in (gradients, cast))
    return None if before == after else cast


def _as_in(old: Any, new: Any, what: str) -> Any:
    """Cast each leaf of `new` to the type of its counterpart in `old`, the same tree."""
    shape: Any = jax.tree.structure(old)
    if what == "state leaf" and shape != jax.tree.structure(new):
        strange = sorted(set(_leaves(old)) ^ set(_leaves(new)))
        places = ", ".join(strange[:3]) or "the kinds of its nodes"
        raise ValueError(f"the new state should be a tree like the old one; {places} differ")
    # `masked` puts nodes without leaves in the place of some: only what has leaves must agree.
    before = _leaves(old)

    def cast(path: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(path)
        if name not in before:
            raise ValueError(f"the {what}s should be a tree like the parameters; {name} is new")
        return _cast(leaf, before[name], f"{what} {name}".rstrip())

    return jax.tree_util.tree_map_with_path(cast, new)


def _leaves(tree: Any) -> dict[str, Any]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def _cast(new: Any, old: Any, what: str) -> Any:
    """Return `new` with the dtype and the weak type of `old`, itself where it has them."""
    before, after = _type(old), _type(new)
    if after == before or _has_no_numbers(after):
        return new
    if before is None or after is None or not _keeps_its_kind(after[0], before[0]):
        was = before[0] if before else f"a {type(old).__name__}"
        now = after[0] if after else f"a {type(new).__name__}"
        raise TypeError(f"{what} should stay {was}; it became {now}, which a cast would cut")
    return _jax_compat.cast(new, before[0], weak_type=before[1])


def _type(leaf: Any) -> tuple[Any, bool] | None:
    """Return the dtype of a leaf, and whether it is weak; None for what is no array."""
    try:
        found = jax.typeof(leaf)
    except TypeError:
        return None
    return found.dtype, bool(getattr(found, "weak_type", False))


def _has_no_numbers(kind: tuple[Any, bool] | None) -> bool:
    return kind is not None and kind[0] == jax.dtypes.float0  # the gradient of an integer


def _keeps_its_kind(now: Any, to: Any) -> bool:
    """Whether a cast loses precision at most: no fraction, no imaginary part, no key."""
    return now == to or 0 <= _kind(now) <= _kind(to)


def _kind(dtype: Any) -> int:
    order = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)
    return next((i for i, kind in enumerate(order) if jnp.issubdtype(dtype, kind)), -1)
