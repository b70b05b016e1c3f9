"""The detectors on the labelled cases: at least 98 % found, no false alarm."""

from __future__ import annotations

import functools
import json
import tomllib
from pathlib import Path

import clean_programs
import pytest
import score_records
import scores
import jax_flags_baseline

from jaxbits import audit, detect

CHECKS = list(detect.detectors())
FEW_GIVEN = {"unrolled": 3}
BOTH = [(folder, check) for folder in scores.FOLDERS for check in CHECKS]
outcomes = functools.cache(scores.outcomes)

ROOT = Path(__file__).parents[2]
RECORDED = json.loads((ROOT / "reference" / "detectors" / "lock.json").read_text("utf8"))
TRIED = {"inplace", "control_flow"}
"""The checks whose switches are tried again here: for all it would take minutes."""


@pytest.mark.parametrize(("folder", "check"), BOTH)
def test_labelled_cases(folder, check):
    seen = outcomes(check, folder)
    found, positives, alarms, negatives = scores.score(seen)
    missed = [outcome.case for outcome in seen if outcome.expected and not outcome.reported]
    alarmed = [outcome.case for outcome in seen if outcome.reported and not outcome.expected]
    # Of one's own there are ten of each kind at least.
    assert positives >= (10 if folder == "own_cases" else FEW_GIVEN.get(check, 4))
    assert negatives >= (10 if folder == "own_cases" else FEW_GIVEN.get(check, 4))
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


@pytest.mark.parametrize("check", CHECKS)
def test_the_page_shows_these_scores(check):
    recorded = RECORDED["detectors"].get(check, "nothing")
    now = score_records.of_detector({folder: outcomes(check, folder) for folder in scores.FOLDERS})
    assert recorded == now, "run: make versions ARGS=--detectors"


@pytest.mark.parametrize("check", CHECKS)
def test_the_page_shows_the_switches_on_these_cases(check):
    shown = RECORDED["switches"].get(check, [])
    assert [row["name"] for row in shown] == [s.name for s in jax_flags_baseline.SWITCHES.get(check, ())]
    for row, switch in zip(shown, jax_flags_baseline.SWITCHES.get(check, ()), strict=True):
        for folder in scores.FOLDERS:
            _, positives, _, negatives = scores.score(outcomes(check, folder))
            assert (row[folder][1], row[folder][3]) == (positives, negatives)
            if check in TRIED:
                assert row[folder] == list(jax_flags_baseline.score(check, switch, folder))


def test_first_scores_are_kept():
    text = Path(__file__).with_name("first_contact.toml").read_text("utf8")
    first = tomllib.loads(text)
    assert set(first) == set(CHECKS)
    for check, folders in first.items():
        assert set(folders) <= set(scores.FOLDERS), check
        assert "own_cases" in folders, check
        for found, positives, alarms, negatives in folders.values():
            assert 0 <= found <= positives, check
            assert 0 <= alarms <= negatives, check
