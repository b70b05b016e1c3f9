"""Test that `audit` locates findings in notebook cells and detects globals that cells change."""

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
    cells.insert(2, nbformat.v4.new_code_cell(CELLS[1]))  # Readers may run a cell twice.
    notebook = nbformat.v4.new_notebook(cells=cells)
    folder = str(tmp_path_factory.mktemp("notebook"))
    NotebookClient(
        notebook,
        timeout=120,
        resources={"metadata": {"path": folder}},
        kernel_manager_class=ChapterKernel,
    ).execute()
    return [cell.outputs for cell in notebook.cells]


def printed_text(outputs):
    return "".join(output.text for output in outputs if output.output_type == "stream")


def read_findings(outputs):
    return json.loads(printed_text(outputs))["findings"]


def read_findings_by_check(outputs):
    return {finding["check"]: finding for finding in read_findings(outputs)}


def test_audit_locates_findings_by_cell_and_line(outputs):
    assert {
        (f["check"], f["place"]["line"], f["place"]["text"]) for f in read_findings(outputs[4])
    } == {
        ("out_of_bounds", 4, "return x[i] * rate * fixed"),
        ("leak", 2, "kept.append(x)"),
        ("side_effect", 3, "print(x)"),
        ("transfer", 3, "print(x)"),
    }
    assert "    In[4]:3  print(x)" in printed_text(outputs[5])


def test_audit_reports_global_changed_in_another_cell(outputs):
    finding = read_findings_by_check(outputs[7])
    assert "`rate`" in finding["stale_global"]["message"]
    assert [f["check"] for f in read_findings(outputs[7])].count("stale_global") == 1
    assert not any("`fixed`" in f["message"] for f in read_findings(outputs[7]))


def test_audit_report_displays_as_html(outputs):
    (shown,) = outputs[8]
    assert "In[4]:3" in shown.data["text/html"]
    assert "ipykernel" not in shown.data["text/html"]
    assert shown.data["text/plain"].startswith("2 errors, 2 warnings by ")


def test_audit_does_not_wait_for_input(outputs):
    assert "EOFError: `input` has nothing to read" in printed_text(outputs[9])
    assert "`input` runs only while JAX traces the function [side_effect]" in printed_text(
        outputs[9]
    )


def test_audit_obeys_ignore_comment_in_cell(outputs):
    assert printed_text(outputs[10]).startswith("nothing found by ")


def test_audit_works_in_cell_with_magic(outputs):
    assert printed_text(outputs[11]).endswith("False\n")
