"""Loops of Python's that are written out in the program."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, is_users, place_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.source import ast_utils
from jaxbits._finding import Finding

_HERE = os.path.dirname(os.path.realpath(__file__)) + os.sep
_JAX = os.path.dirname(os.path.realpath(jax.__file__)) + os.sep
_WARNED, _NOTED, _LEAVES = 20, 12, 100
_SHAPING = {"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy", "copy_p"}
_RECURSION = ("", "<frozen recursion>", 0, 0)
_REPEATS = re.compile(r"\b(?:reduce|map|starmap|accumulate|repeat)\b")
_PASSED_OVER = ("tree_util.py", "tree.py")

Frames = tuple[tuple[str, str, int, int], ...]


@detector
def unrolled(subject: Subject) -> Iterator[Finding]:
    """Find loops of Python's, and recursion, that the program repeats turn by turn.

    It counts the equations of the traced program that come from one line, reached in one way, by
    operation: the rarest common one counts the turns. 20 are reported, 12 noted; `unroll=` of a
    loop of JAX's counts as well. The leaves of a tree, which `jax.tree.map` goes through, are
    no turns. It cannot tell a loop that `lax.scan` could do from one it could not. JAX has no
    switch for it.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> def f(x):
    ...     for i in range(100):
    ...         x = jnp.sin(x) + i
    ...     return x
    >>> found = detect.unrolled(f, 1.0)[0]
    >>> found.message, found.evidence
    ('a loop of Python is unrolled: 100 turns', '200 of 200 equations; a loop of JAX has about 2')
    """
    if subject.trace.program is None:
        return
    known: dict[Any, tuple[Frames, bool]] = {}
    seen: set[int] = set()
    reported: set[Place | None] = set()
    for program in _programs(subject.trace.program, seen):
        every = len(program.jaxpr.eqns)
        if every >= _NOTED:
            for place, turns, equations in _loops(program, known):
                if place not in reported:
                    reported.add(place)
                    yield Finding(
                        "unrolled",
                        "warning" if turns >= _WARNED else "note",
                        f"a loop of Python is unrolled: {turns} turns",
                        f"{equations} of {every} equations; a loop of JAX has about "
                        f"{max(1, round(equations / turns))}",
                        "`lax.scan` or `lax.fori_loop`; `jax.vmap` where turns do not depend "
                        "on each other",
                        place,
                    )
        for equation in program.jaxpr.eqns:
            turns = equation.params.get("unroll", 1) if equation.primitive.name == "scan" else 1
            if int(turns) >= _WARNED:
                body = sum(len(part.jaxpr.eqns) for part in jaxpr_utils.inner(equation))
                yield Finding(
                    "unrolled",
                    "warning",
                    f"a loop of JAX is unrolled by {int(turns)}",
                    f"{int(turns) * body} equations in place of {body}",
                    "a small `unroll`, such as 4, or none",
                    place_of(equation),
                )


def _programs(program: ClosedJaxpr, seen: set[int]) -> Iterator[ClosedJaxpr]:
    """Yield the user's programs, each once, the outermost first."""
    waiting = [program]
    while waiting:
        here = waiting.pop()
        if id(here.jaxpr) in seen:
            continue
        seen.add(id(here.jaxpr))
        yield here
        for equation in here.jaxpr.eqns:
            waiting += [p for p in jaxpr_utils.inner(equation) if not jaxpr_utils.is_librarys(p)]


def _loops(
    program: ClosedJaxpr, known: dict[Any, tuple[Frames, bool]]
) -> Iterator[tuple[Place, int, int]]:
    """Yield the loops that a program repeats, the one with most equations first."""
    ways: dict[Frames, Counter[tuple[str, ...]]] = defaultdict(Counter)
    foreign: set[Frames] = set()
    for equation in program.jaxpr.eqns:
        way, through = _way(equation, known)
        if way:
            if through:
                foreign.add(way)
            numbers = equation.params.get("dimension_numbers", "")
            kind = (equation.primitive.name, _jax_compat.name_stack(equation), str(numbers))
            ways[way][kind] += 1
    loops: Counter[Place] = Counter()
    turns: dict[Place, int] = {}
    for way, kinds in ways.items():
        count = _turns(kinds, 1 << 30 if way in foreign else 6)
        leaves = any(_maps(file) for _, file, _, _ in way)
        place = _loop(way) if count >= (_LEAVES if leaves else _NOTED) else None
        if place is not None:
            loops[place] += sum(kinds.values())
            turns[place] = max(count, turns.get(place, 0))
    for place, equations in loops.most_common():
        yield place, turns[place], equations


def _turns(kinds: Counter[tuple[str, ...]], spread: int) -> int:
    """Return how often a line ran, by what it did each time.

    What is `spread` times rarer than the most common does not count: it may be of the first turn.
    """
    counts = [n for kind, n in kinds.items() if kind[0] not in _SHAPING]
    most = max(counts, default=0)
    return min((n for n in counts if spread * n >= most), default=0)


def _way(equation: Any, known: dict[Any, tuple[Frames, bool]]) -> tuple[Frames, bool]:
    """Return the user's frames that an equation was made under; a recursion's only once.

    What stands between them stays when it goes through the leaves of a tree. Second, whether
    another library than JAX stands between: its own loops over leaves may be lost.
    """
    traceback = getattr(equation.source_info, "traceback", None)
    if traceback not in known:
        every = _jax_compat.steps(equation)
        steps = list(itertools.takewhile(lambda step: not step[1].startswith(_HERE), every))
        through = any(_is_foreign(file) for _, file, _, _ in steps)
        kept = [step for step in steps if is_users(step[1]) or _maps(step[1])]
        once = tuple(dict.fromkeys(kept))
        known[traceback] = (once if len(once) == len(kept) else (*once, _RECURSION)), through
    return known[traceback]


@functools.lru_cache(maxsize=2048)
def _is_foreign(file: str) -> bool:
    installed = "site-packages" in file or "dist-packages" in file
    return installed and not is_users(file) and not os.path.realpath(file).startswith(_JAX)


def _maps(file: str) -> bool:
    return file.endswith(_PASSED_OVER) and not is_users(file)


def _loop(way: Frames) -> Place | None:
    """Return the loop's line; None where the turns are not a loop of the user's."""
    places = [Place(file, line, name) for name, file, line, _ in way if is_users(file)]
    for place in places:
        around = ast_utils.loop_around(place)
        if around is not None:
            return around
    if any(_maps(file) for _, file, _, _ in way):
        return None
    unread = not all(ast_utils.parsed(place.file) for place in places)
    if _RECURSION in way or unread or any(_REPEATS.search(place.text) for place in places):
        return places[0]
    return None
