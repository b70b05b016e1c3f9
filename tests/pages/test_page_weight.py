"""What a page makes a reader fetch, and what it says of itself to browsers and search engines."""

from __future__ import annotations

import gzip
import html
import mimetypes
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from contents import CHAPTERS, PAGES, ROOT
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, Route

from book_tools.website import stylesheets

# The promise is 300 KiB. The heaviest page needs half of it, so growth shows long before that.
PROMISED, LIMIT = 300 * 1024, 200 * 1024
BOOK = "JAX sharp bits"
DESK, NARROW = {"width": 1280, "height": 900}, {"width": 320, "height": 700}
IMAGES = {".svg", ".png", ".jpg", ".gif", ".webp", ".ico"}
with (ROOT / "_ext" / "descriptions.toml").open("rb") as file:
    DESCRIPTIONS: dict[str, str] = tomllib.load(file)


@cache
def compressed(path: Path) -> int:
    """Return the size of a file as a web server sends it, in bytes."""
    return len(gzip.compress(path.read_bytes(), compresslevel=6))


LOOK = """() => ({
    names: [...new Set([...document.querySelectorAll("*")].flatMap((e) => [...e.classList, e.id]))],
    images: [...document.querySelectorAll("article img")].map((e) => ({
        lazy: e.loading === "lazy", async: e.decoding === "async",
        width: +e.getAttribute("width"), height: +e.getAttribute("height"), src: e.src,
    })),
    icons: [...document.querySelectorAll("i, span")]
        .filter((e) => /(^| )fa[srb]?( |-)/.test(e.className))
        .map((e) => [e.className, getComputedStyle(e, "::before").maskImage]),
    fonts: [...document.fonts].map((font) => font.family),
    copied: [...document.querySelectorAll(".output button.copybtn")]
        .filter((button) => !button.closest(".cell_input")).length,
})"""


@dataclass
class Visit:
    """What one visit to a page showed."""

    name: str
    source: str
    fetched: list[Path]
    seen: dict[str, Any]


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=DESK, color_scheme="light", reduced_motion="reduce")
    yield context
    context.close()


def visit(context: BrowserContext, site: str, built: Path, name: str) -> Visit:
    """Open a page and note what the browser fetches for it."""
    page = context.new_page()
    fetched: list[Path] = []
    page.on("request", lambda request: fetched.append(built / urlsplit(request.url).path[1:]))
    page.goto(f"{site}/{name}.html", wait_until="load")
    seen = page.evaluate(LOOK)
    page.close()
    source = (built / f"{name}.html").read_text(encoding="utf-8")
    return Visit(name, source, list(dict.fromkeys(fetched)), seen)


@pytest.fixture(scope="module", params=PAGES)
def visited(
    request: pytest.FixtureRequest, context: BrowserContext, site: str, built: Path
) -> Visit:
    """Each page of the book in turn, visited once for all tests of it."""
    return visit(context, site, built, request.param)


def test_a_page_is_light(visited: Visit) -> None:
    sizes = {
        path.name: compressed(path)
        for path in visited.fetched
        if path.suffix not in IMAGES and "mathjax" not in path.parts
    }
    assert f"{Path(visited.name).name}.html" in sizes
    assert sum(sizes.values()) <= LIMIT < PROMISED, sizes


def test_nothing_is_fetched_that_the_page_does_not_show(visited: Visit) -> None:
    needless = re.compile(r"fontawesome|webfont|\.woff|searchindex|searchtools|language_data|\.pf_")
    assert not [str(path) for path in visited.fetched if needless.search(str(path))]
    assert not visited.seen["fonts"]
    assert not [path for path in visited.fetched if path.stem.endswith("-dark")]


def test_images_wait_in_their_place(visited: Visit) -> None:
    for image in visited.seen["images"]:
        assert image["lazy"], image
        assert image["async"], image
        assert image["width"] > 0, image
        assert image["height"] > 0, image


def test_every_icon_has_a_shape(visited: Visit) -> None:
    assert visited.seen["icons"]
    assert not [name for name, shape in visited.seen["icons"] if "svg" not in shape]


def test_outputs_add_no_stops_for_the_tab_key(visited: Visit) -> None:
    assert visited.seen["copied"] == 0


