import sys

import jax
import jax.numpy as jnp

from jaxbits.debugger import session


@jax.jit
def logged(y):
    inner = y - 1.0
    return jnp.log(inner)


def step(w):
    return logged(w)


def test_a_session_begins_in_the_users_innermost_frame_and_goes_up(capsys):
    with jax.debug_nans(True):
        session(["p inner", "up", "p w"], step, jnp.float32(0.5))
    said = capsys.readouterr().out.splitlines()
    start = said.index("FloatingPointError: invalid value (nan) encountered in log")
    assert said[start + 1 :] == [
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


def test_without_a_function_it_is_about_the_last_error(capsys, monkeypatch):
    monkeypatch.delattr(sys, "last_value", raising=False)
    session(["p w"])
    assert capsys.readouterr().out == "no error to look at\n"
    try:
        step("one")
    except TypeError as error:
        monkeypatch.setattr(sys, "last_value", error, raising=False)
    session(["p w"])
    assert capsys.readouterr().out.splitlines() == [
        "> step()",
        "-> return logged(w)",
        "ipdb> p w",
        "'one'",
        "ipdb> quit",
    ]


def test_nothing_is_printed_where_nothing_is_raised(capsys):
    session(["p x"], lambda x: x, 1)
    assert capsys.readouterr().out == ""


def test_a_mistake_in_a_command_is_answered_as_the_debugger_does(capsys):
    session(["p nothing", "up", "up", "up"], lambda x: 1 / x, 0)
    said = capsys.readouterr().out
    assert "NameError" in said
    assert "Oldest frame" in said
    assert said.endswith("ipdb> quit\n")
