"""What a debugger would show, for a page that cannot wait for a keyboard."""

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

from jaxbits._analysis.code_location import is_users


class _Scripted(pdb.Pdb):
    """A debugger with its commands given, in frames of the user's code only."""

    def __init__(self, typed: Any) -> None:
        super().__init__(stdin=typed, stdout=sys.stdout, nosigint=True, readrc=False)
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
        if not line.startswith("_pdbcmd"):  # from Python 3.13 it gives itself commands
            self.message(line)
        return line


def _is_own(file: str) -> bool:
    return is_users(file) and file != __file__


def post_mortem(
    commands: Sequence[str], function: Callable[..., Any] | None = None, *args: Any
) -> None:
    """Print what a debugger answers to some commands, after the last error.

    It is the session that ``%debug`` opens after an error, without waiting for a keyboard: it
    begins in the innermost frame of your own code, and ends by itself.

    Args:
        commands: what one would type, such as ``["p x", "up"]``.
        function: what is to raise; whatever it raises stays in the session. Without it, the error
            is the one that ended the last failing cell.
        *args: the function's arguments.

    >>> post_mortem(["p x"], lambda x: 1 / x, 0)
    ZeroDivisionError: division by zero
    > <lambda>()
    -> post_mortem(["p x"], lambda x: 1 / x, 0)
    ipdb> p x
    0
    ipdb> quit
    """
    if function is None:
        _examine(getattr(sys, "last_value", None), commands)
        return
    try:
        function(*args)
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        print(f"{type(error).__name__}: {first}")
        _examine(error, commands)


def _examine(error: BaseException | None, commands: Sequence[str]) -> None:
    if error is None:
        print("no error to look at")
        return
    debugger = _Scripted(io.StringIO("\n".join([*commands, "quit", ""])))
    debugger.reset()
    debugger.interaction(None, error.__traceback__)


class _Typist:
    """Commands, handed out one by one; when there are no more, the program is to go on."""

    def __init__(self, commands: Sequence[str]) -> None:
        self.waiting = list(commands)

    def readline(self) -> str:
        return (self.waiting.pop(0) if self.waiting else "continue") + "\n"

    def ask(self, prompt: object = "", /) -> str:
        line = self.readline().rstrip("\n")
        print(f"{prompt}{line}")
        return line


@contextmanager
def breakpoint_commands(*commands: str) -> Iterator[None]:
    """Type commands at the breakpoints that a block comes to, Python's and JAX's.

    At a breakpoint for which no command is left, the program goes on. JAX's must be one for a
    terminal, `jax.debug.breakpoint(backend="cli")`. The block waits for what it has begun, after
    an error too, and the keyboard is given back whatever happens.

    Args:
        *commands: what one would type, over all breakpoints, such as ``"p x", "continue"``.

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
    typist = _Typist(commands)

    def stop(*_: Any, **__: Any) -> None:
        debugger = _Scripted(typist)
        debugger.reset()
        debugger.interaction(sys._getframe(1), None)

    asked, hook = builtins.input, sys.breakpointhook
    builtins.input, sys.breakpointhook = typist.ask, stop
    try:
        yield
        jax.effects_barrier()
    except Exception:
        with suppress(Exception):  # a program still under way is not to wait for the keyboard
            jax.effects_barrier()
        raise
    finally:
        builtins.input, sys.breakpointhook = asked, hook


def user_frames(error: BaseException) -> list[tuple[str, str]]:
    """Return the frames of an error's traceback that are your own code, the innermost last.

    Each is the name of the function, and its line as it is written.

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
