"""Check a function for sharp bits, from a shell.

    python -m jaxbits.audit train:step --args 'f32[8,3]' 'i32[8]:0:10' key

FUNCTION is module:name or path/to/file.py:name; dots in the name reach attributes. An
argument is one of::

    'f32[8,3]'           random numbers of that dtype and shape; integers are 0 or 1,
    'i32[8]:0:10'        or from 0 up to 9; 'f32[4]:0:1' is uniform; 64 bits are a NumPy array
    key, 'key[4]'        a random key, or an array of them
    data.npy             an array from a file; data.npz all of its arrays, as a dict;
    data.npz:images      one of them
    module:name          what a module holds; module:name() calls it first; a file.py will do
    3, 0.5, "'text'"     anything else: a Python literal

Exit status: 0 nothing above a note, 1 something found or a check without time, 2 called wrongly.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from jaxbits._cli_arguments import UsageError, argument, loaded


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m jaxbits.audit",
        description=(__doc__ or "").replace("::\n", ":\n"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("function", metavar="FUNCTION", help="module:name or path/to/file.py:name")
    add("--args", nargs="*", default=[], metavar="ARG", help="its arguments")
    add("--kwargs", nargs="*", default=[], metavar="NAME=ARG", help="its named arguments")
    add("--call", nargs="*", action="append", metavar="ARG", help="one of several calls; repeat it")
    add("--carry", metavar="ARG", help="the argument that is a loop's state: position or name")
    add("--checks", nargs="+", metavar="CHECK", help="the checks to run; all by default")
    add("--allow", nargs="+", default=[], metavar="CHECK", help="checks that are left out")
    add("--limit", type=float, default=60.0, metavar="SECONDS", help="60 by default; 0 for none")
    add("--seed", type=int, default=0, help="of the random arguments; 0 by default")
    add("--json", action="store_true", help="print the report as JSON")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status."""
    try:
        return _main(argv)
    except UsageError as error:
        print(f"jaxbits.audit: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _main(argv: Sequence[str] | None) -> int:
    given = _parser().parse_args(argv)
    from jaxbits import detect
    from jaxbits._audit import audit

    with contextlib.redirect_stdout(sys.stderr):  # what modules print is no part of the report
        function = loaded(given.function, "FUNCTION")
        read = functools.partial(argument, seed=given.seed)
        args = [read(text, place) for place, text in enumerate(given.args)]
        kwargs = {}
        for place, text in enumerate(given.kwargs, len(args)):
            name, equals, value = text.partition("=")
            if not equals or not name.isidentifier():
                raise UsageError(f"--kwargs has {text!r}, and should have NAME=ARG")
            kwargs[name] = read(value, place)
        calls = [
            tuple(read(text, place) for place, text in enumerate(call)) for call in given.call or ()
        ]
    carry = given.carry
    carry = int(carry) if carry is not None and re.fullmatch(r"-?\d+", carry) else carry
    known = list(detect.detectors())
    for name in given.allow:
        if name not in known:
            raise UsageError(f"--allow has {name!r}, and should have some of {', '.join(known)}")
    checks = [name for name in given.checks or known if name not in given.allow]
    own: dict[str, Any] = {
        "carry": carry,
        "calls": calls or None,
        "checks": checks,
        "limit": given.limit or None,
    }
    if clash := next((name for name in kwargs if name in own), ""):
        raise UsageError(f"--kwargs has {clash!r}, which is the audit's own: wrap the function")
    try:
        report = audit(function, *args, **own, **kwargs)
    except (TypeError, ValueError) as error:  # `audit` raises where it is called wrongly only
        raise UsageError(str(error)) from None
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    print(json.dumps(report.to_dict(), indent=2) if given.json else report)
    return int(not report.ok or bool(report.not_run))
