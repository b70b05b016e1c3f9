"""Test that the sandbox isolates submissions, and that the grader refuses to run without it."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import grading_harness as harness
import pytest
from jaxbits_grader.authoring.assignment_source import read_assignment
from jaxbits_grader.authoring.notebook_versions import solution_notebook
from jaxbits_grader.files import notebook_text
from jaxbits_grader.grade_submission import Job, grade_job
from jaxbits_grader.gradebook.course import open_course
from jaxbits_grader.intake.submissions import find_submissions
from jaxbits_grader.running import sandbox
from jaxbits_grader.running.kernel_client import KernelNotStarted, RunEnded
from jaxbits_grader.running.kernel_launcher import launch_kernel
from jaxbits_grader.running.limits import Limits
from jaxbits_grader.running.sandbox_check import check_sandbox

import jaxbits

pytestmark = harness.needs_sandbox

NAME = harness.SAMPLE.name
INSTALL_HINT = "sudo apt install bubblewrap"


def test_kernel_reads_only_programs_of_single_operations(tmp_path: Path) -> None:
    names = {"jit_add", "jit_norm", "jit_scan", "jit_solution"}
    for name in names:
        (tmp_path / f"{name}-{64 * '0'}-cache").write_bytes(b"a program")
    source = """
import os, jax
folder = jax.config.jax_compilation_cache_dir
print(*os.listdir(folder))
try:
    open(os.path.join(folder, os.listdir(folder)[0]), "w")
except OSError as error:
    print(error.strerror)
print(int(jax.jit(lambda x: x + 1)(1)))
"""
    # A test defines a function `norm`.
    with launch_kernel(Limits(), cache=tmp_path, own_names={"norm", "length"}) as kernel:
        (output,) = kernel.run_cell(source).outputs
    program, refused, result = output["text"].splitlines()
    assert program == f"jit_add-{64 * '0'}-cache"
    assert refused == "Read-only file system"
    assert result == "2"
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == names


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = tmp_path_factory.mktemp("workspace")
    harness.run_grader("course", workspace / "course", "--from", harness.SAMPLE)
    assignment = read_assignment(harness.SAMPLE)
    (workspace / "submissions").mkdir()
    (workspace / "submissions" / "ann.ipynb").write_text(
        notebook_text(solution_notebook(assignment))
    )
    return workspace


def _grade(workspace: Path, *options: object, path: str | None = None, status: int = 0) -> str:
    env = {"PATH": path} if path is not None else {}
    folders = (
        "--submissions",
        workspace / "submissions",
        "--course",
        workspace / "course",
        "--quiet",
    )
    return harness.run_grader(
        "grade", NAME, *folders, *harness.LIMITS, *options, env=env, status=status
    )


def _path_replacing_bwrap(folder: Path, bwrap: str) -> str:
    """Return a PATH with every program on this machine, but with a fake bubblewrap or none."""
    folder.mkdir(exist_ok=True)
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in Path(directory).glob("*") if Path(directory).is_dir() else ():
            link = folder / program.name
            if program.name != "bwrap" and not link.exists():
                link.symlink_to(program)
    if bwrap:
        (folder / "bwrap").write_text(bwrap)
        (folder / "bwrap").chmod(0o755)
    return str(folder)


def test_check_sandbox_accepts_this_machine() -> None:
    check_sandbox()


def test_grade_command_refuses_to_run_without_bubblewrap(workspace: Path, tmp_path: Path) -> None:
    output = _grade(workspace, path=_path_replacing_bwrap(tmp_path / "bin", ""), status=2)
    assert "is not installed on this machine" in output
    assert INSTALL_HINT in output
    assert not (workspace / "course" / "results").exists()


def test_grade_command_rejects_sandbox_that_cannot_start(workspace: Path, tmp_path: Path) -> None:
    broken = "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    output = _grade(workspace, path=_path_replacing_bwrap(tmp_path / "bin", broken), status=2)
    assert "does not start here: bwrap: No permissions" in output
    assert "AppArmor" in output
    assert not (workspace / "course" / "results").exists()


def test_grade_command_rejects_sandbox_without_isolation(workspace: Path, tmp_path: Path) -> None:
    # This fake bubblewrap only starts the program, which comes after the last `--`.
    no_isolation = (
        "#!/bin/sh\n"
        'for word; do [ "$word" = -- ] && all=$((all + 1)); done\n'
        'while [ "$all" -gt 0 ]; do [ "$1" = -- ] && all=$((all - 1)); shift; done\n'
        'exec "$@"\n'
    )
    output = _grade(workspace, path=_path_replacing_bwrap(tmp_path / "bin", no_isolation), status=2)
    assert "is not secure here" in output
    assert "reads files of the machine" in output
    assert "reaches the network" in output
    assert not (workspace / "course" / "results").exists()


def test_unsafe_option_is_noted_in_results(workspace: Path, tmp_path: Path) -> None:
    _grade(workspace, "--unsafe", path=_path_replacing_bwrap(tmp_path / "bin", ""))
    rows = harness.parse_results((workspace / "course" / "results" / f"{NAME}.csv").read_text())
    assert rows["ann"].notes.startswith("UNSAFE")
    assert (rows["ann"].status, rows["ann"].score) == ("graded", rows["ann"].max_score)
    _grade(workspace)
    rows = harness.parse_results((workspace / "course" / "results" / f"{NAME}.csv").read_text())
    assert rows["ann"].notes == ""


def test_check_hidden_rejects_folders_visible_in_sandbox(tmp_path: Path) -> None:
    sandbox.check_hidden(tmp_path)
    for folder in (Path(sys.prefix) / "course", Path(jaxbits.__file__).parent, Path("/usr/share")):
        with pytest.raises(sandbox.SandboxUnavailable, match="which every submission can read"):
            sandbox.check_hidden(folder)
    link = tmp_path / "link"
    link.symlink_to("/usr/share")
    with pytest.raises(sandbox.SandboxUnavailable, match="which every submission can read"):
        sandbox.check_hidden(link)


def test_sandbox_command_shows_python_installed_in_tmp(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository in /tmp has its Python there, too, but each submission gets its own /tmp."""
    python_folder, shared = Path(tempfile.mkdtemp(dir="/tmp")), Path(tempfile.mkdtemp(dir="/tmp"))
    python_folder.chmod(0o755)
    (python_folder / "word").write_text("seen")
    visible = sandbox.visible_folders()
    monkeypatch.setattr(sandbox, "visible_folders", lambda: [*visible, python_folder])
    command = sandbox.sandbox_command(["cat", str(python_folder / "word")], shared, Limits())
    process = subprocess.run(command, capture_output=True, text=True)
    shutil.rmtree(python_folder)
    shutil.rmtree(shared)
    assert (process.stdout, process.stderr) == ("seen", "")


