"""Test the finder on the errors page, which ranks entries by how well they match pasted text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from contents import ENTRIES, read_pasted_tracebacks, stored_errors
from playwright.sync_api import Browser, Page, expect


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    page = browser.new_page()
    page.goto(f"{site}/reference/errors.html")
    yield page
    page.close()


def rank_entries(
    page: Page, text: str, entries: list[dict[str, str]] | None = None
) -> list[dict[str, Any]]:
    """Rank `entries`, by default the page's own, with the page's JavaScript function."""
    results: list[dict[str, Any]] = page.evaluate(
        """([text, given]) => {
            const embedded = document.getElementById("finder-entries").textContent;
            return jaxbitsFinder.rank(text, given ?? JSON.parse(embedded));
        }""",
        [text, entries],
    )
    return results


def entry_ids(results: list[dict[str, Any]]) -> list[str]:
    return [result["entry"]["id"] for result in results]


@pytest.mark.parametrize("name", read_pasted_tracebacks())
def test_rank_puts_entry_for_pasted_traceback_first(page: Page, name: str) -> None:
    text, expected = read_pasted_tracebacks()[name]
    assert entry_ids(rank_entries(page, text, ENTRIES))[:1] == (
        [] if expected == "nothing" else [expected]
    )


def test_rank_returns_at_most_five_distinct_entries(page: Page) -> None:
    many = [{**ENTRIES[0], "id": f"bit-{n // 2}"} for n in range(20)]
    results = entry_ids(rank_entries(page, f"{ENTRIES[0]['error']}: {ENTRIES[0]['text']}", many))
    assert len(results) == len(set(results)) == 5


@pytest.mark.parametrize(
    "words", ["tracer bool", "TracerBoolConv", "attempted boolean conv", "boolean conversion"]
)
def test_rank_finds_entry_from_few_words(page: Page, words: str) -> None:
    assert entry_ids(rank_entries(page, words, ENTRIES))[:1] == ["python-if"]


@pytest.mark.parametrize("words", ["", "   \n", "zzz", "learning_rate = 0.1", "q[0] = 1"])
def test_rank_finds_nothing_for_unrelated_words(page: Page, words: str) -> None:
    assert rank_entries(page, words, ENTRIES) == []


def test_rank_handles_long_paste_within_one_second(page: Page) -> None:
    frame = '  File "/home/me/train.py", line 12, in my_step\n    loss = model_q(batch_q)\n'
    paste = (
        "Traceback (most recent call last):\n"
        + frame * 3000
        + read_pasted_tracebacks()["python"][0]
    )
    start = page.evaluate("() => performance.now()")
    assert entry_ids(rank_entries(page, paste, ENTRIES))[:1] == ["python-if"]
    assert page.evaluate("() => performance.now()") - start < 1000


def test_rank_finds_entry_for_every_stored_error(page: Page) -> None:
    from jaxbits import _catalogue

    errors = stored_errors()
    assert errors, "no chapter stores an error"
    for _, name, text in errors:
        scores = [
            (symptom.message_score(name, text), bit.id, symptom.context)
            for bit in _catalogue.load().values()
            for symptom in bit.symptoms
            if not symptom.caller  # No stored error comes from a library that calls JAX.
        ]
        highest, _, _ = max(scores)
        best = {id for score, id, _ in scores if score == highest}
        if not any(re.search(c, text) for score, _, c in scores if score == highest):
            continue  # The message alone does not say enough.
        wrapped = "\n".join(textwrap.wrap(f"{name}: {text}", 60))
        in_pytest = "\n".join(f"E       {line}" for line in f"{name}: {text}".splitlines())
        for message in (f"{name}: {text}", wrapped, in_pytest):
            paste = (
                f'  File "/srv/our/zeta.py", line 7, in zeta\n    return omega(kappa)\n{message}'
            )
            assert set(entry_ids(rank_entries(page, paste))[:1]) & best, paste


def test_finder_shows_matches_for_pasted_error(page: Page) -> None:
    box, status = (
        page.get_by_label("Your error message or traceback"),
        page.locator("#finder-status"),
    )
    results = page.locator("#finder-results > li")
    _, name, text = stored_errors()[0]
    box.fill(f'  File "mine.py", line 3, in my_step\n    q = w(z)\n{name}: {text}')
    expect(results.first).to_be_visible()
    expect(status).to_contain_text("match")
    expect(results.first.locator(":scope > code")).to_contain_text(name)
    expect(results.first).to_contain_text("Fix")
    link = results.first.get_by_role("link").first
    box.press("Tab")  # The first Tab moves to the Clear button, and the second to the results.
    page.keyboard.press("Tab")
    expect(link).to_be_focused()
    assert page.request.get(link.evaluate("(a) => a.href")).ok
    page.get_by_role("button", name="Clear").click()
    expect(results).to_have_count(0)
    expect(box).to_be_focused()


def test_finder_says_that_nothing_matches(page: Page) -> None:
    status = page.locator("#finder-status")
    box = page.get_by_label("Your error message or traceback")
    box.fill("FrobnicationFault: zork")
    expect(status).to_contain_text("Nothing in this book matches")
    expect(status.get_by_role("link")).to_have_count(2)
    expect(status.get_by_role("link", name="issues")).to_have_attribute(
        "href", "https://github.com/jax-ml/jax/issues"
    )
    expect(page.locator("#finder-results > li")).to_have_count(0)
    box.fill('  File "/venv/lib/python3.11/site-packages/equinox/nn.py", line 3\nValueError: zork')
    expect(status).to_contain_text("the issues of equinox")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("TypeError: scan body output must be a pair, got 3", "One match."),
        ("ValueError: Reverse-mode differentiation does not work for lax.while_l", "cut off"),
        ("tracer bool", "No message matches exactly. The closest:"),
        ("jax.errors.UnexpectedTracerError", "Only the class of the error is known."),
        (
            "TypeError: Pred must be a scalar, got 3\n  File 'a'\n---\n"
            "Traceback (most recent call last):\nRuntimeError: zork",
            "an earlier one is:",
        ),
    ],
)
def test_finder_says_how_well_a_match_fits(page: Page, text: str, status: str) -> None:
    page.get_by_label("Your error message or traceback").fill(text)
    expect(page.locator("#finder-status")).to_contain_text(status)
    expect(page.locator("#finder-results > li").first).to_be_visible()


def test_finder_shows_line_of_a_log_without_class(page: Page) -> None:
    page.get_by_label("Your error message or traceback").fill(
        "Very slow compile? If you want to file a bug, run with envvar XLA_FLAGS=--xla_dump_to=/tmp"
    )
    shown = page.locator("#finder-results > li > code").first
    expect(shown).to_have_text(re.compile("^Very slow compile"))
