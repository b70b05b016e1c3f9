"""Configure the tests of the book, its library, and its tools."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from _pytest.doctest import DoctestModule


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Skip doctests, because collecting them would import every labeled case, which takes 10 s."""
    collectors = yield
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]
