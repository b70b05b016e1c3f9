"""The page of a table of the reference part, as Markdown with HTML where Markdown has no words.

A table with two sides becomes a table: the codes side by side, what each gives below it, a note
and a link below both. One with a single side becomes a list of claims that are wrong.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from book_tools.pages import run_table_rows
from book_tools.pages.html_utils import inline, link
from jaxbits import _catalogue

Table = Mapping[str, Any]
Given = Mapping[str, str]
Outcomes = Mapping[str, str]  # by the code that gave them
There = Mapping[str, Outcomes]  # by the version of JAX
NONE: There = {}


def differs(here: str, there: str) -> bool:
    """Whether an outcome is another one; the same class of error in other words is not.

    >>> differs("ValueError: no", "ValueError: not so")
    False
    >>> differs("1.0", "2.0")
    True
    """
    *before, last = here.splitlines() or [""]
    *others, final = there.splitlines() or [""]
    same = last.partition(": ")[0] == final.partition(": ")[0] and failed(last)
    return before != others or (last != final and not same)


def failed(line: str) -> bool:
    """Whether a line of an outcome is the error that ended it.

    >>> failed("XlaRuntimeError: no"), failed("1.5: 2")
    (True, False)
    """
    name = line.partition(":")[0]
    return name.isidentifier() and name.endswith(("Error", "Exception"))


def outcome_box(text: str) -> str:
    """Return an outcome as HTML, one that ends in an error marked as such."""
    kind = " error" if failed((text.splitlines() or [""])[-1]) else ""
    shown = html.escape(text, quote=False) or "(nothing)"
    return f'<pre class="outcome{kind}">{shown}</pre>'


def cell(code: str, given: str = "", shown: Outcomes | None = None, there: There = NONE) -> str:
    """Return a piece of code as Markdown, what it gives, and what other versions give instead."""
    dense = re.sub(r"\n{3,}", "\n\n", code.strip())
    block = f"\n```python\n{dense}\n```\n\n"
    if shown is None:
        return block
    key = run_table_rows.key(given, code)
    here = shown[key]
    others = ((version, outcomes.get(key)) for version, outcomes in there.items())
    boxes = [outcome_box(here)] + [
        f'<p class="elsewhere">On jax {version}:</p>\n{outcome_box(text)}'
        for version, text in others
        if text is not None and "No module named" not in text and differs(here, text)
    ]
    return block + "\n".join(boxes) + "\n\n"


def see(row: Mapping[str, Any]) -> str:
    """Return a link to the section that shows a row.

    Raises:
        KeyError: when the catalogue has no such entry, naming those that come closest.
    """
    bit = _catalogue.bit(row["bit"])
    return f'<a href="{link(bit)}">{inline(bit.title)}</a>'


def pair(row: Mapping[str, Any], table: Table, given: Given, shown: Outcomes, there: There) -> str:
    """Return one row of a table with two sides: the codes side by side, the note below them."""
    sides = "".join(
        f'<td class="side">\n{cell(row[side], given.get(side, ""), shown, elsewhere)}</td>\n'
        for side, elsewhere in zip(table["sides"], (NONE, there), strict=True)
    )
    text = f'{inline(row["note"])} <span class="see">{see(row)}</span>'
    note = f'<tr class="note"><td colspan="2">{text}</td></tr>'
    return f"<tbody>\n<tr>\n{sides}</tr>\n{note}\n</tbody>\n"


def pairs(group: Mapping[str, Any], table: Table, shown: Outcomes, there: There) -> str:
    """Return a group of a table with two sides."""
    given = group.get("given", {})
    heads = "".join(f'<th scope="col">{head}</th>' for head in table["heads"])
    first = "".join(f'<td class="side">\n{cell(given[s])}</td>\n' for s in table["sides"] if given)
    before = f'<tbody class="given">\n<tr>\n{first}</tr>\n</tbody>\n' if given else ""
    body = "".join(pair(row, table, given, shown, there) for row in group["row"])
    return f'<table class="twin">\n<thead><tr>{heads}</tr></thead>\n{before}{body}</table>\n'


def claim(row: Mapping[str, Any], given: Given, shown: Outcomes, there: There) -> str:
    """Return one wrong claim: what is said and where, what is true, the code, the section."""
    where = [f'<a href="{url}">{inline(title)}</a>' for title, url in row.get("where", [])]
    lines = {
        "Said": inline(row["said"]),
        "Where": "; ".join(filter(None, (*where, inline(row.get("where_text", ""))))),
        "True": inline(row["true"]),
        "Since": inline(row.get("since", "")),
        "Section": see(row),
    }
    terms = "".join(f"<dt>{term}</dt><dd>{text}</dd>\n" for term, text in lines.items() if text)
    code = cell(row["jax"], given.get("jax", ""), shown, there)
    title = row["title"].replace("_", r"\_")
    return f'### {title}\n\n<div class="claim">\n<dl>\n{terms}</dl>\n{code}</div>\n'


def page(table: Table, shown: Outcomes, there: There = NONE) -> str:
    """Return the page of a table as Markdown."""
    parts = [f"# {table['title']}\n\n{table['about'].strip()}\n"]
    for group in table["group"]:
        about = group.get("about", "").strip()
        parts.append(f"## {group['title']}\n" + (f"\n{about}\n" if about else ""))
        if len(table["sides"]) == 2:
            parts.append(pairs(group, table, shown, there))
        else:
            given = group.get("given", {})
            parts += [claim(row, given, shown, there) for row in group["row"]]
    return "\n".join(parts)
