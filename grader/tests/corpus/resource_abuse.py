"""Submissions that use too much memory, disk space, or processes."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import RAN, Submission
from corpus.planted_files import LEFT
from corpus.submission_builder import SubmissionBuilder, clean, description

HOGS = {
    "hog-numpy": """
        # Takes memory with NumPy.
        import numpy as np
        blocks = []
        while True:
            blocks.append(np.ones(2**26))
    """,
    "hog-children": """
        # Takes memory in many small children.
        import subprocess, sys, time
        code = "import time; x = b'x' * 150_000_000; time.sleep(60)"
        children = []
        while True:
            children.append(subprocess.Popen([sys.executable, "-c", code]))
            time.sleep(0.05)
    """,
}

QUICK_HOGS = {
    "hog-at-once": "# Takes 64 GB at once.\nimport numpy as np\nblock = np.ones(2**33)",
    "hog-jax": """
        # Takes memory with JAX.
        import jax.numpy as jnp
        blocks = [jnp.ones(2**27).block_until_ready() for _ in range(64)]
    """,
    "hog-list": """
        # Takes memory in a list that doubles, 16 GB at most.
        grows = [None] * 1024
        while len(grows) < 2**31:
            grows += grows
    """,
    "hog-files": """
        # Fills every folder that it can write to, 8 GB at most in each.
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
        # Makes 200 000 empty files.
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
        # Leaves 40 children in sessions of their own.
        import subprocess
        try:
            for _ in range(40):
                subprocess.Popen(["sleep", "{LEFT}"], start_new_session=True)
        except OSError as error:
            print(type(error).__name__)
    """,
    "double-fork": f"""
        # Leaves a process that was forked twice and hears no signal but KILL.
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
            os.execvp("sleep", ["sleep", "{LEFT}"])
    """,
    "nohup": f"""
        # Leaves processes with nohup, setsid, at and cron.
        import os
        os.system("nohup sleep {LEFT} > /dev/null 2>&1 &")
        os.system("setsid -f sleep {LEFT} > /dev/null 2>&1")
        os.system("echo sleep {LEFT} | at now > /dev/null 2>&1")
        os.system("echo '* * * * * sleep {LEFT}' | crontab - > /dev/null 2>&1")
        os.system("systemd-run --user sleep {LEFT} > /dev/null 2>&1")
    """,
    "thread-bomb": """
        # Starts threads until there are no more.
        import threading, time
        try:
            for _ in range(20_000):
                threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        except RuntimeError as error:
            print(error)
    """,
}
FORK_BOMB = f"""
    # Forks until it is stopped, each child again.
    import time
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)
    os.execvp("sleep", ["sleep", "{LEFT}"])
"""


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    first = builder.tasks[0]

    for slow, hogs in ((True, HOGS), (False, QUICK_HOGS)):
        for name, text in hogs.items():
            code = builder.only_in_sandbox(clean(text))
            content = builder.insert(builder.right(), code, at=first.id)
            range_ = (builder.until(first), builder.full)
            core = name in ("hog-numpy", "hog-at-once", "hog-files")
            yield Submission(
                name, "memory", description(code), content, RAN, range_, slow=slow, core=core
            )

    for name, text in CHILDREN.items():
        code = clean(text)
        content = builder.insert(builder.right(), code, at=first.id)
        range_ = (builder.until(first), builder.full)
        # Ending the run for so many processes is right; so is going on.
        core = name != "thread-bomb"
        yield Submission(name, "children", description(code), content, RAN, range_, core=core)
    code = builder.only_in_sandbox(clean(FORK_BOMB))
    content = builder.insert(builder.right(), code, at=first.id)
    range_ = (builder.until(first), builder.full)
    yield Submission("fork-bomb", "children", description(code), content, RAN, range_, slow=True)
