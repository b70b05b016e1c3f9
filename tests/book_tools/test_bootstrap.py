"""Test what bootstrap installs in .venv, when it reinstalls, and how it reports errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from book_tools.environment import bootstrap
from book_tools.environment.pins import PYTHON


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 13), (3, 15, 0)])
def test_check_version_rejects_unsupported_python(version: tuple[int, int, int]) -> None:
    message = r"Python must be 3\.11 to 3\.14, got {}\.{} ".format(*version[:2])
    with pytest.raises(bootstrap.BootstrapError, match=message):
        bootstrap.check_version(version, "/usr/bin/python3")


def test_check_version_accepts_supported_pythons() -> None:
    for minor in (11, 12, 13, 14):
        bootstrap.check_version((3, minor, 0), "python3")
    assert PYTHON == bootstrap.OLDEST


def test_check_disk_rejects_full_disk() -> None:
    bootstrap.check_disk(50.0, 3.0)
    with pytest.raises(
        bootstrap.BootstrapError, match=r"about 3\.0 GB on disk, but only 0\.5 GB is free"
    ):
        bootstrap.check_disk(0.5, 3.0)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("x\nERROR: [Errno 28] No space left on device\n", "the disk is full"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\n"
            "ERROR: Could not find a version that satisfies the requirement jax==0.10.2\n"
            "ERROR: No matching distribution found for jax==0.10.2\n",
            "the network or the package index cannot be reached",
        ),
        ("Collecting x\nERROR: No matching distribution found for x==9\n", "found for x==9"),
        ("", "it printed no message"),
    ],
)
def test_find_reason_returns_one_line(log: str, expected: str) -> None:
    assert expected in bootstrap.find_reason(log)
    assert "\n" not in bootstrap.find_reason(log)


class Project:
    """An empty project that records bootstrap's commands instead of running them.

    The command that creates .venv only adds a link to the Python interpreter that runs the tests.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.steps: list[str] = []
        self.commands: list[list[str]] = []
        self.fails_at = "nothing"
        self.torch: str | None = None
        self.version = "{} {}".format(*sys.version_info[:2])
        self.write("requirements-book.txt", "jax==1.0\n")
        self.write("requirements.txt", "jax==1.0\ntorch==2.13.0\n")
        for name in ("pyproject.toml", "grader/pyproject.toml", "src/jaxbits/__init__.py"):
            self.write(name, "")
        monkeypatch.setattr(bootstrap, "ROOT", str(root))
        monkeypatch.setattr(bootstrap, "VENV", str(root / ".venv"))
        monkeypatch.setattr(bootstrap, "LOG", str(root / "_build" / "bootstrap.log"))
        monkeypatch.setattr(bootstrap, "check_disk", lambda free, needed: None)
        monkeypatch.setattr(bootstrap, "run", self.run)
        monkeypatch.setattr(bootstrap, "ask_venv", self.ask_venv)
        monkeypatch.delenv("TORCH_INDEX", raising=False)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, title: str, command: list[str]) -> None:
        self.steps.append(title)
        self.commands.append(command)
        if self.fails_at in title:
            raise bootstrap.BootstrapError("the disk is full")
        if "venv" in command:
            python = Path(bootstrap.venv_python())
            python.parent.mkdir(parents=True)
            python.symlink_to(sys.executable)

    def ask_venv(self, program: str) -> str | None:
        if "torch" in program:
            return self.torch
        exists = Path(bootstrap.venv_python()).exists()
        return self.version if exists else None

    def bootstrap(self, *arguments: str) -> list[str]:
        """Run bootstrap, and return what each step's title says that it creates or installs."""
        self.steps.clear()
        self.commands.clear()
        assert bootstrap.main(list(arguments)) == (1 if self.fails_at != "nothing" else 0)
        return [step.split()[1] for step in self.steps]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


BOOK = ["requirements-book.txt", "jaxbits"]
ALL = ["requirements.txt", "jaxbits"]


def test_bootstrap_does_nothing_on_second_run(project: Project) -> None:
    assert project.bootstrap() == [".venv", *ALL]
    assert project.bootstrap() == []
    assert project.bootstrap("book") == []


def test_bootstrap_all_completes_book_installation(project: Project) -> None:
    assert project.bootstrap("book") == [".venv", *BOOK]
    # The page *Assignments* is written with the grader's code.
    assert project.commands[-1][-1].endswith("grader")
    assert project.bootstrap("book") == []
    assert project.bootstrap("all") == ALL


