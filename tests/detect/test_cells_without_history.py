"""A client may run cells and keep no history; the text of the cells is then found elsewhere."""

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


def run_as_a_cell(text, history):
    file = "/tmp/ipykernel_0/1.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"In": history, "__name__": "__main__"}
    exec(compile(text, file, "exec"), scope)
    return scope["descend"], file


def test_a_name_that_is_bound_twice_is_found_without_history():
    for history in (["", CELL], [""]):
        descend, file = run_as_a_cell(CELL, history)
        try:
            found = detect.stale_global(descend, jnp.float32(1.0))
        finally:
            del linecache.cache[file]
        assert [f.message for f in found] == ["global `rate` is baked into the compiled program"]
