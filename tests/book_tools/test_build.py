"""Test which files a build depends on and what it prints if it cannot start."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from book_tools.website import build

MAKE = shutil.which("make")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with one chapter inside a hidden folder."""
    root = tmp_path / ".worktrees" / "book"
    (root / "chapters").mkdir(parents=True)
    (root / "chapters" / "01-a.md").write_text("one")
    (root / "chapters" / ".ipynb_checkpoints").mkdir()
    (root / "chapters" / ".ipynb_checkpoints" / "01-a.md").write_text("old")
    monkeypatch.setattr(build, "ROOT", root)
    monkeypatch.setattr(build, "BUILD", root / "_build")
    monkeypatch.setattr(build, "INDEX", root / "_build" / "html" / "index.html")
    monkeypatch.setattr(build, "STAMP", root / "_build" / ".built")
    return root


def test_input_files_lists_chapters_under_hidden_folder(project: Path) -> None:
    names = {path.relative_to(project).as_posix() for path in build.input_files()}
    assert "chapters/01-a.md" in names
    assert "chapters/.ipynb_checkpoints/01-a.md" not in names
    before = build.input_digest()
    (project / "chapters" / "01-a.md").write_text("two")
    assert build.input_digest() != before


def test_build_reports_unwritable_folder_in_one_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "_build").write_text("a file is in its place")
    assert build.main([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "_build must be a writable folder, got: File exists" in line


@pytest.mark.skipif(MAKE is None, reason="make is not installed")
def test_make_chapter_without_name_installs_nothing(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).resolve().parents[2] / "Makefile", tmp_path)
    assert MAKE
    # `make test` sets these environment variables. They would make this `make` run as a sub-make,
    # which prints the folder that it enters.
    submake = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    env = {key: value for key, value in os.environ.items() if key not in submake}
    done = subprocess.run([MAKE, "chapter"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.splitlines()[0].startswith("NAME must be a chapter, got nothing")
    assert not (tmp_path / ".venv").exists()
