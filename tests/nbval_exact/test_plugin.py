"""Test the plugin by running pytest on notebooks with known results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbval_exact.plugin import IS_EXACT

from book_tools.chapters.chapter_files import METADATA, notebook_text
from book_tools.project_metadata import ROOT

PLUGINS = ["nbval_exact.plugin", "pytest_plugins.slow_first"]


def run_pytest(folder: Path, *arguments: str) -> str:
    """Run pytest in a folder with both plugins loaded, and return its output."""
    paths = os.pathsep.join(str(folder) for folder in (ROOT, ROOT / "tests"))
    plugins = [word for name in PLUGINS for word in ("-p", name)]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "--color=no", "-rA", "-p", "no:cacheprovider"),
            *(*plugins, *arguments, "."),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def write_notebook(path: Path, *cells: tuple[str, list[dict], int | None] | str) -> None:
    """Write a notebook with code cells (source, outputs, execution count) and Markdown cells."""
    notebook_cells = [
        new_markdown_cell(cell)
        if isinstance(cell, str)
        else new_code_cell(cell[0], outputs=cell[1], execution_count=cell[2])
        for cell in cells
    ]
    path.write_text(notebook_text(new_notebook(cells=notebook_cells, metadata=METADATA)))


DISPLAY_PNG = "from IPython.display import display\ndisplay({'image/png': 'AAAA'}, raw=True)"

CHECK_CELL = """\
def check(id, answer):
    print("✓ pairs/1: a pair" if answer(1) == (1, 1) else "○ pairs/1: no pair")
"""
STUB_CELL = """\
def pair(x):
    return None


check("pairs/1", pair)"""
FOLDED_SOLUTION = """\
<details class="solution"><summary>Solution</summary>
<pre><code>{}
</code></pre></details>"""
SOLUTIONS = {
    "a-right": ("def pair(x):\n    &#10;    return (x, x) if 1 &lt; 2 else x", "PASSED"),
    "b-wrong": ("def pair(x):\n    return x", "FAILED"),
    "c-undefined-name": ("def pair(x: Any):\n    return x, x", "FAILED"),
    "d-prints-more": ("print(1)\ndef pair(x):\n    return x, x", "FAILED"),
    "e-needs-a-later-cell": ("def pair(x):\n    return x, LATER", "PASSED"),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of one pytest run on notebooks with wrong outputs or folded solutions."""
    folder = tmp_path_factory.mktemp("notebooks")
    write_notebook(
        folder / "01-a.ipynb",
        ("1 + 1", [new_output("execute_result", {"text/plain": "2"}, execution_count=1)], 1),
        ("1 + 2", [new_output("display_data", {"text/plain": "3"})], 2),
        (DISPLAY_PNG, [new_output("display_data", {"image/svg+xml": "<svg/>"})], 3),
    )
    write_notebook(folder / "02-b.ipynb", ("x = 1", [], None))
    printed_by_stub = new_output("stream", name="stdout", text="○ pairs/1: no pair\n")
    for name, (solution, _) in SOLUTIONS.items():
        write_notebook(
            folder / f"{name}.ipynb",
            (CHECK_CELL, [], 1),
            (STUB_CELL, [printed_by_stub], 2),
            FOLDED_SOLUTION.format(solution),
            ("LATER = 1", [], 3),
        )
    return run_pytest(folder, "--nbval", "--continue-on-collection-errors")


def test_exact_cell_fails_for_changed_outputs(report: str) -> None:
    assert "PASSED 01-a.ipynb::Cell 0" in report
    assert "FAILED 01-a.ipynb::Cell 1" in report
    assert "outputs: stored ['display_data'], now ['execute_result']" in report
    assert "If the new outputs are right: make chapter NAME=01-a" in report
    if IS_EXACT:
        assert "notebooks: outputs are compared exactly" in report
        assert "kinds of data: stored ['image/svg+xml'], now ['image/png']" in report
        assert "5 failed, 18 passed, 1 error" in report
    else:
        assert "so only kinds of outputs and classes of errors are compared" in report
        assert "4 failed, 19 passed, 1 error" in report


def test_exact_notebook_rejects_unexecuted_cells(report: str) -> None:
    assert "code cell 1 was stored without being executed; run: make chapter NAME=02-b" in report


def test_pasted_solution_must_pass_check(report: str) -> None:
    for name, (_, verdict) in SOLUTIONS.items():
        assert f"{verdict} {name}.ipynb::Solution 1" in report
    assert "It prints:\n○ pairs/1: no pair" in report
    assert "name 'Any' is not defined" in report


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--nbval-lax"], ["--nbval", "-n", "2"]], ids=" ".join)
def test_nbval_runs_notebooks_without_other_options(tmp_path: Path, arguments: list[str]) -> None:
    stored = "4" if "--nbval-lax" in arguments else "3"
    for name in ("01-a", "02-b"):
        write_notebook(
            tmp_path / f"{name}.ipynb",
            ("x = 1", [], 1),
            ("y = x + 1", [], 2),
            ("x + y", [new_output("execute_result", {"text/plain": stored}, execution_count=3)], 3),
        )
    assert "6 passed" in run_pytest(tmp_path, *arguments)
