"""Run an assignment with its solution, and record the values that its tests expect.

``python -m jaxbits_grader.judging.solution_values VALUES.json`` reads a list of cells from standard
input as JSON. Each is a dictionary with the keys `id`, `source`, and `test` (the grade_id if
the cell is a test to record, or None). No student's code runs in this process.
"""

from __future__ import annotations

import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any

from jaxbits_grader.authoring.answer_runner import run_cell
from jaxbits_grader.judging import comparisons


def record_values(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Run the cells, and return what each test expects, keyed by its grade_id.

    Raises:
        RuntimeError: If a cell raises an error.
    """
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    found = {}
    for cell in cells:
        comparisons.start()
        outcome = run_cell(cell["source"], vars(main), f"<{cell['id']}>")
        if outcome and "error" in outcome:
            error = f"{outcome['error']}: {outcome['message']}"
            raise RuntimeError(f"{cell['id']} fails with the solution: {error}")
        if cell["test"]:
            found[cell["test"]] = json.loads(comparisons.take("expected"))
    return found


def main() -> int:
    """Record the values of the cells from standard input, and return exit status 0."""
    warnings.simplefilter("ignore")
    found = record_values(json.load(sys.stdin))
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
