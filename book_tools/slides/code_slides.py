"""Put code and its outputs on as many slides as they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from book_tools.slides.code_parts import split_points
from book_tools.slides.layout import fit, shorten_output
from book_tools.slides.markdown import first_sentences, plain_text, to_html
from book_tools.slides.sections import Cell
from book_tools.slides.slide import Slide

# How many characters of text a slide may show above its code, from the most to the least.
_LEAD_LIMITS = (240, 150)
_COMFORTABLE = 28  # a type size in CSS pixels; a longer text must not make the code smaller
_LONE_TEXT = 400


def code_slides(kind: str, title: str, text: str, cells: Sequence[Cell]) -> Iterator[Slide]:
    """Yield one slide with all cells if they fit, and otherwise one slide per cell or more."""
    leads = [first_sentences(text, limit) for limit in _LEAD_LIMITS] if text else [""]
    if not cells:
        if text:
            yield Slide(kind, title, lead=to_html(first_sentences(text, _LONE_TEXT)))
        return
    for lead in leads:
        whole = _try_slide(kind, title, lead, cells)
        if whole and (whole.size >= _COMFORTABLE or lead == leads[-1]):
            yield whole
            return
    lead = leads[-1]
    if lead and len(plain_text(lead)) > 100:
        # A long sentence and a long cell do not fit on one slide.
        yield Slide(kind, title, lead=to_html(first_sentences(text, _LONE_TEXT)))
        lead = ""
    for cell in cells:
        slide = _try_slide(kind, title, lead, [cell])
        yield from [slide] if slide else _split_cell(kind, title, lead, cell)
        lead = ""


def _try_slide(kind: str, title: str, lead: str, cells: Sequence[Cell]) -> Slide | None:
    """Return a slide with the given cells, or None if they do not fit on it."""
    code = "\n\n".join(cell.source for cell in cells)
    sources = tuple(cell.source for cell in cells)
    last = cells[-1]
    # An output of an earlier cell would stand in the wrong place, below the last cell's code.
    if any(cell.has_result for cell in cells[:-1]):
        return None
    for most_lines in (9, 6, 4):
        output = shorten_output(last.output, most_lines)[0]
        error = shorten_output(_first_paragraph(last.error), most_lines)[0]
        outputs = [text for text in (output, error) if text]
        fitted = fit(plain_text(title), plain_text(lead), code, outputs)
        if fitted.fits:
            return Slide(kind, title, to_html(lead), sources, output, error, size=fitted.size)
    return None


def _split_cell(kind: str, title: str, lead: str, cell: Cell) -> list[Slide]:
    """Return a slide with the first statements of a cell, and one with the rest and the output.

    Raises:
        ValueError: If the cell does not fit on two slides.
    """
    for text in dict.fromkeys((lead, "")):
        for first, rest in split_points(cell.source):
            begin = _try_slide(kind, title, text, [Cell(cell.part, first)])
            end = _try_slide(
                kind, title, "", [Cell(cell.part, rest, output=cell.output, error=cell.error)]
            )
            if begin and end:
                return [begin, end]
        if slide := _try_slide(kind, title, text, [cell]):
            return [slide]
    raise ValueError(f"the code must fit on two slides, got {cell.source!r}")


def _first_paragraph(text: str) -> str:
    return text.strip().partition("\n\n")[0]
