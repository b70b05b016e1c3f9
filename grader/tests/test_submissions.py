"""Finding each student's notebook in a folder as teachers get it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jaxbits_grader.intake import submissions
from jaxbits_grader.intake.submissions import Submission, find_submissions


def put(path: Path, text: str = "{}") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def found(folder: Path) -> dict[str, tuple[str | None, str | None]]:
    return {
        s.student: (s.path and str(s.path.relative_to(folder)), s.problem or s.note)
        for s in find_submissions(folder, "ships")
    }


def test_notebooks_and_folders(tmp_path: Path) -> None:
    put(tmp_path / "ada.ipynb")
    put(tmp_path / "emmy" / "ships.ipynb")
    put(tmp_path / "emmy" / "scratch.ipynb")
    put(tmp_path / "grace" / "ships" / "ships.ipynb")
    put(tmp_path / "kurt" / "Copy of ps1.ipynb")
    put(tmp_path / "kurt" / ".ipynb_checkpoints" / "ships-checkpoint.ipynb")
    put(tmp_path / "lise.IPYNB")
    put(tmp_path / "max" / "SHIPS.IPYNB")
    put(tmp_path / ".hidden")
    put(tmp_path / "__MACOSX" / "x")
    assert found(tmp_path) == {
        "ada": ("ada.ipynb", None),
        "emmy": (
            "emmy/ships.ipynb",
            "of several notebooks, 'ships.ipynb' was graded, not scratch.ipynb",
        ),
        "grace": ("grace/ships/ships.ipynb", None),
        "kurt": ("kurt/Copy of ps1.ipynb", "the file was called 'Copy of ps1.ipynb'"),
        "lise": ("lise.IPYNB", None),
        "max": ("max/SHIPS.IPYNB", "the file was called 'SHIPS.IPYNB'"),
    }


def test_ungradable_entries_have_a_problem(tmp_path: Path) -> None:
    put(tmp_path / "ada.ipynb", "")
    put(tmp_path / "bob.pdf")
    put(tmp_path / "cleo" / "answers.py")
    (tmp_path / "dan").mkdir()
    put(tmp_path / "eve" / "a.ipynb")
    put(tmp_path / "eve" / "b.ipynb")
    put(tmp_path / "fay" / "x.ipynb" / "y")
    (tmp_path / "gus.ipynb").symlink_to("/etc/passwd")
    (tmp_path / "hal").symlink_to(tmp_path / "cleo")
    put(tmp_path / "ian.ipynb")
    put(tmp_path / "ian.IPYNB")
    put(tmp_path / "ida.ipynb")
    put(tmp_path / "ida" / "ships.ipynb")
    put(tmp_path / "joe.ipynb")
    put(tmp_path / "joe.txt")
    os.mkfifo(tmp_path / "kim.ipynb")
    got = found(tmp_path)
    assert [name for name, (path, _) in got.items() if path] == ["joe"]
    said = {name: problem for name, (path, problem) in got.items() if not path}
    assert said == {
        "ada": "ada.ipynb is empty",
        "bob": "bob.pdf is not a notebook",
        "cleo": "the folder has no notebook, but answers.py",
        "dan": "the folder is empty",
        "eve": "it is unclear which notebook to grade: a.ipynb, b.ipynb",
        "fay": "x.ipynb is not a file",
        "gus": "gus.ipynb is a link, not a file",
        "hal": "hal is not a notebook",
        "ian": "there are two submissions of ian: two notebooks",
        "ida": "there are two submissions of ida: a notebook and a folder",
        "kim": "kim.ipynb is not a file",
    }


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "ada" / "ships.ipynb")
    put(tmp_path / "bob.ipynb")

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert found(tmp_path) == {
        "ada": (None, "the folder cannot be read: Permission denied"),
        "bob": ("bob.ipynb", None),
    }


def test_undecodable_names(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff.ipynb", "w") as file:
        file.write("{}")
    (only,) = find_submissions(tmp_path, "ships")
    assert only.student == r"\xff"
    assert only.path is not None
    assert only.path.exists()


def test_ids_are_safe_and_differ() -> None:
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
    names += [Submission("ada b", None).id]  # as another one's had to be made
    ids = [Submission(name, None).id for name in names]
    assert len(set(ids)) == len(names)
    assert all(submissions._SAFE_ID.match(id) for id in ids)
    assert ids[0] == "ada"


def test_no_submissions(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is empty"):
        find_submissions(tmp_path, "ships")
    with pytest.raises(ValueError, match="is not a folder"):
        find_submissions(tmp_path / "none", "ships")


def test_too_large(tmp_path: Path) -> None:
    with (tmp_path / "a.ipynb").open("wb") as file:
        file.truncate(51 * 2**20)
    assert found(tmp_path)["a"] == (None, "a.ipynb is larger than 50 MB")
