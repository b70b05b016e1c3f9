"""Observe which arguments a wrapper such as `jax.jit` traces for the function that it wraps.

A wrapper may treat some arguments as static, for example those in `static_argnames` or everything
but arrays. No attribute says so for all wrappers. However, the wrapped function receives a tracer
for each traced leaf and the value itself for each static one.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
from jax.core import Tracer

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import is_user_code
from jaxbits._analysis.program_values import are_in_objects
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.safe_attributes import get_attribute, has_attribute

_MAX_LAYERS = 50


class WrappedCall:
    """The first call that a wrapper makes to the function that it wraps.

    Attributes:
        code: The code of the wrapped function, or None if the function is not a wrapper.
        is_compiled: Whether the wrapper makes this call inside a `jax.jit` of its own.
        lost_updates: The names of the parameters whose objects, such as modules, the wrapped
            function updates in place without returning the new arrays, with the number of arrays.
            Arrays that the caller has passed in another argument are not lost.
    """

    def __init__(self, function: Callable[..., Any], caller: types.CodeType) -> None:
        self.code = wrapped_code(function)
        self.is_compiled = False
        self.lost_updates: dict[str, int] = {}
        self._frame: types.FrameType | None = None
        self._objects: dict[str, tuple[Any, list[Any], list[bool]]] = {}
        self._given: list[Any] = []
        self._function, self._caller = function, caller
        self._received: dict[str, list[bool]] | None = None

    def record(self, frame: types.FrameType) -> None:
        """Record the call. A profiler hook calls this method when the wrapped function starts.

        Args:
            frame: The frame of the wrapped function.
        """
        if self._received is not None:
            return
        self._received, self._frame = {}, frame
        with contextlib.suppress(Exception):  # The user's own containers may raise any error.
            for name, value in frame.f_locals.items():
                leaves = _leaves(value)
                self._received[name] = [isinstance(leaf, Tracer) for leaf in leaves]
                self._given += leaves
                if any(flags := are_in_objects(value)):
                    self._objects[name] = (value, leaves, flags)
        outer = frame.f_back
        while outer is not None and outer.f_code is not self._caller:
            self.is_compiled = self.is_compiled or _jax_compat.is_jit_frame(outer)
            outer = outer.f_back

    def record_return(self, frame: types.FrameType, result: Any) -> None:
        """Record what the wrapped function changed. A profiler hook calls this when it returns.

        Args:
            frame: The frame of the wrapped function.
            result: What the function returns, or None if it raised an error.
        """
        if frame is not self._frame:
            return
        self._frame = None
        with contextlib.suppress(Exception):  # The user's own containers may raise any error.
            kept = set(map(id, [*_leaves(result), *self._given]))
            for name, (value, before, flags) in self._objects.items():
                after = _leaves(value)
                if len(after) == len(before):
                    triples = zip(after, before, flags, strict=True)
                    new = [leaf for leaf, old, flag in triples if flag and leaf is not old]
                    if lost := sum(id(leaf) not in kept for leaf in new):
                        self.lost_updates[name] = lost
        self._objects, self._given = {}, []

    def traced_leaves(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> set[int]:
        """Return the indices of the leaves that the wrapped function received as tracers.

        A leaf counts as static if the wrapper changed the structure of its argument.

        Args:
            args: The positional arguments that the wrapper was called with.
            kwargs: The keyword arguments that the wrapper was called with.
        """
        found: set[int] = set()
        with contextlib.suppress(TypeError, ValueError):  # Some callables have no signature.
            for name, indices in self._leaves_by_parameter(args, kwargs):
                flags = (self._received or {}).get(name, [])
                if len(flags) == len(indices):
                    found.update(itertools.compress(indices, flags))
        return found

    def _leaves_by_parameter(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Iterator[tuple[str, list[int]]]:
        """Yield the name of each parameter and the indices of the leaves that are passed for it."""
        counter = itertools.count()

        def indices_of(value: Any) -> list[int]:
            return list(itertools.islice(counter, len(_leaves(value))))

        # JAX flattens positional arguments first, and keyword arguments in alphabetical order.
        positional = [indices_of(value) for value in args]
        by_name = {name: indices_of(kwargs[name]) for name in sorted(kwargs)}
        signature = inspect.signature(self._function)
        for name, value in signature.bind(*positional, **by_name).arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                yield name, [index for indices in value for index in indices]
            elif kind is inspect.Parameter.VAR_KEYWORD:
                yield name, [index for key in sorted(value) for index in value[key]]
            else:
                yield name, value


def _leaves(value: Any) -> list[Any]:
    return jax.tree.leaves(value, is_leaf=is_iterator)


def wrapped_code(function: Any) -> types.CodeType | None:
    """Return the code of the function inside all wrappers, or None if nothing wraps a function.

    >>> def double(x):
    ...     return 2 * x
    >>> wrapped_code(jax.jit(double)) is double.__code__, wrapped_code(double)
    (True, None)
    """
    is_wrapped = False
    for _ in range(_MAX_LAYERS):
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif inspect.getattr_static(function, "__wrapped__", None) is not None:
            is_wrapped, function = True, function.__wrapped__
        else:
            break
    if is_wrapped and not isinstance(function, types.FunctionType):
        function = getattr(type(function), "__call__", None)  # noqa: B004 - the method is needed
    code = get_attribute(function, "__code__")
    return code if is_wrapped and isinstance(code, types.CodeType) else None


def has_stages(function: Any) -> bool:
    """Return whether a function can be traced and lowered, as the results of `jax.jit` can."""
    return all(has_attribute(function, name) for name in ("lower", "trace"))


def is_plain_jit(function: Any) -> bool:
    """Return whether a function is the result of `jax.jit` itself, perhaps with bound arguments.

    Such a function raises an error if a static argument is traced.
    """
    return isinstance(_without_bound_arguments(function), type(jax.jit(len)))


def is_user_wrapper(function: Any) -> bool:
    """Return whether a function is a Python function in user code, such as a decorator's result.

    Such a function may do more than call the function that it wraps.
    """
    function = _without_bound_arguments(function)
    is_function = isinstance(function, types.FunctionType)
    return is_function and is_user_code(function.__code__.co_filename)


def _without_bound_arguments(function: Any) -> Any:
    while isinstance(function, (functools.partial, types.MethodType)):
        inner = function.func if isinstance(function, functools.partial) else function.__func__
        function = inner
    return function
