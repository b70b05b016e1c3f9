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
from jaxbits_grader.checking.scan.ast_utils import is_too_long, parse_cell
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


def reads_in_functions(
    source: str, names: Collection[str], only_called_by_cells: Collection[str] = ()
) -> Iterator[tuple[str, int]]:
    r"""Yield the global names that functions in a cell read, with their lines.

    Args:
        source: The source of the cell. If it cannot be parsed or is too long, nothing is found.
        names: The names to look for.
        only_called_by_cells: Functions of the notebook that may read these names, because no
            answer calls them.

    Example:
        >>> list(reads_in_functions("def f(x):\n    return x + case\nprint(case)", {"case"}))
        [('case', 2)]
        >>> list(reads_in_functions("f = lambda x: x + ('case' in globals())", {"case"}))
        [('case', 1)]
    """
    tree = parse_cell(source) if names and not is_too_long(source) else None
    if tree is None:
        return
    try:
        code = compile(tree, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    for part in _functions(code, in_function=False):
        if part.co_qualname not in only_called_by_cells:
            yield from _reads(part, names)


def _functions(code: types.CodeType, *, in_function: bool) -> Iterator[types.CodeType]:
    """Yield the code of the functions and classes in a piece of code, and of what they contain."""
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            is_function = in_function or part.co_name not in _COMPREHENSIONS
            if is_function:
                yield part
            yield from _functions(part, in_function=is_function)


def _reads(code: types.CodeType, names: Collection[str]) -> Iterator[tuple[str, int]]:
    # As in `"case" in globals()`.
    asks = "globals" in code.co_names
    for instruction in dis.get_instructions(code):
        is_read = instruction.opname in _GLOBAL_READS
        is_text = asks and instruction.opname == "LOAD_CONST"
        value = instruction.argval
        if (is_read or is_text) and isinstance(value, str) and value in names:
            line = instruction.positions.lineno if instruction.positions else None
            yield value, line or code.co_firstlineno
