"""The figure on the *Detectors* page, which shows how audits slow down as programs grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxbits.book import measurements
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TONES = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE)


@style.drawing
def cost_of_equations() -> tuple[Figure, str]:
    """Plot the recorded times of an audit and its slowest parts against the number of equations."""
    run = measurements.load("audit_cost")
    sizes, parts = run["series"]["equations"], run["series"]["seconds"]
    dearest = sorted((p for p in parts if p != "whole"), key=lambda p: -parts[p][-1])
    shown = ["whole", *dearest[:3]]
    fig, axes = style.figure(6, 3.6)
    said = []
    for name, tone in zip(shown, _TONES, strict=True):
        label = "the whole audit" if name == "whole" else name
        axes.plot(sizes, parts[name], color=tone, marker="o", markersize=4, label=label)
        said.append(f"{label} from {parts[name][0]:.2g} to {parts[name][-1]:.2g} s")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{n:,}".replace(",", " ") for n in sizes])
    axes.minorticks_off()
    axes.set_xlabel(f"equations in the program\n{measurements.machine(run)}", fontsize=10)
    axes.set_ylabel("seconds")
    axes.set_title("An audit grows with the program, evenly")
    axes.legend(fontsize=10)
    return fig, (
        f"Lines on two logarithmic axes, for programs of {sizes[0]} to {sizes[-1]} equations: "
        + "; ".join(said)
        + "."
    )
