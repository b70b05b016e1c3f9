"""Run debugger sessions with prepared commands, for pages that cannot wait for input."""

from __future__ import annotations

import builtins
import io
import linecache
import pdb
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

import jax

from jaxbits._analysis.code_location import is_user_code
from jaxbits._formatting import first_line


class _ScriptedPdb(pdb.Pdb):
    """A debugger that reads its commands from a given object and shows only the user's frames."""

    def __init__(self, commands: Any) -> None:
        super().__init__(stdin=commands, stdout=sys.stdout, nosigint=True, readrc=False)
        self.prompt = "ipdb> "

    def get_stack(
        self, f: FrameType | None, t: TracebackType | None
    ) -> tuple[list[tuple[FrameType, int]], int]:
        stack, _ = super().get_stack(f, t)
        own = [(frame, line) for frame, line in stack if _is_own(frame.f_code.co_filename)]
        return own, max(0, len(own) - 1)

    def print_stack_entry(
        self, frame_lineno: tuple[FrameType, int], prompt_prefix: str = ""
    ) -> None:
        frame, line = frame_lineno
        code = linecache.getline(frame.f_code.co_filename, line).strip()
        self.message(f"> {frame.f_code.co_name}()\n-> {code}")

    def precmd(self, line: str) -> str:
        # Since Python 3.13, pdb also passes internal commands to this method. Do not print them.
        # https://github.com/python/cpython/blob/3.13/Lib/pdb.py
        if not line.startswith("_pdbcmd"):
            self.message(line)
        return line


def _is_own(file: str) -> bool:
    return is_user_code(file) and file != __file__


def post_mortem(
    commands: Sequence[str], function: Callable[..., Any] | None = None, *args: Any
) -> None:
    """Print a debugger session for an error, formatted like the output of ``%debug``.

    The session starts in the innermost frame of the user's code, and ends with ``quit``.

    Args:
        commands: The commands to enter, such as ``["p x", "up"]``.
        function: A function that raises the error. If it is None, the session examines the
            error of the last cell that failed.
        *args: The arguments to pass to the function.

    >>> post_mortem(["p x"], lambda x: 1 / x, 0)
    ZeroDivisionError: division by zero
    > <lambda>()
    -> post_mortem(["p x"], lambda x: 1 / x, 0)
    ipdb> p x
    0
    ipdb> quit
    """
    if function is None:
        _run_session(getattr(sys, "last_value", None), commands)
        return
    try:
        function(*args)
    except Exception as error:
        first = first_line(error, limit=None)
        print(f"{type(error).__name__}: {first}")
        _run_session(error, commands)


def _run_session(error: BaseException | None, commands: Sequence[str]) -> None:
    if error is None:
        print("there is no error to examine")
        return
    debugger = _ScriptedPdb(io.StringIO("\n".join([*commands, "quit", ""])))
    debugger.reset()
    debugger.interaction(None, error.__traceback__)


class _CommandQueue:
    """A queue of debugger commands. When it is empty, every read returns ``continue``."""

    def __init__(self, commands: Sequence[str]) -> None:
        self.commands = list(commands)

    def readline(self) -> str:
        return (self.commands.pop(0) if self.commands else "continue") + "\n"

    def input(self, prompt: object = "", /) -> str:
        line = self.readline().rstrip("\n")
        print(f"{prompt}{line}")
        return line


@contextmanager
def breakpoint_commands(*commands: str) -> Iterator[None]:
    """Enter commands at every breakpoint that the program reaches inside a ``with`` block.

    Both ``breakpoint()`` and JAX's ``jax.debug.breakpoint(backend="cli")`` read the commands. When
    no command is left, the program continues. At the end of the block, even after an error, the
    context manager waits for JAX's callbacks and then restores ``input`` and the breakpoint hook.

    Args:
        *commands: The commands for all breakpoints, in order, such as ``"p x", "continue"``.

    >>> def doubled(x):
    ...     jax.debug.breakpoint(backend="cli")
    ...     return 2 * x
    >>> with breakpoint_commands("p x"):
    ...     _ = jax.jit(doubled)(jax.numpy.float32(1.5))
    Entering jdb:
    (jdb) p x
    Array(1.5, dtype=float32)
    (jdb) continue
    """
    queue = _CommandQueue(commands)

    def stop(*_: Any, **__: Any) -> None:
        debugger = _ScriptedPdb(queue)
        debugger.reset()
        debugger.interaction(sys._getframe(1), None)

    # JAX's debugger reads its commands with `input`.
    # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/debugger/cli_debugger.py
    original_input, original_hook = builtins.input, sys.breakpointhook
    builtins.input, sys.breakpointhook = queue.input, stop
    try:
        yield
        jax.effects_barrier()
    except Exception:
        # Wait, because a program that is still running could ask for keyboard input.
        with suppress(Exception):
            jax.effects_barrier()
        raise
    finally:
        builtins.input, sys.breakpointhook = original_input, original_hook


def user_frames(error: BaseException) -> list[tuple[str, str]]:
    """Return the frames in an error's traceback that belong to the user's code, innermost last.

    Each frame is a pair of the function's name and the source line.

    >>> def halve(x):
    ...     return x / 0
    >>> try:
    ...     halve(1)
    ... except ZeroDivisionError as error:
    ...     user_frames(error)[-1]
    ('halve', 'return x / 0')
    """
    frames = traceback.extract_tb(error.__traceback__)
    return [(frame.name, frame.line or "") for frame in frames if _is_own(frame.filename)]
