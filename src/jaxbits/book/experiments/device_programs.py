"""Run small programs in new processes, for the checks in the chapter on devices and memory."""

from __future__ import annotations

import platform
from typing import Any

from jaxbits.book.subprocesses import run_in_subprocess

_OUTDATED_PLUGIN = """
import sys, types, warnings

plugin = types.ModuleType("jax_cuda12_plugin")
plugin.__path__ = []
sys.modules["jax_cuda12_plugin"] = plugin
for name in ("_solver", "_triton", "version"):
    module = types.ModuleType(f"jax_cuda12_plugin.{name}")
    module.__version__ = "0.4.1"
    sys.modules[module.__name__] = module
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import jax
for warning in caught:
    print(f"{warning.category.__name__}: {warning.message}")
print(jax.devices()[0].platform)
"""

# A process's peak memory in ru_maxrss includes that of the process that started it, so this program
# reads VmHWM: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
_MEMORY = """
import jax, jax.numpy as jnp, numpy as np

def mebibytes(kind):
    for line in open("/proc/self/status"):
        if line.startswith(kind + ":"):
            return int(line.split()[1]) / 2**10
"""

_GROWTH = """
f = jax.jit(lambda x: jnp.tanh(x @ x.T).sum())
f(np.ones((SHAPES + 1, 3), np.float32))
for _ in range(2):
    before = mebibytes("VmRSS")
    for length in range(1, SHAPES + 1):
        f(np.ones((length, 3), np.float32)).block_until_ready()
    print(mebibytes("VmRSS") - before)
    jax.clear_caches()
"""

_ATTENTION = """
def attention(q, k, v):
    return jax.nn.softmax(q @ k.T) @ v

x = jnp.ones((TOKENS, 16))
program = jax.jit(attention).lower(x, x, x).compile()
before = mebibytes("VmHWM")
program(x, x, x).block_until_ready()
print(mebibytes("VmHWM") - before)
"""

_OPTIONS = """
from jaxlib import xla_client

options = xla_client.generate_pjrt_gpu_plugin_options()
print(options.get("preallocate"), options.get("memory_fraction"), options["allocator"])
"""

_LIMIT = """
import jax

jax.numpy.ones(1).block_until_ready()
print(jax.devices()[0].memory_stats()["bytes_limit"])
"""


def import_with_outdated_plugin() -> str:
    """Import JAX next to a CUDA plugin of another version.

    Returns:
        A line for each warning, and the platform that JAX uses in the last line.
    """
    return run_in_subprocess(_OUTDATED_PLUGIN)


def program_memory(shapes: int) -> tuple[float, float] | None:
    """Measure how much a process grows when it compiles a function for several shapes.

    Args:
        shapes: The number of shapes.

    Returns:
        The growth in MiB in a first round and, after `jax.clear_caches`, in a second one. The
        result is None on systems other than Linux.
    """
    if platform.system() != "Linux":
        return None
    printed = run_in_subprocess(_MEMORY + _GROWTH.replace("SHAPES", str(shapes))).split()
    return float(printed[0]), float(printed[1])


def attention_memory(tokens: int) -> float | None:
    """Measure how many MiB the peak memory of a process rises when it computes attention.

    Args:
        tokens: The length of the sequence.

    Returns:
        The number of MiB, or None on systems other than Linux.
    """
    if platform.system() != "Linux":
        return None
    return float(run_in_subprocess(_MEMORY + _ATTENTION.replace("TOKENS", str(tokens))))


def gpu_options(**variables: Any) -> list[str]:
    """Return what JAX tells its GPU plugin about memory. This works without a GPU.

    Args:
        variables: Environment variables, such as ``XLA_CLIENT_MEM_FRACTION=".40"``.

    Returns:
        Whether to preallocate, the fraction of the memory, and the allocator, as strings.

    Raises:
        ValueError: If JAX rejects the variables.
    """
    return run_in_subprocess(_OPTIONS, **variables).split()


def gpu_limit(**variables: Any) -> int:
    """Return the number of bytes that JAX may use on a GPU, measured in a new process.

    Args:
        variables: Environment variables, such as ``XLA_CLIENT_MEM_FRACTION=".10"``.
    """
    return int(run_in_subprocess(_LIMIT, JAX_PLATFORMS="cuda", **variables))
