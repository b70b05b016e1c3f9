"""nbval with a strict eye: its one execution of a notebook, compared by :func:`compare`.

nbval itself ignores pictures, the kinds and order of outputs, tracebacks and cells that were never
run, and merges streams across results. The cells here are compared by ``strict.compare`` instead.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any
from unittest import mock

import nbval.plugin
import pytest
from kernel import environment
from nbval.plugin import IPyNbCell, IPyNbFile
from pins import PYTHON
from strict.compare import compare, unrun

EXACT = sys.version_info[:2] == PYTHON


_collect, _setup, _teardown = IPyNbFile.collect, IPyNbFile.setup, IPyNbFile.teardown


def _compare_outputs(
    self: IPyNbCell, test: list[Any], ref: list[Any], skip_compare: object = None
) -> bool:
    found = compare(ref, test, exact=EXACT)
    advice = f"If the new outputs are right: make chapter NAME={self.path.stem}"
    self.comparison_traceback = [found or "", advice]
    return found is None


def _strict_collect(self: IPyNbFile) -> Iterator[IPyNbCell]:
    cells = list(_collect(self))
    if problem := unrun(self.nb.cells):
        raise self.CollectError(f"{problem}; run: make chapter NAME={self.path.stem}")
    yield from cells


def _clean_setup(self: IPyNbFile) -> None:
    self.scratch = tempfile.TemporaryDirectory()
    with mock.patch.dict(os.environ, environment(self.scratch.name), clear=True):
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
