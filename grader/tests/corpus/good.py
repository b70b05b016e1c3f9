"""Submissions without malice: right, half, blank, with warnings, with what Colab and people add."""

from __future__ import annotations

import json
from collections.abc import Iterator

import nbformat
from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.authoring.notebook_versions import solution_notebook

from corpus.expected import FINE, GRADED, Submission
from corpus.submission_builder import Desk, by_id, clean, graded_cells, says

STDERR = {
    "jax-warns": """
        # A right answer that JAX warns of, on stderr: float64 is asked for and not given.
        import jax.numpy as jnp
        unused = jnp.arange(3, dtype="float64")
    """,
    "prints-to-stderr": """
        # A right answer that prints to stderr.
        import sys
        print("nearly done", file=sys.stderr)
    """,
    "warns": """
        # A right answer that warns by itself, and logs an error.
        import logging, warnings
        warnings.warn("this is slow", stacklevel=1)
        logging.getLogger("mine").error("not an error")
    """,
    "stderr-by-descriptor": """
        # Writes to the file descriptor of stderr, past Python.
        import os, subprocess
        os.write(2, b"from below")
        subprocess.run("echo from a child >&2", shell=True)
    """,
}

HARMLESS = {
    "changes-folder": """
        # Changes the working folder.
        import os
        os.makedirs("elsewhere", exist_ok=True)
        os.chdir("elsewhere")
        os.chdir("/")
    """,
    "changes-path": """
        # Changes where modules are looked for.
        import sys
        sys.path.insert(0, "/content/drive/MyDrive")
        sys.path.append(".")
    """,
    "mounts-drive": """
        # A cell that only runs in Colab.
        from google.colab import drive
        drive.mount("/content/drive")
    """,
    "installs": """
        # Installs packages, which cannot work without a network and must not hang.
        %pip install -q --retries 0 --timeout 1 left-pad-for-jax
        !pip --version
    """,
    "magics": """
        # Uses the magics that people use.
        %load_ext autoreload
        %autoreload 2
        %time sum(range(10))
        %timeit -n1 -r1 sum(range(10))
    """,
    "explains": """
        # Loads the book's own extension.
        %load_ext jaxbits
    """,
    "leaves-a-pickle": """
        # Leaves a pickle that runs a command when it is loaded.
        import os, pickle
        class Hostile:
            def __reduce__(self):
                return os.system, ("touch /tmp/jaxbits-corpus-was-here",)
        with open("results.pkl", "wb") as file:
            pickle.dump(Hostile(), file)
    """,
    "draws": """
        # Draws a figure.
        import matplotlib
        matplotlib.use("agg")
        import matplotlib.pyplot as plt
        plt.plot([1, 2, 3])
        plt.show()
    """,
    "typos-in-own-cells": """
        # Has a cell of its own that is no Python.
        print "hello"
    """,
    "await-at-top": """
        # Awaits at the top level, as notebooks allow.
        import asyncio
        await asyncio.sleep(0.01)
    """,
}


def submissions(desk: Desk) -> Iterator[Submission]:
    """Make them."""
    first, last = desk.tasks[0], desk.tasks[-1]

    def plain(student: str, what: str, content: nbformat.NotebookNode, score: float) -> Submission:
        return Submission(student, "plain", what, content, GRADED, score, core=True)

    yield plain("right", "Everything right.", desk.right(), desk.full)
    yield plain("blank", "Nothing done.", desk.blank(), 0.0)
    yield plain("wrong", "Answers that return nothing.", desk.wrong(), 0.0)
    for name, task in (("first-missing", first), ("last-missing", last)):
        stub = stub_source(desk.assignment.cell(task.id).source)
        notebook = solution_notebook(desk.assignment, {task.id: stub})
        yield plain(name, "All but one task.", notebook, desk.full - task.total)
    notebook = solution_notebook(desk.assignment, {first.id: "def oops(:\n    return"})
    yield plain("syntax-error", "An answer that is no Python.", notebook, desk.full - first.total)
    notebook = desk.insert(desk.right(), "# Ünïcode: grüße = 1 ☃ 𝛼\ngrüße = 1", at="start")
    desk.insert(notebook, "My answer, with $x^2$ and <b>bold</b>.", at=first.id, kind="markdown")
    yield plain("own-cells", "Cells of its own between those given.", notebook, desk.full)

    notebook = desk.blank()
    for cell in graded_cells(notebook):
        cell.execution_count = 7
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text="10 of 10 points\n")]
    yield plain("old-outputs", "Says in its stored outputs that all is right.", notebook, 0.0)

    neighbour = desk.insert(desk.right(), f"# {desk.secrets.other_text}", at="start")
    yield Submission(
        "neighbour", "plain", "Whom the others go after.", neighbour, GRADED, desk.full
    )

    for name, text in STDERR.items():
        code = clean(text)
        content = desk.extend(desk.right(), first, code)
        # To start a child is odd enough for a note.
        statuses = FINE if "subprocess" in code else GRADED
        core = name != "warns"
        yield Submission(name, "stderr", says(code), content, statuses, desk.full, core=core)
        # A test may rightly say that a function which prints is not pure.
        score = (desk.full - desk.function()[0].total, desk.full)
        content = desk.called(code)
        yield Submission(f"{name}-when-called", "stderr", says(code), content, FINE, score)

    for name, text in HARMLESS.items():
        code = clean(text)
        content = desk.insert(desk.right(), code, at=first.id)
        yield Submission(name, "harmless", says(code), content, FINE, desk.full)

    yield _colab(desk)


def _colab(desk: Desk) -> Submission:
    """A notebook as Colab saves it."""
    notebook = desk.right()
    notebook.metadata.colab = {"provenance": [], "toc_visible": True}
    notebook.metadata.accelerator = "GPU"
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    for number, cell in enumerate(notebook.cells):
        cell.metadata.id = f"Zx{number:08}"
        cell.metadata.colab = {"base_uri": "https://localhost:8080/"}
    task = desk.tasks[0]
    by_id(notebook, task.id).metadata.outputId = "8d0e-4c"
    data = json.dumps(notebook).encode()
    return Submission("colab", "harmless", "Saved by Colab.", data, FINE, desk.full, core=True)
