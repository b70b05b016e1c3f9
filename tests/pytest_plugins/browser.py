"""Start one Chromium per worker for all tests that open a page.

Playwright keeps an event loop running, and a process can have only one. Two fixtures that each
start Playwright fail as soon as one worker runs the tests of both.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
# Chromium sends no requests of its own, such as updates and reports.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-pings",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return the Chromium that all tests of a worker share."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()
