"""Test that the code map in CONTRIBUTING.md matches the imports in the project's modules."""

from __future__ import annotations

import graphlib

import pytest

from book_tools import code_map
from book_tools.project_metadata import ROOT


def test_imports_have_no_cycle() -> None:
    order = list(graphlib.TopologicalSorter(code_map.imports()).static_order())
    assert len(order) > 100


def test_arrows_point_down() -> None:
    upward = [
        f"{part.title} imports {target.title}"
        for part, targets in code_map.arrows().items()
        for target in targets
        if target.row <= part.row
    ]
    assert not upward


def test_draw_matches_committed_picture() -> None:
    assert (ROOT / code_map.PICTURE).read_text("utf8") == code_map.draw()


def test_contributing_shows_picture() -> None:
    assert code_map.PICTURE.as_posix() in (ROOT / "CONTRIBUTING.md").read_text("utf8")


def test_part_of_rejects_unlisted_module() -> None:
    with pytest.raises(KeyError, match="no part of the map contains the module jaxbits_new"):
        code_map.part_of("jaxbits_new")


def test_library_imports_exclude_grader_and_tools() -> None:
    outside = ("jaxbits_grader", "book_tools", "_ext", "benchmarks")
    found = [
        f"{name} imports {target}"
        for name, imported in code_map.imports().items()
        if name.split(".")[0] == "jaxbits"
        for target in imported
        if target.split(".")[0] in outside
    ]
    assert not found
