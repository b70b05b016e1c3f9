"""Test every page of the book in a browser, in both themes, on a desktop and on a phone."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from contents import CHAPTERS, KINDS, PAGES, stored_errors
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Route,
    ViewportSize,
)
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from book_tools import project_metadata
from book_tools.website.screenshots import load_images

STORED_ERRORS = stored_errors()
DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
AXE = AXE_FILE_PATH.read_text("utf8")
# The theme makes scrollable elements focusable shortly after a resize.
SCROLLABLES_ARE_FOCUSABLE = """() => [...document.querySelectorAll("article pre")].every(
    (e) => (e.tabIndex === 0) === (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight)
)"""
RESIZE_DELAY_MS = 400
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]


@dataclass
class OpenedPage:
    """A page in the browser, with its console messages and its requests to other hosts."""

    page: Page
    name: str
    problems: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def context(browser: Browser, site: str) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=DESK, color_scheme="light", reduced_motion="reduce")
    yield context
    context.close()


def open_page(context: BrowserContext, site: str, path: str) -> OpenedPage:
    """Open a page of the book, and record its console errors and its requests to other hosts."""
    opened = OpenedPage(context.new_page(), path)

    def block_other_host(route: Route) -> None:
        opened.problems.append(f"requests {route.request.url}")
        route.abort()

    def record_console_message(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            opened.problems.append(f"console: {message.text} ({message.location.get('url')})")

    # Playwright decides by the pattern, without asking Python, so the book's own files load faster.
    opened.page.route(re.compile(rf"^(?!{re.escape(site)}/|data:|blob:)"), block_other_host)
    opened.page.on("console", record_console_message)
    opened.page.on("pageerror", lambda error: opened.problems.append(f"script: {error}"))
    opened.page.goto(f"{site}/{path}", wait_until="load")
    return opened


OPENED = [*PAGES, "search"]
# These checks take seconds on a page, and pages of one kind have the same elements and colors, so
# the fast tests run them on one page of each kind.
ONE_OF_EACH_KIND = pytest.mark.parametrize(
    "opened",
    [
        pytest.param(name, marks=[] if name in (*KINDS, "search") else [pytest.mark.slow])
        for name in OPENED
    ],
    indirect=True,
)


@pytest.fixture(scope="module", params=OPENED)
def opened(
    request: pytest.FixtureRequest, context: BrowserContext, site: str
) -> Iterator[OpenedPage]:
    """Open each page of the book once for all of its tests."""
    opened = open_page(context, site, f"{request.param}.html")
    opened.page.evaluate(REMOVE_DUPLICATE_CODE)
    yield opened
    opened.page.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()


# Most of a chapter's elements are code spans, which slow axe down. Spans with the same class in the
# same kind of block look alike, so one of them is enough.
REMOVE_DUPLICATE_CODE = """() => {
    const seen = new Set();
    for (const piece of [...document.querySelectorAll("article pre span")]) {
        const block = piece.closest(".cell_input, .output, details, article");
        const look = `${block.className} | ${piece.className} | ${piece.parentElement.className}`;
        if (seen.has(look)) piece.replaceWith(...piece.childNodes);
        seen.add(look);
    }
}"""
# Run all rules except contrast, for which axe needs a second per hundred elements.
RUN_AXE_RULES = """(tags) => axe.run(document, {
    runOnly: {type: "tag", values: tags},
    rules: {"color-contrast": {enabled: false}},
    resultTypes: ["violations"],
    preload: false,  // it would request style sheets at wrong addresses
})"""
# The contrast of a piece of text depends only on its own style and on the backgrounds below it, so
# check one piece for each combination.
RUN_AXE_CONTRAST = """() => {
    const seen = new Set();
    const sample = [...document.querySelectorAll("input, select, textarea")];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        const isSeen = element.checkVisibility({visibilityProperty: true});
        if (!isSeen || !texts.currentNode.data.trim()) continue;
        const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
        const look = [color, fontSize, fontWeight, textShadow];
        for (let box = element; box; box = box.parentElement) {
            const { backgroundColor, backgroundImage, opacity } = getComputedStyle(box);
            const below = [backgroundColor, backgroundImage, opacity].join();
            if (below !== "rgba(0, 0, 0, 0),none,1") look.push(below);
        }
        const key = look.join(" | ");
        if (!seen.has(key)) sample.push(element);
        seen.add(key);
    }
    document.querySelectorAll("[data-sample]").forEach((e) => e.removeAttribute("data-sample"));
    sample.forEach((element) => { element.dataset.sample = ""; });
    return axe.run({include: [["[data-sample]"]]}, {
        runOnly: {type: "rule", values: ["color-contrast"]},
        resultTypes: ["violations"],
        preload: false,
    });
}"""


def open_folds(page: Page) -> None:
    """Open every fold, and wait until the theme has updated the page, for at most 5 seconds."""
    page.evaluate("for (const box of document.querySelectorAll('article details')) box.open = true")
    page.wait_for_timeout(RESIZE_DELAY_MS)
    # If the theme fails to do this, axe reports it.
    with contextlib.suppress(PlaywrightTimeout):
        page.wait_for_function(SCROLLABLES_ARE_FOCUSABLE, timeout=5000)


def load_axe(page: Page) -> None:
    """Load axe into a page unless it is there already."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)


