"""Generate the page *Detectors* from the detectors' docstrings and recorded runs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from book_tools.pages.detector_docstrings import describe_check
from book_tools.pages.detector_tools import describe_tools
from book_tools.pages.html_utils import escape_html, format_score, html_table, inline_code
from book_tools.pages.render import render_page
from book_tools.versions.compare_tools import read_record
from book_tools.versions.detector_metrics import (
    CASES,
    Scores,
    add_scores,
    read_scores,
    score_of_check,
)
from jaxbits import detect
from jaxbits._analysis import finding, gaps
from jaxbits.book import key_programs, measurements
from jaxbits.book.figures.style import Picture

FIGURE = "audit-cost.svg"


def _scores_table(book: Scores, first: Mapping[str, Any]) -> str:
    heads = ("Check", "Given", "Own", "First run", "JAX’s closest switch", "Its score")
    rows = []
    for check, seen in book["detectors"].items():
        row = [f'<a href="#{check.replace("_", "-")}">{check}</a>']
        row += [format_score(seen[cases]) for cases in CASES]
        row.append(format_score(first.get(check, {}).get("own_cases")))
        switches = book.get("switches", {}).get(check, [])
        row.append("<br>".join(inline_code(switch["name"]) for switch in switches) or "none")
        both = (add_scores(switch[cases] for cases in CASES) for switch in switches)
        row.append("<br>".join(map(format_score, both)) or "–")
        rows.append(row)
    return html_table(heads, rows)


def _versions_table(scored: Mapping[str, Scores]) -> str:
    heads = ("Check", *(f"{escape_html(s['title'])}, jax {s['jax']}" for s in scored.values()))
    checks = list(scored["lock"]["detectors"])
    totals = [
        add_scores(score_of_check(s, c) for c in checks if c in s["detectors"])
        for s in scored.values()
    ]
    rows = [["all", *map(format_score, totals)]]
    for check in checks:
        cells = [format_score(_score_or_none(s, check)) for s in scored.values()]
        if len(set(cells)) > 1:
            rows.append([check, *cells])
    same = "Every check has the same score on all versions, on the given and own cases together."
    differ = "The table lists the checks whose scores differ, on the given and own cases together."
    text = same if len(rows) == 1 else differ
    return f"{text}\n\n{html_table(heads, rows)}"


def _score_or_none(scored: Scores, check: str) -> list[int] | None:
    return score_of_check(scored, check) if check in scored["detectors"] else None


def _describe_cost(figure: Picture) -> dict[str, str]:
    """Return the recorded cost of an audit, relative to a first call and for each check."""
    run = measurements.load("audit_cost")
    ratios = []
    for name, times in run["ratios"].items():
        first, audit = (run["results"][f"{what}, {name}"] for what in ("first call", "audit"))
        spread = f"{times['median']:.1f} ({times['q1']:.1f} to {times['q3']:.1f})"
        ratios.append(
            [escape_html(name), f"{first['median']:.0f}", f"{audit['median']:.0f}", spread]
        )
    parts = run["series"]["parts"]
    milliseconds = [
        [
            escape_html(part),
            *(f"{value:.0f}" if value >= 1 else "under 1" for value in values.values()),
        ]
        for part, values in parts.items()
    ]
    heads = ("Function", "First call, ms", "Full audit, ms", "Times (quartiles)")
    programs = next(iter(parts.values()))
    return {
        "machine": measurements.machine(run),
        "ratios": html_table(heads, ratios),
        "parts": html_table(("Part, ms", *map(escape_html, programs)), milliseconds),
        "alt": figure.alt,
        "figure": FIGURE,
        "missing": ", ".join(f"<code>{c}</code>" for c in detect.detectors() if c not in parts),
    }


def _describe_key_programs() -> dict[str, Any]:
    """Return how many programs the key checkers ran on and the table of what they report."""
    heads = ("Program", "<code>jax.debug_key_reuse</code>", "<code>key_reuse</code>")
    rows = [
        [escape_html(name), *("reports it" if found else "–" for found in reported)]
        for name, *reported in key_programs.reported_programs()
    ]
    return {
        "total": len(rows),
        "correct": len(key_programs.GROUPS["correct"]),
        "table": html_table(heads, rows),
    }


def _draw_cost() -> Picture | None:
    try:
        measurements.load("audit_cost")
    except FileNotFoundError:
        return None
    from jaxbits.book.figures.audit import cost_of_equations  # This loads Matplotlib.

    return cost_of_equations()


def detectors_page(root: Path, figure: Picture | None) -> str:
    """Return the page as Markdown.

    Args:
        root: The project's folder, which contains the recorded scores.
        figure: The figure that shows the cost of an audit, or None if the cost was never recorded.
    """
    scored = read_scores(root, ["lock", "colab", "newest", "accelerator"])
    first_contact = root / "tests" / "detect" / "first_contact.toml"
    first = tomllib.loads(first_contact.read_text("utf8"))
    book = scored["lock"]
    checks = [check for check in detect.detectors() if check in book["detectors"]]
    tools = read_record(root)
    return render_page(
        "detectors.md",
        total=add_scores(score_of_check(book, check) for check in checks),
        scores=_scores_table(book, first),
        versions=_versions_table(scored),
        tools=describe_tools(tools, {check: score_of_check(book, check) for check in checks})
        if tools
        else None,
        cost=_describe_cost(figure) if figure else None,
        keys=_describe_key_programs(),
        levels={level: inline_code(meaning) for level, meaning in finding.LEVELS.items()},
        cases={case: inline_code(meaning) for case, meaning in gaps.CASES.items()},
        checks=[describe_check(check, book["detectors"][check]["severities"]) for check in checks],
    )


def detectors_page_and_figure(root: Path) -> dict[Path, str]:
    """Return the page and, if it can be drawn, the figure, as a dict from paths to contents."""
    figure = _draw_cost()
    made = {root / "reference" / "detectors.md": detectors_page(root, figure)}
    if figure is not None:
        made[root / "reference" / FIGURE] = figure.svg
    return made
