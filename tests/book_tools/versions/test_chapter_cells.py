"""Test how a chapter's cells and their sections are read and how their outputs are normalized."""

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
    files = ChapterFiles(tmp_path / "01-toy.md")
    files.source.write_text(TEXT, "utf8")
    return files


def test_read_chapter_cells_finds_headings_tags_and_errors(pair):
    chapter = read_chapter_cells(pair)
    first, second, third, _ = chapter.cells.values()
    assert chapter.title == "A chapter"
    assert first.headings == ()
    assert second.headings == ("Deeper", "First `x[i]`")
    assert third.headings == ("Second",)
    assert second.declared == "IndexError"
    assert second.tags == {"raises-exception", "comparison"}
    assert first.stored is None


def test_read_chapter_cells_matches_stored_outputs_in_order(pair):
    cells = [new_code_cell("print(1)", outputs=[new_output("stream", text=t)]) for t in "ab"]
    nbformat.write(new_notebook(cells=cells), pair.stored)
    assert [c.stored for c in read_chapter_cells(pair).cells.values()] == [None, None, "a", "b"]


def test_code_digest_ignores_prose(pair):
    before = read_chapter_cells(pair).code_digest
    pair.source.write_text(TEXT.replace("## Second", "## Other"))
    assert read_chapter_cells(pair).code_digest == before
    pair.source.write_text(TEXT.replace("print(1)", "print(2)"))
    assert read_chapter_cells(pair).code_digest != before


def test_normalize_message_drops_folders_and_keeps_urls():
    message = "at /some/where/lib/a.py:3 (f); See https://docs.jax.dev/en/latest/errors.html"
    assert (
        normalize_message(message)
        == "at a.py:3 (f); See https://docs.jax.dev/en/latest/errors.html"
    )


def test_printed_text_omits_claims():
    outcomes = Outcomes(
        [
            Outcome("take-fills", "one", "failed", "1", "2"),
            Outcome("take-fills", "two", "not made", made_for="jax<1"),
        ]
    )
    row = ("x[1.0]", "an error", Outcome("float-index", "three", "failed", "1", "2"))
    displayed = [
        {"text/html": display._repr_html_(), "text/plain": repr(display)}
        for display in (outcomes, AlsoSharp([row]))
    ]
    outputs = [
        new_output("stream", text="a\n✓ answered\n"),
        *(new_output("display_data", data=data) for data in displayed),
        new_output("stream", text="b\n"),
    ]
    assert printed_text(outputs) == "a\nb"


def test_read_chapter_cells_ignores_title_of_folded_cell(pair):
    plain = read_chapter_cells(pair)
    pair.source.write_text(TEXT.replace("[raises-exception, comparison]", "[hide-input]"), "utf8")
    folded = read_chapter_cells(pair)
    assert folded.notebook.cells[3].source.startswith("#@title ")
    assert folded.code_digest == plain.code_digest
    assert list(folded.cells.values())[1].source == list(plain.cells.values())[1].source
    nbformat.write(folded.notebook, pair.stored)
    assert list(read_chapter_cells(pair).cells.values())[1].stored == ""


@pytest.mark.parametrize(
    ("stored", "here", "is_same"),
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
def test_first_difference_ignores_rounding_of_floats(stored, here, is_same):
    assert (first_difference(stored, here) is None) is is_same


def test_first_difference_ignores_noise_and_order_of_lines():
    stored = "In[7]:3  x\n27 frames\nJitTracer(float32[])\nafter\nbefore"
    here = "96875423.py:3  x\n47 frames\nJitTracer<float32[]>\nbefore\nafter"
    assert first_difference(stored, here) is None
    assert first_difference(stored, here.replace("before", "later")) == {
        "stored": "after", "here": "later",
    }  # fmt: skip


def test_printed_text_omits_stderr_figures_and_errors():
    outputs = [
        new_output("stream", name="stdout", text="a\n"),
        new_output("stream", name="stderr", text="a warning\n"),
        new_output("display_data", data={"image/svg+xml": "<svg/>", "text/plain": "Picture"}),
        new_output("execute_result", data={"text/plain": "<f at 0x7f01deadbeef>"}),
        new_output("error", ename="E", evalue="v"),
    ]
    assert printed_text(outputs) == "a\n<f at 0x…>"


def record_outputs(pair, index, outputs, claims=(), probes=()):
    result = ChapterResult("t", "c")
    cell = list(read_chapter_cells(pair).cells.values())[index]
    record_cell(result, "01-toy", cell, outputs, list(claims), list(probes))
    return result


def test_record_cell_takes_error_from_probe(pair):
    probe = {"names": ["X", "IndexError"], "message": "at /a/b/c.py", "explained": ["bit"]}
    displayed = new_output("error", ename="X", evalue="m")
    (error,) = record_outputs(pair, 1, [displayed], probes=[probe]).errors
    assert (error.names, error.message) == (["X", "IndexError"], "at c.py")
    assert (error.section, error.declared, error.comparison) == ("Deeper", "IndexError", True)


def test_record_cell_takes_error_from_output_without_probe(pair):
    (error,) = record_outputs(pair, 0, [new_output("error", ename="X", evalue="m")]).errors
    assert (error.names, error.message, error.tagged) == (["X"], "m", False)


def test_record_cell_records_tagged_cell_without_error(pair):
    (error,) = record_outputs(pair, 1, []).errors
    assert error.names == []


def test_record_cell_omits_values_of_held_claims(pair):
    line = {"bit": "b", "claim": "c", "made_for": "", "seen": "1", "expected": "1"}
    claims = [line | {"outcome": outcome} for outcome in ("held", "failed")]
    result = record_outputs(pair, 2, [], claims=claims)
    held, failed = result.claims
    assert (held.seen, held.expected, held.section) == ("", "", "Second")
    assert as_json_value(result)["claims"][0] == {
        "bit": "b", "claim": "c", "section": "Second", "outcome": "held",
    }  # fmt: skip
    assert (failed.seen, failed.expected) == ("1", "1")


def test_record_cell_marks_chapter_broken_by_failed_magic(pair):
    outputs = [new_output("stream", name="stderr", text="UsageError: Line magic not found\n")]
    assert record_outputs(pair, 2, outputs).broken == "a magic failed in 'Second'"


def test_record_cell_records_first_line_that_differs(pair):
    stored = new_code_cell("print(1)", outputs=[new_output("stream", text="1\n2\n3")])
    nbformat.write(new_notebook(cells=[stored]), pair.stored)
    result = record_outputs(pair, 2, [new_output("stream", text="1\n5")])
    assert result.printed == [{"section": "Second", "stored": "2", "here": "5"}]
    assert record_outputs(pair, 2, [new_output("stream", text="1\n2\n3\n")]).printed == []


def test_bits_of_section_uses_nearest_heading_with_bit():
    from jaxbits._catalogue import load

    bit = next(b for b in load().values() if b.section != "Also sharp")
    assert bits_of_section(bit.chapter, ("A heading without", bit.section)) == [bit.id]
    assert bits_of_section(bit.chapter, ("A heading without",)) == []
