"""Test the filter on the page *Silent failures*, and the columns of contents next to the pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from book_tools.pages.entry_groups import NOTICES

ADDRESS = "reference/silent-failures.html"
VISIBLE = ".bit:not([hidden])"
TARGET_IS_VISIBLE = "document.querySelector(location.hash).checkVisibility()"


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    page = browser.new_page()
    page.goto(f"{site}/{ADDRESS}")
    yield page
    page.close()


def counts(page: Page) -> dict[str, int]:
    """Return the number next to each option of the filter, keyed by the option's value."""
    found: dict[str, int] = page.evaluate(
        """() => Object.fromEntries(
            [...document.querySelectorAll("#notice-filter label")].map((label) => [
                label.querySelector("input").value,
                Number(label.querySelector(".count").textContent),
            ])
        )"""
    )
    return found


def test_filter_shows_all_entries_first(page: Page) -> None:
    numbers = counts(page)
    assert list(numbers) == ["", *NOTICES]
    assert page.locator(VISIBLE).count() == numbers[""] == page.locator(".bit").count()
    expect(page.locator("#notice-status")).to_have_text(f"Showing all {numbers['']} entries.")


def test_filter_shows_entries_of_choice(page: Page) -> None:
    numbers = counts(page)
    for notice in NOTICES:
        page.locator(f"#notice-filter label:has([value={notice}])").click()
        assert page.locator(VISIBLE).count() == numbers[notice] > 0
        assert page.locator(f"{VISIBLE}[data-noticed~={notice}]").count() == numbers[notice]
        expect(page.locator("#notice-status")).to_contain_text(f"Showing {numbers[notice]} of ")
        assert page.url.endswith(f"{ADDRESS}?noticed={notice}")


def test_filter_hides_chapters_without_entries(page: Page) -> None:
    headings = page.locator("article h2:visible").count()
    links = page.locator(".bd-sidebar-secondary li:visible").count()
    page.get_by_label("Samples are missing or repeated").check()
    visible = page.locator("article h2:visible").count()
    assert 0 < visible < headings
    assert page.locator(".bd-sidebar-secondary li:visible").count() == links - headings + visible


def test_filter_works_with_keyboard(page: Page) -> None:
    page.locator("#notice-filter input:checked").focus()
    page.keyboard.press("ArrowRight")
    assert page.url.endswith(f"?noticed={next(iter(NOTICES))}")
    page.keyboard.press("ArrowLeft")
    assert page.url.endswith(ADDRESS)
    assert page.locator(VISIBLE).count() == counts(page)[""]


def test_filter_reads_choice_from_address(page: Page, site: str) -> None:
    page.goto(f"{site}/{ADDRESS}?noticed=nan")
    assert page.locator(VISIBLE).count() == counts(page)["nan"]
    page.goto(f"{site}/{ADDRESS}?noticed=nothing-like-this")
    assert page.locator(VISIBLE).count() == counts(page)[""]


def test_link_to_hidden_entry_shows_it(page: Page, site: str) -> None:
    page.goto(f"{site}/{ADDRESS}?noticed=samples#where-gradient-nan")
    assert page.evaluate(TARGET_IS_VISIBLE)


def test_page_without_javascript_shows_all_entries(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/{ADDRESS}")
    assert not page.locator("#notice-filter").is_visible()
    assert page.locator(".bit:visible").count() == page.locator(".bit").count() > 200
    context.close()


@pytest.mark.parametrize("name", ["errors", "wrong-in-circulation", "behaviour-by-version"])
def test_contents_fit_into_their_column(page: Page, site: str, name: str) -> None:
    page.set_viewport_size({"width": 1366, "height": 900})
    page.goto(f"{site}/reference/{name}.html")
    widths = page.evaluate(
        """() => { const column = document.querySelector(".bd-sidebar-secondary");
            return [column.scrollWidth, column.clientWidth]; }"""
    )
    assert widths[0] <= widths[1]
