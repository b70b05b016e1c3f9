"""The page *Detectors*: what each looks for, from its code, and how it does, from recorded runs."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from book_tools.pages.html_utils import escaped, inline, table
from book_tools.versions import detector_metrics
from book_tools.versions.detector_metrics import Scored
from jaxbits import detect
from jaxbits.book import measurements
from jaxbits.book.figures.style import Picture

CASES = detector_metrics.CASES

PAGE = """\
# Detectors

What `jaxbits.audit` looks for in a function of yours, one check a section, and how well each does.
Every check can be used alone: `jaxbits.detect.{example}(fn, *args)`. [The library](api.md) tells
how to call them.

The scores are those of the project's own test suite on labelled cases: small functions, each with
one thing that a check must report, or with something that looks like it and must not be reported.
A report is a finding above a note. The *given* cases were written before the detectors, by somebody
else; the project's *own* cases were written before the check had seen any of them, in one lot or
two (those of `iterator` once the given ones had been tried, and a few after a fault was mended).
*At first* is how a check did on its own cases when it first met them, before anything was mended.
Beside each stands the switch of JAX that comes closest, on all these cases together.

Of {positives} cases that must be reported {found} are, with {alarms} false alarms in {negatives}.

## Scores

Found of those to be found, then false alarms of those not to be reported.

{scores}

## By version

{versions}

## What an audit costs

{cost}

## What each looks for

{checks}
"""

COST = """\
The first call of a function under `jax.jit`, compilation included, and an audit of it, both with
JAX's caches empty ({machine}):

{ratios}

The parts of an audit of the same functions, with JAX warm: one trace that all checks share, and
what each check adds to it.

{parts}

And as a program grows, one equation after the other:

![{alt}]({figure})
"""

FIGURE = "audit-cost.svg"


def counted(score: Sequence[int] | None) -> str:
    """Return a score in one cell.

    >>> counted([9, 10, 0, 5]), counted([0, 0, 0, 0])
    ('9/10; 0/5', '–')
    """
    if not score or not (score[1] or score[3]):
        return "–"
    return f"{score[0]}/{score[1]}; {score[2]}/{score[3]}"


def summary(docstring: str) -> tuple[str, list[str]]:
    """Return the first sentence of a detector's docstring, and the sentences of its body.

    >>> summary('''Find it.
    ...
    ... It looks at `a.b`. It cannot
    ... see that.
    ...
    ... >>> find()
    ... ''')
    ('Find it.', ['It looks at `a.b`.', 'It cannot see that.'])
    """
    first, _, rest = inspect.cleandoc(docstring).partition("\n\n")
    prose = " ".join(rest.partition(">>>")[0].split())
    return " ".join(first.split()), re.split(r"(?<=[.!])\s+(?=[A-Z`])", prose)


def limits(sentences: Sequence[str]) -> list[str]:
    """Return the sentences that say what a check does not see."""
    found = [s for s in sentences if re.search(r"\b(?:cannot|does not see|sees only)\b", s)]
    return found or [s for s in sentences if re.search(r"\bsees\b", s)]


def _scores(book: Scored, first: Mapping[str, Any]) -> str:
    heads = ("Check", "Given", "Own", "At first", "JAX’s closest switch", "Its score")
    rows = []
    for check, seen in book["detectors"].items():
        row = [f'<a href="#{_anchor(check)}">{check}</a>']
        row += [counted(seen[cases]) for cases in CASES]
        row.append(counted(first.get(check, {}).get("own_cases")))
        switches = book.get("switches", {}).get(check, [])
        row.append("<br>".join(inline(switch["name"]) for switch in switches) or "none")
        both = (detector_metrics.summed(s[cases] for cases in CASES) for s in switches)
        row.append("<br>".join(map(counted, both)) or "–")
        rows.append(row)
    return table(heads, rows)


def _anchor(check: str) -> str:
    return check.replace("_", "-")


def _versions(scored: Mapping[str, Scored]) -> str:
    heads = ("Check", *(f"{escaped(s['title'])}, jax {s['jax']}" for s in scored.values()))
    checks = list(scored["lock"]["detectors"])
    sums = [
        detector_metrics.summed(detector_metrics.of(s, c) for c in checks if c in s["detectors"])
        for s in scored.values()
    ]
    rows = [["all", *map(counted, sums)]]
    for check in checks:
        cells = [counted(_both(s, check)) for s in scored.values()]
        if len(set(cells)) > 1:
            rows.append([check, *cells])
    same = "Every check has the same score everywhere, on the given and the own cases together."
    said = same if len(rows) == 1 else "The checks that differ, given and own cases together."
    return f"{said}\n\n{table(heads, rows)}"


def _both(scored: Scored, check: str) -> list[int] | None:
    return detector_metrics.of(scored, check) if check in scored["detectors"] else None


def _elsewhere(scored: Mapping[str, Scored], check: str) -> str:
    """Say what a check's score is in the other environments."""
    here = _both(scored["lock"], check)
    others = [(f"jax {s['jax']}", _both(s, check)) for n, s in scored.items() if n != "lock"]
    if others and all(there == here for _, there in others):
        return f"the same on {' and '.join(name for name, _ in others)}"
    return "; ".join(f"{name}: {counted(there)}" for name, there in others)


