"""Submissions with excessive output."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import PARTIAL_OR_FLAGGED, RAN, Submission
from corpus.submission_builder import SubmissionBuilder, dedent, description

FLOODS = {
    "prints-one-string": '# Prints 200 MB in one string.\nprint("x" * 200_000_000)',
    "prints-lines": """
        # Prints many lines.
        for number in range(2_000_000):
            print("line", number)
    """,
    "prints-to-descriptor": """
        # Writes 200 MB to the file descriptors of stdout and stderr.
        import os
        for _ in range(1600):
            os.write(1, b"y" * 2**16)
            os.write(2, b"z" * 2**16)
    """,
    "prints-in-a-child": """
        # Starts a child process that prints 200 MB.
        import subprocess
        subprocess.run("yes abcdefghi | head -c 200000000", shell=True)
    """,
    "prints-by-shell": "# Prints 200 MB with a shell command.\n!yes | head -c 200000000",
    "displays-html": """
        # Displays 200 MB of HTML.
        from IPython.display import HTML, display
        display(HTML("<p>" + "x" * 200_000_000 + "</p>"))
    """,
    "displays-often": """
        # Displays 30,000 small outputs, and updates another one as often.
        from IPython.display import clear_output, display
        handle = display("start", display_id=True)
        for number in range(30_000):
            display(number)
            handle.update(number)
        clear_output()
    """,
    "displays-forms": """
        # Displays one object in many formats of 20 MB each.
        from IPython.display import display
        forms = ["text/plain", "text/html", "text/markdown", "text/latex", "image/svg+xml"]
        display({form: "m" * 20_000_000 for form in forms}, raw=True)
    """,
    "has-a-huge-result": """
        # Ends with a value whose repr is 200 MB long.
        class Huge:
            def __repr__(self):
                return "r" * 200_000_000
        Huge()
    """,
    "raises-a-huge-message": (
        '# Raises an error with a message of 100 MB.\nraise ValueError("e" * 100_000_000)'
    ),
    "raises-a-huge-name": """
        # Raises an error whose class has a name of 20 MB.
        raise type("E" * 20_000_000, (Exception,), {})("\\x1b[31m" * 1_000_000)
    """,
    "sends-comms": """
        # Sends a comm message of 50 MB, as a widget can.
        session, socket = get_ipython().kernel.session, get_ipython().kernel.iopub_socket
        content = {"comm_id": "c", "target_name": "jupyter.widget", "data": {"x": "c" * 50_000_000}}
        session.send(socket, "comm_open", content, parent=get_ipython().parent_header)
    """,
    "metadata-flood": """
        # Puts 50 MB into the metadata of an output.
        from IPython.display import display
        display({"text/plain": "x"}, metadata={"m": "m" * 50_000_000}, raw=True)
    """,
    "prints-escapes": """
        # Prints two million groups of control characters, surrogates, and terminal escapes.
        print("\\x1b]0;title\\x07\\x1b[2J\\r\\b\\0\\ud800\\u202e" * 2_000_000)
    """,
}
ENDLESS_FLOODS = {
    "prints-without-end": "# Prints forever.\nwhile True:\n    print('again')",
}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    first = builder.tasks[0]
    for name, text in FLOODS.items():
        code = dedent(text)
        core = name in (
            "prints-one-string",
            "prints-in-a-child",
            "displays-html",
            "has-a-huge-result",
        )
        # The flood comes last, so that all points are earned even if the flood ends the run.
        content = builder.insert(builder.right(), code)
        yield Submission(
            name, "output", description(code), content, RAN, builder.full_score, core=core
        )
    code = dedent(FLOODS["raises-a-huge-message"])
    content = builder.with_code_in_answer(code)
    score = (0.0, builder.full_score - builder.first_function()[0].total)
    yield Submission(
        "raises-a-huge-message-when-called",
        "output",
        description(code),
        content,
        RAN,
        score,
        core=True,
    )
    code = dedent(FLOODS["prints-one-string"])
    score = (builder.points_before(first), builder.full_score)
    content = builder.extend(builder.right(), first, code)
    yield Submission(
        "prints-one-string-in-first-task", "output", description(code), content, RAN, score
    )
    for name, text in ENDLESS_FLOODS.items():
        code = dedent(text)
        content = builder.insert(builder.right(), code, at=first.id)
        score = (builder.points_through(first), builder.full_score)
        yield Submission(
            name,
            "output",
            description(code),
            content,
            PARTIAL_OR_FLAGGED,
            score,
            (r"\S",),
            slow=True,
            core=True,
        )
