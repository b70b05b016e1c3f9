"""Test what pages download and which metadata they give to browsers and search engines."""

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
from contents import CHAPTERS, KINDS, PAGES, ROOT
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, Route

from book_tools.website import stylesheets

# The book promises at most 300 KiB per page. The largest page needs half of that, so a lower limit
# reveals growth early.
PROMISED_BYTES, LIMIT_BYTES = 300 * 1024, 200 * 1024
BOOK_TITLE = "JAX sharp bits"
DESK, NARROW = {"width": 1280, "height": 900}, {"width": 320, "height": 700}
IMAGES = {".svg", ".png", ".jpg", ".gif", ".webp", ".ico"}
with (ROOT / "_ext" / "descriptions.toml").open("rb") as file:
    DESCRIPTIONS: dict[str, str] = tomllib.load(file)


@cache
def compressed_size(path: Path) -> int:
    """Return the compressed size of a file in bytes, as a web server would send it."""
    return len(gzip.compress(path.read_bytes(), compresslevel=6))


INSPECT_PAGE = """() => ({
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
class PageVisit:
    """A page's source, the files that the browser fetched, and the results of INSPECT_PAGE."""

    name: str
    source: str
    fetched: list[Path]
    inspected: dict[str, Any]


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=DESK, color_scheme="light", reduced_motion="reduce")
    yield context
    context.close()


def visit_page(context: BrowserContext, site: str, built: Path, name: str) -> PageVisit:
    """Open a page, inspect it, and record which files the browser fetches."""
    page = context.new_page()
    fetched: list[Path] = []
    page.on("request", lambda request: fetched.append(built / urlsplit(request.url).path[1:]))
    page.goto(f"{site}/{name}.html", wait_until="load")
    inspected = page.evaluate(INSPECT_PAGE)
    page.close()
    source = (built / f"{name}.html").read_text(encoding="utf-8")
    return PageVisit(name, source, list(dict.fromkeys(fetched)), inspected)


@pytest.fixture(
    scope="module",
    params=[pytest.param(p, marks=[pytest.mark.slow] if p not in KINDS else []) for p in PAGES],
)
def visited(
    request: pytest.FixtureRequest, context: BrowserContext, site: str, built: Path
) -> PageVisit:
    """Visit each page of the book once for all of its tests."""
    return visit_page(context, site, built, request.param)


def test_page_download_is_below_limit(visited: PageVisit) -> None:
    sizes = {
        path.name: compressed_size(path)
        for path in visited.fetched
        if path.suffix not in IMAGES and "mathjax" not in path.parts
    }
    assert f"{Path(visited.name).name}.html" in sizes
    assert sum(sizes.values()) <= LIMIT_BYTES < PROMISED_BYTES, sizes


def test_page_fetches_no_unused_files(visited: PageVisit) -> None:
    unused_file = re.compile(
        r"fontawesome|webfont|\.woff|searchindex|searchtools|language_data|\.pf_"
    )
    assert not [str(path) for path in visited.fetched if unused_file.search(str(path))]
    assert not visited.inspected["fonts"]
    assert not [path for path in visited.fetched if path.stem.endswith("-dark")]


def test_images_load_lazily_and_reserve_space(visited: PageVisit) -> None:
    for image in visited.inspected["images"]:
        assert image["lazy"], image
        assert image["async"], image
        assert image["width"] > 0, image
        assert image["height"] > 0, image


def test_icons_have_svg_mask(visited: PageVisit) -> None:
    assert visited.inspected["icons"]
    assert not [name for name, shape in visited.inspected["icons"] if "svg" not in shape]


def test_outputs_have_no_copy_button(visited: PageVisit) -> None:
    """Copy buttons on outputs would only add stops for the Tab key."""
    assert visited.inspected["copied"] == 0


