"""Mark every test here as slow, and put the shared records on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests to `make test-all`: only maintainers run the programs that they test."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
