"""Access to JAX's private functions and attributes, which no other module in this library uses.

These modules work with JAX 0.7.2, 0.10.2, and 0.12.0.1. If a version of JAX lacks what a function
needs, the function does not raise an error, but returns the neutral result that its docstring
describes.
"""

from jaxbits._jax_compat.caches import fresh_caches, keep_pmap_traces
from jaxbits._jax_compat.compiler_options import quick_cpu_options
from jaxbits._jax_compat.config import (
    config_values,
    set_config,
    x64_on,
)
from jaxbits._jax_compat.interception import (
    HOST_READS,
    count_compilations,
    intercept_compilation,
    intercept_dispatch,
    intercept_host_reads,
)
from jaxbits._jax_compat.meshes import equation_context, in_current_mesh
from jaxbits._jax_compat.primitives import (
    bind,
    cast,
    keep_outputs,
    primitive_name,
    remove_dead_code,
    scan_counts,
)
from jaxbits._jax_compat.source_info import (
    call_end,
    frames,
    frames_with_lasti,
    name_stack,
    source_file,
    source_line,
)
from jaxbits._jax_compat.tracing import (
    current_trace,
    is_jit_frame,
    is_tracing,
    keep_current_trace,
    trace_of,
)

__all__ = [
    "HOST_READS",
    "bind",
    "call_end",
    "cast",
    "config_values",
    "count_compilations",
    "current_trace",
    "equation_context",
    "frames",
    "frames_with_lasti",
    "fresh_caches",
    "in_current_mesh",
    "intercept_compilation",
    "intercept_dispatch",
    "intercept_host_reads",
    "is_jit_frame",
    "is_tracing",
    "keep_current_trace",
    "keep_outputs",
    "keep_pmap_traces",
    "name_stack",
    "primitive_name",
    "quick_cpu_options",
    "remove_dead_code",
    "scan_counts",
    "set_config",
    "source_file",
    "source_line",
    "trace_of",
    "x64_on",
]
