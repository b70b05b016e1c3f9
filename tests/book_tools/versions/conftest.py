"""Mark every test in this folder as slow, and make version_records importable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark these tests for `make test-all` only, because only maintainers use these programs."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
