"""Serve the built book on this machine.

.venv/bin/python -m book_tools serve [--port 8000]
"""

from __future__ import annotations

import argparse
import errno
import functools
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from book_tools.project_metadata import ROOT

HTML = ROOT / "_build" / "html"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing about it."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def listen(port: int, folder: Path = HTML, *, tries: int = 50) -> ThreadingHTTPServer:
    """A server for the book, or another folder, on the first free port from the given one on.

    Raises:
        OSError: none of the ports is free.
    """
    handler = functools.partial(Quiet, directory=str(folder))
    for candidate in range(port, port + tries):
        try:
            return ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    raise OSError(f"no port is free from {port} to {port + tries - 1}; say another with --port")


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=8000, help="the first port to try")
    options = parser.parse_args(arguments)
    if not (HTML / "index.html").exists():
        print("There is no book yet; run: make book", file=sys.stderr)
        return 1
    try:
        server = listen(options.port)
    except (OSError, OverflowError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The book is at http://127.0.0.1:{server.server_port}/ (stop with Ctrl-C)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()
    return 0
