"""Submissions that do to the notebook's shell what people do by accident, or on purpose."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import FINE, LOOKED_AT, Submission
from corpus.submission_builder import SubmissionBuilder, clean, description

# All else goes on as before: full marks.
UNHARMED = {
    "asks-for-input": '# Asks for input.\nname = input("Your name? ")',
    "interrupts-itself": "# Raises what an interrupt raises.\nraise KeyboardInterrupt",
    "raises-system-exit": "# Leaves its cell by SystemExit.\nimport sys\nsys.exit(0)",
    "raises-base-exception": """
        # Raises an error that is no Exception, and cannot be shown.
        class Odd(BaseException):
            def __str__(self):
                raise RuntimeError("no text")
            __repr__ = __str__
        raise Odd
    """,
    "sends-on-odd-sockets": """
        # Sends a message of an unknown kind to the grader.
        kernel = get_ipython().kernel
        kernel.session.send(kernel.iopub_socket, "shutdown_reply", {"restart": False})
        kernel.session.send(kernel.iopub_socket, "iopub_welcome", {"subscription": ""})
        kernel.iopub_socket.send_multipart([b"no", b"message", b"at", b"all"])
    """,
    "warnings-as-errors-at-end": """
        # Makes errors of warnings, in its last cell.
        import warnings
        warnings.simplefilter("error")
    """,
    "logs-everything": """
        # Logs everything.
        import logging
        logging.basicConfig(level=logging.DEBUG, force=True)
    """,
    "pdb-on": "# Wants the debugger for every error.\n%pdb on\n1 / 0",
}

# What was earned above is due; what comes below may be lost.
HARMED = {
    "resets": "# Forgets all names.\n%reset -f",
    "exits": "# Leaves the notebook.\nexit()",
    "quits": "# Leaves the notebook, and keeps the kernel.\nquit(keep_kernel=True)",
    "shuts-down": """
        # Shuts the kernel down.
        get_ipython().kernel.do_shutdown(False)
        get_ipython().kernel.io_loop.add_callback(get_ipython().kernel.io_loop.stop)
    """,
    "recursion-limit-low": "# Allows few calls in calls.\nimport sys\nsys.setrecursionlimit(60)",
    "recursion-limit-high": """
        # Calls itself until the stack ends.
        import sys
        sys.setrecursionlimit(10**9)
        def again(*args):
            return sorted([1], key=again)
        again()
    """,
    "closes-stdout": "# Closes stdout.\nimport sys\nsys.stdout.close()\nsys.stderr = None",
    "replaces-stdout": """
        # Replaces stdout and stderr.
        import io, sys
        sys.stdout, sys.stderr, sys.displayhook = io.StringIO(), open("log.txt", "w"), None
    """,
    "warnings-as-errors": """
        # Makes errors of warnings and of odd numbers.
        import warnings
        import numpy as np
        warnings.simplefilter("error")
        np.seterr(all="raise")
    """,
    "x64-left-on": """
        # Leaves 64 bits switched on.
        import jax
        jax.config.update("jax_enable_x64", True)
    """,
    "jit-left-off": """
        # Leaves jit switched off.
        import jax
        jax.config.update("jax_disable_jit", True)
    """,
    "nans-left-on": """
        # Leaves the search for NaNs switched on, and tracer leaks checked.
        import jax
        jax.config.update("jax_debug_nans", True)
        jax.config.update("jax_check_tracer_leaks", True)
    """,
    "alarm": """
        # Has an alarm go off in the middle of the tests.
        import signal
        signal.setitimer(signal.ITIMER_REAL, 0.2)
    """,
    "deletes-its-files": """
        # Deletes all files in its folders, those of its connection too.
        import shutil, sys
        for place in (".", "/tmp"):
            shutil.rmtree(place, ignore_errors=True)
    """,
    "clears-modules": """
        # Forgets all modules and where to find them.
        import sys
        sys.path.clear()
        for name in [name for name in sys.modules if name.startswith(("jax", "numpy"))]:
            del sys.modules[name]
    """,
    "stops-the-loop": """
        # Stops the event loop that the kernel runs on.
        import asyncio
        asyncio.get_event_loop().stop()
    """,
    "shadows-what-is-given": """
        # Uses the names of modules for other things, and jit for a number.
        np = jnp = 3
        sum = max = 7
    """,
    "hash-seeds": """
        # Seeds, threads and default devices changed.
        import os, random
        import numpy
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
        os.environ["JAX_PLATFORMS"] = "tpu"
        random.seed(0)
        numpy.random.seed(0)
    """,
}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    first = builder.tasks[0]
    for name, text in UNHARMED.items():
        code = clean(text)
        at = "end" if name == "warnings-as-errors-at-end" else first.id
        content = builder.insert(builder.right(), code, at=at)
        core = name in ("asks-for-input", "raises-system-exit")
        yield Submission(name, "shell", description(code), content, FINE, builder.full, core=core)
    for name, text in HARMED.items():
        code = builder.only_in_sandbox(clean(text)) if name == "deletes-its-files" else clean(text)
        content = builder.insert(builder.right(), code, at=first.id)
        score = (builder.until(first), builder.full)
        # A patched or closed stream may look like tampering: then a person looks.
        statuses = LOOKED_AT
        core = name in ("resets", "exits", "x64-left-on")
        yield Submission(name, "shell", description(code), content, statuses, score, core=core)