def test_a_page_says_what_it_is(visited: Visit) -> None:
    head = visited.source.partition("</head>")[0]
    titles = [html.unescape(title) for title in re.findall(r"<title>(.*?)</title>", head)]
    assert len(titles) == 1
    assert titles[0].count(BOOK) == 1
    heading = html.unescape(re.search(r"<h1>(.*?)(?:<a|</h1>)", visited.source)[1])  # type: ignore[index]
    heading = re.sub("<[^>]+>", "", heading)
    assert titles[0] == (heading if heading == BOOK else f"{heading} – {BOOK}")
    assert content(head, "name", "viewport") == ["width=device-width, initial-scale=1.0"]
    assert content(head, "name", "description") == [DESCRIPTIONS[visited.name]]
    assert content(head, "property", "og:title") == [heading]
    assert content(head, "property", "og:description") == [DESCRIPTIONS[visited.name]]
    assert not content(head, "name", "robots")
    assert '<html lang="en"' in visited.source


def content(head: str, kind: str, name: str) -> list[str]:
    """Return the content of each meta element with a name, or with a property."""
    pattern = rf'<meta {kind}="{re.escape(name)}" content="([^"]*)"'
    return [html.unescape(found) for found in re.findall(pattern, head)]


@cache
def kept_names(built: Path) -> set[str]:
    """Return the classes and ids whose rules are in the joined style sheet."""
    static = built / "_static"
    paths = [path for path in built.rglob("*.html") if static not in path.parents]
    pages = {path: path.read_text(encoding="utf-8") for path in paths}
    return stylesheets.used_names(pages.values(), stylesheets.scripts_of(pages, static))


def unknown(names: Iterable[str], built: Path) -> set[str]:
    """Return the classes and ids that the style sheet was made without.

    Scripts number the ids of copy buttons and tooltips. No style sheet names those.
    """
    known = kept_names(built)
    return {name for name in names if name and not {name, name.rstrip("0123456789")} & known}


def test_no_rule_is_missing_that_would_match(visited: Visit, built: Path) -> None:
    # A rule was left out if one of its classes or ids was nowhere to be seen.
    assert not unknown(visited.seen["names"], built)


def test_every_page_has_a_description_of_its_own() -> None:
    assert set(DESCRIPTIONS) == {*PAGES, "search", "404"}
    assert len(set(DESCRIPTIONS.values())) == len(DESCRIPTIONS)
    for name, text in DESCRIPTIONS.items():
        assert 70 <= len(text) <= 160, (name, len(text))
        assert text.endswith("."), name


def figures(page: Page) -> list[str]:
    """Scroll through a page and return what is shown of each figure."""
    page.evaluate("""async () => {
        for (const box of document.querySelectorAll("article details")) box.open = true;
        for (const image of document.querySelectorAll("img.figure-svg")) {
            if (!image.getBoundingClientRect().width) continue;
            image.scrollIntoView();
            while (!image.complete) await new Promise((done) => setTimeout(done, 20));
        }
    }""")
    shown: list[str] = page.evaluate("""() => [...document.querySelectorAll("img.figure-svg")]
        .filter((e) => e.getBoundingClientRect().width > 0)
        .map((e) => new URL(e.src).pathname)""")
    return shown


def most_illustrated(built: Path) -> str:
    """Return the chapter with the most figures."""
    return max(CHAPTERS, key=lambda name: (built / f"{name}.html").read_text().count("figure-svg"))


@pytest.mark.parametrize(("scheme", "other"), [("light", "dark"), ("dark", "light")])
def test_only_the_figures_of_the_theme_are_fetched(
    browser: Browser, site: str, built: Path, scheme: str, other: str
) -> None:
    context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(urlsplit(request.url).path))
    page.goto(f"{site}/{most_illustrated(built)}.html")
    shown = figures(page)
    assert len(shown) >= 5
    assert {path for path in fetched if "/_images/" in path} == set(shown)
    # The size that the page announces is the figure's own, so nothing moves when it arrives.
    ratios = page.evaluate("""() => [...document.querySelectorAll("img.figure-svg")]
        .filter((e) => e.naturalWidth)
        .map((e) => e.width / e.height / (e.naturalWidth / e.naturalHeight))""")
    assert ratios == pytest.approx([1] * len(shown), abs=0.02)
    # By hand, a reader gets the other theme, and its figures.
    for _ in range(3):
        page.locator(".theme-switch-button").first.click()
        if page.evaluate("document.documentElement.dataset.theme") == other:
            break
    switched = figures(page)
    assert len(switched) == len(shown)
    assert not set(switched) & set(shown)
    assert set(switched) <= set(fetched)
    # On paper, figures are light in either theme.
    page.emulate_media(media="print")
    assert all(
        "-dark" not in path
        for path in page.evaluate("""() => [...document.querySelectorAll("img.figure-svg")]
            .filter((e) => e.getBoundingClientRect().width > 0).map((e) => e.src)""")
    )
    context.close()


