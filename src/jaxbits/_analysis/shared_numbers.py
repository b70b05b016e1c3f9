"""What shows that several uses of one key are meant to give the same random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxbits._analysis.key_calls import Frame


@dataclass(frozen=True)
class SharedNumbers:
    """Two uses of one key that seem to share their numbers on purpose.

    Attributes:
        kind: "shifted" or "related" if two calls of a function with other arguments draw the same
            numbers, and the program subtracts or compares the results. In the first case, an
            argument of one call is a shifted copy of that of the other. "evaluated" if the same
            function is differentiated or evaluated again with the same arguments. "aligned" if
            the program rearranges two arrays in the same order.
        sites: The lines of the two calls.
        function: The name of the function.
        verb: What the program does with the results, such as "subtracted".
    """

    kind: Literal["shifted", "related", "evaluated", "aligned"]
    sites: tuple[Frame, Frame]
    function: str = ""
    verb: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether a mistake is unlikely, so that a note is enough."""
        return self.kind != "related"

    @property
    def lines(self) -> str:
        """The lines of the two calls."""
        first, second = (frame.location for frame in self.sites)
        return f"{first}" if first == second else f"{first} and {second}"

    @property
    def description(self) -> str:
        """A noun phrase for the two calls, with their lines."""
        return f"calls of `{self.function}` at {self.lines}"
