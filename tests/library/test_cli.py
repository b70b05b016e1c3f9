"""Test the `jaxbits` command, its subcommands, and the parsing of their arguments."""

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
from jaxbits._cli import main
from jaxbits._cli_arguments import UsageError, parse_argument
from jaxbits.detect import detectors

CHECKS = len(detectors())

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

def fails(x):
    raise ValueError("on purpose")

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
    path = tmp_path_factory.mktemp("command")
    (path / "steps.py").write_text(MODULE)
    (path / "broken.py").write_text("1 / 0\n")
    np.save(path / "x.npy", np.arange(4.0, dtype=np.float32))
    np.savez(path / "data.npz", x=np.ones(3), y=np.zeros(2))
    return path


def run(folder, *arguments, text=None):
    source = str(Path(jaxbits.__file__).parents[1])
    python_path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "jaxbits", *arguments]
    environment = {**os.environ, "PYTHONPATH": python_path, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=text,
        capture_output=True,
        encoding="utf8",
        check=False,
    )


def test_audit_exits_with_1_and_prints_findings(folder):
    done = run(folder, "audit", "steps:read", "--args", "f32[8,3]", "i32[4]:20:30")
    assert done.returncode == 1
    assert "4 indices outside 0…7" in done.stdout
    assert "steps.py:6  return x[i].sum()" in done.stdout
    assert "imported" not in done.stdout


def test_audit_exits_with_0_if_nothing_is_found(folder):
    done = run(
        folder, "audit", "steps.py:model.step", "--args", "steps:batch()", "--checks", "leak"
    )
    assert (done.returncode, done.stdout) == (0, "nothing found by 1 check of step\n")


