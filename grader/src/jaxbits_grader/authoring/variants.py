"""Create variants of an assignment by drawing new values from the ranges in its source.

A line such as ``rows = 12  # variant: 8..20`` gives a number and its range. Instead of a range, an
author can list the possible values, as in ``# variant: "mean" | "max"``.
"""

from __future__ import annotations

import ast
import math
import random
import re
from pathlib import Path

from jaxbits_grader.authoring.assignment_source import (
    ANSWERS_FILE,
    SOURCE_FILE,
    SourceError,
    find_assignments,
    parse_assignment,
)
from jaxbits_grader.authoring.cell_markers import VARIANT_COMMENT
from jaxbits_grader.files import write_atomically

_VARIABLE_LINE = re.compile(
    r"^([ \t]*[A-Za-z_]\w*(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*)([^\n#=]+?)[ \t]+# variant: ([^\n]+)$",
    re.M,
)
_WHEEL_ADDRESS = re.compile(r"https?://[\w.~:/%+-]+\.whl", re.A)


def draw_variant(text: str, seed: int | str) -> str:
    """Replace every value that has a `# variant:` comment with a different one.

    Args:
        text: The source of the assignment, or part of it.
        seed: The seed for the random numbers. The same seed always yields the same values.

    Returns:
        The source with the new values. A value stays the same only if no other value is allowed.

    Raises:
        SourceError: If a range cannot be parsed or does not contain the current value.

    Example:
        >>> draw_variant("rows = 12  # variant: 12..13", seed=1)
        'rows = 13  # variant: 12..13'
    """
    rng = random.Random(f"jaxbits {seed}")
    return _VARIABLE_LINE.sub(
        lambda m: f"{m[1]}{_draw(m[2], m[3].strip(), rng)}  # variant: {m[3]}", text
    )


def count_variable_values(text: str) -> int:
    """Return the number of values in a source that `draw_variant` replaces.

    Raises:
        SourceError: If a `# variant:` comment is not at the end of a plain assignment.
    """
    comments, values = len(VARIANT_COMMENT.findall(text)), len(_VARIABLE_LINE.findall(text))
    if comments != values:
        raise SourceError(
            "a '# variant:' comment must be at the end of a line with a single assignment, but "
            f"{comments - values} of these comments are not"
        )
    return values


def _draw(value: str, allowed: str, rng: random.Random) -> str:
    """Draw a different value from a range or a list of choices, and return it as source code."""
    try:
        old = ast.literal_eval(value)
        if "|" in allowed:
            choices = {part.strip(): ast.literal_eval(part.strip()) for part in allowed.split("|")}
            if old in choices.values():
                return rng.choice([c for c in choices if choices[c] != old] or [value])
            raise SourceError(f"the choices {allowed!r} must contain the current value {value}")
        low, high = (ast.literal_eval(part.strip()) for part in allowed.split(".."))
    except (ValueError, SyntaxError, TypeError) as error:
        raise SourceError(f"cannot parse the range {allowed!r} for {value!r}") from error
    if any(type(x) not in (int, float) or not math.isfinite(x) for x in (low, old, high)):
        raise SourceError(f"the range {allowed!r} for {value!r} must consist of finite numbers")
    if not low <= old <= high:
        raise SourceError(f"the range {allowed!r} must contain the current value {value}")
    if all(isinstance(x, int) for x in (low, old, high)):
        number = rng.randint(low, max(low, high - 1))
        return repr(number + 1 if old <= number < high else number)
    # Keep as few digits as a person would write, but enough that the range contains several such
    # numbers.
    largest = max(abs(low), abs(high))
    for digits in range(2, 18):
        rounded = float(f"{rng.uniform(low, high):.{digits}g}")
        is_coarse = 10.0 ** (1 - digits) * largest > (high - low) / 2
        if low <= rounded <= high and rounded != old and not is_coarse:
            return repr(rounded)
    return value


def write_variants(assignments: Path, to: Path, seed: int | str, wheel: str = "") -> list[str]:
    """Write variants of assignments, along with their reference answers, to a separate folder.

    Args:
        assignments: A folder that contains assignments, or the folder of one assignment.
        to: The folder to write to, which must not be inside `assignments`. If it does not exist,
            it is created, and only its owner can read it.
        seed: The seed for the random numbers, which must stay secret. The same seed always yields
            the same values.
        wheel: The address of the jaxbits wheel, which the first cell installs in Colab, or an empty
            string.

    Returns:
        The names of the assignments.

    Raises:
        SourceError: If there is no assignment, if an assignment has no valid variant, or if `to` is
            inside `assignments` or already contains one of the assignments.
        ValueError: If `wheel` is not the address of a wheel.
    """
    if wheel and not _WHEEL_ADDRESS.fullmatch(wheel):
        raise ValueError(f"wheel must be a web address that ends in .whl, got {wheel!r}")
    folders = find_assignments(assignments)
    if not folders:
        raise SourceError(f"assignments: {assignments} contains no folder with a {SOURCE_FILE}")
    if to.resolve() == assignments.resolve() or assignments.resolve() in to.resolve().parents:
        raise SourceError(f"to: a private folder must not be inside {assignments}, got {to}")
    if taken := [folder.name for folder in folders if (to / folder.name / SOURCE_FILE).exists()]:
        raise SourceError(f"to: {to} already contains {', '.join(taken)}; nothing was changed")
    variants = {}
    for folder in folders:
        text = (folder / SOURCE_FILE).read_text(encoding="utf-8")
        name = folder.resolve().name
        count_variable_values(text)
        text = text.replace('\nWHEEL = ""', f'\nWHEEL = "{wheel}"')
        variants[folder] = draw_variant(text, f"{seed} {name}")
        parse_assignment(variants[folder], name)
    if not to.exists():
        to.parent.mkdir(parents=True, exist_ok=True)
        to.mkdir(mode=0o700)  # The folder contains solutions.
    for folder, text in variants.items():
        name = folder.resolve().name
        write_atomically(to / name / SOURCE_FILE, text)
        if (folder / ANSWERS_FILE).exists():
            answers = (folder / ANSWERS_FILE).read_text(encoding="utf-8")
            write_atomically(to / name / ANSWERS_FILE, answers)
    return [folder.resolve().name for folder in folders]
