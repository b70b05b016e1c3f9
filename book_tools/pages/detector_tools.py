"""Build the table on the page *Detectors* that compares the detectors with other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from book_tools.pages.html_utils import format_score, html_table, inline_code


def describe_tools(record: Mapping[str, Any], ours: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Return the table and the other parts of the section, for the template.

    Args:
        record: The recorded scores, as ``python -m book_tools tools`` writes them.
        ours: The score of each check of this library.
    """
    rows = []
    for check in sorted(ours):
        about = [tool for tool in record["tools"] if check in tool["checks"]]
        cells = [f"{inline_code(t['name'])} {format_score(t['checks'][check])}" for t in about]
        # The tool that finds most comes first, and among equal ones the one with fewest alarms.
        order = sorted(range(len(about)), key=lambda n: _rank(about[n]["checks"][check]))
        listed = "<br>".join(cells[n] for n in order) or "no other tool looks for this"
        link = f'<a href="#{check.replace("_", "-")}">{check}</a>'
        rows.append([link, format_score(ours[check]), listed])
    return {
        "table": html_table(("Check", "jaxbits", "Other tools"), rows),
        "sample": record["sample"],
        "versions": ", ".join(f"{name} {v}" for name, v in record["versions"].items()),
        "uses": {inline_code(t["name"]): inline_code(t["use"]) for t in record["tools"]},
    }


def _rank(counts: Sequence[int]) -> tuple[int, int]:
    return -counts[0], counts[2]
