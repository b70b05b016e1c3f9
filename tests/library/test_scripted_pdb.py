"""Test the functions that run a debugger with given commands and print the session."""

import builtins
import sys

import jax
import jax.numpy as jnp
import pytest

from jaxbits.book.scripted_pdb import breakpoint_commands, post_mortem, user_frames


@jax.jit
def logged(y):
    inner = y - 1.0
    return jnp.log(inner)


def step(w):
    return logged(w)


def test_post_mortem_starts_in_innermost_user_frame(capsys):
    with jax.debug_nans(True):
        post_mortem(["p inner", "up", "p w"], step, jnp.float32(0.5))
    output = capsys.readouterr().out.splitlines()
    start = output.index("FloatingPointError: invalid value (nan) encountered in log")
    assert output[start + 1 :] == [
        "> logged()",
        "-> return jnp.log(inner)",
        "ipdb> p inner",
        "Array(-0.5, dtype=float32)",
        "ipdb> up",
        "> step()",
        "-> return logged(w)",
        "ipdb> p w",
        "Array(0.5, dtype=float32)",
        "ipdb> quit",
    ]


def test_post_mortem_without_function_examines_last_error(capsys, monkeypatch):
    monkeypatch.delattr(sys, "last_value", raising=False)
    post_mortem(["p w"])
    assert capsys.readouterr().out == "there is no error to examine\n"
    try:
        step("one")
    except TypeError as error:
        monkeypatch.setattr(sys, "last_value", error, raising=False)
    post_mortem(["p w"])
    assert capsys.readouterr().out.splitlines() == [
        "> step()",
        "-> return logged(w)",
        "ipdb> p w",
        "'one'",
        "ipdb> quit",
    ]


def test_post_mortem_prints_nothing_if_function_succeeds(capsys):
    post_mortem(["p x"], lambda x: x, 1)
    assert capsys.readouterr().out == ""


def test_post_mortem_reports_failed_commands(capsys):
    post_mortem(["p nothing", "up", "up", "up"], lambda x: 1 / x, 0)
    output = capsys.readouterr().out
    assert "NameError" in output
    assert "Oldest frame" in output
    assert output.endswith("ipdb> quit\n")


@jax.jit
def stopped(y):
    jax.debug.breakpoint(backend="cli")
    return y


@jax.jit
def stopped_early(y):
    breakpoint()
    return y


def test_breakpoint_commands_answers_jax_breakpoints_in_turn(capsys):
    before = builtins.input, sys.breakpointhook
    with breakpoint_commands("p y", "c", "p y * 10"):
        stopped(jnp.float32(1.0))
        stopped(jnp.float32(2.0))
    assert (builtins.input, sys.breakpointhook) == before
    assert capsys.readouterr().out.splitlines() == [
        "Entering jdb:",
        "(jdb) p y",
        "Array(1., dtype=float32)",
        "(jdb) c",
        "Entering jdb:",
        "(jdb) p y * 10",
        "Array(20., dtype=float32)",
        "(jdb) continue",
    ]


def test_breakpoint_commands_answers_breakpoint_while_tracing(capsys):
    with breakpoint_commands("p type(y).__name__"):
        stopped_early(jnp.float32(1.0))
        stopped_early(jnp.float32(2.0))
    output = capsys.readouterr().out.splitlines()
    assert output[:3] == ["> stopped_early()", "-> breakpoint()", "ipdb> p type(y).__name__"]
    assert output.count("-> breakpoint()") == 1
    assert output[-1] == "ipdb> continue"


def test_breakpoint_commands_restores_input_after_error():
    before = builtins.input, sys.breakpointhook
    with pytest.raises(TypeError), breakpoint_commands():
        step("one")
    assert (builtins.input, sys.breakpointhook) == before


def test_breakpoint_commands_answers_callbacks_after_error(capsys):
    before = builtins.input, sys.breakpointhook

    def raise_in_block():
        with breakpoint_commands("p y"):
            stopped(jnp.float32(3.0))
            raise KeyError("a mistake in the block")

    with pytest.raises(KeyError):
        raise_in_block()
    assert (builtins.input, sys.breakpointhook) == before
    assert "Array(3., dtype=float32)" in capsys.readouterr().out


def test_user_frames_omits_library_frames():
    with pytest.raises(TypeError) as caught:
        step("one")
    assert user_frames(caught.value)[-1] == ("step", "return logged(w)")
