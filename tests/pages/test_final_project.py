"""Test that the example project on the page *The final project* does what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "reference" / "final-project.md").read_text(encoding="utf-8")
AUDIT = "jaxbits audit port:step --args 'port:state()' 'port:batch()' --carry 0"
TESTS = "python -m pytest -q"
BWRAP = shutil.which("bwrap")
HAS_SANDBOX = BWRAP and not subprocess.run([BWRAP, "--ro-bind", "/", "/", "true"]).returncode

pytestmark = pytest.mark.slow


def blocks(language: str) -> list[str]:
    """Return the code blocks of the page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.M | re.S)


def write_project(folder: Path, *, is_fixed: bool) -> None:
    """Write the example project from the page's code blocks, with the final or the first port."""
    test, original, first, final = blocks("python")
    folder.mkdir(parents=True)
    (folder / "original.py").write_text(original)
    (folder / "test_port.py").write_text(test)
    (folder / "port.py").write_text(final if is_fixed else first)


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in a folder, with this environment's programs first."""
    environment = dict(os.environ)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment |= {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"} | variables
    command = ["bash", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True)


def test_page_contains_the_commands_that_these_tests_run() -> None:
    commands = "\n".join(blocks("sh"))
    assert AUDIT in commands
    assert TESTS in commands


def test_points_add_up() -> None:
    points = [int(n) for n in re.findall(r"^\| \*\*[^|]+\*\* \| (\d+) \|", PAGE, flags=re.M)]
    assert sum(points[:-1]) == points[-1] == 100


def test_final_port_passes_its_tests_and_the_audit(tmp_path: Path) -> None:
    write_project(tmp_path / "project", is_fixed=True)
    tested = run(TESTS, tmp_path / "project")
    assert "5 passed" in tested.stdout, tested.stdout
    audited = run(AUDIT, tmp_path / "project")
    assert audited.returncode == 0, audited.stdout + audited.stderr


def test_first_port_fails_as_the_report_says(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    write_project(folder, is_fixed=False)
    tested = run(TESTS, folder)
    failed = set(re.findall(r"^FAILED test_port.py::(\w+)", tested.stdout, flags=re.M))
    assert failed == {"test_losses_agree", "test_step_is_clean"}, tested.stdout
    assert "global `rate` is baked into the compiled program" in tested.stdout
    differ, constants = (
        run(block, folder).stdout for block in blocks("sh") if block.startswith("python -c")
    )
    assert differ.startswith("[16 17 ")
    assert constants.strip() == "4"


def test_command_that_breaks_the_port_makes_tests_fail(tmp_path: Path) -> None:
    write_project(tmp_path / "project", is_fixed=True)
    (script,) = (block for block in blocks("sh") if "sed " in block)
    script = script.replace("/tmp/broken", str(tmp_path / "broken"))
    tested = run(script, tmp_path / "project")
    assert tested.stdout.count("FAILED test_port.py::test_losses_agree") == 3, tested.stdout
    assert "3 failed, 2 passed" in tested.stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return jnp.mean(", "return jnp.sum("),
        ("in original.batches(epoch)", "in list(original.batches(epoch))[:-1]"),
        ("    return {", "    print(loss)\n    return {"),
    ],
    ids=["sum", "batch", "print"],
)
def test_tests_notice_the_changes_that_the_page_lists(tmp_path: Path, old: str, new: str) -> None:
    folder = tmp_path / "project"
    write_project(folder, is_fixed=True)
    port = (folder / "port.py").read_text()
    assert port.count(old) >= 1
    (folder / "port.py").write_text(port.replace(old, new, 1))
    assert "FAILED test_port.py::" in run(TESTS, folder).stdout


@pytest.mark.skipif(not HAS_SANDBOX, reason="bubblewrap does not work here")
def test_commands_for_teachers_run_in_the_sandbox(tmp_path: Path) -> None:
    write_project(tmp_path / "projects" / "ann", is_fixed=True)
    (sandbox,) = (block for block in blocks("sh") if "sandbox() {" in block)
    (compare,) = (block for block in blocks("sh") if block.startswith("sandbox "))
    sandbox = sandbox.replace("book=~/jax-sharp-bits", f"book={ROOT}")
    done = run(f"set -e\n{sandbox}\n{compare}", tmp_path, HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    assert done.stdout.count("30 steps, largest relative difference: ") == 3
