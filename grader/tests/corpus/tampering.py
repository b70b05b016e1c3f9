"""Submissions with wrong answers that tamper with the tests and must get no points."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.covert_tampering import COVERT_PATCHES
from corpus.expected import RAN, Submission
from corpus.submission_builder import SubmissionBuilder, dedent, description

TAMPERED = frozenset({"tampered"})

# These snippets go above the first task. The grader must detect them, because they are obvious.
PATCHES = {
    "patches-testing": """
        # Replaces the check functions that the tests call.
        from jaxbits import testing
        asks = ("assert_close", "assert_array", "assert_raises", "reject_custom_equality")
        for name in asks:
            setattr(testing, name, lambda *args, **kwargs: True)
        testing.count_traces = lambda *args: 1
    """,
    "patches-code": """
        # Replaces the code of the check functions that the tests call.
        from jaxbits import testing
        testing.assert_close.__code__ = (lambda *args, **kwargs: None).__code__
        testing.reject_custom_equality.__code__ = (lambda *args, **kwargs: None).__code__
    """,
    "patches-check-helpers": """
        # Replaces the helpers of the check functions.
        from jaxbits import _equality
        _equality._is_close = lambda *args: True
        _equality._to_numpy = lambda value: __import__("numpy").zeros(3)
        _equality.find_mismatch = lambda *args, **kwargs: None
    """,
    "patches-detect": """
        # Replaces the detectors.
        from jaxbits import detect
        for name in dir(detect):
            if name[0] != "_" and callable(getattr(detect, name)):
                setattr(detect, name, lambda *args, **kwargs: [])
    """,
    "patches-numpy": """
        # Replaces the comparisons of NumPy and JAX.
        import jax.numpy as jnp
        import numpy as np
        for module in (np, jnp):
            module.allclose = module.array_equal = module.isclose = lambda *args, **kwargs: True
        np.testing.assert_allclose = np.testing.assert_array_equal = lambda *args, **kwargs: None
    """,
    "patches-conversion": """
        # Makes all conversions return the same array.
        import numpy as np
        _zeros = np.zeros(3)
        np.asarray = np.array = lambda *args, **kwargs: _zeros
    """,
    "patches-builtins": """
        # Replaces builtins.
        import builtins
        builtins.AssertionError = type("AssertionError", (BaseException,), {})
        builtins.isinstance = lambda *args: True
        builtins.all = builtins.bool = lambda *args: True
        builtins.abs = lambda *args: 0
    """,
    "patches-jit": """
        # Replaces JAX's transformations.
        import jax
        jax.jit = jax.vmap = jax.grad = lambda fn=None, *args, **kwargs: fn
    """,
    "shadows-testing": """
        # Binds other objects to the names through which the tests call the checks.
        class testing:
            assert_close = assert_array = assert_raises = staticmethod(lambda *args, **kwargs: None)
            reject_custom_equality = assert_close
            count_traces = staticmethod(lambda *args: 1)
        detect = testing
    """,
    "replaces-modules": """
        # Replaces the module that the tests import.
        import sys, types, jaxbits
        fake = types.ModuleType("jaxbits.testing")
        fake.assert_close = fake.assert_array = lambda *args, **kwargs: None
        fake.reject_custom_equality = fake.assert_raises = fake.assert_close
        sys.modules["jaxbits.testing"] = jaxbits.testing = testing = fake
    """,
    "takes-asserts-out-of-trees": """
        # Removes the assertions from every cell's syntax tree.
        import ast
        class Gone(ast.NodeTransformer):
            def visit_Assert(self, node):
                return ast.Pass()
            def visit_Expr(self, node):
                return ast.Pass()
        get_ipython().ast_transformers.append(Gone())
    """,
    "takes-asserts-out-of-lines": """
        # Removes the tests from every cell's source.
        def gone(lines):
            return [] if any("testing." in line or "assert" in line for line in lines) else lines
        get_ipython().input_transformers_cleanup.append(gone)
    """,
    "patches-compile": """
        # Compiles every cell with a test as an empty cell.
        shell = get_ipython()
        _parse = shell.compile.ast_parse
        shell.compile.ast_parse = lambda source, *args, **kwargs: _parse(
            "pass" if "testing" in source or "assert" in source else source, *args, **kwargs)
    """,
    "patches-do-execute": """
        # Answers the grader's requests without running them.
        kernel = get_ipython().kernel
        async def do_execute(code, *args, **kwargs):
            return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}
        kernel.do_execute = do_execute
    """,
    "patches-run-cell": """
        # Stops running cells, and reports that every cell succeeded.
        from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult
        async def run_cell_async(raw_cell, *args, **kwargs):
            return ExecutionResult(ExecutionInfo(raw_cell, False, False, True, None))
        get_ipython().run_cell_async = run_cell_async
    """,
    "patches-showtraceback": """
        # Hides all errors.
        shell = get_ipython()
        shell.showtraceback = shell._showtraceback = lambda *args, **kwargs: None
        shell.set_custom_exc((Exception,), lambda *args, **kwargs: None)
    """,
    "clears-errors-by-event": """
        # Removes the error from every cell's result.
        def forgive(result):
            result.error_in_exec = result.error_before_exec = None
        get_ipython().events.register("post_run_cell", forgive)
    """,
    "swallows-messages": """
        # Sends no error to the grader, and reports every reply as successful.
        session = get_ipython().kernel.session
        _send = session.send
        def send(socket, kind, content=None, *args, **kwargs):
            if kind == "error":
                return None
            if isinstance(content, dict) and content.get("status") == "error":
                content = {"status": "ok", "execution_count": 1}
            return _send(socket, kind, content, *args, **kwargs)
        session.send = send
    """,
}


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for name, text in PATCHES.items():
        code = dedent(text)
        notebook = builder.insert(builder.wrong(), code, at="start")
        core = name in ("patches-testing", "patches-code", "patches-numpy", "patches-builtins")
        core |= name.startswith("takes") or name in ("patches-do-execute", "swallows-messages")
        yield Submission(name, "tampering", description(code), notebook, TAMPERED, None, core=core)
    for name, text in COVERT_PATCHES.items():
        code = dedent(text)
        notebook = builder.insert(builder.wrong(), code, at="start")
        if name == "patches-late":
            task, function = builder.first_function()
            builder.extend(notebook, task, f"def {function}(*args, **kwargs):\n    later()")
        core = name in ("forges-replies", "raises-quietly", "patches-only-long-cells")
        statuses = RAN | TAMPERED
        yield Submission(name, "tampering", description(code), notebook, statuses, 0.0, core=core)
    # Right answers get no points either, because the grader cannot trust a tampered run.
    code = dedent(PATCHES["patches-testing"])
    notebook = builder.insert(builder.right(), code, at="start")
    yield Submission(
        "patches-and-is-right", "tampering", description(code), notebook, TAMPERED, None, core=True
    )
