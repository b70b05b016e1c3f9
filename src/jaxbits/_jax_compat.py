"""The one place for what JAX does not offer in public, with the versions it was tried on.

Tried on jax 0.7.2, 0.10.2 and 0.12.0.1. Everything here degrades: where a version lacks what is
looked for, the functions say so by their result instead of raising.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import jax
import numpy as np


def source_line(equation: Any) -> int | None:
    """Return the line of the reader's code that an equation of a jaxpr came from.

    Args:
        equation: one of ``jax.make_jaxpr(f)(*args).eqns``.

    Returns:
        The line in its file, or in its cell; None where this JAX does not tell.

    >>> import jax
    >>> jaxpr = jax.make_jaxpr(lambda x: x + 1)(2.0)
    >>> source_line(jaxpr.eqns[0])
    1
    """
    try:
        from jax._src.source_info_util import user_frame
    except ImportError:
        return None
    try:
        frame = user_frame(equation.source_info.traceback)
    except (AttributeError, TypeError):
        return None
    return None if frame is None else int(frame.start_line)


def frames(equation: Any) -> list[tuple[str, str, int]]:
    """Return (function, file, line) of the frames an equation was traced under, innermost first.

    >>> import jax
    >>> jaxpr = jax.make_jaxpr(lambda x: x + 1)(2.0)
    >>> any(name == "<lambda>" for name, _, _ in frames(jaxpr.eqns[0]))
    True
    """
    traceback = getattr(equation.source_info, "traceback", None)
    if traceback is None:
        return []
    found = []
    for frame in traceback.frames:
        line = getattr(frame, "line_num", 0) or getattr(frame, "start_line", 0)
        found.append((frame.function_name, frame.file_name, int(line)))
    return found


def steps(equation: Any) -> list[tuple[str, str, int, int]]:
    """Return `frames`, each with the place of its instruction, -1 where this JAX does not tell."""
    found = frames(equation)
    traceback = getattr(equation.source_info, "traceback", None)
    try:
        places = [int(place) for place in traceback.raw_frames()[1]]  # type: ignore[union-attr]
    except (AttributeError, TypeError, ValueError):
        places = []
    if len(places) != len(found):
        places = [-1] * len(found)
    return [(*frame, place) for frame, place in zip(found, places, strict=True)]


def home_of(jaxpr: Any) -> str:
    """Return the file of the function that a jaxpr was traced from, empty where unknown."""
    info = getattr(getattr(jaxpr, "debug_info", None), "func_src_info", None) or ""
    _, found, place = info.rpartition(" at ")
    return str(place.rpartition(":")[0]) if found else ""


# A new kind of context is part of every cache's key from then on, so what was compiled before is
# traced once more: it is made here, where mostly nothing has been, and not at the first check.
# (On jax 0.12 the first check has it traced once more all the same.)
_user_context: Any = getattr(jax, "make_user_context", lambda _: None)(None)
_fresh = itertools.count()


def fresh_caches() -> AbstractContextManager[Any]:
    """Return a context in which every function is traced anew, nothing cached being thrown away.

    JAX keys its caches by a context that a caller may set: `jax.make_user_context` in recent
    versions, the XLA metadata before it. A value never seen finds nothing in any cache.

    >>> import jax
    >>> traces = []
    >>> f = jax.jit(lambda x: traces.append(1) or x)
    >>> _ = f(1.0), f(1.0)
    >>> with fresh_caches():
    ...     _ = f(1.0)
    >>> len(traces)
    2
    """
    if _user_context is not None:
        context: AbstractContextManager[Any] = _user_context(f"jaxbits {next(_fresh)}")
        return context
    try:
        from jax.experimental.xla_metadata import set_xla_metadata
    except ImportError:
        return nullcontext()
    metadata: AbstractContextManager[Any] = set_xla_metadata(jaxbits=str(next(_fresh)))
    return metadata


def x64_on() -> AbstractContextManager[Any]:
    """Return a context with 64-bit numbers; before jax 0.8 it is `jax.experimental.enable_x64`.

    >>> with x64_on():
    ...     str(jax.numpy.arange(2).dtype)
    'int64'
    """
    switch: Any = getattr(jax, "enable_x64", None)
    if switch is None:
        switch = importlib.import_module("jax.experimental").enable_x64
    context: AbstractContextManager[Any] = switch(True)
    return context


def _tracing() -> Any:
    try:
        from jax._src.core import trace_ctx
    except ImportError:
        return None
    return trace_ctx if hasattr(trace_ctx, "set_trace") else None


@contextmanager
def trace_kept() -> Iterator[None]:
    """Leave JAX's current trace as it was, also where the block is stopped in JAX's own code."""
    tracing = _tracing()
    before = getattr(tracing, "trace", None)
    try:
        yield
    finally:
        if tracing is not None and tracing.trace is not before:
            tracing.set_trace(before)


def config_values() -> dict[str, Any]:
    """Return the values of all switches of `jax.config`; nothing where a version does not tell."""
    return dict(getattr(jax.config, "values", None) or {})


def set_config(values: Mapping[str, Any]) -> None:
    """Put switches of `jax.config` back that have other values now."""
    now = config_values()
    for name, value in values.items():
        if now.get(name) is not value and now.get(name) != value:
            jax.config.update(name, value)


def bind(equation: Any, inputs: Sequence[Any], **changed: Any) -> list[Any]:
    """Apply the primitive of an equation to other inputs; always a list of outputs.

    `Primitive.get_bind_params` returned (functions, parameters) up to jax 0.9, then parameters.
    """
    found = equation.primitive.get_bind_params({**equation.params, **changed})
    functions, parameters = found if isinstance(found, tuple) else ((), found)
    outputs = equation.primitive.bind(*functions, *inputs, **parameters)
    return list(outputs) if equation.primitive.multiple_results else [outputs]


def scan_counts(equation: Any) -> tuple[int, int]:
    """Return how many constants and carried values an equation of `lax.scan` has.

    From jax 0.12 they are the sizes of two parts of the tree `ft_in`.

    >>> jaxpr = jax.make_jaxpr(lambda x: jax.lax.scan(lambda c, v: (c + v, c), 0.0, x))
    >>> scan_counts(jaxpr(jax.numpy.ones(3)).eqns[-1])
    (0, 1)
    """
    parameters = equation.params
    if "num_consts" in parameters:
        return int(parameters["num_consts"]), int(parameters["num_carry"])
    given = parameters["ft_in"].update(range(len(equation.invars)))
    constants, carry, _ = map(list, given.unpack())
    return len(constants), len(carry)


def cast(array: Any, dtype: Any, *, weak_type: bool) -> jax.Array:
    """Return the array at a dtype, weakly typed or not; strongly where a version cannot be weak.

    In public a cast always makes a strong type.

    >>> cast(jax.numpy.ones(2), "float32", weak_type=True).weak_type
    True
    """
    if weak_type:
        with suppress(ImportError, TypeError):
            from jax._src.lax.lax import _convert_element_type

            weak: jax.Array = _convert_element_type(array, np.dtype(dtype), weak_type=True)
            return weak
    return jax.lax.convert_element_type(array, dtype)


_EVENTS = {"trace": "jaxpr_trace_duration", "compile": "backend_compile_duration"}


@contextmanager
def counted(kind: str) -> Iterator[list[int]]:
    """Count what JAX does inside of the block: ``"trace"`` or ``"compile"``, those of parts too.

    `jax.monitoring.unregister_event_duration_listener` is missing in older versions: the listener
    then stays, and counts no more.

    >>> with counted("compile") as count:
    ...     _ = jax.jit(lambda x: x * 3.25)(2.0)
    >>> count[0] > 0
    True
    """
    count, listening = [0], [True]

    def listen(event: str, duration_secs: float, **_: Any) -> None:
        count[0] += listening[0] and event.endswith(_EVENTS[kind])

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield count
    finally:
        listening[0] = False
        unregister = getattr(jax.monitoring, "unregister_event_duration_listener", None)
        if unregister is not None:
            with suppress(Exception):  # taken away already, by jax.monitoring.clear_event_listeners
                unregister(listen)


Dispatch = Callable[[Any, Sequence[Any], Sequence[Any], Sequence[bool]], None]


@contextmanager
def dispatches(record: Dispatch) -> Iterator[bool]:
    """Call `record(program, inputs, outputs, donated)` for every compiled program that is run.

    Nothing is donated inside of the block. Programs that ran before are seen inside of
    `fresh_caches` only: the others go past Python. Yields whether this JAX lets itself be asked.
    """
    from jax._src import pjit

    run = getattr(pjit, "_pjit_call_impl_python", None)
    shortcut = getattr(pjit, "_get_fastpath_data", None)
    if run is None or shortcut is None:
        yield False
        return

    @functools.wraps(run)
    def recorded(*inputs: Any, **parameters: Any) -> Any:
        donated = parameters.get("donated_invars", ())
        parameters["donated_invars"] = (False,) * len(donated)
        found = run(*inputs, **parameters)
        record(parameters["jaxpr"], inputs, found[0], donated)
        return found

    pjit._pjit_call_impl_python, pjit._get_fastpath_data = recorded, lambda *_, **__: None
    try:
        yield True
    finally:
        pjit._pjit_call_impl_python, pjit._get_fastpath_data = run, shortcut


READS: tuple[str, ...] = (
    "__float__",
    "__int__",
    "__bool__",
    "__index__",
    "__complex__",
    "__array__",
    "__repr__",
)
READS += ("__str__", "__format__", "item", "tolist", "block_until_ready", "is_ready")


@contextmanager
def reads(record: Callable[[str, Any], None]) -> Iterator[None]:
    """Call `record(name, array)` when Python reads an array of JAX's, or waits for it.

    `numpy.asarray` and `numpy.array` are among the names: on a CPU they read memory directly.
    """
    kind: Any = type(jax.numpy.zeros(()))
    kept = {name: vars(kind)[name] for name in READS if name in vars(kind)}
    numpys = {name: getattr(np, name) for name in ("asarray", "array", "copy", "ascontiguousarray")}

    def method(name: str) -> Any:
        def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
            record(name, self)
            return kept[name].__get__(self, kind)(*args, **kwargs)

        return recorded

    def function(name: str) -> Any:
        @functools.wraps(numpys[name])
        def recorded(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], kind):
                record(f"np.{name}", args[0])
            return numpys[name](*args, **kwargs)

        return recorded

    try:
        for name in kept:
            setattr(kind, name, method(name))
        for name in numpys:
            setattr(np, name, function(name))
        yield
    finally:
        for name, value in kept.items():
            setattr(kind, name, value)
        for name, value in numpys.items():
            setattr(np, name, value)


def is_tracing() -> bool:
    """Return whether a trace is under way; False where this JAX does not tell."""
    clean = getattr(jax.core, "trace_state_clean", None)
    if clean is None:
        with suppress(ImportError):
            from jax._src.core import trace_state_clean as clean
    return clean is not None and not clean()


def name_stack(equation: Any) -> str:
    """Return the scopes and transformations that an equation was traced under."""
    return str(getattr(equation.source_info, "name_stack", ""))
