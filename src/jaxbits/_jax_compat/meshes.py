"""The mesh that JAX traces under, which each equation of a program remembers."""

from __future__ import annotations

import contextlib
from typing import Any

import jax
from jax.sharding import PartitionSpec


def equation_context(equation: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context with the mesh and the other settings that an equation was traced under.

    `jax.sharding.auto_axes`, for example, changes the mesh for a part of a program, and a primitive
    accepts only arrays of the current mesh. The context does nothing if equations do not store it.
    In JAX 0.7.2 through 0.12, they do:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/core.py
    """
    manager = getattr(getattr(equation, "ctx", None), "manager", None)
    return contextlib.nullcontext() if manager is None else manager


def in_current_mesh(value: Any) -> Any:
    """Return a traced value as a replicated array of the current mesh.

    The value is returned unchanged if it already belongs to the mesh or if there is no mesh.

    >>> float(in_current_mesh(jax.numpy.float32(2.0)))
    2.0
    """
    try:
        current, own = jax.sharding.get_abstract_mesh(), jax.typeof(value).sharding.mesh
    except AttributeError:
        return value
    if current.empty or own.empty or own == current:
        return value
    return jax.sharding.reshard(value, PartitionSpec())
