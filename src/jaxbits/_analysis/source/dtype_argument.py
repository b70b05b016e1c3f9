"""Check whether a line passes `dtype=` to a function."""

from __future__ import annotations

import ast

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.source.ast_utils import parse_file


def has_dtype_argument(location: CodeLocation, function: str) -> bool:
    """Return whether a call of a function on a line passes `dtype=`.

    Args:
        location: The line.
        function: The name of the function, such as ``sum``, without the module or the array.
    """
    tree = parse_file(location.file)
    return any(
        isinstance(node, ast.Call)
        and node.lineno <= location.line <= (node.end_lineno or node.lineno)
        and ast.unparse(node.func).rpartition(".")[2] == function
        and any(keyword.arg == "dtype" for keyword in node.keywords)
        for node in (ast.walk(tree) if tree else ())
    )
