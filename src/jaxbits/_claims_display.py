"""Show the outcomes of a section's claims in a notebook, in a terminal, or on a web page."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from jaxbits import runtime
from jaxbits._catalogue import find_bit
from jaxbits._formatting import html_with_code

MARKS = {"held": "✓", "failed": "✗", "not made": "–"}
_CLASSES = {"held": "claim-held", "failed": "claim-failed", "not made": "claim-open"}
# Notebooks have light and dark themes, so these styles set no colors and keep the theme's.
_LIST = "list-style: none; margin: 0.3em 0; padding-left: 1.2em"
_CELL = 'style="text-align: left"'  # JupyterLab right-aligns all table cells.


@dataclass(frozen=True)
class Outcome:
    """The outcome of one claim.

    Attributes:
        bit: The sharp bit's id.
        claim: The statement that was checked.
        outcome: ``held``, ``failed``, or, if the claim does not apply here, ``not made``.
        seen: The actual value, formatted on one line.
        expected: The expected value, formatted on one line.
        made_for: The condition under which the claim applies, or "" if it always applies.
    """

    bit: str
    claim: str
    outcome: str
    seen: str = ""
    expected: str = ""
    made_for: str = ""

    @property
    def mark(self) -> str:
        """The symbol in front of the claim: ✓, ✗, or –."""
        return MARKS[self.outcome]

    def __str__(self) -> str:
        if self.outcome == "not made":
            return f"{self.mark} {self.claim} ({self.condition})"
        if self.outcome == "failed":
            wanted = f", expected {self.expected}" if self.expected else ""
            return f"{self.mark} {self.claim}: saw {self.seen}{wanted}"
        return f"{self.mark} {self.claim}"

    @property
    def condition(self) -> str:
        """The claim's condition, such as ``applies only with jax>=0.8, backend cpu``."""
        return f"applies only with {self.made_for}"


def headline(outcomes: Sequence[Outcome]) -> str:
    """Return a one-line summary of the outcomes.

    >>> nine = [Outcome("take-fills", "it fills", "held")] * 9
    >>> headline(nine)
    '✓ 9 checks passed here'
    >>> headline([*nine[:8], Outcome("take-fills", "it clamps", "failed")])
    '✗ 1 of 9 checks failed here'
    >>> headline([nine[0], Outcome("take-fills", "it fills on a TPU", "not made")])
    '✓ 1 check passed here (1 does not apply here)'
    """
    made = [o for o in outcomes if o.outcome != "not made"]
    failed = _failed(made)
    skipped = len(outcomes) - len(made)
    does_not = "does not apply here" if skipped == 1 else "do not apply here"
    if not made:
        return f"– {_checks(skipped)} {does_not}"
    if not failed:
        text = f"✓ {_checks(len(made))} passed here"
    elif len(made) == 1:
        text = "✗ 1 check failed here"
    else:
        text = f"✗ {len(failed)} of {len(made)} checks failed here"
    return f"{text} ({skipped} {does_not})" if skipped else text


def advice() -> str:
    """Return a sentence that tells the reader what to do about a failed claim."""
    repository = runtime.repository()
    where = (
        f"report it at {repository}/issues"
        if repository
        else "tell the person who gave you this notebook"
    )
    return (
        "If you changed none of the cells above, the book does not know about this difference. "
        f"Please {where}, and include the lines marked ✗ and what `jaxbits.runtime.report()` "
        "prints."
    )


class Outcomes:
    """The outcomes of one call to `claims`, shown as a line that expands to list the statements.

    Attributes:
        outcomes: The outcome of each statement, in order.
    """

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = tuple(outcomes)

    def __repr__(self) -> str:
        lines = [headline(self.outcomes), *map(str, self.outcomes)]
        return "\n".join([*lines, advice()] if _failed(self.outcomes) else lines)

    def _repr_html_(self) -> str:
        return _details(headline(self.outcomes), self.outcomes)


class AlsoSharp:
    """The table of a chapter's smaller sharp bits, with one checked claim in each row.

    Attributes:
        rows: For each sharp bit, a tuple of the code, its result, and the outcome of its check.
    """

    def __init__(self, rows: list[tuple[str, str, Outcome]]) -> None:
        self.rows = rows

    @property
    def _outcomes(self) -> list[Outcome]:
        return [outcome for _, _, outcome in self.rows]

    def __repr__(self) -> str:
        has_failed = bool(_failed(self._outcomes))
        lines = [headline(self._outcomes)] if has_failed else []
        for code, result, outcome in self.rows:
            lines.append(f"{outcome.mark} {code}  {result}{_condition(outcome)}")
            lines.append(f"    {find_bit(outcome.bit).fix}")
            if outcome.outcome == "failed":
                lines.append(f"    saw {outcome.seen}, expected {outcome.expected}")
        return "\n".join([*lines, advice()] if has_failed else lines)

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col" {_CELL}>{t}</th>'
            for t in ("Holds", "You write", "You get", "Instead")
        )
        body = []
        for code, result, outcome in self.rows:
            saw = f" (here: {outcome.seen})" if outcome.outcome == "failed" else _condition(outcome)
            cells = (
                f'<td {_CELL} title="{html.escape(outcome.outcome)}">{outcome.mark}</td>',
                f"<td {_CELL}><code>{html.escape(code)}</code></td>",
                f"<td {_CELL}>{html_with_code(result + saw, quote=False)}</td>",
                f"<td {_CELL}>{html_with_code(find_bit(outcome.bit).fix, quote=False)}</td>",
            )
            row = f'<tr id="{outcome.bit}" class="{_CLASSES[outcome.outcome]}">'
            body.append(f"{row}{''.join(cells)}</tr>")
        failed = _failed(self._outcomes)
        notice = _details(headline(self._outcomes), failed) if failed else ""
        return (
            f'{notice}<table class="also-sharp"><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody></table>"
        )


def _failed(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.outcome == "failed"]


def _checks(count: int) -> str:
    return f"{count} check{'' if count == 1 else 's'}"


def _condition(outcome: Outcome) -> str:
    return f" ({outcome.condition})" if outcome.outcome == "not made" else ""


def _details(summary: str, outcomes: Sequence[Outcome]) -> str:
    """Return an HTML line that expands to list the outcomes. It starts open if one failed."""
    has_failed = bool(_failed(outcomes))
    items = "".join(f"{_item(outcome)}\n" for outcome in outcomes)
    foot = (
        f"<p>{_link_addresses(html_with_code(advice(), quote=False))}</p>\n" if has_failed else ""
    )
    return (
        f'<details class="claims"{" open" if has_failed else ""}>'
        f'<summary style="cursor: pointer">{html.escape(summary)}</summary>\n'
        f'<ul style="{_LIST}">\n{items}</ul>\n{foot}</details>'
    )


def _item(outcome: Outcome) -> str:
    text = f"{outcome.mark} {html_with_code(outcome.claim, quote=False)}"
    if outcome.outcome == "failed":
        text = f"<strong>{text}</strong>: saw {_code(outcome.seen)}"
        text += f", expected {_code(outcome.expected)}" if outcome.expected else ""
    return f'<li class="{_CLASSES[outcome.outcome]}">{text}{html.escape(_condition(outcome))}</li>'


def _code(text: str) -> str:
    return f"<code>{html.escape(text)}</code>"


def _link_addresses(text: str) -> str:
    """Turn each URL in a piece of HTML into a link."""
    return re.sub(r"https://[^\s,<]+", r'<a href="\g<0>">\g<0></a>', text)
