"""The map of the code in CONTRIBUTING.md is true: the picture, the parts, and the arrows."""

from __future__ import annotations

import graphlib

import pytest

from book_tools import code_map
from book_tools.project_metadata import ROOT


def test_imports_have_no_cycle() -> None:
    order = list(graphlib.TopologicalSorter(code_map.imports()).static_order())
    assert len(order) > 100


def test_every_arrow_points_down() -> None:
    up = [
        f"{part.title} imports {target.title}"
        for part, targets in code_map.arrows().items()
        for target in targets
        if target.row <= part.row
    ]
    assert not up


def test_the_picture_is_the_one_that_is_drawn_from_the_imports() -> None:
    assert (ROOT / code_map.PICTURE).read_text("utf8") == code_map.draw()


def test_contributing_shows_the_picture() -> None:
    assert code_map.PICTURE.as_posix() in (ROOT / "CONTRIBUTING.md").read_text("utf8")


def test_a_module_that_no_part_lists_is_an_error() -> None:
    with pytest.raises(KeyError, match="no part of the map contains the module jaxbits_new"):
        code_map.part_of("jaxbits_new")


def test_nothing_in_the_library_imports_the_grader_or_the_tools() -> None:
    outside = ("jaxbits_grader", "book_tools", "_ext", "benchmarks")
    found = [
        f"{name} imports {one}"
        for name, imported in code_map.imports().items()
        if name.split(".")[0] == "jaxbits"
        for one in imported
        if one.split(".")[0] in outside
    ]
    assert not found
