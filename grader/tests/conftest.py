"""Put the test helpers on the path, and load the book's pytest plugins.

The helpers are the modules next to this file, such as `corpus` and `grading_harness`. The plugins
are loaded only if the grader is checked out with the book. One plugin fails a test that leaves
global state changed, one turns a skipped test into a failure on request, one starts a browser, and
one runs the slow files first.
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

# The folders come last on the path, so that no helper can shadow an installed package.
sys.path += [str(HERE), str(BOOK_TESTS)]


def pytest_configure(config: pytest.Config) -> None:
    if BOOK_TESTS.is_dir():
        for name in SHARED_PLUGINS:
            # This does nothing if the book's own conftest.py has already loaded the plugin.
            config.pluginmanager.import_plugin(name)
