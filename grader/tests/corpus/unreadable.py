"""Submissions without a readable notebook, which get a blank score and a note with the reason."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from corpus.expected import Content, Submission
from corpus.submission_builder import SubmissionBuilder

UNREADABLE = frozenset({"unreadable"})


def _zip(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/"), data)
    return out.getvalue()


def _files(builder: SubmissionBuilder) -> dict[str, tuple[str, bytes]]:
    right = json.dumps(builder.right()).encode()
    conflict = b"<<<<<<< HEAD\n" + right[:200] + b"\n=======\n" + right + b"\n>>>>>>> theirs\n"
    return {
        "empty": ("An empty file.", b""),
        "blanks": ("Only whitespace.", b" \n\n\t\n"),
        "nuls": ("Only null bytes, as after a full disk.", b"\0" * 40_000),
        "pdf": ("A PDF.", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"),
        "word": ("A Word file.", _zip(word__document=b"<w:document/>")),
        "zipped": ("The notebook in a zip file.", _zip(notebook=right)),
        "web-page": ("The notebook exported as HTML.", b"<!DOCTYPE html><html></html>"),
        "script": ("The notebook exported as a script.", b"# In[1]:\n\nimport jax\n"),
        "cut-off": ("An upload that broke off.", right[: len(right) // 2]),
        "two-in-one": ("Two notebooks in one file.", right + b"\n" + right),
        "merge-conflict": ("A notebook with merge conflict markers.", conflict),
        "large-file-pointer": (
            "A Git LFS pointer.",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n",
        ),
        "json-object": ("JSON that is not a notebook.", b'{"answers": [1, 2, 3]}'),
        "json-list": ("A JSON list.", b"[]"),
        "json-null": ("A JSON null.", b"null"),
        "json-number": ("A JSON number.", b"42"),
        "json-string": ("A JSON string.", json.dumps(json.dumps(builder.right())).encode()),
        "deep": ("200,000 nested lists.", b"[" * 200_000 + b"]" * 200_000),
        "deep-objects": ("100,000 nested objects.", b'{"cells":' * 100_000 + b"1" + b"}" * 100_000),
        "cells-are-string": ("Cells that are a string.", b'{"cells": "all", "nbformat": 4}'),
        "version-is-string": (
            "A version that is a string.",
            b'{"cells": [], "metadata": {}, "nbformat": "four", "nbformat_minor": []}',
        ),
        "bytes": ("Random bytes.", bytes(range(256)) * 64),
    }


def _empty_folder(folder: Path, student: str) -> None:
    (folder / student).mkdir()


def _other_files(folder: Path, student: str) -> None:
    (folder / student).mkdir()
    (folder / student / "answers.txt").write_text("see my e-mail")
    (folder / student / "answers.py").write_text("print(1)")


def _folder_for_a_file(folder: Path, student: str) -> None:
    (folder / student / "answers.ipynb").mkdir(parents=True)


def _pipe(folder: Path, student: str) -> None:
    os.mkfifo(folder / f"{student}.ipynb")


def _pipe_in_folder(folder: Path, student: str) -> None:
    (folder / student).mkdir()
    os.mkfifo(folder / student / "answers.ipynb")


def _sparse(folder: Path, student: str) -> None:
    with (folder / f"{student}.ipynb").open("wb") as file:
        file.truncate(8 * 2**30)


def _forbidden(folder: Path, student: str) -> None:
    (folder / f"{student}.ipynb").write_text("{}")
    (folder / f"{student}.ipynb").chmod(0)


def _links(builder: SubmissionBuilder) -> dict[str, tuple[str, Content]]:
    secrets = builder.secrets

    def link(target: Path | str, inside: bool = False) -> Content:
        def place(folder: Path, student: str) -> None:
            path = folder / f"{student}.ipynb"
            if inside:
                path = folder / student / "answers.ipynb"
                path.parent.mkdir()
            path.symlink_to(target)

        return place

    def folder_link(folder: Path, student: str) -> None:
        (folder / student).symlink_to(secrets.course, target_is_directory=True)

    return {
        "link-to-neighbor": ("A link to another student's work.", link(secrets.other)),
        "link-in-folder": (
            "A link to another student's work, in a folder.",
            link(secrets.other, inside=True),
        ),
        "link-to-secret": ("A link to a secret.", link(secrets.file)),
        "link-to-gradebook": ("A link to the gradebook.", link(secrets.gradebook, inside=True)),
        "link-to-zeros": ("A link to an endless file.", link("/dev/zero")),
        "link-to-nothing": ("A link to a missing file.", link("nowhere.ipynb")),
        "link-to-itself": ("A link to itself.", link("link-to-itself.ipynb")),
        "folder-link": ("A link to the course's folder.", folder_link),
    }


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    special: dict[str, tuple[str, Content]] = {
        **_files(builder),
        **_links(builder),
        "empty-folder": ("An empty folder.", _empty_folder),
        "other-files": ("A folder without a notebook.", _other_files),
        "folder-named-like-file": ("A folder with the name of a notebook.", _folder_for_a_file),
        "pipe": ("A pipe, on which the grader must not block.", _pipe),
        "pipe-in-folder": ("A pipe in a folder.", _pipe_in_folder),
        "sparse": ("A sparse file of 8 GB.", _sparse),
    }
    if os.geteuid():  # Root can read every file.
        special["forbidden"] = ("A file without read permission.", _forbidden)
    for name, (summary, content) in special.items():
        core = name in ("empty", "pdf", "zipped", "cut-off", "json-object", "deep", "empty-folder")
        core |= name in ("link-to-secret", "folder-link", "pipe", "link-to-zeros", "nuls", "word")
        yield Submission(
            name, "unreadable", summary, content, UNREADABLE, None, (r"\S",), core=core
        )
