"""Test the creation of .venv, and the one-line message if it fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from book_tools.environment import bootstrap
from book_tools.environment.pins import PYTHON


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 13), (3, 15, 0)])
def test_a_python_that_will_not_do(version: tuple[int, int, int]) -> None:
    here = "Python {}.{} .+ this book needs Python 3.11 to 3.14".format(*version[:2])
    with pytest.raises(bootstrap.Refusal, match=here):
        bootstrap.check_version(version, "/usr/bin/python3")


def test_a_python_that_will_do() -> None:
    for minor in (11, 12, 13, 14):
        bootstrap.check_version((3, minor, 0), "python3")
    assert PYTHON == bootstrap.OLDEST


def test_no_disk() -> None:
    bootstrap.check_disk(50.0)
    with pytest.raises(bootstrap.Refusal, match=r"needs about 3 GB, and 0\.5 GB are free"):
        bootstrap.check_disk(0.5)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("x\nERROR: [Errno 28] No space left on device\n", "the disk is full"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\n"
            "ERROR: Could not find a version that satisfies the requirement jax==0.10.2\n"
            "ERROR: No matching distribution found for jax==0.10.2\n",
            "the network, or the package index, cannot be reached",
        ),
        ("Collecting x\nERROR: No matching distribution found for x==9\n", "found for x==9"),
        ("", "no reason given"),
    ],
)
def test_the_reason_is_one_line(log: str, expected: str) -> None:
    assert expected in bootstrap.reason(log)
    assert "\n" not in bootstrap.reason(log)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project in which no command is run."""
    for name in ("requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(bootstrap, "ROOT", str(tmp_path))
    monkeypatch.setattr(bootstrap, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(bootstrap, "LOG", str(tmp_path / "_build" / "bootstrap.log"))
    monkeypatch.setattr(bootstrap, "check_disk", lambda free: None)
    monkeypatch.setattr(sys, "argv", ["bootstrap.py"])
    return tmp_path


def replace_run(monkeypatch: pytest.MonkeyPatch, fails_at: str = "nothing") -> list[str]:
    """Replace the steps by fakes that leave the same files behind; the named one fails."""
    steps: list[str] = []

    def run(what: str, command: list[str]) -> None:
        steps.append(what)
        if fails_at in what:
            raise bootstrap.Refusal("It failed: the disk is full.")
        python = Path(bootstrap.venv_python())
        if "venv" in command:
            python.parent.mkdir(parents=True)
            python.symlink_to(sys.executable)

    monkeypatch.setattr(bootstrap, "run", run)
    return steps


def test_a_second_time_does_nothing(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = replace_run(monkeypatch)
    assert bootstrap.main() == 0
    assert len(steps) == 3
    assert bootstrap.main() == 0
    assert len(steps) == 3
    (fresh / "pyproject.toml").write_text("[project]")
    assert bootstrap.main() == 0
    assert steps[3:] == ["Installing the package jaxbits"]
    (fresh / "requirements.txt").write_text("jax")
    assert bootstrap.main() == 0
    assert len(steps) == 6


def test_half_made_does_not_count(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_run(monkeypatch, fails_at="requirements")
    assert bootstrap.main() == 1
    assert capsys.readouterr().err == "It failed: the disk is full.\n"
    assert not (fresh / ".venv" / ".installed").exists()
    steps = replace_run(monkeypatch)
    assert bootstrap.main() == 0
    assert [step.split()[1] for step in steps] == ["requirements.txt", "the"]


def test_a_failed_command_is_told_in_one_line(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fresh / "_build").mkdir()
    command = [sys.executable, "-c", "raise SystemExit('ERROR: no such package')"]
    with pytest.raises(bootstrap.Refusal, match="It failed: ERROR: no such package"):
        bootstrap.run("Trying", command)
