"""Make a notebook's text safe to show: redact paths, truncate, and remove control characters."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from jaxbits_grader.reporting.feedback.path_redaction import redact_paths

MAX_LINES, MAX_CHARACTERS = 200, 20_000
# Everything else is a control character, or changes the direction of the text around it.
_NOT_PRINTABLE = re.compile(r"[^\n\t -\x7e\xa0-\u200d\u2010-\u2029\u202f-\u2065\u206a-\U0010ffff]")


def clean_line(text: str) -> str:
    """Return text without paths and control characters. It still has to be escaped."""
    return printable(redact_paths(text))


def remark(text: str) -> str:
    """Return an HTML paragraph in which the page says what it leaves out."""
    return f'<p class="word">{escape(text)}</p>'


def to_string(value: Any) -> str:
    """Return the text of a notebook's field, which a kernel may have set to anything."""
    if isinstance(value, list):
        return "".join(map(to_string, value))
    return value if isinstance(value, str) else "" if value is None else str(value)


def truncate(text: str) -> str:
    """Return the beginning and the end of a text that is too long."""
    half = MAX_CHARACTERS // 2
    if len(text) > MAX_CHARACTERS:
        left = len(text) - MAX_CHARACTERS
        text = f"{text[:half]}\n[… {left} characters left out …]\n{text[-half:]}"
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        left, half = len(lines) - MAX_LINES, MAX_LINES // 2
        lines[half:-half] = [f"[… {left} lines left out …]"]
    return "\n".join(lines)


def printable(text: str) -> str:
    """Return text without control characters and marks that reverse its direction."""
    return _NOT_PRINTABLE.sub("", text)
