"""Run a teacher's tests in a process that no student's code enters.

``python -m jaxbits_grader.judging.judge_process`` reads a command from each line of standard input,
as JSON. The command ``{"given": source, "names": […]}`` runs a given cell, and ``{"test": source,
"answers": […]}`` runs a test in which the listed names stand for a student's answers. While a test
runs, the process writes requests for the student's process, such as ``{"ask": {…}}``, and reads the
reply from the next line. The command ``{"compare": …}`` calls an answer with new inputs. At the end
of each command, the process writes ``{"done": …}``.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import random
import re
import sys
import traceback
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, TextIO

from jaxbits_grader.judging.channel import Channel, current_settings
from jaxbits_grader.judging.fuzzing.call_recorder import CallRecorder
from jaxbits_grader.judging.fuzzing.reference_comparison import (
    ComparisonResult,
    ReferenceComparison,
    compare_with_references,
)
from jaxbits_grader.judging.fuzzing.transformed_answers import (
    TransformedAnswer,
    note_transformed,
    unwrap_arguments,
    unwrap_arguments_of_module,
)
from jaxbits_grader.judging.remote_objects import CannotSplit, NoReply, Remote

_TEST = "<test>"
# If a test replaces functions temporarily, it replaces them only in the judge's process.
_PATCHES = re.compile(r"\b(?:mock|monkeypatch|setattr)\b|\bglobals\(")


class _Detectors:
    """Stands in for `jaxbits.detect`, and skips checks of functions in the student's process."""

    def __init__(self, module: types.ModuleType, names: dict[str, Any], skipped: set[str]) -> None:
        self._module, self._names, self._skipped = module, names, skipped

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if not callable(found) or isinstance(found, type):
            return found

        def check(*args: Any, **kwargs: Any) -> Any:
            if any(self._involves_answer(value) for value in (*args, *kwargs.values())):
                self._skipped.add(f"detect.{name}")
                return []
            return unwrap_arguments(found)(*args, **kwargs)

        return check

    def _involves_answer(self, value: Any) -> bool:
        if isinstance(value, Remote):
            return True
        if isinstance(value, TransformedAnswer):
            return self._involves_answer(value.transformed)
        if isinstance(value, list | tuple):
            return any(map(self._involves_answer, value))
        function = getattr(value, "__wrapped__", value)
        code = getattr(function, "__code__", None)
        if code is None:
            return isinstance(value, types.FunctionType) or hasattr(value, "func")
        captured = [cell.cell_contents for cell in function.__closure__ or ()]
        used = [self._names.get(name) for name in code.co_names]
        return any(isinstance(part, Remote | types.FunctionType) for part in (*captured, *used))


def _count_nothing(skipped: set[str]) -> Callable[[str], AbstractContextManager[list[int]]]:
    """Return a substitute for `count_compilations`, which cannot see the student's process."""

    @contextlib.contextmanager
    def count_compilations(kind: str) -> Iterator[list[int]]:
        skipped.add("testing.count_compilations")
        yield [0]

    return count_compilations


class Judge:
    """Runs given cells and tests.

    Args:
        read: A function that returns the next line of input.
        write: A function that writes a line of output.
        recorder: What records the calls of answers. The caller must keep it.
    """

    def __init__(
        self, read: Callable[[], str], write: Callable[[str], Any], recorder: CallRecorder
    ) -> None:
        self._read, self._write = read, write
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        self.names = vars(main)
        self.skipped: set[str] = set()
        # Only `main` refers to the recorder, see `CallRecorder.weak_note`.
        self._recorder = weakref.ref(recorder)
        self._note = recorder.weak_note()
        self.channel = Channel(self._ask, self.names, self._note)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self._write(json.dumps({"ask": request}))
        reply = json.loads(self._read())
        if not isinstance(reply, dict) or not {"value", "error"} & set(reply):
            raise NoReply("the student's process does not answer")
        return reply

    def run_given(self, source: str, names: list[str], answers: list[str]) -> dict[str, Any]:
        """Run a given cell, and return the error that it raises, if any."""
        try:
            self._bind(answers)
            failure = self._run(source)
        except CannotSplit as reason:
            failure = {"cannot": str(reason)}
        self.channel.set_given(set(names))
        detect, testing = self.names.get("detect"), self.names.get("testing")
        if isinstance(detect, types.ModuleType):
            self.names["detect"] = _Detectors(detect, self.names, self.skipped)
        if isinstance(testing, types.ModuleType):
            unwrap_arguments_of_module(testing)
            testing.count_compilations = _count_nothing(self.skipped)  # type: ignore[attr-defined]
        return failure

    def run_test(self, source: str, answers: list[str]) -> dict[str, Any]:
        """Run a test, and return the error that it raises and the checks that it had to skip."""
        self.skipped.clear()
        self.channel.sent_recorder = self.channel.transformed = False
        try:
            self._bind(answers)
            with note_transformed(self._note, self._calls_of_answers().is_answer, _TEST):
                failure = self._run(source)
        except CannotSplit as reason:
            return {"cannot": str(reason)}
        if _PATCHES.search(source):
            self.skipped.add("patches")
        if self.channel.transformed:
            # The answer was traced as under `jit`, but it could return something else under `grad`.
            self.skipped.add("transformations")
        if self.channel.sent_recorder:
            self.skipped.add("calls that a function of the test records")
        return {**failure, "skipped": sorted(self.skipped)}

    def _bind(self, answers: list[str]) -> None:
        for name in answers:
            try:
                self.names[name] = found = self.channel.get(name)
            except NameError:
                self.names.pop(name, None)
            else:
                self._calls_of_answers().add_answer(name, found)

    def _calls_of_answers(self) -> CallRecorder:
        recorder = self._recorder()
        assert recorder is not None
        return recorder

    def compare(self, comparison: ReferenceComparison) -> dict[str, Any]:
        """Call answers with new inputs, and return what this has found."""
        calls = self._calls_of_answers().calls
        try:
            found = compare_with_references(comparison, self.names, calls, random.Random())
        except (CannotSplit, Exception):
            # The arguments and results of some answers cannot be compared, and a comparison that
            # fails must not keep the judge from running the next test.
            found = ComparisonResult(never_compared=tuple(comparison.functions))
        return asdict(found)

    def _run(self, source: str) -> dict[str, Any]:
        linecache.cache[_TEST] = (len(source), None, source.splitlines(keepends=True), _TEST)
        try:
            exec(compile(source, _TEST, "exec"), self.names)
        except CannotSplit:
            raise
        except BaseException as error:
            lines = [
                f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == _TEST
            ]
            return {"error": [type(error).__name__, str(error)[:400]], "line": (lines or [None])[0]}
        return {}

    def serve(self) -> None:
        """Run commands until the input ends."""
        while line := self._read():
            command = json.loads(line)
            if "given" in command:
                done = self.run_given(command["given"], command["names"], command["answers"])
            elif "compare" in command:
                done = self.compare(ReferenceComparison.from_data(command["compare"]))
            else:
                done = self.run_test(command["test"], command["answers"])
            self._write(json.dumps({"done": done}))


def main() -> int:
    """Serve commands from standard input, and return exit status 0."""
    # The output of tests must not reach the channel.
    channel: TextIO = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    warnings.simplefilter("ignore")
    recorder = CallRecorder(current_settings)
    Judge(sys.stdin.readline, lambda text: channel.write(text + "\n"), recorder).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
