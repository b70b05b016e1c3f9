import jax.numpy as jnp
import pytest

from jaxbits import x64_on
from jaxbits.book.experiments.settings_vector import pack, unpack

SETTINGS = {
    "wave": {"gamma": 0.1, "delta": -4.5, "more": {"omega": 0.7, "alpha": 3}},
    "none": {},
    "noise": {"scale": 0.25},
}


@pytest.mark.parametrize("as_arrays", [False, True])
def test_what_is_packed_comes_out_again(as_arrays):
    packed = pack(SETTINGS, as_arrays=as_arrays)
    assert packed.lengths == [4, 0, 1]
    assert [len(segment) for segment in packed.segments] == packed.lengths
    back = unpack(packed.segments, SETTINGS)
    assert list(back["wave"]) == ["gamma", "delta", "more"]
    assert back["none"] == {}
    assert float(back["wave"]["more"]["omega"]) == pytest.approx(0.7)
    assert float(back["noise"]["scale"]) == 0.25


def test_a_list_holds_the_numbers_themselves_in_the_order_written():
    assert pack(SETTINGS, as_arrays=False).segments[0] == [0.1, -4.5, 0.7, 3]


def test_an_array_has_the_dtype_of_the_switch():
    assert {str(s.dtype) for s in pack(SETTINGS, as_arrays=True).segments} == {"float32"}
    with x64_on():
        segments = pack(SETTINGS, as_arrays=True).segments
        element = unpack(segments, SETTINGS)["wave"]["gamma"]
        assert (jnp.float32(1) * element).dtype == "float64"
        assert not element.weak_type


def test_a_number_without_a_group_is_refused():
    with pytest.raises(TypeError, match="group 'rate' should be a dict of numbers"):
        pack({"rate": 0.1}, as_arrays=False)


def test_a_segment_of_another_length_is_refused():
    with pytest.raises(ValueError, match="group 'noise' has 1 numbers, its segment 2"):
        unpack([[0.1, 0.2]], {"noise": {"scale": 0.25}})
    with pytest.raises(ValueError, match="there are 1 groups, and 0 segments"):
        unpack([], {"noise": {"scale": 0.25}})
