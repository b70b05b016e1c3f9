"""Find functions that read a variable of a test.

The visible part of a test leaves its variables in the notebook. With them, an answer could tell
which test calls it, or which test has passed.
"""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Collection, Iterator

from jaxbits_grader.cell_names import bound_names
from jaxbits_grader.checking.scan.ast_utils import parse_cell
from jaxbits_grader.notebook import ParsedNotebook, Role

_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_GLOBAL_READS = ("LOAD_GLOBAL", "LOAD_NAME")


def names_only_in_tests(released: ParsedNotebook) -> frozenset[str]:
    """Return the names that only the visible tests of an assignment bind, without imports."""
    tests: set[str] = set()
    others: set[str] = set()
    for cell in released.cells:
        if cell.cell_type == "code" and (tree := parse_cell(cell.source)):
            for statement in tree.body:
                is_test = cell.role is Role.TEST
                is_import = isinstance(statement, (ast.Import, ast.ImportFrom))
                names = bound_names(ast.unparse(statement))
                (tests if is_test and not is_import else others).update(names)
    return frozenset(tests - others)


def reads_in_functions(source: str, names: Collection[str]) -> Iterator[tuple[str, int]]:
    r"""Yield the global names that functions in a cell read, with their lines.

    Args:
        source: The source of the cell. If it cannot be parsed, nothing is found.
        names: The names to look for.

    Example:
        >>> list(reads_in_functions("def f(x):\n    return x + case\nprint(case)", {"case"}))
        [('case', 2)]
        >>> list(reads_in_functions("f = lambda x: x + ('case' in globals())", {"case"}))
        [('case', 1)]
    """
    tree = parse_cell(source) if names else None
    if tree is None:
        return
    try:
        code = compile(tree, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    yield from _reads(code, names, in_function=False)


def _reads(
    code: types.CodeType, names: Collection[str], *, in_function: bool
) -> Iterator[tuple[str, int]]:
    if in_function:
        # As in `"case" in globals()`.
        asks = "globals" in code.co_names
        for instruction in dis.get_instructions(code):
            is_read = instruction.opname in _GLOBAL_READS
            is_text = asks and instruction.opname == "LOAD_CONST"
            value = instruction.argval
            if (is_read or is_text) and isinstance(value, str) and value in names:
                line = instruction.positions.lineno if instruction.positions else None
                yield value, line or code.co_firstlineno
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            is_function = in_function or part.co_name not in _COMPREHENSIONS
            yield from _reads(part, names, in_function=is_function)
