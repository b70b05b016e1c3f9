"""What `%debug` would show, for a page that cannot wait for a keyboard."""

from __future__ import annotations

import io
import linecache
import pdb
import sys
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any

from jaxbits.detect.finding import is_users


class _Scripted(pdb.Pdb):
    """A debugger after an error, with its commands given, in frames of the user's code only."""

    def __init__(self, commands: Sequence[str]) -> None:
        typed = io.StringIO("\n".join([*commands, "quit", ""]))
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


def session(
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

    >>> session(["p x"], lambda x: 1 / x, 0)
    ZeroDivisionError: division by zero
    > <lambda>()
    -> session(["p x"], lambda x: 1 / x, 0)
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
    debugger = _Scripted(commands)
    debugger.reset()
    debugger.interaction(None, error.__traceback__)
