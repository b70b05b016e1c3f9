"""Generate the page *Behavior by version* from recorded runs."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from book_tools.pages.html_utils import (
    count_noun,
    escape_html,
    html_table,
    inline_code,
    link_to_section,
)
from book_tools.pages.render import render_page
from book_tools.pages.version_index import Change, index_changes, names_of_change
from book_tools.project_metadata import ROOT
from book_tools.versions.chapter_cells import is_similar
from book_tools.versions.compare_runs import (
    Record,
    align_errors,
    comparable_message,
    find_differences,
)
from book_tools.versions.version_noise import without_noise
from jaxbits import _catalogue

PACKAGES = ("python", "jax", "jaxlib", "flax", "optax", "numpy", "torch")
MAX_LINE = 240


@functools.cache
def _headings(stem: str) -> frozenset[str]:
    """Return the headings of a chapter, or an empty set if there is no such chapter."""
    path = ROOT / "chapters" / f"{stem}.md"
    text = path.read_text("utf8") if path.exists() else ""
    return frozenset(heading.strip() for heading in re.findall(r"^##+ (.+)$", text, re.M))


def _link(stem: str, section: str, bit: str = "") -> str:
    """Return a link to a section of a chapter.

    If the chapter has been edited since the run and lacks the section, the link leads to its top.
    """
    if section and (headings := _headings(stem)) and section not in headings:
        return f'<a href="../chapters/{stem}.html">{inline_code(section)}</a>'
    return link_to_section(stem, section, bit)


def _count_outcomes(claims: Iterable[Mapping[str, Any]]) -> str:
    """Return a phrase that says how many claims held, did not apply, and failed."""
    seen = [claim["outcome"] for claim in claims]
    counts = (f"{seen.count(o)} {o}" for o in ("held", "not made", "failed") if o in seen)
    return ", ".join(counts) or "none"


def _device(record: Record) -> str:
    backend = record["backend"].upper()
    return backend if record["device"] == record["backend"] else f"{backend} ({record['device']})"


def _count_tests(record: Record) -> str:
    tests = record["tests"]
    counts = {
        "passed": tests["passed"],
        "skipped": tests["skipped"],
        "failed": len(tests["failed"]),
    }
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number) or "none"


def _environments_table(records: Mapping[str, Record], detectors: Mapping[str, str]) -> str:
    """Return a table with the versions and totals for each environment."""
    listed = records.values()
    rows: list[list[str]] = [
        [
            name.replace("python", "Python"),
            *(escape_html(r["versions"].get(name, "–")) for r in listed),
        ]
        for name in PACKAGES
    ]
    rows.append(["device", *(escape_html(_device(record)) for record in listed)])
    claims = [[claim for c in r["chapters"].values() for claim in c["claims"]] for r in listed]
    rows.append(["claims", *map(_count_outcomes, claims)])
    rows.append(["library’s tests", *map(_count_tests, listed)])
    if detectors:
        link = '<a href="detectors.html">detectors</a>'
        rows.append([link, *(detectors.get(name, "–") for name in records)])
    rows.append(["date", *(record["date"] for record in listed)])
    return html_table(["Property", *(escape_html(record["title"]) for record in listed)], rows)


def _title(bit: str) -> str:
    """Return the title of a sharp bit, or an empty string if the catalogue lacks it."""
    catalogue = _catalogue.load()
    return catalogue[bit].title if bit in catalogue else ""


def _claims_table(
    stem: str, chapters: Mapping[str, Mapping[str, Any]]
) -> tuple[str, dict[Change, list[str]]]:
    """Return a table of the claims that do not hold in every environment, and their names."""
    by_claim: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for title, chapter in chapters.items():
        for claim in chapter["claims"]:
            by_claim.setdefault((claim["bit"], claim["claim"]), {})[title] = claim
    rows: list[list[str]] = []
    changes: dict[Change, list[str]] = {}
    for (bit, text), seen in by_claim.items():
        if all(claim["outcome"] == "held" for claim in seen.values()):
            continue
        section = next(iter(seen.values())).get("section", "")
        made_for = next((c["made_for"] for c in seen.values() if "made_for" in c), "all versions")
        link = _link(stem, section, bit)
        outcomes = (_describe_outcome(seen.get(title)) for title in chapters)
        change = Change(f"claim-{stem[:2]}-{len(rows) + 1}", text, made_for, section)
        # A claim about a device says nothing about versions.
        if not made_for.startswith("backend "):
            changes[change] = names_of_change(text, _title(bit))
        marked = f'<span id="{change.anchor}">{inline_code(text)}</span>'
        rows.append([f"{marked}<br>{link}", escape_html(made_for), *outcomes])
    heads = ("Claim", "Made for", *map(escape_html, chapters))
    return html_table(heads, rows) if rows else "", changes


def _describe_outcome(claim: Mapping[str, Any] | None) -> str:
    if claim is None:
        return "not reached"
    if claim["outcome"] == "failed":
        return f"fails: saw {escape_html(claim.get('seen', 'nothing'))}"
    return {"held": "holds", "not made": "not made"}[claim["outcome"]]


def first_differing_line(message: str, others: Iterable[str]) -> str:
    r"""Return the first line in which a message differs from the others, truncated if it is long.

    The result is empty if the message ends before that line.

    Args:
        message: The message to search.
        others: The messages to compare it with.

    Example:
        >>> first_differing_line("No.\nIt was x.", ["No.\nIt was y."])
        'It was x.'
        >>> first_differing_line("No.", ["No.\nIt was y."])
        ''
    """
    columns = [message.splitlines(), *(other.splitlines() for other in others)]
    for first, *rest in itertools.zip_longest(*columns):
        if any(line != first for line in rest):
            line = first or ""
            return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"
    return ""


def _differing_wordings(
    stem: str, chapters: Mapping[str, Mapping[str, Any]], book: str
) -> Iterator[tuple[Change, list[str], str, list[tuple[str, str]]]]:
    """Yield each error that has several messages.

    Each item consists of the change, its names, a link, and the environments of each message.
    """
    by_error: dict[int, dict[str, list[str]]] = {}
    stored = chapters[book]
    for title, chapter in chapters.items():
        for number, (here, there) in enumerate(align_errors(chapter, stored)):
            if here["names"] and there and there["names"] and not here["comparison"]:
                text = f"{here['names'][0]}: {comparable_message(here)}"
                by_error.setdefault(number, {}).setdefault(text, []).append(title)
    for number, texts in sorted(by_error.items()):
        if len(texts) > 1:
            by_line: dict[str, list[str]] = {}
            for text, titles in texts.items():
                line = first_differing_line(text, texts.keys() - {text})
                by_line.setdefault(line, []).extend(titles)
            lines = [(", ".join(titles), line) for line, titles in by_line.items()]
            error = stored["errors"][number]
            # If a cell is about several sharp bits, their titles do not say which one fails.
            title = _title(error["bits"][0]) if len(error["bits"]) == 1 else ""
            text, section = f"the message of {error['names'][0]}", error["section"]
            change = Change(f"message-{stem[:2]}-{number}", text, section=section)
            names = names_of_change(text, title)
            yield change, names, _link(stem, section), lines


def _printed_table(stem: str, chapters: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table with the first differing line of each output that differs from the book's."""
    rows = [
        [
            _link(stem, output["section"]), escape_html(title),
            *(_line_html(without_noise(output[key])) for key in ("stored", "here")),
        ]
        for title, chapter in chapters.items()
        for output in chapter["printed"]
        if not is_similar(output["stored"], output["here"])
    ]  # fmt: skip
    return html_table(("Section", "Environment", "In the book", "There"), rows) if rows else ""