def test_bootstrap_reinstalls_only_changed_parts(project: Project) -> None:
    project.bootstrap()
    project.write("pyproject.toml", "[project]")
    assert project.bootstrap() == ["jaxbits"]
    project.write("src/jaxbits/__init__.py", '__version__ = "2"')
    assert project.bootstrap() == ["jaxbits"]
    project.write("requirements.txt", "jax==1.0\nruff==2.0\n")
    assert project.bootstrap("book") == []
    assert project.bootstrap() == ALL


@pytest.mark.parametrize("failing", ["requirements", "jaxbits"])
def test_bootstrap_retries_failed_installation(
    project: Project, capsys: pytest.CaptureFixture[str], failing: str
) -> None:
    project.fails_at = failing
    project.bootstrap()
    assert capsys.readouterr().err == "the disk is full\n"
    project.fails_at = "nothing"
    assert project.bootstrap("book") == BOOK
    assert project.bootstrap() == ALL


def test_bootstrap_reinstalls_book_after_failed_upgrade(project: Project) -> None:
    project.bootstrap("book")
    project.fails_at = "requirements.txt"
    project.bootstrap()
    project.fails_at = "nothing"
    assert project.bootstrap("book") == BOOK, (
        "pip may also have broken a package that the book needs"
    )


def test_bootstrap_removes_partially_installed_packages(project: Project) -> None:
    project.bootstrap("book")
    packages = ".venv/lib/python3.11/site-packages"
    project.write(f"{packages}/a-1.dist-info/METADATA", "")
    project.write(f"{packages}/b-1.dist-info/METADATA", "")
    project.write(f"{packages}/b-1.dist-info/INSTALLER", "pip")
    project.bootstrap()
    remaining = sorted(path.name for path in (project.root / packages).iterdir())
    assert remaining == ["b-1.dist-info"]


def test_bootstrap_replaces_python_only_if_remake_is_given(project: Project) -> None:
    project.bootstrap()
    stamp = project.root / ".venv" / ".installed"
    version_line = "python {}.{}\n".format(*sys.version_info[:2])
    assert version_line in stamp.read_text()
    project.version = "3 12" if sys.version_info[:2] == (3, 11) else "3 11"
    stamp.write_text(stamp.read_text().replace(version_line, f"python {project.version}\n"))
    assert project.bootstrap() == [], "without --remake, bootstrap must keep any supported Python"
    assert project.bootstrap("--remake") == [".venv", *ALL]


def test_bootstrap_warns_that_pip_may_install_cuda_torch(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    project.bootstrap("book")
    assert "CUDA" not in capsys.readouterr().out
    project.bootstrap()
    output = capsys.readouterr().out
    assert "may deliver the CUDA build" in output
    assert "with TORCH_INDEX=https://download.pytorch.org/whl/cpu" in output


def test_bootstrap_installs_torch_from_torch_index(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_INDEX", "https://user:word@index.test/cpu")
    project.bootstrap()
    assert "CUDA" not in capsys.readouterr().out
    (title,) = [step for step in project.steps if "PyTorch" in step]
    assert title == "Installing PyTorch from https://index.test/cpu"
    command = project.commands[project.steps.index(title)]
    assert command[-4:] == [
        "--no-deps",
        "--index-url",
        "https://user:word@index.test/cpu",
        "torch==2.13.0",
    ]


def test_bootstrap_keeps_installed_torch(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_INDEX", "https://index.test/cpu")
    project.torch = "2.13.0+cpu"
    assert project.bootstrap() == [".venv", *ALL]
    assert "CUDA" not in capsys.readouterr().out


def test_bootstrap_rejects_unknown_layer(capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main(["chapters"]) == 2
    assert "usage" in capsys.readouterr().err


def test_run_reports_failed_command_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", str(tmp_path))
    monkeypatch.setattr(bootstrap, "LOG", str(tmp_path / "bootstrap.log"))
    command = [sys.executable, "-c", "raise SystemExit('ERROR: no such package')"]
    with pytest.raises(bootstrap.BootstrapError) as caught:
        bootstrap.run("Trying", command)
    message = "Trying failed: ERROR: no such package. Full log: bootstrap.log"
    assert str(caught.value) == message


def test_make_book_reports_missing_python(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    command = ["make", "-f", str(root / "Makefile"), "PYTHON=no-such-python", "book"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "got no-such-python, which is not installed" in done.stderr
