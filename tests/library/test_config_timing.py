"""Test that the experiment with JAX settings changes each setting at the requested moment."""

from jaxbits.book.experiments.config_timing import MOMENTS, SETTINGS, _program


def test_program_changes_setting_at_requested_moment():
    line = next(iter(SETTINGS))
    for moment in range(len(MOMENTS)):
        program = _program({moment: [line]})
        changed, imported = program.index(f"change({line!r})"), program.index("import jax\n")
        first_array = program.index("block_until_ready") if moment == 2 else len(program)
        assert [changed < imported, changed < first_array] == [moment == 0, moment < 2]
