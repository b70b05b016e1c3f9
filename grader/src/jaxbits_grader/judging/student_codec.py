"""Encode and decode values in the student's process, for the requests of a judge."""

from __future__ import annotations

import functools
import marshal
import sys
import types
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jaxbits_grader.judging.array_data import Data, NotPlain
from jaxbits_grader.judging.jaxpr_data import abstract_data
from jaxbits_grader.judging.jaxpr_evaluation import abstract_value
from jaxbits_grader.judging.plain_data import Codec, import_object


class StudentCodec(Codec):
    """Encodes values of a student's process, and numbers the objects that a judge refers to.

    Args:
        names: The names in the notebook and their values.
        prefix: The prefix of the names that hold the values that given cells have defined.
    """

    def __init__(self, names: dict[str, Any], prefix: str) -> None:
        super().__init__()
        self.names, self._prefix = names, prefix
        self._objects: list[Any] = []
        # By id, which stays unique as long as an object is held.
        self._numbers: dict[int, int] = {}
        self._trees: list[Any] = []
        # The outputs of the function that is being traced, if any.
        self.outputs: list[Any] | None = None
        self.inputs: list[Any] = []

    def encode_other(self, value: Any) -> Data:
        """Encode a tracer, a tree, or an object that the judge refers to by number."""
        if isinstance(value, jax.core.Tracer):
            if self.outputs is None:
                raise jax.errors.UnexpectedTracerError("a tracer escaped from its function")
            self.outputs.append(value)
            return ["output", len(self.outputs) - 1, abstract_data(value.aval)]
        if isinstance(value, jax.ShapeDtypeStruct):
            return ["struct", *abstract_data(value)]
        if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
            return ["torch", self.encode(value.detach().cpu().numpy())]
        if not isinstance(value, type | types.FunctionType) and not _is_nnx_module(value):
            encoded = self._encode_tree(value)
            if encoded is not None:
                return encoded
            if isinstance(value, Mapping):
                return self.encode(dict(value))
            bases: tuple[Any, ...] = (list, tuple, set, frozenset)
            for base in bases:
                if isinstance(value, base):
                    return self.encode(base(base.__iter__(value)))
            if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
                return self.encode(np.array(value, copy=None, subok=False))
        return ["object", self._number(value), type(value).__name__, callable(value)]

    def _encode_tree(self, value: Any) -> Data | None:
        """Encode the children of an object, or return None if JAX cannot flatten the object."""
        paths, tree = jax.tree_util.tree_flatten_with_path(
            value, is_leaf=lambda part: part is not value
        )
        leaves = [leaf for _, leaf in paths]
        if len(leaves) == 1 and leaves[0] is value:
            return None
        children = [self.encode(leaf) for leaf in leaves]
        if isinstance(value, Mapping):
            kind, names = "mapping", _keys_of_leaves(value, paths)
        elif isinstance(value, tuple):
            kind, names = "tuple", _fields(value)
        else:
            kind, names = _kind_of_tree(value), _fields(value)
        return ["tree", self._tree_number(tree), kind, names, children]

    def decode_other(self, data: Data) -> Any:
        """Decode an object, a tree, or a function that the judge has sent."""
        kind, *rest = data
        if kind == "object":
            return self._objects[rest[0]]
        if kind == "tree":
            number, leaves = rest
            return jax.tree.unflatten(self._trees[number], [self.decode(leaf) for leaf in leaves])
        if kind == "input":
            return self.inputs[rest[0]]
        if kind == "given":
            found = self.names.get(self._prefix + rest[0], self.names.get(rest[0]))
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
        """Return an object of a known package by its name."""
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
            # The leaves of two such entries cannot be told apart.
            raise NotPlain("two entries of a mapping must not be the same object")
    names = [str.__getitem__(key, slice(None)) for key in keys if isinstance(key, str)]
    if len(names) < len(keys):
        raise NotPlain("the keys of a mapping must be strings")
    return names


def _kind_of_tree(value: Any) -> str:
    if callable(value):
        return "callable"
    has_items = hasattr(type(value), "__iter__") or hasattr(type(value), "__getitem__")
    return "sequence" if has_items else "object"


def _is_nnx_module(value: Any) -> bool:
    """Return whether a value is a stateful module, whose identity matters."""
    return any(kind.__module__.startswith("flax.nnx") for kind in type(value).__mro__)


def _fields(value: Any) -> list[str]:
    kind = type(value)
    names = getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", None)
    return [str(name) for name in names or ()]
