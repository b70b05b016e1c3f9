"""Test the report on the runtime environment, the library's links, and recorded measurements."""

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


def test_report_names_versions_device_and_tested_environments(capsys):
    runtime.report()
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("jaxbits ")
    assert "jax " in first
    assert second.startswith("Device: ")
    assert "checked on jax" in third


@pytest.mark.parametrize("module", ["jax_plugins", "libtpu", None])
@pytest.mark.parametrize("backend", ["cpu", "gpu"])
def test_on_accelerator_needs_plugin_and_device(monkeypatch, module, backend):
    monkeypatch.setattr(runtime, "backend", lambda: backend)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True if name == module else None)
    assert runtime.on_accelerator() == (module is not None and backend == "gpu")


@pytest.mark.parametrize("backend", ["gpu", "tpu"])
def test_report_lists_differences_on_accelerator(capsys, monkeypatch, backend):
    monkeypatch.setattr(runtime, "backend", lambda: backend)
    runtime.report()
    lines = capsys.readouterr().out.splitlines()
    differences = [line.removeprefix("  - ") for line in lines if line.startswith("  - ")]
    assert differences == _accelerators.differences(backend)
    assert (
        lines[lines.index(f"  - {differences[0]}") - 1]
        == f"What the book says about a {backend.upper()}:"
    )
    assert any("Chapter 10 (precision)" in line and "round" in line for line in differences)
    other_backend = {"gpu": "A TPU", "tpu": "GPU"}[backend]
    assert not any(other_backend in line for line in differences)


def test_report_gives_instructions_in_colab(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    runtime.report()
    output = capsys.readouterr().out
    assert "Runtime > Change runtime type" in output
    assert 'If "Run all" stops at one' in output


def chapter_source(stem):
    return (ROOT / "chapters" / f"{stem}.md").read_text("utf8")


@pytest.mark.parametrize(
    "difference",
    _accelerators.DIFFERENCES,
    ids=lambda difference: f"{difference.chapter}-{difference.text[:30]}",
)
def test_accelerator_differences_quote_their_chapters(difference):
    assert difference.source in chapter_source(difference.chapter), (
        f"{difference.chapter} no longer says {difference.source!r}"
    )
    assert set(difference.backends) <= {"gpu", "tpu"}


def test_chapters_with_cpu_claims_are_listed():
    stems = sorted(path.stem for path in (ROOT / "chapters").glob("*.md"))
    claims = re.compile(r"""backend="cpu"|\{"backend": "cpu"\}""")
    assert (
        tuple(s[:2] for s in stems if claims.search(chapter_source(s)))
        == _accelerators.CHAPTERS_WITH_CPU_CLAIMS
    )


def test_tested_environments_have_all_fields():
    for environment in runtime.tested():
        assert {"python", "jax", "flax", "backend"} <= set(environment)


def test_site_and_repository_are_none_in_checkout():
    assert runtime.site() is None
    assert runtime.repository() is None


@pytest.fixture
def published(monkeypatch):
    """Give the library the addresses of a published book, as the book's wheel does."""
    addresses = {
        "site": "https://owner.github.io/name/",
        "repository": "https://github.com/owner/name",
    }
    monkeypatch.setattr(runtime, "_published", lambda: addresses)


@pytest.mark.usefixtures("published")
def test_published_library_links_to_book():
    assert runtime.site() == "https://owner.github.io/name"
    bit = _catalogue.find_bit("out-of-bounds-read")
    url = f"https://owner.github.io/name/{bit.page}"
    assert bit.link == url
    explanation = explain("IndexError: index 3 is out of bounds for axis 0 with size 3")
    assert all(f"Read: {sharp_bit.link}" in str(explanation) for sharp_bit in explanation.bits)
    finding = Finding("error", "m", "e", "f", catalogue_id=bit.id, check="out_of_bounds")
    assert f"read: {url}" in str(finding)
    report = Report("f", (finding,), ("out_of_bounds",))
    assert f'<a href="{url}">chapter 04, ' in report._repr_html_()
    assert finding.to_dict()["link"] == url
    assert "report it at https://github.com/owner/name/issues" in advice()


def test_library_without_site_names_chapter_and_section():
    bit = _catalogue.find_bit("out-of-bounds-read")
    section = 'chapter 04, "A read past the end returns the last element"'
    assert (bit.link, bit.reference) == ("", section)
    finding = Finding("error", "m", "e", "f", catalogue_id=bit.id, check="out_of_bounds")
    assert f"read: {section}" in str(finding)
    assert finding.to_dict()["link"] == ""
    html = Report("f", (finding,), ("out_of_bounds",))._repr_html_()
    assert "<dt>read</dt><dd>chapter 04, &quot;A read past the end" in html
    assert "<a" not in html
    assert "http" not in advice()


@pytest.mark.parametrize("name", ["import_time", "jit_speed", "retraces", "unrolled_loop"])
def test_machine_names_cpu_versions_and_date_of_run(name):
    run = measurements.load(name)
    line = measurements.machine(run)
    assert run["machine"]["cpu"] in line
    assert run["versions"]["jax"] in line
    assert run["date"] in line
    json.dumps(run)


def test_measurements_load_lists_runs_for_unknown_name():
    with pytest.raises(
        FileNotFoundError, match="name must be one of array_updates, async_dispatch, audit_cost"
    ):
        measurements.load("nothing")
