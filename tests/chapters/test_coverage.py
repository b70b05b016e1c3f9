"""Check that the book covers every row in the list of traps and in the four source documents.

Each chapter has a file in `coverage/`. The file maps row numbers in the list and rows in the
documents (S1.1 …) to catalogue entries, for example `54 = ["one-key-for-two-draws"]`. A row that is
not a trap is in the table `no_entry`, with the section that explains it and the reason.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from jaxbits import _catalogue

FILES = sorted((Path(__file__).parent / "coverage").glob("*.toml"))
ROWS = {
    "01-tracing": ["S4.1", "S4.5", "S4.6", "S4.7", "S4.9"],
    "02-pure-functions": [*range(1, 21), "S2.1", "S2.2", "S4.6"],
    "03-immutable-arrays": [*range(21, 33), "S2.3"],
    "04-out-of-bounds": [*range(33, 46), "S2.4"],
    "05-non-array-inputs": [*range(46, 54), "S2.5"],
    "06-random-numbers": [*range(54, 69), "S2.6", "S4.4"],
    "07-control-flow": [*range(69, 87), "S2.7"],
    "08-dynamic-shapes": [*range(87, 98), "S2.8", "S4.17"],
    "09-nans": [*range(98, 114), "S2.9", "S4.18"],
    "10-precision": [*range(114, 130), "S1.3", "S2.10", "S2.11"],
    "11-dtype-stability": [*range(130, 145), "S3.1", "S3.2", "S3.3"],
    "12-async-dispatch": [*range(145, 159), "S4.2", "S4.3"],
    "13-pytrees-and-vmap": [*range(160, 171), 175, "S4.8", "S4.16"],
    "14-debugging": [*range(176, 182), "S4.18"],
    "15-xor-classifier": [f"S4.{row}" for row in range(10, 16)],
    "16-stateful-layers": [*range(182, 206), "S4.19"],
    "17-data-loading": [*range(206, 213)],
    "18-lists-or-arrays": ["S1.1", "S1.2", "S1.3", "S1.4"],
    "19-devices-and-sharding": [*range(171, 176), "S4.16"],
    "20-devices-and-memory": [159],
}


PROMISED_ROWS = {
    *map(str, range(1, 213)),
    *(f"S1.{row}" for row in range(1, 5)),
    *(f"S2.{row}" for row in range(1, 12)),
    *(f"S3.{row}" for row in range(1, 4)),
    *(f"S4.{row}" for row in range(1, 20)),
}
CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"


def read_rows(file: Path) -> dict[str, list[str]]:
    rows = tomllib.loads(file.read_text("utf8"))
    rows.pop("no_entry", None)
    return rows


def read_rows_without_entry(file: Path) -> dict[str, dict[str, str]]:
    return tomllib.loads(file.read_text("utf8")).get("no_entry", {})


def test_rows_are_exactly_promised_rows():
    covered = {str(row) for rows in ROWS.values() for row in rows}
    assert not PROMISED_ROWS - covered
    assert not covered - PROMISED_ROWS


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_row_has_entry_or_reason(file):
    rows = read_rows(file) | read_rows_without_entry(file)
    missing = [str(row) for row in ROWS[file.stem] if not rows.get(str(row))]
    assert not missing


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_row_without_entry_names_existing_section(file):
    chapter = (CHAPTERS / f"{file.stem}.md").read_text("utf8")
    for row, explanation in read_rows_without_entry(file).items():
        assert f"\n## {explanation['section']}\n" in chapter, row
        assert len(explanation["why"]) > 20, row


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_row_entries_are_in_catalogue(file):
    catalogue = _catalogue.load()
    unknown = [
        (row, bit) for row, bits in read_rows(file).items() for bit in bits if bit not in catalogue
    ]
    assert not unknown


def test_every_chapter_has_rows_and_coverage_file():
    stems = {path.stem for path in CHAPTERS.glob("*.md")}
    assert {file.stem for file in FILES} == set(ROWS) == stems
