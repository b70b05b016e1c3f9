"""Code in a fresh interpreter: what it prints, what it raises, and that it ends."""

import os
import time

import pytest

from jaxbits.book.subprocesses import MOMENTS, SETTINGS, _program, run_in_subprocess


def test_it_returns_what_is_printed():
    printed = run_in_subprocess("""
        print("one")
        print("zwölf")
    """)
    assert printed == "one\nzwölf"


def test_settings_of_jax_are_not_inherited_and_others_are(monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("XLA_FLAGS", "--anything")
    monkeypatch.setenv("KEPT", "yes")
    ask = "import os; print(*map(os.environ.get, ('JAX_ENABLE_X64', 'XLA_FLAGS', 'KEPT', 'NEW')))"
    assert run_in_subprocess(ask, NEW="new") == "None None yes new"


def test_an_exception_of_pythons_own_is_raised_here():
    with pytest.raises(KeyError, match="lost"):
        run_in_subprocess("{}['lost']")


def test_an_error_that_has_no_message():
    with pytest.raises(AssertionError) as caught:
        run_in_subprocess("assert False")
    assert not str(caught.value)


def test_a_message_of_several_lines_is_kept():
    with pytest.raises(ValueError, match=r"^one\ntwo: three\n  four$"):
        run_in_subprocess(r"raise ValueError('one\ntwo: three\n  four')")


def test_only_the_last_of_two_chained_exceptions_is_raised():
    with pytest.raises(TypeError, match=r"^second$"):
        run_in_subprocess("""
            try:
                1 / 0
            except ZeroDivisionError as error:
                raise TypeError("second") from error
        """)


def test_what_jax_writes_below_an_error_is_left_out():
    note = "--------------------\\nFor simplicity, JAX has removed its internal frames"
    with pytest.raises(ValueError, match=r"^wrong$"):
        run_in_subprocess(f"raise ValueError('wrong\\n{note}')")


def test_an_error_of_a_library_is_named():
    with pytest.raises(RuntimeError, match=r"^json.decoder.JSONDecodeError: Expecting value"):
        run_in_subprocess("import json; json.loads('')")


def test_an_exception_that_wants_more_than_a_message():
    with pytest.raises(RuntimeError, match=r"^UnicodeDecodeError: 'utf-8' codec"):
        run_in_subprocess(r"b'\xff'.decode()")


def test_a_program_that_cannot_be_read():
    with pytest.raises(SyntaxError):
        run_in_subprocess("print(")


def test_a_program_that_leaves_without_an_exception():
    with pytest.raises(RuntimeError, match=r"^it ended with exit status 3$"):
        run_in_subprocess("raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="exit status 1; no disk"):
        run_in_subprocess("raise SystemExit('no disk')")


def test_a_program_that_a_signal_ends():
    with pytest.raises(RuntimeError, match=r"^signal 9 ended it$"):
        run_in_subprocess("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")


def test_it_cannot_wait_for_input():
    with pytest.raises(EOFError):
        run_in_subprocess("input()")


def ends(pid):
    """Whether a process that was told to end is gone, or only waits to be counted, in time."""
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
def test_what_takes_too_long_is_ended_with_all_that_it_started():
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="longer than 3 seconds, and had printed last") as caught:
        run_in_subprocess(STARTS_ANOTHER + "    time.sleep(60)", limit=3)
    assert time.monotonic() - begin < 30
    assert ends(int(str(caught.value).split("'")[1]))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks into /proc")
def test_nothing_is_left_behind_by_a_program_that_ends():
    begin = time.monotonic()
    other = int(run_in_subprocess(STARTS_ANOTHER))
    assert time.monotonic() - begin < 30
    assert ends(other)


def test_settings_are_made_at_the_moment_they_are_meant_for():
    line = next(iter(SETTINGS))
    for moment in range(len(MOMENTS)):
        program = _program([line], moment)
        made, imported = program.index(line), program.index("import jax\n")
        asked = program.index("block_until_ready") if moment == 2 else len(program)
        assert [made < imported, made < asked] == [moment == 0, moment < 2]
