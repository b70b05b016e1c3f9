"""Answer a judge's requests in the student's process.

Everything here can be read and changed by a submission, so the judge trusts only what it can check:
the values that a call returns, and the equations that a function consists of.
"""

from __future__ import annotations

import contextlib
import functools
import json
import marshal
import sys
import types
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax

from jaxbits_grader.judging.array_data import Data, NotPlain
from jaxbits_grader.judging.jaxpr_data import JaxprEncoder, abstract_data
from jaxbits_grader.judging.jaxpr_evaluation import abstract_value
from jaxbits_grader.judging.plain_data import Codec, import_object

_Request = dict[str, Any]


class _Server(Codec):
    """Holds the objects that the judge knows only by number."""

    def __init__(self, names: dict[str, Any], prefix: str) -> None:
        super().__init__()
        self._names, self._prefix = names, prefix
        self._objects: list[Any] = []
        self._numbers: dict[
            int, int
        ] = {}  # By id, which stays unique as long as an object is held.
        self._trees: list[Any] = []
        self._outputs: list[Any] | None = None  # The values for which a trace stands, if any.
        self._inputs: list[Any] = []

    # ------------------------------------------------------------ values

    def encode_other(self, value: Any) -> Data:
        if isinstance(value, jax.core.Tracer):
            if self._outputs is None:
                raise jax.errors.UnexpectedTracerError("a tracer left the function that made it")
            self._outputs.append(value)
            return ["output", len(self._outputs) - 1, abstract_data(value.aval)]
        if isinstance(value, jax.ShapeDtypeStruct):
            return ["struct", *abstract_data(value)]
        if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
            return ["torch", self.encode(value.detach().cpu().numpy())]
        if not callable(value) and not isinstance(value, type):
            encoded = self._encode_tree(value)
            if encoded is not None:
                return encoded
            if isinstance(value, Mapping):
                return self.encode(dict(value))
        return ["object", self._number(value), type(value).__name__, callable(value)]

    def _encode_tree(self, value: Any) -> Data | None:
        """Encode the children of an object that JAX can flatten, or return None for another."""
        paths, tree = jax.tree_util.tree_flatten_with_path(
            value, is_leaf=lambda part: part is not value
        )
        leaves = [leaf for _, leaf in paths]
        if len(leaves) == 1 and leaves[0] is value:
            return None
        keys = _keys_of_leaves(value, paths) if isinstance(value, Mapping) else None
        children = [self.encode(leaf) for leaf in leaves]
        return ["tree", self._tree_number(tree), _fields(value), keys, children]

    def decode_other(self, data: Data) -> Any:
        kind, *rest = data
        if kind == "object":
            return self._objects[rest[0]]
        if kind == "tree":
            number, leaves = rest
            return jax.tree.unflatten(self._trees[number], [self.decode(leaf) for leaf in leaves])
        if kind == "input":
            return self._inputs[rest[0]]
        if kind == "given":
            found = self._names.get(self._prefix + rest[0], self._names.get(rest[0]))
            if found is None:
                raise NotPlain(f"the notebook does not define {rest[0]}")
            return found
        if kind == "partial":
            fn, args, kwargs = map(self.decode, rest)
            return functools.partial(fn, *args, **kwargs)
        if kind == "code":
            return self._function(*rest)
        if kind == "struct":
            return abstract_value(list(rest))
        if kind == "torch":
            return sys.modules["torch"].from_numpy(self.decode(rest[0]))
        return super().decode_other(data)

    def decode_import(self, module: str, name: str) -> Any:
        return import_object(module, name)

    def _function(
        self, code: str, name: str, defaults: Data, cells: list[Any], names: list[Any]
    ) -> Any:
        """Return a function of a test, such as a loss that it passes to an answer."""
        scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": "__main__"}
        closure = tuple(types.CellType() for _ in cells)
        function = types.FunctionType(
            marshal.loads(b64decode(code)), scope, name, self.decode(defaults), closure
        )
        for cell, value in zip(closure, cells, strict=True):
            cell.cell_contents = function if value == ["itself"] else self.decode(value)
        for key, value in names:
            scope[key] = function if value == ["itself"] else self.decode(value)
        return function

    def _number(self, value: Any) -> int:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return self._numbers[id(value)]

    def _tree_number(self, tree: Any) -> int:
        if tree not in self._trees:
            self._trees.append(tree)
        return self._trees.index(tree)

    # ------------------------------------------------------------ requests

    def get(self, name: str) -> dict[str, Any]:
        """Return the value of a name of the notebook."""
        if name not in self._names:
            raise NameError(f"name {name!r} is not defined")
        return {"value": self.encode(self._names[name])}

    def call(self, fn: Data, args: list[Data], kwargs: dict[str, Data]) -> dict[str, Any]:
        """Call a function, and return its result and the arguments that it has changed."""
        function = self.decode(fn)
        values = [self.decode(arg) for arg in args]
        named = {key: self.decode(value) for key, value in kwargs.items()}
        before = [self._snapshot(value) for value in values]
        result = function(*values, **named)
        after = [self._snapshot(value) for value in values]
        changed = {
            str(n): new
            for n, (old, new) in enumerate(zip(before, after, strict=True))
            if old != new
        }
        return {"value": self.encode(result), "changed": changed}

    def _snapshot(self, value: Any) -> Data | None:
        try:
            return (
                self.encode(value)
                if isinstance(value, list | dict | set)
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
        function = self.decode(fn)
        found: dict[str, Any] = {}

        def flat(*inputs: Any) -> list[Any]:
            self._inputs = list(inputs)
            values = [self.decode(arg) for arg in args]
            named = {key: self.decode(value) for key, value in kwargs.items()}
            result = function(*values, **named)
            outputs: list[Any] = []
            self._outputs = outputs
            try:
                found["value"] = self.encode(result)
            finally:
                self._outputs = None
            return outputs

        closed = jax.make_jaxpr(flat)(*map(abstract_value, avals))
        return {**found, "jaxpr": JaxprEncoder(self).encode(closed)}

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


def _keys_of_leaves(value: Mapping[Any, Any], paths: list[Any]) -> list[str]:
    """Return the key of each leaf of a mapping.

    A class that is registered without the names of its children has paths that give only their
    positions. In that case, a leaf belongs to the key whose value it is.
    """
    keys = [getattr(path[0], "key", getattr(path[0], "name", None)) for path, _ in paths]
    if not all(key in value for key in keys):
        left = dict(value)
        keys = [next((key for key in left if left[key] is leaf), None) for _, leaf in paths]
        if len(set(map(id, left.values()))) < len(left):
            # Equal values in a different order could be confused after a change of one of them.
            raise NotPlain("two entries of a mapping must not be the same object")
    return list(map(str, keys))


def _fields(value: Any) -> list[str]:
    kind = type(value)
    names = getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", None)
    return [str(name) for name in names or ()]


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
            settings of `jax.config` for the time of the call, and the other keys are the method's
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
        kinds = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, BaseException)]
        reply = {"error": [kinds, str(error)[:400]]}
    return json.dumps(reply)
