"""Test that every kind of difference is found and is classified as declared or undeclared."""

import pytest
from version_records import CLAIM, ERROR, changed_chapter, changed_record, record

from book_tools.versions.compare_runs import find_differences, fully_checked_environments

WRONG = {"outcome": "failed", "seen": "1", "expected": "2"}
UNDECLARED = {
    "a failed claim": (
        changed_record("claims", **WRONG),
        "✗ “x[11] is the last”: saw 1, expected 2",
    ),
    "a failed claim that names versions": (
        changed_record("claims", **WRONG, made_for="jax>=0.8"),
        "✗ “x[11] is the last”",
    ),
    "a claim skipped without a reason": (
        changed_record("claims", outcome="not made"),
        "no reason given",
    ),
    "a claim never reached": (
        changed_chapter(claims=[]),
        "claim never reached: “x[11] is the last”",
    ),
    "a tagged cell that did not raise": (
        changed_record("errors", names=[]),
        "should raise IndexError, raised nothing",
    ),
    "an untagged error": (
        changed_record("errors", tagged=False, declared=""),
        "should raise nothing, raised IndexError: index 3 is",
    ),
    "another error class": (
        changed_record("errors", names=["XlaRuntimeError"]),
        "raised XlaRuntimeError instead of IndexError",
    ),
    "an error class without a raises line": (
        changed_record("errors", declared=""),
        "instead of a “# raises:” line",
    ),
    "an explanation of another bit": (
        changed_record("errors", explained=["float-index", "out-of-bounds-read"]),
        "explain ranks float-index first for IndexError, not out-of-bounds-read",
    ),
    "no explanation": (
        changed_record("errors", explained=[]),
        "explain does not recognize IndexError",
    ),
    "an explanation that fails": (
        changed_record("errors", explained="KeyError: 1"),
        "explain failed on IndexError: KeyError: 1",
    ),
    "a chapter that broke": (changed_chapter(broken="the kernel died"), "the kernel died"),
    "a failed test": (
        record(tests={"passed": 2, "skipped": 0, "failed": {"a::b": "1 == 2"}}),
        "1 == 2",
    ),
}
DECLARED = {
    "a claim made for other versions": (
        changed_record("claims", outcome="not made", made_for="jax>=0.8"),
        "– “x[11] is the last” (made for jax>=0.8)",
    ),
    "another error message": (
        changed_record("errors", message="index 3 too large"),
        "the message of IndexError differs",
    ),
    "other printed text": (
        changed_chapter(printed=[{"section": "A read", "stored": "1", "here": "2"}]),
        "prints different text",
    ),
}


def test_find_differences_returns_nothing_for_equal_runs():
    assert find_differences(record(), record()) == []


@pytest.mark.parametrize("kind", UNDECLARED)
def test_find_differences_reports_undeclared(kind):
    run, expected = UNDECLARED[kind]
    found = find_differences(run, record())
    assert [difference.declared for difference in found] == [False]
    assert expected in found[0].what


@pytest.mark.parametrize("kind", DECLARED)
def test_find_differences_reports_declared(kind):
    run, expected = DECLARED[kind]
    found = find_differences(run, record())
    assert [difference.declared for difference in found] == [True]
    assert expected in found[0].what


def test_find_differences_names_chapter_and_section():
    assert (
        find_differences(UNDECLARED["another error class"][0])[0].where
        == "04-out-of-bounds · A read"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"names": ["XlaRuntimeError", "IndexError"]},
        {"message": "index 3 is out of bounds.\nSee https://docs.jax.dev/en/101/errors.html"},
        {"comparison": True, "explained": []},
        {"bits": [], "explained": ["float-index"]},
    ],
    ids=["public class name first", "another link", "cell for comparison", "section without a bit"],
)
def test_find_differences_ignores_harmless_changes(changes):
    assert find_differences(changed_record("errors", **changes), record()) == []


def test_find_differences_requires_bit_of_section_first():
    run = changed_chapter(errors=[ERROR | {"explained": ["float-index", *ERROR["bits"]]}])
    assert [d.declared for d in find_differences(run, run)] == [False]


def test_find_differences_ignores_chapter_with_different_code():
    run = changed_chapter(code="def", claims=[], errors=[ERROR | {"message": "other"}])
    assert find_differences(run, record()) == []


def test_find_differences_pairs_errors_despite_extra_error():
    extra = ERROR | {"tagged": False, "message": "out of memory"}
    found = find_differences(changed_chapter(errors=[extra, ERROR]), record())
    assert [d.what for d in found] == ["should raise nothing, raised IndexError: out of memory"]


def test_fully_checked_environments_excludes_undeclared():
    runs = {"lock": record(), "colab": UNDECLARED["a failed claim"][0]}
    assert [t["jax"] for t in fully_checked_environments(runs)] == ["0.10.2"]
    assert fully_checked_environments({"colab": UNDECLARED["a failed test"][0]})
    runs["colab"] = DECLARED["a claim made for other versions"][0] | {
        "backend": "gpu",
        "device": "H1",
    }
    assert [t["backend"] for t in fully_checked_environments(runs)] == ["cpu", "gpu"]
    assert CLAIM["outcome"] == "held", "tests must not change the shared records"
