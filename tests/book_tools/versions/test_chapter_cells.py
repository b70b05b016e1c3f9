"""Test reading a chapter's cells with their sections, and normalizing their outputs."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from book_tools.chapters.chapter_files import ChapterFiles
from book_tools.versions.chapter_cells import normalize_message, printed_text, read_chapter_cells
from book_tools.versions.run_record import (
    ChapterResult,
    as_json_value,
    bits_of_section,
    first_difference,
    record_cell,
)
from jaxbits._claims_display import AlsoSharp, Outcome, Outcomes

TEXT = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
---

# A chapter

```{code-cell} ipython3
import jax
```

## First `x[i]`

```
# no heading: this is code
```

### Deeper

```{code-cell} ipython3
:tags: [raises-exception, comparison]
# raises: IndexError
[][1]
```

## Second

```{code-cell} ipython3
print(1)
```

```{code-cell} ipython3
print(1)
```
"""


@pytest.fixture
def pair(tmp_path):
    found = ChapterFiles(tmp_path / "01-toy.md")
    found.source.write_text(TEXT, "utf8")
    return found


def test_sections_tags_and_classes(pair):
    chapter = read_chapter_cells(pair)
    first, second, third, _ = chapter.cells.values()
    assert chapter.title == "A chapter"
    assert first.headings == ()
    assert second.headings == ("Deeper", "First `x[i]`")
    assert third.headings == ("Second",)
    assert second.declared == "IndexError"
    assert second.tags == {"raises-exception", "comparison"}
    assert first.stored is None


def test_stored_outputs_are_matched_by_source_in_order(pair):
    cells = [new_code_cell("print(1)", outputs=[new_output("stream", text=t)]) for t in "ab"]
    nbformat.write(new_notebook(cells=cells), pair.stored)
    assert [c.stored for c in read_chapter_cells(pair).cells.values()] == [None, None, "a", "b"]


def test_torch_is_wanted_where_a_cell_imports_it(pair):
    assert not read_chapter_cells(pair).uses_torch
    pair.source.write_text(TEXT.replace("[][1]", "from torch import nn") + "\nimport torch\n")
    assert read_chapter_cells(pair).uses_torch
    pair.source.write_text(TEXT + "\nimport torch\n")
    assert not read_chapter_cells(pair).uses_torch, "prose does not import"


def test_the_digest_is_of_the_code_alone(pair):
    before = read_chapter_cells(pair).code_digest
    pair.source.write_text(TEXT.replace("## Second", "## Other"))
    assert read_chapter_cells(pair).code_digest == before
    pair.source.write_text(TEXT.replace("print(1)", "print(2)"))
    assert read_chapter_cells(pair).code_digest != before


def test_messages_lose_folders_and_keep_addresses_of_pages():
    seen = "at /some/where/lib/a.py:3 (f); See https://docs.jax.dev/en/latest/errors.html"
    assert (
        normalize_message(seen) == "at a.py:3 (f); See https://docs.jax.dev/en/latest/errors.html"
    )


def test_claims_are_compared_for_themselves():
    seen = Outcomes(
        [
            Outcome("take-fills", "one", "failed", "1", "2"),
            Outcome("take-fills", "two", "not made", made_for="jax<1"),
        ]
    )
    row = ("x[1.0]", "an error", Outcome("float-index", "three", "failed", "1", "2"))
    shown = [
        {"text/html": thing._repr_html_(), "text/plain": repr(thing)}
        for thing in (seen, AlsoSharp([row]))
    ]
    outputs = [
        new_output("stream", text="a\n✓ answered\n"),
        *(new_output("display_data", data=data) for data in shown),
        new_output("stream", text="b\n"),
    ]
    assert printed_text(outputs) == "a\nb"


def test_a_title_that_folding_adds_changes_nothing(pair):
    plain = read_chapter_cells(pair)
    pair.source.write_text(TEXT.replace("[raises-exception, comparison]", "[hide-input]"), "utf8")
    folded = read_chapter_cells(pair)
    assert folded.notebook.cells[3].source.startswith("#@title ")
    assert folded.code_digest == plain.code_digest
    assert list(folded.cells.values())[1].source == list(plain.cells.values())[1].source
    nbformat.write(folded.notebook, pair.stored)
    assert list(read_chapter_cells(pair).cells.values())[1].stored == ""


