"""Run the rows of the reference tables again, and check the tables' pages and links."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from contents import PAGES, ROOT

from book_tools.environment import pins
from book_tools.pages import name_index, run_table_rows, table_page, tables, upstream_text
from jaxbits import _catalogue

NAMES = tables.table_names()
MIN_ROWS = {"coming-from-numpy": 45, "coming-from-pytorch": 45, "wrong-in-circulation": 45}
MACHINE_ADDRESS = re.compile(r"0x[0-9a-f]{4}|/tmp/")


def read_rows(name: str) -> list[dict[str, Any]]:
    return [row for group in tables.read_table(name)["group"] for row in group["row"]]


@functools.cache
def page_ids(page: Path) -> set[str]:
    return set(re.findall(r' id="([^"]+)"', page.read_text("utf8")))


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    return tables.run_tables(NAMES)["outcomes"]


@pytest.mark.slow  # Running the rows of the three tables takes half a minute.
@pytest.mark.parametrize("name", NAMES)
def test_table_page_contains_row_outcomes(name: str, outcomes: dict[str, str]) -> None:
    stored = (ROOT / "reference" / f"{name}.md").read_text("utf8")
    generated = table_page.table_page(
        tables.read_table(name), outcomes, tables.read_recorded(), tables.read_recorded_versions()
    )
    if pins.find_departures():
        # Different versions print different outcomes, so only the code on the page must match.
        boxes = re.compile(r'<pre class="outcome.*?</pre>|<p class="elsewhere.*?</p>', re.DOTALL)
        stored, generated = (
            re.sub(r"\n+", "\n", boxes.sub("", text)) for text in (stored, generated)
        )
    assert generated == stored, f"run: python -m book_tools tables {name}"


@pytest.mark.parametrize("name", NAMES)
def test_table_page_contains_no_address_or_temporary_path(name: str) -> None:
    stored = (ROOT / "reference" / f"{name}.md").read_text("utf8")
    assert not MACHINE_ADDRESS.search(stored)
    assert f"reference/{name}" in PAGES


def test_tables_have_minimum_number_of_rows() -> None:
    assert set(NAMES) == set(MIN_ROWS)
    assert {name: n for name, n in MIN_ROWS.items() if len(read_rows(name)) < n} == {}


@pytest.mark.parametrize("name", NAMES)
def test_table_rows_link_to_existing_sections(name: str, built: Path) -> None:
    catalogue = _catalogue.load()
    bits = [row["bit"] for row in read_rows(name)]
    assert [bit for bit in bits if bit not in catalogue] == []
    anchors = {tuple(catalogue[bit].page.split("#")) for bit in bits}
    missing = [(page, anchor) for page, anchor in anchors if anchor not in page_ids(built / page)]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_table_rows_are_unique(name: str) -> None:
    codes = list(run_table_rows.code_of_rows(tables.read_table(name)))
    sides = len(tables.read_table(name)["sides"])
    pairs = [tuple(codes[i : i + sides]) for i in range(0, len(codes), sides)]
    assert len(set(pairs)) == len(pairs)


def test_wrong_claims_are_recorded_for_all_versions() -> None:
    # Each record's key contains the row's code, so an edited row must be recorded again.
    table = tables.read_table("wrong-in-circulation")
    expected = {
        run_table_rows.row_key(given, code) for given, code in run_table_rows.code_of_rows(table)
    }
    recorded = tables.read_recorded()
    missing = {v: sorted(expected - set(outcomes)) for v, outcomes in recorded.items()}
    assert missing == {version: [] for version in recorded}, "run: make tables"
    about = table["about"]
    assert recorded
    unnamed = [version for version in recorded if f"jax {version} " not in about]
    assert not unnamed, "the text above the table must name every recorded version"


def test_wrong_claims_name_their_sources() -> None:
    wrong_claims = read_rows("wrong-in-circulation")
    assert [
        row["title"] for row in wrong_claims if not (row.get("where") or row.get("where_text"))
    ] == []


def test_wrong_claims_run_the_lines_of_their_source() -> None:
    for row in read_rows("wrong-in-circulation"):
        assert "theirs" in row, row["title"]
        code = row["jax"].strip()
        assert upstream_text.quoted_lines(row, code) or row["theirs"] == "", row["title"]


def test_wrong_claims_with_a_link_quote_whole_lines() -> None:
    # The page says that colored lines are copied, so a line that contains only a few words of the
    # source must not be colored.
    for row in read_rows("wrong-in-circulation"):
        if row.get("where"):
            lines = {line.strip().rstrip(",") for line in row["jax"].splitlines()}
            quoted = [line for piece in upstream_text.theirs(row) for line in piece.splitlines()]
            assert [line for line in quoted if line.strip() not in lines] == [], row["title"]


def test_wrong_claims_have_a_text_to_send() -> None:
    page = (ROOT / "reference" / "wrong-in-circulation.md").read_text("utf8")
    rows = read_rows("wrong-in-circulation")
    texts = [row for row in rows if "proposal" in row]
    assert page.count('<details class="upstream">') == len(texts)
    both_or_neither = [row for row in rows if ("proposal" in row) == ("nothing_to_send" in row)]
    assert [row["title"] for row in both_or_neither] == []


def texts_to_send() -> list[str]:
    page = (ROOT / "reference" / "wrong-in-circulation.md").read_text("utf8")
    return re.findall(r"^````text\n(.*?)\n````$", page, re.DOTALL | re.MULTILINE)


@pytest.mark.slow  # Running the code of all texts takes half a minute.
def test_code_in_texts_to_send_runs_in_an_empty_namespace(outcomes: dict[str, str]) -> None:
    table = tables.read_table("wrong-in-circulation")
    rows = [row for group in table["group"] for row in group["row"] if "proposal" in row]
    codes = [re.findall(r"```python\n(.*?)\n```", text, re.DOTALL) for text in texts_to_send()]
    assert [len(code) for code in codes] == [1] * len(rows)
    bare = dict(
        zip((row["title"] for row in rows), tables.run_bare(c[0] for c in codes), strict=True)
    )
    assert {title: got for title, got in bare.items() if "NameError" in got} == {}
    wanted = {row["title"]: outcomes[run_table_rows.row_key("", row["jax"])] for row in rows}
    assert bare == wanted


def test_texts_to_send_name_a_page_or_leave_room_for_it() -> None:
    rows = [row for row in read_rows("wrong-in-circulation") if "proposal" in row]
    for row, text in zip(rows, texts_to_send(), strict=True):
        links = [url for _, url in row.get("where", [])] or ["(Put the address of the page here.)"]
        assert [link for link in links if link not in text] == [], row["title"]


def test_runnable_code_simulates_devices_before_it_imports_jax(tmp_path: Path) -> None:
    code = upstream_text.runnable_code("print(jax.make_mesh((2,), ('x',)).size)")
    assert code.index("XLA_FLAGS") < code.index("import jax")
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | {"JAX_PLATFORMS": "cpu"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "2\n", done.stderr


def test_links_to_official_pages_name_a_commit_and_a_line() -> None:
    rows = read_rows("wrong-in-circulation")
    links = [url for row in rows for _, url in (*row.get("where", []), *row.get("related", []))]
    threads = re.compile(r"/(issues|pull)/\d+$")
    pinned = re.compile(r"https://github.com/[\w./-]+/blob/[0-9a-f]{40}/[^#]+#L\d+$")
    assert [url for url in links if not threads.search(url) and not pinned.match(url)] == []


def test_quoted_lines_reject_a_line_that_the_code_lacks() -> None:
    row = {"theirs": ["x = 1", "y = 2"]}
    assert upstream_text.quoted_lines(row, "x = 1\nz = 0\nif z:\n    y = 2") == [1, 4]
    with pytest.raises(ValueError, match="must contain the lines that it quotes, got 'y = 2'"):
        upstream_text.quoted_lines(row, "x = 1")


def test_upstream_text_contains_statement_code_result_and_proposal() -> None:
    row = {
        "title": "f gives 2",
        "said": "`f` gives 1.",
        "where": [["A page", "https://example.org/page"]],
        "true": "It gives 2.",
        "jax": "f()",
        "proposal": "`f` gives 2.",
    }
    outcomes = [{"text": "2", "version": ""}, {"text": "3", "version": "0.1"}]
    text = upstream_text.upstream_text(row, "f()", outcomes, {"0.1": {}, "0.2": {}})
    assert text.startswith("Title: f gives 2\n")
    assert "> `f` gives 1.\n\nhttps://example.org/page" in text
    assert "```python\nf()\n```\n\nThis gives:\n\n```\n2\n```" in text
    assert "The result is the same with jax 0.2." in text
    assert "With jax 0.1, the code gives:\n\n```\n3\n```" in text
    assert text.endswith("Proposed text:\n\n> `f` gives 2.")


def test_upstream_text_mentions_another_wording_only_if_there_is_one() -> None:
    row = {"title": "f", "said": "no", "where": [], "true": "yes", "proposal": "yes"}
    outcomes = [{"text": "ValueError: no", "version": "", "is_error": True}]
    same, other = (
        upstream_text.upstream_text(row, "f()", outcomes, {"0.2": {}}, has_other_wording=differs)
        for differs in (False, True)
    )
    assert "The result is the same with jax 0.2." in same
    assert "The result is the same with jax 0.2, except for the wording of the error." in other


def test_upstream_text_names_an_issue_or_asks_for_the_page() -> None:
    row = {"title": "f", "said": "no", "true": "yes", "proposal": "yes", "is_bug": True}
    issue = "https://github.com/o/r/issues/1"
    outcomes = [{"text": "1", "version": ""}]
    versions = {"0.7.2": {"jax": "0.7.2", "flax": "0.11.2"}}
    text = upstream_text.upstream_text(
        row | {"where": [["An issue", issue]]}, "nnx.Param(1)", outcomes, versions
    )
    assert f"This issue says:\n\n> no\n\n{issue}" in text
    assert "The result is the same with jax 0.7.2 (flax 0.11.2)." in text
    assert "Suggested fix:\n\n> yes" in text
    text = upstream_text.upstream_text(row | {"where": []}, "optax.sgd(nnx)", outcomes, {})
    assert "in these or similar words:\n\n> no\n\n(Put the address of the page here.)" in text
    assert re.search(r"I tried this with jax \S+, flax \S+, and optax \S+ on a CPU\.", text)


@pytest.mark.parametrize("name", ["coming-from-numpy", "coming-from-pytorch"])
def test_every_name_in_the_index_leads_to_a_row(name: str, built: Path) -> None:
    page = (built / "reference" / f"{name}.html").read_text("utf8")
    index = page.partition('<nav class="name-index"')[2].partition("</nav>")[0]
    links = re.findall(r'href="#([^"]+)"', index)
    assert len(links) > len(read_rows(name))
    assert set(links) <= page_ids(built / "reference" / f"{name}.html")
    assert all(row["names"] for row in read_rows(name))


def test_index_of_names_rejects_a_name_of_two_rows() -> None:
    rows = [{"names": ["cat", "x.sum()"]}, {"names": ["stack", "cat"]}]
    with pytest.raises(ValueError, match="a name must belong to one row, got cat twice"):
        name_index.index_names([row | {"id": "id"} for row in rows])
    with pytest.raises(ValueError, match="must be unique, got name-cat twice"):
        name_index.row_ids([rows[0], rows[0]])


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


def test_table_page_shows_code_and_outcome_of_both_sides() -> None:
    outcomes = run_table_rows.run_rows([TABLE])
    assert outcomes == {
        "x = [1]\nx[0]": "1",
        "x = [2]\nx[3]": "IndexError: list index out of range",
    }
    page = table_page.table_page(TABLE, outcomes, {"0.1": {"x = [2]\nx[3]": "7 < 8"}})
    assert '<pre class="outcome">1</pre>' in page
    assert '<pre class="outcome error">IndexError: list index out of range</pre>' in page
    assert "On jax 0.1:" in page
    assert "7 &lt; 8" in page
    assert f'href="../{_catalogue.find_bit("out-of-bounds-read").page}"' in page


def test_table_page_rejects_unknown_bit() -> None:
    group = TABLE["group"][0]
    unknown = {
        **TABLE,
        "group": [group | {"row": [group["row"][0] | {"bit": "out-of-bound-read"}]}],
    }
    with pytest.raises(KeyError, match="did you mean out-of-bounds-read"):
        table_page.table_page(unknown, run_table_rows.run_rows([TABLE]))


def test_run_row_does_not_share_variables() -> None:
    assert run_table_rows.run_row("seen = 1") == ""
    assert run_table_rows.run_row("seen").startswith("NameError")


def test_run_row_names_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run_table_rows.IMPORTS, "torch", "no_such_package")
    expected = "ModuleNotFoundError: No module named 'no_such_package'"
    assert run_table_rows.run_row("t", "t = torch.ones(1)") == expected
    assert run_table_rows.run_row("torch.ones(1)") == expected
    assert run_table_rows.run_row("torch = 1; torch") == "1"


def test_rows_without_their_package_keep_the_recorded_outcome() -> None:
    before = {"versions": {"jax": "1", "torch": "2"}, "outcomes": {"a": "old", "b": "old"}}
    found = {"a": "new", "b": "ModuleNotFoundError: No module named 'torch'"}
    record = {"versions": {"jax": "1"}, "outcomes": found}
    kept = tables.keep_recorded(record, before)
    assert kept == {"versions": before["versions"], "outcomes": {"a": "new", "b": "old"}}
    newer = {"versions": {"jax": "2"}, "outcomes": found}
    assert tables.keep_recorded(newer, before) == newer
    assert tables.keep_recorded(record, {}) == record


def test_run_row_returns_warnings_and_printed_text() -> None:
    code = "import warnings\nprint('a')\nwarnings.warn('b')"
    assert run_table_rows.run_row(code) == "UserWarning: b\na"
