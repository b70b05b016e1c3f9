"""The notebook extension, which explains JAX errors below the traceback (``%load_ext jaxbits``)."""

from __future__ import annotations

from typing import Any

from jaxbits._explain import explain

_EVENT = "post_run_cell"


def load_ipython_extension(shell: Any) -> None:
    """Explain every JAX error in the notebook from now on (``%load_ext jaxbits``).

    IPython calls this function with its shell, once for each ``%load_ext``.
    """
    # ``%reload_ext`` calls this function again, and not every version of IPython ignores a callback
    # that is registered: https://github.com/ipython/ipython/blob/9.18.1/IPython/core/events.py
    unload_ipython_extension(shell)
    shell.events.register(_EVENT, _explain_error)


def unload_ipython_extension(shell: Any) -> None:
    """Stop explaining errors (``%unload_ext jaxbits``)."""
    if _explain_error in shell.events.callbacks[_EVENT]:
        shell.events.unregister(_EVENT, _explain_error)


def _explain_error(result: Any) -> None:
    """Print the explanation of a cell's error if the book knows the error."""
    # IPython has already shown the traceback, and it passes the exception to this event in the
    # cell's result. `error_before_exec` is set if the cell did not start, for example because of a
    # syntax error: https://github.com/ipython/ipython/blob/9.18.1/IPython/core/interactiveshell.py
    error = result.error_in_exec or result.error_before_exec
    if error is None:
        return
    try:
        explanation = explain(error)
    # IPython would print the traceback of an error in this function, and the reader would have to
    # guess which of the two tracebacks is about the cell.
    except Exception as failure:
        print(f"jaxbits could not explain this error ({type(failure).__name__}: {failure}).")
        return
    if explanation:
        print(explanation)
