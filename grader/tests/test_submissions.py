"""Test that each student's notebook is found in a folder of submissions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jaxbits_grader.intake import submissions
from jaxbits_grader.intake.submissions import Submission, find_submissions


def write_file(path: Path, text: str = "{}") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def paths_and_notes(folder: Path) -> dict[str, tuple[str | None, str | None]]:
    return {
        s.student: (s.path and str(s.path.relative_to(folder)), s.problem or s.note)
        for s in find_submissions(folder, "ships")
    }


def test_find_submissions_reads_files_and_folders(tmp_path: Path) -> None:
    write_file(tmp_path / "ada.ipynb")
    write_file(tmp_path / "emmy" / "ships.ipynb")
    write_file(tmp_path / "emmy" / "scratch.ipynb")
    write_file(tmp_path / "grace" / "ships" / "ships.ipynb")
    write_file(tmp_path / "kurt" / "Copy of ps1.ipynb")
    write_file(tmp_path / "kurt" / ".ipynb_checkpoints" / "ships-checkpoint.ipynb")
    write_file(tmp_path / "lise.IPYNB")
    write_file(tmp_path / "max" / "SHIPS.IPYNB")
    write_file(tmp_path / ".hidden")
    write_file(tmp_path / "__MACOSX" / "x")
    assert paths_and_notes(tmp_path) == {
        "ada": ("ada.ipynb", None),
        "emmy": (
            "emmy/ships.ipynb",
            "of several notebooks, 'ships.ipynb' was graded, not scratch.ipynb",
        ),
        "grace": ("grace/ships/ships.ipynb", None),
        "kurt": ("kurt/Copy of ps1.ipynb", None),
        "lise": ("lise.IPYNB", None),
        "max": ("max/SHIPS.IPYNB", None),
    }


def test_find_submissions_names_problem_with_bad_entries(tmp_path: Path) -> None:
    write_file(tmp_path / "ada.ipynb", "")
    write_file(tmp_path / "bob.pdf")
    write_file(tmp_path / "cleo" / "answers.py")
    (tmp_path / "dan").mkdir()
    write_file(tmp_path / "eve" / "a.ipynb")
    write_file(tmp_path / "eve" / "b.ipynb")
    write_file(tmp_path / "fay" / "x.ipynb" / "y")
    (tmp_path / "gus.ipynb").symlink_to("/etc/passwd")
    (tmp_path / "hal").symlink_to(tmp_path / "cleo")
    write_file(tmp_path / "ian.ipynb")
    write_file(tmp_path / "ian.IPYNB")
    write_file(tmp_path / "ida.ipynb")
    write_file(tmp_path / "ida" / "ships.ipynb")
    write_file(tmp_path / "joe.ipynb")
    write_file(tmp_path / "joe.txt")
    os.mkfifo(tmp_path / "kim.ipynb")
    entries = paths_and_notes(tmp_path)
    assert [name for name, (path, _) in entries.items() if path] == ["joe"]
    problems = {name: problem for name, (path, problem) in entries.items() if not path}
    assert problems == {
        "ada": "ada.ipynb is empty",
        "bob": "bob.pdf is not a notebook",
        "cleo": "the folder contains no notebook, only answers.py",
        "dan": "the folder is empty",
        "eve": "it is unclear which notebook to grade: a.ipynb, b.ipynb",
        "fay": "x.ipynb is not a file",
        "gus": "gus.ipynb is a link, not a file",
        "hal": "hal is not a notebook",
        "ian": "there are two submissions from ian: two notebooks",
        "ida": "there are two submissions from ida: a notebook and a folder",
        "kim": "kim.ipynb is not a file",
    }


def test_find_submissions_reports_folder_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "ada" / "ships.ipynb")
    write_file(tmp_path / "bob.ipynb")

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert paths_and_notes(tmp_path) == {
        "ada": (None, "the folder cannot be read: Permission denied"),
        "bob": ("bob.ipynb", None),
    }


def test_find_submissions_escapes_undecodable_names(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff.ipynb", "w") as file:
        file.write("{}")
    (submission,) = find_submissions(tmp_path, "ships")
    assert submission.student == r"\xff"
    assert submission.path is not None
    assert submission.path.exists()


def test_submission_ids_are_safe_and_unique() -> None:
    names = [
        "ada",
        "ada b",
        "ada-b",
        "../x",
        "=1+1",
        "",
        "ä",
        "ö",
        "x" * 61,
        "x" * 62,
        "a\nb",
        "-r",
    ]
    names += [Submission("ada b", None).id]  # This name is the same as the id that "ada b" gets.
    ids = [Submission(name, None).id for name in names]
    assert len(set(ids)) == len(names)
    assert all(submissions._SAFE_ID.match(id) for id in ids)
    assert ids[0] == "ada"


def test_find_submissions_rejects_empty_or_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is empty"):
        find_submissions(tmp_path, "ships")
    with pytest.raises(ValueError, match="is not a folder"):
        find_submissions(tmp_path / "none", "ships")


def test_find_submissions_reports_oversized_file(tmp_path: Path) -> None:
    with (tmp_path / "a.ipynb").open("wb") as file:
        file.truncate(51 * 2**20)
    assert paths_and_notes(tmp_path)["a"] == (None, "a.ipynb is larger than 50 MB")
