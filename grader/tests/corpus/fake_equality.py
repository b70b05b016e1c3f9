"""Answers that compare equal to anything, or that fail in a way that looks like success."""

from __future__ import annotations

from collections.abc import Iterator

from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.authoring.notebook_versions import solution_notebook
from nbformat import NotebookNode

from corpus.expected import GRADED_OR_FLAGGED, RAN, Content, Submission
from corpus.secret_reading import filled
from corpus.submission_builder import SubmissionBuilder, dedent, description
from corpus.tampering import PATCHES

ANYTHING = """
class Anything:
    # Equals anything, and supports every operation.
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = __bool__ = lambda *args: True
    __ne__ = lambda *args: False
    __hash__ = None
    __call__ = __getitem__ = __getattr__ = lambda self, *args, **kwargs: self
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __call__
    __truediv__ = __rtruediv__ = __abs__ = __neg__ = __pow__ = __call__
"""
# Each snippet defines ANSWER, and the answer to every task is a function that returns ANSWER.
ANSWERS = {
    "equal-object": ANYTHING + "ANSWER = Anything()",
    "equal-pair": ANYTHING + "ANSWER = (Anything(), Anything())",
    "equal-array-like": """
        class Like:
            # Converts to the array that the test expects.
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
    "equal-string": """
        class Text(str):
            # Is a string that equals any other.
            __eq__ = lambda self, other: True
            __hash__ = str.__hash__
        ANSWER = Text("x")
    """,
    "equal-float": """
        class Number(float):
            # Is a number that equals any other.
            __eq__ = __le__ = __lt__ = __ge__ = __gt__ = lambda self, other: True
            __sub__ = __rsub__ = __abs__ = lambda self, *args: 0.0
            __hash__ = float.__hash__
        ANSWER = Number(0)
    """,
    "equal-ndarray": """
        import numpy
        class Numbers(numpy.ndarray):
            # Is an array that equals any other.
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
            # Claims to be a NumPy array.
            __class__ = property(lambda self: numpy.ndarray)
            __eq__ = lambda self, other: True
            __hash__ = None
        Disguised.__module__ = "numpy"
        ANSWER = Disguised()
    """,
    "equal-containers": """
        class Dict(dict):
            # Contains every key, and each value equals any other.
            __eq__ = __contains__ = lambda *args: True
            __getitem__ = __missing__ = get = lambda self, key, *args: self
            keys = lambda self: {"kilos", "loss", "count"}
            __iter__ = lambda self: iter(self.keys())
        ANSWER = Dict()
    """,
}
# Errors that IPython does not display, which a grader could mistake for success.
ERRORS = {
    "raises-bdb-quit": "bdb.BdbQuit",
    "raises-system-exit-in-test": "SystemExit(0)",
    "raises-keyboard-interrupt": "KeyboardInterrupt",
    "raises-cancelled-error": "asyncio.CancelledError",
    "raises-generator-exit": "GeneratorExit",
    "raises-stop-async-iteration": "StopAsyncIteration",
    "raises-input-rejected": "IPython.core.error.InputRejected",
    "raises-stdin-not-implemented": "IPython.core.error.StdinNotImplementedError",
    "raises-usage-error": "IPython.core.error.UsageError('')",
    "raises-unnamed-error": "type('', (BaseException,), {'_render_traceback_': lambda s: []})",
    "raises-exception-group": "BaseExceptionGroup('', [SystemExit(0)])",
    "raises-empty-assertion-error": "AssertionError()",
}
ADJACENT_FILES: dict[str, tuple[str, str]] = {
    "numpy.py": ("adjacent-module", "def __getattr__(name): return lambda *a, **k: True"),
    "jaxbits/testing.py": (
        "adjacent-package",
        "assert_close = reject_custom_equality = assert_raises = lambda *a, **k: None",
    ),
    "sitecustomize.py": ("adjacent-sitecustomize", "FORGIVE"),
    "usercustomize.py": ("adjacent-usercustomize", "FORGIVE"),
    "ipython_config.py": (
        "adjacent-ipython-config",
        "c = get_config()\nc.InteractiveShellApp.exec_lines = ['1/0']",
    ),
    ".ipython/profile_default/startup/00.py": ("adjacent-ipython-profile", "FORGIVE"),
    "nbgrader_config.py": ("adjacent-nbgrader-config", "open(FILE, 'w').write('changed')"),
    "jupyter_config.py": ("adjacent-jupyter-config", "open(FILE, 'w').write('changed')"),
    "conftest.py": ("adjacent-conftest", "open(FILE, 'w').write('changed')"),
    "evil.pth": ("adjacent-pth-file", "import os; os.environ['PYTHONOPTIMIZE'] = '2'"),
}


def _answered(builder: SubmissionBuilder, code: str, value: str = "return ANSWER") -> NotebookNode:
    """Return a notebook in which a cell runs `code`, and every answer below it runs `value`."""
    answers = {}
    for task in builder.tasks:
        stub = stub_source(builder.assignment.cell(task.id).source)
        answers[task.id] = stub.replace("raise NotImplementedError()", value)
    return builder.insert(solution_notebook(builder.assignment, answers), code, at="start")


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for name, text in ANSWERS.items():
        code = dedent(text)
        summary = description("\n".join(line.strip() for line in code.splitlines()))
        content: Content = _answered(builder, code)
        core = name in ("equal-object", "equal-array-like", "equal-float", "equal-ndarray")
        # A test that unpacks the answer or checks its type first may rightly fail.
        statuses = GRADED_OR_FLAGGED | {"tampered"}
        yield Submission(name, "fake-equality", summary, content, statuses, 0.0, core=core)
    for name, error in ERRORS.items():
        imports = "import asyncio, bdb\nimport IPython.core.error"
        content = _answered(builder, imports, f"raise {error}")
        summary = f"Its answers raise {error}."
        core = name in (
            "raises-bdb-quit",
            "raises-system-exit-in-test",
            "raises-keyboard-interrupt",
        )
        statuses = RAN | {"tampered"}
        yield Submission(name, "fake-equality", summary, content, statuses, 0.0, core=core)
    for file, (name, code) in ADJACENT_FILES.items():
        code = dedent(PATCHES["patches-testing"]) if code == "FORGIVE" else code
        files = {
            f"{builder.assignment.name}.ipynb": release_bytes(builder.wrong()),
            file: filled(code, builder.secrets).encode(),
        }
        summary = f"Puts a file {file} next to a notebook with wrong answers."
        core = name in ("adjacent-module", "adjacent-sitecustomize", "adjacent-ipython-config")
        yield Submission(
            name, "adjacent-files", summary, files, GRADED_OR_FLAGGED | {"tampered"}, 0.0, core=core
        )


def release_bytes(notebook: NotebookNode) -> bytes:
    """Return a notebook's JSON, encoded as bytes."""
    import json

    return json.dumps(notebook).encode()
