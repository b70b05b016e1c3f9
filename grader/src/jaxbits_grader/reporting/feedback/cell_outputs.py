"""What a cell gave out, as HTML: text and images; of all else only the name of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nbconvert.filters import ansi2html

from jaxbits_grader.reporting.feedback.image_validation import is_image_uri
from jaxbits_grader.reporting.feedback.path_redaction import without_paths
from jaxbits_grader.reporting.feedback.text_rendering import cut, printable, shown, string, word

OUTPUTS = 20  # of a cell


def rendered(outputs: list[Any], label: str) -> Iterator[str]:
    """The outputs of a cell, in pieces; what is written to one stream without a break is one."""
    joined = _joined(outputs)
    for output in joined[:OUTPUTS]:
        yield from _rendered(output, label)
    if len(joined) > OUTPUTS:
        yield word("More outputs of this cell are left out.")


def _joined(outputs: list[Any]) -> list[dict[str, Any]]:
    """As many outputs as are shown, and one more if there are more."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        if not isinstance(output, dict):
            continue
        stream = output.get("output_type") == "stream" and output.get("name")
        text = string(output.get("text"))
        if stream and joined and joined[-1]["stream"] == stream:
            joined[-1]["parts"].append(text)
        else:
            joined.append({**output, "stream": stream, "parts": [text]})
        if len(joined) > OUTPUTS:
            break
    return joined


def _rendered(output: dict[str, Any], label: str) -> Iterator[str]:
    kind = output.get("output_type")
    if kind == "stream":
        look = "out aside wrap" if output.get("name") == "stderr" else "out"
        yield _pre("".join(output["parts"]), look)
    elif kind == "error":
        lines = output.get("traceback")
        text = "\n".join(map(string, lines)) if isinstance(lines, list) else ""
        said = f"{string(output.get('ename'))}: {string(output.get('evalue'))}"
        # IPython's line of dashes says nothing, and breaks in two on a phone.
        text = re.sub(r"\A(\x1b\[[\d;]*m)*-{9,}(\x1b\[[\d;]*m)*\n", "", text)
        yield _pre(text or said, "err wrap")
    else:
        data = output.get("data")
        yield from _data(data if isinstance(data, dict) else {}, label)


def _data(data: dict[str, Any], label: str) -> Iterator[str]:
    plain = string(data.get("text/plain"))
    done = {"text/plain"} if plain else set()
    image = next((m for m in ("image/png", "image/jpeg") if m in data), None)
    uri = f"data:{image};base64,{''.join(string(data[image]).split())}" if image else ""
    if image and is_image_uri(uri):
        done |= {image, "text/plain"}
        alt = f"Figure, output of {label}" + (f": {cut(plain)[:200]}" if plain else "")
        yield f'<img src="{uri}" alt="{shown(alt)}">'
    elif plain:
        yield _pre(plain, "out")
    left = [m if re.fullmatch(r"[\w.+/-]{1,60}", m) else "something" for m in map(str, data)]
    if left := [m for m in left if m not in done][:5]:
        yield word(f"Left out here: {', '.join(left)}.")


def _pre(text: str, look: str) -> str:
    """Text as a terminal shows it."""
    text = _OPERATING.sub("", cut(text))
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    parts = _ANSI.split("\n".join(lines))
    # Paths are looked for between the colours, and colours of which a theme knows nothing go.
    parts[0::2] = [printable(without_paths(part)) for part in parts[0::2]]
    parts[1::2] = [_plain_colour(part) for part in parts[1::2]]
    return f'<pre class="{look}" tabindex="0">{ansi2html("".join(parts)).rstrip()}</pre>'


_ANSI = re.compile(r"(\x1b\[[0-9;:?]*[@-~])")
_OPERATING = re.compile(r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?")


def _plain_colour(sequence: str) -> str:
    numbers = re.sub(r"\b[34]8;(5;\d+|2;\d+;\d+;\d+);?", "", sequence[2:-1])
    return f"\x1b[{numbers or '39'}m" if re.fullmatch(r"[\d;]*m", sequence[2:]) else ""
