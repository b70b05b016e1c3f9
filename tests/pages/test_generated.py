"""What the book's own programs make of the catalogue, of outputs and of figures."""

from __future__ import annotations

import importlib.util
import json
import re
from types import ModuleType

import pytest
from contents import ROOT

from book_tools.pages import catalogue_pages
from jaxbits import _catalogue
from jaxbits.book.figures.style import DARK

SECOND = """
[a-slip]
title = "A `<slip>` & a fall"
section = "A slip"
silent = true
look_for = "nothing"
fix = "use `a < b`"
guard = "none: it is silent"
until = "0.9"
"""
FIRST = """
[a-crash]
title = "A crash"
section = "A crash"
silent = false
symptoms = [
    {error = "ValueError", text = "no </script> … here"},
    {error = "TypeError", text = "nor there"},
]
fix = "mend it"
guard = "none: it is loud"
"""
TWO = {"01-first": FIRST, "02-second": SECOND}


def extension(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_ext_{name}", ROOT / "_ext" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_errors_lists_each_class_once_and_each_message() -> None:
    page = catalogue_pages.errors_page(_catalogue.parse(TWO).values())
    assert re.findall(r"^## (.+)$", page, re.M) == ["TypeError", "ValueError"]
    assert page.count('href="../chapters/01-first.html#a-crash"') == 2
    assert "nor there" in page
    assert "A slip" not in page


def test_the_entries_survive_inside_the_page() -> None:
    page = catalogue_pages.errors_page(_catalogue.parse(TWO).values())
    embedded = re.search(r'id="finder-entries">(.*?)</script>', page)
    assert embedded
    entries = json.loads(embedded[1])
    assert [entry["text"] for entry in entries] == ["no </script> … here", "nor there"]


def test_the_page_of_silent_failures_is_by_chapter_and_escapes() -> None:
    page = catalogue_pages.silent_failures_page(
        _catalogue.parse(TWO).values(), {"02-second": "The second"}
    )
    assert re.findall(r"^## (.+)$", page, re.M) == ["The second"]
    assert "A <code>&lt;slip&gt;</code> &amp; a fall" in page
    assert "<dt>Versions</dt><dd>before jax 0.9</dd>" in page
    assert "A crash" not in page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("✓ one\n", [("✓", "one")]),
        ("✓ one\n  two\n○ three\n", [("✓", "one\ntwo"), ("○", "three")]),
        ("✓ one\nand more\n", None),
        ("9.0\n", None),
        ("\n", None),
        ("", None),
    ],
)
def test_results_of_exercises_are_told_from_other_output(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert extension("cell_outputs").parse_results(text) == expected


def test_a_result_is_a_line_of_the_list_and_escaped() -> None:
    outputs = extension("cell_outputs")
    listed = outputs.results_html([("○", "a < b\nsaw 3")])
    assert '<li class="open"><b>○</b> a &lt; b<br>saw 3</li>' in listed


@pytest.mark.parametrize(
    ("svg", "expected"),
    [
        ('<svg role="img" aria-label="A &lt; &quot;B&quot;">', 'A < "B"'),
        ("<svg aria-label='two' role=\"img\">", "two"),
        ('<svg width="3"><g role="img" aria-label="no"/></svg>', None),
    ],
)
def test_a_figure_is_known_by_its_root(svg: str, expected: str | None) -> None:
    assert extension("figure_themes").description(svg) == expected


def test_a_figure_is_recoloured_in_one_pass() -> None:
    swapped = extension("figure_themes").recolor("#FFFFFF #000000 #12345", {"#ffffff": "#000000"})
    assert swapped == "#000000 #000000 #12345"
    both = {"#ffffff": "#000000", "#000000": "#ffffff"}
    assert extension("figure_themes").recolor("#FFFFFF #000000", both) == "#000000 #ffffff"


def test_the_page_has_the_ground_of_the_figures() -> None:
    theme = (ROOT / "_static" / "theme.css").read_text("utf8")
    grounds = re.findall(r"--pst-color-background: (#\w{6});", theme)
    assert grounds == ["#fdfdfc", DARK["#fdfdfc"]]
