"""Make strings safe to show by truncating them and removing paths and control characters."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from jaxbits_grader.reporting.feedback.path_redaction import redact_paths

MAX_LINES, MAX_CHARACTERS = 200, 20_000
# These are control characters and characters that change the direction of the surrounding text.
_NOT_PRINTABLE = re.compile(r"[^\n\t -\x7e\xa0-\u200d\u2010-\u2029\u202f-\u2065\u206a-\U0010ffff]")


def clean_line(text: str) -> str:
    """Return a string without control characters and with its paths redacted.

    The caller still has to escape the result.
    """
    return printable(redact_paths(text))


def remark(text: str) -> str:
    """Return an HTML paragraph with a remark, such as a list of omitted outputs."""
    return f'<p class="word">{escape(text)}</p>'


def to_string(value: Any) -> str:
    """Return the value of a field in a notebook as a string.

    The field may contain any JSON value, because a kernel wrote it.
    """
    if isinstance(value, list):
        return "".join(map(to_string, value))
    return value if isinstance(value, str) else "" if value is None else str(value)


def truncate(text: str) -> str:
    """Return a string, leaving out its middle part if it has too many characters or lines."""
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
    """Return a string without control characters or marks that change the text direction."""
    return _NOT_PRINTABLE.sub("", text)
