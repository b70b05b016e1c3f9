"""The audit from a shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import jaxbits
from jaxbits._cli_arguments import UsageError, argument

MODULE = """
import jax, jax.numpy as jnp
print("imported")

def read(x, i):
    return x[i].sum()

def noisy(x):
    print("noise")
    return x

def scaled(x, *, by=1.0):
    return x * by

def batch():
    return jnp.ones((3, 2))

class Model:
    def __call__(self, x):
        return x + 1

    def step(self, x):
        return x * 2

model = Model()

def generator(x):
    yield x
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("command")
    (made / "steps.py").write_text(MODULE)
    (made / "broken.py").write_text("1 / 0\n")
    np.save(made / "x.npy", np.arange(4.0, dtype=np.float32))
    np.savez(made / "data.npz", x=np.ones(3), y=np.zeros(2))
    return made


def run(folder, *arguments):
    source = str(Path(jaxbits.__file__).parents[1])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "jaxbits.audit", *arguments]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf8", check=False
    )


def test_something_found(folder):
    done = run(folder, "steps:read", "--args", "f32[8,3]", "i32[4]:20:30")
    assert done.returncode == 1
    assert "4 indices outside 0…7" in done.stdout
    assert "steps.py:6  return x[i].sum()" in done.stdout
    assert "imported" not in done.stdout


def test_nothing_found(folder):
    done = run(folder, "steps.py:model.step", "--args", "steps:batch()", "--checks", "leak")
    assert (done.returncode, done.stdout) == (0, "nothing found by 1 check of step\n")


def test_json_named_arguments_and_allow(folder):
    done = run(folder, "steps.py:noisy", "--args", "x.npy", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert [finding["check"] for finding in report["findings"]] == ["side_effect"]
    done = run(folder, "steps.py:noisy", "--args", "2", "--allow", "side_effect", "--limit", "0")
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["steps:read", "--args", "f32[8", "3"], "argument 'f32[8' should be an array such as"),
        (["steps:raed"], "FUNCTION 'steps:raed': steps has no raed"),
        (["steps"], "FUNCTION was 'steps', and should be module:name or path/to/file.py:name"),
        (["nothere:f"], "nothere cannot be imported: ModuleNotFoundError"),
        (["nothere.py:f"], "there is no file nothere.py"),
        (["broken.py:f"], "broken.py cannot be imported: ZeroDivisionError: division by zero"),
        (
            ["steps:noisy", "--args", "1", "--carry", "3"],
            "carry was 3, and should be 0 or one of x",
        ),
        (["steps:noisy", "--args", "1", "--checks", "oob"], "checks has 'oob'"),
        (["steps:noisy", "--args", "1", "--allow", "oob"], "--allow has 'oob'"),
        (["steps:scaled", "--args", "1", "--kwargs", "by"], "should have NAME=ARG"),
        (["steps:generator", "--args", "1"], "fn was a generator function"),
        (["steps:noisy", "--nonsense"], "unrecognized arguments: --nonsense"),
        ([], "the following arguments are required: FUNCTION"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(folder, arguments, said):
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("jaxbits.audit: ")
    assert said in line
    assert "Traceback" not in done.stderr


def test_several_calls_and_named_arguments(folder):
    calls = ["--call", "f32[2]", "--call", "f32[3]", "--checks", "recompile"]
    done = run(folder, "steps:scaled", *calls, "--kwargs", "by=2.0")
    assert done.returncode == 1
    assert "2 traces for 2 calls" in done.stdout


def test_arguments():
    x = argument("f32[2,3]")
    assert (x.shape, x.dtype, type(x).__module__ != "numpy") == ((2, 3), jnp.float32, True)
    assert argument("f32[]").shape == ()
    assert argument("bf16[2]").dtype == jnp.bfloat16
    assert argument("float32[2]").dtype == jnp.float32
    assert isinstance(argument("f64[2]"), np.ndarray)
    assert set(argument("i32[100]").tolist()) == {0, 1}
    assert set(argument("u8[400]:3:5").tolist()) == {3, 4}
    assert argument("bool[3]").dtype == bool
    assert 5 <= float(argument("f32[9]:5:6").min()) < 6
    assert np.array_equal(argument("f32[3]", 1, 7), argument("f32[3]", 1, 7))
    assert not np.array_equal(argument("f32[3]", 1, 7), argument("f32[3]", 2, 7))
    assert jnp.issubdtype(argument("key").dtype, jnp.integer) is False
    assert argument("key[4]").shape == (4,)
    assert argument("(1, [2.5])") == (1, [2.5])
    assert argument("-3") == -3
    assert argument("'text'") == "text"
    assert argument("None") is None


@pytest.mark.parametrize("text", ["q9[3]", "i32[3]:5:5", "f32[3]:a:b", "word", "no.npy", "os:nope"])
def test_arguments_that_are_none(text):
    with pytest.raises(UsageError, match="argument"):
        argument(text)


def test_files(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert argument("x.npy").shape == (4,)
    assert set(argument("data.npz")) == {"x", "y"}
    assert argument("data.npz:y").shape == (2,)
    with pytest.raises(UsageError, match="has no 'z', only x, y"):
        argument("data.npz:z")
