"""The book as a reader meets it: in a browser, in both themes, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from contents import CHAPTERS, PAGES, stored_errors
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route, ViewportSize

from book_tools import project_metadata

STORED = stored_errors()
DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
AXE = AXE_FILE_PATH.read_text("utf8")
# The theme looks again at what scrolls this long (in ms) after a change of size, and a bit.
SETTLED = 400
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]


@dataclass
class Opened:
    """A page in the browser, and what it did that it should not."""

    page: Page
    name: str
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def context(browser: Browser, site: str) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=DESK, color_scheme="light", reduced_motion="reduce")
    yield context
    context.close()


def look_at(context: BrowserContext, site: str, path: str) -> Opened:
    """Open a page of the book, and note errors in its console and requests to anywhere else."""
    seen = Opened(context.new_page(), path)

    def guard(route: Route) -> None:
        if urlsplit(route.request.url).netloc == urlsplit(site).netloc:
            route.continue_()
        else:
            seen.complaints.append(f"asks for {route.request.url}")
            route.abort()

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            seen.complaints.append(f"console: {message.text} ({message.location.get('url')})")

    seen.page.route("**/*", guard)
    seen.page.on("console", listen)
    seen.page.on("pageerror", lambda error: seen.complaints.append(f"script: {error}"))
    seen.page.goto(f"{site}/{path}", wait_until="load")
    return seen


@pytest.fixture(scope="module", params=[*PAGES, "search"])
def opened(request: pytest.FixtureRequest, context: BrowserContext, site: str) -> Iterator[Opened]:
    """Each page of the book in turn, opened once for all tests of it."""
    seen = look_at(context, site, f"{request.param}.html")
    seen.page.evaluate(THIN_OUT)
    seen.page.evaluate(AXE)
    yield seen
    seen.page.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()


# Most of a chapter's elements are pieces of code. Of pieces that look alike, which have the same
# class in the same kind of block, one is enough.
THIN_OUT = """() => {
    const seen = new Set();
    for (const piece of [...document.querySelectorAll("article pre span")]) {
        const block = piece.closest(".cell_input, .output, details, article");
        const look = `${block.className} | ${piece.className} | ${piece.parentElement.className}`;
        if (seen.has(look)) piece.replaceWith(...piece.childNodes);
        seen.add(look);
    }
}"""
# Everything but the contrast, of which axe needs a second for every hundred elements.
RUN_RULES = """(tags) => axe.run(document, {
    runOnly: {type: "tag", values: tags},
    rules: {"color-contrast": {enabled: false}},
    resultTypes: ["violations"],
    preload: false,  // it would request style sheets at wrong addresses
})"""
# The contrast of a text depends on its own style and on the backgrounds below it. Of the texts for
# which these are the same, one is enough.
RUN_CONTRAST = """() => {
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
    """Open everything that is folded, and wait until the theme has followed."""
    page.evaluate("for (const box of document.querySelectorAll('article details')) box.open = true")
    page.wait_for_timeout(SETTLED)


def rule_violations(page: Page) -> list[str]:
    """Return what axe finds with all rules but the one for contrast."""
    return described(page.evaluate(RUN_RULES, RULES), "region")


def contrast_violations(page: Page) -> list[str]:
    """Return the texts, one of each look, whose contrast axe finds too low."""
    return described(page.evaluate(RUN_CONTRAST), "color-contrast")


def described(found: dict[str, Any], rule: str) -> list[str]:
    """Return one string for each violation in a report, in which `rule` must have been checked."""
    checked = {rule["id"] for rule in (*found["passes"], *found["violations"])}
    assert rule in checked, f"axe did not check {rule}"
    return [
        f"{rule['id']}: {node['html'][:160]}\n    {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"][:5]
    ]