def test_page_metadata_describes_page(visited: PageVisit) -> None:
    head = visited.source.partition("</head>")[0]
    titles = [html.unescape(title) for title in re.findall(r"<title>(.*?)</title>", head)]
    assert len(titles) == 1
    assert titles[0].count(BOOK_TITLE) == 1
    heading = html.unescape(re.search(r"<h1>(.*?)(?:<a|</h1>)", visited.source)[1])  # type: ignore[index]
    heading = re.sub("<[^>]+>", "", heading)
    assert titles[0] == (heading if heading == BOOK_TITLE else f"{heading} – {BOOK_TITLE}")
    assert meta_content(head, "name", "viewport") == ["width=device-width, initial-scale=1.0"]
    assert meta_content(head, "name", "description") == [DESCRIPTIONS[visited.name]]
    assert meta_content(head, "property", "og:title") == [heading]
    assert meta_content(head, "property", "og:description") == [DESCRIPTIONS[visited.name]]
    assert not meta_content(head, "name", "robots")
    assert '<html lang="en"' in visited.source


def meta_content(head: str, kind: str, name: str) -> list[str]:
    """Return the content of each meta element with the given name or property."""
    pattern = rf'<meta {kind}="{re.escape(name)}" content="([^"]*)"'
    return [html.unescape(text) for text in re.findall(pattern, head)]


@cache
def style_sheet_names(built: Path) -> set[str]:
    """Return the classes and ids whose rules the joined style sheet keeps."""
    static = built / "_static"
    paths = [path for path in built.rglob("*.html") if static not in path.parents]
    pages = {path: path.read_text(encoding="utf-8") for path in paths}
    return stylesheets.used_names(pages.values(), stylesheets.scripts_of(pages, static))


def names_without_rules(names: Iterable[str], built: Path) -> set[str]:
    """Return the classes and ids whose rules the joined style sheet omits.

    Trailing numbers are ignored, because scripts number the ids of copy buttons and tooltips.
    """
    known_names = style_sheet_names(built)
    return {name for name in names if name and not {name, name.rstrip("0123456789")} & known_names}


def test_style_sheet_keeps_rules_for_page(visited: PageVisit, built: Path) -> None:
    # The style sheet omits rules whose classes and ids appear in no page or script.
    assert not names_without_rules(visited.inspected["names"], built)


def test_descriptions_cover_every_page_and_are_unique() -> None:
    assert set(DESCRIPTIONS) == {*PAGES, "search", "404"}
    assert len(set(DESCRIPTIONS.values())) == len(DESCRIPTIONS)
    for name, text in DESCRIPTIONS.items():
        assert 70 <= len(text) <= 160, (name, len(text))
        assert text.endswith("."), name


def visible_figures(page: Page) -> list[str]:
    """Scroll through a page, and return the paths of its visible figures."""
    page.evaluate("""async () => {
        for (const box of document.querySelectorAll("article details")) box.open = true;
        for (const image of document.querySelectorAll("img.figure-svg")) {
            if (!image.getBoundingClientRect().width) continue;
            image.scrollIntoView();
            while (!image.complete) await new Promise((done) => setTimeout(done, 20));
        }
    }""")
    visible: list[str] = page.evaluate("""() => [...document.querySelectorAll("img.figure-svg")]
        .filter((e) => e.getBoundingClientRect().width > 0)
        .map((e) => new URL(e.src).pathname)""")
    return visible


def chapter_with_most_figures(built: Path) -> str:
    """Return the chapter with the most figures."""
    return max(CHAPTERS, key=lambda name: (built / f"{name}.html").read_text().count("figure-svg"))


@pytest.mark.parametrize(
    ("scheme", "other"),
    [("light", "dark"), pytest.param("dark", "light", marks=pytest.mark.slow)],
)
def test_page_fetches_only_figures_for_its_theme(
    browser: Browser, site: str, built: Path, scheme: str, other: str
) -> None:
    context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(urlsplit(request.url).path))
    page.goto(f"{site}/{chapter_with_most_figures(built)}.html")
    visible = visible_figures(page)
    assert len(visible) >= 5
    assert {path for path in fetched if "/_images/" in path} == set(visible)
    # The page must reserve space in the figure's own proportions, so that nothing moves later.
    ratios = page.evaluate("""() => [...document.querySelectorAll("img.figure-svg")]
        .filter((e) => e.naturalWidth)
        .map((e) => e.width / e.height / (e.naturalWidth / e.naturalHeight))""")
    assert ratios == pytest.approx([1] * len(visible), abs=0.02)
    # A reader who switches to the other theme must get its figures.
    for _ in range(3):
        page.locator(".theme-switch-button").first.click()
        if page.evaluate("document.documentElement.dataset.theme") == other:
            break
    visible_after_switch = visible_figures(page)
    assert len(visible_after_switch) == len(visible)
    assert not set(visible_after_switch) & set(visible)
    assert set(visible_after_switch) <= set(fetched)
    # Printed figures are light in both themes.
    page.emulate_media(media="print")
    assert all(
        "-dark" not in path
        for path in page.evaluate("""() => [...document.querySelectorAll("img.figure-svg")]
            .filter((e) => e.getBoundingClientRect().width > 0).map((e) => e.src)""")
    )
    context.close()


