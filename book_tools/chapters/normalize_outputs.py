"""Normalize a notebook's outputs so that they are the same on every machine.

Outputs reveal where and when the kernel ran: paths, object addresses, color codes, the order in
which two streams were flushed, the times in progress bars, and tracebacks that consist mostly of
library frames. :func:`normalize_outputs` removes all of this. Normalizing outputs a second time
changes nothing, so the test that compares stored outputs with new ones normalizes both.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from book_tools.chapters.tracebacks import fold_traceback
from book_tools.project_metadata import ROOT

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PATH = r"(?:[A-Za-z]:|~)?(?:[\\/][^\s:'\"<>|()\\/]+)*?[\\/]"
_KERNEL_FILE = re.compile(_PATH + r"ipykernel_\d+[\\/]\d+\.py")
_SYNTAX_FILE = re.compile(r"\(\d{5,}\.py, line ")
_SITE = re.compile(r"…?" + _PATH + r"site-packages[\\/]")
_TEMPORARY = re.compile(r"(?:/private)?(?:/tmp|/var/folders/\w+/\w+/T)/tmp\w{6,}")
# An address always follows "at". Other hexadecimal numbers are data, such as the 0xFF800000 that
# StableHLO writes for minus infinity.
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,16}\b")
_OBJECT_ID = re.compile(r"\bobject id \d{6,}\b")
# A tqdm bar ends with [elapsed<remaining, rate], or with [elapsed, rate] if it has no total. If the
# program sets a postfix, such as a loss, the postfix follows the rate:
# https://github.com/tqdm/tqdm/blob/v4.67.1/tqdm/std.py
_BAR = re.compile(
    r"(?P<count>\d+%\|[^|\n]*\| *\S+/\S+|\b\d+[^\s\d]*) "
    r"\[\d+:[\d:]+(?:<[\d:?]+)?, *[\d.?]+[^\s,\]]*(?:, (?P<postfix>[^\]\n]*))?\]"
)


def strip_colors(text: str) -> str:
    """Return the text without terminal color codes."""
    return _ANSI.sub("", text)


def apply_carriage_returns(text: str) -> str:
    r"""Return the text that a terminal would end up showing, without the timings of tqdm bars.

    A carriage return moves the cursor to the beginning of the line, so the text that follows
    overwrites the line. How often tqdm redraws a bar differs from run to run.

    Args:
        text: The output of a stream.

    Example:
        >>> apply_carriage_returns(
        ...     "\r 50%|█ | 1/2 [00:01<00:01, 1.9s/it]\r100%|██| 2/2 [00:02<?, 2s/it]"
        ... )
        '100%|██| 2/2'
    """
    lines = []
    for line in text.split("\n"):
        if "\r" in line:
            # A carriage return at the end of a line overwrites nothing.
            line = line.rstrip("\r").rpartition("\r")[2].rstrip(" ")
        lines.append(line)
    return _BAR.sub(_without_times, "\n".join(lines))


def _without_times(bar: re.Match[str]) -> str:
    return bar["count"] + (f" [{bar['postfix']}]" if bar["postfix"] else "")


def _local_folders() -> list[tuple[str, str]]:
    """Return pairs of a local folder and the text that replaces it in outputs, longest first."""
    home = str(Path.home())
    found = [(str(ROOT), "…"), (sysconfig.get_paths()["stdlib"], "…/python")]
    found += [("~" + path[len(home) :], new) for path, new in found if path.startswith(home + "/")]
    return sorted(found, key=lambda pair: -len(pair[0]))


def normalize_text(text: str, *, html: bool = False) -> str:
    """Return the text without local paths, object addresses, and color codes.

    Args:
        text: Any text that the kernel sent.
        html: Whether the text is HTML or SVG, in which ``<cell>`` must be escaped.

    Example:
        >>> normalize_text("/tmp/ipykernel_7/123.py:3: UserWarning: <f at 0x7f00dead0000>")
        '<cell>:3: UserWarning: <f at 0x…>'
    """
    cell = "&lt;cell&gt;" if html else "<cell>"
    text = strip_colors(text)
    text = _KERNEL_FILE.sub(cell, text)
    text = _SYNTAX_FILE.sub(f"({cell}, line ", text)
    text = _SITE.sub("…/site-packages/", text)
    for folder, substitute in _local_folders():
        text = text.replace(folder, substitute)
    text = _TEMPORARY.sub("…/tmp", text)
    text = _ADDRESS.sub("at 0x…", text)
    return _OBJECT_ID.sub("object id …", text)


def merge_streams(outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the outputs with consecutive stream outputs merged, stdout before stderr.

    The kernel flushes stdout and stderr separately, so their order relative to each other varies
    from run to run. Their order relative to results, figures, and errors does not.
    """
    merged: list[dict[str, Any]] = []
    pending: dict[str, str] = {}

    def flush() -> None:
        for name in sorted(pending, reverse=True):
            merged.append({"name": name, "output_type": "stream", "text": pending[name]})
        pending.clear()

    for output in outputs:
        if output["output_type"] == "stream":
            text = "".join(output["text"])
            pending[output["name"]] = pending.get(output["name"], "") + text
        else:
            flush()
            merged.append(dict(output))
    flush()
    return merged


def _normalize_data(data: dict[str, Any]) -> dict[str, Any]:
    normalized = {}
    for mime_type, value in data.items():
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            value = "".join(value)
        if isinstance(value, str) and mime_type.startswith(("text/", "image/svg+xml")):
            value = normalize_text(value, html=mime_type in ("text/html", "image/svg+xml"))
        normalized[mime_type] = value
    return normalized


def normalize_outputs(outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the outputs of one cell in the form in which the notebook stores them.

    Normalizing the outputs again does not change them.
    """
    normalized = merge_streams(outputs)
    for output in normalized:
        if output["output_type"] == "stream":
            output["text"] = apply_carriage_returns(normalize_text(output["text"]))
        elif output["output_type"] == "error":
            output["evalue"] = normalize_text(output["evalue"])
            entries = [normalize_text(entry) for entry in output["traceback"]]
            output["traceback"] = fold_traceback(entries)
        else:
            output["data"] = _normalize_data(output["data"])
    return normalized
