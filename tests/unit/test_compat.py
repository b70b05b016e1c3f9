import jax

from jaxbits import compat


def two_lines(x):
    y = x + 1
    return y * 2


def test_an_equation_knows_its_line():
    lines = [compat.source_line(eqn) for eqn in jax.make_jaxpr(two_lines)(1.0).eqns]
    first = two_lines.__code__.co_firstlineno
    assert lines == [first + 1, first + 2]


def test_what_cannot_be_told_is_none():
    assert compat.source_line(object()) is None
