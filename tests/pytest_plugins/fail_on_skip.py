"""Report skipped tests and expected failures as failed if JAXBITS_NO_SKIP is set.

On a machine with a browser, a sandbox, and a database, there is no reason to skip a test.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not os.environ.get("JAXBITS_NO_SKIP") or report.outcome != "skipped":
        return
    longrepr = report.longrepr
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    reason = getattr(report, "wasxfail", "") or reason
    report.outcome = "failed"
    report.longrepr = f"JAXBITS_NO_SKIP is set, but a test was skipped: {reason}"
    if hasattr(report, "wasxfail"):
        del report.wasxfail


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that is skipped while it runs."""
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that is skipped while pytest collects it."""
    report = yield
    _fail_if_skipped(report)
    return report
