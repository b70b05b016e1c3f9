"""Outputs of a notebook, made the same on every machine.

The kernel leaves traces of where and when it ran: paths, addresses of objects, color codes, the
order in which two streams happened to be flushed, the times in progress bars, and tracebacks that
are mostly frames of libraries. :func:`scrub_outputs` takes them out. It is a pure function, so the
test that compares stored with fresh outputs puts both through it.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PATH = r"(?:[A-Za-z]:|~)?(?:[\\/][^\s:'\"<>|()\\/]+)*?[\\/]"
_KERNEL_FILE = re.compile(_PATH + r"ipykernel_\d+[\\/]\d+\.py")
_SYNTAX_FILE = re.compile(r"\(\d{5,}\.py, line ")
_SITE = re.compile(_PATH + r"site-packages[\\/]")
_TEMPORARY = re.compile(r"(?:/private)?(?:/tmp|/var/folders/\w+/\w+/T)/tmp\w{6,}")
# Only after " at ": StableHLO writes minus infinity as 0xFF800000.
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,16}\b")
_OBJECT_ID = re.compile(r"\bobject id \d{6,}\b")
_FILE = re.compile(r"^File (?P<file>.+?):\d+(?:, in |$|\n)", re.M)
# What a tqdm bar ends with: [elapsed<remaining, rate], or [elapsed, rate] without a total. What a
# program adds itself, such as a loss, follows the rate.
_BAR = re.compile(
    r"(?P<count>\d+%\|[^|\n]*\| *\S+/\S+|\b\d+[^\s\d]*) "
    r"\[\d+:[\d:]+(?:<[\d:?]+)?, *[\d.?]+[^\s,\]]*(?:, (?P<postfix>[^\]\n]*))?\]"
)
_HIDDEN = re.compile(r"^\[\.\.\. skipping hidden (\d+) frames?\]$")


def strip_colours(text: str) -> str:
    """The text without terminal colour codes."""
    return _ANSI.sub("", text)


def settle_lines(text: str) -> str:
    r"""Return what a terminal shows in the end, without the times and rates of tqdm's bars.

    A carriage return moves back to the beginning of the line, so that what follows overwrites what
    was there. How often a bar is drawn, and what it says about time, differ from run to run.

    Args:
        text: What was written to a stream.

    Example:
        >>> settle_lines("\r 50%|█ | 1/2 [00:01<00:01, 1.9s/it]\r100%|██| 2/2 [00:02<?, 2s/it]")
        '100%|██| 2/2'
    """
    lines = []
    for line in text.split("\n"):
        if "\r" in line:
            # A cursor that moved back and wrote nothing leaves the line as it was.
            line = line.rstrip("\r").rpartition("\r")[2].rstrip(" ")
        lines.append(line)
    return _BAR.sub(_without_times, "\n".join(lines))


def _without_times(bar: re.Match[str]) -> str:
    return bar["count"] + (f" [{bar['postfix']}]" if bar["postfix"] else "")


def _places() -> list[tuple[str, str]]:
    """Directories of this machine, longest first, and what is written instead of each."""
    home = str(Path.home())
    found = [(str(ROOT), "…"), (sysconfig.get_paths()["stdlib"], "…/python")]
    found += [("~" + path[len(home) :], new) for path, new in found if path.startswith(home + "/")]
    return sorted(found, key=lambda pair: -len(pair[0]))


def scrub_text(text: str, *, html: bool = False) -> str:
    """Text without paths, object addresses or colour codes.

    Args:
        text: what the kernel sent.
        html: the text is HTML or SVG, where ``<cell>`` has to be escaped.

    Example:
        >>> scrub_text("/tmp/ipykernel_7/123.py:3: UserWarning: <f at 0x7f00dead0000>")
        '<cell>:3: UserWarning: <f at 0x…>'
    """
    cell = "&lt;cell&gt;" if html else "<cell>"
    text = strip_colours(text)
    text = _KERNEL_FILE.sub(cell, text)
    text = _SYNTAX_FILE.sub(f"({cell}, line ", text)
    text = _SITE.sub("…/site-packages/", text)
    for path, new in _places():
        text = text.replace(path, new)
    text = _TEMPORARY.sub("…/tmp", text)
    text = _ADDRESS.sub("at 0x…", text)
    return _OBJECT_ID.sub("object id …", text)


def _package(frame: str) -> str | None:
    """The library that a scrubbed frame of a traceback stands in; None for the reader's own."""
    match = _FILE.match(frame)
    if not match:
        return None
    file = match["file"].replace("\\", "/")
    if "…/site-packages/" in file:
        return file.split("…/site-packages/")[1].split("/")[0].removesuffix(".py")
    if "…/src/jaxbits/" in file:
        return "jaxbits"
    if file.startswith(("…/python/", "<frozen ")):
        return "Python"
    return None


