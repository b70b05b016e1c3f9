"""Explain points that may have been lost for reasons other than a wrong answer."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Set

from jaxbits_grader.notebook import ParsedNotebook, Role

_MISSING_MODULE = re.compile(r"No module named '(\w{1,40})[.']", re.A)
_CLASS = re.compile(r"got ((\w{1,40})(?:\.\w{1,40}){1,6})", re.A)
_SETTING = re.compile(r"""config\.update\(\s*["'](jax_\w{1,40})["']""", re.A)


def missing_package(message: str, imported: Set[str]) -> str | None:
    """Return the package that a ModuleNotFoundError names, if the submission imports it.

    Args:
        message: The message of the exception. A submission can make it up.
        imported: The packages in the submission's import statements.
    """
    match = _MISSING_MODULE.match(message)
    return match[1] if match and match[1] in imported else None


def describe_library_class(message: str) -> str | None:
    """Return what to tell a student whose answer contains an object of a package's class.

    Args:
        message: The message of an UntrustedType. A submission can make it up, but gains nothing,
            because an answer of such a class gets no points.

    Returns:
        The message for the student, or None if the submission defines the class itself.
    """
    match = _CLASS.search(message)
    if match is None or match[2] == "__main__" or importlib.util.find_spec(match[2]) is None:
        return None
    return f"the test cannot compare {match[1]} objects, so return arrays and plain Python types"


def describe_changed_argument(kind: str) -> str:
    """Return what to tell a student whose answer changes an argument.

    Args:
        kind: What the argument is, such as ``"list"`` or ``"deleted JAX array"``.

    Example:
        >>> describe_changed_argument("list")
        'the answer must not change the list that it is given'
    """
    if kind == "deleted JAX array":
        return "the answer must not donate or delete the JAX array that it is given"
    return f"the answer must not change the {kind} that it is given"


def note_settings(notebook: ParsedNotebook) -> Iterator[str]:
    """Yield a note if a submission changes settings of JAX that the assignment does not change.

    Args:
        notebook: The repaired notebook.
    """
    own: dict[str, None] = {}
    given: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        found = _SETTING.findall(cell.source)
        if cell.role in (Role.GIVEN, Role.TEST):
            given.update(found)
        else:
            own.update(dict.fromkeys(found))
    if names := [name for name in own if name not in given]:
        what = "that setting" if len(names) == 1 else "those settings"
        yield f"the notebook sets {', '.join(names)}, so some tests ran with {what}"
