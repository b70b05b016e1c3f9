"""Options of the XLA compiler that not every version knows."""

from __future__ import annotations

import jax


def quick_cpu_options() -> dict[str, bool | int]:
    """Return the compiler options with which XLA compiles a program for a CPU in the least time.

    The program then runs more slowly. XLA rejects options that it does not know. JAX 0.7.2 and
    0.10.2 know `xla_cpu_use_fusion_emitters`, which halves the time again, and JAX 0.12.0.1 does
    not.
    """
    options: dict[str, bool | int] = {"xla_backend_optimization_level": 0}
    if jax.__version_info__ < (0, 11):
        options["xla_cpu_use_fusion_emitters"] = False
    return options
