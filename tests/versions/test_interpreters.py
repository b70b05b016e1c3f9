"""Test the search for interpreters, and the reason given if there is none."""

import os
import sys
from pathlib import Path

import pytest

from book_tools.environment import interpreters

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes interpreters from shell scripts")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def python(path: Path, version: str) -> Path:
    """Create a script that answers like a Python of the given version."""
    return script(path, f"echo {version}; echo {path}")


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch, tmp_path):
    """A PATH without interpreters or pyenv, to which each test adds what it needs."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("PYENV_ROOT", raising=False)


def test_a_missing_interpreter_is_named_in_one_line():
    with pytest.raises(interpreters.NotHere) as caught:
        interpreters.find(["3.98", "3.99"])
    assert str(caught.value) == "no Python 3.98 or 3.99 on PATH or in pyenv"


def test_on_path(tmp_path):
    here = python(tmp_path / "bin" / "python3.13", "3.13")
    assert interpreters.find(["3.13"]) == here


def test_an_interpreter_of_another_version_is_not_taken(tmp_path):
    python(tmp_path / "bin" / "python3", "3.10")
    with pytest.raises(interpreters.NotHere):
        interpreters.find(["3.13"])


def test_a_shim_that_fails_is_passed_over_for_pyenv(tmp_path):
    script(tmp_path / "bin" / "python3.13", "exit 127")
    root = tmp_path / "pyenv"
    python(root / "versions/3.13.2/bin/python3.13", "3.13")
    newest = python(root / "versions/3.13.10/bin/python3.13", "3.13")
    python(root / "versions/3.13.0rc1/bin/python3.13", "3.13")
    assert interpreters.find(["3.13"], root) == newest


def test_pyenv_is_asked_where_it_is(monkeypatch, tmp_path):
    assert interpreters.pyenv_root() is None
    script(tmp_path / "bin" / "pyenv", 'test "$1" = root && echo /some/where')
    assert interpreters.pyenv_root() == Path("/some/where")
    monkeypatch.setenv("PYENV_ROOT", "/else/where")
    assert interpreters.pyenv_root() == Path("/else/where")


def test_the_first_version_listed_that_is_here_is_taken(tmp_path):
    python(tmp_path / "bin" / "python3.14", "3.14")
    second = python(tmp_path / "bin" / "python3.13", "3.13")
    assert interpreters.find(["3.12", "3.13", "3.14"]) == second


def test_the_real_one_is_found(monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    found = interpreters.find([HERE])
    assert interpreters.answer(found, "print(6 * 7)") == "42"


def test_an_accelerator_is_what_is_not_a_cpu(tmp_path):
    cpu, none = script(tmp_path / "a", "echo cpu"), script(tmp_path / "b", "exit 1")
    noisy = script(tmp_path / "c", "echo a warning; echo gpu")
    assert interpreters.with_accelerator([cpu, none, noisy]) == noisy
    with pytest.raises(interpreters.NotHere) as caught:
        interpreters.with_accelerator([cpu, none])
    assert str(caught.value) == ("no accelerator: JAX sees only a CPU, no JAX in another Python")


def test_the_search_for_an_accelerator_is_not_held_to_the_cpu(monkeypatch, tmp_path):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    asks = script(tmp_path / "a", 'test -z "$JAX_PLATFORMS" && echo gpu || echo cpu')
    assert interpreters.with_accelerator([asks]) == asks
