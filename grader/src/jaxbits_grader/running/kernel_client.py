"""Run a notebook's cells in a kernel, and believe nothing it says but what a cell put out."""

from __future__ import annotations

import ast
import contextlib
import os
import queue
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import nbformat
import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from nbformat import NotebookNode

from jaxbits_grader.running.limits import MEGABYTE, Limits
from jaxbits_grader.running.resource_monitor import Watch

START_SECONDS = 60
GRACE_SECONDS = 3  # to stop after an interrupt, and to be heard of after the reply
MESSAGE = 8 * MEGABYTE


class RunEnded(Exception):
    """The kernel is gone; the message says why."""


class NotStarted(Exception):
    """No kernel could be started, of which no submission is to blame; the message says why."""


@dataclass
class Cell:
    """What came of running one cell: its outputs, and its error's name and text if it had one."""

    outputs: list[NotebookNode] = field(default_factory=list)
    error: tuple[str, str] | None = None
    interrupted: bool = False
    reply: dict[str, Any] | None = None


class Kernel:
    """A running kernel and the way to talk to it. Make one with `launch.started`."""

    def __init__(
        self, process: subprocess.Popen[bytes], connection: dict[str, Any], limits: Limits
    ) -> None:
        self.process, self.limits = process, limits
        self._connection = connection
        self._context = zmq.Context()
        # Of a message that is larger, or that is the hundredth to wait, nothing is taken.
        self._context.maxmsgsize = MESSAGE
        self._context.rcvhwm = 100
        self.client: Any = None
        self.ends = time.monotonic() + limits.notebook_seconds
        self.printed = 0
        self.watch: Watch | None = None
        self.reason: str | None = None

    def run(self, source: str, *, kept: bool = True) -> Cell:
        """Run a cell's text.

        Args:
            source: the text.
            kept: whether the notebook may read it afterwards, as it can with a cell of its own.

        Returns:
            What came of it; an error, an interrupt or too much output end the cell, not the run.

        Raises:
            RunEnded: when the kernel died or had to be ended.
        """
        seconds = min(self.limits.cell_seconds, self.ends - time.monotonic())
        if seconds <= 0:
            self._give_up(f"the notebook used up its {self.limits.notebook_seconds:g} seconds")
        cell = Cell()
        sent = self.client.execute(
            source, store_history=kept, allow_stdin=False, stop_on_error=False
        )
        if not self._listen(sent, cell, seconds):
            cell.interrupted = True
            self.client.control_channel.send(
                self.client.session.msg("interrupt_request", content={})
            )
            if not self._listen(sent, cell, GRACE_SECONDS):
                self._give_up("a cell ran too long and could not be interrupted")
        return cell

    def ask(self, expression: str) -> str | None:
        """The text that an expression gives, None when it gives none.

        Raises:
            RunEnded: when the kernel died or had to be ended.
        """
        cell = Cell()
        sent = self.client.execute("", silent=True, user_expressions={"asked": expression})
        if not self._listen(sent, cell, self.limits.cell_seconds) or cell.reply is None:
            return None
        answer = cell.reply.get("user_expressions", {}).get("asked", {})
        try:
            value = ast.literal_eval(answer["data"]["text/plain"])
        except (KeyError, TypeError, ValueError, SyntaxError):
            return None
        return value if isinstance(value, str) else None

    def _listen(self, sent: str, cell: Cell, seconds: float) -> bool:
        """Take a cell's messages until it is through; False when it is not in time."""
        ends = time.monotonic() + seconds
        replied: float | None = None
        idle = False
        while not (idle and cell.reply):
            message = self._next(self.client.get_iopub_msg, 0.0 if idle else 0.05)
            if message and message["parent_header"].get("msg_id") == sent:
                idle = idle or self._take(message, cell)
            if message is None:
                if self.process.poll() is not None:
                    raise RunEnded(self._why())
                self._reply(sent, cell)
                replied = replied or (time.monotonic() if cell.reply else None)
                # The kernel's last word can be lost with a message that was too large to take.
                if replied and time.monotonic() > replied + GRACE_SECONDS:
                    cell.outputs.append(_note("a part of this output was too large to keep"))
                    self._connect()
                    return True
            if time.monotonic() > ends:
                return False
        return True

    @staticmethod
    def _next(get: Callable[..., Any], seconds: float) -> Any:
        try:
            message = get(timeout=seconds)
            # Who writes to the sockets by hand may write anything; what is no message is none.
            is_one = isinstance(message["content"], dict) and message["parent_header"].get("msg_id")
            return message if is_one or message["msg_type"] == "status" else None
        except queue.Empty:
            return None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def _reply(self, sent: str, cell: Cell) -> None:
        message = self._next(self.client.get_shell_msg, 0.01)
        if message is None or message["parent_header"].get("msg_id") != sent:
            return
        cell.reply = message["content"]
        if cell.reply.get("status") != "ok" and cell.error is None:
            cell.error = str(cell.reply.get("ename")), str(cell.reply.get("evalue"))

    def _take(self, message: dict[str, Any], cell: Cell) -> bool:
        kind, content = message["msg_type"], message["content"]
        if kind == "status":
            return bool(content.get("execution_state") == "idle")
        if kind not in ("stream", "display_data", "execute_result", "error"):
            return False  # no message may change or remove what another one brought
        self.printed += sum(len(str(value)) for value in content.values())
        if self.printed > self.limits.output_mb * MEGABYTE:
            self._give_up(f"it put out over {self.limits.output_mb:g} MB")
        if kind == "error":
            cell.error = cell.error or (str(content.get("ename")), str(content.get("evalue")))
        try:
            output = nbformat.v4.output_from_msg(message)
            nbformat.validate(output, ref="output", version=4, version_minor=5)
        except (ValueError, TypeError, KeyError, AttributeError, nbformat.ValidationError):
            return False  # written to the socket by hand
        last = cell.outputs[-1] if cell.outputs else None
        if kind == "stream" and last is not None and last.get("name") == output.name:
            last.text += output.text
        else:
            cell.outputs.append(output)
        return False

    def _give_up(self, reason: str) -> None:
        self.reason = reason
        self.end()
        raise RunEnded(self._why())

    def _why(self) -> str:
        found = self.reason or (self.watch.reason if self.watch else None)
        return found or "it ended the Python process (a crash, os._exit, or out of memory)"

    def start(self) -> None:
        """Wait until the kernel is there, and begin to count its time.

        Raises:
            NotStarted: when it does not start, or ends before it was given anything to run.
        """
        try:
            self._connect()
        except RunEnded as reason:
            raise NotStarted(str(reason)) from None
        self.ends = time.monotonic() + self.limits.notebook_seconds

    def _connect(self) -> None:
        if self.client is not None:
            self.client.stop_channels()
        self.client = BlockingKernelClient(context=self._context)
        self.client.load_connection_info(self._connection)
        self.client.start_channels(hb=False)
        ends = time.monotonic() + START_SECONDS
        while True:
            try:
                self.client.wait_for_ready(timeout=1)
                return
            except RuntimeError:
                if self.process.poll() is not None or time.monotonic() > ends:
                    found = self.reason or (self.watch.reason if self.watch else None)
                    raise RunEnded(f"its kernel did not start ({found or 'no reason'})") from None

    def disconnect(self) -> None:
        """Let go of the kernel's sockets."""
        if self.client is not None:
            self.client.stop_channels()
        self._context.destroy(linger=0)

    def end(self) -> None:
        """End the kernel and every process it started."""
        with contextlib.suppress(ProcessLookupError):
            # In the sandbox the first process's end is every other's; without it, the group's.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _note(text: str) -> NotebookNode:
    return nbformat.v4.new_output("stream", name="stdout", text=f"[{text}]\n")
