"""Settings for all tests of the grader.

The helper modules beside this file (`corpus`, `grading_harness`) are put on the path. If the
grader is checked out with the book, the book's pytest plugins are loaded, too: one fails a test
that leaves global state changed, one turns a skipped test into a failure on request, and one
starts a browser.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BOOK_TESTS = HERE.parents[1] / "tests"
SHARED_PLUGINS = tuple(
    f"pytest_plugins.{name}"
    for name in ("browser", "fail_on_skip", "global_state_guard", "slow_first")
)

# Appended, so that no helper can shadow an installed package.
sys.path += [str(HERE), str(BOOK_TESTS)]


def pytest_configure(config: pytest.Config) -> None:
    if BOOK_TESTS.is_dir():
        for name in SHARED_PLUGINS:
            # Does nothing if the book's own conftest.py has loaded the plugin.
            config.pluginmanager.import_plugin(name)
