"""Check that the chapters cover the catalogue's entries and that the entries cover the chapters.

An entry is explained and claimed in its own section. *Also sharp* may contain more claims about it,
because details that would make the section too long move there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chapter_sections import STEMS, Section, read_sections

from jaxbits._catalogue import ALSO_SHARP, SharpBit, load

BITS = load()
HEADINGS_WITHOUT_ENTRY = {"", ALSO_SHARP, "Exercises", "What you have seen"}
# Each of these chapters follows a single example, so some of its sections have no sharp bit.
NARRATIVE_CHAPTERS = {"01-tracing", "15-xor-classifier"}


def chapter_entries(stem: str) -> list[SharpBit]:
    """Return the catalogue's entries for a chapter."""
    return [bit for bit in BITS.values() if bit.chapter == stem]


def is_described(bit: SharpBit, output) -> bool:
    """Return True if one of the entry's symptoms matches a stored error."""
    return any(symptom.message_score(output.ename, output.evalue) for symptom in bit.symptoms)


def entry_problems(bit: SharpBit) -> Iterator[str]:
    """Yield a message if the chapter lacks an entry's section, claim, or error."""
    matching = [section for section in read_sections(bit.chapter) if section.heading == bit.section]
    if len(matching) != 1:
        yield f"{bit.id}: there are {len(matching)} sections {bit.section!r}"
        return
    (section,) = matching
    rows = section.rows
    if bit.id not in section.claimed_ids | (set(rows) if bit.section == ALSO_SHARP else set()):
        yield f"{bit.id}: {bit.section!r} has no claim for it"
    if bit.silent:
        return
    if bit.id in rows:
        if "raises(" not in rows[bit.id]:
            yield f"{bit.id}: its row must show its error with raises(...)"
    elif not any(is_described(bit, output) for _, output in section.errors):
        yield f"{bit.id}: {bit.section!r} stores no error that the entry describes"


def section_problems(section: Section) -> Iterator[str]:
    """Yield a message for each claim or stored error that matches none of its section's entries."""
    here = (section.chapter, section.heading)
    for id in sorted(section.claimed_ids | set(section.rows)):
        if id not in BITS:
            yield f"{section.heading!r} claims {id}, which is not in the catalogue"
        elif BITS[id].chapter != section.chapter or section.heading not in (
            BITS[id].section,
            ALSO_SHARP,
        ):
            yield f"{section.heading!r} claims {id}, which belongs to {BITS[id].reference}"
    for cell, output in section.errors:
        matching = [bit for bit in BITS.values() if is_described(bit, output)]
        if not any((bit.chapter, bit.section) == here for bit in matching):
            yield (
                f"{section.heading!r}, cell {cell.execution_count}: {output.ename} must match an "
                f"entry of this section, got {[bit.id for bit in matching]}"
            )


def test_catalogue_names_every_chapter():
    assert {bit.chapter for bit in BITS.values()} == set(STEMS)


@pytest.mark.parametrize("stem", STEMS)
def test_chapter_shows_its_catalogue_entries(stem):
    problems = [problem for bit in chapter_entries(stem) for problem in entry_problems(bit)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("stem", STEMS)
def test_catalogue_covers_chapter_sections(stem):
    headings = [section.heading for section in read_sections(stem)]
    assert len(set(headings)) == len(headings), "headings must be unique"
    if stem not in NARRATIVE_CHAPTERS:
        assert set(headings) - HEADINGS_WITHOUT_ENTRY <= {
            bit.section for bit in chapter_entries(stem)
        }
    problems = [problem for section in read_sections(stem) for problem in section_problems(section)]
    assert not problems, "\n".join(problems)
