"""Test the results of the book's search, as well as its dialog and page in a browser."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from contents import stored_errors
from playwright.sync_api import Browser, BrowserContext, Page, expect

from jaxbits import _catalogue

HERE = Path(__file__).resolve().parent
QUERIES = tomllib.loads((HERE / "search_queries.toml").read_text("utf8"))["query"]
MIN_HIT_RATE = 0.85
# One test types these queries into the search box. Their answers contain words from the query, so
# the page must mark those words.
TYPED_QUERIES = [
    "ConcretizationTypeError",
    "key reuse",
    "loop inside jit slow",
    "NaN gradient where",
    "string argument jit",
    "vmap in_axes",
    "checkpoint restore",
    "batchnorm",
    "TPU bfloat16",
    "Array has been deleted",
    "integer overflow",
    "multiprocessing fork deadlock",
]
CHAPTER = "chapters/04-out-of-bounds.html"
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
AXE = AXE_FILE_PATH.read_text("utf8")
FIND_RESULTS = "([query, limit]) => jaxbitsSearch.find(query, limit)"


def answer_addresses(query: dict[str, Any]) -> set[str]:
    """Return the addresses of the sections that answer a query."""
    bits = _catalogue.load()
    return {bits[answer].page if answer in bits else answer for answer in query["right"]}


@pytest.fixture(scope="module")
def context(browser: Browser, site: str) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=DESK, color_scheme="light", reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, site: str) -> Iterator[Page]:
    """Open the first page, and fail the test if the console reports an error or a warning."""
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console",
        lambda message: (
            problems.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.goto(f"{site}/intro.html")
    yield page
    page.close()
    assert not problems


@pytest.fixture(scope="module")
def search_page(context: BrowserContext, site: str) -> Iterator[Page]:
    """Open a page on which tests can call the search function directly, without the dialog."""
    page = context.new_page()
    page.goto(f"{site}/intro.html")
    yield page
    page.close()


def type_query(page: Page, query: str) -> list[str]:
    """Open the dialog, type a query, and return the addresses of the results."""
    page.get_by_role("button", name="Search the book").click()
    page.get_by_role("combobox").fill(query)
    page.wait_for_function(
        "(query) => document.querySelector('.search-more').href.endsWith(encodeURIComponent(query))"
        " || document.querySelector('.search-help:not([hidden])')",
        arg=query,
    )
    links: list[str] = page.get_by_role("option").evaluate_all(
        "(all) => all.map((a) => a.pathname.slice(1) + a.hash)"
    )
    return links


def test_search_queries_have_answers_and_are_unique() -> None:
    texts = [query["text"] for query in QUERIES]
    assert len(texts) == len(set(texts)) >= 60
    assert all(query["right"] for query in QUERIES)
    assert set(TYPED_QUERIES) <= set(texts)


def test_search_ranks_answer_among_first_three(search_page: Page) -> None:
    missed = []
    for query in QUERIES:
        result_urls = [
            result["url"] for result in search_page.evaluate(FIND_RESULTS, [query["text"], 3])
        ]
        if not answer_addresses(query) & set(result_urls):
            missed.append(f"{query['text']}: {result_urls}")
    hit_rate = 1 - len(missed) / len(QUERIES)
    assert hit_rate >= MIN_HIT_RATE, f"{hit_rate:.0%}\n" + "\n".join(missed)


def test_search_results_exist_in_book(search_page: Page, built: Path) -> None:
    for query in QUERIES[::4]:
        for result in search_page.evaluate(FIND_RESULTS, [query["text"], 8]):
            path, _, anchor = result["url"].partition("#")
            text = (built / path).read_text("utf8")
            assert not anchor or f'id="{anchor}"' in text, result["url"]


def test_search_finds_stored_error_by_message(search_page: Page) -> None:
    errors = {chapter: (name, text) for chapter, name, text in stored_errors()}
    assert errors, "no chapter stores an error"
    for chapter, (name, text) in errors.items():
        phrase = f"{name} {' '.join(text.split(chr(10))[0].split()[:5])}"
        result_urls = [
            result["url"].partition("#")[0]
            for result in search_page.evaluate(FIND_RESULTS, [phrase, 8])
        ]
        assert {f"{chapter}.html", "reference/errors.html"} & set(result_urls), phrase


@pytest.mark.parametrize(
    ("query", "status"),
    [
        (
            "jit ingress",
            "The book does not contain “ingress”. The first 8 results for the other words",
        ),
        ("key reuse", "The first 8 results"),
    ],
)
def test_search_says_what_the_book_lacks(page: Page, query: str, status: str) -> None:
    type_query(page, query)
    expect(page.locator(".search-status")).to_have_text(status)


def test_search_finds_most_words_of_known_queries(search_page: Page) -> None:
    doubted = [
        query["text"]
        for query in QUERIES
        if not search_page.evaluate(
            "async (query) => (await jaxbitsSearch.rank(query)).isAnswered", query["text"]
        )
    ]
    assert len(doubted) <= 0.05 * len(QUERIES), doubted


@pytest.mark.parametrize(
    "query",
    [*TYPED_QUERIES[:3], *(pytest.param(q, marks=pytest.mark.slow) for q in TYPED_QUERIES[3:])],
)
def test_typed_query_opens_section_and_marks_words(page: Page, site: str, query: str) -> None:
    answers = answer_addresses(next(known for known in QUERIES if known["text"] == query))
    links = type_query(page, query)
    ranks = [rank for rank, link in enumerate(links[:3]) if link in answers]
    assert ranks, links
    option = page.get_by_role("option").nth(ranks[0])
    option.click()
    page.wait_for_function(
        "([path, site]) => location.href.replace(/[?][^#]*/, '') === `${site}/${path}`",
        arg=[links[ranks[0]], site],
    )
    expect(page.get_by_role("dialog")).to_have_count(0)
    marks = page.locator("mark.search-mark")
    expect(marks.first).to_be_attached()
    target = page.locator(f"[id='{links[ranks[0]].partition('#')[2]}']")
    assert target.evaluate(
        "(place) => [...document.querySelectorAll('mark.search-mark')].every("
        "(mark) => (place.closest('section, tr') || place).contains(mark))"
    ), "the page marks a word outside the section"
    expect(target).to_be_in_viewport()
    # The heading must be near the top of the window, just below the fixed header.
    assert target.evaluate("(place) => Math.abs(place.getBoundingClientRect().top) < 160")
    assert any(mark.is_visible() for mark in marks.all()), "no mark is visible"


def test_escape_and_button_remove_marks(page: Page, site: str) -> None:
    page.goto(f"{site}/{CHAPTER}")
    before = page.locator("article").inner_text()
    address = f"{site}/{CHAPTER}?highlight=index#a-read-past-the-end-returns-the-last-element"
    marks = page.locator("mark.search-mark")
    for remove in (
        lambda: page.keyboard.press("Escape"),
        lambda: page.get_by_role("button", name="Remove the marks").click(),
    ):
        page.goto(address)
        expect(marks.filter(visible=True).first).to_be_visible()
        remove()
        expect(marks).to_have_count(0)
        expect(page.get_by_role("button", name="Remove the marks")).to_have_count(0)
        assert page.url == address.replace("?highlight=index", "")
        assert page.locator("article").inner_text() == before


def test_search_opens_fold_only_for_word_found_only_there(page: Page, site: str) -> None:
    page.goto(f"{site}/{CHAPTER}")
    match = page.evaluate(
        """() => {
            for (const fold of document.querySelectorAll("section[id] > details.predict")) {
                const section = fold.closest("section");
                const others = section.cloneNode(true);
                const inside = fold.textContent.replace(fold.firstElementChild.textContent, "");
                others.querySelectorAll("details").forEach(
                    (part) => part.replaceWith(part.firstElementChild));
                const seen = others.textContent.toLowerCase();
                for (const word of inside.toLowerCase().match(/\\b[a-z]{6,}\\b/g) || [])
                    if (!/(ation|ations|ing|ings|ed|s|e)$/.test(word) && !seen.includes(word)) {
                        const all = [...section.querySelectorAll("details.predict")];
                        return [section.id, all.indexOf(fold), word];
                    }
            }
        }"""
    )
    assert match, "every word in an answer also appears outside it"
    section_id, fold_number, word = match
    folds = page.locator(f"section[id='{section_id}'] details.predict")
    page.goto(f"{site}/{CHAPTER}?highlight={word}#{section_id}")
    expect(folds.nth(fold_number)).to_have_attribute("open", "")
    expect(folds.nth(fold_number).locator("mark").first).to_be_visible()
    page.goto(f"{site}/{CHAPTER}?highlight=the#{section_id}")
    expect(page.locator("mark.search-mark").filter(visible=True).first).to_be_visible()
    assert folds.evaluate_all("(all) => all.every((fold) => !fold.open)")


def test_page_fetches_search_index_only_on_first_use(page: Page, site: str) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url.removeprefix(site)))
    page.goto(f"{site}/intro.html")
    page.wait_for_load_state("networkidle")
    assert not [url for url in requested if "pagefind" in url]
    sphinx_scripts = ("searchtools.js", "language_data.js", "searchindex.js", "sphinx_highlight.js")
    assert not [url for url in requested if url.split("?")[0].endswith(sphinx_scripts)]
    type_query(page, "key reuse")
    assert "/pagefind/pagefind.js" in [url.split("?")[0] for url in requested]
    assert all(url.startswith("/") for url in requested), "the page accesses a different host"


@pytest.mark.parametrize("keys", ["Control+k", "Meta+k", "/"])
def test_keys_open_search_and_select_results(page: Page, keys: str) -> None:
    page.keyboard.press(keys)
    box = page.get_by_role("combobox", name="Search the book")
    expect(box).to_be_focused()
    expect(box).to_have_value("")
    page.keyboard.type("float64")
    options = page.get_by_role("option")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", options.nth(1).get_attribute("id") or "")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(box).to_have_count(0)


def test_enter_opens_first_result(page: Page, site: str) -> None:
    links = type_query(page, "float64")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: links[0].partition("#")[0] in url)
    assert page.url.endswith("#" + links[0].partition("#")[2])


def test_slash_in_text_field_does_not_open_search(page: Page, site: str) -> None:
    page.goto(f"{site}/reference/errors.html")
    box = page.get_by_label("Your error message or traceback")
    box.press_sequentially("a/b")
    expect(box).to_have_value("a/b")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_search_without_results_links_other_pages(page: Page) -> None:
    assert type_query(page, "frobnicate zork") == []
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_have_text("Nothing found for “frobnicate zork”.")
    for name, path in {
        "finder": "reference/errors.html",
        "symptom": "reference/by-symptom.html",
    }.items():
        link = dialog.get_by_role("link", name=name)
        assert (link.get_attribute("href") or "").endswith(path)


def test_search_reports_index_that_fails_to_load(context: BrowserContext, site: str) -> None:
    page = context.new_page()
    page.route("**/pagefind/**", lambda route: route.abort())
    page.goto(f"{site}/{CHAPTER}")
    type_query(page, "float64")
    expect(page.get_by_role("dialog")).to_contain_text("The search could not be loaded")
    page.close()


def test_search_in_local_file_says_book_must_be_served(
    context: BrowserContext, built: Path
) -> None:
    page = context.new_page()
    page.goto((built / CHAPTER).as_uri())
    page.get_by_role("button", name="Search the book").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("needs the book to be served")
    index = dialog.get_by_role("link", name="index").get_attribute("href") or ""
    assert index == (built / "genindex.html").as_uri()
    page.close()


def test_search_page_lists_more_results_and_follows_input(page: Page, site: str) -> None:
    page.goto(f"{site}/search.html?q=float64")
    results = page.locator(".search-found a")
    expect(results.nth(10)).to_be_visible()
    expect(page).to_have_title("Search – JAX sharp bits")
    box = page.get_by_role("searchbox", name="Search the book")
    expect(box).to_be_focused()
    box.fill("key reuse")
    expect(page).to_have_url(f"{site}/search.html?q=key%20reuse")
    expect(results.first).to_contain_text("key")


def test_search_page_without_javascript_links_other_pages(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/search.html?q=float64")
    links = page.locator("article noscript a")
    expect(links).to_have_count(3)
    for link in links.all():
        expect(link).to_be_visible()
        assert page.request.get(f"{site}/{link.get_attribute('href')}").ok
    page.goto(f"{site}/{CHAPTER}")
    expect(page.locator(".search-open")).to_be_hidden()
    context.close()


@pytest.mark.parametrize("size", [DESK, PHONE, {"width": 320, "height": 640}])
def test_search_button_and_dialog_fit_into_viewport(
    page: Page, site: str, size: dict[str, int]
) -> None:
    page.set_viewport_size(size)
    page.goto(f"{site}/{CHAPTER}")
    button = page.get_by_role("button", name="Search the book")
    expect(button).to_be_in_viewport(ratio=1)
    page.mouse.wheel(0, 3000)
    expect(button).to_be_in_viewport(ratio=1)  # The header does not scroll.
    assert type_query(page, "nan gradient")
    dialog = page.get_by_role("dialog").bounding_box()
    assert dialog
    assert dialog["x"] >= 0
    assert dialog["x"] + dialog["width"] <= size["width"]
    assert dialog["y"] + dialog["height"] <= size["height"]
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    # The box must not scroll, because a phone's keyboard covers the scrolling part of the dialog.
    expect(page.get_by_role("combobox")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        (PHONE, "light"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [(PHONE, "dark"), (DESK, "light"), (DESK, "dark")]
        ),
    ],
)
def test_search_passes_axe(page: Page, size: dict[str, int], scheme: Any) -> None:
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function("(want) => document.documentElement.dataset.theme === want", arg=scheme)
    page.evaluate(AXE)
    run_axe = """() => axe.run({include: [%s]}, {
        runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]},
        rules: {region: {enabled: false}},  // a modal dialog is outside the landmarks
        resultTypes: ["violations"], preload: false,
    }).then((found) => found.violations.map((rule) => rule.id + ": " + rule.nodes[0].html))"""
    type_query(page, "nan gradient")
    assert page.evaluate(run_axe % '".search-dialog", ".search-open"') == []
    page.get_by_role("combobox").fill("frobnicate zork")
    expect(page.get_by_role("dialog")).to_contain_text("Nothing found")
    assert page.evaluate(run_axe % '".search-dialog"') == []
    page.get_by_role("combobox").fill("out of range index")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    page.locator("mark.search-mark").filter(visible=True).first.wait_for()
    page.evaluate(AXE)
    assert page.evaluate(run_axe % '".search-mark", ".search-bar"') == []
