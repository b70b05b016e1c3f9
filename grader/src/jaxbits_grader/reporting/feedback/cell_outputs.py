"""Render the text and images in a cell's outputs, and name the types of all other outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from nbconvert.filters import ansi2html

from jaxbits_grader.reporting.feedback.image_validation import is_image_uri
from jaxbits_grader.reporting.feedback.path_redaction import redact_paths
from jaxbits_grader.reporting.feedback.text import (
    clean_line,
    printable,
    remark,
    to_string,
    truncate,
)

MAX_OUTPUTS = 20  # The page shows at most this many outputs per cell.

_ESCAPE_SEQUENCE = re.compile(r"(\x1b\[[0-9;:?]*[@-~])")
_OPERATING_SYSTEM_COMMAND = re.compile(r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?")
# IPython prints a line of dashes above a traceback. Remove it, because it wraps on a phone.
_DASHES = re.compile(r"\A(\x1b\[[\d;]*m)*-{9,}(\x1b\[[\d;]*m)*\n")


def render_outputs(outputs: list[Any], label: str) -> Iterator[str]:
    """Yield the outputs of a cell as HTML.

    Args:
        outputs: The outputs, as the notebook stores them.
        label: The label of the cell, which is used in the alternative text of images.
    """
    joined = _join_streams(outputs)
    for output in joined[:MAX_OUTPUTS]:
        yield from _render_output(output, label)
    if len(joined) > MAX_OUTPUTS:
        yield remark("More outputs of this cell are left out.")


def _join_streams(outputs: list[Any]) -> list[dict[str, Any]]:
    """Join consecutive pieces of the same stream into one output.

    The result contains at most one output more than the page shows.
    """
    joined: list[dict[str, Any]] = []
    for output in outputs:
        if not isinstance(output, dict):
            continue
        stream = output.get("output_type") == "stream" and output.get("name")
        text = to_string(output.get("text"))
        if stream and joined and joined[-1]["stream"] == stream:
            joined[-1]["parts"].append(text)
        else:
            joined.append({**output, "stream": stream, "parts": [text]})
        if len(joined) > MAX_OUTPUTS:
            break
    return joined


def _render_output(output: dict[str, Any], label: str) -> Iterator[str]:
    kind = output.get("output_type")
    if kind == "stream":
        style = "out aside wrap" if output.get("name") == "stderr" else "out"
        yield _render_terminal("".join(output["parts"]), style)
    elif kind == "error":
        lines = output.get("traceback")
        text = "\n".join(map(to_string, lines)) if isinstance(lines, list) else ""
        summary = f"{to_string(output.get('ename'))}: {to_string(output.get('evalue'))}"
        yield _render_terminal(_DASHES.sub("", text) or summary, "err wrap")
    else:
        data = output.get("data")
        yield from _render_data(data if isinstance(data, dict) else {}, label)


def _render_data(data: dict[str, Any], label: str) -> Iterator[str]:
    plain = to_string(data.get("text/plain"))
    shown = {"text/plain"} if plain else set()
    image = next((kind for kind in ("image/png", "image/jpeg") if kind in data), None)
    uri = f"data:{image};base64,{''.join(to_string(data[image]).split())}" if image else ""
    if image and is_image_uri(uri):
        shown |= {image, "text/plain"}
        alt = f"Figure, output of {label}" + (f": {truncate(plain)[:200]}" if plain else "")
        yield f'<img src="{uri}" alt="{escape(clean_line(alt))}">'
    elif plain:
        yield _render_terminal(plain, "out")
    kinds = [k if re.fullmatch(r"[\w.+/-]{1,60}", k) else "something" for k in map(str, data)]
    if left_out := [kind for kind in kinds if kind not in shown][:5]:
        yield remark(f"Left out here: {', '.join(left_out)}.")


def _render_terminal(text: str, style: str) -> str:
    """Return text as HTML that looks like terminal output."""
    text = _OPERATING_SYSTEM_COMMAND.sub("", truncate(text))
    # A carriage return makes the rest of a line overwrite its beginning.
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    parts = _ESCAPE_SEQUENCE.split("\n".join(lines))
    parts[0::2] = [printable(redact_paths(part)) for part in parts[0::2]]
    parts[1::2] = [_theme_color(part) for part in parts[1::2]]
    return f'<pre class="{style}" tabindex="0">{ansi2html("".join(parts)).rstrip()}</pre>'


def _theme_color(sequence: str) -> str:
    """Remove all colors except the 16 basic ones from an escape sequence.

    Only the basic colors are defined in both of the page's themes.
    """
    numbers = re.sub(r"\b[34]8;(5;\d+|2;\d+;\d+;\d+);?", "", sequence[2:-1])
    return f"\x1b[{numbers or '39'}m" if re.fullmatch(r"[\d;]*m", sequence[2:]) else ""
