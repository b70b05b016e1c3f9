"""Test that findings in a notebook name the cell and the line that a reader sees."""

from __future__ import annotations

import linecache
import re
import sys
import types

import nbformat
import pytest
from nbclient import NotebookClient

from book_tools.chapters.kernel import kernel_manager_for
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.notebook_cells import find_cell, name_cells

CELLS = [
    "import jax, jax.numpy as jnp, jaxbits",
    "def helper(x):\n    y = x + 1\n    return y[jnp.argmax(x) + 1]",
    "\n\n@jax.jit\ndef step(x):\n    return helper(x).sum()",
    "\n%%time\ndef timed(x):\n    return x[jnp.argmax(x) + 1]",
    "%%capture\ndef captured(x):\n    return x[jnp.argmax(x) + 1]",
    "\ndef converts(x):\n    return float(x)",
    "for f in (step, timed, captured):\n"
    "    print(jaxbits.audit(f, jnp.arange(3.0), checks=['out_of_bounds']))\n"
    "%time print(jaxbits.audit(lambda x: x[jnp.argmax(x) + 1], jnp.arange(3.0)))\n"
    "print(jaxbits.audit(jax.jit(converts), 1.0))",
]


def test_an_executed_notebook():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    manager = kernel_manager_for(sys.executable)
    NotebookClient(notebook, timeout=300, kernel_manager_class=manager).execute()
    output = "".join(out.get("text", "") for out in notebook.cells[-1].outputs)
    lines = re.findall(r"^    (\S+)  (.*)$", output, re.M)
    assert lines == [
        ("In[2]:3", "return y[jnp.argmax(x) + 1]"),
        ("In[4]:4", "return x[jnp.argmax(x) + 1]"),
        ("In[5]:3", "return x[jnp.argmax(x) + 1]"),
        ("In[7]:3", CELLS[-1].splitlines()[2]),
        *[("In[6]:3", "return float(x)")] * 3,
    ]
    assert "while tracing the function converts at In[6]:2 for jit" in output
    assert "ipykernel" not in output


COLAB = "/tmp/ipython-input-3-1234567.py"
OLD = "<ipython-input-12-0123456789ab>"


@pytest.mark.parametrize(("file", "number"), [(COLAB, 3), (OLD, 12)])
def test_file_names_that_contain_the_number(file, number):
    assert str(CodeLocation(file, 4, "step")) == f"In[{number}]:4"
    assert name_cells(f"step at {file}:4 for jit") == f"step at In[{number}]:4 for jit"


def test_a_shell_that_does_not_store_the_numbers(monkeypatch):
    file, code = "/tmp/ipython-input-1234567.py", "def f(x):\n    return x\n"
    cells = ["", "import jax", f"\n{code}", "print(f(1))", code, "f(2)"]
    shell = types.SimpleNamespace(history_manager=types.SimpleNamespace(input_hist_raw=cells))
    monkeypatch.setattr("jaxbits._analysis.notebook_cells._shell", lambda: shell)
    monkeypatch.setitem(linecache.cache, file, (len(code), None, code.splitlines(True), file))
    assert find_cell(file, 2) == (4, 2)  # The latest cell with the same code counts.
    cells[4] = "f(3)"
    assert find_cell(file, 2) == (2, 3)
    cells[2] = "def f(x): ..."
    assert find_cell(file, 2) is None
    assert str(CodeLocation(file, 2)) == "ipython-input-1234567.py:2"
    assert find_cell("/home/user/ipython-input.py", 2) is None
