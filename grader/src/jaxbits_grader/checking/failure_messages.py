"""Choose what a student may read about a failed test."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

# A submission can give an exception any name, so a feedback page shows only names from this list.
# Otherwise, an answer could put the text of a hidden test in such a name.
_JAX_ERRORS = {
    "ConcretizationTypeError",
    "JaxRuntimeError",
    "JaxStackTraceBeforeTransformation",
    "KeyReuseError",
    "LeakedTracerError",
    "NonConcreteBooleanIndexError",
    "ScopeParamShapeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnexpectedTracerError",
    "XlaRuntimeError",
}
_KNOWN_ERRORS = _JAX_ERRORS | {
    name
    for name, thing in vars(builtins).items()
    if isinstance(thing, type) and issubclass(thing, Exception)
}
# The grader calls jaxbits.testing by a private name that ends in "testing".
_TESTING = re.compile(r"(\w*_)?testing\.assert_")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# A slow test or a busy machine may also be the cause, so the message says only "may".
ANSWER_TOO_SLOW = (
    "your answer did not return in time, so the test was stopped; it may contain an endless loop"
)
TEST_ENDED = "the test ended without a result, perhaps because your answer needs too much memory"
_UNFINISHED = "the answer is missing or unfinished, because it raises NotImplementedError"


def literal_messages(source: str) -> set[str]:
    """Return the messages in a test cell that are string literals.

    A student may see these messages, but no other error message from a hidden test.

    Example:
        >>> source = "assert x, 'too large'; testing.assert_close(x, 1, 'not one', rtol=0.1)"
        >>> sorted(literal_messages(source))
        ['not one', 'too large']
    """
    return {text for node in ast.walk(ast.parse(source)) for text in _messages_of(node)}


def describe_failure(error: tuple[str, str], source: str, line: int | None) -> str:
    r"""Return what a student may read about a test that raised an exception.

    Args:
        error: The name and the message of the exception.
        source: The source of the test cell.
        line: The line of the cell at which the exception occurred, or None if it is unknown.

    Returns:
        The message of the check that failed, or the class of the exception together with the
        message of the check that the test did not reach.

    Example:
        >>> source = "y = f(2)\nassert y == 4, 'the result must be 4'"
        >>> describe_failure(("AssertionError", "the result must be 4"), source, 2)
        'the result must be 4'
        >>> describe_failure(("TypeError", "secret"), source, 1)
        'TypeError before this check: the result must be 4'
        >>> describe_failure(("NotImplementedError", ""), source, 1)
        'the answer is missing or unfinished, because it raises NotImplementedError'
    """
    name, text = error[0], " ".join(error[1].split())
    if text in literal_messages(source):
        return text
    if name == "NotImplementedError" and not text:  # JAX's own errors of this class have a text.
        return _UNFINISHED
    shown = name if name in _KNOWN_ERRORS else "an exception"
    check = _next_check(source, line) if line is not None else None
    return f"{shown} before this check: {check}" if check else f"the test stopped with {shown}"


def describe_failed_cell(id: str, error: tuple[str, str] | None) -> str:
    """Return what a student may read about an answer's cell that did not run to its end.

    Args:
        id: The grade_id of the cell.
        error: The name and the message of the exception, or None if the cell took too long.

    Example:
        >>> describe_failed_cell("total", ("SyntaxError", "invalid syntax"))
        'your cell total does not run (SyntaxError)'
        >>> describe_failed_cell("total", ("MyError", ""))
        'your cell total does not run'
    """
    if error is None:
        return f"your cell {id} took too long and was stopped; it may contain an endless loop"
    name, text = error
    if name == "NotImplementedError" and not text:  # This is a stub without a function.
        return _UNFINISHED
    return f"your cell {id} does not run" + (f" ({name})" if name in _KNOWN_ERRORS else "")


def _messages_of(node: ast.AST) -> Iterator[str]:
    candidates: list[ast.expr] = []
    if isinstance(node, ast.Assert) and node.msg is not None:
        candidates = [node.msg]
    elif isinstance(node, ast.Call) and _TESTING.match(ast.unparse(node.func)):
        candidates = [*node.args, *(k.value for k in node.keywords if k.arg == "message")]
    for value in candidates:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield " ".join(value.value.split())


def _next_check(source: str, line: int) -> str | None:
    """Return the message of the first check that ends at a line or below it.

    The result is None if there is no such check, or if the line calls a function of the test that
    makes the checks.
    """
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    checkers = {f.name for f in functions if literal_messages(ast.unparse(f))}
    found = []
    for node in _walk_outside_functions(tree):
        if not isinstance(node, ast.stmt | ast.expr) or (node.end_lineno or 0) < line:
            continue
        is_here = node.lineno <= line
        if is_here and isinstance(node, ast.Call) and ast.unparse(node.func) in checkers:
            return None
        found += [(node.lineno, node.col_offset, text) for text in _messages_of(node)]
    return min(found)[2] if found else None


def _walk_outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _FUNCTIONS):
            yield child
            yield from _walk_outside_functions(child)
