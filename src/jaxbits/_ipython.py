"""The notebook extension: after a JAX error, say which sharp bit it is.

The error itself is shown by the notebook as always; what is printed here comes below it.
"""

from __future__ import annotations

from typing import Any

from jaxbits._explain import explain


def after_cell(result: Any) -> None:
    """Print the explanation of the cell's error, if it has one that the book knows."""
    error = result.error_in_exec or result.error_before_exec
    if error is None:
        return
    # An explanation that goes wrong must not hide the error it was to explain.
    try:
        explanation = explain(error)
    except Exception as trouble:
        print(f"jaxbits could not explain this error ({type(trouble).__name__}: {trouble}).")
        return
    if explanation:
        print(explanation)


def start(shell: Any) -> None:
    """Register the extension with an IPython shell; twice is as good as once."""
    stop(shell)
    shell.events.register("post_run_cell", after_cell)


def stop(shell: Any) -> None:
    """Take the extension out of an IPython shell; nothing happens if it was not there."""
    if after_cell in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", after_cell)
