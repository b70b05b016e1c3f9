"""Recognize output that tells nothing about a call, such as logging that is switched off."""

from __future__ import annotations

import ast
import logging
import re
import types
from typing import Any

from jax.core import Tracer

_LEVELS = logging.getLevelNamesMapping()
_ALIASES = {"warn": "warning", "exception": "error"}
# This leaves out "trace," which may be the trace of a matrix.
_ANNOUNCES_TRACE = re.compile(r"\b(re-?)?(compil(e|es|ed|ing|ation)|trac(ed|ing)|jitt(ed|ing))\b")
_TRACER = re.compile(r"Tracer[<(]|Traced<")
"""The start of how JAX 0.7.2 through 0.12 show a tracer."""


def is_switched_off(frame: types.FrameType) -> bool:
    """Return whether the user's own settings suppress what a logging function would write.

    The settings are the level of the logger, or of one that it inherits from, or `logging.disable`.
    Without any, Python suppresses what is less severe than a warning. That does not count, because
    the program that uses the function may still set a level.

    Args:
        frame: The frame that runs the logging function.
    """
    default = frame.f_globals.get("_absl_logger", logging.getLogger())
    logger = frame.f_locals.get("self", default)
    logger = getattr(logger, "logger", logger)  # An adapter refers to its logger.
    level = _level(frame)
    if not isinstance(logger, logging.Logger) or not isinstance(level, int):
        return False
    if logger.isEnabledFor(level):
        return False
    if logger.manager.disable >= level:
        return True
    while logger.parent is not None and not logger.level:
        logger = logger.parent
    return logger.parent is not None or logger.level != logging.WARNING


def _level(frame: types.FrameType) -> Any:
    """Return the level at which a logging function writes, or None if it is unknown."""
    function, values = frame.f_code.co_name, frame.f_locals
    if "level" not in values:
        return _LEVELS.get(_ALIASES.get(function, function).upper())
    level = values["level"]
    if "_absl_logger" not in frame.f_globals or "self" in values or not isinstance(level, int):
        return level
    if level > 1:  # More detailed than debugging, as in `vlog(2, …)`.
        return logging.DEBUG - (level - 1)
    # The functions of absl count from -3 (fatal) to 1 (debug):
    # https://github.com/abseil/abseil-py/blob/main/absl/logging/converter.py
    return logging.INFO - (logging.INFO - logging.DEBUG) * max(level, -3)


def shows_tracer(frame: types.FrameType) -> bool:
    """Return whether a logging function receives a traced value.

    Args:
        frame: The frame that runs the logging function.
    """
    arguments = frame.f_locals.get("args", ())
    given = [frame.f_locals.get("msg"), *(arguments if isinstance(arguments, tuple) else ())]
    return any(isinstance(v, Tracer) or (isinstance(v, str) and has_tracer(v)) for v in given)


def has_tracer(text: str) -> bool:
    """Return whether a text shows a tracer."""
    return _TRACER.search(text) is not None


def announces_trace(call: ast.Call | None) -> bool:
    """Return whether a text that a call writes says that JAX compiles or traces something.

    >>> announces_trace(ast.parse("print('Compiling the step', n)").body[0].value)
    True
    >>> announces_trace(ast.parse("print('one more step')").body[0].value)
    False
    """
    arguments: list[Any] = [] if call is None else [*call.args, *(k.value for k in call.keywords)]
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _ANNOUNCES_TRACE.search(node.value.lower()) is not None
        for argument in arguments
        for node in ast.walk(argument)
    )
