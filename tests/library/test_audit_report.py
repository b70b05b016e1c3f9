"""Test the arguments of `audit` and `assert_clean`, and the reports that they produce."""

from __future__ import annotations

import functools
import itertools
import json
import random
import time

import jax
import jax.numpy as jnp
import pytest

from jaxbits import assert_clean, audit
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.finding import Finding, merge_duplicates
from jaxbits._report import AuditError, Report
from jaxbits.detect import detectors


def impure_step(x):
    print("step", time.time(), random.random())
    for _ in range(3):
        print(x)
    return x


def test_audit_merges_findings_on_same_line():
    first, second = audit(impure_step, 1.0)["side_effect"]
    assert (first.count, len(first.also)) == (3, 2)
    assert "(3 on this line)" in str(first)
    assert "also: " in str(first)
    assert "3 times in one trace" in second.evidence


def test_merge_duplicates_keeps_most_severe_finding_per_line():
    location = CodeLocation("step.py", 3)
    findings = [
        Finding("note", "a", "1", "f", location, check="nan"),
        Finding("error", "b", "2", "f", location, check="nan"),
        Finding("error", "b", "3", "f", location, check="nan"),
        Finding("warning", "b", "4", "f", check="nan"),
        Finding("warning", "c", "5", "f", location, check="cast"),
    ]
    merged = [
        (f.check, f.severity, f.evidence, f.count, f.also) for f in merge_duplicates(findings)
    ]
    assert merged == [
        ("nan", "error", "2", 3, ("a",)),
        ("nan", "warning", "4", 1, ()),
        ("cast", "warning", "5", 1, ()),
    ]


def test_report_str_shows_line_evidence_fix_and_reference():
    leaked = []

    def step(x, i):
        leaked.append(x)
        return x[i].sum()

    report = audit(step, jnp.arange(4.0), jnp.array([1, 9]), checks=["leak", "out_of_bounds"])
    lines = str(report).splitlines()
    assert lines[0] == "2 errors by 2 checks of step"
    place = report["out_of_bounds"][0].place
    assert lines[6] == "error: read out of bounds: it is clamped or filled [out_of_bounds]"
    assert lines[7] == f"    test_audit_report.py:{place.line}  return x[i].sum()"
    assert lines[8] == "    seen: 1 index outside 0…3, 9"
    assert lines[9].startswith("    fix: ")
    assert lines[10].startswith("    read: chapter ")


def test_audit_sorts_findings_by_severity():
    def step(x, i):
        print("x")
        return x[i].sum() + jnp.where(i < 4, x[i], 0.0).sum()

    report = audit(step, jnp.arange(4.0), jnp.array([1, 9]))
    severities = [finding.severity for finding in report]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


def test_report_to_dict_survives_json_round_trip():
    report = audit(impure_step, 1.0, calls=[(1.0,), (2.0,)])
    report_dict = report.to_dict()
    assert json.loads(json.dumps(report_dict)) == report_dict
    assert report_dict["findings"][0]["place"]["text"].startswith("print(")
    assert report_dict["ok"] is False


def test_report_html_contains_all_fields_and_no_path():
    text = audit(impure_step, 1.0)._repr_html_()
    for part in (
        "<b>warning · side_effect</b>",
        "seen",
        "fix",
        "test_audit_report.py:",
        "<dt>read</dt><dd>chapter ",
    ):
        assert part in text
    assert __file__ not in text


def test_audit_validates_carry_and_passes_it_to_detectors(monkeypatch):
    carries = []

    def record_carry(target):
        carries.append(target.carry)
        return iter(())

    monkeypatch.setattr(detectors()["leak"], "find", record_carry)

    def step(state, batch):
        return state

    for carry in (0, 1, "state", "batch"):
        audit(step, 1.0, batch=2.0, carry=carry) if carry != 1 else audit(step, 1.0, 2.0, carry=1)
    assert carries == [0, 1, "state", "batch"]
    with pytest.raises(ValueError, match=r"carry must be a position from 0 to 1 or .*; got 2"):
        audit(step, 1.0, 2.0, carry=2)
    with pytest.raises(ValueError, match=r"carry must be .* one of 'state', 'batch'; got 'sate'"):
        audit(step, 1.0, 2.0, carry="sate")
    with pytest.raises(ValueError, match=r"carry must be .*; got True"):
        audit(step, 1.0, 2.0, carry=True)
    with pytest.raises(
        ValueError, match="carry must be None, because there are no arguments; got 0"
    ):
        assert_clean(lambda: 1.0, carry=0)


