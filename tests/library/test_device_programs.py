"""Test the programs that the chapter on devices and memory runs in new processes."""

import platform

import pytest

from jaxbits.book.experiments import device_programs
from jaxbits.book.experiments.device_programs import (
    attention_memory,
    gpu_options,
    import_with_outdated_plugin,
    program_counts,
    program_memory,
    torch_next_to_jax,
)


def test_import_with_outdated_plugin_returns_warning_and_platform():
    *warnings, used = import_with_outdated_plugin().splitlines()
    assert used == "cpu"
    assert any("jax_cuda12_plugin version 0.4.1 is installed" in line for line in warnings)


@pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc")
def test_program_memory_returns_growth_of_both_rounds():
    first, second = program_memory(5)
    assert first > 0
    assert second < first + 5


@pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc")
def test_attention_memory_grows_with_square_of_length():
    assert attention_memory(6_000) > 100


def test_gpu_options_reads_environment():
    assert gpu_options() == ["None", "None", "default"]
    assert gpu_options(XLA_PYTHON_CLIENT_PREALLOCATE="false")[0] == "False"
    with pytest.raises(ValueError, match='got "abacus"'):
        gpu_options(XLA_PYTHON_CLIENT_ALLOCATOR="abacus")


def test_program_counts_depend_on_what_refers_to_functions():
    counts = program_counts(4)
    assert counts["static"] == counts["kept"] == 4
    assert counts["cleared"] == 0
    assert counts["dropped"] <= 1


def test_torch_next_to_jax_returns_sum_only_with_cuda(monkeypatch):
    torch = pytest.importorskip("torch")
    assert torch_next_to_jax(".10") == (3.0 if torch.cuda.is_available() else None)
    monkeypatch.setattr(device_programs, "find_spec", lambda name: None)
    assert torch_next_to_jax(".10") is None