def test_limits_reject_impossible_values(workspace: Path) -> None:
    with pytest.raises(ValueError, match="--cell-seconds must be positive and finite, got 0"):
        Limits(cell_seconds=0)
    assert "--memory-gb must be positive" in _grade(workspace, "--memory-gb", "0", status=2)
    assert "-j must be at least 1, got 0" in _grade(workspace, "-j", "0", status=2)


def test_grade_command_says_how_to_continue_if_interrupted(workspace: Path) -> None:
    folders = (
        "--submissions",
        workspace / "submissions",
        "--course",
        workspace / "course",
        "--quiet",
    )
    process = harness.start_grader("grade", NAME, *folders, *harness.LIMITS, "--again")
    log = workspace / "course" / "results" / NAME / "ann.log"
    log.unlink(missing_ok=True)
    while not log.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Run it again to continue" in output


def test_launch_kernel_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    # The folder has a short name because the system limits the length of a socket's path.
    temporary = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with launch_kernel(Limits()) as kernel:
        kernel.run_cell(
            "import os, json\n"
            "run = os.path.dirname([a for a in open('/proc/self/cmdline').read().split('\\0')"
            " if a.endswith('kernel.json')][0])\n"
            "os.makedirs(run + '/a/b')\n"
            "open(run + '/a/b/c', 'w').write('x')\n"
            "os.chmod(run + '/a/b', 0)\n"
            "os.symlink('/etc', run + '/a/link')\n"
            "os.chmod(run + '/a', 0)"
        )
    temporary.rmdir()  # This fails unless the folder is empty.
    assert stat.S_ISDIR(os.stat("/etc").st_mode)


def test_launch_kernel_limits_size_of_shared_folder() -> None:
    fill_folder = (
        "import os, time\n"
        "run = os.path.dirname([a for a in open('/proc/self/cmdline').read().split('\\0')"
        " if a.endswith('kernel.json')][0])\n"
        "for n in range(40):\n"
        "    open(f'{run}/{n}', 'wb').write(bytes(1 << 20))\n"
        "time.sleep(30)"
    )
    with (
        pytest.raises(RunEnded, match="wrote over 16 MB"),
        launch_kernel(Limits(disk_mb=16)) as kernel,
    ):
        kernel.run_cell(fill_folder)


def test_launch_kernel_ends_run_it_cannot_monitor(monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    nest_folders = (
        "import os, time\n"
        "os.chdir(os.path.dirname([a for a in open('/proc/self/cmdline').read().split('\\0')"
        " if a.endswith('kernel.json')][0]))\n"
        "for _ in range(20):\n"
        "    os.mkdir('x' * 250)\n"
        "    os.chdir('x' * 250)\n"
        "time.sleep(30)"
    )
    with pytest.raises(RunEnded, match="could not be monitored"), launch_kernel(Limits()) as kernel:
        kernel.run_cell(nest_folders)
    temporary.rmdir()


@pytest.mark.parametrize(
    "content", ["{'text': 'x'}", "{'name': 'stdout', 'text': 3}", "{'name': 5, 'text': ['x']}"]
)
def test_run_cell_ignores_forged_messages(content: str) -> None:
    forge_message = (
        "import json\n"
        "kernel = get_ipython().kernel\n"
        f"kernel.session.send(kernel.iopub_socket, 'stream', {content},"
        " parent=kernel.get_parent())\n"
        "print('after it')"
    )
    with launch_kernel(Limits()) as kernel:
        result = kernel.run_cell(forge_message)
        assert "after it" in "".join(output.get("text", "") for output in result.outputs)
        assert kernel.run_cell("1 + 1").outputs[0].data == {"text/plain": "2"}


def test_grade_job_gives_no_score_if_kernel_cannot_start(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sandbox, "sandbox_command", lambda *_: ["false"])
    with pytest.raises(KernelNotStarted, match="did not start"), launch_kernel(Limits()):
        pass
    course = open_course(workspace / "course")
    (submission,) = find_submissions(workspace / "submissions", NAME)
    record = grade_job(Job(course, NAME, submission, Limits()), tmp_path)
    assert (record.status, record.score) == ("failed", None)
    assert "did not start" in record.notes[0]


def test_sandbox_shares_folder_outside_tmp() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as shared:
        write = [sys.executable, "-c", f"print('written', file=open('{shared}/file', 'w'))"]
        command = sandbox.sandbox_command(write, Path(shared), Limits())
        subprocess.run(command, env={}, check=True, timeout=60)
        assert (Path(shared) / "file").read_text() == "written\n"
