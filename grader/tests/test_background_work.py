"""Test that threads and processes that work for an answer are noticed."""

from __future__ import annotations

import logging.handlers
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from jaxbits_grader.checking import background_work


@pytest.fixture(autouse=True)
def _no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the threads of the test runner, and processes that earlier tests have left."""
    usual, real = set(threading.enumerate()), threading.enumerate
    monkeypatch.setattr(threading, "enumerate", lambda: [t for t in real() if t not in usual])
    older, running = set(background_work._running_processes()), background_work._running_processes
    monkeypatch.setattr(
        background_work, "_running_processes", lambda: (n for n in running() if n not in older)
    )


@pytest.fixture
def listener() -> Iterator[None]:
    thread = logging.handlers.QueueListener(queue.SimpleQueue())
    thread.start()
    yield
    thread.stop()


def test_nothing_is_reported_if_nothing_else_works() -> None:
    background_work.start()
    assert background_work.stop() == ""


def test_a_thread_of_a_library_is_reported(listener: None) -> None:
    background_work.start()
    assert background_work.stop() == "another thread"


def test_a_pool_of_threads_is_reported() -> None:
    with ThreadPoolExecutor(1) as pool:
        background_work.start()
        assert pool.submit(len, "abc").result() == 3
        assert background_work.stop() == "another thread"


def test_a_process_that_has_ended_is_reported() -> None:
    background_work.start()
    subprocess.run([sys.executable, "-c", "sum(range(10**6))"], check=True)
    assert background_work.stop() == "another process"


def test_a_process_that_runs_is_reported() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        background_work.start()
        assert background_work.stop() == "another process"
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.close()
