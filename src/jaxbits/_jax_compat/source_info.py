"""Functions that find the tracebacks, files, and name stacks of equations and jaxprs."""

from __future__ import annotations

from typing import Any


def source_line(equation: Any) -> int | None:
    """Return the number of the line of user code that a jaxpr's equation comes from.

    This function uses JAX's `user_frame`, which takes a traceback in JAX 0.7.2 through 0.12:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/source_info_util.py

    Args:
        equation: One of ``jax.make_jaxpr(f)(*args).eqns``.

    Returns:
        The line number in the file or notebook cell, or None if this version of JAX does not
        provide it.

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
    """Return (function, file, line) for each frame that an equation was traced in, innermost first.

    The frames end where JAX starts to trace the jaxpr of the equation, because JAX may use the same
    jaxpr for a call from another line. JAX 0.10.2 and 0.12 store no other frames. JAX 0.7.2 stores
    all of them, so this function cuts them off:
    https://github.com/jax-ml/jax/blob/jax-v0.7.2/jax/_src/interpreters/partial_eval.py

    In JAX 0.7.2 through 0.12, a frame stores its line number as `line_num`. The other name that
    this function tries, `start_line`, appears in
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/source_info_util.py

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
        if _starts_jaxpr(frame):
            break
        line = getattr(frame, "line_num", 0) or getattr(frame, "start_line", 0)
        found.append((frame.function_name, frame.file_name, int(line)))
    return found


def frames_with_lasti(equation: Any) -> list[tuple[str, str, int, int]]:
    """Return the frames that `frames` returns, each with the index of its last instruction.

    The bytecode index distinguishes iterations of a loop from separate calls on the same line. It
    comes from the method `raw_frames` of jaxlib's tracebacks. In a version without this method, it
    is -1.
    """
    found = frames(equation)
    traceback = getattr(equation.source_info, "traceback", None)
    try:
        indices = [int(index) for index in traceback.raw_frames()[1]]  # type: ignore[union-attr]
    except (AttributeError, TypeError, ValueError):
        indices = []
    if len(indices) < len(found):
        indices = [-1] * len(found)
    return [(*frame, index) for frame, index in zip(found, indices, strict=False)]


def call_end(equation: Any, file: str) -> tuple[int, int] | None:
    """Return (line, column) of the end of the call in a file that led to an equation, innermost.

    The position is counted as in Python's `ast`, with lines from 1 and columns in bytes from 0. It
    tells apart several calls in one statement. The result is None if `frames_with_lasti` has no
    bytecode index, or if Python records no positions.
    """
    found = frames_with_lasti(equation)
    for (_, name, _, index), code in zip(found, _codes(equation), strict=False):
        if name == file and index >= 0:
            positions = list(code.co_positions())
            _, line, _, column = positions[index // 2]  # Each instruction has two bytes.
            return None if line is None or column is None else (line, column)
    return None


def _codes(equation: Any) -> list[Any]:
    """Return the code objects of the frames of an equation, innermost first."""
    traceback = getattr(equation.source_info, "traceback", None)
    try:
        return list(traceback.raw_frames()[0])  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        return []


def _starts_jaxpr(frame: Any) -> bool:
    """Return whether a frame belongs to the function with which JAX starts to trace a jaxpr."""
    is_tracing = str(frame.function_name).startswith("trace_to_jaxpr_dynamic")
    return is_tracing and str(frame.file_name).endswith("partial_eval.py")


def source_file(jaxpr: Any) -> str:
    """Return the file that defines the function behind a jaxpr, or "" if it is unknown.

    `func_src_info` has the form "name at file:line" in JAX 0.7.2 through 0.12:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/linear_util.py
    """
    info = getattr(getattr(jaxpr, "debug_info", None), "func_src_info", None) or ""
    _, separator, location = info.rpartition(" at ")
    return str(location.rpartition(":")[0]) if separator else ""


def name_stack(equation: Any) -> str:
    """Return the scopes and transformations that an equation was traced under, as a string.

    The string is empty if equations do not store a name stack. In JAX 0.7.2 through 0.12, they do:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/source_info_util.py
    """
    return str(getattr(equation.source_info, "name_stack", ""))
