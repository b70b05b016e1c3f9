"""Record the calls that tests make to an answer, so that similar ones can be made later."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits_grader.judging.fuzzing.transformed_answers import UNTRANSFORMED, Transforms
from jaxbits_grader.judging.remote_objects import (
    Remote,
    RemoteMapping,
    RemoteTree,
    RemoteTuple,
)

_MAX_CALLS = 200
_MAX_BYTES = 1 << 20
_OF_STUDENT = (Remote, RemoteMapping, RemoteTree, RemoteTuple)


@dataclass(frozen=True)
class RecordedCall:
    """A call to a function.

    Attributes:
        name: The name of the function.
        args: The positional arguments.
        kwargs: The keyword arguments.
        transforms: How the function was transformed before the call.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    transforms: Transforms = UNTRANSFORMED

    def copied(self) -> RecordedCall:
        """Return a call whose arguments share no memory with those of this one."""
        return RecordedCall(
            self.name,
            tuple(copy_argument(arg) for arg in self.args),
            {key: copy_argument(arg) for key, arg in self.kwargs.items()},
            self.transforms,
        )


class RecordedCalls:
    """A random sample of the calls to answers.

    Args:
        rng: The source of random numbers.

    Example:
        >>> calls = RecordedCalls(random.Random(0))
        >>> calls.note("mean", ([1.0, 2.0],), {})
        >>> calls.of("mean")[0].args
        ([1.0, 2.0],)
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._calls: dict[str, list[RecordedCall]] = {}
        self._counts: dict[str, int] = {}

    def of(self, name: str) -> list[RecordedCall]:
        """Return the recorded calls of a function."""
        return self._calls.get(name, [])

    def note(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        transforms: Transforms = UNTRANSFORMED,
    ) -> None:
        """Note a call, unless its arguments are large or belong to the student's process.

        Args:
            name: The name of the function.
            args: The positional arguments.
            kwargs: The keyword arguments.
            transforms: How the function was transformed before the call.
        """
        leaves = jax.tree.leaves((args, kwargs), is_leaf=_is_of_student)
        size = sum(int(getattr(leaf, "nbytes", 64)) for leaf in leaves)
        if size > _MAX_BYTES or any(map(_is_of_student, leaves)):
            return
        kept = self._calls.setdefault(name, [])
        self._counts[name] = self._counts.get(name, 0) + 1
        # Reservoir sampling: each call has the same probability of being kept.
        place = self._rng.randrange(self._counts[name])
        if len(kept) < _MAX_CALLS:
            kept.append(RecordedCall(name, args, kwargs, transforms).copied())
        elif place < _MAX_CALLS:
            kept[place] = RecordedCall(name, args, kwargs, transforms).copied()


def copy_argument(value: Any) -> Any:
    """Return a copy of an argument, in which functions and objects of other classes are shared."""
    if isinstance(value, jax.Array):
        return value if value.is_deleted() else jnp.array(value, copy=True)
    if isinstance(value, np.ndarray | np.random.Generator):
        return copy.deepcopy(value)
    if type(value) is dict:
        return {key: copy_argument(part) for key, part in value.items()}
    if type(value) in (list, set, tuple):
        return type(value)(copy_argument(part) for part in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(copy_argument, value))
    return value


def describe_call(call: RecordedCall) -> str:
    """Return a short description of a call.

    Example:
        >>> describe_call(RecordedCall("scale", (np.zeros((2, 3)), 4), {}))
        'scale(NumPy float64[2, 3], 4)'
    """
    parts = [_describe(arg) for arg in call.args]
    parts += [f"{key}={_describe(value)}" for key, value in call.kwargs.items()]
    text = f"{call.name}({', '.join(parts)})"
    for name in call.transforms.names:
        text = f"{name} of {text}"
    return text if len(text) <= 300 else f"{text[:299]}…"


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray | jax.Array) and value.shape:
        kind = "NumPy" if isinstance(value, np.ndarray) else "JAX"
        return f"{kind} {value.dtype}{list(value.shape)}"
    if isinstance(value, jax.Array):
        return f"JAX {value.dtype} {value}"
    if isinstance(value, list | tuple) and len(value) > 6:
        return f"{type(value).__name__} of length {len(value)}"
    if callable(value):
        return getattr(value, "__name__", "a function")
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _is_of_student(value: Any) -> bool:
    return isinstance(value, _OF_STUDENT)
