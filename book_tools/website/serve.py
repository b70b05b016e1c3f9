"""Serve the built book on this machine.

python -m book_tools serve [--port 8000]

Unlike ``python -m http.server``, this program uses the next free port if the given one is in use,
and it logs nothing. The PDF and screenshot programs also use this server.
"""

from __future__ import annotations

import argparse
import errno
import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from book_tools.project_metadata import ROOT

HTML = ROOT / "_build" / "html"


class QuietHandler(SimpleHTTPRequestHandler):
    """A request handler that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Discard the message."""


def create_server(port: int, folder: Path = HTML, *, tries: int = 50) -> ThreadingHTTPServer:
    """Return a server for a folder on the first free port.

    Args:
        port: The first port to try.
        folder: The folder to serve. The default is the built book.
        tries: The number of consecutive ports to try.

    Raises:
        OSError: If none of the ports is free.
    """
    handler = functools.partial(QuietHandler, directory=str(folder))
    for candidate in range(port, port + tries):
        try:
            return ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    raise OSError(
        f"one of the ports {port} to {port + tries - 1} must be free; choose a different --port"
    )


@contextmanager
def serve_in_background(folder: Path = HTML) -> Iterator[str]:
    """Serve a folder in a thread, and yield the address with a trailing slash."""
    server = create_server(8000, folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=8000, help="the first port to try")
    options = parser.parse_args(arguments)
    if not (HTML / "index.html").exists():
        print("The book has not been built; run: make book", file=sys.stderr)
        return 1
    try:
        server = create_server(options.port)
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
