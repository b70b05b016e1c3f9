"""What the book promised to treat, row by row, and where it does.

A file a chapter in `coverage/` maps the rows of the list of traps, by number, and those of the
four source documents (S1.1 …) to entries of the catalogue: `"54" = ["one-key-for-two-draws"]`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from jaxbits import catalogue

FILES = sorted((Path(__file__).parent / "coverage").glob("*.toml"))
ROWS = {
    "01-tracing": [],
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
    "12-async-dispatch": [*range(145, 160), "S4.2", "S4.3"],
    "13-pytrees-and-transformations": [*range(160, 176), "S4.8", "S4.16"],
    "16-stateful-layers": [*range(182, 206), "S4.19"],
    "18-lists-or-arrays": ["S1.1", "S1.2", "S1.3", "S1.4"],
}


def read(file: Path) -> dict[str, list[str]]:
    return tomllib.loads(file.read_text("utf8"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_row_has_an_entry(file):
    rows = read(file)
    missing = [str(row) for row in ROWS[file.stem] if not rows.get(str(row))]
    assert not missing


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_entry_named_is_in_the_catalogue(file):
    known = catalogue.load()
    unknown = [(row, bit) for row, bits in read(file).items() for bit in bits if bit not in known]
    assert not unknown


def test_every_chapter_written_has_its_rows():
    chapters = {bit.chapter for bit in catalogue.load().values()}
    assert {file.stem for file in FILES} == {c for c in chapters if ROWS.get(c)}
