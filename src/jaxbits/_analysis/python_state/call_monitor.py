"""Record a function's effects outside the compiled program, and undo them where possible.

A profiler hook sees every call that user code makes, so the user's functions do not have to be
replaced. Monitoring is not safe while other threads run user code.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import io
import os
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxbits._analysis import resource_limits
from jaxbits._analysis.code_location import CodeLocation, is_user_code
from jaxbits._analysis.python_state.caught_warnings import (
    CaughtWarning,
    WarningRecorder,
    general_filters,
)
from jaxbits._analysis.python_state.impure_calls import (
    impure_c_name,
    impure_python_name,
    is_log,
    no_input,
)
from jaxbits._analysis.python_state.iterators import is_iterator, iterator_position
from jaxbits._analysis.python_state.log_calls import (
    announces_trace,
    is_switched_off,
    shows_tracer,
)
from jaxbits._analysis.python_state.loop_bodies import LoopBodies, line_of_iteration
from jaxbits._analysis.python_state.printed_shapes import PrintLog
from jaxbits._analysis.python_state.process_state import ProcessState
from jaxbits._analysis.python_state.references import Reference
from jaxbits._analysis.python_state.snapshot import StateChange, StateSnapshot
from jaxbits._analysis.python_state.static_output import is_constant, logs_shape
from jaxbits._analysis.source.ast_utils import current_call
from jaxbits._analysis.wrapped_call import WrappedCall

_DICT_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_MAX_VALUES = 200


@dataclass
class CallLog:
    """A record of what the user's code did in a monitored block.

    Attributes:
        calls: How many times each line called each impure function.
        environment: The lines that read environment variables.
        printed: The text that was printed.
        shape_prints: The lines that print or log an array's shape or dtype, but no traced value.
        headings: The lines that log a literal, such as the name of the array in the next line.
        trace_markers: The lines that print or log that JAX compiles or traces, but no traced value.
        switched_off: The lines whose logging calls the user's own settings suppress.
        changes: The Python state that changed.
        caught_warnings: The warnings that were issued.
        advanced: The lines in the body of a JAX loop that advance an iterator created outside the
            body.
        passed: For each iterator passed to a JAX function, the line, the iterator's type, and the
            name of the function.
        left_out: Notes on the state that was not recorded.
        ran: The code of the user's functions that were called.
    """

    calls: collections.Counter[tuple[str, CodeLocation | None]] = field(
        default_factory=collections.Counter
    )
    environment: list[CodeLocation] = field(default_factory=list)
    printed: str = ""
    shape_prints: set[CodeLocation] = field(default_factory=set)
    headings: set[CodeLocation] = field(default_factory=set)
    trace_markers: set[CodeLocation] = field(default_factory=set)
    switched_off: set[CodeLocation] = field(default_factory=set)
    changes: list[StateChange] = field(default_factory=list)
    caught_warnings: list[CaughtWarning] = field(default_factory=list)
    advanced: list[CodeLocation] = field(default_factory=list)
    passed: list[tuple[CodeLocation, str, str]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    ran: set[types.CodeType] = field(default_factory=set)


@contextlib.contextmanager
def monitor_calls(
    references: Iterable[Reference],
    wrapped_call: WrappedCall | None = None,
    records_calls: bool = True,
) -> Iterator[CallLog]:
    """Record impure calls made from user code, and restore Python state even after an error.

    Args:
        references: The Python state to watch and to restore.
        wrapped_call: An observer of the call from a wrapper to the function that it wraps, if any.
        records_calls: Whether to record the calls, which makes tracing about twice as slow.

    Yields:
        The record of what the code in the block does.

    >>> with monitor_calls([]) as log:
    ...     print("nobody reads this")
    >>> log.printed.strip()
    'nobody reads this'
    """
    log, snapshot, output = CallLog(), StateSnapshot(references), io.StringIO()
    recorder = WarningRecorder()
    prints = PrintLog(output)
    log.left_out = snapshot.left_out
    process = ProcessState()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            filters = general_filters()
            warnings.showwarning = recorder
            sys.stdout = sys.stderr = output
            sys.stdin = io.TextIOWrapper(io.BytesIO())
            builtins.input = no_input
            if records_calls:
                sys.setprofile(_Profiler(log, prints, snapshot.unreadable, wrapped_call).hook())
            try:
                yield log
            finally:
                sys.setprofile(process.hook)
                if general_filters() != filters:
                    log.calls["warnings.simplefilter", None] += 1
    finally:
        try:
            used = process.restore()
            log.printed, log.caught_warnings = output.getvalue(), recorder.caught
            log.shape_prints |= prints.lines_with_shapes(log.printed)
            log.trace_markers |= prints.lines_about_tracing(log.printed)
            for name in used:
                log.calls[name, None] += 1
            with contextlib.suppress(Exception):  # The user's methods may raise errors.
                log.changes = snapshot.changes()
            snapshot.restore()
        except resource_limits.OutOfTime:  # This is raised only once, so the cleanup completes.
            process.restore()
            snapshot.restore()
            raise


@contextlib.contextmanager
def sandbox(references: Iterable[Reference], records_calls: bool = True) -> Iterator[CallLog]:
    """Suppress side effects in the block, restore Python state, and turn exits into errors.

    Args:
        references: The Python state to watch and to restore.
        records_calls: Whether to record the calls, as in `monitor_calls`.
    """
    monitor = monitor_calls(references, records_calls=records_calls)
    with monitor as log, resource_limits.exits_as_errors():
        yield log


class _UserFiles(dict[str, bool]):
    """A mapping from file names to whether they are user code, which fills itself."""

    def __missing__(self, file: str) -> bool:
        is_user = self[file] = is_user_code(file)
        return is_user


class _Profiler:
    """A hook for `sys.setprofile` that records calls in a log.

    Tracing a program causes hundreds of thousands of events, nearly all of them between library
    functions, so the hook drops those first.
    """

    def __init__(
        self,
        log: CallLog,
        prints: PrintLog,
        unreadable: Mapping[int, str],
        wrapped_call: WrappedCall | None = None,
    ) -> None:
        self.unreadable = unreadable
        self.log, self.prints, self.wrapped_call = log, prints, wrapped_call
        self.deadline = resource_limits.deadline()
        self.loop_bodies = LoopBodies()
        self.bodies: dict[types.FrameType, tuple[list[Any], list[Any], int]] = {}

    def hook(self) -> Callable[[types.FrameType, str, Any], None]:
        """Return the function to pass to `sys.setprofile`."""
        is_user = _UserFiles()  # A dictionary is much faster than a call to `is_user_code`.
        wrapped_code = self.wrapped_call and self.wrapped_call.code

        def profile(frame: types.FrameType, event: str, argument: Any) -> None:
            code = frame.f_code
            if event == "call":
                if code is wrapped_code and self.wrapped_call:
                    self.wrapped_call.record(frame)
                if is_user[code.co_filename]:
                    self.log.ran.add(code)
                    if code.co_freevars:
                        self.watch_loop_body(frame)
                caller = frame.f_back
                if caller is not None and is_user[caller.f_code.co_filename]:
                    self.record_call(caller, frame, not is_user[code.co_filename], argument)
            elif event == "c_call":
                if is_user[code.co_filename]:
                    self.record_call(frame, None, True, argument)
            elif event == "return":
                if code is wrapped_code and self.wrapped_call:
                    self.wrapped_call.record_return(frame, argument)
                if self.bodies and frame in self.bodies:
                    self.leave_loop_body(frame)
                if code.co_cellvars and is_user[code.co_filename]:
                    self.loop_bodies.record_return(frame)

        return profile

    def record_call(
        self,
        caller: types.FrameType,
        frame: types.FrameType | None,
        is_library: bool,
        function: Any,
    ) -> None:
        """Record a call that user code makes.

        Args:
            caller: The frame that makes the call.
            frame: The frame of the called function, or None if it is written in C.
            is_library: Whether the called function is not user code.
            function: The called function if it is written in C.
        """
        if time.monotonic() > self.deadline:
            resource_limits.stop()
        if not is_library:
            return
        code = caller.f_code
        location = CodeLocation(code.co_filename, caller.f_lineno, code.co_name)
        if frame is None:
            name = impure_c_name(function)
            if function is print:
                self.prints.record(location, caller)
            owner = self.unreadable.get(id(getattr(function, "__self__", None)))
            if owner and not name:
                gap = f"what `{owner}.{function.__name__}` changes is unknown"
                self.log.left_out += [gap] if gap not in self.log.left_out else []
            if function is next and self.loop_bodies.outer_iterators(caller):
                self.log.advanced.append(location)
        else:
            name = impure_python_name(frame)
            if is_log(name):
                self.record_log_call(location, caller, frame)
            if _reads_environment(frame):
                self.log.environment.append(location)
            iterator = _iterator_argument(frame)
            if iterator:
                self.log.passed.append((location, iterator, frame.f_code.co_name))
        if name:
            self.log.calls[name, location] += 1

    def record_log_call(
        self, location: CodeLocation, caller: types.FrameType, frame: types.FrameType
    ) -> None:
        """Record whether a logging call is switched off, says that JAX traces, or shows a shape.

        Args:
            location: The line of the call.
            caller: The frame that makes the call.
            frame: The frame of the logging function.
        """
        is_first = not any(place == location for _, place in self.log.calls)
        call = current_call(caller)
        for found, is_found in (
            (self.log.switched_off, is_switched_off(frame)),
            (self.log.trace_markers, not shows_tracer(frame) and announces_trace(call)),
            (self.log.shape_prints, logs_shape(call, frame, caller)),
            (self.log.headings, is_constant(call)),
        ):
            if is_found and is_first:
                found.add(location)
            elif not is_found:
                found.discard(location)

    def watch_loop_body(self, frame: types.FrameType) -> None:
        """Remember the positions of the iterators that a loop body may advance without `next`."""
        iterators = self.loop_bodies.outer_iterators(frame)
        if iterators:
            positions = list(map(iterator_position, iterators))
            self.bodies[frame] = iterators, positions, len(self.log.advanced)

    def leave_loop_body(self, frame: types.FrameType) -> None:
        """Record that a loop body has advanced an iterator without calling `next`."""
        iterators, positions, reported = self.bodies.pop(frame)
        has_advanced = list(map(iterator_position, iterators)) != positions
        if len(self.log.advanced) == reported and has_advanced:
            self.log.advanced.append(line_of_iteration(frame.f_code))


def _reads_environment(frame: types.FrameType) -> bool:
    owner = frame.f_locals.get("self")
    reads = frame.f_code.co_name in ("getenv", "get", "__getitem__", "__contains__")
    return reads and (owner is os.environ or frame.f_code is os.getenv.__code__)


def _iterator_argument(frame: types.FrameType) -> str:
    """Return the type name of an iterator among a JAX function's arguments, if there is one."""
    if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in ("jax", "jaxlib"):
        return ""
    waiting = list(frame.f_locals.values())
    for value in waiting:
        if is_iterator(value) or isinstance(value, _DICT_VIEWS):
            return type(value).__name__
        if isinstance(value, (tuple, list)) and len(waiting) < _MAX_VALUES:
            waiting += value[:20]
        elif type(value) is dict and len(waiting) < _MAX_VALUES:
            waiting += list(value.values())[:20]
    return ""
