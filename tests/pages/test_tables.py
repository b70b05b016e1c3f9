"""The tables of the reference part: every row runs again, and leads to a section."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from contents import PAGES, ROOT

from book_tools.environment import pins
from book_tools.pages import run_table_rows, table_page, tables
from jaxbits import _catalogue

NAMES = tables.table_names()
LEAST = {"coming-from-numpy": 45, "coming-from-pytorch": 45, "wrong-in-circulation": 45}
ADDRESS = re.compile(r"0x[0-9a-f]{4}|/tmp/")


def rows(name: str) -> list[dict[str, Any]]:
    return [row for group in tables.read_table(name)["group"] for row in group["row"]]


@functools.cache
def ids(page: Path) -> set[str]:
    return set(re.findall(r' id="([^"]+)"', page.read_text("utf8")))


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    return tables.run_tables(NAMES)["outcomes"]


@pytest.mark.parametrize("name", NAMES)
def test_every_row_gives_what_its_page_says(name: str, shown: dict[str, str]) -> None:
    stored = (ROOT / "reference" / f"{name}.md").read_text("utf8")
    again = table_page.table_page(tables.read_table(name), shown, tables.read_recorded())
    if pins.find_departures():
        # Other versions print otherwise: the rows must run, and the page hold the same code.
        boxes = re.compile(r'<pre class="outcome.*?</pre>|<p class="elsewhere.*?</p>', re.DOTALL)
        stored, again = (re.sub(r"\n+", "\n", boxes.sub("", text)) for text in (stored, again))
    assert again == stored, f"run: python -m book_tools tables {name}"


@pytest.mark.parametrize("name", NAMES)
def test_no_outcome_depends_on_the_machine(name: str) -> None:
    stored = (ROOT / "reference" / f"{name}.md").read_text("utf8")
    assert not ADDRESS.search(stored)
    assert f"reference/{name}" in PAGES


def test_there_are_as_many_rows_as_promised() -> None:
    assert set(NAMES) == set(LEAST)
    assert {name: n for name, n in LEAST.items() if len(rows(name)) < n} == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_row_leads_to_a_section(name: str, built: Path) -> None:
    known = _catalogue.load()
    wanted = [row["bit"] for row in rows(name)]
    assert [bit for bit in wanted if bit not in known] == []
    places = {tuple(known[bit].page.split("#")) for bit in wanted}
    lost = [(page, place) for page, place in places if place not in ids(built / page)]
    assert lost == []


@pytest.mark.parametrize("name", NAMES)
def test_no_two_rows_are_the_same(name: str) -> None:
    codes = list(run_table_rows.code_of_rows(tables.read_table(name)))
    sides = len(tables.read_table(name)["sides"])
    pairs = [tuple(codes[i : i + sides]) for i in range(0, len(codes), sides)]
    assert len(set(pairs)) == len(pairs)


def test_every_wrong_claim_was_run_on_all_versions() -> None:
    # What was recorded goes by the code itself: an edited row has to be recorded again.
    table = tables.read_table("wrong-in-circulation")
    wanted = {
        run_table_rows.row_key(given, code) for given, code in run_table_rows.code_of_rows(table)
    }
    recorded = tables.read_recorded()
    missing = {v: sorted(wanted - set(outcomes)) for v, outcomes in recorded.items()}
    assert missing == {version: [] for version in recorded}, "run: make tables"
    about = table["about"]
    assert recorded
    unsaid = [version for version in recorded if f"jax {version} " not in about]
    assert not unsaid, "name the versions that were run at the head of the table"


def test_every_wrong_claim_says_where_it_stands() -> None:
    wrong = rows("wrong-in-circulation")
    assert [row["title"] for row in wrong if not (row.get("where") or row.get("where_text"))] == []


TABLE = {
    "title": "A page",
    "about": "About.",
    "sides": ["numpy", "jax"],
    "heads": ["NumPy", "JAX"],
    "group": [
        {
            "title": "A group",
            "given": {"numpy": "x = [1]", "jax": "x = [2]"},
            "row": [
                {"numpy": "x[0]", "jax": "x[3]", "note": "Mind `x`.", "bit": "out-of-bounds-read"}
            ],
        }
    ],
}


def test_a_page_shows_code_and_outcome_of_both_sides() -> None:
    found = run_table_rows.run_rows([TABLE])
    assert found == {
        "x = [1]\nx[0]": "1",
        "x = [2]\nx[3]": "IndexError: list index out of range",
    }
    page = table_page.table_page(TABLE, found, {"0.1": {"x = [2]\nx[3]": "7 < 8"}})
    assert '<pre class="outcome">1</pre>' in page
    assert '<pre class="outcome error">IndexError: list index out of range</pre>' in page
    assert "On jax 0.1:" in page
    assert "7 &lt; 8" in page
    assert f'href="../{_catalogue.find_bit("out-of-bounds-read").page}"' in page


def test_an_unknown_section_is_refused() -> None:
    group = TABLE["group"][0]
    unknown = {
        **TABLE,
        "group": [group | {"row": [group["row"][0] | {"bit": "out-of-bound-read"}]}],
    }
    with pytest.raises(KeyError, match="did you mean out-of-bounds-read"):
        table_page.table_page(unknown, run_table_rows.run_rows([TABLE]))


def test_rows_do_not_see_each_other() -> None:
    assert run_table_rows.run_row("seen = 1") == ""
    assert run_table_rows.run_row("seen").startswith("NameError")


def test_a_warning_and_a_print_are_part_of_what_is_seen() -> None:
    code = "import warnings\nprint('a')\nwarnings.warn('b')"
    assert run_table_rows.run_row(code) == "UserWarning: b\na"
