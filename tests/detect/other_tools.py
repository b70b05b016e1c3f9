"""Run JAX's switches and other packages on the labeled cases of the detectors.

python tests/detect/other_tools.py CHECK … --environment FOLDER    print the scores as JSON
python tests/detect/other_tools.py CHECK … --sample 3              use only some of the cases

A tool reports a case if it raises its own error or prints its own message about the subject of the
check. Any other error does not count. FOLDER is an environment with the packages that read source
code. The packages that run code must be importable.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import random
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import jax_flags_baseline as flags
import scores
import source_linters
from jax.experimental import checkify
from labelled_cases import Case
from scores import Score
from wrapped_cases import (
    count_traces_with_chex,
    raises_with_chex,
    raises_with_error_if,
    reruns_state,
    traces_again_with_chex,
)

SEED = 0
NONFINITE = ("nan", "overflow", "cast", "out_of_bounds")


class Tool(NamedTuple):
    """A tool, how it was used, and for each check that it is about, a test for reported cases.

    The settings hold while a case is imported and run, and so does the context for its check.
    """

    name: str
    use: str
    reports: dict[str, Callable[[Case], bool]]
    settings: tuple[tuple[str, Any], ...] = ()
    contexts: dict[str, Callable[[], AbstractContextManager[None]]] = {}  # noqa: RUF012


def _about(checks: Sequence[str], reports: Callable[[Case], bool]) -> dict[str, Any]:
    return dict.fromkeys(checks, reports)


def _default_of_jax() -> dict[str, Callable[[Case], bool]]:
    """Return the tests for what JAX raises or warns about without any switch."""
    checks = ("inplace", "control_flow", "dynamic_shape", "x64", "carry", "donation")
    return {check: flags.SWITCHES[check][0].reports for check in checks}


_LOGGED = {"recompile": flags.compiles_again, "carry": reruns_state}
_CHEX = {
    **_about(NONFINITE, raises_with_chex),
    "recompile": traces_again_with_chex,
    "carry": raises_with_chex,
}
_TYPED_KEYS = (("jax_enable_custom_prng", True),)

TOOLS = (
    Tool(
        "JAX’s own errors and warnings",
        "with no switch turned on, under `jax.jit` or, for a state, under `lax.scan`",
        _default_of_jax(),
    ),
    Tool(
        "`jax.debug_key_reuse`",
        "set to True during one call, with raw keys replaced by typed keys",
        _about(
            ("key_reuse", "const_key"), flags.reports_error("KeyReuse", jax_debug_key_reuse=True)
        ),
        _TYPED_KEYS,
    ),
    Tool(
        "`checkify`",
        "`index_checks` or `float_checks`, under `jax.jit`",
        {
            "out_of_bounds": flags.reports_checkify_error(checkify.index_checks),
            **_about(
                ("nan", "overflow", "cast"), flags.reports_checkify_error(checkify.float_checks)
            ),
        },
    ),
    Tool(
        "`jax.debug_nans` and `jax.debug_infs`",
        "both set to True, under `jax.jit`",
        _about(NONFINITE, flags.reports_error("FloatingPointError", **flags.NANS)),
    ),
    Tool(
        "`jax.log_compiles`",
        "with its messages counted from the second call on, and with a state passed back once",
        _LOGGED,
    ),
    Tool(
        "`jax.checking_leaks`",
        "turned on during one call, under `jax.jit`",
        _about(("leak", "side_effect"), flags.reports_error("Leaked", jax_check_tracer_leaks=True)),
    ),
    Tool(
        "`jax.transfer_guard`",
        "set to 'disallow' during one call",
        _about(
            ("transfer", "list_args"),
            flags.reports_error("isallowed", jit=False, jax_transfer_guard="disallow"),
        ),
    ),
    Tool(
        "strict promotion",
        "`jax.numpy_dtype_promotion('strict')`, under `jax.jit`",
        _about(
            ("promotion", "x64", "carry", "cast"),
            flags.reports_error("TypePromotionError", jax_numpy_dtype_promotion="strict"),
        ),
    ),
    Tool(
        "`jax_captured_constants_warn_bytes`",
        "set to 100,000, under `jax.jit`",
        {"big_const": flags.SWITCHES["big_const"][0].reports},
    ),
    Tool(
        "`chex`",
        "`assert_tree_all_finite` on the results, `assert_max_traces(n=1)` inside each `jax.jit`, "
        "`assert_trees_all_equal_shapes_and_dtypes` on the old and the new state",
        _CHEX,
        contexts={"recompile": count_traces_with_chex},
    ),
    Tool(
        "`eqx.error_if`",
        "on the results, inside `jax.jit`, with the condition that a value is not finite",
        _about(NONFINITE, raises_with_error_if),
    ),
)


class CaseId(NamedTuple):
    """Where a case is: its folder, its module, its number there, and whether it is a positive."""

    folder: str
    family: str
    number: int
    expected: bool


def case_ids(check: str, size: int | None = None) -> list[CaseId]:
    """Return the cases for a check, or a random sample of the positive and of the negative ones.

    Args:
        check: The name of the check.
        size: How many cases of each kind to draw, or None for all.
    """
    found = [
        CaseId(folder, family, number, case.expected)
        for folder in scores.FOLDERS
        for family in scores.families_by_check(folder).get(check, ())
        for number, case in enumerate(scores.import_cases(folder, family).CASES)
        if case.check == check
    ]
    drawn: list[CaseId] = []
    for expected in (True, False):
        same = [one for one in found if one.expected is expected]
        count = len(same) if size is None else min(size, len(same))
        drawn += random.Random(SEED).sample(same, count)
    return drawn


def reports(tool: Tool, check: str, case_id: CaseId) -> bool:
    """Return whether a tool reports a case, which comes from a newly imported module."""
    context = tool.contexts.get(check, nullcontext)
    with flags.config_values(*tool.settings), context():
        case = scores.import_cases(case_id.folder, case_id.family).CASES[case_id.number]
        try:
            return tool.reports[check](case)
        except Exception as error:  # The tool cannot run on this case.
            print(f"{tool.name} failed on {case.name}: {error!r}"[:200], file=sys.stderr)
            return False


def score(seen: Sequence[tuple[bool, bool]]) -> Score:
    """Count pairs of what is expected and what was reported."""
    return scores.score([scores.Outcome("", *pair, []) for pair in seen])


def _versions(names: Sequence[str], environment: Path | None) -> dict[str, str]:
    found = {name: importlib.metadata.version(name) for name in names}
    return found | (source_linters.versions(environment) if environment else {})


def _score_tools(check: str, sample: int | None, environment: Path | None) -> dict[str, Score]:
    """Return the score of each tool that is about a check."""
    ids = case_ids(check, sample)
    found: dict[str, list[bool]] = {
        tool.name: [reports(tool, check, one) for one in ids]
        for tool in TOOLS
        if check in tool.reports
    }
    found |= source_linters.outcomes(check, ids, environment)
    print(check, file=sys.stderr, flush=True)
    expected = [one.expected for one in ids]
    return {n: score(list(zip(expected, seen, strict=True))) for n, seen in found.items()}


def main() -> None:
    """Print the scores of all tools as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checks", nargs="+", metavar="CHECK")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--environment", type=Path)
    options = parser.parse_args()
    scored = {
        check: _score_tools(check, options.sample, options.environment) for check in options.checks
    }
    record = {
        "versions": _versions(("jax", "chex", "equinox"), options.environment),
        "uses": {tool.name: tool.use for tool in TOOLS} | source_linters.USES,
        "scores": scored,
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
