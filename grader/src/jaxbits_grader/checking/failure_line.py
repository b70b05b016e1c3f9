"""In the student's kernel, find the line on which a test failed.

The grader calls `last_failure_line` in the student's kernel after a test has failed.
"""

from __future__ import annotations

import sys


def last_failure_line() -> str:
    """Return the number of the line in a cell at which the last exception occurred, or ""."""
    trace = getattr(sys, "last_traceback", None)
    names = vars(sys.modules["__main__"])
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_globals is names and frame.f_code.co_name == "<module>":
            return str(trace.tb_lineno)
        trace = trace.tb_next
    return ""
