"""Test how chapters run in a different environment and how the differences are reported."""

import subprocess
import sys
from pathlib import Path

import pytest
from version_records import changed_record, record

from book_tools.chapters.chapter_files import ChapterFiles
from book_tools.environment.environments import Environment, Specification, child_variables
from book_tools.environment.interpreters import EnvironmentUnavailable
from book_tools.environment.provision import ProvisioningError
from book_tools.project_metadata import ROOT
from book_tools.versions import run_versions as program
from book_tools.versions.chapter_cells import read_chapter_cells
from book_tools.versions.run_in_environment import count_outcomes, run_chapter, run_tests

CELLS = {
    "setup": "import os, sys",
    "bad": "1 / 0",
    "silent": "# raises: ValueError",
    "alone": "print(os.listdir())",
    "claim": (
        'from jaxbits import claims\nclaims("out-of-bounds-read", {"one": (1, 1), "two": (1, 2)})'
    ),
}


@pytest.fixture
def this_environment():
    return Environment(
        Specification("lock", "lock", "T", "a"), Path(sys.executable), child_variables(False)
    )


def write_chapter(folder, *cells):
    tags = {"silent": ":tags: [raises-exception]\n"}
    blocks = (f"```{{code-cell}} ipython3\n{tags.get(n, '')}{c}\n```\n" for n, c in cells)
    front = "---\njupytext:\n  text_representation:\n    format_name: myst\n---\n"
    path = folder / "01-toy.md"
    path.write_text(front + "\n# Toy\n\n## Section\n\n" + "\n".join(blocks), "utf8")
    return read_chapter_cells(ChapterFiles(path))


def test_run_chapter_continues_after_error(this_environment, tmp_path):
    result = run_chapter(write_chapter(tmp_path, *CELLS.items()), this_environment)
    bad, silent = result.errors
    assert (bad.names, bad.message) == (["ZeroDivisionError"], "division by zero")
    assert bad.explained == [], "explain must run in the kernel and ignore Python's own errors"
    assert not bad.tagged
    assert (silent.declared, silent.names) == ("ValueError", [])
    assert [(c.claim, c.outcome) for c in result.claims] == [("one", "held"), ("two", "failed")]
    assert result.claims[1].section == "Section"
    assert result.broken == ""


def test_run_chapter_reports_dead_kernel(this_environment, tmp_path):
    result = run_chapter(
        write_chapter(tmp_path, ("die", "import os; os._exit(1)")), this_environment
    )
    assert "died" in result.broken.lower()


REPORT = """<testsuites><testsuite>
<testcase classname="a.b" name="one"/>
<testcase classname="a.b" name="two"><failure message="assert 1 == 2&#10;more"/></testcase>
<testcase classname="a.b" name="three"><skipped message="no"/></testcase>
</testsuite></testsuites>"""


def test_count_outcomes():
    assert count_outcomes(REPORT) == {
        "passed": 1,
        "skipped": 1,
        "failed": {"a.b::two": "assert 1 == 2"},
    }
    assert count_outcomes("<testsuites/>")["failed"] == {"pytest": "no test was found"}


def test_run_tests_ignores_project_pytest_plugins(this_environment, tmp_path):
    library = tmp_path / "tests" / "library"
    library.mkdir(parents=True)
    (library / "test_a.py").write_text(
        "def test_a():\n    import warnings\n    warnings.warn('w')\n"
    )
    assert run_tests(this_environment, tmp_path) == {"passed": 1, "skipped": 0, "failed": {}}
    (library / "test_b.py").write_text("import no_such_module_anywhere\n")
    assert list(run_tests(this_environment, tmp_path)["failed"].values()) == ["collection failure"]


