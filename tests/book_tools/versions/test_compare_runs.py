"""Test that each kind of difference is found and classified as declared or undeclared."""

import pytest
from version_records import CLAIM, ERROR, changed, chapter, record

from book_tools.versions.compare_runs import find_differences, fully_checked_environments

WRONG = {"outcome": "failed", "seen": "1", "expected": "2"}
UNDECLARED = {
    "a failed claim": (changed("claims", **WRONG), "✗ “x[11] is the last”: saw 1, expected 2"),
    "a failed claim that names versions": (
        changed("claims", **WRONG, made_for="jax>=0.8"),
        "✗ “x[11] is the last”",
    ),
    "a claim not made for no reason": (changed("claims", outcome="not made"), "no reason given"),
    "a claim never reached": (chapter(claims=[]), "claim never reached: “x[11] is the last”"),
    "a tagged cell that did not raise": (
        changed("errors", names=[]),
        "should raise IndexError, raised nothing",
    ),
    "an untagged error": (
        changed("errors", tagged=False, declared=""),
        "should raise nothing, raised IndexError: index 3 is",
    ),
    "another class": (
        changed("errors", names=["XlaRuntimeError"]),
        "raised XlaRuntimeError instead of IndexError",
    ),
    "a class that is not named": (changed("errors", declared=""), "instead of a “# raises:” line"),
    "an explanation of another bit": (
        changed("errors", explained=["float-index", "out-of-bounds-read"]),
        "explain ranks float-index first for IndexError, not out-of-bounds-read",
    ),
    "no explanation": (changed("errors", explained=[]), "explain does not recognize IndexError"),
    "an explanation that fails": (
        changed("errors", explained="KeyError: 1"),
        "explain failed on IndexError: KeyError: 1",
    ),
    "a chapter that broke": (chapter(broken="the kernel died"), "the kernel died"),
    "a failed test": (
        record(tests={"passed": 2, "skipped": 0, "failed": {"a::b": "1 == 2"}}),
        "1 == 2",
    ),
}
DECLARED = {
    "a claim made for others": (
        changed("claims", outcome="not made", made_for="jax>=0.8"),
        "– “x[11] is the last” (made for jax>=0.8)",
    ),
    "other words": (
        changed("errors", message="index 3 too large"),
        "the message of IndexError differs",
    ),
    "other text": (
        chapter(printed=[{"section": "A read", "stored": "1", "here": "2"}]),
        "prints different text",
    ),
}


def test_nothing_differs_from_itself():
    assert find_differences(record(), record()) == []


@pytest.mark.parametrize("kind", UNDECLARED)
def test_undeclared(kind):
    run, said = UNDECLARED[kind]
    found = find_differences(run, record())
    assert [difference.declared for difference in found] == [False]
    assert said in found[0].what


@pytest.mark.parametrize("kind", DECLARED)
def test_declared(kind):
    run, said = DECLARED[kind]
    found = find_differences(run, record())
    assert [difference.declared for difference in found] == [True]
    assert said in found[0].what


def test_the_place_is_said():
    assert find_differences(UNDECLARED["another class"][0])[0].where == "04-out-of-bounds · A read"


@pytest.mark.parametrize(
    "changes",
    [
        {"names": ["XlaRuntimeError", "IndexError"]},
        {"message": "index 3 is out of bounds.\nSee https://docs.jax.dev/en/101/errors.html"},
        {"comparison": True, "explained": []},
        {"bits": [], "explained": ["float-index"]},
    ],
    ids=["a public name of the class", "another link", "for comparison", "no bit in the section"],
)
def test_what_is_no_difference(changes):
    assert find_differences(changed("errors", **changes), record()) == []


def test_the_bit_of_the_section_must_come_first():
    run = chapter(errors=[ERROR | {"explained": ["float-index", *ERROR["bits"]]}])
    assert [d.declared for d in find_differences(run, run)] == [False]


def test_another_text_of_the_chapter_is_not_held_against_the_book():
    run = chapter(code="def", claims=[], errors=[ERROR | {"message": "other"}])
    assert find_differences(run, record()) == []


def test_one_extra_error_does_not_shift_the_others():
    extra = ERROR | {"tagged": False, "message": "out of memory"}
    found = find_differences(chapter(errors=[extra, ERROR]), record())
    assert [d.what for d in found] == ["should raise nothing, raised IndexError: out of memory"]


def test_only_environments_with_nothing_undeclared_count_as_tested():
    runs = {"lock": record(), "colab": UNDECLARED["a failed claim"][0]}
    assert [t["jax"] for t in fully_checked_environments(runs)] == ["0.10.2"]
    assert fully_checked_environments({"colab": UNDECLARED["a failed test"][0]})
    runs["colab"] = DECLARED["a claim made for others"][0] | {"backend": "gpu", "device": "H1"}
    assert [t["backend"] for t in fully_checked_environments(runs)] == ["cpu", "gpu"]
    assert CLAIM["outcome"] == "held", "the records of other tests are untouched"
