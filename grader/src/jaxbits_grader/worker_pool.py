"""Grade many submissions in parallel, each in its own process, and store every result.

`concurrent.futures.ProcessPoolExecutor` cannot replace this module for two reasons. First, such a
pool breaks if a worker is killed at its time limit. Second, a process that has graded one
submission must not grade another. See
https://docs.python.org/3/library/concurrent.futures.html#processpoolexecutor.
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

# The fork server imports these modules once, so that the processes that it forks start quickly.
_PRELOADED = [
    "jaxbits_grader.gradebook.nbgrader_adapter",
    "jaxbits_grader.grade_submission",
    "jaxbits_grader.reporting.feedback_files",
    "nbgrader.apps.api",
]
_POLL_SECONDS = 0.05


@contextlib.contextmanager
def claim(path: Path) -> Iterator[bool]:
    """Claim a submission for this process, and yield whether the claim succeeded.

    Only one process at a time can claim a submission. The claim ends when the block or the process
    ends.
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
    """Return a submission's record, or None if the submission has to be graded.

    A submission has to be graded if it has no record, if anything on which the result depends has
    changed since it was graded, or if the grader failed.
    """
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
    """Grade submissions, each in its own process.

    Submissions that have not changed since they were last graded are not graded again unless
    `again` is true. If several pools work on the same course, one of them grades each submission,
    and the others wait for its result.

    Args:
        jobs: The submissions, with the settings for grading them.
        workers: How many submissions to grade at a time.
        again: Whether to also grade submissions that have not changed.
        on_record: A function to call with each record as soon as the record exists.

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
                # If two pools run with `again`, only one of them should grade each submission.
                # Therefore, accept a record that was written after this pool started.
                if found and not (again and job.record.stat().st_mtime < began):
                    records[job.submission.id] = found
                    on_record(found)
                    continue
                worker = _Worker.start(context, job)
                if worker is not None:
                    running.append(worker)
                    continue
                busy.append(job)  # Another pool is grading this submission, so try again later.
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
    """Make SIGINT set an event instead of raising KeyboardInterrupt, and yield the event.

    If KeyboardInterrupt were raised at an arbitrary line, the pool could lose track of a process
    that has just started.
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
        """Return a new running worker, or None if another pool has claimed the submission."""
        stack = contextlib.ExitStack()
        if not stack.enter_context(claim(job.record.with_suffix(".lock"))):
            stack.close()
            return None
        # Remove the old record. Otherwise, if the grader is killed before it writes a new one,
        # `finish` would return an outdated result.
        job.record.unlink(missing_ok=True)
        process = context.Process(target=run_job, args=(job,))
        process.start()
        return cls(job, process, stack)

    def is_done(self) -> bool:
        """Kill the process if it exceeded its time limit, and return whether it has ended."""
        if self.process.is_alive() and time.monotonic() > self._deadline:
            self._timed_out = True
            self._kill()
        return not self.process.is_alive()

    def finish(self) -> GradeRecord:
        """Release the claim, and return the record, or a failed record if the grader wrote none."""
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
