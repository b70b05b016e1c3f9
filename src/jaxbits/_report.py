"""What `jaxbits.audit` gives back: findings, in a terminal and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxbits._finding import SEVERITIES, Finding, Severity
from jaxbits._formatting import html_with_code

_STYLE = """<style>
.jaxbits-audit { color: inherit; font-family: inherit; line-height: 1.45; max-width: 60em;
  overflow-wrap: anywhere; }
.jaxbits-audit p, .jaxbits-audit pre { margin: 0; }
.jaxbits-audit ol { margin: 0.6em 0; padding: 0; list-style: none; }
.jaxbits-audit li { margin: 0 0 0.8em; padding: 0.1em 0 0.1em 0.8em; list-style: none;
  border-left: 4px solid #8a8a8a; }
.jaxbits-audit li.error { border-left-color: #e5484d; }
.jaxbits-audit li.warning { border-left-color: #c58a00; }
.jaxbits-audit code, .jaxbits-audit pre { font-family: ui-monospace, SFMono-Regular, Menlo,
  Consolas, monospace; font-size: 0.92em; color: inherit; background: rgba(128, 128, 128, 0.15);
  border: 0; border-radius: 3px; padding: 0.1em 0.3em; white-space: pre-wrap; }
.jaxbits-audit pre { display: block; margin: 0.25em 0; padding: 0.25em 0.5em; }
.jaxbits-audit dl { display: grid; grid-template-columns: max-content minmax(0, 1fr);
  column-gap: 0.8em; margin: 0; }
.jaxbits-audit dt, .jaxbits-audit .jaxbits-place { font-weight: normal; opacity: 0.75; }
.jaxbits-audit dd { margin: 0; }
.jaxbits-audit a { color: inherit; text-decoration: underline; }
</style>"""


class AuditError(AssertionError):
    """An audited function has findings that were not allowed; the message is the report."""


@dataclass(frozen=True)
class Report:
    """The findings of an audit, the gravest first.

    Attributes:
        function: the name of the function.
        findings: what the checks found; those of one check on one line are one, with a count.
        checks: the checks that ran.
        notes: what was not looked into, and why: time, memory, checks that failed themselves.
        seconds: how long each check took; the first to need a trace or a run pays for it.
        not_run: the checks for which no time was left.
    """

    function: str
    findings: tuple[Finding, ...]
    checks: tuple[str, ...]
    notes: tuple[str, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    not_run: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing above a note was found; `notes` say what was not looked into."""
        return not any(finding.severity != "note" for finding in self.findings)

    def __getitem__(self, check: str) -> tuple[Finding, ...]:
        if check not in self.checks:
            why = "had no time left" if check in self.not_run else "should be one that ran"
            raise KeyError(f"check was {check!r}, and {why}: {', '.join(self.checks)}")
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
            "not_run": list(self.not_run),
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
        rows += [f"<li>{html_with_code(note)}</li>" for note in self.notes]
        rows = [f"<ol>{''.join(rows)}</ol>"] if rows else []
        head = f"<p>{html.escape(self._head)}</p>"
        return f'{_STYLE}<div class="jaxbits-audit">{head}{"".join(rows)}</div>'


def _row(finding: Finding) -> str:
    parts = [f"<p><b>{finding.severity} · {finding.check}</b>: {html_with_code(finding.title)}</p>"]
    if finding.place:
        where = html.escape(str(finding.place))
        text = html.escape(finding.place.text)
        line = f"<pre>{text}</pre>" if text else ""
        parts.append(f'<p class="jaxbits-place">{where}</p>{line}')
    details = [
        (word, html_with_code(text)) for word, text in finding.details() if text and word != "read"
    ]
    if read := html_with_code(finding.reference):
        address = html.escape(finding.link)
        details.append(("read", f'<a href="{address}">{read}</a>' if address else read))
    rows = "".join(f"<dt>{word}</dt><dd>{text}</dd>" for word, text in details)
    return f'<li class="{finding.severity}">{"".join(parts)}<dl>{rows}</dl></li>'
