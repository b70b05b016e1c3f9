"""What takes longest is begun first, so that no worker is left alone with it at the end.

A file's tests stay together, on one worker. The files named here come first, then chapters, then
the rest.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
# By the minutes they take on a quiet machine (`--durations`).
LONGEST = [
    "detect/test_sweep.py",
    "book/test_browser.py",
    "../grader/tests/test_assignments.py",
    "../grader/tests/test_grade_corpus.py",
    "../grader/tests/test_crash_recovery.py",
    "detect/test_scores.py",
    "strict/test_mutations.py",
    "strict/test_plugins.py",
    "../grader/tests/test_sandbox.py",
]
_FIRST = {(TESTS / name).resolve(): place for place, name in enumerate(LONGEST)}


def pytest_configure() -> None:
    if missing := [str(path) for path in _FIRST if not path.is_file()]:
        raise pytest.UsageError(f"tests/order.py names files that are not there: {missing}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by when their file is to be begun; within a file they stay as they are."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    return _FIRST.get(item.path, len(_FIRST) + (item.path.suffix != ".ipynb"))
