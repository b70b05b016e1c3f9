"""Run the answers to an assignment in a fresh process, and record what each test cell does.

``python -P answer_runner.py OUTCOME.json`` reads the cells and answers from standard input as JSON
and writes the outcomes to ``OUTCOME.json``. The script needs only IPython and jaxbits, so authors
can try an assignment in an environment with a different version of JAX. For the same reason, it
runs as a file and imports nothing from the grader.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import sys
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

_MAX_CHARACTERS = 400


def run_cell(source: str, namespace: dict[str, Any], name: str) -> dict[str, str] | None:
    """Run a cell and return its error or its stderr output, or None if it produces neither."""
    # inspect.getsource and tracebacks look up source code in this cache, so adding the cell makes
    # them work as they do in a notebook.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(stderr), contextlib.redirect_stdout(io.StringIO()):
            exec(_compile_cell(source, name), namespace)
    except BaseException as error:
        frames = reversed(traceback.extract_tb(error.__traceback__))
        line = next((frame.lineno for frame in frames if frame.filename == name), 0)
        message = str(error).strip()[:_MAX_CHARACTERS]
        return {"error": type(error).__name__, "message": message, "line": str(line)}
    return {"stderr": stderr.getvalue()[:_MAX_CHARACTERS]} if stderr.getvalue() else None


def _compile_cell(source: str, name: str) -> types.CodeType:
    from IPython.core.inputtransformer2 import TransformerManager

    tree = ast.parse(TransformerManager().transform_cell(source), filename=name)
    return compile(tree, name, "exec")


def run_answers(cells: list[dict[str, Any]], answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run a notebook, and then each answer with the tests of its task.

    Each answer starts with the notebook's namespace as it was just before the answer cell ran.

    Args:
        cells: The code cells in order. Each is a dictionary with the keys `id`, `source`, `task`
            (the id of the task, or None if the cell is neither an answer nor a test), and
            `solution` (a bool).
        answers: The answers. Each is a dictionary with the keys `task`, `source`, and `wrong` (a
            bool). A wrong answer's run stops at the first failure.

    Returns:
        A list of dictionaries: one for the notebook, followed by one for each answer. Each
        dictionary maps cell ids to outcomes. An outcome is None if nothing went wrong. Otherwise,
        it is a dictionary with the keys `error`, `message`, and `line` if the cell raised an
        exception, or with the key `stderr` if the cell only wrote to stderr.
    """
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    namespace = vars(main)
    before: dict[str, dict[str, Any]] = {}
    own: dict[str, Any] = {}
    for cell in cells:
        if cell["solution"]:
            before[cell["id"]] = dict(namespace)
        own[cell["id"]] = run_cell(cell["source"], namespace, f"<{cell['id']}>")
    results = [own]
    complete = dict(namespace)
    for number, answer in enumerate(answers):
        # If an answer ends the process, the caller identifies it by the last number printed.
        print(number, file=sys.__stdout__, flush=True)
        namespace.clear()
        namespace.update(before[answer["task"]])
        results.append(_run_answer(cells, answer, namespace, number))
    namespace.clear()
    namespace.update(complete)
    return results


def _run_answer(
    cells: list[dict[str, Any]], answer: dict[str, Any], namespace: dict[str, Any], number: int
) -> dict[str, Any]:
    """Run the cells from an answer through its task's last test, skipping other tasks' cells."""
    first = next(i for i, cell in enumerate(cells) if cell["id"] == answer["task"])
    last = max(i for i, cell in enumerate(cells) if cell["task"] == answer["task"])
    outcomes: dict[str, Any] = {}
    for cell in cells[first : last + 1]:
        id = cell["id"]
        if cell["task"] not in (answer["task"], None):
            continue
        source = answer["source"] if id == answer["task"] else cell["source"]
        outcomes[id] = run_cell(str(source), namespace, f"<{id} {number}>")
        if answer["wrong"] and "error" in (outcomes[id] or {}):
            break
    return outcomes


def main() -> int:
    """Run the answers given on standard input, write their outcomes, and return exit status 0."""
    request = json.load(sys.stdin)
    warnings.simplefilter("default")
    results = run_answers(request["cells"], request["answers"])
    Path(sys.argv[1]).write_text(json.dumps(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
