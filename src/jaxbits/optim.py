"""Optax optimizers whose state keeps its dtypes."""

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
    """Return an optimizer whose state and updates keep their initial dtypes and weak types.

    Some optimizers return a state whose dtypes differ from those of the state they received, for
    example if the gradients are wider than the parameters or if the initial state is weakly typed.
    `lax.scan` and `lax.while_loop` reject such a state, `jit` recompiles, and the state needs more
    memory.

    The returned optimizer casts each leaf of the new state to the dtype and weak type of the old
    leaf, and each update to the dtype of its parameter. If `tx` changes no dtype, there is nothing
    to cast, and the results are bitwise identical to those of `tx`.

    `tx` itself computes with the dtypes of the gradients. If it raises a TypeError, for example
    because the branches of a `lax.cond` inside `tx` return different dtypes, the returned optimizer
    casts the gradients to the dtypes of the parameters and calls `tx` again. For this reason, wrap
    the outermost optimizer. Wrapping `optax.apply_if_finite(tx, 3)` works, but wrapping the `tx`
    inside it does not, because the `lax.cond` in `apply_if_finite` would still see two dtypes.

    A cast to a narrower dtype rounds, and a number that is too large for the dtype becomes
    infinite. JAX still raises an error for dtypes that it does not promote, such as float8 with
    float32.

    The idea comes from https://github.com/google-deepmind/optax/issues/1207.

    Args:
        tx: Any Optax optimizer, including `inject_hyperparams`, `masked`, `multi_transform`,
            `MultiSteps`, and optimizers that need more arguments, such as L-BFGS, which needs
            ``value``, ``grad``, and ``value_fn``.

    Returns:
        The wrapped optimizer. It has the same `init` as `tx`. Its `update` passes `tx` only the
        keyword arguments that `tx` accepts. If you call `update` without ``params``, it does not
        cast the updates.

    Raises:
        TypeError: If `tx` is not an Optax optimizer. `update` raises a TypeError if a cast would
            lose more than precision, for example by turning a float into an integer, a complex
            number into a real one, or a key into a key of a different generator. The message names
            the leaf.
        ValueError: `update` raises a ValueError if the old and new states have different tree
            structures.

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
    """
    init, inner = getattr(tx, "init", None), getattr(tx, "update", None)
    if not (callable(init) and callable(inner)):
        raise TypeError(f"tx must be an Optax optimizer with functions init and update, got {tx!r}")
    accepted = _keyword_arguments(tx)

    def update(
        updates: optax.Updates,
        state: optax.OptState,
        params: optax.Params | None = None,
        **kwargs: Any,
    ) -> tuple[optax.Updates, optax.OptState]:
        if accepted is not None:
            kwargs = {name: value for name, value in kwargs.items() if name in accepted}
        try:
            new_updates, new_state = inner(updates, state, params, **kwargs)
        except TypeError:
            cast = _cast_gradients(updates, params)
            if cast is None:
                raise
            new_updates, new_state = inner(cast, state, params, **kwargs)
        if params is not None:
            new_updates = _cast_tree(params, new_updates, "update")
        return new_updates, _cast_tree(state, new_state, "state leaf")

    return optax.GradientTransformationExtraArgs(init, update)


def _keyword_arguments(tx: Any) -> set[str] | None:
    """Return the keyword arguments that `tx.update` accepts, or None if it accepts any."""
    if isinstance(tx, optax.GradientTransformationExtraArgs):
        return None
    parameters = inspect.signature(tx.update).parameters
    # `MultiSteps` forwards extra arguments, but it is not a GradientTransformationExtraArgs:
    # https://github.com/google-deepmind/optax/blob/v0.2.8/optax/transforms/_accumulation.py
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    return set(list(parameters)[3:])


def _cast_gradients(gradients: Any, params: Any) -> Any:
    """Cast gradients to the parameters' dtypes, or return None if that fails or changes nothing."""
    try:
        cast = _cast_tree(params, gradients, "gradient")
    except (TypeError, ValueError):
        return None
    before, after = ([_dtype(leaf) for leaf in jax.tree.leaves(t)] for t in (gradients, cast))
    return None if before == after else cast


def _cast_tree(old: Any, new: Any, what: str) -> Any:
    """Cast each leaf of `new` to the dtype and weak type of the corresponding leaf in `old`."""
    structure: Any = jax.tree.structure(old)
    old_leaves = _leaves_by_path(old)
    if what == "state leaf" and structure != jax.tree.structure(new):
        different = sorted(set(old_leaves) ^ set(_leaves_by_path(new)))
        paths = ", ".join(different[:3]) or "the types of its nodes"
        raise ValueError(f"the new state must have the structure of the old one; {paths} differ")
    # The structures of the updates may differ, because `masked` replaces some leaves with nodes
    # that have no leaves:
    # https://github.com/google-deepmind/optax/blob/v0.2.8/optax/transforms/_masking.py

    def cast(path: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(path)
        if name not in old_leaves:
            raise ValueError(f"{what}s must have the structure of the parameters, got a new {name}")
        return _cast(leaf, old_leaves[name], f"{what} {name}".rstrip())

    return jax.tree_util.tree_map_with_path(cast, new)


def _leaves_by_path(tree: Any) -> dict[str, Any]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def _cast(new: Any, old: Any, what: str) -> Any:
    """Cast `new` to the dtype and weak type of `old`, unless `new` already has both."""
    before, after = _dtype(old), _dtype(new)
    if after == before or _is_float0(after):
        return new
    if before is None or after is None or not _can_cast(after[0], before[0]):
        expected = before[0] if before else f"a {type(old).__name__}"
        got = after[0] if after else f"a {type(new).__name__}"
        if what.startswith("update") and before and jnp.issubdtype(before[0], jnp.integer):
            parameter = what.replace("update", "parameter", 1)
            raise TypeError(
                f"{parameter} must be a float array, got {expected}; a cast would truncate its "
                f"{got} update"
            )
        # Chapter 11 checks the first half of the message above.
        raise TypeError(f"{what} must stay {expected}, got {got}; a cast would lose its value")
    return _jax_compat.cast(new, before[0], weak_type=before[1])


def _dtype(leaf: Any) -> tuple[Any, bool] | None:
    """Return the dtype of a leaf and whether it is weakly typed, or None if it is not an array."""
    try:
        aval = jax.typeof(leaf)
    except TypeError:
        return None
    return aval.dtype, bool(getattr(aval, "weak_type", False))


def _is_float0(dtype: tuple[Any, bool] | None) -> bool:
    # The gradient of an integer has the dtype float0, which has no values to cast.
    return dtype is not None and dtype[0] == jax.dtypes.float0


def _can_cast(source: Any, target: Any) -> bool:
    """Return whether a cast loses only precision, not a fraction, an imaginary part, or a key."""
    return source == target or 0 <= _rank(source) <= _rank(target)


def _rank(dtype: Any) -> int:
    order = (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)
    return next((i for i, kind in enumerate(order) if jnp.issubdtype(dtype, kind)), -1)
