"""What `jaxbits.audit` gives back: findings, in a terminal and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxbits.detect.finding import SEVERITIES, Finding, Severity

_STYLE = """<style>
.jaxbits-audit { font-family: inherit; color: inherit; }
.jaxbits-audit li { margin: 0.5em 0; padding-left: 0.7em; list-style: none;
  border-left: 4px solid #8a8a8a; }
.jaxbits-audit li.error { border-color: #d1242f; }
.jaxbits-audit li.warning { border-color: #bf8700; }
.jaxbits-audit ul { padding-left: 0; }
.jaxbits-audit code { background: rgba(128, 128, 128, 0.16); color: inherit; }
</style>"""


class AuditError(AssertionError):
    """An audited function has findings that were not allowed; the message is the report."""


@dataclass(frozen=True)
class Report:
    """The findings of an audit, the gravest first.

    Attributes:
        function: the name of the function.
        findings: what the checks found.
        checks: the checks that ran.
        notes: what could not be looked into, checks that failed themselves among it.
        seconds: how long each check took; the first to need a trace or a run pays for it.
    """

    function: str
    findings: tuple[Finding, ...]
    checks: tuple[str, ...]
    notes: tuple[str, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is nothing above a note."""
        return not any(finding.severity != "note" for finding in self.findings)

    def __getitem__(self, check: str) -> tuple[Finding, ...]:
        if check not in self.checks:
            known = ", ".join(self.checks)
            raise KeyError(f"check was {check!r}, and should be one that ran: {known}")
        return tuple(finding for finding in self.findings if finding.check == check)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        return True

    def raise_if(self, severity: Severity = "error") -> None:
        """Raise where something is as grave as `severity`, or graver.

        Raises:
            AuditError: with the report as its message.
            ValueError: when `severity` is none of ``error``, ``warning`` and ``note``.
        """
        if severity not in SEVERITIES:
            raise ValueError(f"severity was {severity!r}, and should be one of {SEVERITIES}")
        grave = SEVERITIES[: SEVERITIES.index(severity) + 1]
        if any(finding.severity in grave for finding in self.findings):
            raise AuditError(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as what JSON can hold."""
        return {
            "function": self.function,
            "ok": self.ok,
            "findings": [finding.to_dict() for finding in self.findings],
            "checks": list(self.checks),
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
        }

    @property
    def _head(self) -> str:
        count = {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES}
        parts = [f"{n} {s}{'s' * (n > 1)}" for s, n in count.items() if n]
        checked = f"{len(self.checks)} check{'s' * (len(self.checks) != 1)}"
        return f"{', '.join(parts) or 'nothing found'} by {checked} of {self.function}"

    def __str__(self) -> str:
        notes = [f"· {note}" for note in self.notes]
        return "\n".join([self._head, *map(str, self.findings), *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [_row(finding) for finding in self.findings]
        rows += [f"<li>{html.escape(note)}</li>" for note in self.notes]
        head = html.escape(self._head)
        return f'{_STYLE}<div class="jaxbits-audit"><p>{head}</p><ul>{"".join(rows)}</ul></div>'


def _row(finding: Finding) -> str:
    parts = [f"<b>{finding.severity}: {finding.check}</b>: {_code(finding.message)}"]
    if finding.place:
        text = html.escape(finding.place.text)
        parts.append(f"{html.escape(str(finding.place))} <code>{text}</code>")
    parts += [f"seen: {_code(finding.evidence)}", f"fix: {_code(finding.fix)}"]
    if finding.link:
        parts.append(f'<a href="{html.escape(finding.link)}">read on in the book</a>')
    return f'<li class="{finding.severity}">{"<br>".join(parts)}</li>'


def _code(text: str) -> str:
    """Escape a text, with what stands between backticks marked up as code."""
    pieces = html.escape(text).split("`")
    marked = [f"<code>{p}</code>" if n % 2 else p for n, p in enumerate(pieces)]
    return "".join(marked) if len(pieces) % 2 else html.escape(text)
