"""Test how the page *Behavior by version* is generated, and compare it with the committed one."""

import re
from pathlib import Path

import pytest
from version_records import changed_chapter, changed_record, record

from book_tools.pages import behavior_by_version
from book_tools.pages.behavior_by_version import versions_page as page
from book_tools.versions import run_versions as program
from book_tools.versions.compare_runs import fully_checked_environments
from book_tools.versions.version_noise import without_noise

ROOT = Path(__file__).resolve().parents[3]
BOOK = {"lock": record()}


def test_versions_page_without_records():
    assert "`make versions`" in page({})


def test_versions_page_without_differences():
    text = page(BOOK)
    assert "## Out of bounds" in text
    assert "Nothing differs." in text
    assert '<th scope="row">jax</th><td>0.10.2</td>' in text
    assert '<th scope="row">torch</th><td>–</td>' in text
    assert "1 held" in text
    assert "3 passed" in text


def test_versions_page_lists_claim_not_made(monkeypatch):
    monkeypatch.setattr(behavior_by_version, "_headings", lambda stem: {"A read"})
    run = changed_record("claims", outcome="not made", made_for="jax>=0.8")
    text = page(BOOK | {"colab": run})
    assert "Nothing differs." not in text
    assert '<a href="../chapters/04-out-of-bounds.html#a-read">A read</a>' in text
    assert "<td>jax&gt;=0.8</td><td>holds</td><td>not made</td>" in text


def test_versions_page_links_also_sharp_row_to_bit():
    run = changed_record("claims", outcome="not made", made_for="jax<1", section="Also sharp")
    assert "04-out-of-bounds.html#out-of-bounds-read" in page({"colab": run})


def test_versions_page_shows_failed_claim():
    text = page(
        BOOK | {"colab": changed_record("claims", outcome="failed", seen="1", expected="2")}
    )
    assert "1 difference that the book does not state yet" in text
    assert "<td>all versions</td><td>holds</td><td>fails: saw 1</td>" in text


def test_versions_page_shows_claim_not_reached():
    run = changed_record("claims", claim="another")
    assert "<td>holds</td><td>not reached</td>" not in page(
        BOOK | {"colab": changed_chapter(claims=[])}
    )
    run["chapters"]["04-out-of-bounds"]["claims"][0]["outcome"] = "failed"
    assert "<td>not reached</td><td>fails: saw nothing</td>" in page(BOOK | {"colab": run})


def test_versions_page_begins_with_an_index_of_names():
    restricted = {"outcome": "not made", "made_for": "jax>=0.8"}
    run = changed_record("claims", claim="pmap and jnp.take differ", **restricted)
    run["chapters"]["04-out-of-bounds"]["errors"][0] |= {"bits": ["take-fills"], "message": "no"}
    text = page(BOOK | {"colab": run})
    index = text[: text.index("## Tested environments")]
    assert re.findall(r"<summary><code>(.*?)</code>", index) == ["pmap", "jnp.take"]
    claim = '<a href="#claim-04-1">pmap and jnp.take differ</a> (jax&gt;=0.8)</li>'
    assert index.count(claim) == 2
    for anchor in re.findall(r'href="#([^"]+)"', index):
        assert f'id="{anchor}"' in text


def test_index_of_names_says_where_a_claim_without_a_name_comes_from():
    unnamed = {"claim": "it raises", "bit": "pmap-one-row-per-device", "section": "Rows"}
    run = changed_record("claims", outcome="not made", made_for="jax>=0.8", **unnamed)
    text = page(BOOK | {"colab": run})
    assert '<a href="#claim-04-1">it raises</a>, in “Rows” (jax&gt;=0.8)</li>' in text
    only_device = changed_record("claims", outcome="not made", made_for="backend gpu", **unnamed)
    assert "## By function or feature" not in page(BOOK | {"colab": only_device})


def test_recorded_index_shows_what_changed_for_pmap():
    text = program.recorded_page(ROOT)
    entry = text.partition("<summary><code>pmap</code>")[2].partition("</details>")[0]
    assert "pmap is built on shard_map" in entry


def test_versions_page_counts_failed_tests():
    failed = {"passed": 2, "skipped": 1, "failed": {"a::b": "1 == 2"}}
    text = page(BOOK | {"colab": record(title="Colab", tests=failed)})
    assert "<td>2 passed, 1 skipped, 1 failed</td>" in text
    assert "a::b" not in text


def test_versions_page_names_gpu_device():
    assert "<td>CPU</td>" in page(BOOK)
    gpu = record(title="GPU", backend="gpu", device="NVIDIA <X>")
    assert "<td>GPU (NVIDIA &lt;X&gt;)</td>" in page(BOOK | {"accelerator": gpu})


