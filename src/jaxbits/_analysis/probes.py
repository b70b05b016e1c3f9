"""Which equations of a program an instrumented run looks at, decided before it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, is_users, place_of

_PASSED = {"op", "meth", "reraise_with_filtered_traceback", "cache_miss", "<lambda>", "wrapper"}
_PASSED |= {"_run_python_pjit", "_python_pjit_helper", "deferring_binary_op"}
_WRAPPERS = tuple(f"{os.sep}{name}{os.sep}" for name in ("flax", "equinox", "haiku"))
_HERE = os.path.dirname(os.path.realpath(__file__)) + os.sep


@dataclass(frozen=True)
class Around:
    """What an equation stands in: the equations that call it, outermost first.

    Attributes:
        path: the identities of the callers.
        callers: the equations themselves: calls, loops and branches.
        hidden: how many callers there are above a library's own program, None outside of one.
        library: the names of the library's programs, outermost first.
    """

    path: tuple[int, ...] = ()
    callers: tuple[Any, ...] = field(default=(), compare=False)
    hidden: int | None = field(default=None, compare=False)
    library: tuple[str, ...] = field(default=(), compare=False)

    def inside(self, equation: Any, program: ClosedJaxpr | None = None) -> Around:
        """Return the same for what stands inside of an equation, the program being called."""
        hidden, library = self.hidden, self.library
        looped = equation.primitive.name in ("cond", "scan", "while")
        if program is not None and not looped and _hides(program):
            hidden = len(self.callers) if hidden is None else hidden
            library = (*library, str(equation.params.get("name", "")))
        return Around((*self.path, id(equation)), (*self.callers, equation), hidden, library)

    def place(self, equation: Any) -> Place | None:
        """Return the user's line for an equation that stands here."""
        inner_to_outer = [equation, *reversed(self.callers)]
        if self.hidden is not None:
            inner_to_outer = inner_to_outer[len(self.callers) - self.hidden :]
        return next((place for e in inner_to_outer if (place := place_of(e))), None)

    def entry(self, equation: Any) -> str | None:
        """Return the library's function that the user's line called, None where it is not known."""
        return self.library[0] if self.library else self.called(equation)

    def called(self, equation: Any) -> str | None:
        """Return the outermost function of a library that the user's line called, by its frames."""
        if self.hidden is not None:
            equation = self.callers[self.hidden]
        found = None
        for function, file, _ in _jax_compat.frames(equation):
            if is_users(file) or os.path.realpath(file).startswith(_HERE):
                return found
            if function.rpartition(".")[2] not in _PASSED:
                found = function
        return None


def made_by_library(equation: Any, around: Around) -> bool:
    """Whether an equation belongs to the making of random numbers, where bits are what is meant."""
    if any("random" in name or "threefry" in name for name in around.library):
        return True
    for _, file, _ in _jax_compat.frames(equation):
        if is_users(file):
            return False
        if "random" in os.path.basename(file) or "prng" in os.path.basename(file):
            return True
    return False


def plain(name: str | None) -> str:
    """Return the last part of a function's name, without underscores around it."""
    return (name or "").rpartition(".")[2].strip("_")


def _hides(program: ClosedJaxpr) -> bool:
    """Whether a program is a library's own; a wrapper of the user's functions is not."""
    file = _jax_compat.home_of(program.jaxpr)
    return bool(file) and not is_users(file) and not any(part in file for part in _WRAPPERS)


class Reading(NamedTuple):
    """What a probe reads off an equation.

    Attributes:
        bad: which values are bad.
        value: the values, of a shape that fits.
    """

    bad: Any
    value: Any


def _keep(equation: Any, values: Sequence[Any], outputs: list[Any]) -> list[Any]:
    return outputs


@dataclass(frozen=True)
class Probe:
    """What one detector reads in an instrumented run.

    Attributes:
        check: the detector's name.
        wants: whether it looks at an equation.
        read: its reading, from an equation, its inputs and its outputs.
        spoil: other outputs where the reading is bad, to see whether they reach the results.
        kind: the type of the values read.
    """

    check: str
    wants: Callable[[Any, Around], bool]
    read: Callable[[Any, Sequence[Any], list[Any]], Reading | None]
    spoil: Callable[[Any, Sequence[Any], list[Any]], list[Any]] = _keep
    kind: Any = jnp.int32

    @property
    def spoils(self) -> bool:
        """Whether it can tell a bad value that is masked from one that is used."""
        return self.spoil is not _keep


@dataclass
class Site:
    """One probed equation: how many values were bad, the least and the greatest of them."""

    number: int
    probe: Probe
    equation: Any
    around: Around
    count: int = 0
    low: float = 0.0
    high: float = 0.0

    @property
    def place(self) -> Place | None:
        """The user's line."""
        return self.around.place(self.equation)


class Plan:
    """The sites of a program, by the equation and what it stands in.

    Attributes:
        size: how many equations the program has, those of a function as often as it is called.
        failed: the operations of which a probe could not make a reading.
    """

    def __init__(self, program: ClosedJaxpr, probes: Sequence[Probe]) -> None:
        self.probes = probes
        self.sites: list[Site] = []
        self.at: dict[tuple[int, Around], list[Site]] = {}
        self.size = 0
        self.failed: set[str] = set()
        self._inside: dict[tuple[int, Around], list[int]] = {}
        self.numbers(program, Around())

    def numbers(self, program: ClosedJaxpr, around: Around) -> list[int]:
        """Return the numbers of the sites in a program, at all depths."""
        key = (id(program.jaxpr), around)
        if key not in self._inside:
            self._inside[key] = found = []
            for equation in program.jaxpr.eqns:
                self.size += 1
                parts = parts_of(equation)
                found += self._look(equation, around) if parts is None else []
                for part in parts or ():
                    found += self.numbers(part, around.inside(equation, part))
        return self._inside[key]

    def _look(self, equation: Any, around: Around) -> list[int]:
        wanted = [p for p in self.probes if p.wants(equation, around)]
        first = len(self.sites)
        made = [Site(first + n, p, equation, around) for n, p in enumerate(wanted)]
        if made:
            self.sites += made
            self.at[id(equation), around] = made
        return [site.number for site in made]


def parts_of(equation: Any) -> list[ClosedJaxpr] | None:
    """Return the programs that an instrumented run goes into; None for a plain equation."""
    name, p = equation.primitive.name, equation.params
    if name == "cond":
        return list(p["branches"])
    if name == "scan":
        return [p["jaxpr"]] if p["length"] else None
    if name == "while":
        return [p["cond_jaxpr"], p["body_jaxpr"]]
    inner = jaxpr_utils.called(equation)
    return None if inner is None else [inner]
