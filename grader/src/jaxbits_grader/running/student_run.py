"""The rehearsal: the notebook without hidden tests, whose outputs the student may see."""

from __future__ import annotations

import copy

import nbformat
from nbformat import NotebookNode

from jaxbits_grader.running.kernel_client import RunEnded
from jaxbits_grader.running.kernel_launcher import started
from jaxbits_grader.running.limits import Limits


def rehearse(notebook: NotebookNode, limits: Limits, *, unsafe: bool = False) -> NotebookNode:
    """Run a repaired notebook whose test cells are those of the release.

    Its kernel never gets a hidden test, so nothing it puts out can hold one.

    Args:
        notebook: the student's cells, the release's tests; it is not changed.
        limits: what it may use.
        unsafe: without the sandbox.

    Returns:
        The notebook with its outputs; where it broke off, the cell says why.
    """
    notebook = copy.deepcopy(notebook)
    cell = None
    try:
        with started(limits, unsafe=unsafe) as kernel:
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    done = kernel.run(cell.source)
                    cell.outputs = done.outputs
                    if done.interrupted:
                        cell.outputs.append(_said(f"stopped after {limits.cell_seconds:g} s"))
    except RunEnded as reason:
        if cell is not None and cell.cell_type == "code":
            cell.outputs.append(_said(f"the run broke off here: {reason}"))
    return notebook


def _said(text: str) -> NotebookNode:
    output: NotebookNode = nbformat.v4.new_output("stream", name="stdout", text=f"[{text}]\n")
    return output
