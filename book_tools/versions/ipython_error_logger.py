"""Note every error that a cell ends in; runs in a chapter's kernel, as an IPython start-up file.

For each error one JSON line is appended to the file that ``JAXBITS_PROBE`` names: the class, its
names, the message, and what `jaxbits.explain` makes of it there. Errors of the probe are noted too,
as an explanation that failed, and never reach the notebook.
"""

from __future__ import annotations


def _start() -> None:
    import json
    import os
    from typing import Any

    from IPython import get_ipython

    def ranked(error: BaseException) -> list[str] | str:
        try:
            from jaxbits._explain import explain

            return [bit.id for bit in explain(error).bits]
        except Exception as trouble:
            return f"{type(trouble).__name__}: {trouble}"

    def names(error: BaseException) -> list[str]:
        """Return the names by which a chapter may call the error's class.

        `jax.errors` names some classes otherwise than they name themselves.
        """
        import sys

        errors = sys.modules.get("jax.errors")
        public = [n for n, c in vars(errors).items() if c is type(error)] if errors else []
        return [type(error).__name__, *(n for n in public if n != type(error).__name__)]

    def note(result: Any) -> None:
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            return
        line = {"names": names(error), "message": str(error), "explained": ranked(error)}
        with open(os.environ["JAXBITS_PROBE"], "a", encoding="utf8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    shell = get_ipython()
    if shell is not None:
        shell.events.register("post_run_cell", note)


_start()
del _start
