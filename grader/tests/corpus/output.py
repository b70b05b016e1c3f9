"""Submissions with excessive output."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import RAN, STOPPED, Submission
from corpus.submission_builder import SubmissionBuilder, clean, description

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
        # Has a child that prints 200 MB.
        import subprocess
        subprocess.run("yes abcdefghi | head -c 200000000", shell=True)
    """,
    "prints-by-shell": "# Prints 200 MB by IPython's own way to a shell.\n!yes | head -c 200000000",
    "displays-html": """
        # Displays 200 MB of HTML.
        from IPython.display import HTML, display
        display(HTML("<p>" + "x" * 200_000_000 + "</p>"))
    """,
    "displays-often": """
        # Displays 30 000 small outputs, and changes one of them as often.
        from IPython.display import clear_output, display
        handle = display("start", display_id=True)
        for number in range(30_000):
            display(number)
            handle.update(number)
        clear_output()
    """,
    "displays-forms": """
        # Displays one object in many forms of 20 MB each.
        from IPython.display import display
        forms = ["text/plain", "text/html", "text/markdown", "text/latex", "image/svg+xml"]
        display({form: "m" * 20_000_000 for form in forms}, raw=True)
    """,
    "has-a-huge-result": """
        # Ends in a value whose repr has 200 MB.
        class Huge:
            def __repr__(self):
                return "r" * 200_000_000
        Huge()
    """,
    "raises-a-huge-message": '# Raises an error of 100 MB.\nraise ValueError("e" * 100_000_000)',
    "raises-a-huge-name": """
        # Raises an error whose class is called by 20 MB, with a traceback as long.
        raise type("E" * 20_000_000, (Exception,), {})("\\x1b[31m" * 1_000_000)
    """,
    "sends-comms": """
        # Sends comm messages of 50 MB, as widgets do.
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
        # Prints 20 MB of control characters, surrogates and escapes of terminals.
        print("\\x1b]0;title\\x07\\x1b[2J\\r\\b\\0\\ud800\\u202e" * 2_000_000)
    """,
}
WITHOUT_END = {
    "prints-without-end": "# Prints without an end.\nwhile True:\n    print('again')",
}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    first = builder.tasks[0]
    for name, text in FLOODS.items():
        code = clean(text)
        core = name in (
            "prints-one-string",
            "prints-in-a-child",
            "displays-html",
            "has-a-huge-result",
        )
        # At the end: even where the flood ends the run, all points were earned before.
        content = builder.insert(builder.right(), code)
        yield Submission(name, "output", description(code), content, RAN, builder.full, core=core)
    code = clean(FLOODS["raises-a-huge-message"])
    content = builder.called(code)
    score = (0.0, builder.full - builder.function()[0].total)
    yield Submission(
        "raises-a-huge-message-when-called",
        "output",
        description(code),
        content,
        RAN,
        score,
        core=True,
    )
    code = clean(FLOODS["prints-one-string"])
    score = (builder.before(first), builder.full)
    content = builder.extend(builder.right(), first, code)
    yield Submission(
        "prints-one-string-in-first-task", "output", description(code), content, RAN, score
    )
    for name, text in WITHOUT_END.items():
        code = clean(text)
        content = builder.insert(builder.right(), code, at=first.id)
        score = (builder.until(first), builder.full)
        yield Submission(
            name,
            "output",
            description(code),
            content,
            STOPPED,
            score,
            (r"\S",),
            slow=True,
            core=True,
        )
