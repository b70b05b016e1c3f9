"""Submissions that disturb the notebook's shell by accident or on purpose."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import GRADED_OR_FLAGGED, RAN_OR_TAMPERED, Submission
from corpus.submission_builder import SubmissionBuilder, dedent, description

# These snippets do not affect the other cells, so the submissions get full credit.
FULL_SCORE_SNIPPETS = {
    "asks-for-input": '# Asks for input.\nname = input("Your name? ")',
    "interrupts-itself": "# Raises KeyboardInterrupt.\nraise KeyboardInterrupt",
    "raises-system-exit": "# Leaves its cell with SystemExit.\nimport sys\nsys.exit(0)",
    "raises-base-exception": """
        # Raises an error that is not an Exception and cannot be displayed.
        class Odd(BaseException):
            def __str__(self):
                raise RuntimeError("no text")
            __repr__ = __str__
        raise Odd
    """,
    "sends-on-odd-sockets": """
        # Sends unexpected messages to the grader.
        kernel = get_ipython().kernel
        kernel.session.send(kernel.iopub_socket, "shutdown_reply", {"restart": False})
        kernel.session.send(kernel.iopub_socket, "iopub_welcome", {"subscription": ""})
        kernel.iopub_socket.send_multipart([b"no", b"message", b"at", b"all"])
    """,
    "warnings-as-errors-at-end": """
        # Turns warnings into errors in its last cell.
        import warnings
        warnings.simplefilter("error")
    """,
    "logs-everything": """
        # Logs everything.
        import logging
        logging.basicConfig(level=logging.DEBUG, force=True)
    """,
    "pdb-on": "# Starts the debugger on every error.\n%pdb on\n1 / 0",
}

# The tests above these snippets must earn their points, but those below them may fail.
PARTIAL_SCORE_SNIPPETS = {
    "resets": "# Deletes all names.\n%reset -f",
    "exits": "# Exits the notebook.\nexit()",
    "quits": "# Exits the notebook but keeps the kernel.\nquit(keep_kernel=True)",
    "shuts-down": """
        # Shuts the kernel down.
        get_ipython().kernel.do_shutdown(False)
        get_ipython().kernel.io_loop.add_callback(get_ipython().kernel.io_loop.stop)
    """,
    "recursion-limit-low": "# Sets a low recursion limit.\nimport sys\nsys.setrecursionlimit(60)",
    "recursion-limit-high": """
        # Recurses until the stack overflows.
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
        # Turns warnings and floating-point errors into exceptions.
        import warnings
        import numpy as np
        warnings.simplefilter("error")
        np.seterr(all="raise")
    """,
    "x64-left-on": """
        # Leaves 64-bit types enabled.
        import jax
        jax.config.update("jax_enable_x64", True)
    """,
    "jit-left-off": """
        # Leaves jit disabled.
        import jax
        jax.config.update("jax_disable_jit", True)
    """,
    "nans-left-on": """
        # Leaves the checks for NaNs and for tracer leaks enabled.
        import jax
        jax.config.update("jax_debug_nans", True)
        jax.config.update("jax_check_tracer_leaks", True)
    """,
    "alarm": """
        # Sets an alarm that goes off during the tests.
        import signal
        signal.setitimer(signal.ITIMER_REAL, 0.2)
    """,
    "deletes-its-files": """
        # Deletes all files in its folders, including its connection file.
        import shutil, sys
        for place in (".", "/tmp"):
            shutil.rmtree(place, ignore_errors=True)
    """,
    "clears-modules": """
        # Clears the module search path, and removes JAX and NumPy from sys.modules.
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
    "shadows-modules": """
        # Uses the names of modules and builtins for numbers.
        np = jnp = 3
        sum = max = 7
    """,
    "changes-seeds": """
        # Changes random seeds and the environment variables of XLA and JAX.
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
    for name, text in FULL_SCORE_SNIPPETS.items():
        code = dedent(text)
        at = "end" if name == "warnings-as-errors-at-end" else first.id
        content = builder.insert(builder.right(), code, at=at)
        core = name in ("asks-for-input", "raises-system-exit")
        yield Submission(
            name,
            "shell",
            description(code),
            content,
            GRADED_OR_FLAGGED,
            builder.full_score,
            core=core,
        )
    for name, text in PARTIAL_SCORE_SNIPPETS.items():
        code = (
            builder.only_in_sandbox(dedent(text)) if name == "deletes-its-files" else dedent(text)
        )
        content = builder.insert(builder.right(), code, at=first.id)
        score = (builder.points_through(first), builder.full_score)
        # A patched or closed stream may look like tampering, so a person may have to check.
        statuses = RAN_OR_TAMPERED
        core = name in ("resets", "exits", "x64-left-on")
        yield Submission(name, "shell", description(code), content, statuses, score, core=core)
