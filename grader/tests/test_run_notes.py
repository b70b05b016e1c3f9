"""Test explanations of points that were lost for reasons other than a wrong answer."""

from __future__ import annotations

import pytest
from jaxbits_grader.checking.run_notes import describe_library_class, note_settings
from jaxbits_grader.notebook import Cell, ParsedNotebook, Role

from jaxbits import testing


def test_describe_library_class_names_class_of_installed_package() -> None:
    frozen_dict = pytest.importorskip("flax.core").FrozenDict
    with pytest.raises(testing.UntrustedType) as raised:
        testing.reject_custom_equality(frozen_dict(x=1))
    assert describe_library_class(str(raised.value)) == (
        "the test cannot compare flax.core.frozen_dict.FrozenDict objects, "
        "so return arrays and plain Python types"
    )


@pytest.mark.parametrize("name", ["__main__.Equal", "no_such_package.Equal", "Equal", "<b>.x"])
def test_describe_library_class_does_not_describe_students_class(name: str) -> None:
    message = f"the answer must be an array or a number, got {name}"
    assert describe_library_class(message) is None


def test_note_settings_skips_settings_of_assignment() -> None:
    update = 'jax.config.update("{}", True)'
    notebook = ParsedNotebook(
        (
            Cell("code", update.format("jax_enable_x64"), grade_id="given", role=Role.GIVEN),
            Cell("code", update.format("jax_enable_x64")),
            Cell("markdown", update.format("jax_debug_infs")),
            Cell("code", update.format("jax_debug_nans"), grade_id="loss", role=Role.SOLUTION),
        )
    )
    assert list(note_settings(notebook)) == [
        "the notebook sets jax_debug_nans, so some tests ran with that setting"
    ]
