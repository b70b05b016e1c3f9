"""Write the page *Behaviour by version* from recorded runs, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from book_tools.pages.html_utils import count, escaped, inline, outcomes, section_link, table
from book_tools.versions.compare_runs import Record, aligned, judge, wording

INTRO = """\
# Behaviour by version

Does what you read hold on *your* versions? Every cell of every chapter was run in the environments
below. Every claim (the lines with a ✓) was checked again in each, every cell that should raise an
error had to raise it, no other cell was allowed to, and the library's own tests ran too. This page
is written by the program that did so, from what it recorded.

To see what you have, run `import jaxbits.runtime; jaxbits.runtime.report()`: it prints your
versions and devices, and whether they are among those tested.
"""

HEADS = ("Environment", "Claims", "Cells that raise")
ROWS = ("python", "jax", "jaxlib", "flax", "optax", "numpy", "torch")


def _device(record: Record) -> str:
    backend = record["backend"].upper()
    return backend if record["device"] == record["backend"] else f"{backend} ({record['device']})"


def _environments(records: Mapping[str, Record], detectors: Mapping[str, str]) -> str:
    listed = records.values()
    rows = [
        [name.replace("python", "Python"), *(escaped(r["versions"].get(name, "–")) for r in listed)]
        for name in ROWS
    ]
    rows.append(["runs on", *(escaped(_device(r)) for r in listed)])
    rows.append(
        [
            "claims",
            *(outcomes(x for c in r["chapters"].values() for x in c["claims"]) for r in listed),
        ]
    )
    tests = []
    for record in listed:
        ran = record["tests"]
        counts = {"passed": ran["passed"], "skipped": ran["skipped"], "failed": len(ran["failed"])}
        tests.append(", ".join(f"{n} {word}" for word, n in counts.items() if n) or "none")
    rows.append(["library’s tests", *tests])
    if detectors:
        link = '<a href="detectors.html">detectors</a>'
        rows.append([link, *(detectors.get(name, "–") for name in records)])
    rows.append(["run on", *(r["date"] for r in listed)])
    about = "\n".join(f"- **{r['title']}**: {r['about']}" for r in listed)
    return f"{about}\n\n{table(['What', *(escaped(r['title']) for r in listed)], rows)}\n"


def _not_held(stem: str, chapters: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the claims that are not made, or failed, somewhere: one column an environment."""
    by_claim: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for title, chapter in chapters.items():
        for claim in chapter["claims"]:
            by_claim.setdefault((claim["bit"], claim["claim"]), {})[title] = claim
    rows = []
    for (bit, text), seen in by_claim.items():
        if all(claim["outcome"] == "held" for claim in seen.values()):
            continue
        one = next(iter(seen.values()))
        said_of = next((c["made_for"] for c in seen.values() if "made_for" in c), "all versions")
        link = section_link(stem, one.get("section", ""), bit)
        there = (_outcome(seen.get(title)) for title in chapters)
        rows.append([f"{inline(text)}<br>{link}", escaped(said_of), *there])
    head = ("Claim", "Said of", *map(escaped, chapters))
    return f"**Claims that depend on the version**\n\n{table(head, rows)}\n" if rows else ""


def _outcome(claim: Mapping[str, Any] | None) -> str:
    if claim is None:
        return "not reached"
    if claim["outcome"] == "failed":
        return f"fails: saw {escaped(claim.get('seen', 'nothing'))}"
    return {"held": "holds", "not made": "not claimed"}[claim["outcome"]]


def telling(message: str, others: Iterable[str]) -> str:
    r"""Return the line of a message in which it first differs from the others, shortened.

    >>> telling("No.\nIt was x.", ["No.\nIt was y."])
    'It was x.'
    """
    lines = message.splitlines() or [""]
    columns = [lines, *(other.splitlines() for other in others)]
    for number, line in enumerate(lines):
        if len({column[number] if number < len(column) else None for column in columns}) > 1:
            return line if len(line) <= 240 else line[:239] + "…"
    return lines[-1][:240]


