"""Read the cells of a student's notebook file, and ignore everything else in the file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from jaxbits_grader.intake.packed_notebooks import MAX_MB, display_name, unreadable_reason
from jaxbits_grader.intake.zip_files import BadZip, read_file
from jaxbits_grader.notebook import Cell, ParsedNotebook
from jaxbits_grader.running.limits import MEGABYTE

MAX_CELLS = 2000


class UnreadableNotebook(ValueError):
    """Raised if a file cannot be read as a notebook for the assignment. The message says why."""


def read_notebook(path: Path, member: str | None = None) -> ParsedNotebook:
    """Read the cells of a notebook.

    Args:
        path: The path of the notebook or of the zip file that contains it.
        member: The name of the notebook in the zip file, or None if `path` is the notebook.

    Returns:
        The parsed notebook. All its cells have the role `OWN`, because nothing in the file can be
        trusted. Its notes say what is unusual about the file.

    Raises:
        UnreadableNotebook: If the file cannot be read as a notebook.
    """
    if unreadable := unreadable_reason(path):
        raise UnreadableNotebook(unreadable)
    name = display_name(path)
    try:
        data = read_file(path, member, MAX_MB * MEGABYTE) if member else path.read_bytes()
        found = json.loads(data.decode("utf-8-sig"))
    except BadZip as problem:
        raise UnreadableNotebook(f"the notebook in {name} cannot be read: {problem}") from None
    except OSError as error:
        raise UnreadableNotebook(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UnreadableNotebook(f"{name} is not a notebook: it is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        reason = str(error)[:80]
        raise UnreadableNotebook(f"{name} is not a notebook: not JSON ({reason})") from None
    if not isinstance(found, dict) or "nbformat" not in found:
        raise UnreadableNotebook(f"{name} is not a notebook: it has no nbformat")
    cells, notes = _cells_of_format(found)
    if not isinstance(cells, list) or not cells:
        raise UnreadableNotebook(f"{name} is not a notebook: it has no cells")
    if len(cells) > MAX_CELLS:
        raise UnreadableNotebook(f"{name} has over {MAX_CELLS} cells")
    parsed = tuple(cell for cell in map(_parse_cell, cells) if cell is not None)
    if len(parsed) < len(cells):
        notes.append(f"damaged cells left out: {len(cells) - len(parsed)}")
    if not parsed:
        raise UnreadableNotebook(f"{name} is not a notebook: none of its cells can be read")
    if kernel := _foreign_kernel(found.get("metadata")):
        notes.append(f"the notebook's kernel was {kernel!r}")
    return ParsedNotebook(parsed, tuple(notes))


def _cells_of_format(found: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the cells, which older formats store in worksheets, and notes about the format."""
    version = found["nbformat"]
    if version in (1, 2, 3):
        sheets = found.get("worksheets")
        sheets = sheets if isinstance(sheets, list) else []
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        cells = [cell for some in lists if isinstance(some, list) for cell in some]
        return cells, [f"the notebook is in the old format {version}"]
    if version == 4:
        return found.get("cells"), []
    shown = version if isinstance(version, int | float) else "not a number"
    return found.get("cells"), [f"the notebook's format is {shown}, not 4"]


def _parse_cell(cell: Any) -> Cell | None:
    if not isinstance(cell, dict):
        return None
    kind, source = cell.get("cell_type"), cell.get("source", cell.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if kind == "heading" and isinstance(source, str):  # Formats before 4 have heading cells.
        kind, source = "markdown", f"# {source}"
    if kind not in ("code", "markdown", "raw") or not isinstance(source, str):
        return None
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    # Replace lone surrogates, because they cannot be encoded as UTF-8.
    source = source.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    return Cell(kind, source, _string(cell.get("id")) or "", _string(grade_id))


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _foreign_kernel(metadata: Any) -> str | None:
    """Return the name of the notebook's kernel, or None if it has the standard Python kernel."""
    spec = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    name = spec.get("name") if isinstance(spec, dict) else None
    if isinstance(name, str) and not re.match(r"python3?$", name):
        return name[:40]
    return None
