"""Ask a student's kernel whether its tests can be trusted, and where a test failed."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from jaxbits_grader.checking import census, library_census
from jaxbits_grader.checking.failure_messages import ANSWER_TOO_SLOW, describe_failure
from jaxbits_grader.running.kernel_client import CellResult, Kernel, KernelNotStarted

_SAFE_NAME = re.compile(r"[A-Za-z_.' ]{1,80}")
_DETECTOR = re.compile(r"[a-z_]{1,30}|x64")
_PATCH = re.compile(r"\bpatch\.(?:object|multiple)\((\w+)")
# These detectors may run a function step by step. To record what Python reads, they replace methods
# of arrays and functions of NumPy for a time.
_RECORDS_READS = re.compile(r"\bdetect\.(?:donation|timing|transfer)\(")
_REPLACED_FOR_READS = {"jaxlib._jax.ArrayImpl", "numpy"}
_FULL_NAMES = {"jnp": "jax.numpy", "np": "numpy"}
_LIBRARIES = ("jax.", "flax.", "numpy.", "optax.")
_IMPORT = "__import__('jaxbits_grader.checking.{}', fromlist=['x'])"
_REPLACED = _IMPORT.format("integrity_check") + ".find_replaced(in_libraries={})"
_WRITTEN = _IMPORT.format("integrity_check") + ".find_written_modules()"
_FAILURE_LINE = _IMPORT.format("failure_line") + ".last_failure_line()"
_WATCH = _IMPORT.format("detector_watch")
_STATE = _IMPORT.format("answer_state")
_BACKGROUND = _IMPORT.format("background_work")
_COMPARISONS = "__import__('jaxbits_grader.judging.comparisons', fromlist=['x'])"
_CANARIES = _IMPORT.format("canary_checks") + ".failed_canaries()"
# Keep tracebacks minimal, because nobody sees them and IPython takes a long time to format full
# ones.
_MINIMAL_TRACEBACKS = "--InteractiveShell.xmode=Minimal"
# Import the check before the notebook can change `sys.path` and `sys.prefix`, because the check
# reads there which folders contain installed packages.
_EARLY_IMPORT = (
    "--IPKernelApp.exec_lines=import jaxbits_grader.checking.integrity_check, "
    "jaxbits_grader.checking.library_copies; del jaxbits_grader"
)
KERNEL_OPTIONS = (_MINIMAL_TRACEBACKS, _EARLY_IMPORT)


def failure_message(kernel: Kernel, done: CellResult, renamed: str) -> str:
    """Return what the student may read about a failed test."""
    if done.interrupted or done.error is None:
        return ANSWER_TOO_SLOW
    line = kernel.evaluate(_FAILURE_LINE) or ""
    # The submission could have made up this answer, so use it only to choose one of the messages.
    is_line = re.fullmatch("[0-9]{1,5}", line, re.A) is not None
    return describe_failure(done.error, renamed, int(line) if is_line else None)


def written_modules(kernel: Kernel) -> str:
    """Return a note on modules that a submission wrote and imported, or an empty string."""
    # A submission can make up these names, so repeat only plausible ones.
    found = (kernel.evaluate(_WRITTEN) or "").splitlines()
    names = [name if _SAFE_NAME.fullmatch(name) else "a module" for name in found[:3]]
    return f"imports modules that it wrote: {', '.join(names)}" if names else ""


@contextlib.contextmanager
def watch_detectors(kernel: Kernel) -> Iterator[list[str]]:
    """Yield a list that, after the block, names the detectors that could not examine everything.

    Inside the block, comments in the notebook cannot hide findings.
    """
    found: list[str] = []
    started = kernel.evaluate(f"{_WATCH}.start()") == "started"
    yield found
    answer = kernel.evaluate(f"{_WATCH}.stop()") if started else None
    # A submission can make up these names, so repeat only plausible ones.
    names = ["a detector"] if answer is None else answer.splitlines()
    found += [name if _DETECTOR.fullmatch(name) else "a detector" for name in names[:3]]


@contextlib.contextmanager
def watch_answer_state(kernel: Kernel, names: Iterable[str]) -> Iterator[list[str]]:
    """Yield a list that, after the block, names the state that answers may have changed in it.

    Args:
        kernel: The kernel.
        names: The names of the answers.
    """
    found: list[str] = []
    started = kernel.evaluate(f"{_STATE}.start({sorted(names)!r})") == "started"
    yield found
    answer = kernel.evaluate(f"{_STATE}.stop()") if started else None
    # A submission can make up these names, so repeat only plausible ones.
    lines = ["something"] if answer is None else answer.splitlines()
    found += [line if _SAFE_NAME.fullmatch(line) else "something" for line in lines[:3]]


@contextlib.contextmanager
def watch_background_work(kernel: Kernel) -> Iterator[list[str]]:
    """Yield a list that, after the block, names what works besides the kernel's own thread."""
    found: list[str] = []
    started = kernel.evaluate(f"{_BACKGROUND}.start()") == "started"
    yield found
    answer = kernel.evaluate(f"{_BACKGROUND}.stop()") if started else None
    # A submission can make up these names, so repeat only plausible ones.
    lines = ["something else"] if answer is None else answer.splitlines()
    found += [line if _SAFE_NAME.fullmatch(line) else "something else" for line in lines[:3]]


