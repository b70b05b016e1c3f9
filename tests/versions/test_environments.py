"""Test that environments are validated, created once, and reused while nothing changes."""

import json
import time
from pathlib import Path

import pytest

from book_tools.environment import environments, interpreters, provision

MADE = '[toy]\nkind = "made"\ntitle = "t"\nabout = "a"\npython = ["3.13"]\npackages = ["jax"]\n'


def test_the_projects_own_file():
    text = Path(environments.__file__).with_name("environments.toml").read_text("utf8")
    found = environments.read(text)
    assert list(found) == ["lock", "colab", "newest", "accelerator"]
    assert "jax==0.7.2" in found["colab"].packages
    assert "torch==2.11.0" not in found["colab"].wanted(torch=False)
    assert found["colab"].wanted(torch=True)[-1] == "torch==2.11.0"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('about = "a"\n', "", r"\[toy\] lacks the key 'about'"),
        ('"made"', '"mad"', r"\[toy\] kind should be one of .*, was 'mad'"),
        ("packages =", "package =", r"\[toy\] has a key 'package' that is none of"),
        ('packages = ["jax"]', "", r"\[toy\] should list python and packages"),
    ],
)
def test_a_malformed_file_names_the_environment_and_the_key(old, new, said):
    with pytest.raises(ValueError, match=said):
        environments.read(MADE.replace(old, new))


def test_the_variables_keep_out_what_would_change_the_outcome(monkeypatch):
    for name in ("JAX_ENABLE_X64", "XLA_FLAGS", "JAXBITS_RECORD", "PYTHONPATH", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "1")
    here = environments.variables(on_accelerator=False)
    there = environments.variables(on_accelerator=True)
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

    monkeypatch.setattr(provision, "_do", do)
    monkeypatch.setattr(interpreters, "answer", lambda *_: "3.13")
    (tmp_path / "src").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    spec = environments.read(MADE + 'torch = "torch==2"\nmax_age_days = 7\n')["toy"]

    def make(torch=False):
        done.clear()
        monkeypatch.setattr(interpreters, "find", lambda versions: Path("/python3.13"))
        environment = provision.prepare(spec, tmp_path, torch=torch, say=lambda text: None)
        assert environment.python == provision._python_of(tmp_path / ".envs" / "toy")
        return done

    return make


def test_made_once(toy):
    first = list(toy())
    assert [c[1] for c in first] == ["venv", "pip", "pip"]
    assert first[1][-1] == "jax"
    assert "--no-deps" in first[2]
    assert toy() == []


def test_torch_is_added_to_what_is_there(toy):
    toy()
    assert [c[1] for c in toy(torch=True)] == ["pip"]
    assert toy(torch=True) == []
    assert toy(torch=False) == [], "one with torch serves without"


def test_an_old_one_is_brought_up_to_date(toy, tmp_path):
    toy()
    stamp = tmp_path / ".envs/toy/made.json"
    old = json.loads(stamp.read_text()) | {"at": time.time() - 8 * provision.DAY}
    stamp.write_text(json.dumps(old))
    assert [c[-2:] for c in toy()] == [["--upgrade", "jax"]]
    assert toy() == []


def test_other_packages_make_it_anew(toy, tmp_path):
    toy()
    stamp = tmp_path / ".envs/toy/made.json"
    stamp.write_text(json.dumps({"mark": "other", "at": time.time()}))
    assert [c[1] for c in toy()] == ["venv", "pip", "pip"]


def test_the_package_is_installed_again_when_its_source_changed(toy, tmp_path):
    toy()
    (tmp_path / "src" / "a.py").write_text("1")
    assert [c[1] for c in toy()] == ["pip"]


def test_another_environment_than_the_locks_does_not_count_as_it(monkeypatch, tmp_path):
    monkeypatch.setattr(provision.pins, "departures", lambda: ["Python 3.12 instead of 3.11"])
    spec = environments.Specification("lock", "lock", "t", "a")
    with pytest.raises(interpreters.NotHere, match=r"Python 3\.12 instead of 3\.11"):
        provision.prepare(spec, tmp_path, torch=False)


def test_a_failing_installation_says_why():
    with pytest.raises(provision.CannotMake, match=r"venv: .*no such thing"):
        provision._do(
            ["python3", "-c", "import sys; sys.exit('ERROR: no such thing\\n')"], "python -m venv"
        )
