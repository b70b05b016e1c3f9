"""Record, in a student's kernel, which detectors could not examine everything in a test.

The grader calls `start` in the kernel before a test that uses detectors, and `stop` after it.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from jaxbits._analysis.code_location import CodeLocation

_GAP = re.compile(r"detect\.(\w+) may have missed something")
_watches: list[tuple[Any, Any]] = []  # The active recordings, and the warnings of each.


def _ignores_nothing(location: CodeLocation, check: str) -> bool:
    return False


def start() -> str:
    """Start to record warnings, and keep comments in the notebook from hiding findings.

    Returns:
        The word "started".
    """
    CodeLocation.ignores = _ignores_nothing  # type: ignore[assignment, method-assign]
    watch = warnings.catch_warnings(record=True)
    caught = watch.__enter__()
    warnings.simplefilter("always")
    _watches.append((watch, caught))
    return "started"


def stop() -> str:
    """Stop recording, and return the names of the detectors that missed something, one per line.

    Example:
        >>> start()
        'started'
        >>> warnings.warn("detect.leak may have missed something: it ran only in part")
        >>> stop()
        'leak'
    """
    watch, caught = _watches.pop()
    watch.__exit__(None, None, None)
    matches = [_GAP.match(str(getattr(warning, "message", ""))) for warning in caught]
    return "\n".join(sorted({match[1] for match in matches if match}))
