"""Turn values into plain data and back, for the channel between a judge and a student's process.

Plain data consists of nested lists, strings, numbers, and None, which JSON can represent. The first
element of each list says what it stands for. Nothing is pickled, so decoding does not run
the sender's code. An array keeps its dtype and weak type, and a PRNG key keeps its implementation.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits_grader.judging.array_data import (
    Data,
    NotPlain,
    decode_buffer,
    decode_jax_array,
    dtype_from_name,
    encode_buffer,
    encode_jax_array,
)

MAX_DEPTH = 60
MAX_NODES = 200_000
# The packages whose functions and dtypes a value may name.
_PACKAGES = ("jax", "numpy", "math", "operator", "functools", "builtins", "optax", "flax")


_BASE_VALUES: dict[type, Callable[[Any], Any]] = {
    str: lambda value: str.__getitem__(value, slice(None)),
    int: int.__int__,
    float: float.__float__,
}


class Codec:
    """Encodes and decodes values. Each side of the channel has a subclass for its own objects."""

    def __init__(self) -> None:
        self._nodes = 0

    def encode_other(self, value: Any) -> Data:
        """Encode a value that is not plain, such as a function, or raise NotPlain."""
        raise NotPlain(f"a value must be plain data, got {type(value).__name__}")

    def decode_other(self, data: Data) -> Any:
        """Decode what `encode_other` returned on the other side, or raise NotPlain."""
        raise NotPlain(f"data must have a known kind, got {data[0]!r:.40}")

    def decode_import(self, module: str, name: str) -> Any:
        """Return an object of a known package by its name, or raise NotPlain.

        By default, this method accepts only numeric types, because a judge must not call whatever
        function a student's process names.
        """
        found = import_object(module, name)
        if found in (bool, int, float, complex) or _is_scalar_type(found):
            return found
        raise NotPlain(f"a name must be that of a numeric type, got {name!r:.40}")

    def encode(self, value: Any, depth: int = 0) -> Data:
        """Return a value as plain data.

        Raises:
            NotPlain: If the value or a part of it is not plain, or if it is nested too deeply.
        """
        if depth > MAX_DEPTH:
            raise NotPlain(f"a value must be nested at most {MAX_DEPTH} levels deep")
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return [kind.__name__, value]
        if kind is float:
            return ["float", value.hex()]
        if kind is complex:
            return ["complex", value.real.hex(), value.imag.hex()]
        if kind in (list, tuple, set, frozenset):
            return [kind.__name__, [self.encode(part, depth + 1) for part in value]]
        if kind is dict:
            pairs = [
                [self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in value.items()
            ]
            return ["dict", pairs]
        if kind is slice:
            return [
                "slice",
                *(self.encode(v, depth + 1) for v in (value.start, value.stop, value.step)),
            ]
        if value is Ellipsis:
            return ["ellipsis"]
        if isinstance(value, jax.core.Tracer):
            return self.encode_other(value)
        if isinstance(value, jax.Array):
            return encode_jax_array(value)
        if kind is np.ndarray:
            return ["numpy", *encode_buffer(value)]
        if isinstance(value, np.generic) and kind.__module__ in ("numpy", "ml_dtypes"):
            return ["scalar", *encode_buffer(np.asarray(value))]
        if isinstance(value, np.dtype):
            return ["dtype", value.name]
        if kind is np.random.Generator:
            return ["generator", value.bit_generator.state]
        for base in (str, int, float):
            if isinstance(value, base) and not isinstance(value, np.generic | bool):
                # An example is a member of a StrEnum. The methods of the subclass are not called.
                return self.encode(_BASE_VALUES[base](value), depth)
        named = _name_in_package(value)
        return ["import", *named] if named else self.encode_other(value)

    def decode(self, data: Any, depth: int = 0) -> Any:
        """Return the value that plain data stands for.

        Raises:
            NotPlain: If the data is malformed.
        """
        if depth == 0:
            self._nodes = 0
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise NotPlain("the data is too large or nested too deeply")
        try:
            return self._decode(data, depth)
        except NotPlain:
            raise
        except (
            TypeError,
            ValueError,
            KeyError,
            IndexError,
            AttributeError,
            OverflowError,
        ) as error:
            raise NotPlain(f"the data is malformed ({type(error).__name__})") from None

    def _decode(self, data: Data, depth: int) -> Any:
        kind, *rest = data
        simple: dict[str, Callable[..., Any]] = {
            "NoneType": lambda value: None,
            "bool": _exactly(bool),
            "int": _exactly(int),
            # Python interns the strings in a notebook that look like names.
            "str": lambda text: sys.intern(_exactly(str)(text)),
            "float": float.fromhex,
            "complex": lambda re, im: complex(float.fromhex(re), float.fromhex(im)),
            "ellipsis": lambda: ...,
            "dtype": dtype_from_name,
            "numpy": decode_buffer,
            "scalar": lambda *parts: decode_buffer(*parts)[()],
            "jax": decode_jax_array,
            "key": lambda name, *parts: jax.random.wrap_key_data(
                jnp.asarray(decode_buffer(*parts)), impl=name
            ),
            "generator": _decode_generator,
            "import": self.decode_import,
        }
        if kind in simple:
            return simple[kind](*rest)
        if kind in ("list", "tuple", "set", "frozenset"):
            parts = [self.decode(part, depth + 1) for part in rest[0]]
            return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](parts)
        if kind == "dict":
            return {self.decode(k, depth + 1): self.decode(v, depth + 1) for k, v in rest[0]}
        if kind == "slice":
            return slice(*(self.decode(part, depth + 1) for part in rest))
        return self.decode_other(data)


def _exactly(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise NotPlain(f"the data must be of type {kind.__name__}")
        return value

    return check


def _decode_generator(state: dict[str, Any]) -> np.random.Generator:
    generator = np.random.default_rng()
    generator.bit_generator.state = state
    return generator


def _name_in_package(value: Any) -> tuple[str, str] | None:
    """Return the module and the name of a public object of a known package, or None."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    name = name or getattr(value, "__name__", None)
    if isinstance(value, type(math)):
        module, name = value.__name__, ""
    elif isinstance(value, np.ufunc):
        module = "numpy"
    elif type(value).__name__ == "ufunc" and type(value).__module__.startswith("jax"):
        module = "jax.numpy"
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if module.partition(".")[0] not in _PACKAGES or module == "__main__":
        return None
    try:
        found = import_object(module, name)
    except NotPlain:
        return None
    return (module, name) if found is value else None


def _is_scalar_type(value: Any) -> bool:
    if isinstance(value, type) and issubclass(value, np.generic):
        return True
    return isinstance(getattr(value, "dtype", None), np.dtype) and callable(value)


def import_object(module: str, name: str) -> Any:
    """Return a module of a known package, or the object with the given name in it.

    Raises:
        NotPlain: If the package is not known or has no such object.
    """
    if module.partition(".")[0] not in _PACKAGES:
        raise NotPlain(f"a module must belong to a known package, got {module!r:.40}")
    try:
        found: Any = importlib.import_module(module)
        for part in filter(None, name.split(".")):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise NotPlain(f"{module!r:.40} has no {name!r:.40}") from None
    return found