def test_figure_is_visible_without_javascript(browser: Browser, site: str, built: Path) -> None:
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto(f"{site}/{chapter_with_most_figures(built)}.html", wait_until="networkidle")
    assert page.locator("img.figure-svg.only-light").first.bounding_box()
    assert not page.locator("img.figure-svg.only-dark").first.is_visible()
    context.close()


def test_theme_is_set_before_page_is_shown(browser: Browser, site: str) -> None:
    context = browser.new_context(color_scheme="dark")
    # Record the theme as soon as the body exists, before the theme's own script runs.
    context.add_init_script("""new MutationObserver((_, observer) => {
        if (!document.body) return;
        window.themeAtFirst = document.documentElement.dataset.theme;
        observer.disconnect();
    }).observe(document, {childList: true, subtree: true})""")
    page = context.new_page()
    page.goto(f"{site}/intro.html")
    assert page.evaluate("window.themeAtFirst") == "dark"
    context.close()


def test_style_sheet_keeps_rules_for_opened_elements(
    browser: Browser, site: str, built: Path
) -> None:
    """The style sheet must also keep rules for classes that scripts add when an element opens."""
    context = browser.new_context(viewport=NARROW)
    page = context.new_page()
    page.goto(f"{site}/{CHAPTERS[3]}.html")
    names: set[str] = set()
    for button in (".primary-toggle", ".secondary-toggle"):
        page.locator(button).first.click()
        page.wait_for_selector("dialog[open]")
        names |= set(page.evaluate(INSPECT_PAGE)["names"])
        page.keyboard.press("Escape")
    page.locator(".dropdown-download-buttons > button").click()
    page.wait_for_selector(".dropdown-menu.show")
    names |= set(page.evaluate(INSPECT_PAGE)["names"])
    assert "show" in names
    assert not names_without_rules(names, built)
    context.close()


def test_header_buttons_fit_into_320_pixels(browser: Browser, site: str) -> None:
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


def test_plain_code_has_text_color(built: Path) -> None:
    """Tokens that `_ext/light_highlighting.py` does not mark up must look plain in both themes."""
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


# The next tests check the other files of the site, with or without a published address.


@pytest.fixture(scope="module")
def address(built: Path) -> str:
    """Return the published book's address, or an empty string if it has none."""
    head = (built / "intro.html").read_text(encoding="utf-8").partition("</head>")[0]
    match = re.search(r'<link rel="canonical" href="(.*)intro.html"', head)
    return match[1] if match else ""


def test_sitemap_lists_every_page(built: Path, address: str) -> None:
    robots = (built / "robots.txt").read_text(encoding="utf-8")
    assert robots.startswith("User-agent: *\nAllow: /\n")
    assert ("Sitemap:" in robots) == bool(address) == (built / "sitemap.xml").exists()
    if address:
        assert f"Sitemap: {address}sitemap.xml\n" in robots
        root = ElementTree.parse(built / "sitemap.xml").getroot()
        assert [place.text for place in root.iter() if place.tag.endswith("}loc")] == [
            f"{address}{page}.html" for page in PAGES
        ]


def test_index_page_redirects_to_intro(built: Path) -> None:
    page = (built / "index.html").read_text(encoding="utf-8")
    assert f"<title>{BOOK_TITLE}</title>" in page
    assert 'content="0; url=intro.html"' in page
    assert '<a href="intro.html">' in page


