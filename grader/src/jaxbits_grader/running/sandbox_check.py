"""Whether the sandbox holds here: tried, with a program that does what a submission must not."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jaxbits_grader.running import sandbox
from jaxbits_grader.running.limits import Limits
from jaxbits_grader.running.sandbox import HOW_TO_GET, NoSandbox

_SECONDS = 60
_USER_NAMESPACES = (
    "Often users may not make namespaces here: on Ubuntu 24.04 and later AppArmor forbids it to "
    "programs without a profile (install apparmor-profiles, or ask an administrator for a profile "
    "of bwrap), on other systems see the sysctl user.max_user_namespaces and "
    "kernel.unprivileged_userns_clone; in a container, start it with leave to make namespaces."
)

# Runs inside. Every line that it prints is something that it should not have been able to do.
_TRY = """
import json, os, socket, sys, threading, time
told = json.loads(sys.argv[1])
def can(what, do):
    try:
        if do() is not False:
            print(what)
    except (OSError, MemoryError, RuntimeError, ValueError):
        pass
can("reads files of the machine", lambda: open(told["secret"]).read())
can("reads the grader's environment", lambda: told["word"] in str(os.environ))
def environments():
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if told["word"].encode() in open(f"/proc/{p}/environ", "rb").read():
                return True
        except OSError:
            pass
    return False
can("reads another process's environment", environments)
can("sees the machine's processes", lambda: os.path.exists(f"/proc/{told['pid']}/status")
    and told["name"] in open(f"/proc/{told['pid']}/cmdline").read())
here = ("127.0.0.1", told["port"])
can("reaches the network of the machine", lambda: socket.create_connection(here, 2))
def write(folder):
    path = os.path.join(folder, "written-by-probe")
    open(path, "w").close()
    os.unlink(path)
for folder in ("/", "/usr", "/dev", sys.prefix, told["package"]):
    can(f"writes to {folder}", lambda: write(folder))
def fill():
    with open("fill", "wb") as f:
        for _ in range(64):
            f.write(bytes(1 << 20))
can("writes more than it may", fill)
can("takes more memory than it may", lambda: len(bytearray(told["memory"])))
def many():
    for n in range(told["processes"] + 20):
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
can("starts more processes than it may", many)
print("tried")
"""


@contextlib.contextmanager
def _listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def probe() -> None:
    """Make sure that the sandbox holds on this machine.

    Raises:
        NoSandbox: when there is none, when it does not start, or when something gets out of it; the
            message says what, and how to get one.
    """
    sandbox.bubblewrap()
    limits = replace(Limits(), disk_mb=16, processes=64)
    word = secrets.token_hex(8)
    place = Path(tempfile.mkdtemp(prefix="jb"))
    try:
        shared = place / "shared"
        shared.mkdir(mode=0o700)
        secret = place / "secret"
        secret.write_text(word)
        with _listening() as port:
            told = {
                "secret": str(secret),
                "word": word,
                "pid": os.getpid(),
                "name": Path(sys.executable).name,
                "port": port,
                "package": str(Path(sandbox.__file__).parent),
                "memory": limits.address_space + 2**30,
                "processes": limits.processes,
            }
            program = [sys.executable, "-I", "-c", _TRY, json.dumps(told)]
            done = subprocess.run(
                sandbox.command(program, shared, limits),
                env={**os.environ, "JAXBITS_PROBE": word},
                cwd=place,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSandbox(f"the sandbox does not work here: {error}. {HOW_TO_GET}") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
    lines = done.stdout.splitlines()
    if "tried" not in lines:
        said = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise NoSandbox(f"the sandbox does not start here: {said}. {_USER_NAMESPACES} {HOW_TO_GET}")
    if got_out := [line for line in lines if line != "tried"]:
        raise NoSandbox(
            f"the sandbox does not hold here: a program in it {'; '.join(got_out)}. {HOW_TO_GET}"
        )
