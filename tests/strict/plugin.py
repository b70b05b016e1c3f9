"""nbval with a strict eye: its one execution of a notebook, compared by :func:`compare`.

nbval itself ignores pictures, the kinds and order of outputs, tracebacks and cells that were never
run, and merges streams across results. The cells here are compared by ``strict.compare`` instead.

After the last cell of a notebook, in the same kernel, come its folded solutions, each as a reader
would paste it over the stub: it must pass its check.
"""

from __future__ import annotations

import collections
import html
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any
from unittest import mock

import nbval.plugin
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbval.plugin import IPyNbCell, IPyNbFile
from strict.compare import compare, unrun

from book_tools.chapters.kernel import kernel_environment
from book_tools.environment.pins import PYTHON

EXACT = sys.version_info[:2] == PYTHON


_collect, _setup, _teardown = IPyNbFile.collect, IPyNbFile.setup, IPyNbFile.teardown


def _compare_outputs(
    self: IPyNbCell, test: list[Any], ref: list[Any], skip_compare: object = None
) -> bool:
    found = compare(ref, test, exact=EXACT)
    advice = f"If the new outputs are right: make chapter NAME={self.path.stem}"
    self.comparison_traceback = [found or "", advice]
    return found is None


_CHECK = re.compile(r'^check\("[^"]+", \w+\)$', re.M)
_SOLUTION = re.compile(
    r'<details class="solution"><summary>Solution</summary>\s*<pre><code>(.*?)</code></pre>', re.S
)


def pasted_solutions(cells: list[NotebookNode]) -> Iterator[str]:
    """The folded solutions of a notebook, each followed by the check of the exercise above it."""
    check = None
    for cell in cells:
        if cell.cell_type == "code":
            check = _CHECK.search(cell.source) or check
        elif cell.cell_type == "markdown":
            for text in _SOLUTION.findall(cell.source):
                yield html.unescape(text) + (f"\n\n{check[0]}" if check else "")


class PastedSolution(IPyNbCell):
    """A solution of the text in the kernel of its notebook: its check must say ✓ and no more."""

    def compare_outputs(self, test: list[Any], ref: list[Any], skip_compare: object = None) -> bool:
        """Whether all that was printed is one line with a ✓."""
        printed = "".join(output.get("text", f"({output.output_type})") for output in test)
        self.comparison_traceback = [
            f"The solution does not pass when it is pasted. It prints:\n{printed}"
        ]
        return re.fullmatch(r"✓ \S+: .*\n", printed) is not None

    def reportinfo(self) -> Any:
        """Where it is, for reports."""
        file, line, where = super().reportinfo()
        return file, line, f"{where.rpartition('::')[0]}::{self.name}"


def _strict_collect(self: IPyNbFile) -> Iterator[IPyNbCell]:
    cells = list(_collect(self))
    if problem := unrun(self.nb.cells):
        raise self.CollectError(f"{problem}; run: make chapter NAME={self.path.stem}")
    yield from cells
    for number, source in enumerate(pasted_solutions(self.nb.cells), 1):
        yield PastedSolution.from_parent(
            self,
            name=f"Solution {number}",
            cell_num=len(cells) + number - 1,
            cell=new_code_cell(source, execution_count=1),
            options=collections.defaultdict(bool, check=True),
        )


def _clean_setup(self: IPyNbFile) -> None:
    self.scratch = tempfile.TemporaryDirectory()
    with mock.patch.dict(os.environ, kernel_environment(self.scratch.name), clear=True):
        _setup(self)


def _clean_teardown(self: IPyNbFile) -> None:
    _teardown(self)
    self.scratch.cleanup()


def pytest_configure(config: pytest.Config) -> None:
    """Put the strict methods in place of nbval's. Its classes name themselves: no subclassing."""
    if config.option.nbval:
        IPyNbCell.compare_outputs = _compare_outputs
        IPyNbFile.collect = _strict_collect
        IPyNbFile.setup = _clean_setup
        IPyNbFile.teardown = _clean_teardown
        # Streams are merged by compare(), which keeps their order against results.
        nbval.plugin.coalesce_streams = lambda outputs: outputs


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.option.nbval:
        return None
    if EXACT:
        return "notebooks: outputs are compared exactly"
    here = "{}.{}".format(*sys.version_info[:2])
    return f"notebooks: Python {here}, so only kinds of outputs and classes of errors are compared"
