import importlib.metadata
import importlib.util
import json
import re
import sys
import types
from pathlib import Path

import pytest

from jaxbits import _accelerators, _catalogue, explain, runtime
from jaxbits._analysis.finding import Finding
from jaxbits._claims_display import advice
from jaxbits._report import Report
from jaxbits.book import measurements

ROOT = Path(__file__).resolve().parents[2]


def test_the_report_names_versions_device_and_what_was_checked(capsys):
    runtime.report()
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("jaxbits ")
    assert "jax " in first
    assert second.startswith("Device: ")
    assert "checked on jax" in third


@pytest.mark.parametrize("module", ["jax_plugins", "libtpu", None])
@pytest.mark.parametrize("on", ["cpu", "gpu"])
def test_an_accelerator_needs_a_plug_in_and_a_device(monkeypatch, module, on):
    monkeypatch.setattr(runtime, "backend", lambda: on)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True if name == module else None)
    assert runtime.on_accelerator() == (module is not None and on == "gpu")


@pytest.mark.parametrize("on", ["gpu", "tpu"])
def test_on_an_accelerator_the_report_says_what_differs(capsys, monkeypatch, on):
    monkeypatch.setattr(runtime, "backend", lambda: on)
    runtime.report()
    lines = capsys.readouterr().out.splitlines()
    said = [line.removeprefix("  - ") for line in lines if line.startswith("  - ")]
    assert said == _accelerators.differences(on)
    assert lines[lines.index(f"  - {said[0]}") - 1] == f"What the book says about a {on.upper()}:"
    assert any("Chapter 10 (precision)" in line and "round" in line for line in said)
    other = {"gpu": "A TPU", "tpu": "GPU"}[on]
    assert not any(other in line for line in said)


def test_in_colab_the_report_says_how_to_choose_a_device_and_how_to_go_on(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    runtime.report()
    said = capsys.readouterr().out
    assert "Runtime > Change runtime type" in said
    assert 'If "Run all" stops at one' in said


def source(stem):
    return (ROOT / "chapters" / f"{stem}.md").read_text("utf8")


@pytest.mark.parametrize(
    "one", _accelerators.DIFFERENCES, ids=lambda one: f"{one.chapter}-{one.text[:30]}"
)
def test_each_difference_rests_on_the_words_of_its_chapter(one):
    assert one.source in source(one.chapter), f"{one.chapter} no longer says {one.source!r}"
    assert set(one.backends) <= {"gpu", "tpu"}


def test_the_chapters_with_claims_for_cpus_are_named():
    stems = sorted(path.stem for path in (ROOT / "chapters").glob("*.md"))
    claims = re.compile(r"""backend="cpu"|\{"backend": "cpu"\}""")
    assert (
        tuple(s[:2] for s in stems if claims.search(source(s)))
        == _accelerators.CHAPTERS_WITH_CPU_CLAIMS
    )


def test_what_was_tested_is_recorded_with_all_that_is_said_of_it():
    for environment in runtime.tested():
        assert {"python", "jax", "flax", "backend"} <= set(environment)


def test_a_checkout_knows_no_address():
    assert runtime.site() is None
    assert runtime.repository() is None


@pytest.fixture
def published(monkeypatch):
    """The library as it is in the wheel of a published book."""
    about = {"site": "https://owner.github.io/name/", "repository": "https://github.com/owner/name"}
    monkeypatch.setattr(runtime, "_published", lambda: about)


@pytest.mark.usefixtures("published")
def test_the_published_library_links_to_its_book():
    assert runtime.site() == "https://owner.github.io/name"
    bit = _catalogue.find_bit("out-of-bounds-read")
    address = f"https://owner.github.io/name/{bit.page}"
    assert bit.link == address
    shown = explain("IndexError: index 3 is out of bounds for axis 0 with size 3")
    assert all(f"Read: {known.link}" in str(shown) for known in shown.bits)
    finding = Finding("error", "m", "e", "f", catalogue_id=bit.id, check="out_of_bounds")
    assert f"read: {address}" in str(finding)
    report = Report("f", (finding,), ("out_of_bounds",))
    assert f'<a href="{address}">chapter 04, ' in report._repr_html_()
    assert finding.to_dict()["link"] == address
    assert "report it at https://github.com/owner/name/issues" in advice()


def test_a_copy_without_an_address_names_the_section():
    bit = _catalogue.find_bit("out-of-bounds-read")
    where = 'chapter 04, "A read past the end returns the last element"'
    assert (bit.link, bit.reference) == ("", where)
    finding = Finding("error", "m", "e", "f", catalogue_id=bit.id, check="out_of_bounds")
    assert f"read: {where}" in str(finding)
    assert finding.to_dict()["link"] == ""
    shown = Report("f", (finding,), ("out_of_bounds",))._repr_html_()
    assert "<dt>read</dt><dd>chapter 04, &quot;A read past the end" in shown
    assert "<a" not in shown
    assert "http" not in advice()


@pytest.mark.parametrize("name", ["import_time", "jit_speed", "retraces", "unrolled_loop"])
def test_a_recorded_run_names_its_machine_and_versions(name):
    run = measurements.load(name)
    line = measurements.machine(run)
    assert run["machine"]["cpu"] in line
    assert run["versions"]["jax"] in line
    assert run["date"] in line
    json.dumps(run)


def test_an_unknown_run_is_answered_with_those_there_are():
    with pytest.raises(
        FileNotFoundError, match="there are array_updates, async_dispatch, audit_cost"
    ):
        measurements.load("nothing")
