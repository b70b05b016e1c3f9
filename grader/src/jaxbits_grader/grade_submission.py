"""Grade one submission in its own process.

The grader reads the notebook, repairs it, and scans its code. Then it runs the notebook twice,
first without the hidden tests to get the outputs for the feedback page, and then with them.
Finally, it records the points in the gradebook and writes the feedback page.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import logging
import multiprocessing.connection
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from jaxbits_grader.authoring.notebook_versions import student_notebook
from jaxbits_grader.checking.hidden_test_run import run_hidden_tests
from jaxbits_grader.checking.run_record import RunResult
from jaxbits_grader.checking.scan import scan_notebook
from jaxbits_grader.grade_records import GradeRecord, write_record
from jaxbits_grader.gradebook.course import Course
from jaxbits_grader.intake.notebook_reader import UnreadableNotebook, read_notebook
from jaxbits_grader.intake.notebook_repair import repair_notebook
from jaxbits_grader.intake.submissions import Submission, file_digest
from jaxbits_grader.notebook import ParsedNotebook
from jaxbits_grader.running.kernel_client import KernelNotStarted
from jaxbits_grader.running.limits import Limits
from jaxbits_grader.running.student_run import run_without_hidden_tests

# https://github.com/torvalds/linux/blob/v6.6/include/uapi/linux/prctl.h
_PR_SET_PDEATHSIG = 1
# Increase this number to mark every stored record as outdated.
_GRADER_VERSION = 17


@dataclass(frozen=True)
class Job:
    """One submission to grade, together with the settings for grading it.

    Attributes:
        course: The course that the assignment belongs to.
        assignment: The name of the assignment.
        submission: The submission to grade.
        limits: The limits that apply to each run of the notebook.
        unsafe: Whether to run the notebook outside the sandbox.
    """

    course: Course
    assignment: str
    submission: Submission
    limits: Limits
    unsafe: bool = False

    @property
    def record(self) -> Path:
        """The path of the grade record, which the grader writes after everything else."""
        return self.course.results(self.assignment) / f"{self.submission.id}.json"

    @property
    def log(self) -> Path:
        """The path of the log file, which receives everything that the grader prints."""
        return self.record.with_suffix(".log")

    def digest(self) -> str:
        """Return a hash of everything that the result of grading depends on."""
        source = self.course.source(self.assignment)
        parts = [asdict(self.limits), self.unsafe, _GRADER_VERSION, self.submission.problem]
        parts += [self.submission.note, self.submission.member]
        parts += [self.submission.student, self.submission.digest]
        return hashlib.sha256(source.read_bytes() + json.dumps(parts).encode()).hexdigest()


def run_job(job: Job) -> None:
    """Grade a submission and write its record.

    Call this function only as the target of a new process, because it redirects that process's
    output to the job's log and ends the process when its parent ends.
    """
    _die_with_parent()
    job.record.parent.mkdir(parents=True, exist_ok=True)
    log = os.open(job.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    # Put all temporary files in this folder, so that a killed grader leaves them all in one place.
    scratch = Path(tempfile.mkdtemp(prefix="jb"))
    os.environ["TMPDIR"] = str(scratch)
    tempfile.tempdir = str(scratch)
    try:
        write_record(job.record, grade_job(job, scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def grade_job(job: Job, scratch: Path) -> GradeRecord:
    """Grade a submission in the current process and write its feedback page.

    Args:
        job: The submission and the settings for grading it.
        scratch: An empty folder for temporary files.

    Returns:
        The record. Its status is "unreadable" or "failed" if the submission could not be graded.
    """
    # Import nbgrader only here, because importing it takes a second and the command-line program
    # imports this module.
    from jaxbits_grader.gradebook.nbgrader_adapter import (
        NbgraderFailed,
        record_points,
        remove_submission,
    )
    from jaxbits_grader.reporting.feedback_files import write_page

    began = time.monotonic()
    course, student = job.course, job.submission.id
    assignment = course.assignment(job.assignment)
    record = replace(failed_record(job, assignment.points, ""), digest=job.digest())
    released = ParsedNotebook.from_nbformat(student_notebook(assignment))
    try:
        notebook = repair_notebook(_read_submission(job.submission), released)
    except UnreadableNotebook as reason:
        remove_submission(course, assignment, student)
        record = replace(record, status="unreadable", notes=(str(reason),))
        write_page(course, assignment, student, record, None)
        return record
    findings = scan_notebook(notebook, released, assignment.forbidden)
    try:
        # The first run must end before the second begins, because a notebook could otherwise pass
        # information from one run to the other.
        executed = run_without_hidden_tests(
            notebook,
            job.limits,
            unsafe=job.unsafe,
            cache=course.compiled,
            own_names=assignment.function_names,
        )
        result = run_hidden_tests(
            notebook, assignment, job.limits, unsafe=job.unsafe, cache=course.compiled
        )
        result = replace(result, tampering=(*findings.tampering, *result.tampering))
        record_points(course, assignment, student, notebook, result, scratch)
    except (KernelNotStarted, NbgraderFailed) as reason:
        remove_submission(course, assignment, student)
        return replace(record, notes=(*notebook.notes, f"the grader failed: {reason}"))
    notes = (*notebook.notes, *findings.odd, *result.odd)
    record = replace(
        record,
        status=_status(result, notes),
        notes=(*_explain_status(result), *notes),
        cells=result.points,
    )
    write_page(course, assignment, student, record, executed)
    return replace(record, seconds=round(time.monotonic() - began, 2))


def failed_record(job: Job, max_score: float, reason: str) -> GradeRecord:
    """Return the record of a submission that the grader failed to grade.

    Args:
        job: The submission and the settings for grading it.
        max_score: The maximum number of points for the assignment.
        reason: Why the grader failed. This text is added to the notes unless it is empty.
    """
    return GradeRecord(
        job.submission.student,
        "failed",
        (reason,) if reason else (),
        (),
        max_score,
        unsafe=job.unsafe,
        submission=job.submission.digest,
        source=file_digest(job.course.source(job.assignment)),
    )


def _read_submission(submission: Submission) -> ParsedNotebook:
    if submission.path is None:
        raise UnreadableNotebook(submission.problem or "there is no notebook")
    notebook = read_notebook(submission.path, submission.member)
    own = (submission.note,) if submission.note else ()
    return replace(notebook, notes=(*own, *notebook.notes))


def _status(result: RunResult, notes: Sequence[str]) -> str:
    if result.tampering:
        return "tampered"
    if result.ended or result.slow:
        return "partial"
    return "flagged" if notes else "graded"


def _explain_status(result: RunResult) -> list[str]:
    """Return notes on tampering (and the tests affected), on an early end, and on slow cells."""
    tests_after: dict[str, list[str]] = {}
    for sign in result.tampering:
        what, _, test = sign.partition(", before ")
        tests_after.setdefault(what, []).extend([test] if test else [])
    notes = []
    for what, tests in tests_after.items():
        where = f", before {tests[0]}" if tests else ""
        notes.append(f"tampered: {what}{where}" + " and later" * (len(tests) > 1))
    if result.ended:
        done = [cell.id for cell in result.points if cell.points is not None]
        where = f"after {done[-1]}" if done else "before the end of the first test"
        notes.append(f"the notebook stopped {where}: {result.ended}")
    if result.slow:
        slow = ", ".join(dict.fromkeys(result.slow))
        notes.append(f"cells that took too long and were stopped: {slow}")
    return notes


def _die_with_parent() -> None:
    """Make this process end when the process that forked it or the one that requested it ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        # As far as Linux is concerned, the parent of this process is the fork server, which
        # outlives the pool. Therefore, a thread watches the pool's process.
        watch = threading.Thread(target=_kill_after, args=(parent.sentinel,), daemon=True)
        watch.start()
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_after(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)
