"""Files, kernels, and students with unexpected names."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus.expected import FINE, Content, Submission
from corpus.submission_builder import SubmissionBuilder

KERNELS: dict[str, Any] = {
    "kernel-r": {"display_name": "R", "language": "R", "name": "ir"},
    "kernel-python-2": {"display_name": "Python 2", "language": "python", "name": "python2"},
    "kernel-of-an-environment": {"display_name": "jax (conda)", "name": "conda-env-jax-py"},
    "kernel-with-a-path": {"display_name": "x", "name": "../../../../tmp/kernel"},
    "kernel-without-a-name": {"display_name": "Python 3"},
    "kernel-no-object": "python3",
    "kernel-missing": None,
}
NAMES = {
    "Ada Lovelace": "Blanks.",
    "Žofia Łącka 雪 🐝": "Characters of other scripts.",
    "-rf": "A dash in front, as an option has it.",
    "--help": "An option of programs.",
    "a..b..": "Points.",
    "%2e%2e%2f%2e%2e%2fgradebook": "A way up, encoded.",
    "-..": "A way up behind a dash.",
    "Doe, Jane": "A comma.",
    "Quo\"te's; DROP TABLE grade;--": "Quotes.",
    "=1+1": "A formula.",
    "@SUM(A1:A9)": "Another formula.",
    "<img src=x onerror=corpus_ran()>": "Markup.",
    "{{ config }}": "A template's text.",
    "two\nlines": "A line's end.",
    "$(touch jaxbits-corpus-was-here)": "A shell's command.",
    "caf\udce9": "A byte that is no UTF-8.",
    "index": "What the feedback's overview may be called.",
    "x" * 240: "As long as a name may be.",
    "Jos\u00e9": "One character.",
    "Jose\u0301": "The same name, in two characters.",
}


def _data(notebook: Any) -> bytes:
    return json.dumps(notebook).encode()


def _files(builder: SubmissionBuilder) -> Iterator[tuple[str, str, dict[str, bytes]]]:
    right, blank, name = _data(builder.right()), _data(builder.blank()), builder.assignment.name
    yield "copy-of", "A copy as Drive calls it.", {f"Copy of {name}.ipynb": right}
    yield "downloaded-again", "A copy as a browser calls it.", {f"{name} (1).ipynb": right}
    yield "capitals", "An ending in capitals.", {f"{name}.IPYNB": right}
    yield "called-otherwise", "Another name.", {"final FINAL v2 (mine).ipynb": right}
    yield (
        "checkpoints",
        "Checkpoints and a Mac's shadow files.",
        {
            f"{name}.ipynb": right,
            f".ipynb_checkpoints/{name}-checkpoint.ipynb": blank,
            f"._{name}.ipynb": b"\0\x05\x16\x07\0\2\0\0Mac OS X",
            "__MACOSX/._other.ipynb": b"\0\x05\x16\x07",
            ".DS_Store": b"\0\0\0\1Bud1",
        },
    )


def _two(builder: SubmissionBuilder) -> dict[str, bytes]:
    name = builder.assignment.name
    return {f"{name}.ipynb": _data(builder.right()), f"{name} (1).ipynb": _data(builder.right())}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for student, what, files in _files(builder):
        core = student in ("copy-of", "downloaded-again", "checkpoints")
        statuses = FINE | {"unreadable"} if student == "capitals" else FINE
        yield Submission(student, "renamed", what, files, statuses, builder.full, core=core)
    either = frozenset({"flagged", "unreadable"})
    what = "Two notebooks in a folder."
    yield Submission(
        "two-notebooks", "renamed", what, _two(builder), either, builder.full, (r"\S",), core=True
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
        builder.full,
        (r"\S",),
    )
    for student, kernel in KERNELS.items():
        notebook = json.loads(_data(builder.right()))
        if kernel is None:
            notebook["metadata"] = {}
        else:
            notebook["metadata"]["kernelspec"] = kernel
        core = student in ("kernel-r", "kernel-with-a-path", "kernel-missing")
        what = "Another kernel."
        yield Submission(student, "renamed", what, _data(notebook), FINE, builder.full, core=core)
    notebook = builder.right()
    notebook.metadata.language_info = {"name": "julia", "file_extension": ".jl"}
    yield Submission("language-julia", "renamed", "Another language.", notebook, FINE, builder.full)

    for student, what in NAMES.items():
        content: Content = _data(builder.right())
        core = student in ("Ada Lovelace", "-rf", "=1+1", "%2e%2e%2f%2e%2e%2fgradebook", "x" * 240)
        live = (r"<img src=x onerror=corpus_ran",) if student.startswith("<img") else ()
        if _writable(student):
            yield Submission(
                student, "names", what, content, FINE, builder.full, live=live, core=core
            )


def _writable(student: str) -> bool:
    """Return True if file names are arbitrary bytes here, as on Linux."""
    return os.name == "posix" and (os.uname().sysname == "Linux" or "\udce9" not in student)
