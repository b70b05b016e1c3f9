"""Submissions that end their own process or another one, or that never end."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import GRADED_OR_FLAGGED, PARTIAL, PARTIAL_OR_FLAGGED, RAN, Submission
from corpus.planted_files import SLEEP_SECONDS
from corpus.submission_builder import SubmissionBuilder, dedent, description

EXIT_NOTE = (r"(?i)ended|died|crash|memory|process|kernel",)
TIME_NOTE = (r"(?i)second|long|time",)

EXITS = {
    "os-exit": "# Ends its process silently.\nimport os\nos._exit(0)",
    "kills-itself": "# Kills its own process.\nimport os\nos.kill(os.getpid(), 9)",
    "segfaults": "# Reads the address 0.\nimport ctypes\nctypes.string_at(0)",
    "aborts": "# Aborts, as a failed assertion in C does.\nimport os\nos.abort()",
    "kills-process-group": """
        # Kills its process group.
        import os, signal
        os.killpg(os.getpgid(0), signal.SIGKILL)
    """,
}

KILLERS = {
    "kills-its-parent": "# Kills its parent process.\nos.kill(os.getppid(), 9)\nos._exit(1)",
    "kills-all": "# Kills all processes that it may kill.\nos.kill(-1, 9)\nos._exit(1)",
    "kills-by-name": """
        # Kills every process that it can see in /proc.
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                try:
                    os.kill(int(name), 9)
                except OSError:
                    pass
        os._exit(1)
    """,
    "stops-its-parent": """
        # Suspends its parent process, which then neither runs nor ends.
        try:
            os.kill(os.getppid(), 19)
        finally:
            os._exit(1)
    """,
}

# Each of these uses up the time limit of a cell or of the notebook in a different way.
ENDLESS = {
    "loops": "# Loops forever.\nwhile True:\n    pass",
    "loops-and-catches": """
        # Loops forever, and catches the interrupt.
        import time
        while True:
            try:
                time.sleep(1)
            except BaseException:
                continue
    """,
    "loops-in-jit": """
        # Runs an infinite loop inside jit, which the compiler cannot optimize away.
        import jax
        x = jax.jit(lambda x: jax.lax.while_loop(lambda x: x > -5.0, jax.numpy.sin, x))(1.0)
        x.block_until_ready()
    """,
}

# These end at once if the grader kills the kernel, but not if it only asks the kernel to stop.
SLEEPERS_AT_EXIT = {
    "sleeps-in-atexit": """
        # Sleeps when Python exits.
        import atexit, time
        atexit.register(time.sleep, 3600)
    """,
    "sleeps-in-thread": """
        # Starts a thread that Python waits for when it exits.
        import threading, time
        threading.Thread(target=time.sleep, args=(3600,)).start()
    """,
    "sleeps-in-destructor": """
        # Sleeps when its objects are deleted and when it receives a signal to stop.
        import signal, time
        class Stays:
            def __del__(self):
                time.sleep(3600)
        stays = Stays()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: time.sleep(3600))
    """,
}
SLEEPERS = {
    "sleeps": "# Sleeps for an hour.\nimport time\ntime.sleep(3600)",
    "closes-its-sockets": """
        # Closes all its files and sockets, so that it sends no more messages.
        import os
        os.closerange(3, 4096)
    """,
    "waits-for-a-child": f"""
        # Waits for a child process that sleeps for almost a day.
        import subprocess
        subprocess.run(["sleep", "{SLEEP_SECONDS}"])
    """,
}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    first, second, last = builder.tasks[0], builder.tasks[1], builder.tasks[-1]

    for name, text in EXITS.items():
        code = dedent(text)
        places = {"first": first, "second": second, "last": last}
        for where, task in places.items() if name == "os-exit" else [("second", second)]:
            yield Submission(
                f"{name}-in-{where}-task",
                "kernel-death",
                description(code),
                builder.extend(builder.right(), task, code),
                PARTIAL,
                builder.points_before(task),
                EXIT_NOTE,
                core=name in ("os-exit", "kills-itself"),
            )
    code = dedent(EXITS["os-exit"])
    score = builder.points_before(builder.first_function()[0])
    content = builder.with_code_in_answer(code)
    yield Submission(
        "os-exit-when-called",
        "kernel-death",
        description(code),
        content,
        PARTIAL,
        score,
        EXIT_NOTE,
        core=True,
    )
    content = builder.insert(builder.right(), code)
    yield Submission(
        "os-exit-at-the-end",
        "kernel-death",
        description(code),
        content,
        RAN,
        builder.full_score,
        EXIT_NOTE,
    )

    for name, text in KILLERS.items():
        code = builder.only_in_sandbox(dedent(text))
        content = builder.extend(builder.right(), second, code)
        score = builder.points_before(second)
        yield Submission(
            name,
            "parent",
            description(code),
            content,
            PARTIAL,
            score,
            EXIT_NOTE,
            core=name != "stops-its-parent",
        )

    for name, text in ENDLESS.items():
        code = dedent(text)
        content = builder.extend(builder.right(), second, code)
        yield Submission(
            name,
            "endless",
            description(code),
            content,
            PARTIAL_OR_FLAGGED,
            (builder.points_before(second), builder.full_score),
            TIME_NOTE,
            slow=True,
            core=True,
        )

    for name, text in SLEEPERS_AT_EXIT.items():
        code = dedent(text)
        content = builder.insert(builder.right(), code, at=first.id)
        yield Submission(
            name,
            "endless",
            description(code),
            content,
            GRADED_OR_FLAGGED,
            builder.full_score,
            core=True,
        )
    for name, text in SLEEPERS.items():
        code = dedent(text)
        content = builder.insert(builder.right(), code, at=first.id)
        score = (builder.points_through(first), builder.full_score)
        yield Submission(
            name,
            "endless",
            description(code),
            content,
            PARTIAL_OR_FLAGGED,
            score,
            TIME_NOTE,
            slow=True,
        )

    code = dedent(
        "# A right answer that takes two seconds, which is within every limit.\n"
        "import time\ntime.sleep(2)"
    )
    content = builder.extend(builder.right(), first, code)
    yield Submission(
        "takes-two-seconds",
        "endless",
        description(code),
        content,
        GRADED_OR_FLAGGED,
        builder.full_score,
    )
