"""The page *By symptom*: from what a reader notices, in a few questions, to the section.

``reference/by-symptom.toml`` holds the questions. Each answer names a sharp bit of the catalogue
(``bit``), or another symptom of the page (``see``, with the words of the link in ``say``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbits._catalogue import SharpBit

PAGE = """\
# By symptom

You know what you see, and not what it is called. Find it here, try the first step, and follow the
answer that fits. If you have an error message, the [page of errors](errors.md) is shorter; all that
gives no error at all is listed under [silent failures](silent-failures.md).

{symptoms}
"""


class SymptomsError(ValueError):
    """The file of symptoms is malformed; the message says where, what was there, what should be."""


def read(path: Path) -> list[Mapping[str, Any]]:
    """Return the symptoms of a file.

    Raises:
        SymptomsError: when a symptom, a step or an answer lacks what it must have.
    """
    symptoms: list[Mapping[str, Any]] = tomllib.loads(path.read_text("utf8")).get("symptom", [])
    for symptom in symptoms:
        title = symptom.get("title")
        if not title or not symptom.get("seen") or not symptom.get("step"):
            raise SymptomsError(f"{title!r} should have a title, a line `seen`, and steps")
        for step in symptom["step"]:
            if not step.get("do") or not step.get("answers"):
                raise SymptomsError(f"{title!r}: a step should have `do` and `answers`, was {step}")
            for answer in step["answers"]:
                if set(answer) not in ({"when", "bit"}, {"when", "see", "say"}):
                    raise SymptomsError(
                        f"{title!r}: an answer should have when and bit, or when, see and say, "
                        f"was {answer}"
                    )
    return symptoms


def _answer(answer: Mapping[str, str], bits: Mapping[str, SharpBit], title: str) -> str:
    if "see" in answer:
        goal = f'<a href="#{answer["see"]}">{answer["say"]}</a>'
    elif bit := bits.get(answer["bit"]):
        words = re.sub(r"`([^`]+)`", r"<code>\1</code>", bit.title)
        goal = f'<a href="../{bit.page}">{words}</a>'
    else:
        raise SymptomsError(f"{title!r}: no sharp bit is called {answer['bit']!r}")
    when = answer["when"]
    return f"   - {when[0].upper()}{when[1:]}: {goal}"


def page(symptoms: Sequence[Mapping[str, Any]], bits: Mapping[str, SharpBit]) -> str:
    """Return the page as Markdown.

    Raises:
        SymptomsError: when an answer names a sharp bit that does not exist.
    """
    parts = []
    for symptom in symptoms:
        lines = [f"## {symptom['title']}\n", f"{symptom['seen']}\n"]
        for number, step in enumerate(symptom["step"], 1):
            lines.append(f"{number}. {step['do']}\n")
            lines += [_answer(answer, bits, symptom["title"]) for answer in step["answers"]]
            lines.append("")
        parts.append("\n".join(lines))
    return PAGE.format(symptoms="\n".join(parts))
