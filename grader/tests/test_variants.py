"""Test that variants draw new values from their ranges, and that invalid ranges raise an error."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from jaxbits_grader.authoring.assignment_source import (
    ANSWERS_FILE,
    SOURCE_FILE,
    SourceError,
    read_assignment,
)
from jaxbits_grader.authoring.cell_markers import without_variant_comments
from jaxbits_grader.authoring.variants import (
    count_variable_values,
    draw_variant,
    write_variants,
)
from test_assignment_source import VALID_SOURCE

RANGES = {
    "rows = 12  # variant: 8..20": (8, 20),
    "rows = 12  # variant: 12..13": (13, 13),
    "    depth = -3  # variant: -9..-1": (-9, -1),
    "rate: float = 0.25  # variant: 0.1..0.4": (0.1, 0.4),
    "cold = -0.5  # variant: -1.5..1.5": (-1.5, 1.5),
    "tiny = 1e-3  # variant: 1e-4..1e-2": (1e-4, 1e-2),
    "far = 87000.0  # variant: 70000.0..120000.0": (70000, 120000),
    "near = 228.7  # variant: 228.5..229.0": (228.5, 229),
    "whole = 2.0  # variant: 1..4": (1, 4),
    "table: dict[str, int] = 3  # variant: 1..9": (1, 9),
    "big = 1_000  # variant: 1_000..9_000": (1000, 9000),
}


def draw_value(line: str, seed: int) -> object:
    variant = draw_variant(line, seed)
    head, tail = line.split("=")[0], line.split("#")[1]
    assert variant.startswith(head)
    assert variant.endswith(tail)
    return ast.literal_eval(variant.split("=")[1].split("#")[0].strip())


@pytest.mark.parametrize("line", RANGES)
def test_draw_variant_draws_numbers_from_range(line: str) -> None:
    low, high = RANGES[line]
    old = ast.literal_eval(line.split("=")[1].split("#")[0].strip())
    values = [draw_value(line, seed) for seed in range(60)]
    assert all(low <= value <= high for value in values)  # type: ignore[operator]
    assert {type(value) for value in values} == {type(old)}
    assert old not in values
    assert len(set(values)) > 5 or low == high
    assert values == [draw_value(line, seed) for seed in range(60)]
    assert count_variable_values(line) == 1


def test_draw_variant_reaches_every_number_in_range() -> None:
    values = {draw_value("n = 3  # variant: 1..5", seed) for seed in range(100)}
    assert values == {1, 2, 4, 5}


def test_draw_variant_draws_from_choices() -> None:
    line = """how = "mean"  # variant: "mean" | 'max' | "min" """.rstrip()
    values = {draw_value(line, seed) for seed in range(30)}
    assert values == {"max", "min"}
    assert (
        draw_variant("x = True  # variant: True | False", 1) == "x = False  # variant: True | False"
    )


def test_draw_variant_keeps_value_of_one_element_range() -> None:
    for line in (
        "n = 3  # variant: 3..3",
        "x = 0.5  # variant: 0.5..0.5",
        "s = 'a'  # variant: 'a' | 'a'",
    ):
        assert draw_variant(line, 1) == line


@pytest.mark.parametrize(
    "line",
    [
        "n = 3  # variant: 4..9",
        "n = 3  # variant: 9..1",
        "n = 3  # variant: 1-9",
        "n = 3  # variant: a..b",
        "n = 3  # variant: 1",
        "n = 3  # variant: 1 | 2",
        "n = x  # variant: 1..9",
        "n = '3'  # variant: 1..9",
        "n = 3,  # variant: 1..9",
        "n = True  # variant: 0..9",
        "x = 0.5  # variant: 0.0..1e999",
    ],
)
def test_draw_variant_rejects_invalid_ranges(line: str) -> None:
    with pytest.raises(SourceError, match=re.escape(line.split("variant: ")[1].split("|")[0])):
        draw_variant(line, 1)


