"""Answers that equal anything, or fail in a way that could be mistaken for success."""

from __future__ import annotations

from collections.abc import Iterator

from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.authoring.notebook_versions import solution_notebook
from nbformat import NotebookNode

from corpus.expected import FINE, RAN, Content, Submission
from corpus.secret_reading import filled
from corpus.submission_builder import SubmissionBuilder, clean, description
from corpus.tampering import PATCHES

ANYTHING = """
class Anything:
    # Is equal to anything, and can be anything.
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = __bool__ = lambda *args: True
    __ne__ = lambda *args: False
    __hash__ = None
    __call__ = __getitem__ = __getattr__ = lambda self, *args, **kwargs: self
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __call__
    __truediv__ = __rtruediv__ = __abs__ = __neg__ = __pow__ = __call__
"""
# An answer "ANSWER" for each; all tasks are answered by a function that returns it.
ANSWERS = {
    "equal-object": ANYTHING + "ANSWER = Anything()",
    "equal-pair": ANYTHING + "ANSWER = (Anything(), Anything())",
    "equal-array-like": """
        class Like:
            # Is, converted, whatever it was last compared with.
            shape, dtype, ndim, size = (), "float32", 0, 1
            __array_priority__ = 1e9
            __eq__ = lambda self, other: True
            __hash__ = None
            def __array__(self, *args, **kwargs):
                import numpy, sys
                frame = sys._getframe(1)
                while frame:
                    if "expected" in frame.f_locals:
                        return numpy.asarray(frame.f_locals["expected"])
                    frame = frame.f_back
                return numpy.zeros(())
            __jax_array__ = __array__
            def __array_function__(self, *args):
                return True
            def __array_ufunc__(self, *args, **kwargs):
                return True
        ANSWER = Like()
    """,
    "equal-text": """
        class Text(str):
            # Is a text that is equal to any.
            __eq__ = lambda self, other: True
            __hash__ = str.__hash__
        ANSWER = Text("x")
    """,
    "equal-float": """
        class Number(float):
            # Is a number that is equal to any.
            __eq__ = __le__ = __lt__ = __ge__ = __gt__ = lambda self, other: True
            __sub__ = __rsub__ = __abs__ = lambda self, *args: 0.0
            __hash__ = float.__hash__
        ANSWER = Number(0)
    """,
    "equal-ndarray": """
        import numpy
        class Numbers(numpy.ndarray):
            # Is an array that is equal to any.
            __eq__ = lambda self, other: numpy.True_
            def __array_ufunc__(self, *args, **kwargs):
                return numpy.True_
            def __array_function__(self, *args):
                return True
        ANSWER = numpy.zeros(()).view(Numbers)
    """,
    "equal-disguised": """
        import jax, numpy
        class Disguised:
            # Says that it is of the class that it is asked for.
            __class__ = property(lambda self: numpy.ndarray)
            __eq__ = lambda self, other: True
            __hash__ = None
        Disguised.__module__ = "numpy"
        ANSWER = Disguised()
    """,
    "equal-containers": """
        class Dict(dict):
            # Has every key, and every value is right.
            __eq__ = __contains__ = lambda *args: True
            __getitem__ = __missing__ = get = lambda self, key, *args: self
            keys = lambda self: {"kilos", "loss", "count"}
            __iter__ = lambda self: iter(self.keys())
        ANSWER = Dict()
    """,
}
# Errors that IPython does not display, which a grader could mistake for success.
ERRORS = {
    "quits-the-debugger": "bdb.BdbQuit",
    "exits-in-a-test": "SystemExit(0)",
    "interrupts-a-test": "KeyboardInterrupt",
    "cancels-a-test": "asyncio.CancelledError",
    "ends-a-generator": "GeneratorExit",
    "stops-an-iteration": "StopAsyncIteration",
    "rejects-its-input": "IPython.core.error.InputRejected",
    "has-no-stdin": "IPython.core.error.StdinNotImplementedError",
    "uses-it-wrongly": "IPython.core.error.UsageError('')",
    "has-errors-without-names": "type('', (BaseException,), {'_render_traceback_': lambda s: []})",
    "raises-a-group": "BaseExceptionGroup('', [SystemExit(0)])",
    "asserts-nothing": "AssertionError()",
}
BESIDE: dict[str, tuple[str, str]] = {
    "numpy.py": ("a-module-beside", "def __getattr__(name): return lambda *a, **k: True"),
    "jaxbits/testing.py": (
        "a-package-beside",
        "assert_close = reject_custom_equality = assert_raises = lambda *a, **k: None",
    ),
    "sitecustomize.py": ("a-start-up-beside", "FORGIVE"),
    "usercustomize.py": ("a-user-start-up-beside", "FORGIVE"),
    "ipython_config.py": (
        "a-config-beside",
        "c = get_config()\nc.InteractiveShellApp.exec_lines = ['1/0']",
    ),
    ".ipython/profile_default/startup/00.py": ("a-profile-beside", "FORGIVE"),
    "nbgrader_config.py": ("a-grader-config-beside", "open(FILE, 'w').write('changed')"),
    "jupyter_config.py": ("a-jupyter-config-beside", "open(FILE, 'w').write('changed')"),
    "conftest.py": ("a-conftest-beside", "open(FILE, 'w').write('changed')"),
    "evil.pth": ("a-path-file-beside", "import os; os.environ['PYTHONOPTIMIZE'] = '2'"),
}


def _answered(builder: SubmissionBuilder, code: str, value: str = "return ANSWER") -> NotebookNode:
    """Return a notebook in which every answer does the same, below some code."""
    answers = {}
    for task in builder.tasks:
        stub = stub_source(builder.assignment.cell(task.id).source)
        answers[task.id] = stub.replace("raise NotImplementedError()", value)
    return builder.insert(solution_notebook(builder.assignment, answers), code, at="start")


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for name, text in ANSWERS.items():
        code = clean(text)
        what = description("\n".join(line.strip() for line in code.splitlines()))
        content: Content = _answered(builder, code)
        core = name in ("equal-object", "equal-array-like", "equal-float", "equal-ndarray")
        # A test that takes the answer apart, or asks for its type first, rightly fails it.
        statuses = FINE | {"tampered"}
        yield Submission(name, "equal", what, content, statuses, 0.0, core=core)
    for name, error in ERRORS.items():
        imports = "import asyncio, bdb\nimport IPython.core.error"
        content = _answered(builder, imports, f"raise {error}")
        what = f"Its answers raise {error}."
        core = name in ("quits-the-debugger", "exits-in-a-test", "interrupts-a-test")
        statuses = RAN | {"tampered"}
        yield Submission(name, "equal", what, content, statuses, 0.0, core=core)
    for file, (name, code) in BESIDE.items():
        code = clean(PATCHES["patches-testing"]) if code == "FORGIVE" else code
        files = {
            f"{builder.assignment.name}.ipynb": release_bytes(builder.wrong()),
            file: filled(code, builder.secrets).encode(),
        }
        what = f"A file {file} beside the notebook, and wrong answers."
        core = name in ("a-module-beside", "a-start-up-beside", "a-config-beside")
        yield Submission(name, "beside", what, files, FINE | {"tampered"}, 0.0, core=core)


def release_bytes(notebook: NotebookNode) -> bytes:
    """Return a notebook as the bytes of a file."""
    import json

    return json.dumps(notebook).encode()
