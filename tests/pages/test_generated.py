"""Test the pages generated from the catalogue, and the extensions for outputs and figures."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from contents import ROOT

from book_tools.pages import catalogue_pages
from book_tools.pages.entry_groups import TASKS
from jaxbits import _catalogue
from jaxbits.book.figures.style import DARK

SILENT_ENTRY = """
[a-slip]
title = "A `<slip>` & a fall"
section = "A slip"
silent = true
look_for = "nothing"
fix = "use `a < b`"
noticed = ["nan", "slow"]
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
task = "loops"
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


def errors_page(texts: dict[str, str] = CATALOGUE) -> str:
    return catalogue_pages.errors_page(_catalogue.parse(texts).values())


def test_errors_page_groups_entries_by_task_and_lists_each_once() -> None:
    page = errors_page()
    assert re.findall(r"^## (.+)$", page, re.M) == [TASKS["loops"], "Index by class"]
    assert page.count('href="../chapters/01-first.html#a-crash"') == 1
    entry = page[page.index('<div class="bit" id="a-crash">') : page.index("## Index by class")]
    messages = re.findall(r"<pre><b>(\w+):</b> (.+)</pre>", entry)
    assert messages == [("TypeError", "nor there"), ("ValueError", "no &lt;/script&gt; … here")]
    assert "A slip" not in page


def test_errors_page_links_each_class_to_its_entries() -> None:
    index = errors_page().partition("## Index by class")[2]
    assert re.findall(r"^### (.+)$", index, re.M) == ["TypeError", "ValueError"]
    assert index.count('<a href="#a-crash">') == 2


def test_errors_page_adds_the_title_to_equal_messages_of_a_class() -> None:
    second = RAISING_ENTRY.replace("a-crash", "a-bang").replace("A crash", "A `bang`")
    page = errors_page({"01-first": RAISING_ENTRY + second.replace("nor there", "elsewhere")})
    index = page.partition("## Index by class")[2]
    assert "</code>: A crash</a>" in index
    assert "</code>: A <code>bang</code></a>" in index
    assert '<a href="#a-bang"><code>elsewhere</code></a>' in index


def test_errors_page_sorts_messages_alphabetically() -> None:
    earlier = RAISING_ENTRY.replace("[a-crash]", "[a-bang]").replace("nor there", "'an' error")
    page = errors_page({"01-first": RAISING_ENTRY + earlier})
    assert page.index('id="a-bang"') < page.index('id="a-crash"')


def test_errors_page_shows_entry_without_group_under_other_errors() -> None:
    without_task = RAISING_ENTRY.replace('task = "loops"\n', "")
    assert "## Other errors" in errors_page({"01-first": without_task})


@pytest.mark.parametrize(
    "guard", ["none: it is loud", "not needed: JAX raises the error while it traces"]
)
def test_errors_page_leaves_out_guards_that_say_nothing(guard: str) -> None:
    raising = RAISING_ENTRY.replace("none: it is loud", guard)
    assert "Guard" not in errors_page({"01-first": raising})
    with_tool = RAISING_ENTRY.replace("none: it is loud", "a test")
    assert "<dt>Guard</dt><dd>A test.</dd>" in errors_page({"01-first": with_tool})


def test_errors_page_embeds_entries_as_valid_json() -> None:
    embedded = re.search(r'id="finder-entries">(.*?)</script>', errors_page())
    assert embedded
    entries = json.loads(embedded[1])
    assert [entry["text"] for entry in entries] == ["no </script> … here", "nor there"]


def test_silent_failures_page_has_chapters_groups_and_escapes_html() -> None:
    page = catalogue_pages.silent_failures_page(
        _catalogue.parse(CATALOGUE).values(), {"02-second": "The second"}
    )
    assert re.findall(r"^## (.+)$", page, re.M) == ["The second"]
    assert '<div class="bit" id="a-slip" data-noticed="nan slow">' in page
    assert re.findall(r'name="noticed" value="(\w*)"', page) == ["", "nan", "slow"]
    assert "A <code>&lt;slip&gt;</code> &amp; a fall" in page
    assert "<dt>Guard</dt><dd>No tool reports it. It is silent.</dd>" in page
    assert "<dt>Versions</dt><dd>before jax 0.9</dd>" in page
    assert "A crash" not in page


def test_guards_link_each_detector_to_its_section(built: Path) -> None:
    silent = (built / "reference" / "silent-failures.html").read_text("utf8")
    guards = re.findall(r"<dt>Guard</dt><dd>(.*?)</dd>", silent)
    named = [check for guard in guards for check in re.findall(r"jaxbits\.detect\.(\w+)", guard)]
    linked = re.findall(
        r'<a [^>]*href="detectors\.html#([\w-]+)"><code[^>]*>jaxbits\.detect\.(\w+)', silent
    )
    assert len(named) > 80
    assert [check for _, check in linked] == named
    assert all(anchor == check.replace("_", "-") for anchor, check in linked)


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rate   lists  arrays\n0.1     1.0     2.0\n", True),
        ("{ lambda ; a:f32[3]. let\n    b:f32[3] = sin a\n  in (b,) }", True),
        ("[[1. 2.]\n [3. 4.]\n [5. 6.]]", True),
        ("(Array(1), 2)\nTrue", False),
        ("warning: global [stale_global]\n    seen: a  b\n    fix: pass  it\n", False),
        ("a  b\nc  d\n" + "a long message " * 8, False),
    ],
)
def test_outputs_are_laid_out_if_their_lines_form_columns(text: str, expected: bool) -> None:
    assert load_extension("cell_outputs").is_laid_out(text) == expected


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
