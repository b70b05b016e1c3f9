"""The notebook extension, which explains JAX errors below the traceback (``%load_ext jaxbits``)."""

from __future__ import annotations

from typing import Any

from jaxbits._explain import explain

_EVENT = "post_run_cell"


def load_ipython_extension(shell: Any) -> None:
    """Start explaining JAX errors in this notebook (``%load_ext jaxbits``).

    IPython calls this function with its shell when the user runs ``%load_ext jaxbits``.
    """
    # ``%reload_ext`` calls this function again, and some versions of IPython would then register
    # the callback twice:
    # https://github.com/ipython/ipython/blob/9.18.1/IPython/core/events.py
    unload_ipython_extension(shell)
    shell.events.register(_EVENT, _explain_error)


def unload_ipython_extension(shell: Any) -> None:
    """Stop explaining errors (``%unload_ext jaxbits``)."""
    if _explain_error in shell.events.callbacks[_EVENT]:
        shell.events.unregister(_EVENT, _explain_error)


def _explain_error(result: Any) -> None:
    """Explain the error that a cell raised if the book covers it."""
    # IPython has already shown the traceback. It passes the exception to this callback as part of
    # the cell's result. `error_before_exec` is set if the cell did not start, for example because
    # of a syntax error: https://github.com/ipython/ipython/blob/9.18.1/IPython/core/interactiveshell.py
    error = result.error_in_exec or result.error_before_exec
    if error is None:
        return
    try:
        explanation = explain(error)
    # If this function raised an error, IPython would print a second traceback, and the reader would
    # have to guess which of the two belongs to the cell.
    except Exception as failure:
        print(f"jaxbits could not explain this error ({type(failure).__name__}: {failure}).")
        return
    if explanation:
        print(explanation)
