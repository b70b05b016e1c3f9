"""The functions of JAX that index arrays on behalf of user code."""

from __future__ import annotations

from typing import Any

# Public and private functions of JAX 0.7.2 through 0.12. In any other library function, a bad index
# is not the user's mistake. These functions are in
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/indexing.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/ops/scatter.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/slicing.py
_INDEXING_NAMES = (
    "getitem take take_along_axis put_along_axis segment_sum segment_max segment_min segment_prod "
    "dynamic_slice dynamic_update_slice dynamic_index_in_dim dynamic_slice_in_dim "
    "dynamic_update_slice_in_dim dynamic_update_index_in_dim set add mul multiply divide min max "
    "get apply power op meth subtract gather scatter scatter_add scatter_min scatter_max "
    "scatter_mul segment_update rewriting_take scatter_update scatter_impl dynamic_slice_jaxpr "
    "static_slice embed call apply_"
)
INDEXING_FUNCTIONS = frozenset(_INDEXING_NAMES.split())
"""The names of these functions, without surrounding underscores."""

FILLED_READ = "a read that fills"
"""The subject of findings about a read that fills what is out of bounds, with NaN for floats."""


def is_filled_read(equation: Any) -> bool:
    """Return whether an equation reads an array and fills what is out of bounds."""
    return equation.primitive.name == "gather" and "FILL" in str(equation.params.get("mode"))
