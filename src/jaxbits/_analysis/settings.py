"""Find Python numbers among a function's arguments that are settings instead of data."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from jaxbits._analysis.program_values import are_in_objects, is_array_object
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import is_user_class

_SETTING_TYPES = (int, bool, str)
_SETTING_NAMES = ("int", "bool", "str")
"""The same types in a module with `from __future__ import annotations`."""


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
    if arrays and all(map(is_key, arrays)):
        found.update(index for index, leaf in enumerate(leaves) if type(leaf) is int)
    return found


def is_in_typed_field(error: BaseException | None) -> bool:
    """Return whether a traced number was in a field that a user's dataclass declares as a number.

    The class says that the field holds a Python number, so nobody would trace it.

    Args:
        error: The exception that tracing raised.
    """
    traceback = error.__traceback__ if error else None
    while traceback is not None:
        owner = traceback.tb_frame.f_locals.get("self")
        if dataclasses.is_dataclass(owner) and is_user_class(type(owner)):
            for field in dataclasses.fields(owner):
                is_number = field.type in _SETTING_TYPES or field.type in _SETTING_NAMES
                if is_number and isinstance(vars(owner).get(field.name), Tracer):
                    return True
        traceback = traceback.tb_next
    return False


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


def is_key(array: Any) -> bool:
    """Return whether an array contains PRNG keys, judging raw ones by their dtype and shape."""
    is_raw = array.dtype == jnp.uint32 and array.shape[-1:] == (2,)
    return is_raw or bool(jnp.issubdtype(array.dtype, jax.dtypes.prng_key))
