"""Test the IPython extension that explains errors in notebooks."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

import jaxbits


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    yield shell
    jaxbits.unload_ipython_extension(shell)
    InteractiveShell.clear_instance()


def run(shell, capsys, code):
    capsys.readouterr()
    result = shell.run_cell(code)
    return result, capsys.readouterr().out


JAX_ERROR = "import jax.numpy as jnp\njnp.arange(3)[[0, 1]]"


def test_extension_explains_error_until_unloaded(shell, capsys):
    jaxbits.load_ipython_extension(shell)
    jaxbits.load_ipython_extension(shell)
    result, output = run(shell, capsys, JAX_ERROR)
    assert isinstance(result.error_in_exec, TypeError)
    assert "Using a non-tuple sequence" in output
    assert output.count("Sharp bit?") == 1
    assert output.index("Using a non-tuple") < output.index("Sharp bit?")
    jaxbits.unload_ipython_extension(shell)
    assert "Sharp bit?" not in run(shell, capsys, JAX_ERROR)[1]


def test_extension_prints_nothing_for_success_or_other_errors(shell, capsys):
    jaxbits.load_ipython_extension(shell)
    assert run(shell, capsys, "1 + 1")[0].error_in_exec is None
    for code in ("1 / 0", "[][1]", "import numpy as np; np.zeros(0)[0]", "x ="):
        assert "Sharp bit?" not in run(shell, capsys, code)[1]


def test_extension_keeps_traceback_if_explain_raises(shell, capsys, monkeypatch):
    def explain_that_raises(error):
        raise RuntimeError("no catalogue")

    monkeypatch.setattr("jaxbits._ipython.explain", explain_that_raises)
    jaxbits.load_ipython_extension(shell)
    result, output = run(shell, capsys, JAX_ERROR)
    assert isinstance(result.error_in_exec, TypeError)
    assert "could not explain this error (RuntimeError: no catalogue)" in output
