"""Settings of JAX: each is made at the moment it is meant for."""

from jaxbits.book.experiments.config_timing import MOMENTS, SETTINGS, _program


def test_settings_are_made_at_the_moment_they_are_meant_for():
    line = next(iter(SETTINGS))
    for moment in range(len(MOMENTS)):
        program = _program([line], moment)
        made, imported = program.index(line), program.index("import jax\n")
        asked = program.index("block_until_ready") if moment == 2 else len(program)
        assert [made < imported, made < asked] == [moment == 0, moment < 2]
