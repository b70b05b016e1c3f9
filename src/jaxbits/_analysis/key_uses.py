"""Find where a program uses PRNG keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.computations import Computations
from jaxbits._analysis.key_dataflow import KeyFlow, has_key_uses
from jaxbits._analysis.key_values import KeyUse, merge_uses


class KeyUses(list[KeyUse]):
    """A list of uses, and a record of how the program computes its values from them."""

    def __init__(
        self, uses: Iterable[KeyUse] = (), computations: Computations | None = None
    ) -> None:
        super().__init__(uses)
        self.computations = Computations() if computations is None else computations


def find_key_uses(
    program: ClosedJaxpr, varying: Iterable[Any] = (), inputs: Sequence[Any] = ()
) -> KeyUses:
    """Return the uses of PRNG keys in a program, in the order of its equations.

    A use whose numbers or keys never reach a result does not count. For example, an initializer may
    split a key and then return zeros without drawing from the children.

    Args:
        program: The program to analyze.
        varying: The constants of the program that differ from call to call.
        inputs: The values of the program's inputs in this call, if they are known.

    >>> import jax
    >>> traced = jax.make_jaxpr(lambda k: jax.random.normal(k) + jax.random.uniform(k))
    >>> first, second = find_key_uses(traced(jax.random.key(0)))
    >>> first.key == second.key
    True
    """
    if not has_key_uses(program):
        return KeyUses()
    varying = list(varying)
    flow = KeyFlow(varying)
    live = _jax_compat.remove_dead_code(program)
    used = merge_uses(flow.run(live, flow.input_values(live, inputs), None))

    def analyze_dead_code() -> Computations:
        whole = KeyFlow(varying)
        whole.run(program, whole.input_values(program, inputs), None)
        return whole.computations

    flow.computations.analyze_dead_code = analyze_dead_code
    found = (
        replace(use, choices=used.get(use.number, frozenset())) for use in flow.explained_uses()
    )
    return KeyUses(found, flow.computations)
