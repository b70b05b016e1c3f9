"""Answer a judge's requests in the student's process.

A submission can read and change everything here, so the judge trusts only what it
can check, which is the values that a call returns and the equations of a function.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits_grader.judging.array_data import Data, NotPlain
from jaxbits_grader.judging.jaxpr_data import JaxprEncoder
from jaxbits_grader.judging.jaxpr_evaluation import abstract_value
from jaxbits_grader.judging.student_codec import StudentCodec

_Request = dict[str, Any]


class _Server(StudentCodec):
    """Carries out a judge's requests. Each public method is one kind of request."""

    def get(self, name: str) -> dict[str, Any]:
        """Return the value of a name in the notebook."""
        if name not in self.names:
            raise NameError(f"name {name!r} is not defined")
        return {"value": self.encode(self.names[name])}

    def call(self, fn: Data, args: list[Data], kwargs: dict[str, Data]) -> dict[str, Any]:
        """Call a function, and return its result and which arguments it changed or deleted."""
        function = self.decode(fn)
        values = [self.decode(arg) for arg in args]
        named = {key: self.decode(value) for key, value in kwargs.items()}
        arguments = {**{str(n): value for n, value in enumerate(values)}, **named}
        before = {key: self._snapshot(value) for key, value in arguments.items()}
        result = function(*values, **named)
        deleted = [key for key, value in arguments.items() if _is_deleted(value)]
        changed = {
            key: [old, new]
            for key, old in before.items()
            if key not in deleted and old != (new := self._snapshot(arguments[key]))
        }
        return {"value": self.encode(result), "changed": changed, "deleted": deleted}

    def _snapshot(self, value: Any) -> Data | None:
        """Return data that differs if an answer has changed an argument, or None."""
        if isinstance(value, jax.Array):
            return _digest(value)
        try:
            return (
                self.encode(value)
                if isinstance(value, list | dict | set | tuple)
                or hasattr(value, "flags")
                or hasattr(value, "bit_generator")
                else None
            )
        except NotPlain:
            return None

    def trace(
        self, fn: Data, args: list[Data], kwargs: dict[str, Data], avals: list[Data]
    ) -> dict[str, Any]:
        """Return the jaxpr of a function whose arguments contain abstract values as inputs."""
        found: dict[str, Any] = {}

        def flat(*inputs: Any) -> list[Any]:
            self.inputs = list(inputs)
            function = self.decode(fn)
            values = [self.decode(arg) for arg in args]
            named = {key: self.decode(value) for key, value in kwargs.items()}
            result = function(*values, **named)
            outputs: list[Any] = []
            self.outputs = outputs
            try:
                found["value"] = self.encode(result)
            finally:
                self.outputs = None
            return outputs

        closed = jax.make_jaxpr(flat)(*map(abstract_value, avals))
        try:
            return {**found, "jaxpr": JaxprEncoder(self).encode(closed)}
        except NotPlain:
            raise
        except Exception as error:
            raise NotPlain(f"the jaxpr cannot be encoded ({type(error).__name__})") from None

    def attribute(self, on: Data, name: str) -> dict[str, Any]:
        """Return a public attribute of an object."""
        if name.startswith("_"):
            raise AttributeError(f"the attribute {name!r} is private")
        return {"value": self.encode(getattr(self.decode(on), name))}

    def operate(self, name: str, on: list[Data]) -> dict[str, Any]:
        """Apply `len`, `iter`, `next`, or `operator.getitem`."""
        functions: dict[str, Callable[..., Any]] = {
            "len": len, "iter": iter, "next": next, "getitem": lambda a, b: a[b], "bool": bool,
            "float": float, "int": int,
        }  # fmt: skip
        return {"value": self.encode(functions[name](*map(self.decode, on)))}


def _digest(array: jax.Array) -> Data | None:
    """Return a digest of the bytes of an array, which PyTorch could overwrite."""
    try:
        # Unlike `np.asarray`, this leaves no reference that would prevent a later donation.
        view = np.from_dlpack(array)  # type: ignore[arg-type]
    except Exception:  # NumPy has no such dtype, or the array has been deleted.
        return None
    return ["digest", hashlib.blake2b(np.ascontiguousarray(view).tobytes()).hexdigest()]


def _is_deleted(value: Any) -> bool:
    leaves = jax.tree.leaves(value)
    return any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in leaves)


@contextlib.contextmanager
def _changed_settings(settings: dict[str, Any]) -> Iterator[None]:
    own = {name: getattr(jax.config, name, None) for name in settings}
    before = {name: value for name, value in own.items() if value != settings[name]}
    try:
        for name in before:
            jax.config.update(name, settings[name])
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


_servers: dict[str, _Server] = {}


def answer(request: str, prefix: str) -> str:
    """Answer a request, and return the reply as JSON.

    Args:
        request: The request as JSON. Its key `do` is the name of a method, `settings` contains
            settings of `jax.config` that apply during the call, and the other keys are the method's
            arguments.
        prefix: The prefix of the names that hold the values that given cells have defined.

    Returns:
        The reply, which has a key `value` or `error`.
    """
    if prefix not in _servers:
        _servers[prefix] = _Server(sys.modules["__main__"].__dict__, prefix)
    parameters: _Request = json.loads(request)
    method = getattr(_servers[prefix], parameters.pop("do"))
    try:
        with _changed_settings(parameters.pop("settings")):
            reply = method(**parameters)
    except NotPlain as error:
        reply = {"error": ["NotPlain", str(error)]}
    except BaseException as error:
        # A class of the notebook may have the name of one of Python's.
        kinds = [
            kind.__name__
            for kind in type(error).__mro__
            if issubclass(kind, BaseException)
            and kind.__module__.partition(".")[0] in ("builtins", "jax", "jaxlib", "jaxbits")
        ]
        reply = {"error": [kinds, str(error)[:400]]}
    return json.dumps(reply)
