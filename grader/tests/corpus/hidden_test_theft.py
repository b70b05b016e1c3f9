"""Submissions that try to read the hidden tests during the run and reveal them."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import RAN_OR_TAMPERED, Submission
from corpus.secret_reading import REVEAL_FUNCTIONS
from corpus.submission_builder import SubmissionBuilder, dedent, description

# These snippets go at the start. A cell at the end of the notebook outputs what they recorded.
RECORDERS = {
    "records-by-events": """
        # Records every cell before and after it runs.
        def before(info):
            tell("before", info.raw_cell)
        def after(result):
            tell("after", result.info.raw_cell)
        get_ipython().events.register("pre_run_cell", before)
        get_ipython().events.register("post_run_cell", after)
        get_ipython().events.register("pre_execute", lambda: tell("pre", In[-1]))
    """,
    "records-by-transformers": """
        # Records every cell's source and syntax tree before IPython compiles the cell.
        import ast
        class Hears(ast.NodeTransformer):
            def visit_Module(self, tree):
                tell("tree", ast.unparse(tree))
                return tree
        def lines(given):
            tell("lines", "".join(given))
            return given
        get_ipython().input_transformers_cleanup.append(lines)
        get_ipython().input_transformers_post.append(lines)
        get_ipython().ast_transformers.append(Hears())
    """,
    "records-by-execute": """
        # Records every request from the grader.
        kernel = get_ipython().kernel
        _execute = kernel.do_execute
        def do_execute(code, *args, **kwargs):
            tell("request", code)
            return _execute(code, *args, **kwargs)
        kernel.do_execute = do_execute
    """,
    "records-by-thread": """
        # Records the code that other threads run, a hundred times a second.
        import linecache, sys, threading, time
        def listen():
            heard = set()
            while True:
                for frame in list(sys._current_frames().values()):
                    while frame:
                        name = frame.f_code.co_filename
                        if "ipykernel" in name and name not in heard:
                            heard.add(name)
                            tell("thread", "".join(linecache.getlines(name)))
                        frame = frame.f_back
                time.sleep(0.01)
        threading.Thread(target=listen, daemon=True).start()
    """,
    "records-by-trace": """
        # Records the constants and the local names of every function that is called.
        import sys
        def trace(frame, event, arg):
            if event == "call" and "ipykernel" in frame.f_code.co_filename:
                tell("call", (frame.f_code.co_consts, frame.f_locals.keys()))
        sys.setprofile(trace)
    """,
    "records-by-testing": """
        # Records the expected values and the messages of the tests.
        from jaxbits import testing
        _close = testing.assert_close
        def close(seen, expected, says, **kwargs):
            tell("expected", (expected, says))
            return _close(seen, expected, says, **kwargs)
        testing.assert_close = close
    """,
}
# These snippets go at the end and search the kernel for traces of the tests.
SEARCHES = {
    "finds-in-history": """
        # Searches IPython's history of cells.
        attempt("In", lambda: In)
        attempt("_ih", lambda: _ih)
        attempt("_i", lambda: (_i, _ii, _iii))
        attempt("raw", lambda: get_ipython().history_manager.input_hist_raw)
        attempt("all", lambda: list(get_ipython().history_manager.get_range(output=True)))
        %history -o
    """,
    "finds-in-linecache": """
        # Searches the source lines stored for tracebacks, and all objects.
        import gc, linecache
        attempt("lines", lambda: [entry[2] for entry in linecache.cache.values() if len(entry) > 2])
        word = "HIDDEN" + " TESTS"
        attempt("objects", lambda: [x for o in gc.get_objects() if isinstance(o, dict)
                                    for x in list(o.values()) if isinstance(x, str) and word in x])
        attempt("names", lambda: {k: v for k, v in globals().items() if k[0] != "_"})
    """,
    "finds-in-kernel": """
        # Reads the kernel's last message, its connection file, and its configuration.
        import ipykernel
        kernel = get_ipython().kernel
        attempt("parent", kernel.get_parent)
        attempt("file", lambda: open(ipykernel.get_connection_file()).read())
        attempt("config", lambda: get_ipython().config)
    """,
}
READ_CALLERS = """
# Reads the source and the constants of its callers.
import inspect, linecache, sys
frame, heard = sys._getframe(1), ""
while frame and len(heard) < 20_000:
    heard += "".join(linecache.getlines(frame.f_code.co_filename)[:200])
    heard += repr(frame.f_code.co_consts) if "ipykernel" in frame.f_code.co_filename else ""
    frame = frame.f_back
