"""Compare the stored and the fresh outputs of one cell in everything that a reader can see."""

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

# Drawing a figure twice may smooth an edge differently.
_MAX_CHANNEL_DIFFERENCE = 32
_MAX_CHANGED_SHARE = 0.002
# The last digits of a coordinate differ between machines. Nobody sees a fiftieth of a point.
_MAX_POINTS = 0.02
_COORDINATE = re.compile(r"(-?\d+\.\d+)")
_WORDS = re.compile(r'aria-label="[^"]*"|<!--.*?-->', re.DOTALL)


def _kinds(outputs: Sequence[Output]) -> list[str]:
    """Return the type of each output, with the name of the stream or of the error."""
    return [
        ":".join(filter(None, [o["output_type"], o.get("name"), o.get("ename")])) for o in outputs
    ]


def _comparable_traceback(lines: Sequence[str]) -> str:
    # nbval runs cells without history, which leaves the number of each cell at 1. The depth of the
    # kernel's own frames decides after how many calls Python stops a recursion.
    text = re.sub(r"\bIn\[\d+\]", "In[n]", "\n".join(lines))
    return re.sub(r"\(\d+ times\)", "(n times)", text)


def _comparable_stream(text: str) -> str:
    # Detectors print the cell of a finding. Without history, they print a number of its file.
    return re.sub(r"\b(?:In\[\d+\]|\d{4,}\.py):(\d+)\b", r"In[n]:\1", text)


def _compare_texts(what: str, stored: str, fresh: str) -> str | None:
    if stored == fresh:
        return None
    old, new = stored.splitlines(keepends=True), fresh.splitlines(keepends=True)
    number = next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    was = old[number][:100] if number < len(old) else "nothing"
    now = new[number][:100] if number < len(new) else "nothing"
    return f"{what}, line {number + 1}: stored {was!r}, now {now!r}"


def _compare_pictures(kind: str, stored: str, fresh: str) -> str | None:
    old, new = (
        np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"), np.int16)
        for data in (stored, fresh)
    )
    if old.shape != new.shape:
        (height, width), (high, wide) = old.shape[:2], new.shape[:2]
        return f"{kind}: stored {width} × {height}, now {wide} × {high}"
    share = float((np.abs(old - new).max(axis=-1) > _MAX_CHANNEL_DIFFERENCE).mean())
    return f"{kind}: {share:.1%} of the pixels differ" if share > _MAX_CHANGED_SHARE else None


def _compare_drawings(kind: str, stored: str, fresh: str) -> str | None:
    """Compare two SVG documents exactly, except for the rounding of coordinates."""
    old, new = _COORDINATE.split(stored), _COORDINATE.split(fresh)
    close = old[::2] == new[::2] and all(
        abs(float(a) - float(b)) <= _MAX_POINTS for a, b in zip(old[1::2], new[1::2], strict=True)
    )
    if close and _WORDS.findall(stored) == _WORDS.findall(fresh):
        return None
    return _compare_texts(kind, stored, fresh)


def _compare_data(stored: Output, fresh: Output) -> str | None:
    if set(stored["data"]) != set(fresh["data"]):
        return f"kinds of data: stored {sorted(stored['data'])}, now {sorted(fresh['data'])}"
    for kind, value in stored["data"].items():
        old = "".join(value) if isinstance(value, list) else value
        new = fresh["data"][kind]
        if kind in ("image/png", "image/jpeg"):
            found = _compare_pictures(kind, old, new)
        elif kind == "image/svg+xml":
            found = _compare_drawings(kind, old, new)
        elif isinstance(old, str) and isinstance(new, str):
            found = _compare_texts(kind, old, new)
        else:
            found = None if old == new else f"{kind}: stored {old!r:.100}, now {new!r:.100}"
        if found:
            return found
    if stored.get("metadata", {}) != fresh.get("metadata", {}):
        return f"metadata: stored {stored.get('metadata')}, now {fresh.get('metadata')}"
    return None


def compare(stored: Sequence[Output], fresh: Sequence[Output], *, exact: bool = True) -> str | None:
    """Return how the fresh outputs of a cell differ from the stored ones, or None if they agree.

    Args:
        stored: The outputs in the notebook, already scrubbed when the chapter was executed.
        fresh: The outputs of running the cell again, as the kernel sent them.
        exact: Compare everything. Otherwise, compare only the kinds of the outputs, their order,
            and the classes of errors.
    """
    # Scrubbing the stored outputs would hide what should not have been stored.
    old, new = merge_streams(stored), normalize_outputs(fresh)
    if _kinds(old) != _kinds(new):
        return f"outputs: stored {_kinds(old) or 'none'}, now {_kinds(new) or 'none'}"
    if not exact:
        return None
    for one, other in zip(old, new, strict=True):
        if one["output_type"] == "stream":
            found = _compare_texts(
                one["name"], _comparable_stream(one["text"]), _comparable_stream(other["text"])
            )
        elif one["output_type"] == "error":
            found = _compare_texts(
                "error's message", one["evalue"], other["evalue"]
            ) or _compare_texts(
                "traceback",
                _comparable_traceback(one["traceback"]),
                _comparable_traceback(other["traceback"]),
            )
        else:
            found = _compare_data(one, other)
        if found:
            return found
    return None


def find_unexecuted_cell(cells: Sequence[dict[str, Any]]) -> str | None:
    """Return which code cell was stored without being executed, or None if there is none."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    if not code:
        return "the notebook has no code cell"
    for number, cell in enumerate(code, 1):
        if "".join(cell["source"]).strip() and cell.get("execution_count") is None:
            return f"code cell {number} was stored without being executed"
    return None
