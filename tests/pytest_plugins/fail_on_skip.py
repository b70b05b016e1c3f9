"""With JAXBITS_NO_SKIP set, what is skipped has failed: a machine with everything skips nothing."""

import os
from collections.abc import Generator

import pytest


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("JAXBITS_NO_SKIP") and report.outcome == "skipped":
        longrepr = report.longrepr
        reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
        reason = getattr(report, "wasxfail", "") or reason
        report.outcome = "failed"
        report.longrepr = f"JAXBITS_NO_SKIP is set, and this was skipped: {reason}"
        if hasattr(report, "wasxfail"):
            del report.wasxfail


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail(report)
    return report
