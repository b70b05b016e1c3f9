"""Log every error that ends a cell.

This program runs in a chapter's kernel as an IPython startup file. For each error, it appends one
line of JSON to the file that the environment variable ``JAXBITS_PROBE`` names. The line contains
the names of the error's class, the message, and the sharp bits that `jaxbits.explain` finds. If
`jaxbits.explain` itself raises an error, the program logs that error, which never reaches the
notebook.
"""

from __future__ import annotations


def _start() -> None:
    import json
    import os
    from typing import Any

    from IPython import get_ipython

    def explain_error(error: BaseException) -> list[str] | str:
        try:
            from jaxbits._explain import explain

            return [bit.id for bit in explain(error).bits]
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}"

    def class_names(error: BaseException) -> list[str]:
        """Return the names by which a chapter may announce the error's class.

        `jax.errors` exports some classes under a different name, such as JaxRuntimeError:
        https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/errors.py
        """
        import sys

        errors = sys.modules.get("jax.errors")
        public = [n for n, c in vars(errors).items() if c is type(error)] if errors else []
        return [type(error).__name__, *(n for n in public if n != type(error).__name__)]

    def log_error(result: Any) -> None:
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            return
        line = {
            "names": class_names(error),
            "message": str(error),
            "explained": explain_error(error),
        }
        with open(os.environ["JAXBITS_PROBE"], "a", encoding="utf8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    shell = get_ipython()
    if shell is not None:
        shell.events.register("post_run_cell", log_error)


_start()
del _start
