"""Take screenshots of the built book for people to inspect.

    python -m book_tools screenshots OUT_DIR [PAGE ...]

The program captures each PAGE in full, at desktop and phone width, in the light and dark themes. By
default, it captures all pages in the table of contents. The files have names such as
OUT_DIR/chapters-01-tracing.phone.dark.png.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from book_tools.website.browser import NoBrowserError, open_chromium
from book_tools.website.pdf_contents import PdfError, read_entries
from book_tools.website.serve import serve_in_background

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

SIZES: dict[str, ViewportSize] = {
    "desktop": {"width": 1280, "height": 900},
    "phone": {"width": 390, "height": 844},
}


# A browser loads a lazy image only when a reader scrolls to it, so a screenshot would lack it.
_LOAD_IMAGES = """async () => {
    const shown = [...document.images].filter((image) => image.checkVisibility());
    for (const image of shown) image.loading = "eager";
    await Promise.all(shown.map((image) => image.decode()));
}"""


def load_images(tab: Page) -> None:
    """Load all images that a page shows in its current theme, and wait for them."""
    tab.evaluate(_LOAD_IMAGES)


def take_screenshots(out: Path, pages: Sequence[str]) -> list[Path]:
    """Capture pages at both sizes and in both themes, and return the paths of the files.

    Args:
        out: The folder to write to.
        pages: The names of the pages, such as ``chapters/01-tracing``.

    Raises:
        NoBrowserError: If Chromium is not on the PATH.
    """
    out.mkdir(parents=True, exist_ok=True)
    taken = []
    with serve_in_background() as address, open_chromium() as browser:
        for size, viewport in SIZES.items():
            for theme in ("light", "dark"):
                tab = browser.new_page(
                    viewport=viewport, color_scheme="dark" if theme == "dark" else "light"
                )
                for page in pages:
                    tab.goto(f"{address}{page}.html")
                    tab.wait_for_load_state("networkidle")
                    load_images(tab)
                    path = out / f"{page.replace('/', '-')}.{size}.{theme}.png"
                    tab.screenshot(path=path, full_page=True)
                    taken.append(path)
                tab.close()
    return taken


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", metavar="OUT_DIR", type=Path, help="the folder to write to")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="such as chapters/01-tracing")
    options = parser.parse_args(arguments)
    try:
        known = [entry.name for entry in read_entries()]
        if unknown := set(options.pages) - set(known):
            raise PdfError(f"PAGE must be in the table of contents, got {unknown.pop()!r}")
        for path in take_screenshots(options.out, options.pages or known):
            print(path)
    except (NoBrowserError, PdfError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
