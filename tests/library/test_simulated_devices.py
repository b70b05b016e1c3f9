"""Test `simulate_devices` and the results, errors, and processes of `run_on_simulated_devices`."""

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
from jaxbits.book.simulated_devices import run_on_simulated_devices, simulate_devices

FACTOR = 3
unfit = object()


def multiply(x):
    return FACTOR * x


def test_run_on_simulated_devices_keeps_caller_devices(capsys):
    before = jax.device_count(), dict(os.environ)

    def program():
        print("hello", jax.device_count())
        return {"spec": str(P("x")), "list": jnp.arange(2), "tuple": (multiply(2), None)}

    result = run_on_simulated_devices(program, devices=3)
    assert capsys.readouterr().out == "hello 3\n"
    assert result["list"] == [0, 1]
    assert result["tuple"] == [6, None]
    assert "'x'" in result["spec"]
    assert (jax.device_count(), dict(os.environ)) == before


def test_program_error_keeps_class_and_message_without_paths(capsys):
    def program():
        print("before", __file__, flush=True)
        raise KeyError(__file__)

    with pytest.raises(KeyError) as raised:
        run_on_simulated_devices(program)
    assert str(raised.value) == "'…/program.py'"
    assert raised.value.__notes__ == ["In program: raise KeyError(__file__)"]
    assert capsys.readouterr().out == "before …/program.py\n"


def test_jax_error_keeps_class():
    def program():
        from jax.sharding import NamedSharding

        mesh = jax.make_mesh((4,), ("x",))
        jax.device_put(jnp.ones(6), NamedSharding(mesh, P("x")))

    with pytest.raises(ValueError, match="divi") as raised:
        run_on_simulated_devices(program, devices=4)
    assert [bit.id for bit in explain(raised.value).bits] == ["axis-not-divisible"]


def test_explain_ignores_program_error_with_jax_message():
    def program():
        raise ValueError("array axis 0 is partitioned 8 times, but does not evenly divide the "
                         "dimension size 6")  # fmt: skip

    with pytest.raises(ValueError, match="evenly") as raised:
        run_on_simulated_devices(program)
    assert not explain(raised.value)
    assert explain(f"ValueError: {raised.value}")


def test_error_with_unknown_class_becomes_runtime_error():
    def program():
        class Own(Exception):
            pass

        raise Own("mine")

    with pytest.raises(RuntimeError, match="Own: mine"):
        run_on_simulated_devices(program)


def test_output_has_process_prefix(capsys):
    def program(address, process):
        print(f"I am {process}")
        return process, ":" in address

    assert run_on_simulated_devices(program, devices=1, processes=2) == [[0, True], [1, True]]
    assert capsys.readouterr().out == "process 0: I am 0\nprocess 1: I am 1\n"


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat_file = Path(f"/proc/{pid}/stat")
    return not (stat_file.exists() and stat_file.read_text().rpartition(")")[2].split()[0] == "Z")


def has_ended(pid):
    """Wait up to 10 seconds for a process to end, and return whether it has ended."""
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


def paused_time_module(pid_file, read_clock):
    """Return a fake `time` module whose clock stays at 0 until the program has written its PIDs."""

    def monotonic():
        if pid_file.exists() and pid_file.read_text().endswith("\n"):
            return read_clock()
        return 0.0

    return SimpleNamespace(monotonic=monotonic, sleep=time.sleep)


def time_after_limit():
    return 1e9


def raise_interrupt():
    raise KeyboardInterrupt


@pytest.mark.skipif(os.name == "nt", reason="process groups need POSIX")
@pytest.mark.parametrize(
    ("read_clock", "error", "message"),
    [
        (time_after_limit, TimeoutError, "program did not finish within 9 s"),
        (raise_interrupt, KeyboardInterrupt, None),
    ],
)
def test_timeout_or_interrupt_kills_all_processes(
    tmp_path, monkeypatch, capsys, read_clock, error, message
):
    pid_file = str(tmp_path / "pids")

    def program():
        child_process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print("so far")
        with open(pid_file, "w") as file:
            print(os.getpid(), child_process.pid, file=file)
        time.sleep(60)

    monkeypatch.setattr(simulated_devices, "time", paused_time_module(Path(pid_file), read_clock))
    with pytest.raises(error, match=message):
        run_on_simulated_devices(program, seconds=9)
    pids = [int(pid) for pid in Path(pid_file).read_text().split()]
    assert len(pids) == 2
    assert all(has_ended(pid) for pid in pids)
    assert capsys.readouterr().out == "so far\n"


