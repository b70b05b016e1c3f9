"""The detectors on the labelled cases: at least 98 % found, no false alarm."""

from __future__ import annotations

import functools

import clean_programs
import pytest
import scores

from jaxbits import audit, detect

CHECKS = list(detect.detectors())
BOTH = [(folder, check) for folder in scores.FOLDERS for check in CHECKS]
outcomes = functools.cache(scores.outcomes)


@pytest.mark.parametrize(("folder", "check"), BOTH)
def test_labelled_cases(folder, check):
    seen = outcomes(check, folder)
    found, positives, alarms, negatives = scores.score(seen)
    missed = [outcome.case for outcome in seen if outcome.expected and not outcome.reported]
    alarmed = [outcome.case for outcome in seen if outcome.reported and not outcome.expected]
    # Of one's own there are ten of each kind at least.
    assert positives >= (10 if folder == "own_cases" else 4)
    assert negatives >= (10 if folder == "own_cases" else 4)
    assert found >= 0.98 * positives, missed
    assert alarms == 0, alarmed


@pytest.mark.parametrize("folder", scores.FOLDERS)
def test_no_cases_are_left_out(folder):
    assert set(scores.homes(folder)) == set(CHECKS)
    empty = [family for family in scores.families(folder) if not scores.fresh(folder, family).CASES]
    assert not empty


@pytest.mark.parametrize("check", CHECKS)
def test_findings_are_complete(check):
    for outcome in outcomes(check, "own_cases"):
        for finding in outcome.findings:
            assert finding.check == check
            assert finding.message, outcome.case
            assert finding.evidence, outcome.case
            assert finding.fix, outcome.case


@pytest.mark.parametrize("case", clean_programs.CLEAN, ids=lambda case: case.name)
def test_clean_programs_are_clean(case):
    report = audit(case.fn, *case.args)
    assert report.ok, str(report)
    assert not report.notes, str(report)
