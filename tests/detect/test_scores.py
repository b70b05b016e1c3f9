"""The detectors on the labelled cases: at least 98 % found, no false alarm."""

from __future__ import annotations

import pytest
import scores

from jaxbits import audit, detect

CHECKS = list(detect.detectors())


@pytest.mark.parametrize("cases", ["cases", "own_cases"])
@pytest.mark.parametrize("check", CHECKS)
def test_labelled_cases(check, cases):
    outcomes = scores.outcomes(check, scores.fresh(cases))
    missed = [name for name, expected, reported, _ in outcomes if expected and not reported]
    alarms = [name for name, expected, reported, _ in outcomes if reported and not expected]
    positives = sum(expected for _, expected, _, _ in outcomes)
    assert len(outcomes) - positives >= 4
    assert positives >= 4
    assert len(missed) <= 0.02 * positives, missed
    assert not alarms


def test_findings_are_complete():
    module = scores.fresh("own_cases")
    for check in CHECKS:
        for name, expected, _, findings in scores.outcomes(check, module):
            for finding in findings if expected else ():
                assert finding.check == check
                assert finding.message, name
                assert finding.evidence, name
                assert finding.fix, name


def test_clean_programs_are_clean():
    module = scores.fresh("cases")
    for case in module.CLEAN:
        report = audit(case.fn, *case.args)
        assert report.ok, f"{case.name}: {report}"
        assert not report.notes, f"{case.name}: {report}"