def _check(check: str, scored: Mapping[str, Scored], first: Mapping[str, Any]) -> str:
    book = scored["lock"]
    seen = book["detectors"][check]
    finds, sentences = summary(detect.detectors()[check].__doc__ or "")
    blind = limits(sentences)
    of_jax = [s for s in sentences if re.search(r"closest|no switch|\bJAX raises", s)]
    how = [s for s in sentences if s not in (*blind, *of_jax)]
    measured = [
        f"{inline(s['name'])}: given {counted(s['given_cases'])}, own {counted(s['own_cases'])}"
        for s in book.get("switches", {}).get(check, [])
    ]
    said = [inline(" ".join(of_jax)), *(f"{m}." for m in measured)]
    began = first.get(check, {})
    rows = {
        "Evidence": inline(" ".join(how)),
        "Blind to": inline(" ".join(blind)),
        "Severity": ", ".join(seen["severities"]),
        "Given": counted(seen["given_cases"]) + _at_first(began.get("given_cases")),
        "Own": counted(seen["own_cases"]) + _at_first(began.get("own_cases")),
        "Elsewhere": _elsewhere(scored, check),
        "JAX’s switch": "<br>".join(filter(None, said)) or "none",
    }
    lines = "".join(f"<dt>{term}</dt><dd>{text}</dd>\n" for term, text in rows.items() if text)
    return f'### `{check}`\n\n{finds}\n\n<div class="bit">\n<dl>\n{lines}</dl>\n</div>\n'


def _at_first(score: Sequence[int] | None) -> str:
    return f" (at first {counted(score)})" if score else ""


def _cost(figure: Picture | None) -> str:
    """Return the recorded cost of an audit: beside a first call, by check, and as programs grow."""
    if figure is None:
        return "Nothing has been recorded yet: `make bench ARGS=audit_cost` does so."
    run = measurements.load("audit_cost")
    rows = []
    for name, times in run["ratios"].items():
        first, audit = (run["results"][f"{what}, {name}"] for what in ("first call", "audit"))
        spread = f"{times['median']:.1f} ({times['q1']:.1f} to {times['q3']:.1f})"
        rows.append([escaped(name), f"{first['median']:.0f}", f"{audit['median']:.0f}", spread])
    parts = run["series"]["parts"]
    singles = [
        [escaped(part), *(f"{value:.0f}" if value >= 1 else "under 1" for value in values.values())]
        for part, values in parts.items()
    ]
    heads = ("Function", "First call, ms", "Full audit, ms", "Times (quartiles)")
    return COST.format(
        machine=escaped(measurements.machine(run)),
        ratios=table(heads, rows),
        parts=table(("Part, ms", *map(escaped, next(iter(parts.values())))), singles),
        alt=figure.alt,
        figure=FIGURE,
    )


def _figure() -> Picture | None:
    try:
        measurements.load("audit_cost")
    except FileNotFoundError:
        return None
    from jaxbits.book.figures.audit import cost_of_equations  # which needs matplotlib

    return cost_of_equations()


def pages(root: Path) -> dict[Path, str]:
    """Return the page and its figure, from the detectors' docstrings and the recorded runs."""
    figure = _figure()
    made = {root / "reference" / "detectors.md": page(root, figure)}
    if figure is not None:
        made[root / "reference" / FIGURE] = figure.svg
    return made


def page(root: Path, figure: Picture | None) -> str:
    """Return the page as Markdown."""
    scored = detector_metrics.read(root, ["lock", "colab", "newest", "accelerator"])
    first_contact = root / "tests" / "detect" / "first_contact.toml"
    first = tomllib.loads(first_contact.read_text("utf8"))
    book = scored["lock"]
    checks = [check for check in detect.detectors() if check in book["detectors"]]
    sums = detector_metrics.summed(detector_metrics.of(book, check) for check in checks)
    found, positives, alarms, negatives = sums
    return PAGE.format(
        example=next(iter(checks)),
        found=found,
        positives=positives,
        alarms=alarms,
        negatives=negatives,
        scores=_scores(book, first),
        versions=_versions(scored),
        cost=_cost(figure),
        checks="\n".join(_check(check, scored, first) for check in checks),
    )
