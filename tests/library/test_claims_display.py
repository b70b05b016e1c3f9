"""Test how outcomes of claims are displayed, both as text and as a summary that can be unfolded."""

import re
from html.parser import HTMLParser

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from jaxbits import also_sharp, claims, made_for, raises, runtime
from jaxbits._claims_display import Outcome, Outcomes, headline

BIT = "out-of-bounds-read"
DOES_NOT_APPLY = made_for(True, jax=">=99")


@pytest.fixture
def shell():
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def displayed_data(statements):
    """Return the output of a `claims` call in a notebook as a dict from MIME types to strings."""
    with capture_output() as captured:
        claims(BIT, statements)
    assert captured.stdout == ""
    (output,) = captured.outputs
    return output.data


class TagCollector(HTMLParser):
    """Collect the tags in an HTML fragment, and check that they are properly nested."""

    def __init__(self):
        super().__init__()
        self.open, self.collected = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.collected.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def collect_tags(html):
    parser = TagCollector()
    parser.feed(html)
    assert parser.open == []
    return parser.collected


def test_claims_shows_folded_summary_in_notebook(shell):
    data = displayed_data({"one": True, "a < b": (1, 1), "the `dtype`": True})
    assert data["text/plain"].splitlines() == [
        "✓ 3 checks passed here", "✓ one", "✓ a < b", "✓ the `dtype`",
    ]  # fmt: skip
    html = data["text/html"]
    assert "<summary" in html
    assert ">✓ 3 checks passed here</summary>" in html
    assert "✓ a &lt; b</li>" in html
    assert "✓ the <code>dtype</code></li>" in html
    (details,) = [attributes for tag, attributes in collect_tags(html) if tag == "details"]
    assert details == {"class": "claims"}


def test_claims_unfolds_failure_and_prints_advice(shell, monkeypatch):
    monkeypatch.setattr(runtime, "repository", lambda: "https://example.org/a/book")
    data = displayed_data({"one": True, "two": (1, "<2>"), "three": DOES_NOT_APPLY})
    text, html = data["text/plain"].splitlines(), data["text/html"]
    assert text[0] == "✗ 1 of 2 checks failed here (1 does not apply here)"
    assert text[2] == "✗ two: saw 1, expected '<2>'"
    assert "https://example.org/a/book/issues" in text[-1]
    details, *_ = collect_tags(html)
    assert details == ("details", {"class": "claims", "open": None})
    assert "saw <code>1</code>, expected <code>&#x27;&lt;2&gt;&#x27;</code>" in html
    assert 'href="https://example.org/a/book/issues"' in html


def test_claims_shows_no_link_without_repository(shell, monkeypatch):
    monkeypatch.setattr(runtime, "repository", lambda: None)
    data = displayed_data({"two": (1, 2)})
    for kind in ("text/plain", "text/html"):
        assert "tell the person who gave you this notebook" in data[kind]
        assert "http" not in data[kind]
        assert "None" not in data[kind]


def test_claims_lists_inapplicable_checks_with_reason(shell):
    data = displayed_data({"one": True, "two": DOES_NOT_APPLY, "three": DOES_NOT_APPLY})
    first, _, second, _ = data["text/plain"].splitlines()
    assert first == "✓ 1 check passed here (2 do not apply here)"
    assert second == "– two (applies only with jax>=99)"
    assert "– two (applies only with jax&gt;=99)</li>" in data["text/html"]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["failed"], "✗ 1 check failed here"),
        (["failed", "failed"], "✗ 2 of 2 checks failed here"),
        (["not made"], "– 1 check does not apply here"),
        (["not made", "not made"], "– 2 checks do not apply here"),
    ],
)
def test_headline_counts_checks(outcomes, expected):
    assert headline([Outcome(BIT, "it is so", outcome) for outcome in outcomes]) == expected


def test_claims_shows_nothing_for_no_statements(shell, capsys):
    with capture_output() as captured:
        claims(BIT, {})
    assert captured.outputs == []
    assert captured.stdout == ""


def test_claims_prints_text_outside_notebook(capsys):
    claims(BIT, {"one": True})
    assert capsys.readouterr().out == "✓ 1 check passed here\n✓ one\n"


def test_outcomes_html_sets_no_colors(monkeypatch):
    monkeypatch.setattr(runtime, "repository", lambda: None)
    failed = Outcomes([Outcome(BIT, "it is so", "failed", "1", "2")])
    styles = [attributes.get("style", "") for _, attributes in collect_tags(failed._repr_html_())]
    assert not [style for style in styles if re.search(r"color|background", style)]


def test_also_sharp_shows_no_notice_if_all_rows_hold():
    table = also_sharp({"float-index": ("x[1.0]", "an error", raises(IndexError, lambda: [][1]))})
    assert repr(table).splitlines()[0] == "✓ x[1.0]  an error"
    assert table._repr_html_().startswith('<table class="also-sharp">')


def test_also_sharp_names_failed_row_above_table(monkeypatch):
    monkeypatch.setattr(runtime, "repository", lambda: None)
    table = also_sharp(
        {
            "float-index": ("x[1.0]", "an error", True),
            "put-clips": ("jnp.put(x, <11>)", "the last", (1, 2)),
            "padding-counted": ("jnp.bincount(x)", "nothing", DOES_NOT_APPLY),
        }
    )
    text, html = repr(table), table._repr_html_()
    assert text.splitlines()[0] == "✗ 1 of 2 checks failed here (1 does not apply here)"
    assert "    saw 1, expected 2" in text
    assert "– jnp.bincount(x)  nothing (applies only with jax>=99)" in text
    collected = collect_tags(html)
    assert collected[0] == ("details", {"class": "claims", "open": None})
    rows = {a["id"]: a["class"] for tag, a in collected if tag == "tr" and "id" in a}
    assert rows == {
        "float-index": "claim-held", "put-clips": "claim-failed", "padding-counted": "claim-open",
    }  # fmt: skip
    details, rest = html.split("</details>")
    assert "jnp.put(x, &lt;11&gt;): the last</strong>: saw <code>1</code>" in details
    assert "x[1.0]" not in details
    assert "the last (here: 1)" in rest
    assert "nothing (applies only with jax&gt;=99)" in rest