@pytest.mark.skipif(os.name == "nt", reason="process groups need POSIX")
def test_finished_program_leaves_no_process(tmp_path):
    def program():
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid

    assert has_ended(run_on_simulated_devices(program))


@pytest.mark.skipif(os.name == "nt", reason="signals need POSIX")
def test_process_ends_with_its_parent(tmp_path):
    pid_file = tmp_path / "pid"
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, time\n"
        "from jaxbits.book.simulated_devices import run_on_simulated_devices\n"
        f"note = {str(pid_file)!r}\n"
        "def program():\n"
        "    with open(note, 'w') as file:\n"
        "        file.write(str(os.getpid()))\n"
        "    time.sleep(60)\n"
        "run_on_simulated_devices(program)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)])
    try:
        deadline = time.monotonic() + 60
        while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    child = int(pid_file.read_text())
    assert has_ended(child)


def test_failed_process_ends_run():
    def program(address, process):
        if process:
            raise LookupError("lost")
        time.sleep(50)

    start = time.monotonic()
    with pytest.raises(LookupError, match="lost"):
        run_on_simulated_devices(program, processes=2)
    assert time.monotonic() - start < 40


def test_exit_without_result_raises_runtime_error():
    def program(address, process):
        if process:
            os.write(2, b"\xff out of luck\n\n")
            os._exit(3)
        time.sleep(50)

    with pytest.raises(
        RuntimeError, match=r"program exited with status 3 without a result: . out of"
    ):
        run_on_simulated_devices(program, processes=2)


@pytest.mark.skipif(os.name == "nt", reason="signals need POSIX")
def test_signal_raises_runtime_error():
    def program():
        os.kill(os.getpid(), 11)

    with pytest.raises(RuntimeError, match="program was terminated by signal 11"):
        run_on_simulated_devices(program)


def test_output_that_is_not_utf8_is_decoded_with_replacement(capsys):
    def program():
        sys.stdout.buffer.write(b"\xff\n")
        os.write(1, b"from below\n")

    assert run_on_simulated_devices(program) is None
    assert capsys.readouterr().out == "\ufffd\n"


def test_run_on_simulated_devices_rejects_unsendable_values():
    def program():
        return unfit

    with pytest.raises(ValueError, match=r"program uses unfit \(object\), which cannot be sent"):
        run_on_simulated_devices(program)
    with pytest.raises(ValueError, match="a function defined with def"):
        run_on_simulated_devices(len)
    with pytest.raises(ValueError, match="a function defined with def"):
        run_on_simulated_devices(functools.partial(multiply, 1))
    with pytest.raises(ValueError, match="a plain def without decorators"):
        run_on_simulated_devices(lambda: 3)


def test_run_on_simulated_devices_rejects_unsendable_results():
    def program():
        return object()

    with pytest.raises(
        TypeError, match=r"program must return numbers, strings, .* got object"
    ) as raised:
        run_on_simulated_devices(program)
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.parametrize(
    "arguments", [{"devices": 0}, {"processes": 0}, {"seconds": 0}, {"seconds": 1e9}]
)
def test_run_on_simulated_devices_rejects_numbers_out_of_range(arguments):
    with pytest.raises(ValueError, match=r"must be (above 0|at least 1)"):
        run_on_simulated_devices(multiply, **arguments)


def test_simulate_devices_works_after_computation():
    program = """
import jax
from jaxbits.book.simulated_devices import simulate_devices
before = jax.device_count()
simulate_devices(before + 2)
print(jax.device_count() - before, jax.default_backend())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "2 cpu\n", done.stderr


def test_simulate_devices_rejects_zero():
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        simulate_devices(0)
