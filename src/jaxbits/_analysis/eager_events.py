"""Record what a function does on the device during one eager run, as a sequence of events."""

from __future__ import annotations

import ast
import datetime
import os
import sys
import time
import timeit
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbits import _jax_compat
from jaxbits._analysis import resource_limits
from jaxbits._analysis.code_location import (
    CodeLocation,
    is_detector_code,
    is_direct_call,
    is_user_code,
)
from jaxbits._analysis.inner_limits import LIMITS
from jaxbits._analysis.safe_attributes import get_attribute, unwrap
from jaxbits._analysis.source import ast_utils

_CLOCKS = {"time", "perf_counter", "monotonic", "process_time", "thread_time", "clock_gettime"}
_CLOCKS |= {f"{name}_ns" for name in _CLOCKS}
# JAX implements array methods in these files, so their frames lie between a conversion and the
# user's line: https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/array.py and
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/array_methods.py
_ARRAY_FILES = {"array.py", "array_methods.py", "basearray.py"}
_JAX_FOLDER = os.path.dirname(os.path.realpath(jax.__file__)) + os.sep


def _code_of(function: Any) -> types.CodeType | None:
    code: types.CodeType | None = get_attribute(unwrap(function), "__code__")
    return code


_EVENT_KINDS = {
    _code_of(jax.block_until_ready): "wait",
    _code_of(jax.device_get): "get",
    _code_of(jax.device_put): "put",
    _code_of(jnp.asarray): "put",
    _code_of(jnp.array): "put",
}
_CALL_COMPILED = _code_of(jax.stages.Compiled.__call__)


@dataclass(frozen=True)
class Event:
    """One event of an eager run.

    Attributes:
        kind: ``clock`` (Python reads a clock), ``dispatch`` (a program starts), ``wait`` (Python
            waits for arrays), ``read`` (Python reads an array), or ``get`` or ``put`` (a call to
            `jax.device_get` or `jax.device_put`).
        name: The name of the program, clock, or method.
        location: The line of user code, or None if a library acts on its own.
        arrays: The `id` of each array that the event returns, waits for, or reads.
        is_tracing: Whether JAX was tracing at the time.
        program: The program that a dispatch starts.
        numpy_inputs: For each NumPy input of a dispatch, the `id` of the array and of each array
            that it is a view of, and its size in bytes.
        donated: For each input of a dispatch, whether it is donated.
        inputs: The `id` of each input of a dispatch.
        is_direct: Whether the user's own code starts the program, and not a library's code.
        addresses: For each NumPy input of a dispatch, the memory address of its data.
        call: The call that reads a clock, as a node in the syntax tree of its file.
        scope: The global variables of the code that reads a clock.
    """

    kind: str
    name: str
    location: CodeLocation | None
    arrays: tuple[int, ...] = ()
    is_tracing: bool = False
    program: Any = None
    numpy_inputs: tuple[tuple[tuple[int, ...], int], ...] = ()
    donated: tuple[bool, ...] = ()
    inputs: tuple[int, ...] = ()
    is_direct: bool = False
    addresses: tuple[int, ...] = ()
    call: Any = None
    scope: dict[str, Any] = field(default_factory=dict, hash=False, compare=False)


class EnoughEvents(resource_limits.Stopped):
    """Raised to end a run that has lasted long enough or recorded enough events.

    The message says after how many seconds or events the run was stopped.
    """


