"""Files, kernels, and students with unexpected names."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus.expected import GRADED_OR_FLAGGED, Content, Submission
from corpus.submission_builder import SubmissionBuilder

KERNELS: dict[str, Any] = {
    "kernel-r": {"display_name": "R", "language": "R", "name": "ir"},
    "kernel-python-2": {"display_name": "Python 2", "language": "python", "name": "python2"},
    "kernel-of-an-environment": {"display_name": "jax (conda)", "name": "conda-env-jax-py"},
    "kernel-with-a-path": {"display_name": "x", "name": "../../../../tmp/kernel"},
    "kernel-without-a-name": {"display_name": "Python 3"},
    "kernel-is-string": "python3",
    "kernel-missing": None,
}
NAMES = {
    "Ada Lovelace": "Spaces.",
    "Žofia Łącka 雪 🐝": "Non-ASCII characters.",
    "-rf": "A leading dash, as in a command-line option.",
    "--help": "A command-line option.",
    "a..b..": "Dots.",
    "%2e%2e%2f%2e%2e%2fgradebook": "A percent-encoded path to a parent folder.",
    "-..": "A dash before the name of the parent folder.",
    "Doe, Jane": "A comma.",
    "Quo\"te's; DROP TABLE grade;--": "Quotes and SQL.",
    "=1+1": "A spreadsheet formula.",
    "@SUM(A1:A9)": "Another spreadsheet formula.",
    "<img src=x onerror=corpus_ran()>": "HTML markup.",
    "{{ config }}": "Template syntax.",
    "two\nlines": "A line break.",
    "$(touch jaxbits-corpus-was-here)": "A shell command.",
    "caf\udce9": "A byte that is not valid UTF-8.",
    "index": "A name that an overview page might have.",
    "x" * 240: "A name almost as long as file systems allow.",
    "Jos\u00e9": "An accented letter as one character.",
    "Jose\u0301": "The same letter as two characters.",
}


def _data(notebook: Any) -> bytes:
    return json.dumps(notebook).encode()


def _files(builder: SubmissionBuilder) -> Iterator[tuple[str, str, dict[str, bytes]]]:
    right, blank, name = _data(builder.right()), _data(builder.blank()), builder.assignment.name
    yield (
        "copy-of",
        "A copy with the name that Google Drive gives it.",
        {f"Copy of {name}.ipynb": right},
    )
    yield (
        "downloaded-again",
        "A copy with the name that a browser gives it.",
        {f"{name} (1).ipynb": right},
    )
    yield "capitals", "A file extension in capitals.", {f"{name}.IPYNB": right}
    yield "unrelated-name", "An unrelated file name.", {"final FINAL v2 (mine).ipynb": right}
    yield (
        "checkpoints",
        "Checkpoints and macOS metadata files.",
        {
            f"{name}.ipynb": right,
            f".ipynb_checkpoints/{name}-checkpoint.ipynb": blank,
            f"._{name}.ipynb": b"\0\x05\x16\x07\0\2\0\0Mac OS X",
            "__MACOSX/._other.ipynb": b"\0\x05\x16\x07",
            ".DS_Store": b"\0\0\0\1Bud1",
        },
    )


def _two_notebooks(builder: SubmissionBuilder) -> dict[str, bytes]:
    name = builder.assignment.name
    return {f"{name}.ipynb": _data(builder.right()), f"{name} (1).ipynb": _data(builder.right())}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for student, summary, files in _files(builder):
        core = student in ("copy-of", "downloaded-again", "checkpoints")
        statuses = (
            GRADED_OR_FLAGGED | {"unreadable"} if student == "capitals" else GRADED_OR_FLAGGED
        )
        yield Submission(
            student, "renamed", summary, files, statuses, builder.full_score, core=core
        )
    either = frozenset({"flagged", "unreadable"})
    summary = "Two notebooks in a folder."
    yield Submission(
        "two-notebooks",
        "renamed",
        summary,
        _two_notebooks(builder),
        either,
        builder.full_score,
        (r"\S",),
        core=True,
    )

    def both(folder: Path, student: str) -> None:
        (folder / student).mkdir()
        for path in (folder / f"{student}.ipynb", folder / student / "again.ipynb"):
            path.write_bytes(_data(builder.right()))

    yield Submission(
        "file-and-folder",
        "renamed",
        "A file and a folder of one student.",
        both,
        either,
        builder.full_score,
        (r"\S",),
    )
    for student, kernel in KERNELS.items():
        notebook = json.loads(_data(builder.right()))
        if kernel is None:
            notebook["metadata"] = {}
        else:
            notebook["metadata"]["kernelspec"] = kernel
        core = student in ("kernel-r", "kernel-with-a-path", "kernel-missing")
        summary = "A different kernel."
        yield Submission(
            student,
            "renamed",
            summary,
            _data(notebook),
            GRADED_OR_FLAGGED,
            builder.full_score,
            core=core,
        )
    notebook = builder.right()
    notebook.metadata.language_info = {"name": "julia", "file_extension": ".jl"}
    yield Submission(
        "language-julia",
        "renamed",
        "A different language.",
        notebook,
        GRADED_OR_FLAGGED,
        builder.full_score,
    )

    for student, summary in NAMES.items():
        content: Content = _data(builder.right())
        core = student in ("Ada Lovelace", "-rf", "=1+1", "%2e%2e%2f%2e%2e%2fgradebook", "x" * 240)
        live = (r"<img src=x onerror=corpus_ran",) if student.startswith("<img") else ()
        if _writable(student):
            yield Submission(
                student,
                "names",
                summary,
                content,
                GRADED_OR_FLAGGED,
                builder.full_score,
                live=live,
                core=core,
            )


def _writable(student: str) -> bool:
    """Return whether this machine's file system accepts the student's name."""
    return os.name == "posix" and (os.uname().sysname == "Linux" or "\udce9" not in student)
