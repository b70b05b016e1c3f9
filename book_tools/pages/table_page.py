"""Generate the page for a reference table from the table's rows and their outcomes.

In a table with two sides, each row compares two pieces of code, with a note and a link below them.
A table with one side is a list of wrong claims.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from book_tools.pages import run_table_rows
from book_tools.pages.name_index import index_names, row_ids
from book_tools.pages.render import render_page
from book_tools.pages.upstream_text import quoted_lines, upstream_text
from jaxbits import _catalogue

Table = Mapping[str, Any]
Outcomes = Mapping[str, str]
"""The outcomes, keyed by `run_table_rows.row_key`."""
OutcomesByVersion = Mapping[str, Outcomes]
"""The outcomes for each of the other versions of JAX."""


def is_error_line(line: str) -> bool:
    """Return whether a line of an outcome is the error that ended it.

    Example:
        >>> is_error_line("XlaRuntimeError: no"), is_error_line("1.5: 2")
        (True, False)
    """
    name = line.partition(":")[0]
    return name.isidentifier() and name.endswith(("Error", "Exception"))


def has_changed(here: str, there: str) -> bool:
    """Return whether two outcomes differ in more than their error messages.

    Args:
        here: The outcome in the book.
        there: The outcome on another version of JAX.

    Example:
        >>> has_changed("ValueError: no", "ValueError: not so"), has_changed("1.0", "2.0")
        (False, True)
    """
    *before, last = here.splitlines() or [""]
    *others, final = there.splitlines() or [""]
    is_same_error = last.partition(": ")[0] == final.partition(": ")[0] and is_error_line(last)
    return before != others or (last != final and not is_same_error)


def _outcome(text: str, version: str = "") -> dict[str, Any]:
    last = (text.splitlines() or [""])[-1]
    return {"text": text, "is_error": is_error_line(last), "version": version}


def _piece(code: str) -> dict[str, Any]:
    """Return a piece of code in the form that the template needs, without its outcome."""
    return {"code": re.sub(r"\n{3,}", "\n\n", code.strip()), "outcomes": [], "quoted": ""}


def _ran(outcomes: Outcomes, key: str) -> bool:
    """Return whether the code ran there and found the packages that it uses."""
    return key in outcomes and "No module named" not in outcomes[key]


def _piece_with_outcomes(
    code: str, given: str, here: Outcomes, elsewhere: OutcomesByVersion
) -> dict[str, Any]:
    """Return a piece of code with its outcome and any that differ on other versions of JAX."""
    key = run_table_rows.row_key(given, code)
    changed = [
        _outcome(outcomes[key], version)
        for version, outcomes in elsewhere.items()
        if _ran(outcomes, key) and has_changed(here[key], outcomes[key])
    ]
    return _piece(code) | {"outcomes": [_outcome(here[key]), *changed]}


def _row(
    row: Mapping[str, Any], table: Table, given: Mapping[str, str], here: Outcomes,
    elsewhere: OutcomesByVersion, versions: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:  # fmt: skip
    """Return a row in the form that the template needs.

    Raises:
        KeyError: If the row's sharp bit is not in the catalogue. The message names similar ones.
    """
    pieces = [
        # Only the JAX column, which comes last, was run on other versions of JAX.
        _piece_with_outcomes(
            row[side], given.get(side, ""), here, elsewhere if side == table["sides"][-1] else {}
        )
        for side in table["sides"]
    ]
    optional = {"where": [], "where_text": "", "since": "", "names": [], "upstream": "",
                "related": [], "nothing_to_send": ""}  # fmt: skip
    filled = {**optional, **row, "pieces": pieces, "sharp_bit": _catalogue.find_bit(row["bit"])}
    piece = pieces[0]
    if "theirs" in row:
        piece["quoted"] = ",".join(map(str, quoted_lines(row, piece["code"])))
    if "proposal" in row:
        key = run_table_rows.row_key(given.get(table["sides"][-1], ""), row[table["sides"][-1]])
        ran = {
            name: installed for name, installed in versions.items() if _ran(elsewhere[name], key)
        }
        differing = {outcome["version"] for outcome in piece["outcomes"]}
        same = [elsewhere[name][key] for name in ran if name not in differing]
        filled["upstream"] = upstream_text(
            filled,
            piece["code"],
            piece["outcomes"],
            ran,
            has_other_wording=any(text != here[key] for text in same),
        )
    return filled


def table_page(
    table: Table,
    here: Outcomes,
    elsewhere: OutcomesByVersion | None = None,
    versions: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """Return the page for a table as Markdown.

    Args:
        table: The contents of the table's TOML file.
        here: The outcomes of the rows in this environment.
        elsewhere: The outcomes on other versions of JAX, which are shown where they differ.
        versions: The versions of the packages installed next to each other version of JAX.

    Raises:
        KeyError: If a row names a sharp bit that is not in the catalogue, or if it has no outcome.
    """
    groups = []
    for group in table["group"]:
        given = group.get("given", {})
        rows = [
            _row(row, table, given, here, elsewhere or {}, versions or {}) for row in group["row"]
        ]
        before = [_piece(given[side]) for side in table["sides"]] if given else []
        about = group.get("about", "").strip()
        groups.append({"title": group["title"], "about": about, "given": before, "rows": rows})
    all_rows = [row for group in groups for row in group["rows"]]
    for row, anchor in zip(all_rows, row_ids(all_rows), strict=True):
        row["id"] = anchor
    text = render_page(
        "table.md",
        title=table["title"],
        about=table["about"].strip(),
        heads=table["heads"] if len(table["sides"]) == 2 else [],
        groups=groups,
        index=index_names(all_rows),
    )
    return text.rstrip() + "\n"