class EventRecorder:
    """A recorder of events, which uses a profiler hook and the interceptors in `_jax_compat`.

    Attributes:
        events: The events recorded so far.
        entry: The code that calls the user's function. No frame above it belongs to the run.
    """

    def __init__(self, entry: types.CodeType) -> None:
        self.events: list[Event] = []
        self.entry = entry
        # Keep donated arrays alive, so that no later array gets the same `id`.
        self._kept_alive: list[Any] = []
        self._start, self._deadline = time.monotonic(), resource_limits.deadline()
        self._clock_calls: dict[tuple[types.CodeType, int], Any] = {}

    def _add(self, event: Event) -> None:
        self.events.append(event)
        if time.monotonic() > self._deadline:
            resource_limits.stop()
        if time.monotonic() - self._start > LIMITS.run_seconds:
            raise EnoughEvents(f"{LIMITS.run_seconds:g} s")
        if len(self.events) > LIMITS.run_events:
            raise EnoughEvents(f"{LIMITS.run_events} events")

    def record_dispatch(
        self, program: Any, inputs: Sequence[Any], outputs: Sequence[Any], donated: Sequence[bool]
    ) -> None:
        """Record that a compiled program ran. This method is a hook for `intercept_dispatch`.

        Args:
            program: The compiled program.
            inputs: The arguments of the call.
            outputs: The arrays that the call returned.
            donated: For each input, whether the program donates it.
        """
        self._kept_alive += [
            v for v, is_donated in zip(inputs, donated, strict=False) if is_donated
        ]
        numpy_arrays = [v for v in inputs if isinstance(v, np.ndarray) and v.ndim]
        self._kept_alive += numpy_arrays
        info = getattr(getattr(program, "jaxpr", program), "debug_info", None)
        self._add(
            Event(
                "dispatch",
                str(getattr(info, "func_name", "")),
                self._location_through_libraries(sys._getframe(2)),
                tuple(map(id, outputs)),
                program=program,
                numpy_inputs=tuple((_view_identities(v), v.nbytes) for v in numpy_arrays),
                donated=tuple(donated),
                inputs=tuple(id(v) if isinstance(v, jax.Array) else 0 for v in inputs),
                is_direct=is_direct_call(_files(sys._getframe(2))),
                addresses=tuple(v.__array_interface__["data"][0] for v in numpy_arrays),
            )
        )

    def record_read(self, method: str, array: Any) -> None:
        """Record that Python reads an array or waits for it.

        Args:
            method: The name of the method or NumPy function that reads or waits.
            array: The array that it reads or waits for.
        """
        location = self._location(sys._getframe(2))
        kind = "wait" if method in ("block_until_ready", "is_ready") else "read"
        self._add(Event(kind, method, location, (id(array),), _jax_compat.is_tracing()))

    def profile(self, frame: types.FrameType, event: str, argument: Any) -> None:
        """Record clock reads, transfers, waits, and calls to compiled functions.

        This method is a hook for `sys.setprofile`.

        Args:
            frame: The frame in which the event occurs.
            event: The kind of event.
            argument: The C function that is called, or the value that is returned.
        """
        if event == "c_call":
            if _is_clock(argument):
                self._record_clock(frame, argument.__name__)
        elif event == "call":
            kind = _EVENT_KINDS.get(frame.f_code)
            if kind is not None:
                self._record_jax_call(frame, kind)
        elif event == "return" and frame.f_code is _CALL_COMPILED:
            arrays = tuple(map(id, jax.tree.leaves(argument)))
            location = self._location_through_libraries(frame.f_back)
            self._add(Event("dispatch", "compiled", location, arrays))
        # This is a jitted function that is called on tracers:
        # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/pjit.py
        if event == "return" and frame.f_code.co_name == "cache_miss" and argument:
            leaves = jax.tree.leaves(argument[0] if isinstance(argument, tuple) else argument)
            if leaves and isinstance(leaves[0], Tracer):
                location = self._location_through_libraries(frame.f_back)
                self._add(Event("dispatch", "", location, tuple(map(id, leaves)), True))

    def _record_jax_call(self, frame: types.FrameType, kind: str) -> None:
        location = self._location(frame.f_back)
        leaves = jax.tree.leaves(next(iter(frame.f_locals.values()), None))
        if kind == "put":
            arrays = tuple(i for leaf in leaves for i in _view_identities(leaf))
        else:
            arrays = tuple(map(id, leaves))
        if location or kind == "wait":
            self._add(Event(kind, frame.f_code.co_name, location, arrays))

    def _record_clock(self, frame: types.FrameType | None, name: str) -> None:
        if frame is None:
            return
        file = frame.f_code.co_filename
        if not (is_user_code(file) or file in (timeit.__file__, "<timeit-src>")):
            return
        call, scope = None, frame.f_globals
        while frame is not None and is_user_code(frame.f_code.co_filename):
            key = (frame.f_code, frame.f_lasti)
            if key not in self._clock_calls:
                self._clock_calls[key] = ast_utils.current_call(frame)
            call = self._clock_calls[key]
            # A function that returns the time acts as a clock, so record the call in its caller.
            parent = getattr(call, "parent", None)
            if call is None or not isinstance(parent, (ast.Return, ast.Lambda)):
                break
            frame = frame.f_back
        location = self._location_through_libraries(frame)
        is_tracing = _jax_compat.is_tracing()
        self._add(Event("clock", name, location, (), is_tracing, call=call, scope=scope))

    def _location(self, frame: types.FrameType | None) -> CodeLocation | None:
        """Return the line of user code that led to a frame, or None if JAX acts on its own."""
        return self._walk(frame, is_boundary=_is_jax_internal)

    def _location_through_libraries(self, frame: types.FrameType | None) -> CodeLocation | None:
        """Return the line of user code that led to a frame, even through library code."""
        return self._walk(frame, is_boundary=lambda _: False)

    def _walk(
        self, frame: types.FrameType | None, is_boundary: Callable[[str], bool]
    ) -> CodeLocation | None:
        while frame is not None and frame.f_code is not self.entry:
            file = frame.f_code.co_filename
            if is_user_code(file):
                return CodeLocation(file, frame.f_lineno, frame.f_code.co_name)
            if not is_detector_code(file) and is_boundary(file):
                return None
            frame = frame.f_back
        return None


def _files(frame: types.FrameType | None) -> Iterator[str]:
    """Yield the file of a frame and of each frame that led to it."""
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back


def _is_jax_internal(file: str) -> bool:
    is_jax = os.path.realpath(file).startswith(_JAX_FOLDER)
    return is_jax and os.path.basename(file) not in _ARRAY_FILES


def _view_identities(array: Any) -> tuple[int, ...]:
    """Return the `id` of a NumPy array and of each array that it is a view of."""
    found: list[int] = []
    while isinstance(array, np.ndarray) and len(found) < 8:
        found.append(id(array))
        array = array.base
    return tuple(found)


def _is_clock(function: Any) -> bool:
    name = function.__name__
    if getattr(function, "__module__", None) == "time":
        return name in _CLOCKS
    owner = getattr(function, "__self__", None)
    is_date = isinstance(owner, type) and issubclass(owner, datetime.datetime)
    return is_date and name in ("now", "utcnow", "today")