@pytest.fixture
def project(monkeypatch, tmp_path):
    """Create a one-chapter project, and return its folder and the fake outcomes of its runs."""
    for folder in ("chapters", "reference/versions", "src/jaxbits/recorded"):
        (tmp_path / folder).mkdir(parents=True)
    write_chapter(tmp_path / "chapters", ("setup", "1"))
    outcomes = {}

    def prepare(specification, root, *, torch, say):
        if isinstance(outcomes[specification.name], Exception):
            raise outcomes[specification.name]
        return Environment(specification, Path(sys.executable), {})

    monkeypatch.setattr(program.provision, "prepare", prepare)
    monkeypatch.setattr(program, "record_scores", lambda *_: None)
    monkeypatch.setattr(program, "run_environment", lambda e, *_: outcomes[e.specification.name])
    outcomes |= {"lock": record(), "colab": record(name="colab", title="Colab")}
    outcomes |= {
        "newest": EnvironmentUnavailable("no Python 3.12"),
        "accelerator": EnvironmentUnavailable("no accelerator"),
    }
    return tmp_path, outcomes


def test_run_versions_passes_if_differences_are_declared(project, capsys):
    root, outcomes = project
    outcomes["colab"] = changed_record("claims", outcome="not made", made_for="jax>=0.8")
    assert program.main([], root) == 0
    output = capsys.readouterr().out
    assert "newest: skipped: no Python 3.12\n" in output
    assert "All differences are declared." in output
    written = sorted(p.name for p in (root / "reference").rglob("*") if p.is_file())
    assert written == ["behaviour-by-version.md", "colab.json", "lock.json"]


def test_run_versions_fails_on_undeclared_difference(project, capsys):
    root, outcomes = project
    outcomes["colab"] = changed_record("claims", outcome="failed", seen="1", expected="2")
    assert program.main([], root) == 1
    assert "UNDECLARED  colab" in capsys.readouterr().out


def test_run_versions_keeps_record_of_skipped_environment(project, capsys):
    root, _outcomes = project
    old = root / "reference" / "versions" / "newest.json"
    old.write_text(program.record_json(record(name="newest", title="Newest")))
    before = old.stat().st_mtime_ns, old.read_text()
    assert program.main([], root) == 0
    assert "keeping the record from 2026-08-01" in capsys.readouterr().out
    assert (old.stat().st_mtime_ns, old.read_text()) == before
    assert "Newest" in (root / "reference" / "behaviour-by-version.md").read_text()


def test_run_versions_fails_if_provisioning_fails(project, capsys):
    root, outcomes = project
    outcomes["newest"] = ProvisioningError("pip install jax: ERROR: no network")
    assert program.main([], root) == 1
    assert "newest: failed: pip install jax: ERROR: no network" in capsys.readouterr().out


def test_run_versions_of_single_chapter_records_nothing(project):
    root, _ = project
    assert program.main(["--chapter", "01"], root) == 0
    assert list((root / "reference").rglob("*.json")) == []


def test_run_versions_twice_changes_no_file(project):
    root, _ = project
    program.main([], root)
    files = [p for p in root.rglob("*") if p.is_file()]
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in files}
    program.main([], root)
    assert {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in files} == before


def test_run_versions_never_writes_partial_page(project, monkeypatch):
    root, _ = project
    program.main([], root)
    page = root / "reference" / "behaviour-by-version.md"
    before = page.read_text()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    record_file = root / "reference" / "versions" / "lock.json"
    record_file.write_text(program.record_json(record(title="Other")))
    with pytest.raises(OSError, match="disk full"):
        program.main(["--page"], root)
    assert page.read_text() == before
    assert not list(page.parent.glob(".*")), "the temporary file must be removed"


@pytest.mark.parametrize("arguments", [["--only", "nowhere"], ["--chapter", "99"]])
def test_run_versions_rejects_unknown_name(project, capsys, arguments):
    assert program.main(arguments, project[0]) == 2
    assert repr(arguments[1]) in capsys.readouterr().err


def test_run_versions_prints_help():
    done = subprocess.run(
        [sys.executable, "-m", "book_tools", "versions", "--help"],
        capture_output=True,
        cwd=ROOT,
        text=True,
    )
    assert done.returncode == 0
    assert "--chapter" in done.stdout
