"""Define what a slide and the slides of a chapter contain."""

from __future__ import annotations

from dataclasses import dataclass

from book_tools.slides.figures import Window

_LABELS = {
    "rules": "In one minute",
    "predict": "Predict",
    "failing": "What goes wrong",
    "why": "Why",
    "fix": "The fix",
    "catch": "Catch it",
    "tour": "Example",
    "questions": "Questions",
}


@dataclass(frozen=True)
class Slide:
    """One slide.

    Attributes:
        kind: What the slide shows, such as ``"failing"`` or ``"fix"``.
        title: The heading, as HTML.
        lead: A sentence or two above the rest, as HTML.
        cells: Code from one or more cells of the chapter, each as whole lines.
        output: What the code printed, or an empty string.
        error: The error that the code raised, or an empty string.
        items: The entries of a list, as HTML.
        figure: The MIME type and data of a figure, or None.
        alt_text: The description of the figure.
        window: The part of the figure to show enlarged, or None to show all of it.
        size: The type size of the code in CSS pixels.
    """

    kind: str
    title: str
    lead: str = ""
    cells: tuple[str, ...] = ()
    output: str = ""
    error: str = ""
    items: tuple[str, ...] = ()
    figure: tuple[str, str] | None = None
    alt_text: str = ""
    window: Window | None = None
    size: int = 0

    @property
    def code(self) -> str:
        """The code of all cells, separated by blank lines."""
        return "\n\n".join(self.cells)

    @property
    def label(self) -> str:
        """The words that say what kind of slide this is, or an empty string."""
        return _LABELS.get(self.kind, "")


@dataclass(frozen=True)
class Deck:
    """The slides of one chapter.

    Attributes:
        stem: The chapter's file name without its suffix.
        title: The chapter's title.
        slides: The slides in order.
    """

    stem: str
    title: str
    slides: tuple[Slide, ...]
