"""Test how Python interpreters are found on PATH and in pyenv and how a missing one is reported."""

import os
import sys
from pathlib import Path

import pytest

from book_tools.environment import interpreters

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fake interpreters are shell scripts")


def write_script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def write_fake_python(path: Path, version: str) -> Path:
    """Create a script that responds like a Python interpreter of the given version."""
    return write_script(path, f"echo {version}; echo {path}")


@pytest.fixture(autouse=True)
def empty_machine(monkeypatch, tmp_path):
    """Hide the machine's interpreters and pyenv, so that each test finds only what it creates."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("PYENV_ROOT", raising=False)


def test_find_python_reports_missing_version_in_one_line():
    with pytest.raises(interpreters.EnvironmentUnavailable) as caught:
        interpreters.find_python(["3.98", "3.99"])
    assert str(caught.value) == "no Python 3.98 or 3.99 on PATH or in pyenv"


def test_find_python_on_path(tmp_path):
    here = write_fake_python(tmp_path / "bin" / "python3.13", "3.13")
    assert interpreters.find_python(["3.13"]) == here


def test_find_python_skips_different_version(tmp_path):
    write_fake_python(tmp_path / "bin" / "python3", "3.10")
    with pytest.raises(interpreters.EnvironmentUnavailable):
        interpreters.find_python(["3.13"])


def test_find_python_searches_pyenv_after_failing_shim(tmp_path):
    write_script(tmp_path / "bin" / "python3.13", "exit 127")
    root = tmp_path / "pyenv"
    write_fake_python(root / "versions/3.13.2/bin/python3.13", "3.13")
    newest = write_fake_python(root / "versions/3.13.10/bin/python3.13", "3.13")
    write_fake_python(root / "versions/3.13.0rc1/bin/python3.13", "3.13")
    assert interpreters.find_python(["3.13"], root) == newest


def test_find_pyenv_root(monkeypatch, tmp_path):
    assert interpreters.find_pyenv_root() is None
    write_script(tmp_path / "bin" / "pyenv", 'test "$1" = root && echo /some/where')
    assert interpreters.find_pyenv_root() == Path("/some/where")
    monkeypatch.setenv("PYENV_ROOT", "/else/where")
    assert interpreters.find_pyenv_root() == Path("/else/where")


def test_find_python_prefers_first_installed_version(tmp_path):
    write_fake_python(tmp_path / "bin" / "python3.14", "3.14")
    second = write_fake_python(tmp_path / "bin" / "python3.13", "3.13")
    assert interpreters.find_python(["3.12", "3.13", "3.14"]) == second


def test_find_python_finds_real_interpreter(monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    found = interpreters.find_python([HERE])
    assert interpreters.run_program(found, "print(6 * 7)") == "42"


def test_find_python_with_accelerator_skips_cpu(tmp_path):
    cpu, none = write_script(tmp_path / "a", "echo cpu"), write_script(tmp_path / "b", "exit 1")
    noisy = write_script(tmp_path / "c", "echo a warning; echo gpu")
    assert interpreters.find_python_with_accelerator([cpu, none, noisy]) == noisy
    with pytest.raises(interpreters.EnvironmentUnavailable) as caught:
        interpreters.find_python_with_accelerator([cpu, none])
    assert str(caught.value) == ("no accelerator: JAX sees only a CPU, no JAX in another Python")


def test_find_python_with_accelerator_ignores_jax_platforms(monkeypatch, tmp_path):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    asks = write_script(tmp_path / "a", 'test -z "$JAX_PLATFORMS" && echo gpu || echo cpu')
    assert interpreters.find_python_with_accelerator([asks]) == asks
