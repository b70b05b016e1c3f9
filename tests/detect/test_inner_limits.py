"""Test that an audit whose evidence is cut by an inner limit says so and reports no guesses."""

from __future__ import annotations

import dataclasses

import limit_cases
import pytest

from jaxbits import audit
from jaxbits._analysis.inner_limits import LIMITS, InnerLimits


def severe_checks(report):
    return {(f.check, f.place) for f in report if f.severity != "note"}


@pytest.mark.parametrize("case", limit_cases.CASES, ids=lambda case: case.name)
def test_cut_evidence_is_gap_and_not_finding(monkeypatch, case):
    complete = audit(case.fn, *case.args)
    assert "partial" not in {gap.case for gap in complete.gaps}, str(complete)
    monkeypatch.setattr(LIMITS, case.check, limit_cases.TINY[case.check])
    report = audit(case.fn, *case.args)
    assert ("partial" in {gap.case for gap in report.gaps}) is case.expected, str(report)
    assert severe_checks(report) <= severe_checks(complete), f"{report}\n\n{complete}"
    if case.expected:
        assert not report.ok


def test_every_limit_has_cases():
    assert limit_cases.TINY.keys() == {field.name for field in dataclasses.fields(InnerLimits)}
    for name in limit_cases.TINY:
        labels = {case.expected for case in limit_cases.CASES if case.check == name}
        assert labels == {True, False}, name


def test_gap_names_checks_whose_evidence_was_cut(monkeypatch):
    monkeypatch.setattr(LIMITS, "run_events", 3)
    report = audit(limit_cases.times_a_loop, limit_cases.X)
    assert report.notes == (
        "the run of the function was stopped after 3 events, so its later part was not examined "
        "by timing, transfer",
    )
    report = audit(limit_cases.times_a_loop, limit_cases.X, checks=["timing"])
    assert report.notes[0].endswith(" by timing")
    assert audit(limit_cases.times_a_loop, limit_cases.X, checks=["key_reuse"]).gaps == ()
