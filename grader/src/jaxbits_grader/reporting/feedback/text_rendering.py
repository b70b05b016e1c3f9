"""Text of a notebook on the page: escaped, cut to a length, without paths or control characters."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from jaxbits_grader.reporting.feedback.path_redaction import without_paths

LINES, CHARACTERS = 200, 20_000


def shown(text: str) -> str:
    """A line of text as it may stand in the page's HTML."""
    return escape(printable(without_paths(text)))


def word(text: str) -> str:
    """What the page itself says of something that it leaves out."""
    return f'<p class="word">{escape(text)}</p>'


def string(value: Any) -> str:
    """Text of a notebook, which a kernel may have made anything."""
    if isinstance(value, list):
        return "".join(map(string, value))
    return value if isinstance(value, str) else "" if value is None else str(value)


def cut(text: str) -> str:
    """The head and the end of a text that is too long."""
    half = CHARACTERS // 2
    if len(text) > CHARACTERS:
        left = len(text) - CHARACTERS
        text = f"{text[:half]}\n[… {left} characters left out …]\n{text[-half:]}"
    lines = text.split("\n")
    if len(lines) > LINES:
        left, half = len(lines) - LINES, LINES // 2
        lines[half:-half] = [f"[… {left} lines left out …]"]
    return "\n".join(lines)


def printable(text: str) -> str:
    """Text without control characters, and without those that turn the order of others round."""
    return re.sub(r"[^\n\t -\x7e\xa0-\u200d\u2010-\u2029\u202f-\u2065\u206a-\U0010ffff]", "", text)
