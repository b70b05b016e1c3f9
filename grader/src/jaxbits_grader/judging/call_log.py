"""Repeat calls of answers in the student's process, and notice different results.

An answer that keeps state could give each test what this test expects. It can keep the state
anywhere in the process, so the grader cannot look for it everywhere. However, it can call the
answer again, and which calls it repeats is unknown to the answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_RANDOM = random.SystemRandom()
_MAX_KEPT_BYTES = 1 << 20
# The objects of a student's process, which a call may change on purpose.
_OBJECTS = ("object", "tree")


@dataclass(frozen=True)
class _Call:
    request: str
    reply: dict[str, Any]
    seconds: float


class CallLog:
    """The calls of a task's answers whose arguments and results are plain data.

    Example:
        >>> log = CallLog()
        >>> log.note('{"do": "get", "name": "f"}', '{"value": ["object", 0, "function", true]}', 0)
        >>> request = '{"do": "call", "fn": ["object", 0], "args": [["int", 2]], "kwargs": {}}'
        >>> log.note(request, '{"value": ["int", 3]}', 0.01)
        >>> log.repeat(lambda request: '{"value": ["int", 4]}', most=3, seconds=1.0)
        False
    """

    def __init__(self) -> None:
        self._answers: set[int] = set()
        self._calls: list[_Call] = []

    def clear(self) -> None:
        """Forget all calls."""
        self._calls.clear()

    def note(self, request: str, reply: str | None, seconds: float) -> None:
        """Note a judge's request and the reply.

        Args:
            request: The request as JSON.
            reply: The reply of the student's process, which may be anything.
            seconds: How long the reply took.
        """
        asked, replied = json.loads(request), _parsed(reply)
        value = replied.get("value")
        if asked["do"] == "get":
            if isinstance(value, list) and value[:1] == ["object"] and type(value[1]) is int:
                self._answers.add(value[1])
        elif asked["do"] == "call" and len(request) + len(reply or "") <= _MAX_KEPT_BYTES:
            function, arguments = asked["fn"], [asked["args"], asked["kwargs"]]
            is_answer = function[0] == "object" and function[1] in self._answers
            if is_answer and not (_has_objects(arguments) or _has_objects(value)):
                self._calls.append(_Call(request, replied, seconds))

    def repeat(self, ask: Callable[[str], str | None], *, most: int, seconds: float) -> bool:
        """Repeat some calls in a random order, and return whether all results are as before.

        Args:
            ask: A function that sends a request to the student's process and returns the reply.
            most: How many calls to repeat.
            seconds: How long the repeated calls took together, at most. The fastest call is
                repeated if no other fits.
        """
        if not self._calls:
            return True
        left, chosen = seconds, list[_Call]()
        for call in _RANDOM.sample(self._calls, len(self._calls)):
            if call.seconds <= left and len(chosen) < most:
                left -= call.seconds
                chosen.append(call)
        chosen = chosen or [min(self._calls, key=lambda call: call.seconds)]
        return all(_outcome(_parsed(ask(c.request))) == _outcome(c.reply) for c in chosen)


def _parsed(reply: str | None) -> dict[str, Any]:
    try:
        found = json.loads(reply or "null")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _has_objects(data: Any) -> bool:
    """Return whether plain data refers to an object of the student's process."""
    if isinstance(data, dict):
        return any(map(_has_objects, data.values()))
    if not isinstance(data, list):
        return False
    return (bool(data) and data[0] in _OBJECTS) or any(map(_has_objects, data))


def _outcome(reply: dict[str, Any]) -> Any:
    """Return what must be the same in two replies. Messages of errors may contain addresses."""
    error = reply.get("error")
    return error[:1] if isinstance(error, list) else reply
