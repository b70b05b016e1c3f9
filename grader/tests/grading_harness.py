"""Run the grader's command-line program on courses and submissions, and read its results."""

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
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.notebook_versions import student_notebook
from jaxbits_grader.intake.notebook_repair import repair_notebook
from jaxbits_grader.notebook import ParsedNotebook

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENTS = ROOT / "assignments"
# Two small assignments, of which only the second one uses JAX.
SAMPLE = Path(__file__).parent / "sample"
JAX_SAMPLE = Path(__file__).parent / "jax_sample"
# These limits are generous enough for an honest notebook on a busy machine.
LIMITS = ("--cell-seconds", "120", "--notebook-seconds", "400")
# These shorter limits are for submissions that never end.
SHORT_LIMITS = ("--cell-seconds", "20", "--notebook-seconds", "90", "--memory-gb", "2")

needs_sandbox = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed on this machine"
)


@dataclass(frozen=True)
class Row:
    """A row in the results table."""

    status: str
    score: float | None
    max_score: float
    notes: str
    tasks: dict[str, str]


def start_grader(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start ``python -m jaxbits_grader`` without waiting for it to end."""
    return subprocess.Popen(
        [sys.executable, "-m", "jaxbits_grader", *map(str, arguments)],
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_grader(*arguments: object, env: Mapping[str, str] | None = None, status: int = 0) -> str:
    """Run the grader, check its exit status, and return its stdout followed by its stderr."""
    process = start_grader(*arguments, env=env)
    out, errors = process.communicate(timeout=3600)
    assert process.returncode == status, out + errors
    return out + errors


def grade(
    course: Path,
    submissions: Path,
    name: str,
    *options: object,
    env: Mapping[str, str] | None = None,
) -> str:
    """Grade a folder of submissions, and return the grader's output."""
    folders = ("--submissions", submissions, "--course", course)
    return run_grader("grade", name, *folders, "--quiet", *LIMITS, *options, env=env)


def fill_in(
    assignment: Assignment, answers: Mapping[str, str]
) -> tuple[ParsedNotebook, ParsedNotebook]:
    """Return a released notebook with answers, keyed by grade_id, and the one without them."""
    released = ParsedNotebook.from_nbformat(student_notebook(assignment))
    cells = (replace(c, source=answers.get(str(c.grade_id), c.source)) for c in released.cells)
    return repair_notebook(ParsedNotebook(tuple(cells)), released), released


def parse_results(text: str) -> dict[str, Row]:
    """Parse a results table, and return its rows keyed by student."""
    reader = csv.DictReader(io.StringIO(text))
    fixed_columns = ("student", "status", "score", "max_score", "notes", "feedback")
    assert (*(reader.fieldnames or ())[:5], (reader.fieldnames or [""])[-1]) == fixed_columns
    return {
        row["student"]: Row(
            row["status"],
            float(row["score"]) if row["score"] else None,
            float(row["max_score"]),
            row["notes"],
            {column: value for column, value in row.items() if column not in fixed_columns},
        )
        for row in reader
    }


def restore_student_names(results: Mapping[str, Row], students: Sequence[str]) -> dict[str, Row]:
    """Key the rows by the students' original names, some of which the table has escaped."""
    original_names = {" ".join(student.split()): student for student in students}
    return {
        original_names.get(name.removeprefix("'"), original_names.get(name, name)): row
        for name, row in results.items()
    }


class Listener:
    """Listens on a local port over TCP and UDP, and records every attempt to reach it."""

    def __init__(self) -> None:
        self.contacts: list[str] = []
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
            self.contacts.append("a connection")
            connection.close()

    def _receive(self) -> None:
        while True:
            try:
                self._udp.recvfrom(4096)
            except OSError:
                return
            self.contacts.append("a datagram")

    def close(self) -> None:
        """Stop listening."""
        self._tcp.close()
        self._udp.close()
