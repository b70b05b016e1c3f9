"""Test that a notebook folds the same cells as its page and gives each a matching title."""

from __future__ import annotations

import ast

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from book_tools.chapters.chapter_files import ChapterFiles, find_chapters, first_line, read_source
from book_tools.chapters.folding import SETUP_TITLE, derive_title, fold, without_title

CHAPTERS = find_chapters()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\n\nclaims(\n    'a-bit', {})", "Check what this section says"),
        ("also_sharp(\n    {}\n)", "Also sharp: a table with every row checked"),
        ("x = 1\ndraw.where_indices_land(x)", "Draw the figure"),
        ("import os\n\n\ndef f(x):\n    y = 1\n\n\nz = 2", "Helper code: f"),
        ("class A:\n    pass\n\n\nasync def g():\n    pass", "Helper code: A, g"),
        ("a, (b, *c) = x\na = d = 3", "Helper code: a, b, c, …"),
        ("print(1)", "Helper code"),
        ("_, theirs = f()", "Helper code: theirs"),
        ("%load_ext jaxbits\nx = 1", "Helper code"),
        ("def claims(x):\n    return x", "Helper code: claims"),
    ],
)
def test_derive_title_describes_cell(source: str, expected: str) -> None:
    assert derive_title(source) == expected


@pytest.mark.parametrize(
    ("tags", "metadata", "first"),
    [
        ([], {}, "x = 1"),
        (["raises-exception"], {}, "x = 1"),
        (
            ["hide-input"],
            {"cellView": "form", "jupyter": {"source_hidden": True}},
            "#@title Helper code: x",
        ),
        (["hide-output"], {"jupyter": {"outputs_hidden": True}}, "x = 1"),
        (
            ["hide-input", "hide-output"],
            {"cellView": "form", "jupyter": {"source_hidden": True, "outputs_hidden": True}},
            "#@title Helper code: x",
        ),
        (
            ["remove-cell"],
            {"cellView": "form", "jupyter": {"source_hidden": True}},
            f"#@title {SETUP_TITLE}",
        ),
    ],
)
def test_fold_follows_tags(tags: list[str], metadata: dict, first: str) -> None:
    cell = new_code_cell("x = 1\nx", metadata={"tags": tags})
    fold(cell)
    assert cell.metadata == {"tags": tags} | metadata
    assert cell.source.splitlines()[0] == first
    assert without_title(cell.source) == "x = 1\nx"
    assert first_line(cell) == "x = 1"


def test_fold_ignores_markdown_cell() -> None:
    cell = new_markdown_cell("Words.")
    fold(cell)
    assert cell.source == "Words."
    assert cell.metadata == {}


# The linter checks the stored notebooks: see removed_fold in nbval_exact/mutations.py.
@pytest.mark.parametrize("pair", CHAPTERS, ids=lambda pair: pair.name)
def test_read_source_folds_cells_as_on_page(pair: ChapterFiles) -> None:
    cells = [cell for cell in read_source(pair).cells if cell.cell_type == "code"]
    folded = {"hide-input", "remove-cell"}
    for cell in cells:
        tags = set(cell.metadata.get("tags", []))
        is_folded = bool(tags & folded)
        head = cell.source.splitlines()[0]
        assert cell.metadata.get("jupyter", {}) == ({"source_hidden": True} if is_folded else {}), (
            head
        )
        assert cell.metadata.get("cellView") == ("form" if is_folded else None), head
        assert cell.source.count("@title") == is_folded, head
        assert head.startswith("#@title ") == is_folded, head
        assert len(head) <= 80, head
        # Cells that check claims are always folded, because they are not part of the lesson.
        assert is_folded or not calls_claims(without_title(cell.source)), head
    assert cells[0].source.startswith(f"#@title {SETUP_TITLE}\n")


def calls_claims(source: str) -> bool:
    """Return True if a cell calls `claims` or `also_sharp` anywhere."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # The cell contains a magic.
        return False
    called = {node.func.id for node in ast.walk(tree)
              if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
    return bool(called & {"claims", "also_sharp"})
