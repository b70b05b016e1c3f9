"""Check that each catalogue entry has its groups on the pages *Errors* and *Silent failures*."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from test_generated import CATALOGUE

from book_tools.pages.entry_groups import NOTICES, TASKS, find_group_problems
from jaxbits import _catalogue

BITS = _catalogue.parse(CATALOGUE)


def test_each_entry_has_its_groups() -> None:
    problems = find_group_problems(_catalogue.load().values())
    assert not problems, "\n".join(problems)


def test_each_group_has_entries() -> None:
    bits = _catalogue.load().values()
    assert {bit.task for bit in bits} - {""} == set(TASKS)
    assert {key for bit in bits for key in bit.noticed} == set(NOTICES)


@pytest.mark.parametrize(
    ("id", "change", "problem"),
    [
        ("a-crash", {"task": ""}, "a-crash: task must be one of .*; got ''"),
        ("a-crash", {"task": "sleeping"}, "task must be one of .* 'sleeping'"),
        ("a-slip", {"noticed": ()}, r"a-slip: noticed must list some of .*; got \[\]"),
        ("a-slip", {"noticed": ("blue",)}, r"noticed must list .* got \['blue'\]"),
        ("a-slip", {"task": "loops"}, "a-slip: only an entry"),
        ("a-crash", {"noticed": ("nan",)}, "a-crash: only a silent"),
    ],
)
def test_find_group_problems_reports_wrong_groups(
    id: str, change: dict[str, Any], problem: str
) -> None:
    assert find_group_problems(BITS.values()) == []
    (found,) = find_group_problems([dataclasses.replace(BITS[id], **change)])
    assert re.search(problem, found)
