"""The built book, served on this machine, and one browser to look at it with."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("JAXBITS_BUILT", ROOT / "_build" / "html"))
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
# Nothing of the browser's own may go out: no updates, no reports, no first visit.
QUIET = [
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
# The helpers beside these tests.
sys.path.append(str(Path(__file__).resolve().parent))


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that leaves a page drops its connections; that is no news."""


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder of the built book."""
    if not (BUILT / "intro.html").exists():
        pytest.fail(f"there is no built book in {BUILT}: run `make book` first", pytrace=False)
    return BUILT


@pytest.fixture(scope="session")
def site(built: Path) -> Iterator[str]:
    """The address of the built book, served on a free port of this machine."""
    handler = functools.partial(_Handler, directory=str(built))
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: the tests in a browser are not run")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()
