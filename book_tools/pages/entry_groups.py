"""Group the catalogue's entries by what the reader was doing and by what the reader notices.

An entry gives its groups in its catalogue file: ``task`` if it has symptoms, and ``noticed`` if it
is silent.
"""

from __future__ import annotations

from collections.abc import Iterable

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
    "devices": "Choosing a device, using several, or moving data between them",
    "memory": "Running out of memory",
    "installing": "Installing JAX, or importing it",
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


def find_group_problems(bits: Iterable[SharpBit]) -> list[str]:
    """Return a message for each entry whose groups are missing, unknown, or not for its kind."""
    found = []
    for bit in bits:
        task, noticed = bit.task, bit.noticed
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
    return found
