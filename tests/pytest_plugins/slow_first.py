"""Keep the tests in most files on one worker, and start with the files that take longest.

The tests in a file share fixtures, and the cells of a notebook share a kernel. If a long file
started last, one worker would be busy while the others have nothing to do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parents[2]
# The files that take more than half a minute according to `pytest --durations=0`, slowest first.
SLOW_FILES = [
    "tests/detect/test_sweep.py",
    "tests/pages/test_browser.py",
    "tests/library/test_exercises.py",
    "tests/detect/test_scores.py",
    "tests/nbval_exact/test_compare.py",
    "tests/nbval_exact/test_plugin.py",
    "grader/tests/test_assignments.py",
    "grader/tests/test_grade_corpus.py",
    "grader/tests/test_crash_recovery.py",
    "grader/tests/test_sandbox.py",
]
# The files whose tests share nothing, take minutes, and may therefore run on different workers.
SPLIT_FILES = {ROOT / "grader/tests/test_assignments.py"}
_RANKS = {ROOT / name: rank for rank, name in enumerate(SLOW_FILES)}


def pytest_configure(config: pytest.Config) -> None:
    """Make pytest-xdist assign whole files to its workers.

    Raises:
        UsageError: If a listed file does not exist, for example because it was renamed.
    """
    if missing := [name for name in SLOW_FILES if not (ROOT / name).is_file()]:
        raise pytest.UsageError(f"SLOW_FILES must name existing files, got {', '.join(missing)}")
    if getattr(config.option, "dist", "no") == "load":  # The default with `-n`.
        config.option.dist = "loadfile"
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Return a scheduler that also distributes the tests in SPLIT_FILES.

    The hook is from pytest-xdist: https://pytest-xdist.readthedocs.io/en/stable/distribution.html.
    """
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope = super()._split_scope(nodeid)
            return nodeid if config.rootpath / scope in SPLIT_FILES else scope

    return Scheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put slow files first, then chapters, and then all others, each in the collected order."""
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    return _RANKS.get(item.path, len(_RANKS) + (item.path.suffix != ".ipynb"))
