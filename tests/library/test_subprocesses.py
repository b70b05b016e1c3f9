"""Test the output, errors, and processes of `run_in_subprocess`."""

import os
import time

import pytest

from jaxbits.book.subprocesses import run_in_subprocess


def test_run_in_subprocess_returns_output():
    output = run_in_subprocess("""
        print("one")
        print("zwölf")
    """)
    assert output == "one\nzwölf"


def test_run_in_subprocess_drops_jax_environment_variables(monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("XLA_FLAGS", "--anything")
    monkeypatch.setenv("KEPT", "yes")
    code = "import os; print(*map(os.environ.get, ('JAX_ENABLE_X64', 'XLA_FLAGS', 'KEPT', 'NEW')))"
    assert run_in_subprocess(code, NEW="new") == "None None yes new"


def test_run_in_subprocess_keeps_builtin_exception_class():
    with pytest.raises(KeyError, match="lost"):
        run_in_subprocess("{}['lost']")


def test_run_in_subprocess_keeps_empty_message():
    with pytest.raises(AssertionError) as caught:
        run_in_subprocess("assert False")
    assert not str(caught.value)


def test_run_in_subprocess_keeps_message_lines():
    with pytest.raises(ValueError, match=r"^one\ntwo: three\n  four$"):
        run_in_subprocess(r"raise ValueError('one\ntwo: three\n  four')")


def test_run_in_subprocess_raises_last_chained_exception():
    with pytest.raises(TypeError, match=r"^second$"):
        run_in_subprocess("""
            try:
                1 / 0
            except ZeroDivisionError as error:
                raise TypeError("second") from error
        """)


def test_run_in_subprocess_removes_jax_note_about_frames():
    note = "--------------------\\nFor simplicity, JAX has removed its internal frames"
    with pytest.raises(ValueError, match=r"^wrong$"):
        run_in_subprocess(f"raise ValueError('wrong\\n{note}')")


def test_run_in_subprocess_converts_library_error():
    with pytest.raises(RuntimeError, match=r"^json.decoder.JSONDecodeError: Expecting value"):
        run_in_subprocess("import json; json.loads('')")


def test_run_in_subprocess_converts_multi_argument_exception():
    with pytest.raises(RuntimeError, match=r"^UnicodeDecodeError: 'utf-8' codec"):
        run_in_subprocess(r"b'\xff'.decode()")


def test_run_in_subprocess_raises_syntax_error():
    with pytest.raises(SyntaxError):
        run_in_subprocess("print(")


def test_run_in_subprocess_reports_exit_status():
    with pytest.raises(RuntimeError, match=r"^the program exited with status 3$"):
        run_in_subprocess("raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="exited with status 1: no disk"):
        run_in_subprocess("raise SystemExit('no disk')")


def test_run_in_subprocess_reports_signal():
    with pytest.raises(RuntimeError, match=r"^signal 9 terminated the program$"):
        run_in_subprocess("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")


def test_run_in_subprocess_provides_empty_standard_input():
    with pytest.raises(EOFError):
        run_in_subprocess("input()")


def has_ended(pid):
    """Wait up to 10 seconds for a process to end, and return whether it ended or is a zombie."""
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.05)
    return False


START_CHILD = """
    import subprocess, sys, time
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print(other.pid, flush=True)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_run_in_subprocess_kills_all_processes_after_limit():
    start = time.monotonic()
    with pytest.raises(TimeoutError, match="longer than 3 seconds and printed") as caught:
        run_in_subprocess(START_CHILD + "    time.sleep(60)", limit=3)
    assert time.monotonic() - start < 30
    assert has_ended(int(str(caught.value).split("'")[1]))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_run_in_subprocess_leaves_no_process():
    start = time.monotonic()
    child_pid = int(run_in_subprocess(START_CHILD))
    assert time.monotonic() - start < 30
    assert has_ended(child_pid)
