"""Other numbers for an assignment: where its source says that a number may differ, and how far.

A line of code such as ``rows = 12  # variant: 8..20`` gives a number and its range; choices are
written ``# variant: "mean" | "max"``.
"""

from __future__ import annotations

import ast
import math
import random
import re
from pathlib import Path

from jaxbits_grader.authoring.assignment_source import ANSWERS, SOURCE, SourceError, find, parse
from jaxbits_grader.files import write_file

_LINE = re.compile(
    r"^([ \t]*[A-Za-z_]\w*(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*)([^\n#=]+?)[ \t]+# variant: ([^\n]+)$",
    re.M,
)
_ANY = re.compile(r"[ \t]*# variant:[^\n]*")


def without_ranges(source: str) -> str:
    """A cell's text without the comments that say how numbers may differ.

    Example:
        >>> without_ranges("rows = 12  # variant: 8..20")
        'rows = 12'
    """
    return _ANY.sub("", source)


def vary(text: str, seed: int | str) -> str:
    """The source with every number that may differ drawn anew.

    Args:
        text: the source, or a part of it.
        seed: the same seed draws the same numbers.

    Returns:
        The source; where a range holds more than one number, another one stands there.

    Raises:
        SourceError: when a range cannot be read, or does not hold the number that stands there.

    Example:
        >>> vary("rows = 12  # variant: 12..13", seed=1)
        'rows = 13  # variant: 12..13'
    """
    draw = random.Random(f"jaxbits {seed}")
    return _LINE.sub(lambda m: f"{m[1]}{_drawn(m[2], m[3].strip(), draw)}  # variant: {m[3]}", text)


def ranges(text: str) -> int:
    """How many numbers of a source may differ.

    Raises:
        SourceError: when a comment says so of a line that is no plain assignment.
    """
    marked, read = len(_ANY.findall(text)), len(_LINE.findall(text))
    if marked != read:
        raise SourceError(
            f"{marked - read} of its '# variant:' comments are not at the end of an assignment on "
            "a line of its own"
        )
    return read


def _drawn(value: str, range_: str, draw: random.Random) -> str:
    try:
        old = ast.literal_eval(value)
        if "|" in range_:
            choices = {part.strip(): ast.literal_eval(part.strip()) for part in range_.split("|")}
            if old in choices.values():
                return draw.choice([c for c in choices if choices[c] != old] or [value])
            raise SourceError(f"the choices {range_!r} do not hold {value}, which stands there")
        low, high = (ast.literal_eval(part.strip()) for part in range_.split(".."))
    except (ValueError, SyntaxError, TypeError) as error:
        raise SourceError(f"the range {range_!r} of {value!r} cannot be read") from error
    if any(type(x) not in (int, float) or not math.isfinite(x) for x in (low, old, high)):
        raise SourceError(f"the range {range_!r} of {value!r} cannot be read as numbers")
    if not low <= old <= high:
        raise SourceError(f"the range {range_!r} does not hold {value}, which stands there")
    if all(isinstance(x, int) for x in (low, old, high)):
        number = draw.randint(low, max(low, high - 1))
        return repr(number + 1 if old <= number < high else number)
    # Few digits, a number that a person would have chosen; but enough that there are several.
    largest = max(abs(low), abs(high))
    for digits in range(2, 18):
        near = float(f"{draw.uniform(low, high):.{digits}g}")
        coarse = 10.0 ** (1 - digits) * largest > (high - low) / 2
        if low <= near <= high and near != old and not coarse:
            return repr(near)
    return value


def make(assignments: Path, to: Path, seed: int | str) -> list[str]:
    """Write variants of assignments, sources and answers, to another folder.

    Args:
        assignments: a folder of assignments, or of one.
        to: the folder to write to; it may not lie in the first one.
        seed: a secret; the same one draws the same numbers.

    Returns:
        The names of the assignments written.

    Raises:
        SourceError: when there is no assignment, or it cannot be varied, or `to` holds one already.
    """
    found = find(assignments)
    if not found:
        raise SourceError(f"assignments: {assignments} holds no folder with a {SOURCE}")
    if to.resolve() == assignments.resolve() or assignments.resolve() in to.resolve().parents:
        raise SourceError(f"to: {to} lies in {assignments}; a private folder should lie elsewhere")
    taken = [folder.name for folder in found if (to / folder.name / SOURCE).exists()]
    if taken:
        raise SourceError(f"to: {to} holds {', '.join(taken)} already; what you changed is kept")
    varied = {}
    for folder in found:
        text = (folder / SOURCE).read_text(encoding="utf-8")
        name = folder.resolve().name
        ranges(text)
        varied[folder] = vary(text, f"{seed} {name}")
        parse(varied[folder], name)
    for folder, text in varied.items():
        name = folder.resolve().name
        write_file(to / name / SOURCE, text)
        if (folder / ANSWERS).exists():
            write_file(to / name / ANSWERS, (folder / ANSWERS).read_text(encoding="utf-8"))
    return [folder.resolve().name for folder in found]
