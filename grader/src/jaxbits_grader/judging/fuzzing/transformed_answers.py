"""Notice the calls that a test makes to an answer through `jax.jit` and the like."""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import jax

_TRANSFORMATIONS: dict[str, Callable[..., Any]] = {
    name: getattr(jax, name) for name in ("jit", "vmap", "grad", "value_and_grad")
}


@dataclass(frozen=True)
class _Step:
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class Transforms:
    """The transformations that a test has applied to an answer, from the inside out."""

    steps: tuple[_Step, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the transformations, such as ``("vmap", "jit")``."""
        return tuple(step.name for step in self.steps)

    def apply(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the transformed function.

        Example:
            >>> Transforms().apply(len)([5, 6])
            2
        """
        for step in self.steps:
            function = _TRANSFORMATIONS[step.name](function, *step.args, **step.kwargs)
        return function


UNTRANSFORMED = Transforms()


class Note(Protocol):
    """A function that is called with a call to an answer before it is made."""

    def __call__(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        transforms: Transforms = ...,
    ) -> None:
        """Take note of a call."""


class TransformedAnswer:
    """An answer to which a test has applied transformations.

    Args:
        note: A function that is called with each call that has no tracers as arguments.
        answer: The answer.
        transforms: The transformations.
    """

    def __init__(self, note: Note, answer: Callable[..., Any], transforms: Transforms) -> None:
        self._note, self._answer, self._transforms = note, answer, transforms
        self.transformed = transforms.apply(answer)

    def transform(self, step: _Step) -> TransformedAnswer:
        """Return the answer with one more transformation."""
        return TransformedAnswer(
            self._note, self._answer, Transforms((*self._transforms.steps, step))
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the transformed answer."""
        if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((args, kwargs))):
            self._note(self._answer, args, kwargs, self._transforms)
        return self.transformed(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__wrapped__":
            raise AttributeError(name)
        return getattr(self.transformed, name)


def without_note(value: Any) -> Any:
    """Return what JAX returned for a transformed answer, or any other value as it is."""
    return value.transformed if isinstance(value, TransformedAnswer) else value


def unwrap_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that passes transformed answers on as JAX returned them.

    This is for functions that examine what they are given, such as whether it is jitted.
    """

    @functools.wraps(function)
    def unwrapped(*args: Any, **kwargs: Any) -> Any:
        named = {name: without_note(value) for name, value in kwargs.items()}
        return function(*map(without_note, args), **named)

    return unwrapped


def unwrap_arguments_of_module(module: types.ModuleType) -> None:
    """Let the public functions of a module unwrap their arguments."""
    for name, value in list(vars(module).items()):
        is_function = isinstance(value, types.FunctionType) and not hasattr(value, "__wrapped__")
        if is_function and not name.startswith("_"):
            setattr(module, name, unwrap_arguments(value))


@contextlib.contextmanager
def note_transformed(note: Note, is_answer: Callable[[Any], bool], filename: str) -> Iterator[None]:
    """Call a function with each call of a transformed answer, as long as the block runs.

    Args:
        note: The function to call.
        is_answer: A function that returns whether something is an answer.
        filename: The name of the file with the test. Where other code transforms an answer, nothing
            changes, because the code may need JAX's own object.
    """

    def replacement(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def transform(*args: Any, **kwargs: Any) -> Any:
            if not args or sys._getframe(1).f_code.co_filename != filename:
                return original(*map(without_note, args), **kwargs)
            if isinstance(args[0], TransformedAnswer):
                return args[0].transform(_Step(name, args[1:], kwargs))
            if is_answer(args[0]):
                return TransformedAnswer(
                    note, args[0], Transforms((_Step(name, args[1:], kwargs),))
                )
            return original(*args, **kwargs)

        return transform

    for name, original in _TRANSFORMATIONS.items():
        setattr(jax, name, replacement(name, original))
    try:
        yield
    finally:
        for name, original in _TRANSFORMATIONS.items():
            setattr(jax, name, original)
