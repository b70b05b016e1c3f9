"""Check that the sandbox works on this machine by running a program that tries to escape."""

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
from jaxbits_grader.running.sandbox import HOW_TO_INSTALL, SandboxUnavailable

_TIMEOUT_SECONDS = 60
_USER_NAMESPACES = (
    "The usual reason is that users may not create namespaces. On Ubuntu 24.04 and later, AppArmor "
    "allows this only for programs with a profile (install apparmor-profiles, or ask an "
    "administrator for a bwrap profile). On other systems, see the sysctls "
    "user.max_user_namespaces and kernel.unprivileged_userns_clone. A container has to be started "
    "with permission to create namespaces."
)

# This program runs inside the sandbox. Every line that it prints before "finished" names something
# that the sandbox should have prevented.
_ESCAPE_PROGRAM = """
import json, os, socket, sys, threading, time
facts = json.loads(sys.argv[1])
def can(what, do):
    try:
        if do() is not False:
            print(what)
    except (OSError, MemoryError, RuntimeError, ValueError):
        pass
can("reads files of the machine", lambda: open(facts["secret"]).read())
can("reads the grader's environment", lambda: facts["word"] in str(os.environ))
def environments():
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if facts["word"].encode() in open(f"/proc/{p}/environ", "rb").read():
                return True
        except OSError:
            pass
    return False
can("reads another process's environment", environments)
can("sees the machine's processes", lambda: os.path.exists(f"/proc/{facts['pid']}/status")
    and facts["name"] in open(f"/proc/{facts['pid']}/cmdline").read())
here = ("127.0.0.1", facts["port"])
can("reaches the network of the machine", lambda: socket.create_connection(here, 2))
def write(folder):
    path = os.path.join(folder, "written-by-probe")
    open(path, "w").close()
    os.unlink(path)
for folder in ("/", "/usr", "/dev", sys.prefix, facts["package"]):
    can(f"writes to {folder}", lambda: write(folder))
def fill():
    with open("fill", "wb") as f:
        for _ in range(64):
            f.write(bytes(1 << 20))
can("writes more than the limit", fill)
can("allocates more memory than the limit", lambda: len(bytearray(facts["memory"])))
def many():
    for n in range(facts["processes"] + 20):
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
can("starts more processes than the limit", many)
print("finished")
"""


@contextlib.contextmanager
def _listen() -> Iterator[int]:
    """Listen on a port on this machine, and yield the port number."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def check_sandbox() -> None:
    """Check that a program in the sandbox cannot access the rest of this machine.

    Raises:
        SandboxUnavailable: If bubblewrap is missing, if the sandbox does not start, or if the
            program escapes from it. The message says what happened and how to fix it.
    """
    sandbox.find_bubblewrap()
    limits = replace(Limits(), disk_mb=16, processes=64)
    word = secrets.token_hex(8)
    folder = Path(tempfile.mkdtemp(prefix="jb"))
    try:
        shared = folder / "shared"
        shared.mkdir(mode=0o700)
        secret = folder / "secret"
        secret.write_text(word)
        with _listen() as port:
            facts = {
                "secret": str(secret),
                "word": word,
                "pid": os.getpid(),
                "name": Path(sys.executable).name,
                "port": port,
                "package": str(Path(sandbox.__file__).parent),
                "memory": limits.address_space + 2**30,
                "processes": limits.processes,
            }
            program = [sys.executable, "-I", "-c", _ESCAPE_PROGRAM, json.dumps(facts)]
            done = subprocess.run(
                sandbox.sandbox_command(program, shared, limits),
                env={**os.environ, "JAXBITS_PROBE": word},
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_SECONDS,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxUnavailable(
            f"the sandbox does not work here: {error}. {HOW_TO_INSTALL}"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = done.stdout.splitlines()
    if "finished" not in lines:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise SandboxUnavailable(
            f"the sandbox does not start here: {reason}. {_USER_NAMESPACES} {HOW_TO_INSTALL}"
        )
    if escapes := "; ".join(line for line in lines if line != "finished"):
        raise SandboxUnavailable(
            f"the sandbox is not secure here: a program in it {escapes}. {HOW_TO_INSTALL}"
        )
