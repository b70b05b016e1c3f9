"""Run a submission without the hidden tests to get outputs for the feedback page."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from jaxbits_grader.notebook import ParsedNotebook
from jaxbits_grader.running.kernel_client import RunEnded
from jaxbits_grader.running.kernel_launcher import launch_kernel
from jaxbits_grader.running.limits import Limits


def run_without_hidden_tests(
    notebook: ParsedNotebook,
    limits: Limits,
    *,
    unsafe: bool = False,
    cache: Path | None = None,
    own_names: Collection[str] = (),
) -> NotebookNode:
    """Run a repaired notebook with only the visible tests.

    The kernel never receives a hidden test, so no output can contain one.

    Args:
        notebook: The repaired notebook.
        limits: The resources that the run may use.
        unsafe: Whether to run the notebook outside the sandbox.
        cache: The folder in which judges keep compiled programs, or None.
        own_names: The names of functions in the assignment and its tests, whose programs no kernel
            may read.

    Returns:
        The notebook with its outputs. If the run ended early, the outputs of the last cell to
        start say why.

    Raises:
        KernelNotStarted: If no kernel could be started.
    """
    executed = notebook.to_nbformat()
    cell = None
    try:
        with launch_kernel(limits, unsafe=unsafe, cache=cache, own_names=own_names) as kernel:
            for cell in executed.cells:
                if cell.cell_type == "code":
                    result = kernel.run_cell(cell.source)
                    cell.outputs = result.outputs
                    if result.interrupted:
                        cell.outputs.append(_note(f"stopped after {limits.cell_seconds:g} s"))
    except RunEnded as reason:
        if cell is not None and cell.cell_type == "code":
            cell.outputs.append(_note(f"the run ended here: {reason}"))
    return executed


def _note(text: str) -> NotebookNode:
    output: NotebookNode = nbformat.v4.new_output("stream", name="stdout", text=f"[{text}]\n")
    return output
