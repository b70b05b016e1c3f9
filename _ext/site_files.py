"""Add the 404 page, robots.txt, and the site map, which are not pages of the book.

The site map needs the book's address (`html_baseurl`), so it is omitted until the book has one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit
from xml.sax.saxutils import escape

from sphinx.application import Sphinx

from _ext.page_metadata import HIDDEN, descriptions

_LINK = re.compile(r'(\s(?:href|src|action|data-content_root)=")(?!/|#|[a-z][a-z0-9+.-]*:)([^"]*")')

_NOT_FOUND = """
<section>
<h1>Page not found</h1>
<p>There is no page at this address. It may have been renamed, or the link may be wrong.</p>
<ul>
<li>Search the book for the words you have in mind: <a href="{search}">search</a>.</li>
<li>If you came with an error message, <a href="{errors}">paste it into the finder</a>.</li>
<li>Otherwise start from <a href="{start}">the first page</a>, or choose one from the list.</li>
</ul>
<nav aria-label="All pages">
{contents}
</nav>
</section>
"""

_REDIRECT = """\
<!DOCTYPE html>
<html lang="{language}">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>{title}</title>
    <meta name="description" content="{description}" />
    <meta http-equiv="refresh" content="0; url={target}" />{canonical}
  </head>
  <body>
    <p>The book begins at <a href="{target}">{title}</a>.</p>
  </body>
</html>
"""


def make_links_absolute(page: str, base: str) -> str:
    """Return a page from the site's root folder with its relative links made absolute.

    A server may send the 404 page for any address, so relative links on it would not work.

    Args:
        page: The page's HTML.
        base: The path of the site's root, such as "/" or "/name/".

    Example:
        >>> page = '<a href="intro.html"><a href="#top"><a href="https://a.org/">'
        >>> make_links_absolute(page, "/book/")
        '<a href="/book/intro.html"><a href="#top"><a href="https://a.org/">'
    """
    return _LINK.sub(lambda found: found[1] + base + found[2].removeprefix("./"), page)


def base_path(site: str) -> str:
    """Return the path of the site's root on its server.

    Example:
        >>> base_path("https://owner.github.io/book/"), base_path("")
        ('/book/', '/')
    """
    return urlsplit(site).path or "/"


def site_map(site: str, targets: list[str]) -> str:
    """Return a site map with the address of each page.

    Args:
        site: The address of the site's root.
        targets: The pages' addresses relative to that root.
    """
    rows = "".join(
        f"  <url><loc>{escape(urljoin(site, quote(target)))}</loc></url>\n" for target in targets
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n' + rows + "</urlset>\n"
    )


def _pages(app: Sphinx) -> list[str]:
    """Return the book's pages in reading order."""
    found = [app.config.root_doc]
    for page in found:
        found.extend(name for name in app.env.toctree_includes.get(page, []) if name not in found)
    return [page for page in found if page not in HIDDEN]


def _contents(app: Sphinx) -> str:
    """Return an HTML list of links to all pages."""
    items = "\n".join(
        f'<li><a href="{app.builder.get_target_uri(page)}">'
        f"{html.escape(app.env.titles[page].astext())}</a></li>"
        for page in _pages(app)
    )
    return f"<ul>\n{items}\n</ul>"


def _add_not_found(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    body = _NOT_FOUND.format(
        search="search.html",
        errors="reference/errors.html",
        start=app.builder.get_target_uri(app.config.root_doc),
        contents=_contents(app),
    )
    yield "404", {"title": "Page not found", "body": body}, "page.html"


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.name != "html":
        return
    folder, site = Path(app.outdir), app.config.html_baseurl
    not_found = folder / "404.html"
    not_found.write_text(
        make_links_absolute(not_found.read_text(encoding="utf-8"), base_path(site)),
        encoding="utf-8",
    )
    target = app.builder.get_target_uri(app.config.root_doc)
    if target != "index.html":  # Jupyter Book's own redirect page has no title and no language.
        canonical = html.escape(urljoin(site, target))
        (folder / "index.html").write_text(
            _REDIRECT.format(
                language=app.config.language,
                title=html.escape(app.config.project),
                description=html.escape(descriptions().get(app.config.root_doc, "")),
                target=target,
                canonical=f'\n    <link rel="canonical" href="{canonical}" />' if site else "",
            ),
            encoding="utf-8",
        )
    robots = "User-agent: *\nAllow: /\n"
    if site:
        targets = [app.builder.get_target_uri(page) for page in _pages(app)]
        (folder / "sitemap.xml").write_text(site_map(site, targets), encoding="utf-8")
        robots += f"\nSitemap: {urljoin(site, 'sitemap.xml')}\n"
    else:
        (folder / "sitemap.xml").unlink(missing_ok=True)
    (folder / "robots.txt").write_text(robots, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("html-collect-pages", _add_not_found)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
