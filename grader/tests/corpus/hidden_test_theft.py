"""Submissions that try to read the hidden tests while they run, and to reveal them."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.expected import LOOKED_AT, Submission
from corpus.secret_reading import TELL
from corpus.submission_builder import SubmissionBuilder, clean, description

# Inserted at the start. The end of the notebook outputs what they found.
HEARS = {
    "hears-by-events": """
        # Is told of every cell before and after it runs.
        def before(info):
            tell("before", info.raw_cell)
        def after(result):
            tell("after", result.info.raw_cell)
        get_ipython().events.register("pre_run_cell", before)
        get_ipython().events.register("post_run_cell", after)
        get_ipython().events.register("pre_execute", lambda: tell("pre", In[-1]))
    """,
    "hears-by-transformers": """
        # Sees every cell's text and tree before it is compiled.
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
    "hears-by-execute": """
        # Sees every request of the grader.
        kernel = get_ipython().kernel
        _execute = kernel.do_execute
        def do_execute(code, *args, **kwargs):
            tell("request", code)
            return _execute(code, *args, **kwargs)
        kernel.do_execute = do_execute
    """,
    "hears-by-thread": """
        # Looks a hundred times a second at what runs in the other threads.
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
    "hears-by-trace": """
        # Sees every call, with the constants of what is called.
        import sys
        def trace(frame, event, arg):
            if event == "call" and "ipykernel" in frame.f_code.co_filename:
                tell("call", (frame.f_code.co_consts, frame.f_locals.keys()))
        sys.setprofile(trace)
    """,
    "hears-by-testing": """
        # Sees what the answers should be, and the messages of the tests.
        from jaxbits import testing
        _close = testing.assert_close
        def close(seen, expected, says, **kwargs):
            tell("expected", (expected, says))
            return _close(seen, expected, says, **kwargs)
        testing.assert_close = close
    """,
}
# Inserted at the end. They look for traces of the tests in the kernel.
FINDS = {
    "finds-in-history": """
        # Looks into IPython's history of cells.
        attempt("In", lambda: In)
        attempt("_ih", lambda: _ih)
        attempt("_i", lambda: (_i, _ii, _iii))
        attempt("raw", lambda: get_ipython().history_manager.input_hist_raw)
        attempt("all", lambda: list(get_ipython().history_manager.get_range(output=True)))
        %history -o
    """,
    "finds-in-linecache": """
        # Looks into the texts that are kept for tracebacks, and among all objects.
        import gc, linecache
        attempt("lines", lambda: [entry[2] for entry in linecache.cache.values() if len(entry) > 2])
        word = "HIDDEN" + " TESTS"
        attempt("objects", lambda: [x for o in gc.get_objects() if isinstance(o, dict)
                                    for x in list(o.values()) if isinstance(x, str) and word in x])
        attempt("names", lambda: {k: v for k, v in globals().items() if k[0] != "_"})
    """,
    "finds-in-kernel": """
        # Looks into the kernel's messages and its connection.
        import ipykernel
        kernel = get_ipython().kernel
        attempt("parent", kernel.get_parent)
        attempt("file", lambda: open(ipykernel.get_connection_file()).read())
        attempt("config", lambda: get_ipython().config)
    """,
}
CALLER = """
# Looks at its callers: their text, their names, their constants.
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
RAISES = "\nraise type('Heard' + heard[-3000:].replace(chr(0), ''), (AssertionError,), {})(heard)"
SPY = """
class Spy:
    # Looks at its callers when it is compared, converted, shown or taken away.
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
SMUGGLES = """
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
RECEIVES = """
# Looks for what an earlier run has stored.
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
        name: str, what: str, notebook: object, score: object, core: bool = True
    ) -> Submission:
        return Submission(name, "hidden-tests", what, notebook, LOOKED_AT, score, core=core)

    for name, text in HEARS.items():
        code = clean(text)
        notebook = builder.insert(builder.right(), TELL + "\n\n\n" + code, at="start")
        # What is told between the cells may cost time or a test that asks for silence.
        score = (0.0, builder.full)
        yield make(
            name, description(code), builder.insert(notebook, END), score, name != "hears-by-trace"
        )
    for name, text in {**FINDS, "receives": RECEIVES}.items():
        code = clean(text)
        notebook = builder.insert(builder.right(), TELL, at="start")
        builder.insert(builder.insert(notebook, code), END)
        yield make(name, description(code), notebook, builder.full)
    notebook = builder.insert(builder.right(), SMUGGLES)
    yield make("a-smuggler", description(SMUGGLES), notebook, builder.full)

    task, name = builder.function()
    lost = (0.0, builder.full)
    yield make("hears-its-callers", description(CALLER), builder.called(CALLER.strip()), lost)
    yield make(
        "raises-what-it-hears", description(CALLER), builder.called(CALLER.strip() + RAISES), lost
    )
    body = CALLER.strip().replace("frame, heard", "global heard\nframe, heard")
    body = body.replace("\n", "\n        ")
    notebook = builder.extend(builder.wrong(), task, clean(SPY.format(body=body, name=name)))
    yield make(
        "hears-as-an-answer",
        "Answers with an object that looks at its callers.",
        notebook,
        (0.0, 0.0),
    )
