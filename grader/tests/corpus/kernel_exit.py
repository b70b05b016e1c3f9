"""Submissions that end their process or another one, or never end."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import ENDED, FINE, RAN, STOPPED, Submission
from corpus.planted_files import LEFT
from corpus.submission_builder import SubmissionBuilder, clean, description

WHY = (r"(?i)ended|died|crash|memory|process|kernel",)
TIME = (r"(?i)second|long|time",)

DEATHS = {
    "os-exit": "# Ends its process without a word.\nimport os\nos._exit(0)",
    "kills-itself": "# Kills its own process.\nimport os\nos.kill(os.getpid(), 9)",
    "segfaults": "# Reads the address 0.\nimport ctypes\nctypes.string_at(0)",
    "aborts": "# Aborts, as a failed assertion in C does.\nimport os\nos.abort()",
    "kills-its-threads": """
        # Kills its process group.
        import os, signal
        os.killpg(os.getpgid(0), signal.SIGKILL)
    """,
}

PARENTS = {
    "kills-its-parent": "# Kills its parent process.\nos.kill(os.getppid(), 9)\nos._exit(1)",
    "kills-all": "# Kills all processes that it may kill.\nos.kill(-1, 9)\nos._exit(1)",
    "kills-by-name": """
        # Kills every process whose arguments it can see.
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                try:
                    os.kill(int(name), 9)
                except OSError:
                    pass
        os._exit(1)
    """,
    "stops-its-parent": """
        # Stops its parent, which then neither runs nor ends.
        try:
            os.kill(os.getppid(), 19)
        finally:
            os._exit(1)
    """,
}

# One for each way to never end. Each uses up the time of a cell or of the notebook.
ENDLESS = {
    "loops": "# Loops without an end.\nwhile True:\n    pass",
    "loops-and-catches": """
        # Loops without an end, and catches the interrupt.
        import time
        while True:
            try:
                time.sleep(1)
            except BaseException:
                continue
    """,
    "loops-in-jit": """
        # A loop inside of jit that never ends, and that the compiler cannot see through.
        import jax
        x = jax.jit(lambda x: jax.lax.while_loop(lambda x: x > -5.0, jax.numpy.sin, x))(1.0)
        x.block_until_ready()
    """,
}

# These end at once if the kernel is killed, and never if it is only asked to stop.
STAYS = {
    "stays-in-atexit": """
        # Sleeps when Python ends.
        import atexit, time
        atexit.register(time.sleep, 3600)
    """,
    "stays-in-a-thread": """
        # Has a thread that Python waits for when it ends.
        import threading, time
        threading.Thread(target=time.sleep, args=(3600,)).start()
    """,
    "stays-in-a-destructor": """
        # Sleeps when its objects are taken away, and runs in a circle when it is told to stop.
        import signal, time
        class Stays:
            def __del__(self):
                time.sleep(3600)
        stays = Stays()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: time.sleep(3600))
    """,
}
SLEEPS = {
    "sleeps": "# Sleeps for an hour.\nimport time\ntime.sleep(3600)",
    "closes-its-sockets": """
        # Closes all its files and sockets, so that nothing is heard of it any more.
        import os
        os.closerange(3, 4096)
    """,
    "waits-for-a-child": f"""
        # Waits for a child that ends tomorrow.
        import subprocess
        subprocess.run(["sleep", "{LEFT}"])
    """,
}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    first, second, last = builder.tasks[0], builder.tasks[1], builder.tasks[-1]

    for name, text in DEATHS.items():
        code = clean(text)
        places = {"first": first, "second": second, "last": last}
        for where, task in places.items() if name == "os-exit" else [("second", second)]:
            yield Submission(
                f"{name}-in-{where}-task",
                "kernel-death",
                description(code),
                builder.extend(builder.right(), task, code),
                ENDED,
                builder.before(task),
                WHY,
                core=name in ("os-exit", "kills-itself"),
            )
    code = clean(DEATHS["os-exit"])
    score = builder.before(builder.function()[0])
    content = builder.called(code)
    yield Submission(
        "os-exit-when-called",
        "kernel-death",
        description(code),
        content,
        ENDED,
        score,
        WHY,
        core=True,
    )
    content = builder.insert(builder.right(), code)
    yield Submission(
        "os-exit-at-the-end", "kernel-death", description(code), content, RAN, builder.full, WHY
    )

    for name, text in PARENTS.items():
        code = builder.only_in_sandbox(clean(text))
        content = builder.extend(builder.right(), second, code)
        score = builder.before(second)
        yield Submission(
            name,
            "parent",
            description(code),
            content,
            ENDED,
            score,
            WHY,
            core=name != "stops-its-parent",
        )

    for name, text in ENDLESS.items():
        code = clean(text)
        content = builder.extend(builder.right(), second, code)
        yield Submission(
            name,
            "endless",
            description(code),
            content,
            STOPPED,
            (builder.before(second), builder.full),
            TIME,
            slow=True,
            core=True,
        )

    for name, text in STAYS.items():
        code = clean(text)
        content = builder.insert(builder.right(), code, at=first.id)
        yield Submission(name, "endless", description(code), content, FINE, builder.full, core=True)
    for name, text in SLEEPS.items():
        code = clean(text)
        content = builder.insert(builder.right(), code, at=first.id)
        score = (builder.until(first), builder.full)
        yield Submission(
            name, "endless", description(code), content, STOPPED, score, TIME, slow=True
        )

    code = clean(
        "# Is at the limit of nothing: a right answer that takes two seconds.\n"
        "import time\ntime.sleep(2)"
    )
    content = builder.extend(builder.right(), first, code)
    yield Submission("takes-its-time", "endless", description(code), content, FINE, builder.full)
