"""What a detector reports: a finding, with the place it is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from jaxbits import _catalogue
from jaxbits._analysis.code_location import Place

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One sharp bit in the function that was checked.

    Attributes:
        check: the detector's name.
        severity: ``"error"``, ``"warning"`` or ``"note"``.
        message: what is wrong, in one line.
        evidence: what was seen, in numbers.
        fix: what to do, in one line.
        place: the line of code, None where it is not known.
        bit: the entry of the catalogue it is about, where the detector can tell several apart.
        count: how many findings of the check on this line it stands for.
        also: what the others of them say, where they say something else.
    """

    check: str
    severity: Severity
    message: str
    evidence: str
    fix: str
    place: Place | None = None
    bit: str = ""
    count: int = 1
    also: tuple[str, ...] = ()

    @property
    def _known(self) -> _catalogue.SharpBit | None:
        """The sharp bit it is about: `bit`, or the one that is most about the check."""
        return _catalogue.load().get(self.bit) or _catalogue.primary_bit(self.check)

    @property
    def link(self) -> str:
        """The address of the section on it; empty if the book has no section or no address."""
        return self._known.link if self._known else ""

    @property
    def reference(self) -> str:
        """The section on it in words, with its chapter; empty if the book has none."""
        return self._known.reference if self._known else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as what JSON can hold."""
        place = self.place and {**asdict(self.place), "text": self.place.text}
        plain = {**asdict(self), "also": list(self.also), "place": place}
        plain |= {"link": self.link, "reference": self.reference}
        del plain["bit"]
        return plain

    @property
    def title(self) -> str:
        """The message, with how often it was found on its line."""
        where = "on this line" if self.place else "like it"
        return f"{self.message} ({self.count} {where})" if self.count > 1 else self.message

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.title} [{self.check}]"]
        if self.place:
            lines.append(f"    {self.place}  {self.place.text}")
        lines += [f"    {word}: {text}" for word, text in self.details() if text]
        return "\n".join(lines)

    def details(self) -> list[tuple[str, str]]:
        """Return what is said below the message, with the word before each."""
        also = [("also", text) for text in self.also]
        return [
            *also,
            ("seen", self.evidence),
            ("fix", self.fix),
            ("read", self.link or self.reference),
        ]


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, the gravest first, with those of one check on one line made one.

    >>> here = Place("step.py", 3)
    >>> twice = [Finding("leak", "error", "kept", f"in {n}", "return it", here) for n in "ab"]
    >>> [(f.evidence, f.count) for f in folded(twice)]
    [('in a', 2)]
    """
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: SEVERITIES.index(f.severity)):
        place = finding.place
        where = (place.file, place.line) if place else (finding.message,)
        groups.setdefault((finding.check, *where), []).append(finding)
    made = []
    for first, *others in groups.values():
        said = dict.fromkeys(o.message for o in others if o.message != first.message)
        count = sum(f.count for f in (first, *others))
        made.append(replace(first, count=count, also=(*first.also, *said)))
    return made
