"""The shell command `jaxbits`, which audits a function or explains an error."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import jaxbits
from jaxbits._cli_arguments import UsageError, import_object, parse_argument

_AUDIT = """Check a function for sharp bits. For example:

    jaxbits audit train:step --args 'f32[8,3]' 'i32[8]:0:10' key

FUNCTION is module:name or path/to/file.py:name. The name may contain dots to reach attributes.
An argument is one of:

    'f32[8,3]'           random numbers of this dtype and shape: normally distributed floats, or
                         integers that are 0 or 1
    'i32[8]:0:10'        integers from 0 to 9; 'f32[4]:0:1' is uniformly distributed
    key, 'key[4]'        a random key, or an array of random keys
    data.npy             the array in a file
    data.npz             all arrays in a file, as a dict; data.npz:images is one of them
    module:name          an object in a module or in file.py; module:name() is what it returns
    3, 0.5, "'text'"     any other Python literal

An array with a 64-bit dtype is a NumPy array, because JAX would truncate it.

The exit status is 0 if the audit is complete and finds nothing worse than a note, and 1 if it finds
an error or a warning. It is also 1 if the audit is incomplete because the function raised an error
(raises), JAX cannot trace it (untraced), a part of it was not examined (partial), or the time ran
out (timeout). With --allow, you can accept each of these cases by name. The exit status is 2 if the
command's arguments are invalid."""

_EXPLAIN = """Explain an error: read a traceback, or its last lines, and print the sharp bits in the
book that may have caused it, with a fix for each. For example:

    python train.py 2>&1 | jaxbits explain

The exit status is 0 if a sharp bit matches the error, 1 if none does, and 2 if the command's
arguments are invalid."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="jaxbits", description="Find and explain sharp bits in JAX.")
    parser.add_argument("--version", action="version", version=f"jaxbits {jaxbits.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_command = functools.partial(
        commands.add_parser,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    audit = add_command("audit", help="check a function for sharp bits", description=_AUDIT)
    audit.set_defaults(run=_audit)
    add = audit.add_argument
    add("function", metavar="FUNCTION", help="module:name or path/to/file.py:name")
    add("--args", nargs="*", default=[], metavar="ARG", help="its positional arguments")
    add("--kwargs", nargs="*", default=[], metavar="NAME=ARG", help="its keyword arguments")
    add("--call", nargs="*", action="append", metavar="ARG", help="one of the calls (repeatable)")
    add("--carry", metavar="ARG", help="the position or name of a loop's carry")
    add("--checks", nargs="+", metavar="CHECK", help="the checks to run (default: all)")
    levels = ("error", "warning")
    add("--fail", choices=levels, default="warning", help="the lowest level that exits with 1")
    names = "the checks to skip, and the cases in which to accept an incomplete audit"
    add("--allow", nargs="+", default=[], metavar="NAME", help=names)
    add("--limit", type=float, default=60.0, metavar="SECONDS", help="default: 60; 0 for no limit")
    add("--seed", type=int, default=0, help="seed of the random arguments (default: 0)")
    add("--json", action="store_true", help="print the report as JSON")
    explain = add_command("explain", help="explain an error message", description=_EXPLAIN)
    explain.set_defaults(run=_explain)
    explain.add_argument("file", nargs="?", metavar="FILE", help="default: standard input")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        argv: The command's arguments. The default is `sys.argv[1:]`.
    """
    name = "jaxbits"
    try:
        options = _parser().parse_args(argv)
        name = f"jaxbits {options.command}"
        # On a terminal that cannot show a character such as "…", print "?" instead of raising an
        # error.
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")
        status: int = options.run(options)
    except UsageError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return status


def _explain(options: argparse.Namespace) -> int:
    from jaxbits._explain import explain

    try:
        text = Path(options.file).read_bytes() if options.file else sys.stdin.buffer.read()
    except OSError as error:
        raise UsageError(f"cannot read {options.file}: {error.strerror}") from None
    explanation = explain(text.decode("utf8", "replace"))
    print(explanation)
    return int(not explanation)


def _audit(options: argparse.Namespace) -> int:
    from jaxbits import detect
    from jaxbits._analysis.gaps import CASES
    from jaxbits._audit import audit

    # Python adds the current directory to the path for `python -m`, but not for a script.
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())
    # Do not let anything that imported modules print end up in the report.
    with contextlib.redirect_stdout(sys.stderr):
        function = import_object(options.function, "FUNCTION")
        args, kwargs, calls = _arguments(options)
    known = list(detect.detectors())
    for name in options.allow:
        if name not in (*known, *CASES):
            choices = ", ".join(map(repr, (*known, *CASES)))
            raise UsageError(f"--allow must be one of {choices}; got {name!r}")
    is_position = options.carry is not None and re.fullmatch(r"-?\d+", options.carry)
    settings: dict[str, Any] = {
        "carry": int(options.carry) if is_position else options.carry,
        "calls": calls or None,
        "checks": [name for name in options.checks or known if name not in options.allow],
        "limit": options.limit or None,
    }
    for name in kwargs:
        if name in settings:
            raise UsageError(
                f"--kwargs must not contain {name!r}, which is an argument of the audit itself; "
                "audit a function that calls yours"
            )
    try:
        report = audit(function, *args, **settings, **kwargs)
    except (TypeError, ValueError) as error:
        # The audit catches errors in the function, so this one is about the audit's own arguments.
        raise UsageError(str(error)) from None
    print(json.dumps(report.to_dict(), indent=2) if options.json else report)
    return int(report.fails(options.fail, [name for name in options.allow if name in CASES]))


def _arguments(
    options: argparse.Namespace,
) -> tuple[list[Any], dict[str, Any], list[tuple[Any, ...]]]:
    """Return the positional and keyword arguments, and the arguments of each ``--call``."""
    parse = functools.partial(parse_argument, seed=options.seed)
    args = [parse(text, position) for position, text in enumerate(options.args)]
    kwargs = {}
    for position, text in enumerate(options.kwargs, len(args)):
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--kwargs must be NAME=ARG, got {text!r}")
        kwargs[name] = parse(value, position)
    calls = [
        tuple(parse(text, position) for position, text in enumerate(call))
        for call in options.call or ()
    ]
    return args, kwargs, calls