def find_rule_violations(page: Page) -> list[str]:
    """Return the violations that axe finds with all rules except contrast."""
    load_axe(page)
    return describe_violations(page.evaluate(RUN_AXE_RULES, AXE_TAGS), "region")


def find_contrast_violations(page: Page) -> list[str]:
    """Return the violations of axe's contrast rule, one for each style of text."""
    load_axe(page)
    return describe_violations(page.evaluate(RUN_AXE_CONTRAST), "color-contrast")


def describe_violations(report: dict[str, Any], rule: str) -> list[str]:
    """Describe each violation in an axe report, after asserting that axe checked `rule`."""
    checked = {rule["id"] for rule in (*report["passes"], *report["violations"])}
    assert rule in checked, f"axe did not check {rule}"
    return [
        f"{rule['id']}: {node['html'][:160]}\n    {node['failureSummary']}"
        for rule in report["violations"]
        for node in rule["nodes"][:5]
    ]


def set_theme(page: Page, scheme: str) -> None:
    """Set the color scheme of the reader's system, and wait until the page has that theme."""
    if page.evaluate("document.documentElement.dataset.theme") == scheme:
        return  # Setting the scheme again would lay out the page again.
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function("(want) => document.documentElement.dataset.theme === want", arg=scheme)


@ONE_OF_EACH_KIND
def test_page_passes_axe_on_desktop(opened: OpenedPage) -> None:
    opened.page.set_viewport_size(DESK)
    set_theme(opened.page, "light")
    open_folds(opened.page)
    violations = find_rule_violations(opened.page) + find_contrast_violations(opened.page)
    assert not violations, "\n".join(violations)


# On a phone, only the header and what scrolls sideways differ, and the colors are the same.
@pytest.mark.parametrize("opened", [*KINDS, "search"], indirect=True)
def test_page_passes_axe_on_phone(opened: OpenedPage) -> None:
    opened.page.set_viewport_size(PHONE)
    set_theme(opened.page, "light")
    open_folds(opened.page)
    assert not (violations := find_rule_violations(opened.page)), "\n".join(violations)


@ONE_OF_EACH_KIND
def test_page_has_enough_contrast_in_dark_theme(opened: OpenedPage) -> None:
    opened.page.set_viewport_size(DESK)
    set_theme(opened.page, "dark")
    open_folds(opened.page)
    assert not (violations := find_contrast_violations(opened.page)), "\n".join(violations)


def test_find_contrast_violations_finds_pale_text(page: Page, site: str) -> None:
    page.goto(f"{site}/intro.html")
    page.evaluate("document.querySelectorAll('article p')[1].style.color = '#bbb'")
    (violation,) = find_contrast_violations(page)
    assert "insufficient color contrast" in violation


