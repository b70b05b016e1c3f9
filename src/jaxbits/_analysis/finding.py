"""The `Finding` class, which holds what a detector reports, and a function that merges findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from jaxbits import _catalogue
from jaxbits._analysis.code_location import CodeLocation

Severity = Literal["error", "warning", "note"]
LEVELS: dict[Severity, str] = {
    "error": "The audit saw something go wrong. With these arguments, the function raises an "
    "error, or it returns or stores something other than what the code says, either as it is or as "
    "soon as `jax.jit` compiles it.",
    "warning": "With these arguments, nothing went wrong except rounding, but ordinary use of the "
    "function will give a wrong result later, for example on the next call, or will waste much "
    "time or memory.",
    "note": "Nothing has to change, because the audit saw that what it found does no harm here, "
    "seems to be intended, or costs little. A note never fails a test.",
}
"""The meaning of each level of severity, with the most severe first.

All checks use the same boundaries. The evidence decides the level, not how often a mistake is made:
an error needs something that was seen to go wrong in this audit, a warning needs a reason why a
later call goes wrong or is slow, and everything else is a note. `CONTRIBUTING.md` and the page
*Detectors* quote these sentences.
"""

SEVERITIES: tuple[Severity, ...] = tuple(LEVELS)
"""All severities, with the most severe first."""


@dataclass(frozen=True)
class Finding:
    """One sharp bit that a detector found in a function.

    Attributes:
        check: The name of the detector. The detector itself sets this attribute.
        severity: ``"error"``, ``"warning"``, or ``"note"``, as `LEVELS` defines them.
        message: What is wrong, in one line.
        evidence: What the detector observed, such as a count, a value, or an error.
        fix: What to do, in one line.
        place: The line of code, or None if it is unknown.
        catalogue_id: The id of the catalogue entry, if the check covers several entries.
        count: How many of the check's findings on this line this finding represents.
        also: The messages of the other findings that this finding represents, if they differ.
        explains: The error of the function that this finding explains, as `error_signature` returns
            it, or "" if it explains none. The report then refers to this finding.
        subject: What the finding is about, so that findings of two checks on one line about the
            same thing can be recognized.
        has_switch: Whether JAX's own switch for this check detects it, too, so that the report may
            name the switch.
    """

    check: str = field(default="", kw_only=True)
    severity: Severity
    message: str
    evidence: str
    fix: str
    place: CodeLocation | None = None
    catalogue_id: str = ""
    count: int = 1
    also: tuple[str, ...] = ()
    explains: str = field(default="", kw_only=True)
    subject: str = field(default="", kw_only=True)
    has_switch: bool = field(default=True, kw_only=True)

    @property
    def _entry(self) -> _catalogue.SharpBit | None:
        """The catalogue entry for `catalogue_id`, or else the main entry of the check."""
        return _catalogue.load().get(self.catalogue_id) or _catalogue.primary_bit(self.check)

    @property
    def link(self) -> str:
        """The URL of the book's section on this finding, or "" if there is no section or no URL."""
        return self._entry.link if self._entry else ""

    @property
    def reference(self) -> str:
        """The chapter and title of the book's section on this finding, or "" if there is none."""
        return self._entry.reference if self._entry else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a dictionary that can be written as JSON."""
        place = self.place and {**asdict(self.place), "text": self.place.text}
        values = {**asdict(self), "also": list(self.also), "place": place}
        values |= {"link": self.link, "reference": self.reference}
        for name in ("catalogue_id", "explains", "subject", "has_switch"):
            del values[name]
        return values

    @property
    def title(self) -> str:
        """The message, followed by the number of findings it represents if there are several."""
        where = "on this line" if self.place else "like it"
        return f"{self.message} ({self.count} {where})" if self.count > 1 else self.message

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.title} [{self.check}]"]
        if self.place:
            lines.append(f"    {self.place}  {self.place.text}")
        lines += [f"    {label}: {text}" for label, text in self.details() if text]
        return "\n".join(lines)

    def details(self) -> list[tuple[str, str]]:
        """Return the label and the text of each line below the message. The text may be empty."""
        return [
            *(("also", text) for text in self.also),
            ("seen", self.evidence),
            ("fix", self.fix),
            ("read", self.link or self.reference),
        ]


_CAUSES = {
    "cast": ("overflow",),
    "list_args": ("unrolled",),
    "nan": ("out_of_bounds",),
    "side_effect": ("leak", "iterator"),
    "stale_global": ("leak", "side_effect"),
}
"""For a check, the checks whose findings on the same line and subject explain its own. A value that
wrapped around no longer fits after a cast, and a loop that fills a list is also a list of many
arrays. Whoever stores a traced value or advances an iterator also changes Python state, and a
statement such as `n += 1` both changes a value and reads it."""


_JOINED = {"stale_global"}
"""The checks whose fixes are needed besides those of the findings that explain theirs."""


def _join(cause: Finding, finding: Finding) -> Finding:
    """Return the finding that explains another one, with the message and the fix of both."""
    if finding.severity == "note":
        return cause
    fix = f"{finding.fix}, and {cause.fix}"
    return replace(cause, fix=fix, also=(*cause.also, finding.message))


def merge_duplicates(findings: Iterable[Finding]) -> list[Finding]:
    """Return one merged finding for each check and line, with the most severe first.

    A finding is left out if a finding of another check on the same line is its cause.

    >>> here = CodeLocation("step.py", 3)
    >>> twice = [Finding("error", "kept", f"in {n}", "return it", here) for n in "ab"]
    >>> [(finding.evidence, finding.count) for finding in merge_duplicates(twice)]
    [('in a', 2)]
    """
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    findings = sorted(findings, key=lambda f: SEVERITIES.index(f.severity))
    causes = {(f.check, f.place, f.subject): f for f in findings if f.severity != "note"}
    joined: dict[int, Finding] = {}
    for finding in findings:
        place = finding.place
        keys = [
            (check, place, finding.subject) for check in _CAUSES.get(finding.check, ()) if place
        ]
        cause = next((causes[key] for key in keys if key in causes), None)
        if cause is not None:
            if finding.check in _JOINED:
                joined[id(cause)] = _join(joined.get(id(cause), cause), finding)
            continue
        where = (place.file, place.line) if place else (finding.message,)
        groups.setdefault((finding.check, *where), []).append(finding)
    merged = []
    for group in groups.values():
        first, *others = (joined.get(id(finding), finding) for finding in group)
        messages = dict.fromkeys(o.message for o in others if o.message != first.message)
        count = sum(f.count for f in (first, *others))
        explains = next((f.explains for f in (first, *others) if f.explains), "")
        also, has_switch = (*first.also, *messages), any(f.has_switch for f in group)
        merged.append(
            replace(first, count=count, also=also, explains=explains, has_switch=has_switch)
        )
    return merged