def test_versions_page_escapes_error_messages():
    run = changed_record("errors", message="index <3>\n\nis _too_ large\nSee https://a.b/c")
    text = page(BOOK | {"colab": run, "newest": record(title="Newest")})
    found = re.findall(r"<dt>(.*?)</dt>\n<dd><code>(.*?)</code></dd>", text)
    assert found == [
        ("The book, Newest", "IndexError: index 3 is out of bounds."),
        ("Colab", "IndexError: index &lt;3&gt;"),
    ]
    block = text[text.index('<div class="by-version">') : text.index("</div>")]
    assert "\n\n" not in block, "a blank line would end the HTML block"


def test_versions_page_shows_differing_output():
    run = changed_chapter(printed=[{"section": "A read", "stored": "a < b", "here": "a > b"}])
    assert "<code>a &lt; b</code></td><td><code>a &gt; b</code>" in page(BOOK | {"colab": run})


@pytest.mark.parametrize(
    ("stored", "here"),
    [
        ("In[7]:3  if value > 1.0:", "968754234.py:3  if value > 1.0:"),
        ("1 [JitTracer(float32[])]", "1 [JitTracer<float32[]>]"),
        ("['f-string     JitTracer(~float32[])']", "['f-string     JitTracer<~float32[]>']"),
        ("<object at 0x7f0112345678>", "<object at 0x…>"),
        ("it took 1.5 s", "it took 20 ms"),
    ],
)
def test_versions_page_leaves_out_noise_in_output(stored, here):
    run = changed_chapter(printed=[{"section": "A read", "stored": stored, "here": here}])
    assert "Nothing differs." in page(BOOK | {"colab": run})


def test_versions_page_leaves_out_code_locations_in_messages():
    message = "leaked\n<cell>:3:22 (Net.loss)\nsee JitTracer(int32[])"
    other = "leaked\n…/IPython/core/shell.py:34:29 (run)\nsee JitTracer<int32[]>"
    book = {"lock": changed_record("errors", message=message) | {"title": "The book"}}
    assert "Nothing differs." in page(book | {"colab": changed_record("errors", message=other)})
    longer = changed_record("errors", message=f"{other}\nand more")
    text = page(book | {"colab": longer})
    assert "<code>and more</code>" in text
    assert "The message ends before this line." in text


def test_versions_page_shows_each_line_once():
    first, second, third = (
        changed_record("errors", message=f"same {end}") for end in ("a\nx", "b\ny", "a\nz")
    )
    lock, newest = first | {"title": "The book"}, third | {"title": "Newest"}
    text = page({"lock": lock, "colab": second, "newest": newest})
    assert "<dt>The book, Newest</dt>\n<dd><code>IndexError: same a</code>" in text
    assert text.count("<code>IndexError: same a</code>") == 1


def test_recorded_differences_are_not_noise():
    records = program.read_records(ROOT / "reference" / "versions")
    text = program.recorded_page(ROOT)
    rows = re.findall(r"<tr>.*?<code>(.*?)</code></td><td><code>(.*?)</code></td></tr>", text)
    assert len(records) > 1
    assert len(rows) > 10
    for stored, here in rows:
        assert without_noise(stored) != without_noise(here)
        assert not re.search(r"In\[\d+\]|\b\d{5,}\.py", stored + here)


def test_versions_page_ignores_chapter_missing_from_run():
    assert "Nothing differs." in page(BOOK | {"colab": record(title="Colab", chapters={})})


def test_recorded_page_matches_committed_page():
    records = program.read_records(ROOT / "reference" / "versions")
    assert records, "no records found; run: make versions"
    committed = (ROOT / "reference" / "behaviour-by-version.md").read_text("utf8")
    assert committed == program.recorded_page(ROOT), "run: python -m book_tools versions --page"


def test_tested_json_matches_fully_checked_environments():
    listed = (ROOT / "src" / "jaxbits" / "tested.json").read_text("utf8")
    records = program.read_records(ROOT / "reference" / "versions")
    assert fully_checked_environments(records), (
        "an environment differs from the book; run: make versions"
    )
    assert listed == program.record_json({"environments": fully_checked_environments(records)})


def test_records_contain_no_machine_paths():
    machine_path = re.compile(r"/(?:home|root|Users|tmp)/\w|[A-Z]:\\\\")
    for path in (ROOT / "reference" / "versions").glob("*.json"):
        assert not machine_path.search(path.read_text("utf8")), path.name


def test_link_to_section_that_a_chapter_no_longer_has_leads_to_the_chapter():
    assert behavior_by_version._link("12-async-dispatch", "A section of an old run") == (
        '<a href="../chapters/12-async-dispatch.html">A section of an old run</a>'
    )
    assert behavior_by_version._link("12-async-dispatch", "Also sharp").endswith(
        'html#also-sharp">Also sharp</a>'
    )
