"""Represent what a student's notebook defines in the judge's process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import jax


class CannotSplit(BaseException):
    """Raised if a judge cannot run a test outside the student's process. The message says why.

    This class does not inherit from Exception, so that a test cannot catch it by accident.
    """


class ChangedArgument(BaseException):
    """Raised if an answer changes an argument that the test uses again.

    Otherwise, an answer could change what the test compares its results with. This class does not
    inherit from Exception, so that a test cannot catch it by accident.
    """


class NoReply(Exception):
    """Raised if the student's process does not answer, for example because it takes too long."""


class _Channel(Protocol):
    """What a remote object needs from the channel to the student's process."""

    def call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def operate(self, name: str, *on: Any) -> Any: ...

    def request(self, request: dict[str, Any]) -> Any: ...

    def encode(self, value: Any) -> list[Any]: ...


class Remote:
    """An object in the student's process, such as a function.

    Calling it sends the arguments to the student's process and returns the result. If an argument
    is a tracer, the judge asks for the function's jaxpr and evaluates it itself.
    """

    def __init__(self, channel: _Channel, number: int, kind: str, is_callable: bool) -> None:
        self._channel, self._number, self._kind = channel, number, kind
        self._is_callable = is_callable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the object in the student's process, or evaluate its jaxpr in this one."""
        if not self._is_callable:
            raise TypeError(f"{self._kind!r} object is not callable")
        return self._channel.call(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._channel.request(
            {"do": "attribute", "on": self._channel.encode(self), "name": name}
        )

    def __len__(self) -> int:
        return int(self._operate("len"))

    def __bool__(self) -> bool:
        return True

    def __float__(self) -> float:
        return float(self._operate("float"))

    def __int__(self) -> int:
        return int(self._operate("int"))

    def __iter__(self) -> Iterator[Any]:
        iterator = self._operate("iter")
        while True:
            try:
                yield self._channel.operate("next", iterator)
            except StopIteration:
                return

    def __getitem__(self, key: Any) -> Any:
        return self._operate("getitem", key)

    def _operate(self, name: str, *more: Any) -> Any:
        return self._channel.operate(name, self, *more)


class RemoteTree:
    """A tree whose class only the student's process knows, such as a student's dataclass.

    JAX flattens it into its leaves.
    """

    def __init__(self, number: int, fields: tuple[str, ...], leaves: list[Any]) -> None:
        self._number, self._fields, self._leaves = number, fields, leaves

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", ())
        if name in fields and len(fields) == len(self._leaves):
            return self._leaves[fields.index(name)]
        raise AttributeError(name)


class RemoteSequence(RemoteTree):
    """A tree whose class has items, such as a student's own kind of list."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._leaves)

    def __getitem__(self, key: Any) -> Any:
        return self._leaves[key]

    def __len__(self) -> int:
        return len(self._leaves)


class RemoteCallable(RemoteTree):
    """A tree that can be called, such as a student's Equinox module."""

    def __init__(
        self, number: int, fields: tuple[str, ...], leaves: list[Any], channel: _Channel
    ) -> None:
        super().__init__(number, fields, leaves)
        self._channel = channel

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the object in the student's process, or evaluate its jaxpr in this one."""
        return self._channel.call(self, args, kwargs)


class RemoteTuple(tuple[Any, ...]):
    """A tuple whose class only the student's process knows, such as a student's NamedTuple."""

    number: int
    fields: tuple[str, ...]

    def __new__(cls, number: int, fields: tuple[str, ...], leaves: Sequence[Any]) -> RemoteTuple:
        """Return the tuple of the leaves."""
        made = super().__new__(cls, leaves)
        made.number, made.fields = number, fields
        return made

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("fields", ())
        if name in fields and len(fields) == len(self):
            return self[fields.index(name)]
        raise AttributeError(name)


jax.tree_util.register_pytree_node(
    RemoteTree,
    lambda tree: (tree._leaves, (tree._number, tree._fields)),
    lambda aux, leaves: RemoteTree(*aux, list(leaves)),
)
jax.tree_util.register_pytree_node(
    RemoteSequence,
    lambda tree: (tree._leaves, (tree._number, tree._fields)),
    lambda aux, leaves: RemoteSequence(*aux, list(leaves)),
)
jax.tree_util.register_pytree_node(
    RemoteCallable,
    lambda tree: (tree._leaves, (tree._number, tree._fields, tree._channel)),
    lambda aux, leaves: RemoteCallable(*aux[:2], list(leaves), aux[2]),
)
jax.tree_util.register_pytree_node(
    RemoteTuple,
    lambda found: (tuple(found), (found.number, found.fields)),
    lambda aux, leaves: RemoteTuple(*aux, tuple(leaves)),
)


class RemoteMapping(dict[str, Any]):
    """A mapping whose class only the student's process knows, such as an OrderedDict."""

    def __init__(self, number: int, keys: Sequence[str], values: Sequence[Any]) -> None:
        super().__init__(zip(keys, values, strict=True))
        self.number = number


def _flatten(mapping: RemoteMapping) -> tuple[list[Any], Any]:
    return list(mapping.values()), (mapping.number, tuple(mapping))


def _unflatten(aux: Any, values: Any) -> RemoteMapping:
    number, keys = aux
    return RemoteMapping(number, keys, list(values))


jax.tree_util.register_pytree_node(RemoteMapping, _flatten, _unflatten)
