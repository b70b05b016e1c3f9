"""Environments are parsed with clear errors, created once, and reused while nothing changes."""

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
    ("old", "new", "said"),
    [
        ('about = "a"\n', "", r"\[toy\]: key 'about' is missing"),
        ('"venv"', '"mad"', r"\[toy\]: kind must be one of 'lock', .*; got 'mad'"),
        ("packages =", "package =", r"\[toy\]: key must be one of .*; got 'package'"),
        ('packages = ["jax"]', "", r"\[toy\]: python and packages must not be empty"),
    ],
)
def test_invalid_specification_names_the_environment_and_the_key(old, new, said):
    with pytest.raises(ValueError, match=said):
        environments.parse_specifications(TOY.replace(old, new))


def test_child_variables_drop_settings_that_change_outputs(monkeypatch):
    for name in ("JAX_ENABLE_X64", "XLA_FLAGS", "JAXBITS_RECORD", "PYTHONPATH", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "1")
    here = environments.child_variables(on_accelerator=False)
    there = environments.child_variables(on_accelerator=True)
    assert not {"JAX_ENABLE_X64", "XLA_FLAGS", "JAXBITS_RECORD", "PYTHONPATH"} & set(here)
    assert here["JAX_PLATFORMS"] == "cpu"
    assert "JAX_PLATFORMS" not in there
    assert there["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """An environment whose commands are recorded instead of run."""
    done = []

    def do(command, purpose):
        done.append([str(part) for part in command][1:])
        if "venv" in done[-1]:
            python = provision._python_of(Path(command[-1]))
            python.parent.mkdir(parents=True)
            python.touch()

    monkeypatch.setattr(provision, "_run", do)
    monkeypatch.setattr(interpreters, "run_program", lambda *_: "3.13")
    (tmp_path / "src").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    spec = environments.parse_specifications(TOY + 'torch = "torch==2"\nmax_age_days = 7\n')["toy"]

    def make(torch=False):
        done.clear()
        monkeypatch.setattr(interpreters, "find_python", lambda versions: Path("/python3.13"))
        environment = provision.prepare(spec, tmp_path, torch=torch, say=lambda text: None)
        assert environment.python == provision._python_of(tmp_path / ".envs" / "toy")
        return done

    return make


def test_second_preparation_does_nothing(toy):
    first = list(toy())
    assert [c[1] for c in first] == ["venv", "pip", "pip"]
    assert first[1][-1] == "jax"
    assert "--no-deps" in first[2]
    assert toy() == []


def test_torch_is_added_to_an_existing_environment(toy):
    toy()
    assert [c[1] for c in toy(torch=True)] == ["pip"]
    assert toy(torch=True) == []
    assert toy(torch=False) == [], "an environment with torch serves without it, too"


def test_old_environment_is_upgraded(toy, tmp_path):
    toy()
    stamp = tmp_path / ".envs/toy/made.json"
    old = json.loads(stamp.read_text()) | {"at": time.time() - 8 * provision.DAY}
    stamp.write_text(json.dumps(old))
    assert [c[-2:] for c in toy()] == [["--upgrade", "jax"]]
    assert toy() == []


def test_changed_specification_creates_the_environment_again(toy, tmp_path):
    toy()
    stamp = tmp_path / ".envs/toy/made.json"
    stamp.write_text(json.dumps({"mark": "other", "at": time.time()}))
    assert [c[1] for c in toy()] == ["venv", "pip", "pip"]


def test_library_is_installed_again_if_its_source_changed(toy, tmp_path):
    toy()
    (tmp_path / "src" / "a.py").write_text("1")
    assert [c[1] for c in toy()] == ["pip"]


def test_prepare_rejects_an_environment_other_than_the_locked_one(monkeypatch, tmp_path):
    monkeypatch.setattr(provision.pins, "find_departures", lambda: ["Python 3.12 instead of 3.11"])
    spec = environments.Specification("lock", "lock", "t", "a")
    with pytest.raises(interpreters.EnvironmentUnavailable, match=r"Python 3\.12 instead of 3\.11"):
        provision.prepare(spec, tmp_path, torch=False)


def test_failed_command_reports_its_error():
    with pytest.raises(provision.ProvisioningError, match=r"venv: .*no such thing"):
        provision._run(
            ["python3", "-c", "import sys; sys.exit('ERROR: no such thing\\n')"], "python -m venv"
        )
