"""Functions that record when JAX traces, compiles, or dispatches, and when Python reads arrays."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import jax
import numpy as np

_EVENTS = {"trace": "jaxpr_trace_duration", "compile": "backend_compile_duration"}

RecordDispatch = Callable[[Any, Sequence[Any], Sequence[Any], Sequence[bool]], None]

HOST_READS = (
    *("__float__", "__int__", "__bool__", "__index__", "__complex__", "__array__", "__repr__"),
    *("__str__", "__format__", "item", "tolist", "block_until_ready", "is_ready", "__dlpack__"),
)
"""The methods through which Python reads an array or waits for it."""


_LAST_EVENT = "/jaxbits/end_of_count/"


def _listeners() -> Any:
    """Return JAX's own list of listeners, or None in a version that stores them differently.

    `jax.monitoring.clear_event_listeners` replaces the list, even if the same listeners are
    registered again afterward. JAX 0.10.2 has this list, and other versions were not checked:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/monitoring.py
    """
    try:
        from jax._src import monitoring
    except ImportError:
        return None
    return getattr(monitoring, "_event_duration_secs_listeners", None)


@contextmanager
def count_compilations(kind: str) -> Iterator[list[int]]:
    """Count JAX's traces or compilations inside the block, including those of inner functions.

    JAX 0.7.2 through 0.12 use the same event names:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/dispatch.py
    In a version without `jax.monitoring.unregister_event_duration_listener`, the listener stays
    registered, but it stops counting.

    Args:
        kind: ``"trace"`` or ``"compile"``.

    Yields:
        A list with the count as its only element.

    Raises:
        RuntimeError: When the block ends, if the block has removed the listener, even if it has
            registered it again, so that the count is too low.

    >>> with count_compilations("compile") as count:
    ...     _ = jax.jit(lambda x: x * 3.25)(2.0)
    >>> count[0] > 0
    True
    """
    count, is_counting = [0], [True]
    heard: list[str] = []

    def listen(event: str, duration_secs: float, **_: Any) -> None:
        count[0] += is_counting[0] and event.endswith(_EVENTS[kind])
        if event.startswith(_LAST_EVENT):
            heard.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    listeners = _listeners()
    try:
        yield count
        last = f"{_LAST_EVENT}{secrets.token_hex(8)}"
        jax.monitoring.record_event_duration_secs(last, 0.0)
        if last not in heard or _listeners() is not listeners:
            raise RuntimeError(
                "the block must not remove JAX's listeners, but the one that counts was removed, "
                "for example by jax.monitoring.clear_event_listeners"
            )
    finally:
        is_counting[0] = False
        unregister = getattr(jax.monitoring, "unregister_event_duration_listener", None)
        if unregister is not None:
            # `jax.monitoring.clear_event_listeners` may have removed the listener already.
            with suppress(Exception):
                unregister(listen)


@contextmanager
def intercept_compilation(run: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    """Let `run` call XLA's compiler in the block, for example in another thread.

    The call needs nothing from the thread in which JAX made it. This context replaces a private
    function of JAX 0.7.2 through 0.12. In a version without this function, it does nothing:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/compiler.py

    Args:
        run: A function that calls its argument, a function without parameters, and returns the
            result.

    >>> calls = []
    >>> with intercept_compilation(lambda compile: [calls.append(1), compile()][1]):
    ...     _ = jax.jit(lambda x: x * 4.25)(2.0)
    >>> len(calls) > 0
    True
    """
    try:
        from jax._src import compiler
    except ImportError:
        yield
        return
    original = getattr(compiler, "backend_compile_and_load", None)
    if original is None:
        yield
        return

    @functools.wraps(original)
    def compile_and_load(*args: Any, **kwargs: Any) -> Any:
        return run(functools.partial(original, *args, **kwargs))

    compiler.backend_compile_and_load = compile_and_load
    try:
        yield
    finally:
        compiler.backend_compile_and_load = original


@contextmanager
def intercept_dispatch(record: RecordDispatch) -> Iterator[bool]:
    """Call `record` for every compiled program that runs in the block, and disable donation.

    A program that has run before takes a path in C++ that bypasses Python code, so use
    `fresh_caches` as well. This context replaces two private functions of JAX 0.7.2 through 0.12:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/pjit.py

    Args:
        record: A function that takes the program, its inputs, its outputs, and a sequence of
            booleans that say which inputs the program donates.

    Yields:
        Whether this version of JAX has the two functions. If it does not, nothing is recorded.
    """
    try:
        from jax._src import pjit
    except ImportError:
        yield False
        return
    call = getattr(pjit, "_pjit_call_impl_python", None)
    fastpath = getattr(pjit, "_get_fastpath_data", None)
    if call is None or fastpath is None:
        yield False
        return

    @functools.wraps(call)
    def recording_call(*inputs: Any, **parameters: Any) -> Any:
        donated = parameters.get("donated_invars", ())
        parameters["donated_invars"] = (False,) * len(donated)
        results = call(*inputs, **parameters)
        record(parameters["jaxpr"], inputs, results[0], donated)
        return results

    pjit._pjit_call_impl_python = recording_call
    pjit._get_fastpath_data = lambda *_, **__: None  # This makes every call go through Python.
    try:
        yield True
    finally:
        pjit._pjit_call_impl_python, pjit._get_fastpath_data = call, fastpath


@contextmanager
def intercept_host_reads(record: Callable[[str, Any], None]) -> Iterator[None]:
    """Call `record(name, array)` when Python reads a JAX array or waits for it.

    This context also replaces `numpy.asarray` and similar functions, because on a CPU they read
    memory through the buffer protocol. Array methods that a version of JAX lacks are skipped. JAX
    0.7.2 through 0.12 have all of them:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/array.py
    """
    array_type: Any = type(jax.numpy.zeros(()))
    methods = {name: vars(array_type)[name] for name in HOST_READS if name in vars(array_type)}
    names = ("asarray", "array", "copy", "ascontiguousarray", "frombuffer")
    functions = {name: getattr(np, name) for name in names}

    def recording_method(name: str) -> Any:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            record(name, self)
            return methods[name].__get__(self, array_type)(*args, **kwargs)

        return method

    def recording_function(name: str) -> Any:
        @functools.wraps(functions[name])
        def function(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], array_type):
                record(f"np.{name}", args[0])
            return functions[name](*args, **kwargs)

        return function

    try:
        for name in methods:
            setattr(array_type, name, recording_method(name))
        for name in functions:
            setattr(np, name, recording_function(name))
        yield
    finally:
        for name, original in methods.items():
            setattr(array_type, name, original)
        for name, original in functions.items():
            setattr(np, name, original)
