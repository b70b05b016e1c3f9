"""Honest submissions, such as right, partial, and blank ones, and a notebook saved by Colab."""

from __future__ import annotations

import json
from collections.abc import Iterator

import nbformat
from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.authoring.notebook_versions import solution_notebook

from corpus.expected import GRADED, GRADED_OR_FLAGGED, Submission
from corpus.submission_builder import (
    SubmissionBuilder,
    cell_by_grade_id,
    dedent,
    description,
    graded_cells,
)

STDERR = {
    "jax-warns": """
        # A right answer for which JAX warns on stderr that float64 is not available.
        import jax.numpy as jnp
        unused = jnp.arange(3, dtype="float64")
    """,
    "prints-to-stderr": """
        # A right answer that prints to stderr.
        import sys
        print("nearly done", file=sys.stderr)
    """,
    "warns": """
        # A right answer that issues a warning and logs an error.
        import logging, warnings
        warnings.warn("this is slow", stacklevel=1)
        logging.getLogger("mine").error("not an error")
    """,
    "stderr-by-descriptor": """
        # Writes to the file descriptor of stderr without going through sys.stderr.
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
        # Changes the path on which Python searches for modules.
        import sys
        sys.path.insert(0, "/content/drive/MyDrive")
        sys.path.append(".")
    """,
    "mounts-drive": """
        # Contains a cell that runs only in Colab.
        from google.colab import drive
        drive.mount("/content/drive")
    """,
    "installs": """
        # Installs packages, which fails without a network and must not hang.
        %pip install -q --retries 0 --timeout 1 left-pad-for-jax
        !pip --version
    """,
    "magics": """
        # Uses common magics.
        %load_ext autoreload
        %autoreload 2
        %time sum(range(10))
        %timeit -n1 -r1 sum(range(10))
    """,
    "explains": """
        # Loads the book's extension.
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
        # Has a cell of its own that is not valid Python.
        print "hello"
    """,
    "await-at-top": """
        # Awaits at the top level, as notebooks allow.
        import asyncio
        await asyncio.sleep(0.01)
    """,
}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    first, last = builder.tasks[0], builder.tasks[-1]

    def plain(
        student: str, summary: str, content: nbformat.NotebookNode, score: float
    ) -> Submission:
        return Submission(student, "plain", summary, content, GRADED, score, core=True)

    yield plain("right", "Answers every task right.", builder.right(), builder.full_score)
    yield plain("blank", "Answers nothing.", builder.blank(), 0.0)
    yield plain("wrong", "Its answers return None.", builder.wrong(), 0.0)
    for name, task in (("first-missing", first), ("last-missing", last)):
        stub = stub_source(builder.assignment.cell(task.id).source)
        notebook = solution_notebook(builder.assignment, {task.id: stub})
        yield plain(name, "Answers all tasks but one.", notebook, builder.full_score - task.total)
    notebook = solution_notebook(builder.assignment, {first.id: "def oops(:\n    return"})
    yield plain(
        "syntax-error",
        "One answer is not valid Python.",
        notebook,
        builder.full_score - first.total,
    )
    notebook = builder.insert(builder.right(), "# Ünïcode: grüße = 1 ☃ 𝛼\ngrüße = 1", at="start")
    builder.insert(notebook, "My answer, with $x^2$ and <b>bold</b>.", at=first.id, kind="markdown")
    yield plain(
        "own-cells", "Adds its own cells between the given ones.", notebook, builder.full_score
    )

    notebook = builder.blank()
    for cell in graded_cells(notebook):
        cell.execution_count = 7
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text="10 of 10 points\n")]
    yield plain(
        "old-outputs", "Claims in its stored outputs that every answer is right.", notebook, 0.0
    )

    neighbor = builder.insert(builder.right(), f"# {builder.secrets.other_text}", at="start")
    yield Submission(
        "neighbor",
        "plain",
        "Is the target of other submissions.",
        neighbor,
        GRADED,
        builder.full_score,
    )

    for name, text in STDERR.items():
        code = dedent(text)
        content = builder.extend(builder.right(), first, code)
        # The grader may flag a submission that starts a child process.
        statuses = GRADED_OR_FLAGGED if "subprocess" in code else GRADED
        core = name != "warns"
        yield Submission(
            name, "stderr", description(code), content, statuses, builder.full_score, core=core
        )
        # A test may rightly reject a function that prints, because the function is not pure.
        score = (builder.full_score - builder.first_function()[0].total, builder.full_score)
        content = builder.with_code_in_answer(code)
        yield Submission(
            f"{name}-when-called", "stderr", description(code), content, GRADED_OR_FLAGGED, score
        )

    for name, text in HARMLESS.items():
        code = dedent(text)
        content = builder.insert(builder.right(), code, at=first.id)
        yield Submission(
            name, "harmless", description(code), content, GRADED_OR_FLAGGED, builder.full_score
        )

    yield _colab(builder)


def _colab(builder: SubmissionBuilder) -> Submission:
    """Return a notebook as Colab saves it."""
    notebook = builder.right()
    notebook.metadata.colab = {"provenance": [], "toc_visible": True}
    notebook.metadata.accelerator = "GPU"
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    for number, cell in enumerate(notebook.cells):
        cell.metadata.id = f"Zx{number:08}"
        cell.metadata.colab = {"base_uri": "https://localhost:8080/"}
    task = builder.tasks[0]
    cell_by_grade_id(notebook, task.id).metadata.outputId = "8d0e-4c"
    data = json.dumps(notebook).encode()
    return Submission(
        "colab",
        "harmless",
        "Was saved by Colab.",
        data,
        GRADED_OR_FLAGGED,
        builder.full_score,
        core=True,
    )
