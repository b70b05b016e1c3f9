"""Grade one student's submission, in a process of its own."""

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
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from jaxbits_grader.authoring import release_notebook as release
from jaxbits_grader.checking.hidden_test_run import Graded
from jaxbits_grader.gradebook.course import Course
from jaxbits_grader.intake import notebook_reader as loading
from jaxbits_grader.intake import notebook_repair as repair
from jaxbits_grader.intake.submissions import Submission, digest
from jaxbits_grader.reporting import grade_records as results
from jaxbits_grader.reporting.grade_records import Record
from jaxbits_grader.running.kernel_client import NotStarted
from jaxbits_grader.running.limits import Limits
from jaxbits_grader.running.student_run import rehearse

_PR_SET_PDEATHSIG = 1
GRADER = 1  # another number grades every submission anew


@dataclass(frozen=True)
class Job:
    """One submission to grade."""

    course: Course
    assignment: str
    submission: Submission
    limits: Limits
    unsafe: bool = False

    @property
    def record(self) -> Path:
        """Where its result is written, last of all."""
        return self.course.results(self.assignment) / f"{self.submission.id}.json"

    @property
    def log(self) -> Path:
        """Where what the grader says goes."""
        return self.record.with_suffix(".log")

    def digest(self) -> str:
        """Of everything the result depends on."""
        found = hashlib.sha256()
        source = self.course.source(self.assignment)
        parts = [asdict(self.limits), self.unsafe, GRADER, self.submission.problem]
        parts += [self.submission.note, self.submission.student, self.submission.digest]
        found.update(source.read_bytes() + json.dumps(parts).encode())
        return found.hexdigest()


def run(job: Job) -> None:
    """Grade a submission in this process, and write its record.

    To be the target of a new process: it says what it says into the job's log, and dies with the
    process that started it.
    """
    _die_with_parent()
    job.record.parent.mkdir(parents=True, exist_ok=True)
    log = os.open(job.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    # Inside the grader's own folder: what a killed one leaves is found there.
    scratch = Path(tempfile.mkdtemp(prefix="jb"))
    os.environ["TMPDIR"] = str(scratch)
    tempfile.tempdir = str(scratch)
    try:
        results.write(job.record, graded(job, scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def graded(job: Job, scratch: Path) -> Record:
    """Grade a submission.

    Args:
        job: the submission and how to grade it.
        scratch: a folder of the grader's own.
    """
    from jaxbits_grader.checking import scan
    from jaxbits_grader.gradebook import nbgrader_adapter as autograde
    from jaxbits_grader.reporting import feedback_pages as pages

    began = time.monotonic()
    assignment = job.course.assignment(job.assignment)
    notes = [job.submission.note] if job.submission.note else []
    record = Record(
        job.submission.student,
        "failed",
        (),
        (),
        assignment.points,
        job.digest(),
        job.unsafe,
        submission=job.submission.digest,
        source=digest(job.course.source(job.assignment)),
    )
    released = release.student(assignment)
    try:
        if job.submission.path is None:
            raise loading.Unreadable(job.submission.problem or "there is no notebook")
        cells, odd = loading.load(job.submission.path)
        notebook, mended = repair.repaired(cells, released)
    except loading.Unreadable as reason:
        autograde.forget(job.course, job.submission.id, assignment)
        record = replace(record, status="unreadable", notes=(str(reason),))
        pages.write(job.course, assignment, job.submission.id, record, None)
        return record
    notes += odd + mended
    looked = scan.scan(notebook, released)
    try:
        # Through before the tests begin: of two runs side by side one could tell the other.
        ran = rehearse(notebook, job.limits, unsafe=job.unsafe)
    except NotStarted as reason:
        return replace(record, notes=(f"the grader failed: {reason}",))
    try:
        found = autograde.autograde(
            notebook,
            job.submission.id,
            job.course,
            assignment,
            job.limits,
            scratch,
            unsafe=job.unsafe,
            suspected=looked.tampered,
        )
    except autograde.GraderFailed as reason:
        return replace(record, notes=(*notes, f"the grader failed: {reason}"))
    record = replace(
        record,
        status=_status(found, [*notes, *looked.odd, *found.odd]),
        notes=(*_why(found), *notes, *looked.odd, *found.odd),
        marks=tuple(found.marks),
    )
    pages.write(job.course, assignment, job.submission.id, record, ran)
    return replace(record, seconds=round(time.monotonic() - began, 2))


def _status(found: Graded, notes: list[str]) -> str:
    if found.tampered:
        return "tampered"
    if found.ended or found.slow:
        return "partial"
    return "flagged" if notes else "graded"


def _why(found: Graded) -> list[str]:
    where: dict[str, list[str]] = {}
    for said in found.tampered:
        what, _, test = said.partition(", before ")
        where.setdefault(what, []).extend([test] if test else [])
    why = [
        f"tampered: {what}"
        + (f", before {tests[0]}" if tests else "")
        + " and later" * (len(tests) > 1)
        for what, tests in where.items()
    ]
    if found.ended:
        done = [mark.id for mark in found.marks if mark.points is not None]
        why.append(f"broke off after {done[-1] if done else 'no test'}: {found.ended}")
    if found.slow:
        why.append(f"stopped, as they took too long: {', '.join(dict.fromkeys(found.slow))}")
    return why


def _kill_after(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


def failed(job: Job, points: float, reason: str) -> Record:
    """The record of a submission whose grader did not get through."""
    return Record(
        job.submission.student,
        "failed",
        (reason,),
        (),
        points,
        unsafe=job.unsafe,
        submission=job.submission.digest,
        source=digest(job.course.source(job.assignment)),
    )


def _die_with_parent() -> None:
    """End this process with the one that started it, and with the one that asked for it."""
    asked = multiprocessing.parent_process()
    if asked is not None:
        # The server that forks for it goes on as long as any of us does.
        watch = threading.Thread(target=_kill_after, args=(asked.sentinel,), daemon=True)
        watch.start()
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
