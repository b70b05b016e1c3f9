"""Stored against fresh outputs of one cell: everything that a reader could see changed."""

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

# A figure drawn twice may differ in the smoothing of an edge, not in more.
_PIXEL_STEP = 32
_PIXEL_SHARE = 0.002
# A coordinate's last digit differs from machine to machine; a fiftieth of a point is not seen.
_POINTS = 0.02
_COORDINATE = re.compile(r"(-?\d+\.\d+)")
_WORDS = re.compile(r'aria-label="[^"]*"|<!--.*?-->', re.DOTALL)


def _kinds(outputs: Sequence[Output]) -> list[str]:
    """Type of each output with the stream's or the error's name, in order."""
    return [
        ":".join(filter(None, [o["output_type"], o.get("name"), o.get("ename")])) for o in outputs
    ]


def _traceback(lines: Sequence[str]) -> str:
    # nbval runs cells without history, so each is In[1] there; how deep the kernel's own frames
    # stand decides after how many calls Python gives up on a recursion.
    text = re.sub(r"\bIn\[\d+\]", "In[n]", "\n".join(lines))
    return re.sub(r"\(\d+ times\)", "(n times)", text)


def _stream(text: str) -> str:
    # A detector's place in a cell: without history there is no number, and the file's is shown.
    return re.sub(r"\b(?:In\[\d+\]|\d{4,}\.py):(\d+)\b", r"In[n]:\1", text)


def _texts(what: str, stored: str, fresh: str) -> str | None:
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


def _pictures(kind: str, stored: str, fresh: str) -> str | None:
    old, new = (
        np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"), np.int16)
        for data in (stored, fresh)
    )
    if old.shape != new.shape:
        (height, width), (high, wide) = old.shape[:2], new.shape[:2]
        return f"{kind}: stored {width} × {height}, now {wide} × {high}"
    share = float((np.abs(old - new).max(axis=-1) > _PIXEL_STEP).mean())
    return f"{kind}: {share:.1%} of the pixels differ" if share > _PIXEL_SHARE else None


def _drawings(kind: str, stored: str, fresh: str) -> str | None:
    """Compare two SVG texts: words, order and colours as they are, coordinates but for rounding."""
    old, new = _COORDINATE.split(stored), _COORDINATE.split(fresh)
    close = old[::2] == new[::2] and all(
        abs(float(a) - float(b)) <= _POINTS for a, b in zip(old[1::2], new[1::2], strict=True)
    )
    if close and _WORDS.findall(stored) == _WORDS.findall(fresh):
        return None
    return _texts(kind, stored, fresh)


def _data(stored: Output, fresh: Output) -> str | None:
    if set(stored["data"]) != set(fresh["data"]):
        return f"kinds of data: stored {sorted(stored['data'])}, now {sorted(fresh['data'])}"
    for kind, value in stored["data"].items():
        old = "".join(value) if isinstance(value, list) else value
        new = fresh["data"][kind]
        if kind in ("image/png", "image/jpeg"):
            found = _pictures(kind, old, new)
        elif kind == "image/svg+xml":
            found = _drawings(kind, old, new)
        elif isinstance(old, str) and isinstance(new, str):
            found = _texts(kind, old, new)
        else:
            found = None if old == new else f"{kind}: stored {old!r:.100}, now {new!r:.100}"
        if found:
            return found
    if stored.get("metadata", {}) != fresh.get("metadata", {}):
        return f"metadata: stored {stored.get('metadata')}, now {fresh.get('metadata')}"
    return None


def compare(stored: Sequence[Output], fresh: Sequence[Output], *, exact: bool = True) -> str | None:
    """Say how the outputs of a cell differ from the stored ones, or None when they agree.

    Args:
        stored: the outputs in the notebook, as book_tools.chapters.execute wrote them.
        fresh: the outputs of running the cell again, as the kernel sent them.
        exact: compare everything; otherwise only the kinds of the outputs, their order and the
            classes of errors.
    """
    # The stored side is taken as it is: what scrubbing would change in it does not belong there.
    old, new = merge_streams(stored), normalize_outputs(fresh)
    if _kinds(old) != _kinds(new):
        return f"outputs: stored {_kinds(old) or 'none'}, now {_kinds(new) or 'none'}"
    if not exact:
        return None
    for one, other in zip(old, new, strict=True):
        if one["output_type"] == "stream":
            found = _texts(one["name"], _stream(one["text"]), _stream(other["text"]))
        elif one["output_type"] == "error":
            found = _texts("error's message", one["evalue"], other["evalue"]) or _texts(
                "traceback", _traceback(one["traceback"]), _traceback(other["traceback"])
            )
        else:
            found = _data(one, other)
        if found:
            return found
    return None


def unrun(cells: Sequence[dict[str, Any]]) -> str | None:
    """Say which code cell of a notebook was stored without being run, or None."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    if not code:
        return "holds no code cell"
    for number, cell in enumerate(code, 1):
        if "".join(cell["source"]).strip() and cell.get("execution_count") is None:
            return f"code cell {number} was stored without being run"
    return None
