"""Join the pages' style sheets into one, and remove the rules that no page uses.

The theme's style sheets contain all of Bootstrap and two thousand icons. A browser cannot show a
page until they have loaded, but the book uses only a fraction of them.

The program keeps a rule if every class and id in it is on a page or is a word in a script. A script
must therefore spell out the names of its classes ("is-open", not "is-" + state).
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from pathlib import Path

import tinycss2
from tinycss2.ast import AtRule, Node, QualifiedRule

BOOK = "book.css"
# The program looks for class names in the theme's scripts, but no page loads this one.
IGNORED_SCRIPTS = {"fontawesome.js"}

_SHEET = re.compile(r'[ \t]*<link\b(?=[^>]*rel="stylesheet")(?![^>]*\bmedia=)[^>]*>\n?')
_HREF = re.compile(r'href="(?P<root>[^"]*?)_static/(?P<name>[^"?]+)(?:\?[^"]*)?"')
_JOINED = re.compile(r'data-sheets="([^"]*)"')
_NAMED = re.compile(r"""\b(?:class|id)=(?:"([^"]*)"|'([^']*)')""")
_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script>", re.S)
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_URL = re.compile(r"""url\(\s*(["']?)(?!data:|#|/|[a-z]+:)([^"')]+)\1\s*\)""")
_IMPORT = re.compile(r"""@import\s+(?:url\()?\s*["']?([^"'();]+)["']?\s*\)?\s*;""")
_LICENSE = re.compile(r"/\*!.*?\*/", re.S)
_RECURSIVE = {"media", "supports", "layer", "container"}


def used_names(pages: Iterable[str], scripts: Iterable[str]) -> set[str]:
    """Return every class and id that a page has or that a script could give it.

    Args:
        pages: The pages' HTML.
        scripts: The text of the scripts. Every word in it counts as a name.

    Example:
        >>> sorted(used_names(['<p class="a b" id="c">d</p>'], ["box.classList.add('e')"]))
        ['a', 'add', 'b', 'box', 'c', 'classList', 'e']
    """
    found: set[str] = set()
    for page in pages:
        for double, single in _NAMED.findall(page):
            found.update(unescape(double or single).split())
        for _, script in _SCRIPT.findall(page):
            found.update(_WORD.findall(script))
    for script in scripts:
        found.update(_WORD.findall(script))
    return found


def _selectors(prelude: list[Node]) -> Iterator[list[Node]]:
    """Yield each selector in a rule's comma-separated list."""
    selector: list[Node] = []
    for part in prelude:
        if part.type == "literal" and part.value == ",":
            yield selector
            selector = []
        else:
            selector.append(part)
    yield selector


def _required(selector: list[Node]) -> set[str]:
    """Return the classes and ids that must exist for a selector to match anything.

    Names inside the parentheses of :not() and :is() are not included.
    """
    found = set()
    for before, part in zip([None, *selector], selector, strict=False):
        if part.type == "hash" or (part.type == "ident" and before == "."):
            found.add(part.value)
    return found


def _kept(rules: list[Node], used: set[str]) -> Iterator[str]:
    """Yield the text of each rule that could match an element."""
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            selectors = [one for one in _selectors(rule.prelude) if _required(one) <= used]
            if selectors:
                head = ",".join(tinycss2.serialize(one).strip() for one in selectors)
                yield f"{head}{{{tinycss2.serialize(rule.content).strip()}}}"
        elif isinstance(rule, AtRule):
            name = rule.lower_at_keyword
            head = f"@{name} {tinycss2.serialize(rule.prelude).strip()}"
            if name in {"charset", "font-face"}:
                continue  # The pages declare their encoding and use the reader's system fonts.
            if rule.content is None:
                yield f"{head};"
            elif name in _RECURSIVE:
                inside = tinycss2.parse_rule_list(rule.content, True, True)
                if body := "\n".join(_kept(inside, used)):
                    yield f"{head}{{\n{body}\n}}"
            else:
                yield f"{head}{{{tinycss2.serialize(rule.content).strip()}}}"


def remove_unused_rules(sheet: str, used: set[str]) -> str:
    """Return a style sheet without web fonts and without the rules that match nothing.

    Args:
        sheet: The text of the style sheet.
        used: The classes and ids that exist on pages or in scripts.

    Example:
        >>> sheet = "a, .x { color: red } .y, .x:not(.z) { top: 0 } #n {}"
        >>> print(remove_unused_rules(sheet, {"x"}))
        a,.x{color: red}
        .x:not(.z){top: 0}
    """
    rules = list(_kept(tinycss2.parse_stylesheet(sheet, True, True), used))
    text = "\n".join(rules)
    # Drop the animations that no remaining rule uses.
    text = "\n".join(
        rule
        for rule in rules
        if not (name := re.match(r"@(?:-webkit-)?keyframes ([\w-]+)", rule))
        or len(re.findall(rf"\b{re.escape(name[1])}\b", text)) > 1
    )
    # Line breaks inside a rule and the spaces around them have no meaning.
    return re.sub(r"\s*\n\s*(?=[^{}]*\})", " ", text)