def theme(page: Page, scheme: str) -> None:
    """Let the reader's system ask for a theme, and wait until the page follows."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function("(want) => document.documentElement.dataset.theme === want", arg=scheme)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing_in_the_light_theme(opened: Opened, size: ViewportSize) -> None:
    opened.page.set_viewport_size(size)
    theme(opened.page, "light")
    open_folds(opened.page)
    found = rule_violations(opened.page) + contrast_violations(opened.page)
    assert not found, "\n".join(found)


def test_axe_finds_enough_contrast_in_the_dark_theme(opened: Opened) -> None:
    opened.page.set_viewport_size(DESK)
    theme(opened.page, "dark")
    open_folds(opened.page)
    assert not (found := contrast_violations(opened.page)), "\n".join(found)


def test_contrast_violations_finds_pale_text(page: Page, site: str) -> None:
    page.goto(f"{site}/intro.html")
    page.evaluate(AXE)
    page.evaluate("document.querySelectorAll('article p')[1].style.color = '#bbb'")
    (found,) = contrast_violations(page)
    assert "insufficient color contrast" in found


@pytest.mark.parametrize("width", [320, 360, 390])
def test_no_page_scrolls_sideways_on_a_phone(opened: Opened, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 844})
    wide = opened.page.evaluate(
        """() => [...document.querySelectorAll("article *")]
             .filter((e) => e.getBoundingClientRect().right > innerWidth + 1
                         && !e.closest("pre, .text_html, .pst-scrollable-table-container"))
             .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert opened.page.evaluate("document.scrollingElement.scrollWidth") <= width, wide
    assert not wide


def test_short_code_in_a_summary_stays_in_its_line(opened: Opened) -> None:
    opened.page.set_viewport_size(PHONE)
    broken = opened.page.locator("summary code").evaluate_all(
        """(codes) => codes.filter((c) => c.textContent.length < 12
                                          && getComputedStyle(c.parentElement).display !== "none"
                                          && (c.getClientRects().length > 1
                                              || getComputedStyle(c).display !== "inline"))
                           .map((c) => c.parentElement.textContent)"""
    )
    assert not broken


def test_the_last_line_of_every_error_is_seen_whole(opened: Opened) -> None:
    opened.page.set_viewport_size(PHONE)
    errors = opened.page.locator(".output:is(.traceback, .stderr) pre")
    assert errors.count() >= sum(f"{chapter}.html" == opened.name for chapter, *_ in STORED)
    cut = errors.evaluate_all(
        """(all) => all
             .filter((e) => e.scrollWidth > e.clientWidth + 1
                         || e.scrollHeight > e.clientHeight + 1)
             .map((e) => e.textContent.slice(-120))"""
    )
    assert not cut


def test_each_theme_shows_its_own_figures(opened: Opened) -> None:
    for scheme, other in (("light", "dark"), ("dark", "light")):
        theme(opened.page, scheme)
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


def test_no_error_in_the_console_and_no_request_elsewhere(opened: Opened) -> None:
    # Last of the tests of a page: by now it has been seen in every theme and size.
    opened.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    opened.page.wait_for_load_state("networkidle")
    assert not opened.complaints


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_predictions_open_by_mouse_and_by_keyboard(page: Page, site: str, chapter: str) -> None:
    page.goto(f"{site}/{chapter}.html")
    predictions = page.locator("article details.predict")
    assert predictions.count() >= 2
    by_mouse, by_keyboard = predictions.nth(0), predictions.nth(1)
    closed = by_mouse.bounding_box()
    by_mouse.locator("summary").click()
    opened = by_mouse.bounding_box()
    assert closed
    assert opened
    assert opened["height"] > closed["height"] + 10, "the answer does not show"
    by_mouse.locator("summary").focus()
    page.keyboard.press("Tab")
    page.wait_for_timeout(50)
    # Tab may stop at a link or code inside the open answer; the next answer's summary follows.
    for _ in range(8):
        if by_keyboard.locator("summary").evaluate("(e) => e === document.activeElement"):
            break
        page.keyboard.press("Tab")
    else:
        pytest.fail("the second prediction cannot be reached by keyboard")
    outline = by_keyboard.locator("summary").evaluate("(e) => getComputedStyle(e).outlineStyle")
    assert outline != "none", "the focus cannot be seen"
    page.keyboard.press("Enter")
    assert by_keyboard.evaluate("(e) => e.open")
    page.keyboard.press("Space")
    assert not by_keyboard.evaluate("(e) => e.open")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_colab_button_opens_what_was_published_with_the_page(
    page: Page, site: str, chapter: str
) -> None:
    repository = project_metadata.repository_url()
    page.goto(f"{site}/{chapter}.html")
    links = page.locator('a[href*="colab.research.google.com"]')
    wanted = (
        [project_metadata.colab_url(repository, f"_sources/{chapter}.ipynb")] if repository else []
    )
    assert links.evaluate_all("(all) => all.map((a) => a.href)") == wanted
    if wanted:
        assert links.first.is_visible()
        assert "Open in Colab" in links.first.inner_text()