def test_404_page_works_at_any_depth(context: BrowserContext, built: Path) -> None:
    source = (built / "404.html").read_text(encoding="utf-8")
    assert meta_content(source, "name", "robots") == ["noindex"]
    base = re.search(r'href="([^"]*)intro.html"', source)
    assert base
    root, failed_requests = base[1], []
    missing_page = f"https://book.invalid{root}no/such/page.html"

    def serve_404_or_file(route: Route) -> None:
        path = urlsplit(route.request.url).path
        file = built / path.removeprefix(root)
        if route.request.url == missing_page:
            route.fulfill(status=404, body=source, content_type="text/html")
        elif path.startswith(root) and file.is_file():
            kind = mimetypes.guess_type(file.name)[0] or "text/plain"
            route.fulfill(body=file.read_bytes(), content_type=kind)
        else:
            failed_requests.append(route.request.url)
            route.abort()

    page = context.new_page()
    page.route("**/*", serve_404_or_file)
    page.goto(missing_page, wait_until="networkidle")
    assert not failed_requests
    assert page.locator("article h1").inner_text().startswith("Page not found")
    links: list[str] = page.locator("a[href]").evaluate_all(
        "(all) => all.filter((a) => !a.getAttribute('href').startsWith('#')).map((a) => a.href)"
    )
    inside = {urlsplit(link).path for link in links if urlsplit(link).netloc == "book.invalid"}
    assert {f"{root}{name}.html" for name in [*PAGES, "search"]} <= inside
    assert not [path for path in inside if not (built / path.removeprefix(root)).is_file()]
    assert page.locator("article").evaluate("(e) => getComputedStyle(e).fontFamily") != "serif"
    page.evaluate(AXE_FILE_PATH.read_text("utf8"))
    report = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
    assert not [(rule["id"], rule["nodes"][0]["html"]) for rule in report["violations"]]
    page.close()


# The next tests run the extensions on a two-page book with and without an address.

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


def build_small_site(folder: Path, address: str) -> Path:
    """Build a two-page book, and return the folder with the result."""
    source, result = folder / "source", folder / "result"
    (source / "reference").mkdir(parents=True)
    (source / "conf.py").write_text(
        CONF.format(root=str(ROOT), templates=str(ROOT / "_templates"), address=address)
    )
    (source / "intro.rst").write_text(
        f"{BOOK_TITLE}\n{'=' * 20}\n\n.. toctree::\n\n   reference/errors\n"
    )
    (source / "reference" / "errors.rst").write_text("Errors\n======\n\nText.\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(source), str(result)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return result


@pytest.mark.slow
def test_site_with_address_contains_page_urls(tmp_path: Path) -> None:
    address = "https://example.org/book/"
    result = build_small_site(tmp_path, address)
    head = (result / "reference" / "errors.html").read_text().partition("</head>")[0]
    assert head.count("<title>") == 1
    assert f"<title>Errors – {BOOK_TITLE}</title>" in head
    assert f'<link rel="canonical" href="{address}reference/errors.html" />' in head
    assert meta_content(head, "property", "og:url") == [f"{address}reference/errors.html"]
    assert meta_content(head, "property", "og:image") == [f"{address}_static/social.png"]
    assert meta_content(head, "name", "twitter:card") == ["summary_large_image"]
    assert "sitemap.xml" in (result / "robots.txt").read_text()
    assert f"<loc>{address}reference/errors.html</loc>" in (result / "sitemap.xml").read_text()
    missing_page = (result / "404.html").read_text()
    assert 'href="/book/reference/errors.html"' in missing_page
    assert "canonical" not in missing_page
    assert f'href="{address}intro.html"' in (result / "index.html").read_text()


@pytest.mark.slow
def test_site_without_address_contains_no_urls(tmp_path: Path) -> None:
    result = build_small_site(tmp_path, "")
    head = (result / "reference" / "errors.html").read_text().partition("</head>")[0]
    for word in ("canonical", "og:url", "og:image", "summary_large_image"):
        assert word not in head
    assert meta_content(head, "name", "twitter:card") == ["summary"]
    assert meta_content(head, "property", "og:title") == ["Errors"]
    assert (result / "robots.txt").read_text() == "User-agent: *\nAllow: /\n"
    assert not (result / "sitemap.xml").exists()
    assert 'href="/reference/errors.html"' in (result / "404.html").read_text()
    assert "canonical" not in (result / "index.html").read_text()


def test_social_image_has_declared_size(built: Path) -> None:
    with Image.open(built / "_static" / "social.png") as picture:
        assert picture.size == (1200, 630)
    assert (built / "_static" / "social.png").stat().st_size < 300_000