@pytest.mark.parametrize(
    ("stored", "here", "same"),
    [
        ("[2.4401896 0.5]", "[2.4401898  0.5 ]", True),
        ("loss 1.5e-03", "loss 1.500001e-03", True),
        ("1.9", "1.91", False),
        ("[1. 2.]", "[1. 2. 3.]", False),
        ("f32[3]", "f32[4]", False),
        ("jax 0.7.2", "jax 0.7.3", False),
        ("nan", "0.", False),
    ],
)
def test_the_last_digit_of_a_number_is_no_difference(stored, here, same):
    assert (first_difference(stored, here) is None) is same


def test_what_is_printed_is_text_alone():
    outputs = [
        new_output("stream", name="stdout", text="a\n"),
        new_output("stream", name="stderr", text="a warning\n"),
        new_output("display_data", data={"image/svg+xml": "<svg/>", "text/plain": "Picture"}),
        new_output("execute_result", data={"text/plain": "<f at 0x7f01deadbeef>"}),
        new_output("error", ename="E", evalue="v"),
    ]
    assert printed_text(outputs) == "a\n<f at 0x…>"


def noted(pair, index, outputs, claims=(), probed=()):
    seen = ChapterResult("t", "c")
    cell = list(read_chapter_cells(pair).cells.values())[index]
    record_cell(seen, "01-toy", cell, outputs, list(claims), list(probed))
    return seen


def test_an_error_is_noted_with_what_the_probe_saw(pair):
    probe = {"names": ["X", "IndexError"], "message": "at /a/b/c.py", "explained": ["bit"]}
    shown = new_output("error", ename="X", evalue="m")
    (error,) = noted(pair, 1, [shown], probed=[probe]).errors
    assert (error.names, error.message) == (["X", "IndexError"], "at c.py")
    assert (error.section, error.declared, error.comparison) == ("Deeper", "IndexError", True)


def test_an_error_that_the_probe_missed_is_noted_as_shown(pair):
    (error,) = noted(pair, 0, [new_output("error", ename="X", evalue="m")]).errors
    assert (error.names, error.message, error.tagged) == (["X"], "m", False)


def test_a_tagged_cell_that_did_not_raise_is_noted(pair):
    (error,) = noted(pair, 1, []).errors
    assert error.names == []


def test_what_held_is_recorded_without_its_value(pair):
    line = {"bit": "b", "claim": "c", "made_for": "", "seen": "1", "expected": "1"}
    claims = [line | {"outcome": outcome} for outcome in ("held", "failed")]
    seen = noted(pair, 2, [], claims=claims)
    held, failed = seen.claims
    assert (held.seen, held.expected, held.section) == ("", "", "Second")
    assert as_json_value(seen)["claims"][0] == {
        "bit": "b", "claim": "c", "section": "Second", "outcome": "held",
    }  # fmt: skip
    assert (failed.seen, failed.expected) == ("1", "1")


def test_a_failed_magic_breaks_the_chapter(pair):
    outputs = [new_output("stream", name="stderr", text="UsageError: Line magic not found\n")]
    assert noted(pair, 2, outputs).broken == "a magic failed in 'Second'"


def test_printed_text_that_differs_is_noted_by_its_first_line(pair):
    stored = new_code_cell("print(1)", outputs=[new_output("stream", text="1\n2\n3")])
    nbformat.write(new_notebook(cells=[stored]), pair.stored)
    seen = noted(pair, 2, [new_output("stream", text="1\n5")])
    assert seen.printed == [{"section": "Second", "stored": "2", "here": "5"}]
    assert noted(pair, 2, [new_output("stream", text="1\n2\n3\n")]).printed == []


def test_the_nearest_heading_with_a_bit_counts():
    from jaxbits._catalogue import load

    bit = next(b for b in load().values() if b.section != "Also sharp")
    assert bits_of_section(bit.chapter, ("A heading without", bit.section)) == [bit.id]
    assert bits_of_section(bit.chapter, ("A heading without",)) == []
