"""Take the detectors' docstrings apart for the page *Detectors*."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from book_tools.pages.html_utils import inline_code
from jaxbits import detect


def split_docstring(docstring: str) -> tuple[str, list[str], str]:
    r"""Return the summary of a detector's docstring, the sentences in its body, and its example.

    Example:
        >>> split_docstring('''Find it.
        ...
        ... It looks at `a.b`. It cannot
        ... see that.
        ...
        ... >>> find()
        ... []
        ... ''')
        ('Find it.', ['It looks at `a.b`.', 'It cannot see that.'], '>>> find()\n[]')
    """
    first, _, rest = inspect.cleandoc(docstring).partition("\n\n")
    body, prompt, example = rest.partition(">>>")
    prose = " ".join(body.replace("``", "`").split())
    sentences = re.split(r"(?<=[.!])\s+(?=[A-Z`])", prose)
    return " ".join(first.split()), sentences, f"{prompt}{example}".strip()


def find_blind_spots(sentences: Sequence[str]) -> list[str]:
    """Return the sentences in a docstring that say what the check does not detect.

    A sentence counts only if the detector is the one that cannot see something, so that a sentence
    about values that a dtype cannot hold does not count.

    Example:
        >>> find_blind_spots(["It finds what int8 cannot hold.", "It cannot see more."])
        ['It cannot see more.']
    """
    spot = re.compile(r"\b(?:it|detector)(?: also)? (?:cannot|does not report)\b", re.I)
    return [sentence for sentence in sentences if spot.search(sentence)]


def describe_check(check: str, severities: Sequence[str]) -> dict[str, Any]:
    """Return what the template shows about a check.

    Args:
        check: The name of the check.
        severities: The levels of the findings that the check reports in the labeled cases.
    """
    detector = detect.detectors()[check]
    summary, sentences, example = split_docstring(detector.__doc__ or "")
    blind = find_blind_spots(sentences)
    of_jax = [s for s in sentences if re.search(r"\bclosest\b|no switch|\bJAX raises", s)]
    how = [s for s in sentences if s not in (*blind, *of_jax)]
    options = [", calls=[(…), …]"] if check == "recompile" else []
    options += [", carry=0"] if check in ("carry", "key_reuse") else []
    rows = {
        "Detects": " ".join(how),
        "Cannot detect": " ".join(blind),
        "JAX’s own tool": " ".join(of_jax),
        "Levels": ", ".join(severities),
    }
    return {
        "name": check,
        "finds": inline_code(summary.replace("``", "`").removeprefix("Find ")),
        "call": f"detect.{check}(fn, *args{''.join(options)})",
        "example": example,
        "rows": {term: inline_code(text) for term, text in rows.items()},
    }
