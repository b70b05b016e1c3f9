"""Test that notebooks in zip files and nested folders are found and read safely."""

from __future__ import annotations

import io
import json
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from jaxbits_grader.intake import packed_notebooks, zip_files
from jaxbits_grader.intake.notebook_reader import UnreadableNotebook, read_notebook
from jaxbits_grader.intake.submissions import Submission, find_submissions

CELL = {"cell_type": "code", "source": "x = 1", "metadata": {}, "outputs": []}
NOTEBOOK = json.dumps({"cells": [CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def write_zip(path: Path, *names: str, text: str = NOTEBOOK, method: int = 8) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as archive:
        for name in names:
            archive.writestr(name, text)
    return path


def write_file(path: Path, text: str = NOTEBOOK) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def find(folder: Path) -> dict[str, Submission]:
    return {found.student: found for found in find_submissions(folder, "ships")}


@pytest.mark.parametrize(
    ("file", "members", "where"),
    [
        (
            "ann.zip",
            ["__MACOSX/._nb.ipynb", ".x/nb.ipynb", "final/nb.ipynb"],
            "ann.zip/final/nb.ip",
        ),
        ("ann/homework.zip", ["nb.ipynb", "data.csv"], "homework.zip/nb.ipynb"),
        ("ann/a/b/c.ZIP", ["nb.ipynb.txt"], "a/b/c.ZIP/nb.ipynb.txt"),
        ("ann/homework.zip", ["../../../etc/nb.ipynb"], "homework.zip/../../../etc/nb.ipynb"),
        ("ann/homework/final/nb.ipynb", [], "homework/final/nb.ipynb"),
        ("ann.ipynb.txt", [], "ann.ipynb.txt"),
        ("ann.ipynb.json", [], "ann.ipynb.json"),
        ("ann/nb.ipynb.json", [], "nb.ipynb.json"),
    ],
)
def test_only_packed_notebook_is_read(
    tmp_path: Path, file: str, members: list[str], where: str
) -> None:
    folder = tmp_path / "submissions"
    if members:
        write_zip(folder / file, *members)
    else:
        write_file(folder / file)
    (found,) = find(folder).values()
    assert (found.student, found.problem) == ("ann", None)
    assert str(found.note).startswith(f"the notebook was found in '{where}")
    assert found.path is not None
    assert [cell.source for cell in read_notebook(found.path, found.member).cells] == ["x = 1"]
    assert {path.name for path in tmp_path.iterdir()} == {"submissions"}  # Nothing is extracted.


def test_several_or_no_packed_notebooks_are_listed(tmp_path: Path) -> None:
    write_zip(tmp_path / "ann.zip", "a.ipynb", "b/c.ipynb")
    write_zip(tmp_path / "bob" / "x.zip", "a.ipynb")
    write_file(tmp_path / "bob" / "y" / "b.ipynb")
    write_zip(tmp_path / "cleo.zip", "a.py", "inner.zip")
    write_zip(tmp_path / "dan.zip")
    write_file(tmp_path / "eve.zip", "no zip file")
    write_file(tmp_path / "fay.ipynb")
    write_zip(tmp_path / "fay.zip", "a.ipynb")
    (tmp_path / "gus").mkdir()
    (tmp_path / "gus" / "a.zip").symlink_to(tmp_path / "fay.zip")
    (tmp_path / "hal.zip").symlink_to(tmp_path / "fay.zip")
    (tmp_path / "ian").mkdir()
    (tmp_path / "ian" / "inner").symlink_to(tmp_path / "bob")
    write_file(tmp_path / "joe.pdf")
    write_zip(tmp_path / "joe.zip", "a.ipynb")
    assert {name: found.problem for name, found in find(tmp_path).items()} == {
        "ann": "it is unclear which notebook to grade: ann.zip/a.ipynb, ann.zip/b/c.ipynb",
        "bob": "it is unclear which notebook to grade: x.zip/a.ipynb, y/b.ipynb",
        "cleo": "cleo.zip contains no notebook, only a.py, inner.zip",
        "dan": "dan.zip contains no notebook",
        "eve": "eve.zip cannot be unpacked: it is not a zip file",
        "fay": "there are two submissions from fay: a notebook and the file fay.zip",
        "gus": "the folder contains no notebook, only a.zip",
        "hal": "hal.zip is a link, not a file",
        "ian": "the folder contains no notebook, only inner",
        "joe": None,
    }


def test_notebook_next_to_other_files_counts(tmp_path: Path) -> None:
    write_file(tmp_path / "ann" / "nb.ipynb")
    write_zip(tmp_path / "ann" / "old.zip", "a.ipynb", "b.ipynb")
    assert find(tmp_path)["ann"].path == tmp_path / "ann" / "nb.ipynb"


def test_links_in_zip_file_are_ignored(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ann.zip", "w") as archive:
        link = zipfile.ZipInfo("link.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert find(tmp_path)["ann"].problem == "ann.zip contains no notebook"


def read_error(path: Path, member: str = "nb.ipynb") -> str:
    with pytest.raises(UnreadableNotebook) as error:
        read_notebook(path, member)
    return str(error.value)


def test_read_notebook_limits_decompressed_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_zip(tmp_path / "ann.zip", "nb.ipynb", text=" " * 3_000_000)
    monkeypatch.setattr("jaxbits_grader.intake.notebook_reader.MAX_MB", 1)
    assert read_error(path).startswith("the notebook in ann.zip cannot be read: it is larger than")
    # A zip file may state a wrong size.
    data = path.read_bytes().replace(struct.pack("<L", 3_000_000), struct.pack("<L", 10))
    path.write_bytes(data)
    assert "cannot be read" in read_error(path)


def test_read_notebook_reports_unsupported_and_damaged_entries(tmp_path: Path) -> None:
    packed = write_zip(tmp_path / "lzma.zip", "nb.ipynb", method=zipfile.ZIP_LZMA)
    assert "compression method is not supported" in read_error(packed)
    plain = write_zip(tmp_path / "plain.zip", "nb.ipynb", method=zipfile.ZIP_STORED)
    data = plain.read_bytes()
    plain.write_bytes(data.replace(b"x = 1", b"x = 2"))
    assert "it is damaged" in read_error(plain)
    locked = tmp_path / "locked.zip"
    end = data.rindex(b"PK\x01\x02")
    locked.write_bytes(data[:6] + b"\x01" + data[7 : end + 8] + b"\x01" + data[end + 9 :])
    assert "it is encrypted" in read_error(locked)


def test_list_files_refuses_large_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_zip(tmp_path / "ann.zip", "nb.ipynb")
    data = path.read_bytes()
    locator = b"PK\x06\x07" + bytes(16)
    for changed in (
        data[:-22] + locator + data[-22:],
        data[:-10] + struct.pack("<L", 2_000_000) + data[-6:],
        data[:-10] + struct.pack("<L", 2_000_000) + data[-6:-2] + b"\x05\x00hello",
    ):
        path.write_bytes(changed)
        with pytest.raises(zip_files.BadZip, match="too many files"):
            zip_files.list_files(path)
    monkeypatch.setattr(packed_notebooks, "_MAX_FILES", 2)
    for name in "abc":
        write_file(tmp_path / "bob" / "inner" / name)
    assert find(tmp_path)["bob"].problem == "the folder contains over 2 files"


def test_zip_file_with_comment_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ann.zip", "w") as archive:
        archive.writestr("nb.ipynb", NOTEBOOK)
        archive.comment = b"homework " * 100
    assert zip_files.list_files(tmp_path / "ann.zip") == ["nb.ipynb"]
    assert io.BytesIO(zip_files.read_file(tmp_path / "ann.zip", "nb.ipynb", 10_000)).read(1) == b"{"