# What fits into the narrowest phone almost always fits into wider ones.
@pytest.mark.parametrize(
    "width", [320, *(pytest.param(width, marks=pytest.mark.slow) for width in (360, 390))]
)
def test_page_does_not_scroll_sideways_on_phone(opened: OpenedPage, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 844})
    wide = opened.page.evaluate(
        """() => [...document.querySelectorAll("article *, .prev-next-area *")]
             .filter((e) => e.getBoundingClientRect().right > innerWidth + 1
                         && !e.closest("pre, .text_html, .pst-scrollable-table-container")
                         && !(e.matches("img") && e.closest(".figure-box")))
             .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert opened.page.evaluate("document.scrollingElement.scrollWidth") <= width, wide
    assert not wide


def test_short_code_in_summary_does_not_wrap(opened: OpenedPage) -> None:
    opened.page.set_viewport_size(PHONE)
    wrapped = opened.page.locator("summary code").evaluate_all(
        """(codes) => codes.filter((c) => c.textContent.length < 12
                                          && getComputedStyle(c.parentElement).display !== "none"
                                          && (c.getClientRects().length > 1
                                              || getComputedStyle(c).display !== "inline"))
                           .map((c) => c.parentElement.textContent)"""
    )
    assert not wrapped


# Return the tables that are wider than their box, and the words that break inside.
FIND_TABLE_PROBLEMS = """() => {
    const problems = [];
    for (const table of document.querySelectorAll("article table:not(.twin, .indextable)")) {
        const box = table.closest(".pst-scrollable-table-container, .text_html");
        if (box.scrollWidth > box.clientWidth + 1)
            problems.push(`${box.scrollWidth} px: ${table.innerText.slice(0, 60)}`);
        const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const text = texts.currentNode;
            for (const word of text.data.matchAll(/[A-Za-z0-9]+/g)) {
                const range = document.createRange();
                range.setStart(text, word.index);
                range.setEnd(text, word.index + word[0].length);
                const lines = [...range.getClientRects()].map((line) => Math.round(line.top));
                if (new Set(lines).size > 1) problems.push(word[0]);
            }
        }
    }
    return problems;
}"""


def test_tables_fit_on_desktop_and_break_no_word(opened: OpenedPage) -> None:
    opened.page.set_viewport_size(DESK)
    assert not opened.page.evaluate(FIND_TABLE_PROBLEMS)


def test_cards_separate_the_lines_of_a_column_name(page: Page, site: str) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"{site}/chapters/12-async-dispatch.html")
    names = page.locator("[data-column]").evaluate_all("(all) => all.map((e) => e.dataset.column)")
    assert "debug.print, debug.callback" in names


def test_columns_of_an_output_stay_aligned_on_phone(opened: OpenedPage) -> None:
    opened.page.set_viewport_size(PHONE)
    outputs = opened.page.locator(".output.laid-out pre")
    line_counts = outputs.evaluate_all(
        """(all) => all.filter((e) => e.checkVisibility()).map((e) => {
            const { lineHeight, paddingTop, paddingBottom } = getComputedStyle(e);
            const height = e.clientHeight - parseFloat(paddingTop) - parseFloat(paddingBottom);
            const lines = e.textContent.replace(/\\n$/, "").split("\\n").length;
            return [Math.round(height / parseFloat(lineHeight)), lines];
        })"""
    )
    assert [pair for pair in line_counts if pair[0] != pair[1]] == []


def test_figures_keep_a_readable_size_on_phone(opened: OpenedPage) -> None:
    opened.page.set_viewport_size(PHONE)
    opened.page.wait_for_timeout(RESIZE_DELAY_MS)
    figures = opened.page.locator(".figure-box").evaluate_all(
        """(all) => all.map((box) => {
            const image = [...box.querySelectorAll("img")].find((e) => e.checkVisibility());
            const natural = Number(image.getAttribute("width"));
            return [image.clientWidth / natural, box.scrollWidth > box.clientWidth, box.tabIndex];
        })"""
    )
    assert len(figures) >= opened.name.startswith("chapters/")
    # The smallest label has 10 points, which are 13.3 pixels in a figure of its natural size.
    assert all(13.33 * scale >= 8.99 for scale, *_ in figures), figures
    assert all((index == 0) == scrolls for _, scrolls, index in figures), figures


def test_error_output_is_not_clipped(opened: OpenedPage) -> None:
    opened.page.set_viewport_size(PHONE)
    errors = opened.page.locator(".output:is(.traceback, .stderr) pre")
    assert errors.count() >= sum(f"{chapter}.html" == opened.name for chapter, *_ in STORED_ERRORS)
    clipped = errors.evaluate_all(
        """(all) => all
             .filter((e) => e.scrollWidth > e.clientWidth + 1
                         || e.scrollHeight > e.clientHeight + 1)
             .map((e) => e.textContent.slice(-120))"""
    )
    assert not clipped


def test_theme_shows_only_its_own_figures(opened: OpenedPage) -> None:
    for scheme, other in (("light", "dark"), ("dark", "light")):
        set_theme(opened.page, scheme)
        shown, hidden = (
            opened.page.locator(f"article img.only-{which}").evaluate_all(
                "(all) => all.map((e) => [e.getBoundingClientRect().width > 0, e.alt, e.src])"
            )
            for which in (scheme, other)
        )
        assert len(shown) == len(hidden) >= opened.name.startswith("chapters/")
        assert all(visible and alt.strip() for visible, alt, _ in shown), shown
        assert not any(visible for visible, _, _ in hidden), hidden
        assert [alt for _, alt, _ in shown] == [alt for _, alt, _ in hidden]
        assert not {src for *_, src in shown} & {src for *_, src in hidden}


def test_load_images_loads_figures_that_are_not_on_the_screen(page: Page, site: str) -> None:
    page.goto(f"{site}/chapters/18-lists-or-arrays.html")
    figures = page.locator("article img.figure-svg:visible")
    is_loaded = "(all) => all.map((image) => image.complete && image.naturalWidth > 0)"
    assert not all(figures.evaluate_all(is_loaded))
    load_images(page)
    assert all(figures.evaluate_all(is_loaded))


def test_colab_button_opens_published_notebook(opened: OpenedPage) -> None:
    repository, (page, _, _) = project_metadata.repository_url(), opened.name.partition(".html")
    links = opened.page.locator('a[href*="colab.research.google.com"]')
    expected_links = (
        [project_metadata.colab_url(repository, f"_sources/{page}.ipynb")]
        if repository and page in CHAPTERS
        else []
    )
    opened.page.set_viewport_size(DESK)
    assert links.evaluate_all("(all) => all.map((a) => a.href)") == expected_links
    if expected_links:
        assert links.first.is_visible()
        assert "Open in Colab" in links.first.inner_text()


def test_page_logs_no_errors_and_loads_nothing_external(opened: OpenedPage) -> None:
    # This test must come last, after the others have shown the page in every theme and size.
    opened.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    opened.page.wait_for_load_state("networkidle")
    assert not opened.problems


@pytest.mark.parametrize(
    "chapter",
    [pytest.param(c, marks=[pytest.mark.slow] if c not in KINDS else []) for c in CHAPTERS],
)
def test_predict_boxes_open_by_mouse_and_keyboard(page: Page, site: str, chapter: str) -> None:
    page.goto(f"{site}/{chapter}.html")
    predictions = page.locator("article details.predict")
    assert predictions.count() >= 2
    by_mouse, by_keyboard = predictions.nth(0), predictions.nth(1)
    closed = by_mouse.bounding_box()
    by_mouse.locator("summary").click()
    opened = by_mouse.bounding_box()
    assert closed
    assert opened
    assert opened["height"] > closed["height"] + 10, "the answer is not visible"
    by_mouse.locator("summary").focus()
    page.keyboard.press("Tab")
    page.wait_for_timeout(50)
    # Tab may stop at links or code inside the open answer before it reaches the next summary.
    for _ in range(8):
        if by_keyboard.locator("summary").evaluate("(e) => e === document.activeElement"):
            break
        page.keyboard.press("Tab")
    else:
        pytest.fail("Tab does not reach the second prediction")
    outline = by_keyboard.locator("summary").evaluate("(e) => getComputedStyle(e).outlineStyle")
    assert outline != "none", "the focus is not visible"
    page.keyboard.press("Enter")
    assert by_keyboard.evaluate("(e) => e.open")
    page.keyboard.press("Space")
    assert not by_keyboard.evaluate("(e) => e.open")
