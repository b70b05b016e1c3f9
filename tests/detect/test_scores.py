"""Test that the detectors find at least 98% of the labeled cases without any false alarms."""

from __future__ import annotations

import functools
import json
import tomllib
from pathlib import Path

import clean_programs
import jax_flags_baseline
import pytest
import score_records
import scores

from jaxbits import audit, detect

CHECKS = list(detect.detectors())
MIN_SHARE_FOUND = 0.98
MIN_OWN_CASES = 10
MIN_GIVEN_CASES = 4
FEW_GIVEN = {"unrolled": 3}
outcomes = functools.cache(scores.outcomes)

ROOT = Path(__file__).parents[2]
RECORDED = json.loads((ROOT / "reference" / "detectors" / "lock.json").read_text("utf8"))
RERUN_CHECKS = {"inplace", "control_flow"}
"""The checks whose flags run again in this test. Running all of them would take minutes."""


# Compiling the cases of these takes longer than running all others.
COMPILED_CHECKS = {
    "cast",
    "donation",
    "duplicate_indices",
    "dynamic_shape",
    "nan",
    "out_of_bounds",
    "overflow",
    "timing",
    "transfer",
}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, marks=[pytest.mark.slow] if check in COMPILED_CHECKS else [])
        for check in CHECKS
    ],
)
def test_detector_finds_labeled_cases(check):
    problems = [
        problem for folder in scores.FOLDERS for problem in find_score_problems(check, folder)
    ]
    by_folder = {folder: outcomes(check, folder) for folder in scores.FOLDERS}
    if RECORDED["detectors"].get(check) != score_records.record_detector(by_folder):
        problems.append("the recorded scores differ; run: make versions ARGS=--detectors")
    assert not problems, "\n".join(problems)


def find_score_problems(check, folder):
    """Yield a message for each problem with a detector's outcomes for one folder."""
    case_outcomes = outcomes(check, folder)
    found, positives, alarms, negatives = scores.score(case_outcomes)
    minimum = MIN_OWN_CASES if folder == "own_cases" else FEW_GIVEN.get(check, MIN_GIVEN_CASES)
    if min(positives, negatives) < minimum:
        yield f"{folder}: {positives} positives, {negatives} negatives, must be at least {minimum}"
    if found < MIN_SHARE_FOUND * positives:
        missed = [
            outcome.case for outcome in case_outcomes if outcome.expected and not outcome.reported
        ]
        yield f"{folder}: the detector misses {missed}"
    if alarms:
        false_alarms = [
            outcome.case for outcome in case_outcomes if outcome.reported and not outcome.expected
        ]
        yield f"{folder}: false alarms for {false_alarms}"
    for outcome in case_outcomes:
        for finding in outcome.findings:
            texts = (finding.message, finding.evidence, finding.fix)
            if finding.check != check or not all(texts):
                yield f"{outcome.case}: incomplete finding {finding}"


@pytest.mark.parametrize("folder", scores.FOLDERS)
def test_every_detector_has_labeled_cases(folder):
    families = scores.families_by_check(folder)
    assert set(families) == set(CHECKS)
    assert set().union(*families.values()) == set(scores.families(folder))


@pytest.mark.parametrize("name", clean_programs.CLEAN)
def test_audit_reports_nothing_on_clean_programs(name):
    fn, arguments = clean_programs.CLEAN[name]()
    report = audit(fn, *arguments)
    assert report.ok, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_jax_flags_baseline_matches_recorded_scores(check):
    recorded, flags = RECORDED["switches"].get(check, []), jax_flags_baseline.SWITCHES
    assert [row["name"] for row in recorded] == [flag.name for flag in flags.get(check, ())]
    for row, flag in zip(recorded, flags.get(check, ()), strict=True):
        for folder in scores.FOLDERS:
            cases = list(scores.cases(folder, check))
            positives = sum(case.expected for case in cases)
            assert (row[folder][1], row[folder][3]) == (positives, len(cases) - positives)
            if check in RERUN_CHECKS:
                assert row[folder] == list(jax_flags_baseline.score(check, flag, folder))


def test_first_contact_scores_are_complete():
    text = Path(__file__).with_name("first_contact.toml").read_text("utf8")
    first = tomllib.loads(text)
    assert set(first) == set(CHECKS)
    for check, folders in first.items():
        assert set(folders) <= set(scores.FOLDERS), check
        assert "own_cases" in folders, check
        for found, positives, alarms, negatives in folders.values():
            assert 0 <= found <= positives, check
            assert 0 <= alarms <= negatives, check
