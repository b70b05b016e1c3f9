"""Test the pages generated from the catalogue, and the extensions for outputs and figures."""

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

SILENT_ENTRY = """
[a-slip]
title = "A `<slip>` & a fall"
section = "A slip"
silent = true
look_for = "nothing"
fix = "use `a < b`"
guard = "none: it is silent"
until = "0.9"
"""
RAISING_ENTRY = """
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
CATALOGUE = {"01-first": RAISING_ENTRY, "02-second": SILENT_ENTRY}


def load_extension(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_ext_{name}", ROOT / "_ext" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_errors_page_lists_classes_once_and_every_message() -> None:
    page = catalogue_pages.errors_page(_catalogue.parse(CATALOGUE).values())
    assert re.findall(r"^## (.+)$", page, re.M) == ["TypeError", "ValueError"]
    assert page.count('href="../chapters/01-first.html#a-crash"') == 2
    assert "nor there" in page
    assert "A slip" not in page


def test_errors_page_embeds_entries_as_valid_json() -> None:
    page = catalogue_pages.errors_page(_catalogue.parse(CATALOGUE).values())
    embedded = re.search(r'id="finder-entries">(.*?)</script>', page)
    assert embedded
    entries = json.loads(embedded[1])
    assert [entry["text"] for entry in entries] == ["no </script> … here", "nor there"]


def test_silent_failures_page_has_chapters_and_escapes_html() -> None:
    page = catalogue_pages.silent_failures_page(
        _catalogue.parse(CATALOGUE).values(), {"02-second": "The second"}
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
def test_parse_results_rejects_unrelated_output(text: str, expected: list[tuple[str, str]]) -> None:
    assert load_extension("cell_outputs").parse_results(text) == expected


def test_results_html_escapes_items() -> None:
    cell_outputs = load_extension("cell_outputs")
    html_list = cell_outputs.results_html([("○", "a < b\nsaw 3")])
    assert '<li class="open"><b>○</b> a &lt; b<br>saw 3</li>' in html_list


@pytest.mark.parametrize(
    ("svg", "expected"),
    [
        ('<svg role="img" aria-label="A &lt; &quot;B&quot;">', 'A < "B"'),
        ("<svg aria-label='two' role=\"img\">", "two"),
        ('<svg width="3"><g role="img" aria-label="no"/></svg>', None),
    ],
)
def test_description_reads_label_of_root_element(svg: str, expected: str | None) -> None:
    assert load_extension("figure_themes").description(svg) == expected


def test_recolor_replaces_each_color_once() -> None:
    recolored = load_extension("figure_themes").recolor(
        "#FFFFFF #000000 #12345", {"#ffffff": "#000000"}
    )
    assert recolored == "#000000 #000000 #12345"
    swapping_palette = {"#ffffff": "#000000", "#000000": "#ffffff"}
    assert (
        load_extension("figure_themes").recolor("#FFFFFF #000000", swapping_palette)
        == "#000000 #ffffff"
    )


def test_page_background_matches_figures() -> None:
    theme = (ROOT / "_static" / "theme.css").read_text("utf8")
    backgrounds = re.findall(r"--pst-color-background: (#\w{6});", theme)
    assert backgrounds == ["#fdfdfc", DARK["#fdfdfc"]]