def test_a_figure_shows_without_javascript(browser: Browser, site: str, built: Path) -> None:
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto(f"{site}/{most_illustrated(built)}.html", wait_until="networkidle")
    assert page.locator("img.figure-svg.only-light").first.bounding_box()
    assert not page.locator("img.figure-svg.only-dark").first.is_visible()
    context.close()


def test_the_theme_is_right_before_the_page_is_shown(browser: Browser, site: str) -> None:
    context = browser.new_context(color_scheme="dark")
    # Only what runs before the body is there: the theme's own script comes last.
    context.add_init_script("""new MutationObserver((_, observer) => {
        if (!document.body) return;
        window.themeAtFirst = document.documentElement.dataset.theme;
        observer.disconnect();
    }).observe(document, {childList: true, subtree: true})""")
    page = context.new_page()
    page.goto(f"{site}/intro.html")
    assert page.evaluate("window.themeAtFirst") == "dark"
    context.close()


def test_what_opens_keeps_its_style(browser: Browser, site: str, built: Path) -> None:
    """The classes that scripts add when something opens are in the style sheet, too."""
    context = browser.new_context(viewport=NARROW)
    page = context.new_page()
    page.goto(f"{site}/{CHAPTERS[3]}.html")
    names: set[str] = set()
    for button in (".primary-toggle", ".secondary-toggle"):
        page.locator(button).first.click()
        page.wait_for_selector("dialog[open]")
        names |= set(page.evaluate(LOOK)["names"])
        page.keyboard.press("Escape")
    page.locator(".dropdown-download-buttons > button").click()
    page.wait_for_selector(".dropdown-menu.show")
    names |= set(page.evaluate(LOOK)["names"])
    assert "show" in names
    assert not unknown(names, built)
    context.close()