def _wordings(stem: str, chapters: Mapping[str, Mapping[str, Any]], book: str) -> str:
    """Return the errors of JAX that are worded otherwise somewhere, side by side."""
    said: dict[int, dict[str, list[str]]] = {}
    stored = chapters[book]
    for title, chapter in chapters.items():
        for number, (here, there) in enumerate(aligned(chapter, stored)):
            if here["names"] and there and there["names"] and not here["comparison"]:
                text = f"{here['names'][0]}: {wording(here)}"
                said.setdefault(number, {}).setdefault(text, []).append(title)
    parts = []
    for number, texts in sorted(said.items()):
        if len(texts) > 1:
            lines = "\n".join(
                f"<dt>{escaped(', '.join(titles))}</dt>\n<dd><code>"
                f"{escaped(telling(text, texts.keys() - {text}))}</code></dd>"
                for text, titles in texts.items()
            )
            link = section_link(stem, stored["errors"][number]["section"])
            parts.append(f"<p>{link}</p>\n<dl>\n{lines}\n</dl>")
    if not parts:
        return ""
    joined = "\n".join(parts)
    return f'**Errors that are worded otherwise**\n\n<div class="by-version">\n{joined}\n</div>\n'


def _prints(stem: str, chapters: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the places where other text is printed, each by its first line that differs."""
    rows = [
        [
            section_link(stem, output["section"]), escaped(title),
            f"<code>{escaped(output['stored'])}</code>", f"<code>{escaped(output['here'])}</code>",
        ]
        for title, chapter in chapters.items()
        for output in chapter["printed"]
    ]  # fmt: skip
    head = ("Section", "Where", "In the book", "There")
    return (
        f"**Text that prints otherwise** (the first line that does)\n\n{table(head, rows)}\n"
        if rows
        else ""
    )


def _chapter(stem: str, records: Mapping[str, Record]) -> str:
    chapters = {r["title"]: r["chapters"][stem] for r in records.values() if stem in r["chapters"]}
    rows = [
        [
            escaped(title),
            outcomes(chapter["claims"]),
            count(sum(bool(e["names"]) for e in chapter["errors"]), "error") + " shown",
        ]
        for title, chapter in chapters.items()
    ]
    first = next(iter(chapters))
    parts = [
        f"## {chapters[first]['title']}\n\n{table(HEADS, rows)}\n",
        _not_held(stem, chapters),
        _wordings(stem, chapters, first),
        _prints(stem, chapters),
    ]
    if not any(parts[1:]):
        parts.append("Nothing differs.\n")
    return "\n".join(part for part in parts if part)


def page(records: Mapping[str, Record], detectors: Mapping[str, str] | None = None) -> str:
    """Return the page from the recorded runs, the book's own first.

    Args:
        records: the runs by environment.
        detectors: how the detectors do on the labelled cases there, in a few words.
    """
    if not records:
        return f"{INTRO}\nNothing has been recorded yet: `make versions` does so.\n"
    stems = sorted({stem for record in records.values() for stem in record["chapters"]})
    undeclared = [
        f"{record['title']}: {difference.where}"
        for record in records.values()
        for difference in judge(record, records.get("lock"))
        # The library's failed tests are counted in the table above.
        if not difference.declared and difference.in_the_book
    ]
    state = "Nothing else was found to differ but what is listed below, chapter by chapter.\n"
    if undeclared:
        items = "\n".join(f"<li>{escaped(where)}</li>" for where in undeclared)
        number = count(len(undeclared), "difference")
        state = f"{number} that the book does not state yet:\n\n<ul>\n{items}\n</ul>\n"
    parts = [INTRO, "## What was tested\n", _environments(records, detectors or {}), state]
    return "\n".join([*parts, *(_chapter(stem, records) for stem in stems)]).rstrip() + "\n"
