"""The report that `jaxbits.audit` returns, which terminals and notebooks can display."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxbits._analysis.finding import SEVERITIES, Finding, Severity
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
    """Raised if an audit has findings that are not allowed. The message is the report."""


@dataclass(frozen=True)
class Report:
    """The findings of an audit, with the most severe first.

    Attributes:
        function: The name of the function.
        findings: What the checks found. Findings of the same check on the same line are merged into
            one finding with a count.
        checks: The names of the checks that ran.
        notes: What was not examined and why, for example because time or memory ran out or because
            a check itself failed.
        seconds: How long each check took. The time of a shared trace or run counts toward the first
            check that needs it.
        not_run: The names of the checks that did not run in time.
    """

    function: str
    findings: tuple[Finding, ...]
    checks: tuple[str, ...]
    notes: tuple[str, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    not_run: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the audit found nothing more severe than a note.

        The attribute `notes` lists what was not examined.
        """
        return not any(finding.severity != "note" for finding in self.findings)

    def __getitem__(self, check: str) -> tuple[Finding, ...]:
        """Return the findings of a check.

        Raises:
            KeyError: If the check did not run.
        """
        if check not in self.checks:
            ran = ", ".join(map(repr, self.checks)) or "none"
            why = f"; {check} did not run in time" if check in self.not_run else ""
            raise KeyError(f"check must be one that ran, {ran}; got {check!r}{why}")
        return tuple(finding for finding in self.findings if finding.check == check)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        return True

    def raise_if(self, severity: Severity = "error") -> None:
        """Raise AuditError if any finding is at least this severe.

        Args:
            severity: ``"error"``, ``"warning"``, or ``"note"``.

        Raises:
            AuditError: If there is such a finding. The error's message is the report.
            ValueError: If `severity` is not one of these three strings.
        """
        if severity not in SEVERITIES:
            choices = ", ".join(map(repr, SEVERITIES))
            raise ValueError(f"severity must be one of {choices}; got {severity!r}")
        included = SEVERITIES[: SEVERITIES.index(severity) + 1]
        if any(finding.severity in included for finding in self.findings):
            raise AuditError(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dictionary that can be written as JSON."""
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
    def _headline(self) -> str:
        count = {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES}
        parts = [f"{n} {s}{'s' * (n > 1)}" for s, n in count.items() if n]
        checked = f"{len(self.checks)} check{'s' * (len(self.checks) != 1)}"
        return f"{', '.join(parts) or 'nothing found'} by {checked} of {self.function}"

    def __str__(self) -> str:
        notes = [f"· {note}" for note in self.notes]
        return "\n".join([self._headline, *map(str, self.findings), *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [_finding_html(finding) for finding in self.findings]
        rows += [f"<li>{html_with_code(note)}</li>" for note in self.notes]
        rows = [f"<ol>{''.join(rows)}</ol>"] if rows else []
        head = f"<p>{html.escape(self._headline)}</p>"
        return f'{_STYLE}<div class="jaxbits-audit">{head}{"".join(rows)}</div>'


def _finding_html(finding: Finding) -> str:
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
