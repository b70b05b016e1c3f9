"""`run_on_simulated_devices`: results, errors, rejected arguments, and that no process is left."""

import functools
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from jaxbits import explain
from jaxbits.book import simulated_devices
from jaxbits.book.simulated_devices import run_on_simulated_devices

FACTOR = 3
unfit = object()


def doubled(x):
    return FACTOR * x


def test_only_the_program_sees_the_simulated_devices(capsys):
    before = jax.device_count(), dict(os.environ)

    def program():
        print("hello", jax.device_count())
        return {"spec": str(P("x")), "list": jnp.arange(2), "tuple": (doubled(2), None)}

    found = run_on_simulated_devices(program, devices=3)
    assert capsys.readouterr().out == "hello 3\n"
    assert found["list"] == [0, 1]
    assert found["tuple"] == [6, None]
    assert "'x'" in found["spec"]
    assert (jax.device_count(), dict(os.environ)) == before


def test_an_error_keeps_its_class_and_message_without_paths(capsys):
    def program():
        print("before", __file__, flush=True)
        raise KeyError(__file__)

    with pytest.raises(KeyError) as raised:
        run_on_simulated_devices(program)
    assert str(raised.value) == "'…/program.py'"
    assert raised.value.__notes__ == ["In program: raise KeyError(__file__)"]
    assert capsys.readouterr().out == "before …/program.py\n"


def test_an_error_of_jax_keeps_its_class():
    def program():
        from jax.sharding import NamedSharding

        mesh = jax.make_mesh((4,), ("x",))
        jax.device_put(jnp.ones(6), NamedSharding(mesh, P("x")))

    with pytest.raises(ValueError, match="divi") as raised:
        run_on_simulated_devices(program, devices=4)
    assert [bit.id for bit in explain(raised.value).bits] == ["axis-not-divisible"]


def test_an_error_of_the_program_is_not_explained_as_one_of_jax():
    def program():
        raise ValueError("array axis 0 is partitioned 8 times, but does not evenly divide the "
                         "dimension size 6")  # fmt: skip

    with pytest.raises(ValueError, match="evenly") as raised:
        run_on_simulated_devices(program)
    assert not explain(raised.value)
    assert explain(f"ValueError: {raised.value}")


def test_an_unknown_error_class_becomes_a_runtime_error():
    def program():
        class Own(Exception):
            pass

        raise Own("mine")

    with pytest.raises(RuntimeError, match="Own: mine"):
        run_on_simulated_devices(program)


def test_output_names_the_process(capsys):
    def program(address, process):
        print(f"I am {process}")
        return process, ":" in address

    assert run_on_simulated_devices(program, devices=1, processes=2) == [[0, True], [1, True]]
    assert capsys.readouterr().out == "process 0: I am 0\nprocess 1: I am 1\n"


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    about = Path(f"/proc/{pid}/stat")
    return not (about.exists() and about.read_text().rpartition(")")[2].split()[0] == "Z")


def gone(pid):
    """Return whether a process ends within ten seconds."""
    limit = time.monotonic() + 10
    while alive(pid) and time.monotonic() < limit:
        time.sleep(0.02)
    return not alive(pid)


def clock(note, then):
    """Return a `time` module whose clock stands still until the program has written its note."""

    def monotonic():
        if note.exists() and note.read_text().endswith("\n"):
            return then()
        return 0.0

    return SimpleNamespace(monotonic=monotonic, sleep=time.sleep)


def late():
    return 1e9


def interrupted():
    raise KeyboardInterrupt


