"""Test the plugins by running pytest on tests that are skipped or leave global state changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


def run_pytest(folder: Path, plugin: str, *arguments: str, **variables: str) -> str:
    """Run pytest in a folder with one plugin loaded, and return its output."""
    environment = {k: v for k, v in os.environ.items() if k != "JAXBITS_NO_SKIP"}
    plugins = ["-p", f"pytest_plugins.{plugin}", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--color=no", "-rA", *plugins, *arguments, "."],
        cwd=folder,
        env=environment | variables | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


SKIPPING_TESTS = """
import pytest

@pytest.mark.skip(reason="not today")
def test_has_skip_mark(): ...

def test_calls_skip(): pytest.skip("no browser")

@pytest.mark.xfail(reason="known")
def test_fails_as_expected(): assert False

def test_passes(): ...
"""
STATE_CHANGING_TESTS = """
import jax, os
import numpy as np

def test_replaces_function(): np.allclose = print

def test_restores_function(monkeypatch): monkeypatch.setattr(np, "allclose", print)

def test_sees_original_function(): assert np.allclose(1, 1)

def test_changes_setting(): jax.config.update("jax_debug_nans", True)

def test_changes_variables():
    os.environ["ADDED"] = "1"
    del os.environ["HOME"]

def test_changes_folder(tmp_path): os.chdir(tmp_path)
"""


def test_fail_on_skip_does_nothing_without_variable(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(SKIPPING_TESTS)
    assert "1 passed, 2 skipped, 1 xfailed" in run_pytest(tmp_path, "fail_on_skip")


def test_fail_on_skip_fails_skipped_tests_and_modules(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(SKIPPING_TESTS)
    module = "import pytest\npytest.skip('all', allow_module_level=True)\n"
    (tmp_path / "test_b.py").write_text(module)
    arguments = ["fail_on_skip", "--continue-on-collection-errors"]
    report = run_pytest(tmp_path, *arguments, JAXBITS_NO_SKIP="1")
    assert "2 failed, 1 passed, 2 errors" in report
    for reason in ("not today", "no browser", "known", "all"):
        expected = f"JAXBITS_NO_SKIP is set, but a test was skipped: {reason}"
        assert expected in report.replace("Skipped: ", "")


def test_global_state_guard_fails_test_that_leaves_change(tmp_path: Path) -> None:
    (tmp_path / "test_leftovers.py").write_text(STATE_CHANGING_TESTS)
    report = run_pytest(tmp_path, "global_state_guard")
    assert "ERROR test_leftovers.py::test_replaces_function" in report
    assert "without restoring them: [('numpy', 'allclose')]" in report
    assert "without restoring them: {'jax_debug_nans': (False, True)}" in report
    assert "without restoring them: {'$HOME': " in report
    assert "the test changed the working folder" in report
    assert "6 passed, 4 errors" in report


def test_slow_first_distributes_tests_of_split_files(tmp_path: Path) -> None:
    tests = "import pytest\n@pytest.mark.parametrize('n', range(8))\ndef test_it(n): ...\n"
    (tmp_path / "split_files.py").write_text(
        "import pathlib\nfrom pytest_plugins import slow_first\n"
        "slow_first.SPLIT_FILES = {pathlib.Path('test_split.py').resolve()}\n"
    )
    for name in ("test_split.py", "test_whole.py"):
        (tmp_path / name).write_text(tests)
    output = run_pytest(tmp_path, "slow_first", "-p", "split_files", "-n", "2", "-v")
    workers = {
        name: {line[:5] for line in output.splitlines() if "PASSED" in line and name in line}
        for name in ("test_split.py", "test_whole.py")
    }
    assert {name: len(found - {"PASSE"}) for name, found in workers.items()} == {
        "test_split.py": 2,
        "test_whole.py": 1,
    }