@pytest.mark.parametrize(
    "line",
    [
        "# variant: 1..9",
        "f(3)  # variant: 1..9",
        "x == 3  # variant: 1..9",
        "x = y = 3  # variant: 1..9",
        "x = 1; y = 2  # variant: 1..9",
        "x += 3  # variant: 1..9",
        "a.b = 3  # variant: 1..9",
        "a[0] = 3  # variant: 1..9",
        "a, b = 3  # variant: 1..9",
        "x = 3  # variant:1..9",
        "x = '#'  # variant: 'a' | '#'",
        "return 3  # variant: 1..9",
    ],
)
def test_count_variable_values_rejects_misplaced_comments(line: str) -> None:
    with pytest.raises(SourceError, match="must be at the end of a line with a single assignment"):
        count_variable_values(f"n = 3  # variant: 1..9\n{line}\n")
    assert draw_variant(line, 1) == line


def test_draw_variant_keeps_text_without_ranges() -> None:
    text = "# variants\nx = 3\ny = '..'\n"
    assert draw_variant(text, 1) == without_variant_comments(text) == text
    assert count_variable_values(text) == 0


def test_write_variants_writes_every_assignment(tmp_path: Path) -> None:
    book, target = tmp_path / "book", tmp_path / "mine"
    for name in ("a", "b"):
        (book / name).mkdir(parents=True)
        (book / name / SOURCE_FILE).write_text(VALID_SOURCE)
        (book / name / ANSWERS_FILE).write_text("x")
    assert write_variants(book, target, "s") == ["a", "b"]
    texts = [(target / name / SOURCE_FILE).read_text() for name in ("a", "b")]
    assert VALID_SOURCE not in texts
    assert (target / "a" / ANSWERS_FILE).read_text() == "x"
    assert [read_assignment(target / name).points for name in ("a", "b")] == [2, 2]
    with pytest.raises(SourceError, match="already contains a, b; nothing was changed"):
        write_variants(book, target, "s")
    for inside in (book, book / "private"):
        with pytest.raises(SourceError, match="must not be inside"):
            write_variants(book, inside, "s")
    with pytest.raises(SourceError, match="contains no folder"):
        write_variants(tmp_path / "none", target, "s")


def test_write_variants_creates_folder_that_only_its_owner_can_read(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / SOURCE_FILE).write_text(VALID_SOURCE)
    write_variants(tmp_path / "book", tmp_path / "new" / "private", 7)
    assert (tmp_path / "new" / "private").stat().st_mode & 0o777 == 0o700


def test_write_variants_sets_address_of_wheel(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    source = VALID_SOURCE.replace(
        "```{code-cell} ipython3", '```{code-cell} ipython3\nWHEEL = ""', 1
    )
    (tmp_path / "book" / SOURCE_FILE).write_text(source)
    address = "https://example.org/wheels/jaxbits-0.1-py3-none-any.whl"
    write_variants(tmp_path / "book", tmp_path / "mine", 7, wheel=address)
    assert f'\nWHEEL = "{address}"\n' in (tmp_path / "mine" / "book" / SOURCE_FILE).read_text()
    for wrong in ("jaxbits.whl", 'https://x/"; y.whl', "https://example.org/jaxbits.zip"):
        with pytest.raises(ValueError, match="wheel must be a web address"):
            write_variants(tmp_path / "book", tmp_path / "other", 7, wheel=wrong)


def test_write_variants_writes_nothing_if_source_is_invalid(tmp_path: Path) -> None:
    for name, text in (("a", VALID_SOURCE), ("b", VALID_SOURCE.replace("2..9", "7..9"))):
        (tmp_path / "book" / name).mkdir(parents=True)
        (tmp_path / "book" / name / SOURCE_FILE).write_text(text)
    with pytest.raises(SourceError, match="must contain the current value 3"):
        write_variants(tmp_path / "book", tmp_path / "mine", "s")
    assert not (tmp_path / "mine").exists()