@pytest.mark.skipif(os.name == "nt", reason="groups of processes are POSIX's")
@pytest.mark.parametrize(
    ("then", "error", "said"),
    [
        (late, TimeoutError, "program did not finish within 9 s"),
        (interrupted, KeyboardInterrupt, None),
    ],
)
def test_after_the_limit_or_an_interrupt_all_processes_are_killed(
    tmp_path, monkeypatch, capsys, then, error, said
):
    note = str(tmp_path / "pids")

    def program():
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print("so far")
        with open(note, "w") as file:
            print(os.getpid(), other.pid, file=file)
        time.sleep(60)

    monkeypatch.setattr(simulated_devices, "time", clock(Path(note), then))
    with pytest.raises(error, match=said):
        run_on_simulated_devices(program, seconds=9)
    pids = [int(pid) for pid in Path(note).read_text().split()]
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)
    assert capsys.readouterr().out == "so far\n"


@pytest.mark.skipif(os.name == "nt", reason="groups of processes are POSIX's")
def test_a_program_that_ends_leaves_no_process(tmp_path):
    def program():
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid

    assert gone(run_on_simulated_devices(program))


@pytest.mark.skipif(os.name == "nt", reason="a signal of POSIX")
def test_a_process_ends_with_its_parent(tmp_path):
    note = tmp_path / "pid"
    code = tmp_path / "parent.py"
    code.write_text(
        "import os, time\n"
        "from jaxbits.book.simulated_devices import run_on_simulated_devices\n"
        f"note = {str(note)!r}\n"
        "def program():\n"
        "    with open(note, 'w') as file:\n"
        "        file.write(str(os.getpid()))\n"
        "    time.sleep(60)\n"
        "run_on_simulated_devices(program)\n"
    )
    parent = subprocess.Popen([sys.executable, str(code)])
    try:
        limit = time.monotonic() + 60
        while not (note.exists() and note.read_text()) and time.monotonic() < limit:
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    child = int(note.read_text())
    assert gone(child)


def test_a_failed_process_ends_the_run():
    def program(address, process):
        if process:
            raise LookupError("lost")
        time.sleep(50)

    begin = time.monotonic()
    with pytest.raises(LookupError, match="lost"):
        run_on_simulated_devices(program, processes=2)
    assert time.monotonic() - begin < 40


def test_an_exit_without_a_result_is_reported():
    def program(address, process):
        if process:
            os.write(2, b"\xff out of luck\n\n")
            os._exit(3)
        time.sleep(50)

    with pytest.raises(
        RuntimeError, match=r"program exited with status 3 without a result: . out of"
    ):
        run_on_simulated_devices(program, processes=2)


@pytest.mark.skipif(os.name == "nt", reason="a signal of POSIX")
def test_a_signal_is_reported():
    def program():
        os.kill(os.getpid(), 11)

    with pytest.raises(RuntimeError, match="program was terminated by signal 11"):
        run_on_simulated_devices(program)


def test_output_that_is_not_utf8_is_printed(capsys):
    def program():
        sys.stdout.buffer.write(b"\xff\n")
        os.write(1, b"from below\n")

    assert run_on_simulated_devices(program) is None
    assert capsys.readouterr().out == "\ufffd\n"


def test_values_that_cannot_be_sent_are_rejected():
    def program():
        return unfit

    with pytest.raises(ValueError, match=r"program uses unfit \(object\), which cannot be sent"):
        run_on_simulated_devices(program)
    with pytest.raises(ValueError, match="a function defined with def"):
        run_on_simulated_devices(len)
    with pytest.raises(ValueError, match="a function defined with def"):
        run_on_simulated_devices(functools.partial(doubled, 1))
    with pytest.raises(ValueError, match="a plain def without decorators"):
        run_on_simulated_devices(lambda: 3)


def test_results_that_cannot_be_returned_are_rejected():
    def program():
        return object()

    with pytest.raises(
        TypeError, match=r"program must return numbers, strings, .* got object"
    ) as raised:
        run_on_simulated_devices(program)
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.parametrize(
    "wrong", [{"devices": 0}, {"processes": 0}, {"seconds": 0}, {"seconds": 1e9}]
)
def test_numbers_out_of_range_are_rejected(wrong):
    with pytest.raises(ValueError, match=r"must be (above 0|at least 1)"):
        run_on_simulated_devices(doubled, **wrong)
