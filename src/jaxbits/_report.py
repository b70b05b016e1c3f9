"""The report that `jaxbits.audit` returns, which terminals and notebooks can display."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.finding import SEVERITIES, Finding, Severity
from jaxbits._analysis.gaps import CASES, Gap
from jaxbits._analysis.jax_switches import suggest_switches
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
    """Raised if an audit is incomplete or has findings that are not allowed.

    The message is the report.
    """


@dataclass(frozen=True)
class Report:
    """The gaps and findings of an audit, with the most severe first.

    Attributes:
        function: The name of the function.
        findings: What the checks found. Findings of the same check on the same line are merged into
            one finding with a count.
        checks: The names of the checks that ran.
        gaps: What was not examined and why, for example because the function raised an error or
            because time or memory ran out.
        seconds: How long each check took. The time of a shared trace or run counts toward the first
            check that needs it.
        not_run: The names of the checks that did not run in time.
    """

    function: str
    findings: tuple[Finding, ...]
    checks: tuple[str, ...]
    gaps: tuple[Gap, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    not_run: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the audit is complete and found nothing more severe than a note."""
        return not self.fails("warning")

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not examined and why, with one string for each gap."""
        return tuple(gap.text for gap in self.gaps)

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

    def fails(self, severity: Severity = "warning", allow: Iterable[str] = ()) -> bool:
        """Return whether any finding is at least this severe or the audit is incomplete.

        Args:
            severity: ``"error"``, ``"warning"``, or ``"note"``.
            allow: The cases in which the audit may be incomplete, such as ``["untraced"]``.

        Raises:
            ValueError: If `severity` is not one of these three strings, or if `allow` contains an
                unknown case.
        """
        if severity not in SEVERITIES:
            choices = ", ".join(map(repr, SEVERITIES))
            raise ValueError(f"severity must be one of {choices}; got {severity!r}")
        allowed = [allow] if isinstance(allow, str) else list(allow)
        for case in allowed:
            if case not in CASES:
                choices = ", ".join(map(repr, CASES))
                raise ValueError(f"allow must be a list of {choices}; got {case!r}")
        included = SEVERITIES[: SEVERITIES.index(severity) + 1]
        is_incomplete = any(gap.case not in allowed for gap in self.gaps)
        return is_incomplete or any(finding.severity in included for finding in self.findings)

    def raise_if(self, severity: Severity = "error", allow: Iterable[str] = ()) -> None:
        """Raise AuditError if any finding is at least this severe or the audit is incomplete.

        Args:
            severity: ``"error"``, ``"warning"``, or ``"note"``.
            allow: The cases in which the audit may be incomplete, such as ``["untraced"]``.

        Raises:
            AuditError: If there is such a finding, or if the audit is incomplete in another case.
                The error's message is the report.
            ValueError: If `severity` is not one of these three strings, or if `allow` contains an
                unknown case.
        """
        if self.fails(severity, allow):
            raise AuditError(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dictionary that can be written as JSON."""
        return {
            "function": self.function,
            "ok": self.ok,
            "findings": [finding.to_dict() for finding in self.findings],
            "checks": list(self.checks),
            "gaps": [gap.to_dict() for gap in self.gaps],
            "seconds": dict(self.seconds),
            "not_run": list(self.not_run),
            "switches": self.switches,
        }

    @property
    def _headline(self) -> str:
        count = {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES}
        parts = [f"{n} {s}{'s' * (n > 1)}" for s, n in count.items() if n]
        checked = f"{len(self.checks)} check{'s' * (len(self.checks) != 1)}"
        found = f"{', '.join(parts) or 'nothing found'} by {checked} of {self.function}"
        cases = ", ".join(dict.fromkeys(gap.case for gap in self.gaps))
        return f"incomplete ({cases}); {found}" if cases else found

    @property
    def switches(self) -> str:
        """One line that names JAX's switches that detect the findings above a note, too, or ""."""
        findings = (f for f in self.findings if f.severity != "note" and f.has_switch)
        return suggest_switches(f.check for f in findings)

    def __str__(self) -> str:
        lines = [self._headline, *map(str, self.gaps), *map(str, self.findings)]
        return "\n".join([*lines, *([self.switches] if self.switches else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [_gap_html(gap) for gap in self.gaps]
        rows += [_finding_html(finding) for finding in self.findings]
        rows = [f"<ol>{''.join(rows)}</ol>"] if rows else []
        rows += [f"<p>{html_with_code(self.switches)}</p>"] if self.switches else []
        head = f"<p>{html.escape(self._headline)}</p>"
        return f'{_STYLE}<div class="jaxbits-audit">{head}{"".join(rows)}</div>'


def _gap_html(gap: Gap) -> str:
    title = f"<p><b>incomplete · {gap.case}</b>: {html_with_code(gap.message)}</p>"
    rows = "".join(
        f"<dt>{word}</dt><dd>{html_with_code(text)}</dd>".replace("\n", "<br>")
        for word, text in gap.details()
    )
    return f'<li class="error">{title}{_place_html(gap.place)}<dl>{rows}</dl></li>'


def _finding_html(finding: Finding) -> str:
    title = f"<p><b>{finding.severity} · {finding.check}</b>: {html_with_code(finding.title)}</p>"
    details = [
        (word, html_with_code(text)) for word, text in finding.details() if text and word != "read"
    ]
    if read := html_with_code(finding.reference):
        address = html.escape(finding.link)
        details.append(("read", f'<a href="{address}">{read}</a>' if address else read))
    rows = "".join(f"<dt>{word}</dt><dd>{text}</dd>" for word, text in details)
    return f'<li class="{finding.severity}">{title}{_place_html(finding.place)}<dl>{rows}</dl></li>'


def _place_html(place: CodeLocation | None) -> str:
    if place is None:
        return ""
    line = f"<pre>{html.escape(place.text)}</pre>" if place.text else ""
    return f'<p class="jaxbits-place">{html.escape(str(place))}</p>{line}'
