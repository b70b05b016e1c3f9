"""One plain run: the function called as it is, on copies, with what passes the device recorded.

It is for what no trace can tell: what Python reads from arrays, what the clock says, what was
donated. Nothing is donated in it, so nothing of the user's is deleted.
"""

from __future__ import annotations

import ast
import datetime
import dis
import functools
import inspect
import os
import sys
import time
import timeit
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbits import _jax_compat
from jaxbits._analysis import resource_limits
from jaxbits._analysis.code_location import Place, is_users
from jaxbits._analysis.python_state import reachable_state, references
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.source import ast_utils

if TYPE_CHECKING:
    from jaxbits._analysis.function_under_test import Subject

_MOST, _SECONDS = 20_000, 10.0
_CLOCKS = {"time", "perf_counter", "monotonic", "process_time", "thread_time", "clock_gettime"}
_CLOCKS |= {f"{name}_ns" for name in _CLOCKS}
_ARRAYS = {"array.py", "array_methods.py", "basearray.py"}
_JAX = os.path.dirname(os.path.realpath(jax.__file__)) + os.sep


def _code(function: Any) -> types.CodeType | None:
    return getattr(inspect.unwrap(function), "__code__", None)


_CALLED = {
    _code(jax.block_until_ready): "wait",
    _code(jax.device_get): "get",
    _code(jax.device_put): "put",
    _code(jnp.asarray): "put",
    _code(jnp.array): "put",
}
_COMPILED = _code(jax.stages.Compiled.__call__)


@dataclass(frozen=True)
class Event:
    """Something that happened in a plain run.

    Attributes:
        kind: ``clock``, ``dispatch``, ``wait`` (for arrays), ``read`` (of one array, by Python),
            ``get`` or ``put`` (`jax.device_get` or `jax.device_put`, called by the user).
        name: of the program, clock or method.
        place: the user's line, None where a library did it by itself.
        arrays: the identities of the outputs, or of what is waited for or read.
        tracing: whether a trace was under way.
        program: the program of a dispatch.
        inputs: the inputs that are NumPy's: identities, those of what they are views of, and bytes.
        donated: for each input whether it is donated.
        given: the identities of all inputs.
        call: the call in the text, of a clock.
        frame: the code it stands in, of a clock.
    """

    kind: str
    name: str
    place: Place | None
    arrays: tuple[int, ...] = ()
    tracing: bool = False
    program: Any = None
    inputs: tuple[tuple[tuple[int, ...], int], ...] = ()
    donated: tuple[bool, ...] = ()
    given: tuple[int, ...] = ()
    call: Any = None
    scope: dict[str, Any] = field(default_factory=dict, hash=False, compare=False)


@dataclass
class PlainRun:
    """What happened, in order, and how it ended.

    Attributes:
        events: what happened, in order.
        arguments: the copies that the function was given.
        output: what it returned.
        held: the identities of the arrays that Python state holds at the end.
        error: what it raised.
        watched: whether this JAX lets its programs be recorded.
        cut: whether it was ended early.
    """

    events: list[Event] = field(default_factory=list)
    arguments: Any = None
    output: Any = None
    held: frozenset[int] = frozenset()
    error: Exception | None = None
    watched: bool = True
    cut: bool = False


def copied_alike(tree: Any) -> Any:
    """Return a tree with its arrays copied, an array that is there twice being so in the copy.

    >>> x = np.ones(2)
    >>> a, b = copied_alike((x, x))
    >>> a is b, a is x
    (True, False)
    """
    from jaxbits._analysis.function_under_test import copied

    known: dict[int, Any] = {}

    def one(leaf: Any) -> Any:
        if id(leaf) not in known:
            known[id(leaf)] = copied(leaf)
        return known[id(leaf)]

    return jax.tree.map(one, tree, is_leaf=is_iterator)


def user_place(frame: types.FrameType | None) -> Place | None:
    """Return the user's line that a frame runs for, None where a part of JAX's does it."""
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code is plain_run.__code__:
            return None
        if file not in (_jax_compat.__file__, __file__):
            if is_users(file):
                return Place(file, frame.f_lineno, frame.f_code.co_name)
            if os.path.realpath(file).startswith(_JAX) and os.path.basename(file) not in _ARRAYS:
                return None
        frame = frame.f_back
    return None


