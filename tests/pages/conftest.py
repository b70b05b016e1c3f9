"""Serve the built book on this machine for the tests of its pages."""

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
# The tests import helper modules from this folder.
sys.path.append(str(Path(__file__).resolve().parent))


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that a browser drops when it leaves a page."""


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def built() -> Path:
    """Return the folder of the built book."""
    if not (BUILT / "intro.html").exists():
        pytest.fail(f"{BUILT} contains no built book; run: make book", pytrace=False)
    return BUILT


@pytest.fixture(scope="session")
def site(built: Path) -> Iterator[str]:
    """Serve the built book on a free port of this machine, and yield its address."""
    handler = functools.partial(_Handler, directory=str(built))
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
