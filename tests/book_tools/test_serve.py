"""Test that the local server finds a free port."""

from __future__ import annotations

import socket

import pytest

from book_tools.website import serve


def test_create_server_skips_taken_port() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = serve.create_server(port)
        server.server_close()
        assert server.server_port > port
        with pytest.raises(OSError, match=f"ports {port} to {port} must be free"):
            serve.create_server(port, tries=1)
