"""Start one Chromium per worker for all tests that open a page.

Playwright keeps an event loop running, and a process can have only one. If two fixtures each
started Playwright, tests would fail as soon as one worker used both fixtures.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
# Chromium must not send requests of its own, for example to get updates or to send reports.
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
    """Start the Chromium instance that all of a worker's tests share, and close it at the end."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()
