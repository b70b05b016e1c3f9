"""Find the notebook cell and the line in it that a reader sees, given IPython's file name."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

# IPython 7 and 8 name a cell `<ipython-input-3-0123456789ab>`. A kernel names it after a hash, as
# in `/tmp/ipykernel_42/123456.py`, and Colab may put the cell's number before the hash.
_CELL = r"(?:ipython-input-|ipykernel_\d+[\\/])[\w-]+"
_CELL_FILE = re.compile(rf"(?:<|[\w.~:\\/-]*[\\/]){_CELL}(?:>|\.py)")
_NUMBER = re.compile(r"ipython-input-(\d+)-")
# All cells with the magic `%%time` have the same file name.
_TIMED = {"<timed exec>", "<timed eval>"}


def find_cell(file: str, line: int, function: str = "") -> tuple[int, int] | None:
    """Return the number of a cell and the line in it, or None if the file is not a known cell.

    The code that IPython compiles does not include empty lines at the start of a cell or the line
    with a cell magic such as ``%%time``. The result counts them, because readers see them.

    Args:
        file: The file name that IPython gave to the cell.
        line: The line number in the code that IPython compiled, counted from 1.
        function: The name of the function that contains the line. A cell with ``%%time`` has no
            file name of its own, so it is recognized by its content.

    >>> find_cell("<ipython-input-3-0123456789ab>", 2), find_cell("step.py", 2)
    ((3, 2), None)
    """
    shell = _shell()
    history = _history(shell)
    if file in _TIMED:
        found = _find_timed_code(history, function)
        return found and (found[0], found[1] + line)
    number = _cell_number(shell, file)
    if number is None and not _CELL_FILE.fullmatch(file):
        return None
    code = "".join(linecache.getlines(file)).strip("\n")
    # IPython 7, which Colab has, does not store the numbers of cells. IPython 9 counts a cell with
    # the magic `%%capture` as the next one. The history contains the code in both cases.
    same = [n for n, cell in enumerate(history) if n and code and cell.strip("\n") == code]
    candidates = [number or 0, *reversed(same), *range(len(history) - 1, 0, -1)]
    for n in candidates if code else ():
        if 0 < n < len(history) and code in history[n]:
            return n, history[n][: history[n].index(code)].count("\n") + line
    hidden = _count_empty_lines(history[number]) if number and number < len(history) else 0
    return None if number is None else (number, hidden + line)


def timed_line(file: str, line: int, function: str) -> str:
    """Return a line of a cell with the magic ``%%time``, whose code `linecache` does not have.

    Args:
        file: The file name that IPython gave to the cell.
        line: The line number in the code that IPython compiled, counted from 1.
        function: The name of the function that contains the line.
    """
    found = find_cell(file, line, function) if file in _TIMED else None
    lines = _history(_shell())[found[0]].splitlines() if found else []
    return lines[found[1] - 1].strip() if found and found[1] <= len(lines) else ""


def name_cells(text: str) -> str:
    """Return a text with the file names of cells replaced, as in JAX's error messages.

    >>> name_cells("the function f at <ipython-input-3-0123456789ab>:2 for jit")
    'the function f at In[3]:2 for jit'
    """

    def replace(match: re.Match[str]) -> str:
        found = find_cell(match[1], int(match[2]))
        return f"In[{found[0]}]:{found[1]}" if found else match[0]

    return re.sub(rf"({_CELL_FILE.pattern}):(\d+)", replace, text)


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython and hasattr(ipython, "get_ipython") else None


def _history(shell: Any) -> list[str]:
    """Return the source of each cell that ran. The list is empty outside IPython."""
    cells = getattr(getattr(shell, "history_manager", None), "input_hist_raw", ())
    return [str(cell) for cell in cells] if isinstance(cells, Sequence) else []


def _cell_number(shell: Any, file: str) -> int | None:
    """Return the execution count of a cell if IPython or the cell's file name contains it."""
    # This attribute is private and may change, so check its type:
    # https://github.com/ipython/ipython/blob/9.18.1/IPython/core/compilerop.py
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    if isinstance(numbers, Mapping) and isinstance(numbers.get(file), int):
        return int(numbers[file])
    match = _NUMBER.search(file) if _CELL_FILE.fullmatch(file) else None
    return int(match[1]) if match else None


def _find_timed_code(history: Sequence[str], function: str) -> tuple[int, int] | None:
    """Return the latest cell that defines a function in timed code, and the lines before it."""
    text = r"\blambda\b" if function == "<lambda>" else rf"\bdef {re.escape(function)}\b"
    for number in range(len(history) - 1, 0, -1):
        cell = history[number]
        if cell.lstrip().startswith("%%time") and re.search(text, cell):
            return number, _count_empty_lines(cell) + 1
        for before, line in enumerate(cell.splitlines()):
            if line.lstrip().startswith("%time") and re.search(text, line):
                return number, before
    return None


def _count_empty_lines(cell: str) -> int:
    """Return how many lines at the start of a cell are empty."""
    return next((n for n, line in enumerate(cell.splitlines()) if line.strip()), 0)