def test_audit_rejects_function_argument_named_carry():
    def step(x, carry):
        return x + carry

    with pytest.raises(ValueError, match=r"own `carry`: lambda x, c: fn\(x, carry=c\)"):
        audit(step, 1.0, carry=jnp.ones(3).sum().item() + 0.5)
    assert audit(lambda x, c: step(x, carry=c), 1.0, 2.0).ok


def test_audit_stops_endless_tracing_at_limit():
    def loop_forever(x):
        while True:
            x = x + 1

    report = audit(loop_forever, 1.0, limit=0.3)
    assert report.checks == ()
    assert [gap.case for gap in report.gaps] == ["timeout"]
    assert report.notes[0].startswith(
        "not run, because the limit of 0.3 s was reached: big_const, "
    )
    assert jax.jit(lambda x: x + 1)(1.0) == 2.0
    with pytest.raises(KeyError, match="leak did not run in time"):
        report["leak"]
    with pytest.raises(AuditError, match="not run"):
        assert_clean(loop_forever, 1.0, limit=0.3)


def test_audit_stops_endless_loop_without_calls_at_limit():
    def loop_forever(x):
        while True:
            pass

    report = audit(loop_forever, 1.0, limit=0.2)
    assert report.not_run
    assert audit(jnp.sin, 1.0).notes == ()


def test_audit_keeps_findings_made_before_limit(monkeypatch):
    def slow_find(target):
        time.sleep(0.4)
        return iter(())

    monkeypatch.setattr(detectors()["leak"], "find", slow_find)
    report = audit(impure_step, 1.0, checks=["side_effect", "leak", "iterator"], limit=0.3)
    assert report.checks == ("side_effect",)
    assert report.not_run == ("leak", "iterator")
    assert len(report["side_effect"]) == 2


@pytest.mark.parametrize("limit", [0, -1, "60", True])
def test_audit_rejects_invalid_limit(limit):
    with pytest.raises(ValueError, match="limit must be a number of seconds above 0 or None, got "):
        audit(jnp.sin, 1.0, limit=limit)


def test_audit_accepts_limit_none():
    assert audit(jnp.sin, 1.0, limit=None).ok


def test_audit_notes_omitted_work_once(monkeypatch):
    def leave_out(target):
        target.left_out.append("leak: too much of it")
        target.left_out.append("leak: too much of it")
        return iter(())

    monkeypatch.setattr(detectors()["leak"], "find", leave_out)
    assert audit(jnp.sin, 1.0).notes == ("leak: too much of it",)


def test_empty_report_is_truthy_and_iterable():
    report = Report("f", (), ("leak",))
    assert report
    assert len(report) == 0
    assert list(report) == []
    assert str(report) == "nothing found by 1 check of f"


class _NamelessWrapper:
    def __init__(self, function):
        self.__wrapped__ = function

    def __call__(self, *args):
        return self.__wrapped__(*args)


def test_headline_names_function_inside_wrapper():
    wrapper = _NamelessWrapper(functools.partial(_scaled, 2.0))
    assert "1 check of _scaled" in str(audit(wrapper, 1.0, checks=["inplace"]))


def _scaled(scale, x):
    return scale * x


_names = itertools.count(1)


def test_counter_that_tracing_advances_is_reported_once():
    def step(array):
        return array, next(_names)

    report = audit(jax.jit(step), jnp.ones(3), checks=["iterator", "side_effect"])
    assert [finding.check for finding in report.findings] == ["iterator"]


def test_note_about_gradient_names_argument():
    def loss(params, x):
        return jnp.linalg.norm(params["scale"]) * x.sum()

    report = audit(loss, {"scale": jnp.ones(2)}, jnp.ones(3), checks=["nan"])
    assert [f.evidence.split(" with ")[0] for f in report.findings] == ["argument params['scale']"]
