"""Find the warnings that NumPy issued while a function was traced."""

from __future__ import annotations

import re

from jaxbits._analysis.code_location import CodeLocation, is_user_code
from jaxbits._analysis.function_under_test import FunctionUnderTest


def numpy_warnings(target: FunctionUnderTest, pattern: str) -> list[tuple[CodeLocation, str]]:
    """Return the line of user code and the message for each matching warning, without duplicates.

    Args:
        target: The function that was traced.
        pattern: A regular expression to search for in the messages.
    """
    found: dict[tuple[CodeLocation, str], None] = {}
    for warning in target.trace.log.caught_warnings:
        if re.search(pattern, warning.text) and is_user_code(warning.named.file):
            found[warning.named, warning.text] = None
    return list(found)
