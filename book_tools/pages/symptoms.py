"""Generate the page *By symptom*, which leads a reader from a symptom to a section.

``reference/by-symptom.toml`` contains the questions. Each answer names a sharp bit in the catalogue
(``bit``) or another symptom on the page (``see``, with the text of the link in ``say``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from book_tools.pages.render import render_page
from jaxbits._catalogue import SharpBit


class SymptomsError(ValueError):
    """Raised if the symptoms file is malformed. The message names the symptom and the problem."""


def read_symptoms(path: Path) -> list[Mapping[str, Any]]:
    """Return the symptoms in a file.

    Raises:
        SymptomsError: If a symptom, a step, or an answer lacks a key.
    """
    symptoms: list[Mapping[str, Any]] = tomllib.loads(path.read_text("utf8")).get("symptom", [])
    for symptom in symptoms:
        title = symptom.get("title")
        if not title or not symptom.get("seen") or not symptom.get("step"):
            raise SymptomsError(
                f"{title!r}: a symptom must have title, seen, and step; got {sorted(symptom)}"
            )
        for step in symptom["step"]:
            if not step.get("do") or not step.get("answers"):
                raise SymptomsError(f"{title!r}: a step must have do and answers, got {step}")
            for answer in step["answers"]:
                if set(answer) not in ({"when", "bit"}, {"when", "see", "say"}):
                    raise SymptomsError(
                        f"{title!r}: an answer must have when and bit, or when, see, and say; "
                        f"got {answer}"
                    )
    return symptoms


def symptoms_page(symptoms: Sequence[Mapping[str, Any]], bits: Mapping[str, SharpBit]) -> str:
    """Return the page as Markdown.

    Args:
        symptoms: The symptoms, as `read_symptoms` returns them.
        bits: The sharp bits in the catalogue, keyed by id.

    Raises:
        SymptomsError: If an answer names a sharp bit that is not in the catalogue.
    """
    for symptom in symptoms:
        for step in symptom["step"]:
            for answer in step["answers"]:
                if "bit" in answer and answer["bit"] not in bits:
                    raise SymptomsError(
                        f"{symptom['title']!r}: bit must be in the catalogue, got {answer['bit']!r}"
                    )
    return render_page("by-symptom.md", symptoms=symptoms, bits=bits)
