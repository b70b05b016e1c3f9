"""The calls, loops, and branches that enclose an equation, and the user code that led to them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import (
    CodeLocation,
    is_acting_code,
    is_detector_code,
    is_user_code,
    is_wrapper_library,
    location_of,
)
from jaxbits._analysis.device_maps import is_map

# Frames that do not show which public function the user called:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/pjit.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/array_methods.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/traceback_util.py
_PLUMBING = {"op", "meth", "reraise_with_filtered_traceback", "cache_miss", "<lambda>", "wrapper"}
_PLUMBING |= {"_run_python_pjit", "_python_pjit_helper", "deferring_binary_op"}


@dataclass(frozen=True)
class CallContext:
    """The equations that enclose an equation, outermost first.

    Attributes:
        path: The `id` of each of these equations, which makes the context hashable.
        callers: The equations themselves, which are calls, loops, and branches.
        visible: How many of these equations enclose the first library function, or None if there is
            no library function among them.
        library: The names of the library functions, outermost first.
    """

    path: tuple[int, ...] = ()
    callers: tuple[Any, ...] = field(default=(), compare=False)
    visible: int | None = field(default=None, compare=False)
    library: tuple[str, ...] = field(default=(), compare=False)

    def enter(self, equation: Any, jaxpr: ClosedJaxpr | None = None) -> CallContext:
        """Return the context of the equations inside a call, loop, or branch.

        Args:
            equation: The call, loop, or branch.
            jaxpr: The sub-jaxpr that it runs.
        """
        visible, library = self.visible, self.library
        # `jax.pmap` maps a function of its own, which calls the user's function.
        is_control_flow = equation.primitive.name in ("cond", "scan", "while", "shard_map")
        if jaxpr is not None and not is_control_flow and _is_opaque(jaxpr):
            visible = len(self.callers) if visible is None else visible
            library = (*library, str(equation.params.get("name", "")))
        return CallContext((*self.path, id(equation)), (*self.callers, equation), visible, library)

    def location(self, equation: Any) -> CodeLocation | None:
        """Return the line of user code that an equation in this context comes from, if any."""
        origin = self.origin(equation)
        return None if origin is None else location_of(origin)

    def origin(self, equation: Any) -> Any:
        """Return the equation, or the one around it, whose traceback names this line of user code.

        The result is None if there is no such equation.
        """
        inner_to_outer = [equation, *reversed(self.callers)]
        if self.visible is not None:
            inner_to_outer = inner_to_outer[len(self.callers) - self.visible :]
        return next((e for e in inner_to_outer if location_of(e)), None)

    def is_transposed(self, equation: Any) -> bool:
        """Return whether an equation belongs to the backward pass of a gradient."""
        stacks = (_jax_compat.name_stack(e) for e in (equation, *self.callers))
        return any("transpose(" in stack for stack in stacks)

    def library_entry(self, equation: Any) -> str | None:
        """Return the name of the library function that user code called, if there is one."""
        return self.library[0] if self.library else self.outer_call(equation)

    def outer_call(self, equation: Any) -> str | None:
        """Return the library function that user code calls according to the traceback, or None.

        A jaxpr that a library traces by itself, such as the body of a solver's loop, has no frames
        of user code. In that case, this is the outermost library function in its frames.
        """
        if self.visible is not None:
            equation = self.callers[self.visible]
        found, is_in_library = None, False
        for function, file, _ in _jax_compat.frames(equation):
            if is_user_code(file) or is_detector_code(file):
                return found
            is_in_library |= is_acting_code(file)
            if function.rpartition(".")[2] not in _PLUMBING:
                found = function
        return found if is_in_library else None


def is_random_number_code(equation: Any, context: CallContext) -> bool:
    """Return whether an equation belongs to a random number generator.

    The integer arithmetic in such a generator wraps around on purpose.

    Args:
        equation: An equation of the traced program.
        context: The calls, loops, and branches that enclose it.
    """
    if any("random" in name or "threefry" in name for name in context.library):
        return True
    for _, file, _ in _jax_compat.frames(equation):
        if is_user_code(file):
            return False
        if "random" in os.path.basename(file) or "prng" in os.path.basename(file):
            return True
    return False


def unqualified_name(name: str | None) -> str:
    """Return the last part of a function's qualified name, without surrounding underscores."""
    return (name or "").rpartition(".")[2].strip("_")


def _is_opaque(jaxpr: ClosedJaxpr) -> bool:
    """Return whether a jaxpr is a library function and not a library's wrapper around user code."""
    file = _jax_compat.source_file(jaxpr.jaxpr)
    if not file or is_user_code(file):
        return False
    return not is_wrapper_library(file) and not is_map(jaxpr.jaxpr)
