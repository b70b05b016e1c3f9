"""The catalogue and the chapters agree, both ways."""

from __future__ import annotations

import pytest
from notebooks.stored import STEMS, sections

from jaxbits._catalogue import ALSO_SHARP, load

BITS = load()
FURNITURE = {"", ALSO_SHARP, "Exercises", "What you have seen"}
STORIES = {"01-tracing", "15-xor-classifier", "18-lists-or-arrays"}


def section_of(bit):
    matching = [s for s in sections(bit.chapter) if s.heading == bit.section]
    assert len(matching) == 1, f"{bit.chapter} has {len(matching)} sections {bit.section!r}"
    return matching[0]


@pytest.mark.parametrize("id", BITS)
def test_every_entry_has_its_place_and_its_claims(id):
    bit = BITS[id]
    assert bit.chapter in STEMS
    section = section_of(bit)
    where = section.claimed | (set(section.rows) if bit.section == ALSO_SHARP else set())
    assert id in where, f"{bit.chapter}, {bit.section!r}: no claim for {id}"


@pytest.mark.parametrize("id", [id for id, bit in BITS.items() if not bit.silent])
def test_every_loud_entry_is_shown_failing(id):
    bit = BITS[id]
    section = section_of(bit)
    if id in section.rows:
        assert "raises(" in section.rows[id], f"the row {id} should show its error by raises(...)"
        return
    shown = [
        output
        for _, output in section.errors
        if any(symptom.matches(output.ename, output.evalue) for symptom in bit.symptoms)
    ]
    assert shown, f"{bit.chapter}, {bit.section!r} stores no error that {id} describes"


@pytest.mark.parametrize("stem", STEMS)
def test_every_section_is_in_the_catalogue(stem):
    known = {bit.section for bit in BITS.values() if bit.chapter == stem}
    headings = [s.heading for s in sections(stem)]
    assert len(set(headings)) == len(headings), "two sections have one heading"
    if stem not in STORIES:
        assert set(headings) - FURNITURE <= known


@pytest.mark.parametrize("stem", STEMS)
def test_claims_and_rows_stand_where_the_catalogue_says(stem):
    for section in sections(stem):
        for id in section.claimed | set(section.rows):
            assert id in BITS, f"{stem}: {id} is in no catalogue"
            assert (BITS[id].chapter, BITS[id].section) == (stem, section.heading)


@pytest.mark.parametrize("stem", STEMS)
def test_every_stored_error_is_described_by_its_own_section(stem):
    for section in sections(stem):
        own = {b.id for b in BITS.values() if (b.chapter, b.section) == (stem, section.heading)}
        for cell, output in section.errors:
            fits = {
                bit.id
                for bit in BITS.values()
                if any(s.matches(output.ename, output.evalue) for s in bit.symptoms)
            }
            assert fits & own, (
                f"{stem}, {section.heading!r}, cell {cell.execution_count}: "
                f"{output.ename} fits {sorted(fits) or 'no entry'}, should fit {sorted(own)}"
            )
