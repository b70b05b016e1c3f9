"""The audit in a notebook: places in cells, and globals that cells bind."""

from __future__ import annotations

import json

import nbformat
import pytest
from nbclient import NotebookClient

from book_tools.chapters.kernel import ChapterKernel

CELLS = [
    "import json, jax, jax.numpy as jnp\nfrom jaxbits import audit",
    "rate = 0.1\nfixed = 2.0\nkept = []",
    "def step(x, i):\n    kept.append(x)\n    print(x)\n    return x[i] * rate * fixed",
    "report = audit(step, jnp.arange(4.0), jnp.int32(9))\nprint(json.dumps(report.to_dict()))",
    "print(report)",
    "rate = 0.2",
    "print(json.dumps(audit(step, jnp.arange(4.0), jnp.int32(2)).to_dict()))",
    "report",
    "def asks(x):\n    return x * float(input())\nprint(audit(asks, 1.0))",
    "def quiet(x):\n    print(x)  # jaxbits: ignore[side_effect]\n    return x\n"
    "print(audit(quiet, 1.0))",
    "%time audit(quiet, 1.0)\nprint(audit(step, jnp.arange(4.0), jnp.int32(2)).to_dict()['ok'])",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    cells.insert(2, nbformat.v4.new_code_cell(CELLS[1]))  # a reader runs a cell twice
    notebook = nbformat.v4.new_notebook(cells=cells)
    folder = str(tmp_path_factory.mktemp("notebook"))
    NotebookClient(
        notebook,
        timeout=120,
        resources={"metadata": {"path": folder}},
        kernel_manager_class=ChapterKernel,
    ).execute()
    return [cell.outputs for cell in notebook.cells]


def text(outputs):
    return "".join(output.text for output in outputs if output.output_type == "stream")


def listed(outputs):
    return json.loads(text(outputs))["findings"]


def findings(outputs):
    return {found["check"]: found for found in listed(outputs)}


def test_places_are_lines_of_cells(outputs):
    assert {(f["check"], f["place"]["line"], f["place"]["text"]) for f in listed(outputs[4])} == {
        ("out_of_bounds", 4, "return x[i] * rate * fixed"),
        ("leak", 2, "kept.append(x)"),
        ("side_effect", 2, "kept.append(x)"),
        ("side_effect", 3, "print(x)"),
        ("transfer", 3, "print(x)"),
    }
    assert "    In[4]:3  print(x)" in text(outputs[5])


def test_a_global_that_another_cell_binds_anew_is_stale(outputs):
    found = findings(outputs[7])
    assert "`rate`" in found["stale_global"]["message"]
    assert [f["check"] for f in listed(outputs[7])].count("stale_global") == 1
    assert not any("`fixed`" in f["message"] for f in listed(outputs[7]))


def test_the_report_is_shown_as_html(outputs):
    (shown,) = outputs[8]
    assert "In[4]:3" in shown.data["text/html"]
    assert "ipykernel" not in shown.data["text/html"]
    assert shown.data["text/plain"].startswith("2 errors, 3 warnings by ")


def test_nobody_is_asked(outputs):
    assert "EOFError: `input` has nothing to read" in text(outputs[9])
    assert "`input` runs while tracing, and on no cached call [side_effect]" in text(outputs[9])


def test_a_line_of_a_cell_can_be_ignored(outputs):
    assert text(outputs[10]).startswith("nothing found by ")


def test_magics_do_not_confuse_it(outputs):
    assert text(outputs[11]).endswith("False\n")
