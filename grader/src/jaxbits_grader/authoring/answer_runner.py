"""Try answers of an assignment in one fresh process: what each test cell says to each of them.

Reads a trial as JSON from its standard input and writes the outcomes to the file it is given:
``python -P answer_runner.py OUTCOME.json``. It needs IPython and jaxbits alone, so that an
assignment can be tried on another environment's JAX.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import traceback
import types
import warnings
from pathlib import Path
from typing import Any


def _run(source: str, namespace: dict[str, Any], name: str) -> None:
    from IPython.core.inputtransformer2 import TransformerManager

    tree = ast.parse(TransformerManager().transform_cell(source), filename=name)
    exec(compile(tree, name, "exec"), namespace)


def _outcome(source: str, namespace: dict[str, Any], name: str) -> dict[str, str] | None:
    """What a cell raises, None when it passes; what it prints to stderr is in ``stderr``."""
    heard = io.StringIO()
    try:
        with contextlib.redirect_stderr(heard), contextlib.redirect_stdout(io.StringIO()):
            _run(source, namespace, name)
    except BaseException as error:
        line = next(
            (
                f.lineno
                for f in reversed(traceback.extract_tb(error.__traceback__))
                if f.filename == name
            ),
            0,
        )
        says = str(error).strip()
        return {"error": type(error).__name__, "says": says[:400], "line": str(line)}
    return {"stderr": heard.getvalue()[:400]} if heard.getvalue() else None


def _in_notebook(cell: dict[str, Any], answer: dict[str, Any]) -> str:
    return str(answer["source"] if cell["id"] == answer["task"] else cell["source"])


def _register(name: str, source: str) -> None:
    """Let inspect and tracebacks find the text of a cell, as they do in a notebook."""
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def try_answers(cells: list[dict[str, Any]], answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run a notebook's cells, and each answer with the tests of its task from where it stands.

    Args:
        cells: the code cells in order: id, source, task (of a solution or test), solution or not.
        answers: task, source, wrong; of a wrong one the first failure ends it.

    Returns:
        For the cells themselves, then for each answer: the outcome of every cell run, by id.
    """
    shell = types.ModuleType("__main__")
    sys.modules["__main__"] = shell
    namespace = vars(shell)
    before: dict[str, dict[str, Any]] = {}
    own: dict[str, Any] = {}
    for cell in cells:
        if cell["solution"]:
            before[cell["id"]] = dict(namespace)
        name = f"<{cell['id']}>"
        _register(name, cell["source"])
        own[cell["id"]] = _outcome(cell["source"], namespace, name)
    results = [own]
    complete = dict(namespace)
    for number, answer in enumerate(answers):
        print(number, file=sys.__stdout__, flush=True)  # should it be the last one
        namespace.clear()
        namespace.update(before[answer["task"]])
        ids = [cell["id"] for cell in cells]
        last = max(i for i, cell in enumerate(cells) if cell["task"] == answer["task"])
        outcomes = {}
        for cell in cells[ids.index(answer["task"]) : last + 1]:
            if cell["task"] not in (answer["task"], None):
                continue
            source = _in_notebook(cell, answer)
            name = f"<{cell['id']} {number}>"
            _register(name, source)
            outcomes[cell["id"]] = _outcome(source, namespace, name)
            if answer["wrong"] and "error" in (outcomes[cell["id"]] or {}):
                break  # that is all there is to prove of it
        results.append(outcomes)
    namespace.clear()
    namespace.update(complete)
    return results


def main() -> int:
    """Try what stands on the standard input; returns the exit status."""
    trial = json.load(sys.stdin)
    warnings.simplefilter("default")
    results = try_answers(trial["cells"], trial["answers"])
    Path(sys.argv[1]).write_text(json.dumps(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