def rebase_urls(sheet: str, name: str) -> str:
    """Return a style sheet with the addresses of other files made relative to the _static folder.

    Args:
        sheet: The text of the style sheet.
        name: The path of the style sheet in _static.

    Example:
        >>> rebase_urls("a { background: url(../images/a.png) }", "styles/theme.css")
        'a { background: url(images/a.png) }'
    """
    folder = posixpath.dirname(name)
    return _URL.sub(
        lambda found: f"url({posixpath.normpath(posixpath.join(folder, found[2]))})", sheet
    )


def inline_imports(static: Path, name: str) -> str:
    """Return the text of a style sheet, including that of the style sheets that it imports.

    Args:
        static: The _static folder in the built book.
        name: The path of the style sheet in that folder.
    """
    sheet = rebase_urls((static / name).read_text(encoding="utf-8"), name)
    folder = posixpath.dirname(name)
    return _IMPORT.sub(
        lambda found: inline_imports(static, posixpath.normpath(posixpath.join(folder, found[1]))),
        sheet,
    )


def sheets_of(page: str) -> list[str]:
    """Return the names of a page's style sheets in _static, including any already joined."""
    names: list[str] = []
    for link in _SHEET.findall(page):
        if joined := _JOINED.search(link):
            names += joined[1].split()
        elif href := _HREF.search(link):
            names.append(href["name"])
    return names


def link_joined_sheet(page: str, shared: list[str], version: str) -> str:
    """Return a page that loads the joined style sheet instead of the `shared` ones.

    Args:
        page: The page's HTML.
        shared: The names of the style sheets that were joined.
        version: A string that is added to the address, so that a browser does not use an older copy
            from its cache.
    """
    is_first = True

    def replaced(link: re.Match[str]) -> str:
        nonlocal is_first
        href = _HREF.search(link[0])
        if href is None or (href["name"] != BOOK and href["name"] not in shared):
            return link[0]
        if not is_first:
            return ""
        is_first = False
        return (
            f'    <link rel="stylesheet" href="{href["root"]}_static/{BOOK}?v={version}"'
            f' data-sheets="{" ".join(shared)}" />\n'
        )

    return _SHEET.sub(replaced, page)


def scripts_of(pages: Mapping[Path, str], static: Path) -> Iterator[str]:
    """Yield the text of each script in _static that at least one page loads.

    Args:
        pages: The pages' HTML, keyed by path.
        static: The _static folder in the built book.
    """
    names = {
        href["name"]
        for page in pages.values()
        for attributes, _ in _SCRIPT.findall(page)
        if (href := re.search(r'src="[^"]*?_static/(?P<name>[^"?]+)', attributes))
    }
    for name in sorted(names):
        path = static / name
        if path.exists() and path.name not in IGNORED_SCRIPTS and "mathjax" not in name:
            yield path.read_text(encoding="utf-8")


def join_stylesheets(html: Path) -> None:
    """Join the style sheets that all pages share, and make the pages load the result.

    A page that already loads the joined style sheet also lists the original ones. This function can
    therefore run after every build, even if some pages were not rebuilt.

    Args:
        html: The folder of the built book.
    """
    static = html / "_static"
    # Skip the HTML files in _static, which are the theme's templates.
    paths = [path for path in sorted(html.rglob("*.html")) if static not in path.parents]
    found = {path: path.read_text(encoding="utf-8") for path in paths}
    pages = {path: page for path, page in found.items() if sheets_of(page)}
    if not pages:
        return
    lists = [sheets_of(page) for page in pages.values()]
    shared = [name for name in lists[0] if all(name in names for names in lists)]
    used = used_names(pages.values(), scripts_of(pages, static))
    parts, licenses = [], []
    for name in shared:
        sheet = inline_imports(static, name)
        licenses += [text for text in _LICENSE.findall(sheet) if "Font Awesome" not in text]
        parts.append(remove_unused_rules(sheet, used))
    text = "\n".join(['@charset "UTF-8";', *dict.fromkeys(licenses), *parts]) + "\n"
    (static / BOOK).write_text(text, encoding="utf-8")
    version = hashlib.sha256(text.encode()).hexdigest()[:8]
    for path, page in pages.items():
        if (new := link_joined_sheet(page, shared, version)) != page:
            path.write_text(new, encoding="utf-8")