def start_comparisons(kernel: Kernel) -> None:
    """Make the kernel forget the values that earlier tests compared."""
    kernel.evaluate(f"{_COMPARISONS}.start()")


def take_comparisons(kernel: Kernel) -> str | None:
    """Return the values that a test has compared, as `comparisons.take` encodes them."""
    return kernel.evaluate(f"{_COMPARISONS}.take('answer')")


class Census:
    """Notices changes in a kernel to the modules that tests use and to the code that runs cells.

    The results stay in this process, and the kernel gets the source of the census again each time,
    so a submission can replace neither.

    Args:
        kernel: The kernel, in which no student's cell has run.
        given: The private names of given functions and classes, with the names in the notebook.
        imported: The modules that the notebook imports. Those of libraries are imported now,
            because an import within a test would look like a change.

    Raises:
        KernelNotStarted: If the kernel does not answer.
    """

    def __init__(
        self, kernel: Kernel, given: Mapping[str, str], imported: Iterable[str] = ()
    ) -> None:
        self._given = dict(given)
        modules = [name for name in sorted(imported) if name.startswith(_LIBRARIES)]
        first = _run_census(kernel, "prepare", self._given, modules)
        if first is None:
            raise KernelNotStarted("the kernel did not answer the first check")
        self._first = self._last = first

    def extend(self, kernel: Kernel) -> None:
        """Include what a given cell has added, such as the tests' private copies of modules."""
        self._last = _run_census(kernel, "take", self._given) or {}
        # A given cell may also add to what an earlier one has defined.
        of_given = {f"the given {name}" for name in self._given.values()}
        of_given |= {f"an attribute of {name}" for name in self._given.values()}
        kept = {name: value for name, value in self._first.items() if name not in of_given}
        self._first = {**self._last, **kept}

    def changes(self, kernel: Kernel) -> list[str]:
        """Return the names of the parts that have changed since before any student's cell ran."""
        now = _run_census(kernel, "take", self._given)
        if now is None:
            return ["how the kernel answers"]
        self._last = now
        return [
            name
            for name, (fingerprint, _) in self._first.items()
            if now.get(name, ("", ""))[0] != fingerprint
        ]

    def changes_in_test(self, kernel: Kernel, source: str) -> tuple[list[str], list[str]]:
        """Return the parts that have changed, and those that changed only while a test ran.

        Args:
            kernel: The kernel, in which the test ran after the last census.
            source: The source of the test, which may patch modules itself.
        """
        before = self._last
        changes = self.changes(kernel)
        names = _PATCH.findall(source)
        patched = {_FULL_NAMES.get(name, name) for name in names}
        patched |= {f"an attribute of {name}" for name in names}
        if _RECORDS_READS.search(source):
            patched |= _REPLACED_FOR_READS
        return changes, [
            name
            for name, (_, last_change) in before.items()
            if self._last.get(name, ("", last_change))[1] != last_change
            and name not in patched.union(changes)
        ]


def _run_census(
    kernel: Kernel, function: str, given: Mapping[str, str], *arguments: list[str]
) -> dict[str, tuple[str, str]] | None:
    """Return the fingerprint of each part and the number of the last change in it."""
    own, libraries = (Path(str(part.__file__)).read_text() for part in (census, library_census))
    call = (
        f"(lambda own, libraries: exec({own!r}, own) or exec({libraries!r}, libraries) or "
        f"own[{function!r}](*{(given, *arguments)!r}) + chr(10) + "
        f"libraries['take']({given!r}))({{}}, {{}})"
    )
    lines = [line.partition(" ") for line in (kernel.evaluate(call) or "").splitlines()]
    parts = {name: found.partition("/") for found, _, name in lines}
    return {name: (found[0], found[2]) for name, found in parts.items()} or None


def altered_checks(kernel: Kernel, first: Census) -> Iterator[str]:
    """Yield a description of each sign that tests in this kernel cannot be trusted.

    Args:
        kernel: The kernel.
        first: The census from before any student's cell ran.
    """
    changes = first.changes(kernel)
    if changes:
        yield f"it changed {', '.join(changes[:3])}"
    for what, query in (
        ("replaced", _REPLACED.format(bool(changes))),
        ("made functions accept wrong values:", _CANARIES),
    ):
        answer = kernel.evaluate(query)
        if answer is None:
            yield "it kept the grader from checking the functions that tests use"
        elif answer:
            # A submission can make up these names, so repeat only plausible ones.
            names = [line for line in answer.splitlines() if _SAFE_NAME.fullmatch(line)]
            yield f"it {what} {', '.join(names[:3]) or 'something'}"
    nonce = secrets.token_hex(8)
    if kernel.run_cell(f"assert False, {nonce!r}").error is None:
        yield "an assertion that must fail passes"
