"""Run small programs in new processes, for the checks in the chapter on devices and memory."""

from __future__ import annotations

import json
import platform
from importlib.util import find_spec
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

_COUNTS = """
import json
import jax, jax.numpy as jnp, numpy as np

x = np.ones((5, 3), np.float32)

def new_function():
    return jax.jit(lambda x, power=1: jnp.tanh(x @ x.T).sum() ** power, static_argnums=1)

def count(run):
    jax.clear_caches()
    before = len(jax.devices()[0].client.live_executables())
    kept = run()
    return len(jax.devices()[0].client.live_executables()) - before

def new_values(f):
    for power in range(CALLS):
        f(x, power)
    return f

def new_functions():
    functions = [new_function() for _ in range(CALLS)]
    for f in functions:
        f(x)
    return functions

def dropped_functions():
    for _ in range(CALLS):
        new_function()(x)

f = new_function()
print(json.dumps({
    "static": count(lambda: new_values(f)),
    "cleared": count(lambda: new_values(f).clear_cache()),
    "kept": count(new_functions),
    "dropped": count(dropped_functions),
}))
"""

_TORCH = """
import jax, torch

jax.numpy.ones(1).block_until_ready()
print(torch.ones(3, device="cuda").sum().item() if torch.cuda.is_available() else "")
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


def program_counts(calls: int) -> dict[str, int]:
    """Count the programs that stay in memory after several calls of jitted functions.

    Args:
        calls: The number of calls.

    Returns:
        The number of programs after calls with new values of a static argument ("static") and
        after `clear_cache` ("cleared"), and after calls of new functions that a list keeps ("kept")
        or that nothing refers to any longer ("dropped").
    """
    counts: dict[str, int] = json.loads(run_in_subprocess(_COUNTS.replace("CALLS", str(calls))))
    return counts


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


def torch_next_to_jax(fraction: str) -> float | None:
    """Add three ones with PyTorch on the GPU, in a process in which JAX uses the same GPU.

    Args:
        fraction: The part of the GPU's memory that JAX reserves, such as ``".10"``.

    Returns:
        The sum that PyTorch computes, or None if PyTorch is not installed or cannot use CUDA.
    """
    if find_spec("torch") is None:
        return None
    printed = run_in_subprocess(_TORCH, JAX_PLATFORMS="cuda,cpu", XLA_CLIENT_MEM_FRACTION=fraction)
    return float(printed) if printed else None
