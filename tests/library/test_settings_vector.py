"""Test that nested settings can be packed into a vector and unpacked again."""

import jax.numpy as jnp
import pytest

from jaxbits import x64_on
from jaxbits.book.experiments.settings_vector import from_arrays, from_lists, pack, unpack

SETTINGS = {
    "wave": {"gamma": 0.1, "delta": -4.5, "more": {"omega": 0.7, "alpha": 3}},
    "none": {},
    "noise": {"scale": 0.25},
}


@pytest.mark.parametrize("as_arrays", [False, True])
def test_unpack_inverts_pack(as_arrays):
    packed = pack(SETTINGS, as_arrays=as_arrays)
    assert packed.lengths == [4, 0, 1]
    assert [len(segment) for segment in packed.segments] == packed.lengths
    unpacked = unpack(packed.segments, SETTINGS)
    assert list(unpacked["wave"]) == ["gamma", "delta", "more"]
    assert unpacked["none"] == {}
    assert float(unpacked["wave"]["more"]["omega"]) == pytest.approx(0.7)
    assert float(unpacked["noise"]["scale"]) == 0.25


def test_pack_keeps_order_of_numbers_in_lists():
    assert pack(SETTINGS, as_arrays=False).segments[0] == [0.1, -4.5, 0.7, 3]


def test_pack_creates_float64_arrays_with_x64():
    assert {str(s.dtype) for s in pack(SETTINGS, as_arrays=True).segments} == {"float32"}
    with x64_on():
        segments = pack(SETTINGS, as_arrays=True).segments
        element = unpack(segments, SETTINGS)["wave"]["gamma"]
        assert (jnp.float32(1) * element).dtype == "float64"
        assert not element.weak_type


def test_from_lists_and_from_arrays_keep_names_and_differ_in_type():
    assert from_lists(SETTINGS) == SETTINGS
    element = from_arrays(SETTINGS)["wave"]["more"]["omega"]
    assert isinstance(element, jnp.ndarray)
    assert float(element) == pytest.approx(0.7)


def test_pack_rejects_number_without_group():
    with pytest.raises(TypeError, match="group 'rate' must be a dict of numbers"):
        pack({"rate": 0.1}, as_arrays=False)


def test_unpack_rejects_segments_with_wrong_length():
    with pytest.raises(ValueError, match="segment 'noise' must have length 1, got 2"):
        unpack([[0.1, 0.2]], {"noise": {"scale": 0.25}})
    with pytest.raises(ValueError, match="expected 1 segments, one for each group, got 0"):
        unpack([], {"noise": {"scale": 0.25}})
