"""Send the calls of a test to the student's process, and read what it returns."""

from __future__ import annotations

import base64
import builtins
import functools
import marshal
import types
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxbits_grader.judging.array_data import Data, NotPlain
from jaxbits_grader.judging.function_code import changes_something, names_in
from jaxbits_grader.judging.jaxpr_data import abstract_data
from jaxbits_grader.judging.jaxpr_evaluation import JaxprEvaluator, abstract_value
from jaxbits_grader.judging.plain_data import Codec
from jaxbits_grader.judging.references import changed_part, find_used_again
from jaxbits_grader.judging.remote_objects import (
    CannotSplit,
    ChangedArgument,
    Remote,
    RemoteCallable,
    RemoteMapping,
    RemoteSequence,
    RemoteTree,
    RemoteTuple,
)

# The settings that can change what an answer returns. A test may change them for a while.
_SETTINGS = (
    "jax_enable_x64",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_default_matmul_precision",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_check_tracer_leaks",  # The answer server holds tracers while it encodes a result.
    "jax_disable_jit",
    "jax_threefry_partitionable",
)
Ask = Callable[[dict[str, Any]], dict[str, Any]]
Note = Callable[[Any, tuple[Any, ...], dict[str, Any]], None]


class Channel(Codec):
    """The judge's side of the channel to the student's process.

    Args:
        ask: A function that sends a request and returns the reply.
        names: The names that the judge's given cells and tests define.
        note: A function that is called with each function, its positional arguments, and its
            keyword arguments, before the call without tracers is sent.
    """

    def __init__(self, ask: Ask, names: dict[str, Any], note: Note | None = None) -> None:
        super().__init__()
        self._ask, self._names, self._note = ask, names, note
        self._given: dict[int, str] = {}
        self._inputs: list[Any] | None = None
        self._outputs: list[Any] = []
        self._encoding: list[Any] = []
        self._evaluator = JaxprEvaluator(self)
        self.sent_recorder = False  # Whether a function that records its calls was sent.
        self.transformed = False  # Whether a derivative or a map of an answer was computed here.

    def set_given(self, names: set[str]) -> None:
        """Note which names the given cells define, so that their values can be sent by name."""
        self._given |= {id(self._names[name]): name for name in names if name in self._names}

    # ------------------------------------------------------------ values

    def encode(self, value: Any, depth: int = 0) -> Data:
        """Encode a value, and record tracers as inputs if the request is for a jaxpr."""
        if self._inputs is not None and isinstance(value, jax.core.Tracer):
            self._inputs.append(value)
            return ["input", len(self._inputs) - 1]
        return super().encode(value, depth)

    def encode_other(self, value: Any) -> Data:
        """Encode a function, a tree, or an object of the student's process.

        Raises:
            CannotSplit: If the value can exist only in this process.
        """
        if isinstance(value, Remote):
            return ["object", value._number]
        if isinstance(value, RemoteTree):
            return ["tree", value._number, [self.encode(leaf) for leaf in value._leaves]]
        if isinstance(value, RemoteMapping | RemoteTuple):
            leaves = value.values() if isinstance(value, RemoteMapping) else value
            return ["tree", value.number, [self.encode(leaf) for leaf in leaves]]
        if isinstance(value, jax.ShapeDtypeStruct):
            return ["struct", *abstract_data(value)]
        if id(value) in self._given and (callable(value) or not jax.tree.leaves(value)):
            return ["given", self._given[id(value)]]
        if isinstance(value, functools.partial):
            return ["partial", *map(self.encode, (value.func, list(value.args), value.keywords))]
        if isinstance(value, types.FunctionType):
            return self._encode_function(value)
        if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
            return ["torch", self.encode(value.detach().cpu().numpy())]
        raise CannotSplit(f"it passes an argument of type {type(value).__name__} to an answer")

    def _encode_function(self, value: types.FunctionType) -> Data:
        # The student's process gets a copy of what the function records its calls in.
        self.sent_recorder |= changes_something(value.__code__)
        self._encoding.append(value)
        try:
            cells = [self._encode_captured(cell.cell_contents) for cell in value.__closure__ or ()]
            used = [
                n for n in names_in(value.__code__) if n in self._names and not hasattr(builtins, n)
            ]
            names = [[name, self._encode_captured(self._names[name])] for name in used]
        finally:
            self._encoding.pop()
        code = base64.b64encode(marshal.dumps(value.__code__)).decode()
        return ["code", code, value.__name__, self.encode(value.__defaults__), cells, names]

    def _encode_captured(self, value: Any) -> Data:
        if any(value is function for function in self._encoding):
            if value is self._encoding[-1]:
                return ["itself"]
            raise CannotSplit("it passes functions that call each other")
        return self.encode(value)

    def decode_other(self, data: Data) -> Any:
        """Decode a reference to an object, or a tree, from the student's process."""
        kind, *rest = data
        if kind == "object":
            number, name, is_callable = rest
            return Remote(self, int(number), str(name), bool(is_callable))
        if kind == "tree":
            number, form, given, leaves = rest
            names = tuple(map(str, given))
            children = [self.decode(leaf) for leaf in leaves]
            if form == "mapping":
                return RemoteMapping(int(number), names, children)
            if form == "tuple":
                return RemoteTuple(int(number), names, children)
            if form == "callable":
                return RemoteCallable(int(number), names, children, self)
            kinds = {"sequence": RemoteSequence, "object": RemoteTree}
            return kinds[form](int(number), names, children)
        if kind == "output":
            return self._outputs[rest[0]]
        if kind == "struct":
            return abstract_value(list(rest))
        if kind == "torch":
            import torch

            return torch.from_numpy(self.decode(rest[0]))
        return super().decode_other(data)

    # ------------------------------------------------------------ requests

    def get(self, name: str) -> Any:
        """Return the value of a name in the student's notebook."""
        return self.request({"do": "get", "name": name})

    def operate(self, name: str, *on: Any) -> Any:
        """Apply `len`, `iter`, `next`, or `operator.getitem` in the student's process."""
        return self.request({"do": "operate", "name": name, "on": [self.encode(v) for v in on]})

    def call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function in the student's process, or evaluate its jaxpr here."""
        used = find_used_again(args, kwargs)
        if any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((fn, args, kwargs))):
            return self._call_traced(fn, args, kwargs)
        if self._note is not None:
            self._note(fn, args, kwargs)
        request = {
            "do": "call", "fn": self.encode(fn), "args": [self.encode(arg) for arg in args],
            "kwargs": {key: self.encode(value) for key, value in kwargs.items()},
        }  # fmt: skip
        reply = self._reply(request)
        for key, (old, new) in reply.get("changed", {}).items():
            # Ignore a change to an object that the test does not use again.
            value = args[int(key)] if key.isdecimal() else kwargs[key]
            if isinstance(value, np.random.Generator):
                value.bit_generator.state = self.decode(new).bit_generator.state
            elif (part := changed_part(value, old, new, is_used=key in used)) is not None:
                raise ChangedArgument(_kind_of_argument(part))
        if used.intersection(reply.get("deleted", ())):
            raise ChangedArgument("deleted JAX array")
        return self.decode(reply["value"])

    def _call_traced(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs: list[Any] = []
        self._inputs = inputs
        try:
            request = {
                "do": "trace", "fn": self.encode(fn),
                "args": [self.encode(arg) for arg in args],
                "kwargs": {key: self.encode(value) for key, value in kwargs.items()},
            }  # fmt: skip
        finally:
            self._inputs = None
        self.transformed |= any(type(value) is not _jit_tracer() for value in inputs)
        request["avals"] = [abstract_data(jax.typeof(value)) for value in inputs]
        reply = self._reply(request)
        outer = self._outputs
        try:
            self._outputs = self._evaluator.function(reply["jaxpr"])(*inputs)
        except NotPlain as error:
            raise CannotSplit(str(error)) from None
        except Exception as error:
            # The student's process has traced the equations, so they were valid there.
            raise CannotSplit(f"it cannot evaluate a jaxpr ({type(error).__name__})") from None
        try:
            return self.decode(reply["value"])
        finally:
            self._outputs = outer

    def request(self, request: dict[str, Any]) -> Any:
        """Send a request, and return the decoded value of the reply.

        Raises:
            Exception: The error that the student's process reports. It has the same class if Python
                or JAX defines that class.
            CannotSplit: If the reply cannot be turned into plain data.
        """
        return self.decode(self._reply(request)["value"])

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        # The notebook may have other settings, but the test decides about its own calls.
        reply = self._ask({**request, "settings": current_settings()})
        if "error" in reply:
            kinds, message = reply["error"]
            if kinds == "NotPlain":
                raise CannotSplit(str(message))
            raise _error(kinds, str(message))
        return reply

    def decode(self, data: Any, depth: int = 0) -> Any:
        """Decode data from the student's process, or raise CannotSplit if it is malformed."""
        try:
            return super().decode(data, depth)
        except NotPlain as error:
            raise CannotSplit(str(error)) from None


@functools.cache
def _jit_tracer() -> type:
    """Return the class of the tracers that an answer gets in the student's process."""
    found: list[type] = []
    jax.make_jaxpr(lambda value: found.append(type(value)))(0.0)
    return found[0]


def current_settings() -> dict[str, Any]:
    """Return the settings of JAX that can change what an answer returns."""
    return {name: getattr(jax.config, name, None) for name in _SETTINGS}


def _kind_of_argument(value: Any) -> str:
    """Return what to call an argument that an answer must not change."""
    kinds = {np.ndarray: "array", jax.Array: "JAX array", dict: "dict", list: "list", set: "set"}
    # A student's own class, such as a subclass of `dict`, is named by its base.
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "object")


def _error(kinds: list[str], message: str) -> BaseException:
    """Return an error of the first class in a list that Python or JAX defines."""
    for name in kinds:
        found = getattr(builtins, name, None) or getattr(jax.errors, name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            made = found.__new__(found)
            made.args = (message,)
            return made
    return RuntimeError(message)
