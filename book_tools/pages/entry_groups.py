"""Group the catalogue's entries by what the reader was doing and by what the reader notices.

An entry gives its groups in its catalogue file: ``task`` if it has symptoms, and ``noticed`` if it
is silent. For the entries that do not, ``reference/entry-groups.toml`` gives them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jaxbits._catalogue import SharpBit

# What the reader was doing, in the order of the page *Errors*.
TASKS = {
    "python-values": "Using a traced value as a Python value",
    "jit-arguments": "Calling a jitted function",
    "sizes": "Choosing shapes and sizes under `jit`",
    "trace-outlived": "Storing values outside a jitted function, or in a Ref",
    "making-arrays": "Making and converting arrays",
    "arithmetic": "Calculating with arrays",
    "indexing": "Indexing, updating, and searching arrays",
    "loops": "Writing loops and conditions",
    "gradients": "Taking gradients",
    "vmap": "Mapping a function with `vmap`",
    "pytrees": "Working with pytrees",
    "random": "Drawing random numbers",
    "flax": "Building or applying a Flax model",
    "optimizers": "Updating parameters with an optimizer",
    "data": "Loading data",
    "checkpoints": "Saving and restoring",
    "devices": "Using several devices or moving data between them",
    "debugging": "Printing, checking, and calling back into Python",
    "upgrading": "Following an old tutorial or changing a setting",
}
OTHER_TASK = "Other errors"

# What the reader notices, in the order of the filter on the page *Silent failures*.
NOTICES = {
    "numbers": "Wrong numbers",
    "nan": "NaN or infinity",
    "training": "Bad training or evaluation",
    "no-effect": "No effect, or a lost update",
    "slow": "Slow, or it hangs",
    "compiling": "Compiles too often or for too long",
    "memory": "Too much memory",
    "not-reproducible": "Results differ between runs or machines",
    "shape-or-dtype": "Unexpected shape or dtype",
    "random": "Random numbers repeat or are related",
    "array-changes": "An array changes or disappears",
    "samples": "Samples are missing or repeated",
    "tools": "A print, check, or test is misleading",
}


@dataclass(frozen=True)
class EntryGroups:
    """The groups of the entries whose catalogue file does not give them.

    Attributes:
        task: The key in `TASKS` for each entry with symptoms, keyed by id.
        noticed: The keys in `NOTICES` for each silent entry, keyed by id.
    """

    task: Mapping[str, str] = field(default_factory=dict)
    noticed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def task_of(self, bit: SharpBit) -> str:
        """Return an entry's key in `TASKS`, or an empty string if it has none."""
        return bit.task or self.task.get(bit.id, "")

    def noticed_of(self, bit: SharpBit) -> tuple[str, ...]:
        """Return an entry's keys in `NOTICES`, or an empty tuple if it has none."""
        return bit.noticed or self.noticed.get(bit.id, ())

    def problems(self, bits: Iterable[SharpBit]) -> list[str]:
        """Return a message for each entry whose groups are missing, unknown, or given twice."""
        listed = {bit.id: bit for bit in bits}
        found = [
            f"{id}: reference/entry-groups.toml must name catalogue ids"
            for id in dict.fromkeys([*self.task, *self.noticed])
            if id not in listed
        ]
        for bit in listed.values():
            task, noticed = self.task_of(bit), self.noticed_of(bit)
            if bit.symptoms and task not in TASKS:
                found.append(f"{bit.id}: task must be one of {', '.join(TASKS)}; got {task!r}")
            if not bit.symptoms and task:
                found.append(f"{bit.id}: only an entry with symptoms has a task, got {task!r}")
            if bit.silent and not (noticed and set(noticed) <= set(NOTICES)):
                found.append(
                    f"{bit.id}: noticed must list some of {', '.join(NOTICES)}; got {list(noticed)}"
                )
            if not bit.silent and noticed:
                found.append(f"{bit.id}: only a silent entry has noticed, got {list(noticed)}")
            if (bit.task and bit.id in self.task) or (bit.noticed and bit.id in self.noticed):
                found.append(f"{bit.id}: its groups must be given once, not in two files")
        return found


def read_groups(path: Path) -> EntryGroups:
    """Return the groups that a file gives, or no groups if the file does not exist.

    Args:
        path: A TOML file with the tables ``task`` and ``noticed``, keyed by catalogue id.
    """
    if not path.is_file():
        return EntryGroups()
    tables = tomllib.loads(path.read_text("utf8"))
    noticed = {id: tuple(keys) for id, keys in tables.get("noticed", {}).items()}
    return EntryGroups(tables.get("task", {}), noticed)
