"""Start a kernel in the sandbox, and clean up after it."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from jupyter_client.connect import write_connection_file

from jaxbits_grader.running import sandbox
from jaxbits_grader.running.kernel_client import Kernel
from jaxbits_grader.running.library_programs import copy_library_programs
from jaxbits_grader.running.limits import Limits
from jaxbits_grader.running.resource_monitor import ResourceMonitor

_KERNEL = "jaxbits_grader.running.output_limited_kernel"


@contextlib.contextmanager
def launch_kernel(
    limits: Limits,
    options: Sequence[str] = (),
    *,
    unsafe: bool = False,
    cache: Path | None = None,
    own_names: Collection[str] = (),
) -> Iterator[Kernel]:
    """Yield a running kernel. When the block ends, kill its processes and remove its files.

    Args:
        limits: The resources that the kernel may use.
        options: Additional command-line arguments for IPython.
        unsafe: Whether to start the kernel outside the sandbox.
        cache: The folder in which judges keep compiled programs, or None. The kernel can read those
            of JAX's own operations.
        own_names: The names of functions in the assignment and its tests, whose programs no kernel
            may read.

    Raises:
        SandboxUnavailable: If bubblewrap is not installed.
        KernelNotStarted: If the kernel does not start.
    """
    # Use a short path, because the path of a Unix socket can have only about 100 characters.
    shared = Path(tempfile.mkdtemp(prefix="jb"))
    stack = contextlib.ExitStack()
    try:
        programs = stack.enter_context(copy_library_programs(cache, own_names))
        file, key = str(shared / "kernel.json"), secrets.token_hex(16).encode()
        _, connection = write_connection_file(file, ip=str(shared / "s"), transport="ipc", key=key)
        program = [sys.executable, "-I", "-m", _KERNEL, "-f", file, *options]
        if unsafe:
            work = shared / "work"
            work.mkdir()
            environment = {**sandbox.student_environment(programs), "HOME": str(work)}
            command, cwd = program, work
        else:
            command, cwd = sandbox.sandbox_command(program, shared, limits, programs), shared
            environment = {}
        null = subprocess.DEVNULL
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=null,
            stdout=null,
            stderr=null,
            start_new_session=True,
        )
        kernel = Kernel(process, dict(connection), limits)
        try:
            with ResourceMonitor(process.pid, shared, limits, kernel.end) as kernel.monitor:
                kernel.start()
                yield kernel
                kernel.end()
        finally:
            kernel.end()
            kernel.disconnect()
    finally:
        stack.close()
        _remove(shared)


def _remove(folder: Path) -> None:
    """Remove a submission's folder, whatever permissions it has and however deeply it is nested."""
    for program in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        command = [*program, "--", str(folder)]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