print(heard)
print(heard[::-1], file=sys.stderr)
with open("heard.txt", "a") as file:
    file.write(heard)
"""
RAISE_READ_SOURCE = (
    "\nraise type('Heard' + heard[-3000:].replace(chr(0), ''), (AssertionError,), {})(heard)"
)
SPY = """
class Spy:
    # Reads the source of its callers when it is compared, converted, displayed, or deleted.
    def _look(self, *args, **kwargs):
        {body}
        return NotImplemented
    __eq__ = __array__ = __jax_array__ = __float__ = __iter__ = __getitem__ = __len__ = _look
    __hash__ = None
    def __repr__(self):
        self._look()
        return heard
    __str__ = __repr__
    def __del__(self):
        self._look()


{name} = lambda *args, **kwargs: Spy()
"""
STORE_HIDDEN_TESTS = """
# Stores the hidden tests wherever they might outlive the run.
import os, pathlib, tempfile
places = [".", "..", "/tmp", "/var/tmp", "/dev/shm", "~", "~/.cache", "~/.ipython"]
for place in [*places, tempfile.gettempdir()]:
    try:
        path = pathlib.Path(place).expanduser()
        path.mkdir(parents=True, exist_ok=True)
        path.joinpath("jaxbits-corpus-was-here").write_text("".join(In))
    except OSError:
        pass
"""
READ_STORED_TESTS = """
# Searches for hidden tests that an earlier run stored.
import pathlib
for place in (".", "..", "/tmp", "/var/tmp", "/dev/shm", "~", "~/.cache", "~/.ipython"):
    path = pathlib.Path(place).expanduser() / "jaxbits-corpus-was-here"
    attempt(str(path), path.read_text)
    attempt(place, lambda: [str(p) for p in path.parent.iterdir()])
"""
END = 'get_ipython().events.callbacks["pre_run_cell"].clear()\ntell_by_error()'


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""

    def make(
        name: str, summary: str, notebook: object, score: object, core: bool = True
    ) -> Submission:
        return Submission(
            name, "hidden-tests", summary, notebook, RAN_OR_TAMPERED, score, core=core
        )

    for name, text in RECORDERS.items():
        code = dedent(text)
        notebook = builder.insert(builder.right(), REVEAL_FUNCTIONS + "\n\n\n" + code, at="start")
        # Printing between the cells may take too long or cause a test that allows no output to
        # fail.
        score = (0.0, builder.full_score)
        yield make(
            name,
            description(code),
            builder.insert(notebook, END),
            score,
            name != "records-by-trace",
        )
    for name, text in {**SEARCHES, "reads-stored-tests": READ_STORED_TESTS}.items():
        code = dedent(text)
        notebook = builder.insert(builder.right(), REVEAL_FUNCTIONS, at="start")
        builder.insert(builder.insert(notebook, code), END)
        yield make(name, description(code), notebook, builder.full_score)
    notebook = builder.insert(builder.right(), STORE_HIDDEN_TESTS)
    yield make("stores-hidden-tests", description(STORE_HIDDEN_TESTS), notebook, builder.full_score)

    task, name = builder.first_function()
    any_score = (0.0, builder.full_score)
    yield make(
        "reads-its-callers",
        description(READ_CALLERS),
        builder.with_code_in_answer(READ_CALLERS.strip()),
        any_score,
    )
    yield make(
        "raises-source-of-callers",
        description(READ_CALLERS),
        builder.with_code_in_answer(READ_CALLERS.strip() + RAISE_READ_SOURCE),
        any_score,
    )
    body = READ_CALLERS.strip().replace("frame, heard", "global heard\nframe, heard")
    body = body.replace("\n", "\n        ")
    notebook = builder.extend(builder.wrong(), task, dedent(SPY.format(body=body, name=name)))
    yield make(
        "answers-with-spy",
        "Answers with an object that reads the source of its callers.",
        notebook,
        (0.0, 0.0),
    )