def _line_html(line: str) -> str:
    return f"<code>{escape_html(line)}</code>" if line else "nothing"


def _describe_chapter(stem: str, records: Mapping[str, Record]) -> dict[str, Any]:
    """Return the values that the template needs for one chapter."""
    chapters = {r["title"]: r["chapters"][stem] for r in records.values() if stem in r["chapters"]}
    rows = [
        [
            escape_html(title),
            _count_outcomes(chapter["claims"]),
            count_noun(sum(bool(e["names"]) for e in chapter["errors"]), "error") + " shown",
        ]
        for title, chapter in chapters.items()
    ]
    first = next(iter(chapters))
    claims, changes = _claims_table(stem, chapters)
    wordings = list(_differing_wordings(stem, chapters, first))
    changes |= {change: names for change, names, *_ in wordings}
    return {
        "title": chapters[first]["title"],
        "table": html_table(("Environment", "Claims", "Cells that raise"), rows),
        "claims": claims,
        "wordings": [(change.anchor, link, lines) for change, _, link, lines in wordings],
        "printed": _printed_table(stem, chapters),
        "changes": changes,
    }


def versions_page(records: Mapping[str, Record], detectors: Mapping[str, str] | None = None) -> str:
    """Return the page as Markdown.

    Args:
        records: The recorded runs, keyed by environment, with the book's own environment first.
        detectors: For each environment, a phrase with the total score of all detectors.
    """
    stems = sorted({stem for record in records.values() for stem in record["chapters"]})
    undeclared = [
        f"{record['title']}: {difference.where}"
        for record in records.values()
        for difference in find_differences(record, records.get("lock"))
        # The library's failed tests are already counted in the table of environments.
        if not difference.declared and difference.in_the_book
    ]
    chapters = [_describe_chapter(stem, records) for stem in stems]
    changes = {k: v for chapter in chapters for k, v in chapter["changes"].items()}
    text = render_page(
        "behaviour-by-version.md",
        records=records,
        environments=_environments_table(records, detectors or {}),
        undeclared=undeclared,
        count=count_noun(len(undeclared), "difference"),
        chapters=chapters,
        names=index_changes(changes),
    )
    return text.rstrip() + "\n"