def _folded(count: int, packages: Sequence[str]) -> str:
    noun = "frame" if count == 1 else "frames"
    if not packages:  # JAX marks its frames, and those of flax, for IPython to hide
        return f"    … {count} {noun} hidden by jax\n"
    names = list(dict.fromkeys(packages))
    if len(names) > 3:
        names = [*names[:2], "others"]
    joined = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return f"    … {count} {noun} in {joined}\n"


def fold_traceback(traceback: Sequence[str]) -> list[str]:
    r"""A traceback with the reader's frames whole and each run of library frames as one line.

    Args:
        traceback: IPython's list, one entry a frame, already without colours and paths.

    Example:
        >>> fold_traceback(["Cell In[1], line 1\n----> 1 f()", "[... skipping hidden 3 frame]",
        ...                 "File …/site-packages/jax/a.py:1, in g()\n", "TypeError: no"])
        ['Cell In[1], line 1\n----> 1 f()', '    … 4 frames in jax\n', 'TypeError: no']
    """
    folded: list[str] = []
    count, packages = 0, list[str]()
    for entry in traceback:
        hidden = _HIDDEN.match(entry.strip())
        package = None if hidden else _package(entry)
        if hidden or package:
            count += int(hidden[1]) if hidden else 1
            packages += [package] if package else []
            continue
        if count and entry.strip().startswith("[... skipping similar frames"):
            continue
        if count:
            folded.append(_folded(count, packages))
            count, packages = 0, []
        folded.append(entry)
    if count:
        folded.append(_folded(count, packages))
    return folded


def merge_streams(outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join what was written to one stream between two other outputs; stdout before stderr.

    The kernel flushes the two streams on its own schedule: their order against each other is not
    stable, their order against results, figures and errors is.
    """
    merged: list[dict[str, Any]] = []
    waiting: dict[str, str] = {}

    def flush() -> None:
        for name in sorted(waiting, reverse=True):
            merged.append({"name": name, "output_type": "stream", "text": waiting[name]})
        waiting.clear()

    for output in outputs:
        if output["output_type"] == "stream":
            text = "".join(output["text"])
            waiting[output["name"]] = waiting.get(output["name"], "") + text
        else:
            flush()
            merged.append(dict(output))
    flush()
    return merged


def _scrub_data(data: dict[str, Any]) -> dict[str, Any]:
    clean = {}
    for kind, value in data.items():
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            value = "".join(value)
        if isinstance(value, str) and (kind.startswith("text/") or kind == "image/svg+xml"):
            value = scrub_text(value, html=kind in ("text/html", "image/svg+xml"))
        clean[kind] = value
    return clean


def scrub_outputs(outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outputs of one cell in the form in which they are stored. Applying it twice is safe."""
    clean = merge_streams(outputs)
    for output in clean:
        if output["output_type"] == "stream":
            output["text"] = settle_lines(scrub_text(output["text"]))
        elif output["output_type"] == "error":
            output["evalue"] = scrub_text(output["evalue"])
            entries = [scrub_text(entry) for entry in output["traceback"]]
            output["traceback"] = fold_traceback(entries)
        else:
            output["data"] = _scrub_data(output["data"])
    return clean
