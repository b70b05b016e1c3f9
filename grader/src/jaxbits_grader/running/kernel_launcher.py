"""Start a kernel that cannot do more than end itself, and leave nothing of it behind."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from jupyter_client.connect import write_connection_file

from jaxbits_grader.running import sandbox
from jaxbits_grader.running.kernel_client import Kernel
from jaxbits_grader.running.limits import Limits
from jaxbits_grader.running.resource_monitor import Watch


@contextlib.contextmanager
def started(
    limits: Limits, settings: Sequence[str] = (), *, unsafe: bool = False
) -> Iterator[Kernel]:
    """A kernel in the sandbox, ended with all its processes and files when the block is left.

    Args:
        limits: what it may use.
        settings: of IPython, as arguments of its command line.
        unsafe: without the sandbox.

    Raises:
        sandbox.NoSandbox: when it should be sandboxed and there is no bubblewrap.
        runner.NotStarted: when the kernel does not start.
    """
    # Short: the path of a socket may have about a hundred characters.
    shared = Path(tempfile.mkdtemp(prefix="jb"))
    try:
        file, key = str(shared / "kernel.json"), secrets.token_hex(16).encode()
        _, connection = write_connection_file(file, ip=str(shared / "s"), transport="ipc", key=key)
        program = [
            sys.executable,
            "-I",
            "-m",
            "jaxbits_grader.running.output_limited_kernel",
            "-f",
            file,
            *settings,
        ]
        if unsafe:
            work = shared / "work"
            work.mkdir()
            command, cwd, env = program, work, {**sandbox.variables(), "HOME": str(work)}
        else:
            command, cwd, env = sandbox.command(program, shared, limits), shared, {}
        log = subprocess.DEVNULL
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=log, stdout=log, stderr=log, start_new_session=True
        )
        kernel = Kernel(process, dict(connection), limits)
        try:
            with Watch(process.pid, shared, limits, kernel.end) as kernel.watch:
                kernel.start()
                yield kernel
                kernel.end()
        finally:
            kernel.end()
            kernel.disconnect()
    finally:
        _remove(shared)


def _remove(folder: Path) -> None:
    """Remove what a submission left, however deep it lies and without whatever permissions."""
    for program in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        command = [*program, "--", str(folder)]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
