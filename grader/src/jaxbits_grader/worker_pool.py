"""Grade a folder of submissions: a process for each, several at a time, each result kept."""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

from jaxbits_grader import grade_submission as grading
from jaxbits_grader.grade_submission import Job
from jaxbits_grader.reporting import grade_records as results
from jaxbits_grader.reporting.grade_records import Record

# What every grader imports, imported once; each grader is a copy of the process that has it.
_PRELOADED = [
    "jaxbits_grader.gradebook.nbgrader_adapter",
    "jaxbits_grader.grade_submission",
    "jaxbits_grader.reporting.feedback_pages",
    "jaxbits_grader.checking.scan",
    "nbgrader.apps.api",
]
POLL = 0.05


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Whether this process, of all that grade the course, is to do a submission.

    The claim ends with the block, or with the process that has it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def done(job: Job) -> Record | None:
    """The record of a submission that was graded as it is now; None where there is none."""
    record = results.read(job.record)
    if record is None or record.digest != job.digest() or record.status == "failed":
        return None
    return record


def grade(
    jobs: Sequence[Job],
    workers: int,
    *,
    again: bool = False,
    tell: Callable[[Record], None] = lambda record: None,
) -> list[Record]:
    """Grade submissions, each in a process of its own.

    What was graded before, and has not changed since, is not graded again. Where several graders
    work on one course, each submission is graded by one of them, and the others wait for it.

    Args:
        jobs: the submissions.
        workers: how many at a time.
        again: grade also what was graded before.
        tell: called with each record as soon as it is there.

    Returns:
        A record for each job, in their order.

    Raises:
        ValueError: when `workers` is less than one.
    """
    if workers < 1:
        raise ValueError(f"-j is {workers}; it should be 1 or more")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    records: dict[str, Record] = {}
    waiting = list(jobs)
    began = time.time()
    with contextlib.ExitStack() as stack:
        running: list[_Running] = []
        stack.callback(_end_all, running)
        asked_to_stop = stack.enter_context(_stop_between_steps())
        while waiting or running:
            if asked_to_stop.is_set():
                raise KeyboardInterrupt
            busy = []
            while waiting and len(running) < workers:
                job = waiting.pop(0)
                found = done(job)
                # Two graders told to grade again grade once: what is younger than both is done.
                if found and not (again and _older(job, began)):
                    records[job.submission.id] = found
                    tell(found)
                    continue
                one = _Running.start(context, job)
                if one is None:
                    busy.append(job)  # another grader has it: ask again when it is through
                    if len(busy) == len(waiting) + 1:
                        break
                    continue
                running.append(one)
            waiting += busy
            for one in [one for one in running if one.over()]:
                running.remove(one)
                record = one.result()
                records[one.job.submission.id] = record
                tell(record)
            time.sleep(POLL)
    return [records[job.submission.id] for job in jobs]


@contextlib.contextmanager
def _stop_between_steps() -> Iterator[threading.Event]:
    """An event that an interrupt sets: raised anywhere it could be lost, or leave a process."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.set())
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _end_all(running: Sequence[_Running]) -> None:
    for one in running:
        one.end()


def _older(job: Job, than: float) -> bool:
    return job.record.stat().st_mtime < than


class _Running:
    """A grader at work."""

    def __init__(self, job: Job, process: BaseProcess, claim: contextlib.ExitStack) -> None:
        self.job, self.process, self._claim = job, process, claim
        self._ends = time.monotonic() + job.limits.wall_seconds
        self._late = False

    @classmethod
    def start(cls, context: multiprocessing.context.ForkServerContext, job: Job) -> _Running | None:
        """Start a grader; None where another process has the submission."""
        claim = contextlib.ExitStack()
        if not claim.enter_context(claimed(job.record.with_suffix(".lock"))):
            claim.close()
            return None
        # What a grader that was killed has left counts for nothing.
        job.record.unlink(missing_ok=True)
        process = context.Process(target=grading.run, args=(job,))
        process.start()
        return cls(job, process, claim)

    def over(self) -> bool:
        """Whether it is through; ends it when it takes too long."""
        if self.process.is_alive() and time.monotonic() > self._ends:
            self._late = True
            self.process.kill()
            self.process.join()
        return not self.process.is_alive()

    def result(self) -> Record:
        """Its record, or one that says why there is none."""
        record = results.read(self.job.record)
        if record is None:
            points = self.job.course.assignment(self.job.assignment).points
            reason = f"the grader ended with {self.process.exitcode}; see {self.job.log.name}"
            if self._late:
                reason = f"the grader was not through in {self.job.limits.wall_seconds:g} s"
            record = grading.failed(self.job, points, reason)
            results.write(self.job.record, record)
        self.end()
        return record

    def end(self) -> None:
        """End the grader if it is still at work, and give up the claim."""
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._claim.close()
