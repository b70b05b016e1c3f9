"""Compare everything that a reader can see in the stored and the fresh outputs of a cell."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from book_tools.chapters.normalize_outputs import merge_streams, normalize_outputs

Output = dict[str, Any]

# Two renderings of a figure may differ in the antialiasing of its edges.
_MAX_CHANNEL_DIFFERENCE = 32
_MAX_CHANGED_FRACTION = 0.002
# A coordinate's last digits differ between machines, and a difference of 0.02 points is invisible.
_MAX_COORDINATE_DIFFERENCE = 0.02
_COORDINATE = re.compile(r"(-?\d+\.\d+)")
_LABELS_AND_COMMENTS = re.compile(r'aria-label="[^"]*"|<!--.*?-->', re.DOTALL)


def _output_types(outputs: Sequence[Output]) -> list[str]:
    """Return the type of each output, with the name of its stream or error class, if any."""
    return [
        ":".join(filter(None, [o["output_type"], o.get("name"), o.get("ename")])) for o in outputs
    ]


def _comparable_traceback(lines: Sequence[str]) -> str:
    # nbval runs cells without history, so every cell has the number 1. How many recursive calls
    # Python allows depends on the number of the kernel's own frames.
    text = re.sub(r"\bIn\[\d+\]", "In[n]", "\n".join(lines))
    return re.sub(r"\(\d+ times\)", "(n times)", text)


def _comparable_stream(text: str) -> str:
    # Detectors print the number of the cell with a finding. Without history, they print the name
    # of the temporary file that contains the cell, which is also a number.
    return re.sub(r"\b(?:In\[\d+\]|\d{4,}\.py):(\d+)\b", r"In[n]:\1", text)


def _compare_texts(name: str, stored: str, fresh: str) -> str | None:
    if stored == fresh:
        return None
    old, new = stored.splitlines(keepends=True), fresh.splitlines(keepends=True)
    number = next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    old_line = old[number][:100] if number < len(old) else "nothing"
    new_line = new[number][:100] if number < len(new) else "nothing"
    return f"{name}, line {number + 1}: stored {old_line!r}, now {new_line!r}"


def _compare_images(mime_type: str, stored: str, fresh: str) -> str | None:
    old, new = (
        np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"), np.int16)
        for data in (stored, fresh)
    )
    if old.shape != new.shape:
        (old_height, old_width), (new_height, new_width) = old.shape[:2], new.shape[:2]
        return f"{mime_type}: stored {old_width} × {old_height}, now {new_width} × {new_height}"
    fraction = float((np.abs(old - new).max(axis=-1) > _MAX_CHANNEL_DIFFERENCE).mean())
    return (
        f"{mime_type}: {fraction:.1%} of the pixels differ"
        if fraction > _MAX_CHANGED_FRACTION
        else None
    )


def _compare_svg(mime_type: str, stored: str, fresh: str) -> str | None:
    """Compare two SVG documents exactly, except for the rounding of coordinates."""
    old, new = _COORDINATE.split(stored), _COORDINATE.split(fresh)
    is_close = old[::2] == new[::2] and all(
        abs(float(a) - float(b)) <= _MAX_COORDINATE_DIFFERENCE
        for a, b in zip(old[1::2], new[1::2], strict=True)
    )
    if is_close and _LABELS_AND_COMMENTS.findall(stored) == _LABELS_AND_COMMENTS.findall(fresh):
        return None
    return _compare_texts(mime_type, stored, fresh)


def _compare_data(stored: Output, fresh: Output) -> str | None:
    if set(stored["data"]) != set(fresh["data"]):
        return f"kinds of data: stored {sorted(stored['data'])}, now {sorted(fresh['data'])}"
    for mime_type, value in stored["data"].items():
        old = "".join(value) if isinstance(value, list) else value
        new = fresh["data"][mime_type]
        if mime_type in ("image/png", "image/jpeg"):
            difference = _compare_images(mime_type, old, new)
        elif mime_type == "image/svg+xml":
            difference = _compare_svg(mime_type, old, new)
        elif isinstance(old, str) and isinstance(new, str):
            difference = _compare_texts(mime_type, old, new)
        else:
            difference = (
                None if old == new else f"{mime_type}: stored {old!r:.100}, now {new!r:.100}"
            )
        if difference:
            return difference
    if stored.get("metadata", {}) != fresh.get("metadata", {}):
        return f"metadata: stored {stored.get('metadata')}, now {fresh.get('metadata')}"
    return None


def compare(stored: Sequence[Output], fresh: Sequence[Output], *, exact: bool = True) -> str | None:
    """Return how a cell's fresh outputs differ from the stored ones, or None if they agree.

    Args:
        stored: The outputs in the notebook, which were normalized when the chapter was executed.
        fresh: The outputs from running the cell again, as the kernel sent them.
        exact: Whether to compare everything. Otherwise, only the types and the order of the
            outputs and the classes of errors are compared.
    """
    # Normalizing the stored outputs as well would hide mistakes in them.
    old, new = merge_streams(stored), normalize_outputs(fresh)
    if _output_types(old) != _output_types(new):
        return f"outputs: stored {_output_types(old) or 'none'}, now {_output_types(new) or 'none'}"
    if not exact:
        return None
    for old_output, new_output in zip(old, new, strict=True):
        if old_output["output_type"] == "stream":
            difference = _compare_texts(
                old_output["name"],
                _comparable_stream(old_output["text"]),
                _comparable_stream(new_output["text"]),
            )
        elif old_output["output_type"] == "error":
            difference = _compare_texts(
                "error's message", old_output["evalue"], new_output["evalue"]
            ) or _compare_texts(
                "traceback",
                _comparable_traceback(old_output["traceback"]),
                _comparable_traceback(new_output["traceback"]),
            )
        else:
            difference = _compare_data(old_output, new_output)
        if difference:
            return difference
    return None


def find_unexecuted_cell(cells: Sequence[dict[str, Any]]) -> str | None:
    """Return why a notebook does not count as executed, or None if it does."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    if not code:
        return "the notebook has no code cell"
    for number, cell in enumerate(code, 1):
        if "".join(cell["source"]).strip() and cell.get("execution_count") is None:
            return f"code cell {number} was stored without being executed"
    return None
