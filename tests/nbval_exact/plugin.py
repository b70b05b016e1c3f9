"""Compare the outputs from nbval's run with the stored ones, and run the folded solutions, too.

nbval executes the notebook and reports each cell. Its own comparison ignores images, tracebacks,
and the order of outputs, and merges streams across results, so ``nbval_exact.compare`` replaces it.
After the last cell, each folded solution runs in the same kernel, exactly as a reader would paste
it over the stub, and must pass its check.
"""

from __future__ import annotations

import collections
import html
import os
import re
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import nbval.plugin
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbval.plugin import IPyNbCell, IPyNbFile
from nbval_exact.compare import compare, find_unexecuted_cell

from book_tools.chapters.kernel import kernel_environment
from book_tools.environment.pins import PYTHON

IS_EXACT = sys.version_info[:2] == PYTHON

# `jax.checking_leaks` asks the garbage collector 20 times per tracer for everything that refers to
# something, which takes seconds with the 450,000 objects that a chapter's imports create. The
# collector leaves frozen objects out, so chapters 01, 02, and 06 finish 25 seconds earlier in all.
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/core.py#L1607
_FREEZE_IMPORTS = """
import gc, sys

def _freeze_imports(result):
    if "jaxbits.book" in sys.modules:
        get_ipython().events.unregister("post_run_cell", _freeze_imports)
        gc.freeze()

get_ipython().events.register("post_run_cell", _freeze_imports)
"""

_CHECK = re.compile(r'^check\("[^"]+", \w+\)$', re.M)
_SOLUTION = re.compile(
    r'<details class="solution"><summary>Solution</summary>\s*<pre><code>(.*?)</code></pre>', re.S
)


def pasted_solutions(cells: list[NotebookNode]) -> Iterator[str]:
    """Yield each folded solution, followed by the call to `check` from the exercise above it."""
    check = None
    for cell in cells:
        if cell.cell_type == "code":
            check = _CHECK.search(cell.source) or check
        elif cell.cell_type == "markdown":
            for text in _SOLUTION.findall(cell.source):
                yield html.unescape(text) + (f"\n\n{check[0]}" if check else "")


class ExactCell(IPyNbCell):
    """A code cell whose fresh outputs must equal the stored ones."""

    def runtest(self) -> None:
        """Run the cell, and keep its streams and results in order, unlike nbval."""
        # https://github.com/computationalmodelling/nbval/blob/0.11.0/nbval/plugin.py
        with mock.patch.object(nbval.plugin, "coalesce_streams", lambda outputs: outputs):
            super().runtest()

    def compare_outputs(self, test: list[Any], ref: list[Any], skip_compare: object = None) -> bool:
        """Return True if the fresh outputs `test` equal the stored outputs `ref`."""
        difference = compare(ref, test, exact=IS_EXACT)
        advice = f"If the new outputs are right: make chapter NAME={self.path.stem}"
        self.comparison_traceback = [difference or "", advice]
        return difference is None


class PastedSolution(ExactCell):
    """A folded solution to run in its notebook's kernel. Its check must print a single ✓ line."""

    def compare_outputs(self, test: list[Any], ref: list[Any], skip_compare: object = None) -> bool:
        """Return True if the fresh outputs `test` are a single printed line that starts with ✓."""
        printed = "".join(output.get("text", f"({output.output_type})") for output in test)
        self.comparison_traceback = [
            f"The solution does not pass when it is pasted. It prints:\n{printed}"
        ]
        return re.fullmatch(r"✓ \S+: .*\n", printed) is not None

    def reportinfo(self) -> Any:
        """Return the location with the solution's own name, because nbval would call it a cell."""
        file, line, where = super().reportinfo()
        return file, line, f"{where.rpartition('::')[0]}::{self.name}"


class ExactNotebook(IPyNbFile):
    """A notebook of exact cells and pasted solutions, run with the settings of all chapters."""

    def collect(self) -> Iterator[IPyNbCell]:
        """Yield the notebook's code cells and then its solutions.

        Raises:
            CollectError: If a code cell was stored without being executed.
        """
        cells = list(super().collect())
        if problem := find_unexecuted_cell(self.nb.cells):
            raise self.CollectError(f"{problem}; run: make chapter NAME={self.path.stem}")
        for cell in cells:
            yield ExactCell.from_parent(
                self, name=cell.name, cell_num=cell.cell_num, cell=cell.cell, options=cell.options
            )
        for number, source in enumerate(pasted_solutions(self.nb.cells), 1):
            yield PastedSolution.from_parent(
                self,
                name=f"Solution {number}",
                cell_num=len(cells) + number - 1,
                cell=new_code_cell(source, execution_count=1),
                options=collections.defaultdict(bool, check=True),
            )

    def setup(self) -> None:
        """Start the kernel with the environment variables that `make chapter` uses."""
        self.scratch = tempfile.TemporaryDirectory()
        startup = Path(self.scratch.name, "profile_default", "startup", "freeze_imports.py")
        startup.parent.mkdir(parents=True)
        startup.write_text(_FREEZE_IMPORTS)
        with mock.patch.dict(os.environ, kernel_environment(self.scratch.name), clear=True):
            super().setup()

    def teardown(self) -> None:
        """Stop the kernel and remove its configuration folder."""
        super().teardown()
        self.scratch.cleanup()


def _runs_notebooks(config: pytest.Config) -> bool:
    return bool(config.option.nbval or config.option.nbval_lax)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    parent: pytest.Collector,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Replace each notebook that nbval collects with an exact notebook."""
    collected = yield
    return [
        ExactNotebook.from_parent(parent, path=file.path) if isinstance(file, IPyNbFile) else file
        for file in collected
    ]


def pytest_configure(config: pytest.Config) -> None:
    """Choose the right kernel for notebooks, so that `--nbval` works without other options."""
    if not _runs_notebooks(config):
        return
    # A kernel specification on this machine may point to a different Python.
    config.option.nbval_current_env = config.option.nbval_kernel_name is None


@pytest.hookimpl(tryfirst=True)
def pytest_report_header(config: pytest.Config) -> str | None:
    """Return the line in pytest's header that says how strictly outputs are compared."""
    if not _runs_notebooks(config):
        return None
    if config.option.nbval_lax:
        return "notebooks: outputs are not compared (--nbval-lax)"
    if IS_EXACT:
        return "notebooks: outputs are compared exactly"
    here = "{}.{}".format(*sys.version_info[:2])
    return f"notebooks: Python {here}, so only kinds of outputs and classes of errors are compared"