def test_every_button_of_the_header_is_in_sight_at_320_pixels(browser: Browser, site: str) -> None:
    context = browser.new_context(viewport=NARROW)
    page = context.new_page()
    page.goto(f"{site}/{CHAPTERS[3]}.html")
    boxes = page.locator(".bd-header-article :is(.btn, .search-open):visible").evaluate_all(
        "(all) => all.map((e) => e.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) >= 5
    assert all(box["left"] >= 0 and box["right"] <= 320 for box in boxes), boxes
    assert all(min(box["width"], box["height"]) >= 24 for box in boxes), boxes
    page.locator(".secondary-toggle").click()
    assert page.locator("#pst-secondary-sidebar-modal").is_visible()
    context.close()


def test_plain_code_has_the_color_of_text(built: Path) -> None:
    """Tokens that `_ext/light_highlighting.py` writes as text look plain in the theme's styles."""
    sheet = (built / "_static" / "pygments.css").read_text(encoding="utf-8")
    for theme in ("light", "dark"):
        colors = dict(
            re.findall(rf'"{theme}"\] \.highlight \.?(\w*) ?\{{[^}}]*?\bcolor: (#\w+)', sheet)
        )
        assert colors["n"] == colors["p"] == colors[""], theme
        assert colors["k"] != colors[""], theme
    chapter = (built / f"{CHAPTERS[3]}.html").read_text(encoding="utf-8")
    assert '<span class="k">' in chapter
    assert '<span class="n">' not in chapter


# What the site has besides its pages, in the state that the book is in: with an address or without.


@pytest.fixture(scope="module")
def address(built: Path) -> str:
    """The address of the published book, or an empty string."""
    head = (built / "intro.html").read_text(encoding="utf-8").partition("</head>")[0]
    found = re.search(r'<link rel="canonical" href="(.*)intro.html"', head)
    return found[1] if found else ""


def test_the_map_of_the_site_lists_every_page(built: Path, address: str) -> None:
    robots = (built / "robots.txt").read_text(encoding="utf-8")
    assert robots.startswith("User-agent: *\nAllow: /\n")
    assert ("Sitemap:" in robots) == bool(address) == (built / "sitemap.xml").exists()
    if address:
        assert f"Sitemap: {address}sitemap.xml\n" in robots
        root = ElementTree.parse(built / "sitemap.xml").getroot()
        assert [place.text for place in root.iter() if place.tag.endswith("}loc")] == [
            f"{address}{page}.html" for page in PAGES
        ]


def test_the_first_address_leads_to_the_first_page(built: Path) -> None:
    page = (built / "index.html").read_text(encoding="utf-8")
    assert f"<title>{BOOK}</title>" in page
    assert 'content="0; url=intro.html"' in page
    assert '<a href="intro.html">' in page


def test_a_missing_page_helps_at_any_depth(context: BrowserContext, built: Path) -> None:
    source = (built / "404.html").read_text(encoding="utf-8")
    assert content(source, "name", "robots") == ["noindex"]
    base = re.search(r'href="([^"]*)intro.html"', source)
    assert base
    root, missing = base[1], []
    lost = f"https://book.invalid{root}no/such/page.html"

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        file = built / path.removeprefix(root)
        if route.request.url == lost:
            route.fulfill(status=404, body=source, content_type="text/html")
        elif path.startswith(root) and file.is_file():
            kind = mimetypes.guess_type(file.name)[0] or "text/plain"
            route.fulfill(body=file.read_bytes(), content_type=kind)
        else:
            missing.append(route.request.url)
            route.abort()

    page = context.new_page()
    page.route("**/*", answer)
    page.goto(lost, wait_until="networkidle")
    assert not missing
    assert page.locator("article h1").inner_text().startswith("Page not found")
    links: list[str] = page.locator("a[href]").evaluate_all(
        "(all) => all.filter((a) => !a.getAttribute('href').startsWith('#')).map((a) => a.href)"
    )
    inside = {urlsplit(link).path for link in links if urlsplit(link).netloc == "book.invalid"}
    assert {f"{root}{name}.html" for name in [*PAGES, "search"]} <= inside
    assert not [path for path in inside if not (built / path.removeprefix(root)).is_file()]
    assert page.locator("article").evaluate("(e) => getComputedStyle(e).fontFamily") != "serif"
    page.evaluate(AXE_FILE_PATH.read_text("utf8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
    assert not [(rule["id"], rule["nodes"][0]["html"]) for rule in found["violations"]]
    page.close()


# The extensions in a book of two pages, with an address and without one.

CONF = """
import sys
sys.path.insert(0, {root!r})
project = "JAX sharp bits"
root_doc = "intro"
extensions = ["_ext.page_metadata", "_ext.site_files"]
templates_path = [{templates!r}]
html_theme = "sphinx_book_theme"
html_baseurl = {address!r}
html_theme_options = {{"logo": {{"text": "JAX sharp bits"}}}}
"""


def tiny_site(folder: Path, address: str) -> Path:
    """Build a book of two pages and return the folder of the result."""
    source, result = folder / "source", folder / "result"
    (source / "reference").mkdir(parents=True)
    (source / "conf.py").write_text(
        CONF.format(root=str(ROOT), templates=str(ROOT / "_templates"), address=address)
    )
    (source / "intro.rst").write_text(
        f"{BOOK}\n{'=' * 20}\n\n.. toctree::\n\n   reference/errors\n"
    )
    (source / "reference" / "errors.rst").write_text("Errors\n======\n\nText.\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(source), str(result)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return result


@pytest.mark.slow
def test_with_an_address_every_page_says_where_it_is(tmp_path: Path) -> None:
    address = "https://example.org/book/"
    result = tiny_site(tmp_path, address)
    head = (result / "reference" / "errors.html").read_text().partition("</head>")[0]
    assert head.count("<title>") == 1
    assert f"<title>Errors – {BOOK}</title>" in head
    assert f'<link rel="canonical" href="{address}reference/errors.html" />' in head
    assert content(head, "property", "og:url") == [f"{address}reference/errors.html"]
    assert content(head, "property", "og:image") == [f"{address}_static/social.png"]
    assert content(head, "name", "twitter:card") == ["summary_large_image"]
    assert "sitemap.xml" in (result / "robots.txt").read_text()
    assert f"<loc>{address}reference/errors.html</loc>" in (result / "sitemap.xml").read_text()
    lost = (result / "404.html").read_text()
    assert 'href="/book/reference/errors.html"' in lost
    assert "canonical" not in lost
    assert f'href="{address}intro.html"' in (result / "index.html").read_text()


@pytest.mark.slow
def test_without_an_address_nothing_pretends_to_have_one(tmp_path: Path) -> None:
    result = tiny_site(tmp_path, "")
    head = (result / "reference" / "errors.html").read_text().partition("</head>")[0]
    for word in ("canonical", "og:url", "og:image", "summary_large_image"):
        assert word not in head
    assert content(head, "name", "twitter:card") == ["summary"]
    assert content(head, "property", "og:title") == ["Errors"]
    assert (result / "robots.txt").read_text() == "User-agent: *\nAllow: /\n"
    assert not (result / "sitemap.xml").exists()
    assert 'href="/reference/errors.html"' in (result / "404.html").read_text()
    assert "canonical" not in (result / "index.html").read_text()


def test_the_picture_for_previews_has_the_size_it_says(built: Path) -> None:
    with Image.open(built / "_static" / "social.png") as picture:
        assert picture.size == (1200, 630)
    assert (built / "_static" / "social.png").stat().st_size < 300_000
