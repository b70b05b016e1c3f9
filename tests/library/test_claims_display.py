"""How the outcomes of claims are shown: as text, and as a line that opens into a list."""

import re
from html.parser import HTMLParser

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from jaxbits import also_sharp, claims, made_for, raises, runtime
from jaxbits._claims_display import Outcome, Outcomes, headline

BIT = "out-of-bounds-read"
LATER = made_for(True, jax=">=99")


@pytest.fixture
def shell():
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def shown(statements):
    """The one output of a `claims` call in a notebook: its data by kind."""
    with capture_output() as captured:
        claims(BIT, statements)
    assert captured.stdout == ""
    (output,) = captured.outputs
    return output.data


class Tags(HTMLParser):
    """The tags of a piece of HTML, which must be nested properly."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(html):
    parser = Tags()
    parser.feed(html)
    assert parser.open == []
    return parser.seen


def test_a_notebook_shows_one_line_that_is_folded(shell):
    data = shown({"one": True, "a < b": (1, 1), "the `dtype`": True})
    assert data["text/plain"].splitlines() == [
        "✓ 3 checks passed here", "✓ one", "✓ a < b", "✓ the `dtype`",
    ]  # fmt: skip
    html = data["text/html"]
    assert "<summary" in html
    assert ">✓ 3 checks passed here</summary>" in html
    assert "✓ a &lt; b</li>" in html
    assert "✓ the <code>dtype</code></li>" in html
    (fold,) = [attributes for tag, attributes in tags(html) if tag == "details"]
    assert fold == {"class": "claims"}


def test_a_failure_opens_by_itself_and_says_what_to_do(shell, monkeypatch):
    monkeypatch.setattr(runtime, "repository", lambda: "https://example.org/a/book")
    data = shown({"one": True, "two": (1, "<2>"), "three": LATER})
    text, html = data["text/plain"].splitlines(), data["text/html"]
    assert text[0] == "✗ 1 of 2 checks failed here (1 does not apply here)"
    assert text[2] == "✗ two: saw 1, expected '<2>'"
    assert "https://example.org/a/book/issues" in text[-1]
    fold, *_ = tags(html)
    assert fold == ("details", {"class": "claims", "open": None})
    assert "saw <code>1</code>, expected <code>&#x27;&lt;2&gt;&#x27;</code>" in html
    assert 'href="https://example.org/a/book/issues"' in html


def test_without_an_address_none_is_shown(shell, monkeypatch):
    monkeypatch.setattr(runtime, "repository", lambda: None)
    data = shown({"two": (1, 2)})
    for kind in ("text/plain", "text/html"):
        assert "tell the person who gave you this notebook" in data[kind]
        assert "http" not in data[kind]
        assert "None" not in data[kind]


def test_what_does_not_apply_is_counted_and_listed_with_the_reason(shell):
    data = shown({"one": True, "two": LATER, "three": LATER})
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
def test_the_summary_counts_in_words(outcomes, expected):
    assert headline([Outcome(BIT, "it is so", outcome) for outcome in outcomes]) == expected


def test_nothing_claimed_is_nothing_shown(shell, capsys):
    with capture_output() as captured:
        claims(BIT, {})
    assert captured.outputs == []
    assert captured.stdout == ""


def test_outside_a_notebook_the_text_is_printed(capsys):
    claims(BIT, {"one": True})
    assert capsys.readouterr().out == "✓ 1 check passed here\n✓ one\n"


def test_no_color_is_fixed_so_that_every_theme_can_read_it(monkeypatch):
    monkeypatch.setattr(runtime, "repository", lambda: None)
    failed = Outcomes([Outcome(BIT, "it is so", "failed", "1", "2")])
    styles = [attributes.get("style", "") for _, attributes in tags(failed._repr_html_())]
    assert not [style for style in styles if re.search(r"color|background", style)]


def test_a_table_whose_rows_hold_has_no_notice():
    table = also_sharp({"float-index": ("x[1.0]", "an error", raises(IndexError, lambda: [][1]))})
    assert repr(table).splitlines()[0] == "✓ x[1.0]  an error"
    assert table._repr_html_().startswith('<table class="also-sharp">')


def test_a_row_that_fails_is_named_above_the_table(monkeypatch):
    monkeypatch.setattr(runtime, "repository", lambda: None)
    table = also_sharp(
        {
            "float-index": ("x[1.0]", "an error", True),
            "put-clips": ("jnp.put(x, <11>)", "the last", (1, 2)),
            "padding-counted": ("jnp.bincount(x)", "nothing", LATER),
        }
    )
    text, page = repr(table), table._repr_html_()
    assert text.splitlines()[0] == "✗ 1 of 2 checks failed here (1 does not apply here)"
    assert "    saw 1, expected 2" in text
    assert "– jnp.bincount(x)  nothing (applies only with jax>=99)" in text
    seen = tags(page)
    assert seen[0] == ("details", {"class": "claims", "open": None})
    rows = {a["id"]: a["class"] for tag, a in seen if tag == "tr" and "id" in a}
    assert rows == {
        "float-index": "claim-held", "put-clips": "claim-failed", "padding-counted": "claim-open",
    }  # fmt: skip
    fold, rest = page.split("</details>")
    assert "jnp.put(x, &lt;11&gt;): the last</strong>: saw <code>1</code>" in fold
    assert "x[1.0]" not in fold
    assert "the last (here: 1)" in rest
    assert "nothing (applies only with jax&gt;=99)" in rest
