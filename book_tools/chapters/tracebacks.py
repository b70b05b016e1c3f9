"""Shorten IPython tracebacks to the frames that help the reader."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FILE = re.compile(r"^File (?P<file>.+?):\d+(?:, in |$|\n)", re.M)
_HIDDEN = re.compile(r"^\[\.\.\. skipping hidden (\d+) frames?\]$")


def _library_of(frame: str) -> str | None:
    """Return the library that contains a frame, or None if the frame is in the reader's code."""
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


def _summary_line(count: int, libraries: Sequence[str]) -> str:
    noun = "frame" if count == 1 else "frames"
    if not libraries:  # JAX makes IPython hide the frames of JAX and Flax.
        return f"    … {count} {noun} hidden by jax\n"
    names = list(dict.fromkeys(libraries))
    if len(names) > 3:
        names = [*names[:2], "others"]
    joined = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return f"    … {count} {noun} in {joined}\n"


def fold_traceback(traceback: Sequence[str]) -> list[str]:
    r"""Return a traceback with each sequence of library frames replaced by one line.

    Args:
        traceback: IPython's list with one entry per frame, without color codes and with paths
            normalized.

    Example:
        >>> fold_traceback(["Cell In[1], line 1\n----> 1 f()", "[... skipping hidden 3 frame]",
        ...                 "File …/site-packages/jax/a.py:1, in g()\n", "TypeError: no"])
        ['Cell In[1], line 1\n----> 1 f()', '    … 4 frames in jax\n', 'TypeError: no']
    """
    folded: list[str] = []
    count, libraries = 0, list[str]()
    for entry in traceback:
        hidden = _HIDDEN.match(entry.strip())
        library = None if hidden else _library_of(entry)
        if hidden or library:
            count += int(hidden[1]) if hidden else 1
            libraries += [library] if library else []
            continue
        if count and entry.strip().startswith("[... skipping similar frames"):
            continue
        if count:
            folded.append(_summary_line(count, libraries))
            count, libraries = 0, []
        folded.append(entry)
    if count:
        folded.append(_summary_line(count, libraries))
    return folded
