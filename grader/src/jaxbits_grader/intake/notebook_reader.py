"""A student's file, read: the cells of a notebook and nothing else of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from jaxbits_grader.intake.submissions import shown, unreadable

MOST_CELLS = 2000


class Unreadable(ValueError):
    """A file that is no notebook; the message says why."""


def load(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Read a notebook's cells and nothing else of it.

    Returns:
        For each cell its type, source, id and grade_id as they stand there; and what is odd.

    Raises:
        Unreadable: when it is no notebook.
    """
    if problem := unreadable(path):
        raise Unreadable(problem)
    try:
        found = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise Unreadable(f"{shown(path)} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Unreadable(f"{shown(path)} is not a notebook: it is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{shown(path)} is not a notebook: not JSON ({str(error)[:80]})") from None
    if not isinstance(found, dict) or "nbformat" not in found:
        raise Unreadable(f"{shown(path)} is not a notebook: it has no nbformat")
    cells, notes = found.get("cells"), []
    if found["nbformat"] in (1, 2, 3):
        sheets = found.get("worksheets")
        sheets = sheets if isinstance(sheets, list) else []
        lists = [s.get("cells") for s in sheets if isinstance(s, dict)]
        cells = [c for some in lists if isinstance(some, list) for c in some]
        notes.append(f"it is in the old format {found['nbformat']}")
    elif found["nbformat"] != 4:
        number = found["nbformat"] if isinstance(found["nbformat"], int | float) else "no number"
        notes.append(f"its format is {number}, not 4")
    if not isinstance(cells, list) or not cells:
        raise Unreadable(f"{shown(path)} is not a notebook: it has no cells")
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"{shown(path)} has over {MOST_CELLS} cells")
    plain = [cell for cell in map(_plain, cells) if cell is not None]
    if len(plain) < len(cells):
        notes.append(f"{len(cells) - len(plain)} of its cells are damaged, and left out")
    if not plain:
        raise Unreadable(f"{shown(path)} is not a notebook: none of its cells can be read")
    if kernel := _other_kernel(found.get("metadata")):
        notes.append(f"its kernel was {kernel!r}")
    return plain, notes


def _plain(cell: Any) -> dict[str, Any] | None:
    if not isinstance(cell, dict):
        return None
    kind, source = cell.get("cell_type"), cell.get("source", cell.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if kind == "heading" and isinstance(source, str):  # of the old formats
        kind, source = "markdown", f"# {source}"
    if kind not in ("code", "markdown", "raw") or not isinstance(source, str):
        return None
    metadata = cell.get("metadata")
    grading = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = grading.get("grade_id") if isinstance(grading, dict) else None
    # Half of a pair of code units is no text that can be written to a file again.
    source = source.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    return {"kind": kind, "source": source, "id": cell.get("id"), "grade_id": grade_id}


def _other_kernel(metadata: Any) -> str | None:
    spec = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    name = spec.get("name") if isinstance(spec, dict) else None
    if isinstance(name, str) and not re.match(r"python3?$", name):
        return name[:40]
    return None
