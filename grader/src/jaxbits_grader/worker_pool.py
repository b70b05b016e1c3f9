"""Grade a folder of submissions: one process each, several at a time, every result stored.

`concurrent.futures.ProcessPoolExecutor` cannot replace this module, because a worker that is killed
at its time limit breaks that pool, and because a process that has graded one submission must not
grade another. See https://docs.python.org/3/library/concurrent.futures.html#processpoolexecutor.
"""

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

from jaxbits_grader.grade_records import GradeRecord, read_record, write_record
from jaxbits_grader.grade_submission import Job, failed_record, run_job

# The fork server imports these once, and every grader is a copy of it.
_PRELOADED = [
    "jaxbits_grader.gradebook.nbgrader_adapter",
    "jaxbits_grader.grade_submission",
    "jaxbits_grader.reporting.feedback_files",
    "nbgrader.apps.api",
]
_POLL_SECONDS = 0.05


@contextlib.contextmanager
def claim(path: Path) -> Iterator[bool]:
    """Yield whether this process may grade a submission, out of all that grade the course.

    The claim ends with the block or with the process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def finished_record(job: Job) -> GradeRecord | None:
    """Return the record of a submission that has not changed since it was graded, else None."""
    record = read_record(job.record)
    if record is None or record.digest != job.digest() or record.status == "failed":
        return None
    return record


def grade_all(
    jobs: Sequence[Job],
    workers: int,
    *,
    again: bool = False,
    on_record: Callable[[GradeRecord], None] = lambda record: None,
) -> list[GradeRecord]:
    """Grade submissions, each in a process of its own.

    Submissions that have not changed since they were graded are not graded again. If several pools
    work on one course, each submission is graded by one of them, and the others wait for it.

    Args:
        jobs: The submissions.
        workers: How many to grade at a time.
        again: Whether to grade unchanged submissions, too.
        on_record: Called with each record as soon as it exists.

    Returns:
        One record per job, in the same order.

    Raises:
        ValueError: If `workers` is less than 1.
        KeyboardInterrupt: If the process receives SIGINT.
    """
    if workers < 1:
        raise ValueError(f"-j must be at least 1, got {workers}")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    records: dict[str, GradeRecord] = {}
    waiting = list(jobs)
    began = time.time()
    with contextlib.ExitStack() as stack:
        running: list[_Worker] = []
        stack.callback(_end_all, running)
        interrupted = stack.enter_context(_defer_interrupt())
        while waiting or running:
            if interrupted.is_set():
                raise KeyboardInterrupt
            busy = []
            while waiting and len(running) < workers:
                job = waiting.pop(0)
                found = finished_record(job)
                # Two pools told to grade again grade once: a record newer than both is final.
                if found and not (again and job.record.stat().st_mtime < began):
                    records[job.submission.id] = found
                    on_record(found)
                    continue
                worker = _Worker.start(context, job)
                if worker is not None:
                    running.append(worker)
                    continue
                busy.append(job)  # Another pool is grading it. Try again later.
                if len(busy) > len(waiting):
                    break
            waiting += busy
            for worker in [worker for worker in running if worker.is_done()]:
                running.remove(worker)
                record = worker.finish()
                records[worker.job.submission.id] = record
                on_record(record)
            time.sleep(_POLL_SECONDS)
    return [records[job.submission.id] for job in jobs]


@contextlib.contextmanager
def _defer_interrupt() -> Iterator[threading.Event]:
    """Yield an event that SIGINT sets.

    A KeyboardInterrupt raised at an arbitrary line could lose a process that has just started.
    """
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: interrupted.set())
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _end_all(running: Sequence[_Worker]) -> None:
    for worker in running:
        worker.end()


class _Worker:
    """A process that grades one submission."""

    def __init__(self, job: Job, process: BaseProcess, claim: contextlib.ExitStack) -> None:
        self.job, self.process, self._claim = job, process, claim
        self._deadline = time.monotonic() + job.limits.wall_seconds
        self._timed_out = False

    @classmethod
    def start(cls, context: multiprocessing.context.ForkServerContext, job: Job) -> _Worker | None:
        """Start a worker; return None if another pool has claimed the submission."""
        stack = contextlib.ExitStack()
        if not stack.enter_context(claim(job.record.with_suffix(".lock"))):
            stack.close()
            return None
        # A grader that was killed may have left an outdated record.
        job.record.unlink(missing_ok=True)
        process = context.Process(target=run_job, args=(job,))
        process.start()
        return cls(job, process, stack)

    def is_done(self) -> bool:
        """Return True if the process has ended. Kills it if it has exceeded its time limit."""
        if self.process.is_alive() and time.monotonic() > self._deadline:
            self._timed_out = True
            self._kill()
        return not self.process.is_alive()

    def finish(self) -> GradeRecord:
        """Return the record, or one that says why there is none, and release the claim."""
        record = read_record(self.job.record)
        if record is None:
            points = self.job.course.assignment(self.job.assignment).points
            reason = f"the grader ended with {self.process.exitcode}; see {self.job.log.name}"
            if self._timed_out:
                reason = f"the grader timed out after {self.job.limits.wall_seconds:g} s"
            record = failed_record(self.job, points, reason)
            write_record(self.job.record, record)
        self.end()
        return record

    def end(self) -> None:
        """Kill the process if it is still running, and release the claim."""
        if self.process.is_alive():
            self._kill()
        self._claim.close()

    def _kill(self) -> None:
        self.process.kill()
        self.process.join()
