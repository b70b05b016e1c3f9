"""Test that detectors find the source code of cells if the client keeps no history."""

import linecache

import jax.numpy as jnp

from jaxbits import detect

CELL = """
once = 2.0
rate = 0.25

def descend(w):
    return w - rate * once * w

rate = 0.0
"""


def run_cell(source, history):
    """Run source code as a notebook cell, and return the function `descend` and the cell's file."""
    file = "/tmp/ipykernel_0/1.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"In": history, "__name__": "__main__"}
    exec(compile(source, file, "exec"), scope)
    return scope["descend"], file


def test_stale_global_finds_cell_source_without_history():
    for history in (["", CELL], [""]):
        descend, file = run_cell(CELL, history)
        try:
            found = detect.stale_global(descend, jnp.float32(1.0))
        finally:
            del linecache.cache[file]
        assert [f.message for f in found] == ["global `rate` is baked into the compiled program"]
