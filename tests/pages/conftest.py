"""The built book, served on this machine."""

from __future__ import annotations

import functools
import http.server
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("JAXBITS_BUILT", ROOT / "_build" / "html"))
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
