"""Run the grader's command line on courses and submissions, and read its results."""

from __future__ import annotations

import csv
import io
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENTS = ROOT / "assignments"
# Two small assignments, without and with JAX.
SAMPLE = Path(__file__).parent / "sample"
JAX_SAMPLE = Path(__file__).parent / "jax_sample"
# Enough for an honest notebook on a busy machine.
LIMITS = ("--cell-seconds", "120", "--notebook-seconds", "400")
# A shorter limit for submissions that never end.
SHORT = ("--cell-seconds", "20", "--notebook-seconds", "90", "--memory-gb", "2")

needs_sandbox = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed here"
)


@dataclass(frozen=True)
class Row:
    """One line of the results table."""

    status: str
    score: float | None
    max_score: float
    notes: str
    tasks: dict[str, str]


def command(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start ``python -m jaxbits_grader``."""
    return subprocess.Popen(
        [sys.executable, "-m", "jaxbits_grader", *map(str, arguments)],
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(*arguments: object, env: Mapping[str, str] | None = None, status: int = 0) -> str:
    """Run the command line, and return what it printed to both streams."""
    process = command(*arguments, env=env)
    out, errors = process.communicate(timeout=3600)
    assert process.returncode == status, out + errors
    return out + errors


def grade(
    course: Path,
    submissions: Path,
    name: str,
    *more: object,
    env: Mapping[str, str] | None = None,
) -> str:
    """Grade a folder of submissions, and return the output."""
    where = ("--submissions", submissions, "--course", course)
    return call("grade", name, *where, "--quiet", *LIMITS, *more, env=env)


def rows(text: str) -> dict[str, Row]:
    """Return the lines of a results table by student."""
    table = csv.DictReader(io.StringIO(text))
    first = ("student", "status", "score", "max_score", "notes")
    assert tuple(table.fieldnames or ())[:5] == first
    return {
        line["student"]: Row(
            line["status"],
            float(line["score"]) if line["score"] else None,
            float(line["max_score"]),
            line["notes"],
            {k: v for k, v in line.items() if k not in first},
        )
        for line in table
    }


def of_students(results: Mapping[str, Row], students: Sequence[str]) -> dict[str, Row]:
    """Return the lines by the students' original names, which the table may have escaped."""
    shown = {" ".join(s.split()): s for s in students}
    return {
        shown.get(name.removeprefix("'"), shown.get(name, name)): r for name, r in results.items()
    }


class Listener:
    """Listens on a port of this machine, over TCP and UDP, and records who connects."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._receive, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._tcp.accept()
            except OSError:
                return
            self.heard.append("a connection")
            connection.close()

    def _receive(self) -> None:
        while True:
            try:
                self._udp.recvfrom(4096)
            except OSError:
                return
            self.heard.append("a datagram")

    def close(self) -> None:
        """Stop listening."""
        self._tcp.close()
        self._udp.close()
