"""Options of the XLA compiler that not every version knows."""

from __future__ import annotations

import jax

_MAX_EQUATIONS = 1000
"""The number of equations up to which `xla_cpu_use_fusion_emitters` is turned off."""


def quick_cpu_options(equations: int) -> dict[str, bool | int]:
    """Return the compiler options with which XLA compiles a program for a CPU in the least time.

    The program then runs more slowly. XLA rejects options that it does not know. JAX 0.7.2 and
    0.10.2 know `xla_cpu_use_fusion_emitters`. Turning it off halves the time again, but XLA then
    overflows the stack and ends the process if a long chain of operations is fused, such as 10,000
    in JAX 0.10.2. JAX 0.12.0.1 does not know this option.

    Args:
        equations: The number of equations of the program.
    """
    options: dict[str, bool | int] = {"xla_backend_optimization_level": 0}
    if jax.__version_info__ < (0, 11) and equations <= _MAX_EQUATIONS:
        options["xla_cpu_use_fusion_emitters"] = False
    return options
