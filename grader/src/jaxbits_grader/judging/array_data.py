"""Turn arrays and dtypes into plain data and back."""

from __future__ import annotations

import base64
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._jax_compat import cast, x64_on

Data = list[Any]


class NotPlain(ValueError):
    """Raised if a value cannot be turned into plain data, or if data describes no value."""


def dtype_from_name(name: str) -> np.dtype[Any]:
    """Return the NumPy or JAX dtype with this name."""
    return np.dtype(jnp.dtype(getattr(jnp, name) if hasattr(jnp, name) else name))


def encode_buffer(array: np.ndarray[Any, Any]) -> Data:
    """Return the dtype, shape, and bytes of an array as plain data, or raise NotPlain."""
    if (
        array.dtype.hasobject
        or array.dtype.names
        or (array.dtype.kind in "MmV" and array.dtype.name.startswith("void"))
    ):
        raise NotPlain(f"an array must contain numbers or strings, got the dtype {array.dtype}")
    text = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    name = array.dtype.str if array.dtype.kind in "US" else array.dtype.name
    return [name, list(array.shape), text]


def decode_buffer(name: str, shape: list[int], text: str) -> np.ndarray[Any, Any]:
    """Return the array that `encode_buffer` described, or raise NotPlain."""
    dtype = np.dtype(name) if name[:1] in "<|>" else dtype_from_name(name)
    if dtype.hasobject or any(type(n) is not int or n < 0 for n in shape):
        raise NotPlain("an array must have a plain dtype and a valid shape")
    raw = base64.b64decode(text, validate=True)
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise NotPlain("an array must have as many bytes as its shape and dtype require")
    # A copy owns its memory, as the arrays of a notebook usually do.
    return np.frombuffer(raw, dtype).reshape(shape).copy()


def encode_jax_array(array: jax.Array) -> Data:
    """Return a JAX array or an array of keys as plain data."""
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        data = np.asarray(jax.random.key_data(array))
        return ["key", str(jax.random.key_impl(array)), *encode_buffer(data)]
    return ["jax", bool(array.weak_type), *encode_buffer(np.asarray(array))]


def decode_jax_array(is_weak: bool, *parts: Any) -> jax.Array:
    """Return the JAX array that plain data describes, with its weak type."""
    found = decode_buffer(*parts)
    with x64_on():  # Otherwise, JAX would truncate 64-bit values to 32 bits.
        array = jnp.asarray(found, found.dtype)
        return cast(array, array.dtype, weak_type=True) if is_weak else array
