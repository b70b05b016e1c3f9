"""Submissions that use too much memory, disk space, or processes."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import RAN, Submission
from corpus.planted_files import SLEEP_SECONDS
from corpus.submission_builder import SubmissionBuilder, dedent, description

HOGS = {
    "hog-numpy": """
        # Allocates memory with NumPy without end.
        import numpy as np
        blocks = []
        while True:
            blocks.append(np.ones(2**26))
    """,
    "hog-children": """
        # Allocates memory in many small child processes.
        import subprocess, sys, time
        code = "import time; x = b'x' * 150_000_000; time.sleep(60)"
        children = []
        while True:
            children.append(subprocess.Popen([sys.executable, "-c", code]))
            time.sleep(0.05)
    """,
}

QUICK_HOGS = {
    "hog-at-once": "# Allocates 64 GB at once.\nimport numpy as np\nblock = np.ones(2**33)",
    "hog-jax": """
        # Allocates memory with JAX.
        import jax.numpy as jnp
        blocks = [jnp.ones(2**27).block_until_ready() for _ in range(64)]
    """,
    "hog-list": """
        # Allocates memory in a list that doubles in size, up to 16 GB.
        grows = [None] * 1024
        while len(grows) < 2**31:
            grows += grows
    """,
    "hog-files": """
        # Writes up to 8 GB into every folder in which it can write.
        import pathlib
        block = b"x" * 2**24
        for place in (".", "/tmp", "~", "/dev/shm", "/var/tmp", "/run"):
            try:
                path = pathlib.Path(place).expanduser() / "jaxbits-corpus-was-here"
                with path.open("wb") as file:
                    for _ in range(512):
                        file.write(block)
                        file.flush()
            except OSError as error:
                print(place, type(error).__name__)
    """,
    "hog-inodes": """
        # Creates 200,000 empty files.
        try:
            for number in range(200_000):
                open(f"empty-{number}", "w").close()
        except OSError as error:
            print(type(error).__name__)
    """,
    "hog-shared": """
        # Writes into the folder that the kernel and the grader share.
        import glob, os, sys
        for place in {os.path.dirname(path) for path in glob.glob("/tmp/*/*")}:
            try:
                with open(os.path.join(place, "jaxbits-corpus-was-here"), "wb") as file:
                    for _ in range(512):
                        file.write(b"x" * 2**24)
            except OSError as error:
                print(type(error).__name__)
    """,
}

CHILDREN = {
    "forty-children": f"""
        # Leaves 40 child processes, each in its own session.
        import subprocess
        try:
            for _ in range(40):
                subprocess.Popen(["sleep", "{SLEEP_SECONDS}"], start_new_session=True)
        except OSError as error:
            print(type(error).__name__)
    """,
    "double-fork": f"""
        # Leaves a process that was forked twice and ignores the signals that it can ignore.
        import os, signal
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            for number in range(1, 32):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError):
                    pass
            os.closerange(0, 4096)
            os.execvp("sleep", ["sleep", "{SLEEP_SECONDS}"])
    """,
    "nohup": f"""
        # Leaves processes with nohup, setsid, at, cron, and systemd-run.
        import os
        os.system("nohup sleep {SLEEP_SECONDS} > /dev/null 2>&1 &")
        os.system("setsid -f sleep {SLEEP_SECONDS} > /dev/null 2>&1")
        os.system("echo sleep {SLEEP_SECONDS} | at now > /dev/null 2>&1")
        os.system("echo '* * * * * sleep {SLEEP_SECONDS}' | crontab - > /dev/null 2>&1")
        os.system("systemd-run --user sleep {SLEEP_SECONDS} > /dev/null 2>&1")
    """,
    "thread-bomb": """
        # Starts threads until the system refuses to start another one.
        import threading, time
        try:
            for _ in range(20_000):
                threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        except RuntimeError as error:
            print(error)
    """,
}
FORK_BOMB = f"""
    # Forks repeatedly, and so does each child process.
    import time
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)
    os.execvp("sleep", ["sleep", "{SLEEP_SECONDS}"])
"""


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    first = builder.tasks[0]

    for slow, hogs in ((True, HOGS), (False, QUICK_HOGS)):
        for name, text in hogs.items():
            code = builder.only_in_sandbox(dedent(text))
            content = builder.insert(builder.right(), code, at=first.id)
            score = (builder.points_through(first), builder.full_score)
            core = name in ("hog-numpy", "hog-at-once", "hog-files")
            yield Submission(
                name, "memory", description(code), content, RAN, score, slow=slow, core=core
            )

    for name, text in CHILDREN.items():
        code = dedent(text)
        content = builder.insert(builder.right(), code, at=first.id)
        score = (builder.points_through(first), builder.full_score)
        # The grader may end a run that starts so many processes, but it does not have to.
        core = name != "thread-bomb"
        yield Submission(name, "children", description(code), content, RAN, score, core=core)
    code = builder.only_in_sandbox(dedent(FORK_BOMB))
    content = builder.insert(builder.right(), code, at=first.id)
    score = (builder.points_through(first), builder.full_score)
    yield Submission("fork-bomb", "children", description(code), content, RAN, score, slow=True)
