"""Check that each catalogue entry has its groups on the pages *Errors* and *Silent failures*."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from contents import ROOT
from test_generated import CATALOGUE

from book_tools.pages import entry_groups
from book_tools.pages.entry_groups import NOTICES, TASKS, EntryGroups
from jaxbits import _catalogue

GROUPS = entry_groups.read_groups(ROOT / "reference" / "entry-groups.toml")
BITS = _catalogue.parse(CATALOGUE)
RIGHT = EntryGroups({"a-crash": "loops"}, {"a-slip": ("nan", "slow")})


def test_each_entry_has_its_groups() -> None:
    problems = GROUPS.problems(_catalogue.load().values())
    assert not problems, "\n".join(problems)


def test_each_group_has_entries() -> None:
    bits = _catalogue.load().values()
    assert {GROUPS.task_of(bit) for bit in bits} - {""} == set(TASKS)
    assert {key for bit in bits for key in GROUPS.noticed_of(bit)} == set(NOTICES)


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        (EntryGroups({}, RIGHT.noticed), "a-crash: task must be one of .*; got ''"),
        (EntryGroups({"a-crash": "sleeping"}, RIGHT.noticed), "task must be one of .* 'sleeping'"),
        (EntryGroups(RIGHT.task, {}), r"a-slip: noticed must list some of .*; got \[\]"),
        (EntryGroups(RIGHT.task, {"a-slip": ("blue",)}), r"noticed must list .* got \['blue'\]"),
        (EntryGroups({**RIGHT.task, "a-slip": "loops"}, RIGHT.noticed), "a-slip: only an entry"),
        (EntryGroups(RIGHT.task, {**RIGHT.noticed, "a-crash": ("nan",)}), "a-crash: only a silent"),
        (EntryGroups({**RIGHT.task, "gone": "loops"}, RIGHT.noticed), "gone: .* catalogue ids"),
    ],
)
def test_problems_reports_wrong_groups(groups: EntryGroups, problem: str) -> None:
    assert RIGHT.problems(BITS.values()) == []
    assert re.search(problem, "\n".join(groups.problems(BITS.values())))


def test_problems_reports_groups_given_twice() -> None:
    texts = {**CATALOGUE, "01-first": CATALOGUE["01-first"] + 'task = "loops"\n'}
    bits = _catalogue.parse(texts)
    assert bits["a-crash"].task == "loops"
    assert EntryGroups({}, RIGHT.noticed).problems(bits.values()) == []
    assert RIGHT.problems(bits.values()) == [
        "a-crash: its groups must be given once, not in two files"
    ]


def test_read_groups_returns_no_groups_without_file(tmp_path: Path) -> None:
    assert entry_groups.read_groups(tmp_path / "missing.toml") == EntryGroups()
    file = tmp_path / "groups.toml"
    file.write_text('[task]\nx = "loops"\n[noticed]\ny = ["nan"]\n', "utf8")
    assert entry_groups.read_groups(file) == EntryGroups({"x": "loops"}, {"y": ("nan",)})