def _any_place(frame: types.FrameType | None) -> Place | None:
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code is plain_run.__code__:
            return None
        if file != _jax_compat.__file__ and is_users(file):
            return Place(file, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return None


def _views(array: Any) -> tuple[int, ...]:
    found: list[int] = []
    while isinstance(array, np.ndarray) and len(found) < 8:
        found.append(id(array))
        array = array.base
    return tuple(found)


class _Enough(resource_limits.Stopped):
    """Ends a run that has been watched for long enough."""


def _held(references: Iterable[references.Reference]) -> Iterator[int]:
    for reference in references:
        value = reference.get()
        fields = getattr(value, "__dict__", None)
        inside = fields if isinstance(fields, dict) and not callable(value) else None
        for leaf in jax.tree.leaves((value, inside), is_leaf=is_iterator):
            if isinstance(leaf, jax.Array):
                yield id(leaf)


class _Recorder:
    def __init__(self, run: PlainRun) -> None:
        self.run = run
        self.kept: list[Any] = []  # what was donated, so that no other array gets its identity
        self.start = time.monotonic()
        self.clocks: dict[tuple[types.CodeType, int], Any] = {}

    def add(self, event: Event) -> None:
        self.run.events.append(event)
        if len(self.run.events) > _MOST or time.monotonic() - self.start > _SECONDS:
            raise _Enough

    def dispatch(
        self, program: Any, inputs: Sequence[Any], outputs: Sequence[Any], donated: Sequence[bool]
    ) -> None:
        self.kept += [value for value, gone in zip(inputs, donated, strict=False) if gone]
        numpys = [v for v in inputs if isinstance(v, np.ndarray) and v.ndim]
        self.kept += numpys
        info = getattr(getattr(program, "jaxpr", program), "debug_info", None)
        self.add(
            Event(
                "dispatch",
                str(getattr(info, "func_name", "")),
                _any_place(sys._getframe(2)),
                tuple(map(id, outputs)),
                program=program,
                inputs=tuple((_views(v), v.nbytes) for v in numpys),
                donated=tuple(donated),
                given=tuple(map(id, inputs)),
            )
        )

    def read(self, name: str, array: Any) -> None:
        place = user_place(sys._getframe(2))
        kind = "wait" if name in ("block_until_ready", "is_ready") else "read"
        self.add(Event(kind, name, place, (id(array),), _jax_compat.is_tracing()))

    def hook(self, frame: types.FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            if _is_clock(called):
                self.clock(frame, called.__name__)
        elif event == "call":
            kind = _CALLED.get(frame.f_code)
            if kind is not None:
                place = user_place(frame.f_back)
                given = next(iter(frame.f_locals.values()), None)
                leaves = jax.tree.leaves(given)
                if kind == "put":
                    ids = tuple(i for leaf in leaves for i in _views(leaf))
                else:
                    ids = tuple(map(id, leaves))
                if place or kind == "wait":
                    self.add(Event(kind, frame.f_code.co_name, place, ids))
        elif event == "return" and frame.f_code is _COMPILED:
            ids = tuple(map(id, jax.tree.leaves(called)))
            self.add(Event("dispatch", "compiled", _any_place(frame.f_back), ids))
        if event == "return" and frame.f_code.co_name == "cache_miss" and called:
            leaves = jax.tree.leaves(called[0] if isinstance(called, tuple) else called)
            if leaves and isinstance(leaves[0], Tracer):
                place = _any_place(frame.f_back)
                self.add(Event("dispatch", "", place, tuple(map(id, leaves)), True))

    def clock(self, frame: types.FrameType | None, name: str) -> None:
        if frame is None:
            return
        file = frame.f_code.co_filename
        if not (is_users(file) or file in (timeit.__file__, "<timeit-src>")):
            return
        call = None
        scope = frame.f_globals
        while frame is not None and is_users(frame.f_code.co_filename):
            key = (frame.f_code, frame.f_lasti)
            if key not in self.clocks:
                self.clocks[key] = ast_utils.call_at(frame)
            call = self.clocks[key]
            # What returns the clock stands for a clock itself.
            if call is None or not isinstance(
                getattr(call, "above", None), (ast.Return, ast.Lambda)
            ):
                break
            frame = frame.f_back
        place = _any_place(frame)
        self.add(Event("clock", name, place, (), _jax_compat.is_tracing(), call=call, scope=scope))


def _is_clock(called: Any) -> bool:
    name = called.__name__
    if getattr(called, "__module__", None) == "time":
        return name in _CLOCKS
    owner = getattr(called, "__self__", None)
    is_date = isinstance(owner, type) and issubclass(owner, datetime.datetime)
    return is_date and name in ("now", "utcnow", "today")


def plain_run(subject: Subject) -> PlainRun:
    """Call the function once, on copies of its arguments, everything compiled anew."""
    run = PlainRun()
    recorder = _Recorder(run)
    calls = subject.calls or [subject.args]
    args, kwargs = copied_alike((tuple(calls[0]), dict(subject.kwargs)))
    run.arguments = (args, kwargs)
    with (
        subject.put_back(),
        _jax_compat.reads(recorder.read),
        _jax_compat.fresh_caches(),
        _jax_compat.dispatches(recorder.dispatch) as run.watched,
    ):
        previous = sys.getprofile()
        sys.setprofile(recorder.hook)
        try:
            with resource_limits.exits_as_errors():
                run.output = subject.function(*args, **kwargs)
        except Exception as error:  # what came before it is evidence all the same
            run.error = error
        except _Enough:
            run.cut = True
        finally:
            sys.setprofile(previous)
        run.held = frozenset(_held(subject.references))
    return run


def names_in(subject: Subject) -> dict[str, Any]:
    """Return the names that the user's code holds, each with what it is among its globals."""
    found: dict[str, Any] = {}
    for code, scope in reachable_state.codes(subject.function):
        for name in code.co_names:
            found.setdefault(name, scope.get(name))
        if _formats(code):
            found["format"] = format
    return found


@functools.lru_cache(maxsize=2048)
def _formats(code: types.CodeType) -> bool:
    return any(i.opname.startswith("FORMAT_") for i in dis.get_instructions(code))
