"""Find Python numbers among a function's arguments that are settings instead of data."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxbits._analysis.program_values import are_in_objects, is_array_object
from jaxbits._analysis.python_state.iterators import is_iterator

_SETTING_TYPES = (int, bool, str)


def find_settings(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> set[int]:
    """Return the indices of the leaves that nobody would trace, although `jax.jit` alone does.

    These are numbers inside objects of classes that were registered as pytrees, such as the fields
    of a module, and arguments that the function annotates as `int`, `bool`, or `str`. They are also
    the integers of a function whose only arrays are PRNG keys, because such a function creates
    arrays from sizes.

    Args:
        function: The function, which nobody has jitted.
        args: Its positional arguments.
        kwargs: Its keyword arguments.

    >>> def zeros(x, count: int):
    ...     return jnp.zeros(count) + x
    >>> find_settings(zeros, (jnp.ones(1), 3), {})
    {1}
    >>> find_settings(lambda key, count: 0, (jax.random.key(0), 3), {})
    {1}
    """
    annotated = _annotated_parameters(function)
    leaves: list[Any] = []
    found: set[int] = set()
    for name, value in _arguments_in_order(function, args, kwargs):
        start = len(leaves)
        leaves += jax.tree.leaves(value, is_leaf=is_iterator)
        if name in annotated:
            found.update(range(start, len(leaves)))
        found.update(start + index for index, flag in enumerate(are_in_objects(value)) if flag)
    arrays = [leaf for leaf in leaves if is_array_object(leaf)]
    if arrays and all(map(_is_key, arrays)):
        found.update(index for index, leaf in enumerate(leaves) if type(leaf) is int)
    return found


def _arguments_in_order(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the arguments, in the order in which JAX flattens them."""
    names: list[str] = []
    with contextlib.suppress(TypeError, ValueError):  # Some callables have no signature.
        names = list(inspect.signature(function).parameters)
    for position, value in enumerate(args):
        yield (names[position] if position < len(names) else ""), value
    for name in sorted(kwargs):
        yield name, kwargs[name]


def _annotated_parameters(function: Callable[..., Any]) -> set[str]:
    with contextlib.suppress(Exception):  # Evaluating an annotation may raise any error.
        parameters = inspect.signature(function, eval_str=True).parameters.values()
        return {p.name for p in parameters if p.annotation in _SETTING_TYPES}
    return set()


def _is_key(array: Any) -> bool:
    is_raw = array.dtype == jnp.uint32 and array.shape[-1:] == (2,)
    return is_raw or bool(jnp.issubdtype(array.dtype, jax.dtypes.prng_key))
