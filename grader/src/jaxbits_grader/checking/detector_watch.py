"""Record, in a student's kernel, which detectors could not examine everything in a test.

The grader calls `start` in the kernel before a test that uses detectors, and `stop` after it. A
detector also warns about this, but the code that it examines can change which warnings appear.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jaxbits._analysis import detector, gap_warnings
from jaxbits._analysis.code_location import CodeLocation

_incomplete: list[str] = []


def _ignores_nothing(location: CodeLocation, check: str) -> bool:
    return False


def _describe_and_record(check: str, *args: Any) -> Iterator[str]:
    for text in gap_warnings.describe_gaps(check, *args):
        _incomplete.append(check)
        yield text


def start() -> str:
    """Start recording, and stop comments in the notebook from hiding findings.

    Returns:
        The word "started".
    """
    CodeLocation.ignores = _ignores_nothing  # type: ignore[assignment, method-assign]
    vars(detector)["describe_gaps"] = _describe_and_record
    _incomplete.clear()
    return "started"


def stop() -> str:
    """Return the names of the detectors that could not examine everything, one per line.

    Example:
        >>> import warnings
        >>> from jaxbits import detect
        >>> start()
        'started'
        >>> with warnings.catch_warnings(action="ignore"):
        ...     findings = detect.key_reuse(lambda: [][0])
        >>> stop()
        'key_reuse'
    """
    return "\n".join(sorted(set(_incomplete)))
