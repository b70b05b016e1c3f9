"""`run_in_subprocess`: the output, the errors, and that no process is left."""

import os
import time

import pytest

from jaxbits.book.subprocesses import run_in_subprocess


def test_it_returns_the_output():
    printed = run_in_subprocess("""
        print("one")
        print("zwölf")
    """)
    assert printed == "one\nzwölf"


def test_jax_variables_are_not_inherited(monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("XLA_FLAGS", "--anything")
    monkeypatch.setenv("KEPT", "yes")
    ask = "import os; print(*map(os.environ.get, ('JAX_ENABLE_X64', 'XLA_FLAGS', 'KEPT', 'NEW')))"
    assert run_in_subprocess(ask, NEW="new") == "None None yes new"


def test_a_builtin_exception_keeps_its_class():
    with pytest.raises(KeyError, match="lost"):
        run_in_subprocess("{}['lost']")


def test_an_error_without_a_message():
    with pytest.raises(AssertionError) as caught:
        run_in_subprocess("assert False")
    assert not str(caught.value)


def test_a_message_keeps_its_lines():
    with pytest.raises(ValueError, match=r"^one\ntwo: three\n  four$"):
        run_in_subprocess(r"raise ValueError('one\ntwo: three\n  four')")


def test_the_last_of_two_chained_exceptions_is_raised():
    with pytest.raises(TypeError, match=r"^second$"):
        run_in_subprocess("""
            try:
                1 / 0
            except ZeroDivisionError as error:
                raise TypeError("second") from error
        """)


def test_the_note_of_jax_about_frames_is_removed():
    note = "--------------------\\nFor simplicity, JAX has removed its internal frames"
    with pytest.raises(ValueError, match=r"^wrong$"):
        run_in_subprocess(f"raise ValueError('wrong\\n{note}')")


def test_a_library_error_becomes_a_runtime_error():
    with pytest.raises(RuntimeError, match=r"^json.decoder.JSONDecodeError: Expecting value"):
        run_in_subprocess("import json; json.loads('')")


def test_an_exception_with_several_arguments_becomes_a_runtime_error():
    with pytest.raises(RuntimeError, match=r"^UnicodeDecodeError: 'utf-8' codec"):
        run_in_subprocess(r"b'\xff'.decode()")


def test_a_syntax_error():
    with pytest.raises(SyntaxError):
        run_in_subprocess("print(")


def test_an_exit_status_is_reported():
    with pytest.raises(RuntimeError, match=r"^the program exited with status 3$"):
        run_in_subprocess("raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="exited with status 1: no disk"):
        run_in_subprocess("raise SystemExit('no disk')")


def test_a_signal_is_reported():
    with pytest.raises(RuntimeError, match=r"^signal 9 terminated the program$"):
        run_in_subprocess("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")


def test_standard_input_is_empty():
    with pytest.raises(EOFError):
        run_in_subprocess("input()")


def ends(pid):
    """Return whether a process ends, or becomes a zombie, within ten seconds."""
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


STARTS_ANOTHER = """
    import subprocess, sys, time
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print(other.pid, flush=True)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks into /proc")
def test_after_the_limit_all_processes_are_killed():
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="longer than 3 seconds and printed") as caught:
        run_in_subprocess(STARTS_ANOTHER + "    time.sleep(60)", limit=3)
    assert time.monotonic() - begin < 30
    assert ends(int(str(caught.value).split("'")[1]))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks into /proc")
def test_a_program_that_ends_leaves_no_process():
    begin = time.monotonic()
    other = int(run_in_subprocess(STARTS_ANOTHER))
    assert time.monotonic() - begin < 30
    assert ends(other)
