"""Findings: what detectors report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from jaxbits import _catalogue
from jaxbits._analysis.code_location import CodeLocation

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""All severities, the most severe first."""


@dataclass(frozen=True)
class Finding:
    """One sharp bit in the function that was checked.

    Attributes:
        check: The name of the detector, which fills it in.
        severity: ``"error"``, ``"warning"``, or ``"note"``.
        message: What is wrong, in one line.
        evidence: What the detector saw, in numbers.
        fix: What to do, in one line.
        place: The line of code, None if it is unknown.
        catalogue_id: The catalogue entry, if the detector can tell several apart.
        count: How many findings of the check on this line the finding stands for.
        also: The messages of the others among them, if they differ.
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

    @property
    def _entry(self) -> _catalogue.SharpBit | None:
        """The catalogue entry: that of `catalogue_id`, or the main entry of the check."""
        return _catalogue.load().get(self.catalogue_id) or _catalogue.primary_bit(self.check)

    @property
    def link(self) -> str:
        """The address of the section on it, empty if the book has no section or no address."""
        return self._entry.link if self._entry else ""

    @property
    def reference(self) -> str:
        """The chapter and title of the section on it, empty if the book has none."""
        return self._entry.reference if self._entry else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a dictionary for JSON."""
        place = self.place and {**asdict(self.place), "text": self.place.text}
        values = {**asdict(self), "also": list(self.also), "place": place}
        values |= {"link": self.link, "reference": self.reference}
        del values["catalogue_id"]
        return values

    @property
    def title(self) -> str:
        """The message, with the number of findings it stands for."""
        where = "on this line" if self.place else "like it"
        return f"{self.message} ({self.count} {where})" if self.count > 1 else self.message

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.title} [{self.check}]"]
        if self.place:
            lines.append(f"    {self.place}  {self.place.text}")
        lines += [f"    {label}: {text}" for label, text in self.details() if text]
        return "\n".join(lines)

    def details(self) -> list[tuple[str, str]]:
        """Return the labeled lines below the message. Their text may be empty."""
        return [
            *(("also", text) for text in self.also),
            ("seen", self.evidence),
            ("fix", self.fix),
            ("read", self.link or self.reference),
        ]


def merge_duplicates(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, the most severe first, with one for each check and line.

    >>> here = CodeLocation("step.py", 3)
    >>> twice = [Finding("error", "kept", f"in {n}", "return it", here) for n in "ab"]
    >>> [(finding.evidence, finding.count) for finding in merge_duplicates(twice)]
    [('in a', 2)]
    """
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: SEVERITIES.index(f.severity)):
        place = finding.place
        where = (place.file, place.line) if place else (finding.message,)
        groups.setdefault((finding.check, *where), []).append(finding)
    merged = []
    for first, *others in groups.values():
        messages = dict.fromkeys(o.message for o in others if o.message != first.message)
        count = sum(f.count for f in (first, *others))
        merged.append(replace(first, count=count, also=(*first.also, *messages)))
    return merged
