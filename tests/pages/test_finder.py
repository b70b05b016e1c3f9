"""The finder on the page of errors: what readers paste, and what it finds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from contents import ENTRIES, pasted, stored_errors
from playwright.sync_api import Browser, Page, expect


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    page = browser.new_page()
    page.goto(f"{site}/reference/errors.html")
    yield page
    page.close()


def rank(
    page: Page, text: str, entries: list[dict[str, str]] | None = None
) -> list[dict[str, Any]]:
    """Let the page's own function rank `entries`, or those of the page."""
    found: list[dict[str, Any]] = page.evaluate(
        """([text, given]) => {
            const embedded = document.getElementById("finder-entries").textContent;
            return jaxbitsFinder.rank(text, given ?? JSON.parse(embedded));
        }""",
        [text, entries],
    )
    return found


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [result["entry"]["id"] for result in found]


@pytest.mark.parametrize("name", pasted())
def test_a_pasted_traceback_leads_to_its_sharp_bit(page: Page, name: str) -> None:
    text, wanted = pasted()[name]
    assert ids(rank(page, text, ENTRIES))[:1] == ([] if wanted == "nothing" else [wanted])


def test_at_most_five_are_shown_and_none_twice(page: Page) -> None:
    many = [{**ENTRIES[0], "id": f"bit-{n // 2}"} for n in range(20)]
    found = ids(rank(page, f"{ENTRIES[0]['error']}: {ENTRIES[0]['text']}", many))
    assert len(found) == len(set(found)) == 5


@pytest.mark.parametrize(
    "typed", ["tracer bool", "TracerBoolConv", "attempted boolean conv", "boolean conversion"]
)
def test_a_few_typed_words_are_enough(page: Page, typed: str) -> None:
    assert ids(rank(page, typed, ENTRIES))[:1] == ["python-if"]


@pytest.mark.parametrize("typed", ["", "   \n", "zzz", "learning_rate = 0.1", "q[0] = 1"])
def test_words_that_no_message_uses_find_nothing(page: Page, typed: str) -> None:
    assert rank(page, typed, ENTRIES) == []


def test_a_long_paste_is_ranked_at_once(page: Page) -> None:
    frame = '  File "/home/me/train.py", line 12, in my_step\n    loss = model_q(batch_q)\n'
    paste = "Traceback (most recent call last):\n" + frame * 3000 + pasted()["python"][0]
    took = page.evaluate("() => performance.now()")
    assert ids(rank(page, paste, ENTRIES))[:1] == ["python-if"]
    assert page.evaluate("() => performance.now()") - took < 1000


def test_every_error_of_the_book_is_found_as_readers_paste_it(page: Page) -> None:
    from jaxbits import _catalogue

    errors = stored_errors()
    assert errors, "no chapter stores an error"
    for _, name, text in errors:
        fits = {
            bit.id: max(symptom.message_score(name, text) for symptom in bit.symptoms)
            for bit in _catalogue.load().values()
            if bit.symptoms
        }
        best = {bit for bit, fit in fits.items() if fit == max(fits.values())}
        wrapped = "\n".join(textwrap.wrap(f"{name}: {text}", 60))
        in_pytest = "\n".join(f"E       {line}" for line in f"{name}: {text}".splitlines())
        for shape in (f"{name}: {text}", wrapped, in_pytest):
            paste = f'  File "/srv/our/zeta.py", line 7, in zeta\n    return omega(kappa)\n{shape}'
            assert set(ids(rank(page, paste))[:1]) & best, paste


def test_the_page_shows_what_was_found_as_one_pastes(page: Page) -> None:
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
    box.press("Tab")  # to the button that clears, then on to the results
    page.keyboard.press("Tab")
    expect(link).to_be_focused()
    assert page.request.get(link.evaluate("(a) => a.href")).ok
    page.get_by_role("button", name="Clear").click()
    expect(results).to_have_count(0)
    expect(box).to_be_focused()


def test_the_page_says_so_when_it_knows_nothing(page: Page) -> None:
    page.get_by_label("Your error message or traceback").fill("FrobnicationFault: zork")
    expect(page.locator("#finder-status")).to_contain_text("Nothing in this book matches")
    expect(page.locator("#finder-results > li")).to_have_count(0)