def test_audit_prints_json_and_skips_allowed_checks(folder):
    done = run(folder, "audit", "steps.py:noisy", "--args", "x.npy", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert [finding["check"] for finding in report["findings"]] == ["side_effect"]
    done = run(
        folder, "audit", "steps.py:noisy", "--args", "2", "--allow", "side_effect", "--limit", "0"
    )
    assert done.returncode == 0


def test_audit_exits_with_1_if_it_is_incomplete_unless_allowed(folder):
    done = run(folder, "audit", "steps.py:fails", "--args", "2")
    assert done.returncode == 1
    assert done.stdout.startswith(
        f"incomplete (raises); nothing found by {CHECKS} checks of fails\n"
    )
    assert "ValueError: on purpose" in done.stdout
    done = run(folder, "audit", "steps.py:fails", "--args", "2", "--allow", "raises")
    assert done.returncode == 0


def test_audit_exits_with_0_for_warnings_if_only_errors_fail(folder):
    arguments = ["audit", "steps.py:noisy", "--args", "2", "--fail", "error"]
    assert run(folder, *arguments).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["steps:read", "--args", "f32[8", "3"], "argument must be an array such as"),
        (["steps:raed"], "FUNCTION 'steps:raed': steps has no attribute raed"),
        (["steps"], "FUNCTION must be module:name or path/to/file.py:name, got 'steps'"),
        (["nothere:f"], "cannot import nothere: ModuleNotFoundError"),
        (["nothere.py:f"], "cannot import nothere.py: FileNotFoundError"),
        (["broken.py:f"], "cannot import broken.py: ZeroDivisionError: division by zero"),
        (["steps:noisy", "--args", "1", "--carry", "3"], "carry "),
        (["steps:noisy", "--args", "1", "--checks", "oob"], "'oob'"),
        (["steps:noisy", "--args", "1", "--allow", "oob"], "--allow must be one of 'big_const'"),
        (["steps:scaled", "--args", "1", "--kwargs", "by"], "--kwargs must be NAME=ARG, got 'by'"),
        (["steps:scaled", "--args", "1", "--kwargs", "limit=1"], "must not contain 'limit'"),
        (["steps:generator", "--args", "1"], "generator function"),
        (["steps:noisy", "--nonsense"], "unrecognized arguments: --nonsense"),
        ([], "the following arguments are required: FUNCTION"),
    ],
)
def test_audit_prints_one_line_for_invalid_arguments(
    folder, arguments, message, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    assert main(["audit", *arguments]) == 2
    sys.modules.pop("steps", None)
    out, err = capsys.readouterr()
    assert out == ""
    line = err.strip().splitlines()[-1]
    assert line.startswith(("jaxbits: ", "jaxbits audit: "))
    assert message in line
    assert "Traceback" not in err


TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 7, in step
    if loss > best:
jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array with shape
bool[].
"""


def test_explain_reads_standard_input_or_file(folder):
    done = run(folder, "explain", text=f"step 1\n{TRACEBACK}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{jaxbits.explain(TRACEBACK)}\n"
    (folder / "error.txt").write_text(TRACEBACK)
    assert run(folder, "explain", "error.txt").stdout == done.stdout


@pytest.mark.parametrize("text", ["ValueError: nothing of this book", "", "\n" * 3])
def test_explain_exits_with_1_if_no_sharp_bit_matches(folder, text):
    done = run(folder, "explain", text=text)
    assert done.returncode == 1
    assert done.stdout.startswith("No sharp bit in the book matches this error")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "nothere.txt"], "jaxbits explain: cannot read nothere.txt: No such file"),
        (["explain", "a", "b"], "jaxbits: unrecognized arguments: b"),
        (["explian"], "jaxbits: argument COMMAND: invalid choice: 'explian'"),
        ([], "jaxbits: the following arguments are required: COMMAND"),
    ],
)
def test_jaxbits_prints_one_line_for_invalid_arguments(folder, arguments, message):
    done = run(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)


def test_version_option_prints_version(folder):
    assert run(folder, "--version").stdout == f"jaxbits {jaxbits.__version__}\n"


def test_audit_accepts_call_and_kwargs_options(folder):
    calls = ["--call", "f32[2]", "--call", "f32[3]", "--checks", "recompile"]
    done = run(folder, "audit", "steps:scaled", *calls, "--kwargs", "by=2.0")
    assert done.returncode == 1
    assert "2 traces for 2 calls" in done.stdout


def test_parse_argument_returns_arrays_keys_and_literals():
    x = parse_argument("f32[2,3]")
    assert (x.shape, x.dtype, type(x).__module__ != "numpy") == ((2, 3), jnp.float32, True)
    assert parse_argument("f32[]").shape == ()
    assert parse_argument("bf16[2]").dtype == jnp.bfloat16
    assert parse_argument("float32[2]").dtype == jnp.float32
    assert isinstance(parse_argument("f64[2]"), np.ndarray)
    assert set(parse_argument("i32[100]").tolist()) == {0, 1}
    assert set(parse_argument("u8[400]:3:5").tolist()) == {3, 4}
    assert parse_argument("bool[3]").dtype == bool
    assert 5 <= float(parse_argument("f32[9]:5:6").min()) < 6
    assert np.array_equal(parse_argument("f32[3]", 1, 7), parse_argument("f32[3]", 1, 7))
    assert not np.array_equal(parse_argument("f32[3]", 1, 7), parse_argument("f32[3]", 2, 7))
    assert jnp.issubdtype(parse_argument("key").dtype, jnp.integer) is False
    assert parse_argument("key[4]").shape == (4,)
    assert parse_argument("(1, [2.5])") == (1, [2.5])
    assert parse_argument("-3") == -3
    assert parse_argument("'text'") == "text"
    assert parse_argument("None") is None


@pytest.mark.parametrize("text", ["q9[3]", "i32[3]:5:5", "f32[3]:a:b", "word", "no.npy", "os:nope"])
def test_parse_argument_rejects_invalid_text(text):
    with pytest.raises(UsageError, match="argument"):
        parse_argument(text)


def test_parse_argument_loads_npy_and_npz_files(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert parse_argument("x.npy").shape == (4,)
    assert set(parse_argument("data.npz")) == {"x", "y"}
    assert parse_argument("data.npz:y").shape == (2,)
    with pytest.raises(UsageError, match="must be one of 'x', 'y'; got 'z'"):
        parse_argument("data.npz:z")
