"""The sandbox works here, and where it does not, nothing is graded."""

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
NO_SANDBOX = "sudo apt install bubblewrap"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    harness.run_grader("course", place / "course", "--from", harness.SAMPLE)
    assignment = read_assignment(harness.SAMPLE)
    (place / "submissions").mkdir()
    (place / "submissions" / "ann.ipynb").write_text(notebook_text(solution_notebook(assignment)))
    return place


def _grade(place: Path, *more: object, path: str | None = None, status: int = 0) -> str:
    env = {"PATH": path} if path is not None else {}
    where = ("--submissions", place / "submissions", "--course", place / "course", "--quiet")
    return harness.run_grader("grade", NAME, *where, *harness.LIMITS, *more, env=env, status=status)


def _tools(folder: Path, bwrap: str) -> str:
    """Return a PATH with all programs of this machine, and a fake bubblewrap or none."""
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


def test_the_sandbox_works_here() -> None:
    check_sandbox()


def test_without_bubblewrap_nothing_is_graded(place: Path, tmp_path: Path) -> None:
    said = _grade(place, path=_tools(tmp_path / "bin", ""), status=2)
    assert "is not installed on this machine" in said
    assert NO_SANDBOX in said
    assert not (place / "course" / "results").exists()


def test_a_sandbox_that_does_not_start_is_refused(place: Path, tmp_path: Path) -> None:
    broken = "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    said = _grade(place, path=_tools(tmp_path / "bin", broken), status=2)
    assert "does not start here: bwrap: No permissions" in said
    assert "AppArmor" in said
    assert not (place / "course" / "results").exists()


def test_a_sandbox_that_lets_everything_out_is_refused(place: Path, tmp_path: Path) -> None:
    # It only starts the program, which comes after the last `--`.
    open_door = (
        "#!/bin/sh\n"
        'for word; do [ "$word" = -- ] && all=$((all + 1)); done\n'
        'while [ "$all" -gt 0 ]; do [ "$1" = -- ] && all=$((all - 1)); shift; done\n'
        'exec "$@"\n'
    )
    said = _grade(place, path=_tools(tmp_path / "bin", open_door), status=2)
    assert "is not secure here" in said
    assert "reads files of the machine" in said
    assert "reaches the network" in said
    assert not (place / "course" / "results").exists()


def test_unsafe_is_noted_in_every_line(place: Path, tmp_path: Path) -> None:
    _grade(place, "--unsafe", path=_tools(tmp_path / "bin", ""))
    rows = harness.parse_results((place / "course" / "results" / f"{NAME}.csv").read_text())
    assert rows["ann"].notes.startswith("UNSAFE")
    assert (rows["ann"].status, rows["ann"].score) == ("graded", rows["ann"].max_score)
    _grade(place)
    rows = harness.parse_results((place / "course" / "results" / f"{NAME}.csv").read_text())
    assert rows["ann"].notes == ""


def test_folders_that_submissions_can_read_are_rejected(tmp_path: Path) -> None:
    sandbox.check_hidden(tmp_path)
    for shown in (Path(sys.prefix) / "course", Path(jaxbits.__file__).parent, Path("/usr/share")):
        with pytest.raises(sandbox.SandboxUnavailable, match="which every submission can read"):
            sandbox.check_hidden(shown)
    link = tmp_path / "link"
    link.symlink_to("/usr/share")
    with pytest.raises(sandbox.SandboxUnavailable, match="which every submission can read"):
        sandbox.check_hidden(link)


def test_a_python_below_tmp_is_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the repository is in /tmp, so is its Python, although submissions get an own /tmp."""
    place, shared = Path(tempfile.mkdtemp(dir="/tmp")), Path(tempfile.mkdtemp(dir="/tmp"))
    place.chmod(0o755)
    (place / "word").write_text("seen")
    before = sandbox.visible_folders()
    monkeypatch.setattr(sandbox, "visible_folders", lambda: [*before, place])
    command = sandbox.sandbox_command(["cat", str(place / "word")], shared, Limits())
    done = subprocess.run(command, capture_output=True, text=True)
    shutil.rmtree(place)
    shutil.rmtree(shared)
    assert (done.stdout, done.stderr) == ("seen", "")


def test_impossible_limits_are_rejected(place: Path) -> None:
    with pytest.raises(ValueError, match="--cell-seconds must be positive and finite, got 0"):
        Limits(cell_seconds=0)
    assert "--memory-gb must be positive" in _grade(place, "--memory-gb", "0", status=2)
    assert "-j must be at least 1, got 0" in _grade(place, "-j", "0", status=2)


def test_an_interrupted_grader_says_how_to_continue(place: Path) -> None:
    where = ("--submissions", place / "submissions", "--course", place / "course", "--quiet")
    process = harness.start_grader("grade", NAME, *where, *harness.LIMITS, "--again")
    log = place / "course" / "results" / NAME / "ann.log"
    log.unlink(missing_ok=True)
    while not log.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Run it again to continue" in said


def test_a_run_leaves_no_file_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    # A separate folder with a short name, because the path of a socket is limited.
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
    temporary.rmdir()  # which it can only be when nothing is in it
    assert stat.S_ISDIR(os.stat("/etc").st_mode)


def test_the_shared_folder_is_limited() -> None:
    fill = (
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
        kernel.run_cell(fill)


def test_a_run_that_cannot_be_monitored_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    hide = (
        "import os, time\n"
        "os.chdir(os.path.dirname([a for a in open('/proc/self/cmdline').read().split('\\0')"
        " if a.endswith('kernel.json')][0]))\n"
        "for _ in range(20):\n"
        "    os.mkdir('x' * 250)\n"
        "    os.chdir('x' * 250)\n"
        "time.sleep(30)"
    )
    with pytest.raises(RunEnded, match="could not be monitored"), launch_kernel(Limits()) as kernel:
        kernel.run_cell(hide)
    temporary.rmdir()


@pytest.mark.parametrize(
    "content", ["{'text': 'x'}", "{'name': 'stdout', 'text': 3}", "{'name': 5, 'text': ['x']}"]
)
def test_forged_messages_are_ignored(content: str) -> None:
    by_hand = (
        "import json\n"
        "kernel = get_ipython().kernel\n"
        f"kernel.session.send(kernel.iopub_socket, 'stream', {content},"
        " parent=kernel.get_parent())\n"
        "print('after it')"
    )
    with launch_kernel(Limits()) as kernel:
        done = kernel.run_cell(by_hand)
        assert "after it" in "".join(output.get("text", "") for output in done.outputs)
        assert kernel.run_cell("1 + 1").outputs[0].data == {"text/plain": "2"}


def test_a_kernel_that_does_not_start_gives_no_zero(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sandbox, "sandbox_command", lambda *_: ["false"])
    with pytest.raises(KernelNotStarted, match="did not start"), launch_kernel(Limits()):
        pass
    course = open_course(place / "course")
    (submission,) = find_submissions(place / "submissions", NAME)
    record = grade_job(Job(course, NAME, submission, Limits()), tmp_path)
    assert (record.status, record.score) == ("failed", None)
    assert "did not start" in record.notes[0]


def test_programs_for_the_sandbox_are_installed() -> None:
    """Without these programs, the tests above would show nothing."""
    for program in ("bwrap", "prlimit", "setpriv", "nice", "env"):
        assert shutil.which(program), program
