"""The pytest plugins, in a pytest of their own: what passes elsewhere fails here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from strict.plugin import EXACT

from book_tools.chapters.chapter_files import METADATA, notebook_text
from book_tools.project_metadata import ROOT


def run(folder: Path, *arguments: str, **variables: str) -> str:
    """Run pytest on a folder with both plugins; returns what it said."""
    paths = os.pathsep.join(str(folder) for folder in (ROOT, ROOT / "tests"))
    environment = {k: v for k, v in os.environ.items() if k != "JAXBITS_NO_SKIP"}
    plugins = ["-p", "strict.plugin", "-p", "strict.no_skip", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--color=no", "-rA", *plugins, *arguments, "."],
        cwd=folder,
        env=environment | variables | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def notebook(*cells: tuple[str, list[dict], int | None]) -> str:
    """A notebook of code cells: source, outputs, execution count."""
    made = [new_code_cell(s, outputs=o, execution_count=n) for s, o, n in cells]
    return notebook_text(new_notebook(cells=made, metadata=METADATA))


def test_nbval_compares_strictly(tmp_path: Path) -> None:
    display = "from IPython.display import display\ndisplay({'image/png': 'AAAA'}, raw=True)"
    (tmp_path / "01-a.ipynb").write_text(
        notebook(
            ("1 + 1", [new_output("execute_result", {"text/plain": "2"}, execution_count=1)], 1),
            ("1 + 2", [new_output("display_data", {"text/plain": "3"})], 2),
            (display, [new_output("display_data", {"image/svg+xml": "<svg/>"})], 3),
        )
    )
    (tmp_path / "02-b.ipynb").write_text(notebook(("x = 1", [], None)))
    said = run(tmp_path, "--nbval", "--nbval-current-env", "--continue-on-collection-errors")
    assert "PASSED 01-a.ipynb::Cell 0" in said
    assert "FAILED 01-a.ipynb::Cell 1" in said
    assert "outputs: stored ['display_data'], now ['execute_result']" in said
    assert "If the new outputs are right: make chapter NAME=01-a" in said
    assert "code cell 1 was stored without being run; run: make chapter NAME=02-b" in said
    if EXACT:
        assert "notebooks: outputs are compared exactly" in said
        assert "kinds of data: stored ['image/svg+xml'], now ['image/png']" in said
        assert "2 failed, 1 passed, 1 error" in said
    else:
        assert "so only kinds of outputs and classes of errors are compared" in said
        assert "1 failed, 2 passed, 1 error" in said


CHECK = """\
def check(id, answer):
    print("✓ pairs/1: a pair" if answer(1) == (1, 1) else "○ pairs/1: no pair")
"""
STUB = """\
def pair(x):
    return None


check("pairs/1", pair)"""
FOLDED = """\
<details class="solution"><summary>Solution</summary>
<pre><code>{}
</code></pre></details>"""


def test_a_solution_that_is_pasted_into_its_notebook_must_pass(tmp_path: Path) -> None:
    solutions = {
        "a-right": ("def pair(x):\n    &#10;    return (x, x) if 1 &lt; 2 else x", "PASSED"),
        "b-wrong": ("def pair(x):\n    return x", "FAILED"),
        "c-name": ("def pair(x: Any):\n    return x, x", "FAILED"),
        "d-talks": ("print(1)\ndef pair(x):\n    return x, x", "FAILED"),
        "e-later": ("def pair(x):\n    return x, LATER", "PASSED"),
    }
    said_of_stub = new_output("stream", name="stdout", text="○ pairs/1: no pair\n")
    for name, (solution, _) in solutions.items():
        cells = [
            new_code_cell(CHECK, execution_count=1),
            new_code_cell(STUB, execution_count=2, outputs=[said_of_stub]),
            new_markdown_cell(FOLDED.format(solution)),
            new_code_cell("LATER = 1", execution_count=3),
        ]
        made = new_notebook(cells=cells, metadata=METADATA)
        (tmp_path / f"{name}.ipynb").write_text(notebook_text(made))
    said = run(tmp_path, "--nbval", "--nbval-current-env")
    for name, (_, verdict) in solutions.items():
        assert f"{verdict} {name}.ipynb::Solution 1" in said
    assert "3 failed, 17 passed" in said
    assert "It prints:\n○ pairs/1: no pair" in said
    assert "name 'Any' is not defined" in said


SKIPS = """
import pytest

@pytest.mark.skip(reason="not today")
def test_marked(): ...

def test_called(): pytest.skip("no browser")

@pytest.mark.xfail(reason="known")
def test_expected(): assert False

def test_fine(): ...
"""


def test_skips_are_skips(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(SKIPS)
    assert "1 passed, 2 skipped, 1 xfailed" in run(tmp_path)


def test_with_the_variable_every_skip_has_failed(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(SKIPS)
    module = "import pytest\npytest.skip('all', allow_module_level=True)\n"
    (tmp_path / "test_b.py").write_text(module)
    said = run(tmp_path, "--continue-on-collection-errors", JAXBITS_NO_SKIP="1")
    assert "2 failed, 1 passed, 2 errors" in said
    for reason in ("not today", "no browser", "known", "all"):
        expected = f"JAXBITS_NO_SKIP is set, and this was skipped: {reason}"
        assert expected in said.replace("Skipped: ", "")


def test_what_a_test_leaves_replaced_fails_it_and_not_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "test_leftovers.py").write_text(
        "import numpy as np\n"
        "def test_leaves():\n    np.allclose = print\n"
        "def test_puts_back(monkeypatch):\n    monkeypatch.setattr(np, 'allclose', print)\n"
        "def test_next():\n    assert np.allclose(1, 1)\n"
        "import jax, os\n"
        "def test_switches():\n    jax.config.update('jax_debug_nans', True)\n"
        "def test_sets(tmp_path):\n    os.environ['LEFT'] = '1'\n    del os.environ['HOME']\n"
        "def test_goes(tmp_path):\n    os.chdir(tmp_path)\n"
    )
    said = run(tmp_path, "-p", "untouched")
    assert "ERROR test_leftovers.py::test_leaves" in said
    assert "not put back: [('numpy', 'allclose')]" in said
    assert "not back: {'jax_debug_nans': (False, True)}" in said
    assert "not back: {'$HOME': " in said
    assert "this test has left" in said
    assert "6 passed, 4 errors" in said
