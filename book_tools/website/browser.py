"""Open Chromium, which prints the book's pages and takes screenshots of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


class NoBrowserError(RuntimeError):
    """Raised if Chromium is not installed. The message says how to install it."""


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Yield a Playwright browser that controls the Chromium on the PATH.

    Raises:
        NoBrowserError: If Chromium is not on the PATH.
    """
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise NoBrowserError("chromium must be on the PATH; on Debian, run: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        yield browser
        browser.close()
