"""Run packages that read source code on the modules of the labeled cases.

These packages examine functions that are decorated with `jax.jit` or whose arguments are annotated
with shapes. The cases have neither, so the packages get copies of the modules with both.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax_flags_baseline as flags
import numpy as np
import scores
from labelled_cases import Case

JAXLINT = {
    "JL003": ("unrolled", "control_flow"),  # a Python loop in a jitted function
    "JL004": ("side_effect",),  # `print` or `open` in a jitted function
    "JL005": ("dynamic_shape",),  # `.shape` in a jitted function
    "JL010": ("x64", "promotion"),  # float64
    "JL012": ("nan",),  # a division in a jitted function
}
"""The rules of jaxlint that are about one of the checks."""
JAXTYC = ("control_flow", "dynamic_shape", "inplace", "iterator")
"""The checks whose positives JAX cannot trace, which jaxtyc reports as a trace error."""
USES = {
    "`jaxlint`": f"rules {', '.join(JAXLINT)} on the source, with `@jax.jit` added",
    "`jaxtyc`": "trace errors, with the arguments annotated by `jaxtyping`",
}
_ANNOTATIONS = "from jaxtyping import Array, Bool, Float16, Float32, Int32, Shaped, UInt8, UInt32"


def versions(environment: Path) -> dict[str, str]:
    """Return the versions of the packages in an environment."""
    program = "import importlib.metadata as m; print(m.version('jaxlint'), m.version('jaxtyc'))"
    python = environment / "bin" / "python"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return dict(zip(("jaxlint", "jaxtyc"), done.stdout.split(), strict=True))


def outcomes(check: str, ids: Sequence[Any], environment: Path | None) -> dict[str, list[bool]]:
    """Return, for each package that is about a check, whether it reports each case.

    A message counts if it is about a line of the case's own function.

    Args:
        check: The name of the check.
        ids: The cases, as `other_tools.case_ids` returns them.
        environment: The environment with the packages, or None to run none of them.
    """
    if environment is None:
        return {}
    rules = {rule for rule, checks in JAXLINT.items() if check in checks}
    found = {}
    if rules:
        found["`jaxlint`"] = [
            _is_reported(one, _jaxlint(environment, one.folder, one.family), rules) for one in ids
        ]
    if check in JAXTYC:
        found["`jaxtyc`"] = [
            _is_reported(one, _jaxtyc(environment, one.folder, one.family, check), {"trace-error"})
            for one in ids
        ]
    return found


def _is_reported(case_id: Any, messages: list[tuple[str, int]], rules: set[str]) -> bool:
    cases = _imported(case_id.folder, case_id.family)
    lines = _prepared(case_id.folder, case_id.family)[1]
    first, last = lines.get(_function_name(cases[case_id.number]), (1, 0))
    return any(rule in rules and first <= line <= last for rule, line in messages)


@functools.cache
def _imported(folder: str, family: str) -> list[Case]:
    cases: list[Case] = scores.import_cases(folder, family).CASES
    return cases


def _function_name(case: Case) -> str:
    return str(getattr(case.fn, "__name__", ""))


@functools.cache
def _prepared(folder: str, family: str) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return a module with decorators and annotations, and the lines of each function in it."""
    tree = ast.parse((scores.HERE / folder / f"{family}.py").read_text("utf8"))
    cases = {_function_name(case): case for case in _imported(folder, family)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in cases:
            _annotate(node, cases[node.name])
            if "jit" not in "".join(map(ast.unparse, node.decorator_list)):
                node.decorator_list.append(ast.parse("jax.jit", mode="eval").body)
    # The first statements are the docstring and the import from `__future__`.
    tree.body[2:2] = ast.parse(f"import jax\n{_ANNOTATIONS}").body
    source = ast.unparse(ast.fix_missing_locations(tree))
    lines = {
        node.name: (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    }
    return source, lines


def _annotate(function: ast.FunctionDef, case: Case) -> None:
    """Annotate the parameters that get arrays, and give the others a default value."""
    given = case.args[0] if isinstance(case.args, scores.Sweep) else case.args
    parameters = function.args.args
    if function.args.defaults or len(given) != len(parameters):
        return
    for parameter, value in zip(parameters, given, strict=True):
        if isinstance(value, (bool, int, float, np.ndarray, np.generic, jax.Array)):
            kind, shape = getattr(value, "dtype", None), np.shape(value)
            dtype = str(kind or {bool: "bool", int: "int32", float: "float32"}[type(value)])
            name = dtype.replace("uint", "UInt").capitalize().replace("Uint", "UInt")
            name = name if name in _ANNOTATIONS else "Shaped"
            text = f"{name}[Array, {' '.join(map(str, shape))!r}]"
            parameter.annotation = ast.parse(text, mode="eval").body


def _run(command: Sequence[object], folder: str, family: str) -> str:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"{family}.py"
        path.write_text(_prepared(folder, family)[0], "utf8")
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(scores.HERE)])}
        done = subprocess.run(
            [*map(str, command), path], capture_output=True, text=True, env=variables, cwd=name
        )
    return done.stdout


@functools.cache
def _jaxlint(environment: Path, folder: str, family: str) -> list[tuple[str, int]]:
    """Return the rules and lines of what jaxlint reports for a module."""
    program = environment / "bin" / "jaxlint"
    text = _run([program, "check", "--no-doc", "--format", "json"], folder, family)
    if not text.startswith("["):  # It raised an error, and so it reports nothing in this module.
        print(f"jaxlint failed on {folder}/{family}.py", file=sys.stderr)
        return []
    return [(entry["rule_id"], entry["line"]) for entry in json.loads(text)]


@functools.cache
def _jaxtyc(environment: Path, folder: str, family: str, check: str) -> list[tuple[str, int]]:
    """Return the rules and lines of what jaxtyc reports for a module about a check."""
    text = _run([environment / "bin" / "jaxtyc", "check", "--format", "json"], folder, family)
    # The output of the functions that it traces comes before the JSON.
    entries = json.loads(text[text.index('{\n  "diagnostics"') :])["diagnostics"]
    return [
        (entry["rule"], entry["line"])
        for entry in entries
        # It calls the function only with the annotated arguments.
        if "missing" not in entry["message"]
        and not flags.is_other_reason(check, entry["message"])
        and (check != "inplace" or "immutable" in entry["message"])
    ]
