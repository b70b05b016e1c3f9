"""The first cell of every chapter, run as Colab would run it and as everybody else does."""

import json
import sys
import types
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

CHAPTERS = sorted((Path(__file__).resolve().parents[2] / "chapters").glob("*.ipynb"))


@pytest.fixture
def shell():
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def first_cell(chapter):
    source = json.loads(chapter.read_text("utf8"))["cells"][0]["source"]
    return "".join(source)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_in_colab_it_installs_the_package_alone_and_reports(chapter, shell, monkeypatch, capsys):
    installed = []
    shell.register_magic_function(installed.append, "line", "pip")
    colab = types.ModuleType("google.colab")
    colab.output = None  # which JAX.s debugger looks for there
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    shell.run_cell(first_cell(chapter)).raise_error()
    (line,) = installed
    assert line.startswith('install -q --no-deps "jaxbits @ git+https://')
    assert "jax " in capsys.readouterr().out


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_elsewhere_it_does_nothing(chapter, shell, capsys):
    def never(line):
        raise AssertionError(f"pip was called: {line}")

    shell.register_magic_function(never, "line", "pip")
    shell.run_cell(first_cell(chapter)).raise_error()
    assert capsys.readouterr().out == ""
