"""Test the comparison of the detectors with other tools, with the tools that JAX itself has."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import jax_flags_baseline as flags
import other_tools
import pytest
import source_linters

from book_tools.pages.detector_tools import describe_tools
from book_tools.versions.compare_tools import RECORD
from jaxbits import detect

# Only a maintainer who compares the tools again depends on these tests.
pytestmark = pytest.mark.slow

TOOLS = {tool.name: tool for tool in other_tools.TOOLS}


def test_the_sample_is_the_same_every_time():
    once, again = (other_tools.case_ids("key_reuse", 3) for _ in range(2))
    assert once == again
    assert [one.expected for one in once] == [True] * 3 + [False] * 3
    assert len(other_tools.case_ids("key_reuse")) > 40


@pytest.mark.parametrize(
    ("name", "check"),
    [("`jax.debug_key_reuse`", "key_reuse"), ("JAX’s own errors and warnings", "control_flow")],
)
def test_jax_finds_some_cases_and_has_no_false_alarms(name, check):
    # Some of our own cases reuse a key on purpose, and JAX reports them, too.
    given = [one for one in other_tools.case_ids(check) if one.folder == "given_cases"]
    ids = [
        *[one for one in given if one.expected][:4],
        *[one for one in given if not one.expected][:4],
    ]
    seen = [(one.expected, other_tools.reports(TOOLS[name], check, one)) for one in ids]
    score = other_tools.score(seen)
    assert score.found >= 2
    assert (score.positives, score.alarms, score.negatives) == (4, 0, 4)


def test_an_error_of_a_tool_is_not_a_detection(capsys):
    def fails(case):
        raise RuntimeError("no such version")

    (one, *_) = other_tools.case_ids("leak", 1)
    assert (
        other_tools.reports(other_tools.Tool("broken", "", {"leak": fails}), "leak", one) is False
    )
    assert "broken failed on leak" in capsys.readouterr().err


def test_an_error_for_another_reason_is_not_a_detection():
    assert flags.is_other_reason("dynamic_shape", "Attempted boolean conversion of traced array")
    assert not flags.is_other_reason("control_flow", "Attempted boolean conversion of traced array")


def test_the_source_that_linters_get_is_decorated_and_annotated():
    source, lines = source_linters._prepared("given_cases", "concrete")
    functions = {n.name: n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)}
    function = functions["cf_range_n"]
    assert ast.unparse(function.decorator_list[-1]) == "jax.jit"
    assert ast.unparse(function.args) == "x: Float32[Array, '4'], n: Int32[Array, '']"
    assert lines["cf_range_n"] == (function.lineno, function.end_lineno)


def test_the_recorded_scores_are_complete():
    record = json.loads((Path(__file__).parents[2] / RECORD).read_text("utf8"))
    names = [tool["name"] for tool in record["tools"]]
    assert set(names) == {*TOOLS, *source_linters.USES}
    for tool in record["tools"]:
        assert tool["use"]
        for check, (found, positives, alarms, negatives) in tool["checks"].items():
            assert check in detect.detectors()
            assert 0 <= found <= positives
            assert 0 <= alarms <= negatives


def test_the_table_lists_the_best_tool_first():
    tools = [
        {"name": "`a`", "use": "on", "checks": {"nan": [1, 2, 0, 2]}},
        {"name": "`b`", "use": "on", "checks": {"nan": [2, 2, 1, 2]}},
        {"name": "`c`", "use": "on", "checks": {"nan": [2, 2, 0, 2]}},
    ]
    record = {"sample": None, "versions": {"jax": "1.0"}, "tools": tools}
    table = describe_tools(record, {"nan": [2, 2, 0, 2], "timing": [1, 1, 0, 1]})["table"]
    assert table.index(">c<") < table.index(">b<") < table.index(">a<")
    assert "no other tool looks for this" in table
