"""Call a function once without `jit`, on copies of its arguments, and record its device events.

This eager run shows what no trace can show, namely what Python reads from arrays, what clocks
measure, and which arrays are donated. Donation is disabled during the run, so the user's arrays
are not deleted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from jaxbits import _jax_compat
from jaxbits._analysis import resource_limits
from jaxbits._analysis.copying import copy_tree_keeping_aliases
from jaxbits._analysis.eager_events import EnoughEvents, Event, EventRecorder
from jaxbits._analysis.python_state.call_monitor import sandbox
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import HOLDER_KINDS, Reference
from jaxbits._analysis.python_state.snapshot import StateChange
from jaxbits._analysis.safe_attributes import get_attribute


@dataclass
class EagerRun:
    """The events of an eager run, and how it ended.

    Attributes:
        events: The events, in order.
        arguments: The copies that the function was called with.
        output: What the function returned.
        held: The `id` of each JAX array that Python state refers to at the end.
        changes: The Python state that changed.
        error: The exception that the function raised, if any.
        can_intercept: Whether dispatches can be intercepted in this version of JAX.
        stopped_after: After how many seconds or events the run was stopped, such as "10 s", or ""
            if it was not stopped.
    """

    events: list[Event] = field(default_factory=list)
    arguments: Any = None
    output: Any = None
    held: frozenset[int] = frozenset()
    changes: list[StateChange] = field(default_factory=list)
    error: Exception | None = None
    can_intercept: bool = True
    stopped_after: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the function returned."""
        return self.error is None and not self.stopped_after


def run_eagerly(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    references: Sequence[Reference],
) -> EagerRun:
    """Call a function once with empty compilation caches, and return a record of the run.

    Args:
        function: The function to call.
        args: Its positional arguments. The function receives copies of them.
        kwargs: Its keyword arguments. The function receives copies of them.
        references: The Python state to restore afterward.
    """
    recorder = EventRecorder(run_eagerly.__code__)
    run = EagerRun(recorder.events)
    args, kwargs = copy_tree_keeping_aliases((tuple(args), dict(kwargs)))
    run.arguments = (args, kwargs)
    initial = _named_values(references)
    with (
        sandbox(references) as log,
        _jax_compat.intercept_host_reads(recorder.record_read),
        _jax_compat.fresh_caches(),
        _jax_compat.intercept_dispatch(recorder.record_dispatch) as run.can_intercept,
    ):
        outer_hook = sys.getprofile()
        sys.setprofile(recorder.profile)
        try:
            with resource_limits.exits_as_errors():
                run.output = function(*args, **kwargs)
        except Exception as error:  # The events before the error are still evidence.
            run.error = error
        except EnoughEvents as reason:
            run.stopped_after = str(reason)
        finally:
            sys.setprofile(outer_hook)
        run.held = frozenset(_held_arrays(_reachable(references, initial)))
    run.changes = log.changes
    return run


def _named_values(references: Iterable[Reference]) -> set[int]:
    """Return the `id` of each value that a name refers to."""
    return {id(r.get()) for r in references if r.kind not in HOLDER_KINDS}


def _reachable(references: Sequence[Reference], initial: set[int]) -> list[Reference]:
    """Return the references that do not belong to an object that the function has replaced.

    Args:
        references: The references, some of which belong to an object that another one refers to.
        initial: The `id` of each value that a name referred to before the function was called.
    """
    kept = list(references)
    while True:
        replaced = initial - _named_values(kept)
        reachable = [reference for reference in kept if id(reference.holder) not in replaced]
        if len(reachable) == len(kept):
            return kept
        kept = reachable


def _held_arrays(references: Iterable[Reference]) -> Iterator[int]:
    """Yield the `id` of each JAX array that Python state refers to."""
    for reference in references:
        value = reference.get()
        fields = get_attribute(value, "__dict__")
        inside = fields if isinstance(fields, dict) and not callable(value) else None
        for leaf in jax.tree.leaves((value, inside), is_leaf=is_iterator):
            if isinstance(leaf, jax.Array):
                yield id(leaf)
