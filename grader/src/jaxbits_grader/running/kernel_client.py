"""Run cells in a kernel without trusting anything the kernel reports except the cells' outputs."""

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
from jaxbits_grader.running.resource_monitor import ResourceMonitor

START_SECONDS = 60
# A cell may take this long to stop after an interrupt, and its outputs may take this long to arrive
# after a reply.
GRACE_SECONDS = 3
MAX_MESSAGE_BYTES = 8 * MEGABYTE
MAX_QUEUED_MESSAGES = 100


class RunEnded(Exception):
    """Raised if the kernel died or was killed. The message says why."""


class KernelNotStarted(Exception):
    """Raised if no kernel could be started, which is not the submission's fault.

    The message says why.
    """


@dataclass
class CellResult:
    """The result of running one cell.

    Attributes:
        outputs: The outputs, as nbformat stores them.
        error: The exception's name and message, or None if the cell raised none.
        interrupted: Whether the cell was interrupted because it took too long.
        reply: The content of the kernel's reply, or None if there was no reply.
    """

    outputs: list[NotebookNode] = field(default_factory=list)
    error: tuple[str, str] | None = None
    interrupted: bool = False
    reply: dict[str, Any] | None = None


class Kernel:
    """A running kernel. Use `launch_kernel` to start one.

    Args:
        process: The process of the kernel or of its sandbox.
        connection: The content of the kernel's connection file.
        limits: The limits on the run.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], connection: dict[str, Any], limits: Limits
    ) -> None:
        self.process, self.limits = process, limits
        self.client: Any = None
        self.monitor: ResourceMonitor | None = None
        self.reason: str | None = None
        self._connection = connection
        self._context = zmq.Context()
        # ZeroMQ drops messages that are too large or do not fit in the queue.
        self._context.maxmsgsize = MAX_MESSAGE_BYTES
        self._context.rcvhwm = MAX_QUEUED_MESSAGES
        self._deadline = time.monotonic() + limits.notebook_seconds
        self._output_characters = 0

    def run_cell(self, source: str, *, in_history: bool = True) -> CellResult:
        """Run the source of a cell.

        Args:
            source: The source of the cell.
            in_history: Whether the notebook can read the source from IPython's history.

        Returns:
            The result of the cell. An error or an interrupt ends only this cell, not the run.

        Raises:
            RunEnded: If the kernel died or had to be killed.
        """
        seconds = self._seconds_left()
        request = self.client.execute(
            source, store_history=in_history, allow_stdin=False, stop_on_error=False
        )
        return self._finish(request, seconds)

    def _seconds_left(self) -> float:
        """Return how long the next request may take."""
        seconds = min(self.limits.cell_seconds, self._deadline - time.monotonic())
        if seconds <= 0:
            self._end_with(f"the notebook used up its {self.limits.notebook_seconds:g} seconds")
        return seconds

    def _finish(self, request: str, seconds: float) -> CellResult:
        """Wait for the end of a request, and interrupt it if it takes too long."""
        result = CellResult()
        if not self._collect(request, result, seconds):
            result.interrupted = True
            interrupt = self.client.session.msg("interrupt_request", content={})
            self.client.control_channel.send(interrupt)
            if not self._collect(request, result, GRACE_SECONDS):
                self._end_with("a cell ran too long and could not be interrupted")
        return result

    def evaluate(self, expression: str) -> str | None:
        """Evaluate an expression in the kernel.

        Returns:
            The value, or None if it is not a string, or if the evaluation fails or takes too long.

        Raises:
            RunEnded: If the kernel died or had to be killed.
        """
        seconds = self._seconds_left()
        # IPython passes on the message of an error as it is, but it shows a value with formatters
        # that a notebook can register. The message of a KeyError is the `repr` of the key.
        expressions = {"value": f"{{}}[({expression})]"}
        request = self.client.execute("", silent=True, user_expressions=expressions)
        result = self._finish(request, seconds)
        if result.interrupted or result.reply is None:
            return None
        answer = result.reply.get("user_expressions", {}).get("value", {})
        try:
            value = ast.literal_eval(answer["evalue"]) if answer["ename"] == "KeyError" else None
        except (KeyError, TypeError, ValueError, SyntaxError):
            return None
        return value if isinstance(value, str) else None

    def _collect(self, request: str, result: CellResult, seconds: float) -> bool:
        """Collect a cell's messages, and return whether the cell finished in time."""
        deadline = time.monotonic() + seconds
        replied: float | None = None
        idle = False
        while not (idle and result.reply):
            message = self._next_message(self.client.get_iopub_msg, 0.0 if idle else 0.05)
            if message and message["parent_header"].get("msg_id") == request:
                idle = idle or self._handle(message, result)
            if message is None:
                if self.process.poll() is not None:
                    raise RunEnded(self._end_reason())
                self._read_reply(request, result)
                replied = replied or (time.monotonic() if result.reply else None)
                # Do not wait forever for the idle status, because it can get lost along with a
                # message that was too large.
                if replied and time.monotonic() > replied + GRACE_SECONDS:
                    result.outputs.append(_note("part of this output was too large to keep"))
                    self._connect()
                    return True
            if time.monotonic() > deadline:
                return False
        return True

    @staticmethod
    def _next_message(receive: Callable[..., Any], seconds: float) -> Any:
        try:
            message = receive(timeout=seconds)
            # Ignore malformed messages, because a submission can write anything to the sockets.
            is_reply = isinstance(message["content"], dict) and message["parent_header"].get(
                "msg_id"
            )
            return message if is_reply or message["msg_type"] == "status" else None
        except queue.Empty:
            return None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def _read_reply(self, request: str, result: CellResult) -> None:
        message = self._next_message(self.client.get_shell_msg, 0.01)
        if message is None or message["parent_header"].get("msg_id") != request:
            return
        result.reply = message["content"]
        if result.reply.get("status") != "ok" and result.error is None:
            result.error = str(result.reply.get("ename")), str(result.reply.get("evalue"))

    def _handle(self, message: dict[str, Any], result: CellResult) -> bool:
        """Add a message to the result, and return whether it says that the kernel is idle."""
        kind, content = message["msg_type"], message["content"]
        if kind == "status":
            return bool(content.get("execution_state") == "idle")
        if kind not in ("stream", "display_data", "execute_result", "error"):
            return False  # Ignore messages that change or remove the output of an earlier message.
        self._output_characters += sum(len(str(value)) for value in content.values())
        if self._output_characters > self.limits.output_mb * MEGABYTE:
            self._end_with(f"it produced over {self.limits.output_mb:g} MB of output")
        if kind == "error":
            result.error = result.error or (str(content.get("ename")), str(content.get("evalue")))
        try:
            output = nbformat.v4.output_from_msg(message)
            nbformat.validate(output, ref="output", version=4, version_minor=5)
        except (ValueError, TypeError, KeyError, AttributeError, nbformat.ValidationError):
            return False  # The submission itself must have written this message.
        last = result.outputs[-1] if result.outputs else None
        if kind == "stream" and last is not None and last.get("name") == output.name:
            last.text += output.text
        else:
            result.outputs.append(output)
        return False

    def _end_with(self, reason: str) -> None:
        self.reason = reason
        self.end()
        raise RunEnded(self._end_reason())

    def _end_reason(self) -> str:
        found = self.reason or (self.monitor.reason if self.monitor else None)
        return found or "it ended the Python process (a crash, os._exit, or out of memory)"

    def start(self) -> None:
        """Wait until the kernel is ready, and start the clock for the notebook's time limit.

        Raises:
            KernelNotStarted: If the kernel does not start, or ends before it is ready.
        """
        try:
            self._connect()
        except RunEnded as reason:
            raise KernelNotStarted(str(reason)) from None
        self._deadline = time.monotonic() + self.limits.notebook_seconds

    def _connect(self) -> None:
        if self.client is not None:
            self.client.stop_channels()
        self.client = BlockingKernelClient(context=self._context)
        self.client.load_connection_info(self._connection)
        self.client.start_channels(hb=False)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.client.wait_for_ready(timeout=1)
                return
            except RuntimeError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    found = self.reason or (self.monitor.reason if self.monitor else None)
                    why = found or "no reason given"
                    raise RunEnded(f"its kernel did not start ({why})") from None

    def disconnect(self) -> None:
        """Close the connection to the kernel."""
        if self.client is not None:
            self.client.stop_channels()
        self._context.destroy(linger=0)

    def end(self) -> None:
        """Kill the kernel and all processes that it started."""
        with contextlib.suppress(ProcessLookupError):
            # In the sandbox, all processes end when the first one does. Without a sandbox, killing
            # the process group ends them all.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _note(text: str) -> NotebookNode:
    return nbformat.v4.new_output("stream", name="stdout", text=f"[{text}]\n")
