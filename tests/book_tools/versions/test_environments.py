"""Test how environments are specified, created, reused, and upgraded."""

import json
import time
from pathlib import Path

import pytest

from book_tools.environment import environments, interpreters, provision

TOY = '[toy]\nkind = "venv"\ntitle = "t"\nabout = "a"\npython = ["3.13"]\npackages = ["jax"]\n'


def test_load_specifications():
    found = environments.load_specifications()
    assert list(found) == ["lock", "colab", "newest", "accelerator"]
    assert "jax==0.7.2" in found["colab"].packages
    assert "torch==2.11.0" not in found["colab"].requirements(torch=False)
    assert found["colab"].requirements(torch=True)[-1] == "torch==2.11.0"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('about = "a"\n', "", r"\[toy\]: key 'about' is missing"),
        ('"venv"', '"mad"', r"\[toy\]: kind must be one of 'lock', .*; got 'mad'"),
        ("packages =", "package =", r"\[toy\]: key must be one of .*; got 'package'"),
        ('packages = ["jax"]', "", r"\[toy\]: python and packages must not be empty"),
    ],
)
def test_parse_specifications_names_environment_and_key(old, new, message):
    with pytest.raises(ValueError, match=message):
        environments.parse_specifications(TOY.replace(old, new))


def test_child_variables_omit_settings_that_change_outputs(monkeypatch):
    for name in ("JAX_ENABLE_X64", "XLA_FLAGS", "JAXBITS_RECORD", "PYTHONPATH", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "1")
    here = environments.child_variables(on_accelerator=False)
    there = environments.child_variables(on_accelerator=True)
    assert not {"JAX_ENABLE_X64", "XLA_FLAGS", "JAXBITS_RECORD", "PYTHONPATH"} & set(here)
    assert here["JAX_PLATFORMS"] == "cpu"
    assert "JAX_PLATFORMS" not in there
    assert there["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


@pytest.fixture
def prepare_toy(monkeypatch, tmp_path):
    """Return a function that pretends to prepare an environment and returns the commands for it."""
    commands = []

    def record_command(command, purpose):
        commands.append([str(part) for part in command][1:])
        if "venv" in commands[-1]:
            python = provision._python_of(Path(command[-1]))
            python.parent.mkdir(parents=True)
            python.touch()

    monkeypatch.setattr(provision, "_run", record_command)
    monkeypatch.setattr(interpreters, "run_program", lambda *_: "3.13")
    (tmp_path / "src").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    spec = environments.parse_specifications(TOY + 'torch = "torch==2"\nmax_age_days = 7\n')["toy"]

    def prepare(torch=False):
        commands.clear()
        monkeypatch.setattr(interpreters, "find_python", lambda versions: Path("/python3.13"))
        environment = provision.prepare(spec, tmp_path, torch=torch, say=lambda text: None)
        assert environment.python == provision._python_of(tmp_path / ".envs" / "toy")
        return commands

    return prepare


def test_prepare_does_nothing_on_second_call(prepare_toy):
    first = list(prepare_toy())
    assert [c[1] for c in first] == ["venv", "pip", "pip"]
    assert first[1][-1] == "jax"
    assert "--no-deps" in first[2]
    assert prepare_toy() == []


def test_prepare_adds_torch_to_existing_environment(prepare_toy):
    prepare_toy()
    assert [c[1] for c in prepare_toy(torch=True)] == ["pip"]
    assert prepare_toy(torch=True) == []
    assert prepare_toy(torch=False) == [], (
        "an environment with torch also serves runs that do not need torch"
    )


def test_prepare_upgrades_old_environment(prepare_toy, tmp_path):
    prepare_toy()
    stamp = tmp_path / ".envs/toy/made.json"
    old = json.loads(stamp.read_text()) | {"at": time.time() - 8 * provision.DAY}
    stamp.write_text(json.dumps(old))
    assert [c[-2:] for c in prepare_toy()] == [["--upgrade", "jax"]]
    assert prepare_toy() == []


def test_prepare_recreates_environment_if_spec_changed(prepare_toy, tmp_path):
    prepare_toy()
    stamp = tmp_path / ".envs/toy/made.json"
    stamp.write_text(json.dumps({"mark": "other", "at": time.time()}))
    assert [c[1] for c in prepare_toy()] == ["venv", "pip", "pip"]


def test_prepare_reinstalls_library_if_source_changed(prepare_toy, tmp_path):
    prepare_toy()
    (tmp_path / "src" / "a.py").write_text("1")
    assert [c[1] for c in prepare_toy()] == ["pip"]


def test_prepare_rejects_environment_that_differs_from_lock(monkeypatch, tmp_path):
    monkeypatch.setattr(provision.pins, "find_departures", lambda: ["Python 3.12 instead of 3.11"])
    spec = environments.Specification("lock", "lock", "t", "a")
    with pytest.raises(interpreters.EnvironmentUnavailable, match=r"Python 3\.12 instead of 3\.11"):
        provision.prepare(spec, tmp_path, torch=False)


def test_run_reports_error_of_failed_command():
    with pytest.raises(provision.ProvisioningError, match=r"venv: .*no such thing"):
        provision._run(
            ["python3", "-c", "import sys; sys.exit('ERROR: no such thing\\n')"], "python -m venv"
        )
