"""Select what the slides of a chapter show."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Sequence

from nbformat import NotebookNode

from book_tools.slides.code_parts import bound_names, used_names
from book_tools.slides.code_slides import code_slides
from book_tools.slides.figures import divide_figure
from book_tools.slides.layout import fit
from book_tools.slides.markdown import (
    first_sentences,
    last_sentences,
    plain_text,
    predict_options,
    to_html,
    without_links,
)
from book_tools.slides.sections import Cell, Section, Text, read_sections
from book_tools.slides.slide import Deck, Slide

_MOST_IN_A_TOUR = 4  # cells under one heading
_MOST_RULE_LINES = 11
_MOST_CONTEXT = 200  # characters of text above a question


def make_deck(stem: str, notebook: NotebookNode, questions: Sequence[str] = ()) -> Deck:
    """Return the slides of a chapter.

    Args:
        stem: The chapter's file name without its suffix.
        notebook: The executed notebook.
        questions: Questions for the last slide, as Markdown.
    """
    opening, sections = read_sections(notebook)
    title = next(line[2:] for line in opening.splitlines() if line.startswith("# "))
    slides = [*_opening_slides(title, opening)]
    for section in sections:
        parts = section.split_at_headings() if section.has_several_fixes else [section]
        for part in parts:
            if part.is_sharp_bit:
                slides += _bit_slides(part)
            elif section.is_sharp_bit and part is parts[0]:
                slides += _failing_slides(to_html(part.heading), part, False)
            else:
                slides += _tour_slides(part)
    if questions:
        items = tuple(to_html(question) for question in questions)
        slides.append(Slide("questions", "To discuss", items=items))
    return Deck(stem, title, tuple(slides))


def _opening_slides(title: str, opening: str) -> Iterator[Slide]:
    paragraphs = re.split(r"\n\s*\n", opening)
    first = next(text for text in paragraphs if not text.startswith("#"))
    yield Slide("title", to_html(title), lead=to_html(first_sentences(first, 260)))
    rules = re.findall(r"^- (.+)$", opening.partition("**In one minute**")[2], re.M)
    # Show whole rules if they fit, and otherwise only the first sentences.
    for limit in (200, 130, 90, 0):
        shown = [first_sentences(rule, limit) for rule in rules]
        if sum(math.ceil(len(plain_text(rule)) / 66) for rule in shown) <= _MOST_RULE_LINES:
            break
    yield Slide("rules", "In one minute", items=tuple(map(to_html, shown)))


def _bit_slides(section: Section) -> Iterator[Slide]:
    """Yield the slides of a section that shows a failure and its fix."""
    title = to_html(section.heading)
    is_asked_first = False
    for item in section.items:
        if isinstance(item, Text) and item.part == "predict" and item.begins_part:
            is_asked_first = not _has_answer_above(section, item)
            if is_asked_first:
                yield _predict_slide(title, section, item)
            break
    yield from _failing_slides(title, section, is_asked_first)
    if why := _without_mark(section.text("why")):
        yield Slide("why", title, lead=to_html(first_sentences(why, 400)))
    yield from _figure_slides(title, section.cells("before", "predict", "why"))
    fix = _without_mark(section.text("fix"), keep="The fix")
    yield from code_slides("fix", title, fix, _run(section.cells("fix")))
    yield from _figure_slides(title, section.cells("fix"))
    if catch := _without_mark(section.text("catch"), keep="Catch it"):
        yield from code_slides("catch", title, catch, _run(section.cells("catch")))
    yield from _figure_slides(title, section.cells("catch"))


def _has_answer_above(section: Section, question: Text) -> bool:
    """Return whether the reason comes before the question, which then belongs to the fix."""
    above = section.items[: section.items.index(question)]
    return any(item.part in ("why", "fix", "catch") for item in above)


def _predict_slide(title: str, section: Section, question: Text) -> Slide:
    """Return the question with what leads to it and, if there is room, the cell that answers it."""
    position = section.items.index(question)
    texts = [i.text for i in section.items[position:] if isinstance(i, Text)]
    options = next((found for text in texts[:4] if (found := predict_options(text))), [])
    asked = _without_mark(question.text.partition("<details")[0].strip())
    lead = first_sentences(asked, 330)
    above = section.items[position - 1] if position else None
    if isinstance(above, Text) and above.part == "before":
        lead = f"{last_sentences(without_links(above.text), _MOST_CONTEXT)} {lead}".strip()
    slide = Slide("predict", title, lead=to_html(lead), items=tuple(options))
    cells = _failing_cells(section, is_asked_first=True)
    if any(cell.has_result for cell in cells[:-1]):
        return slide
    sources = tuple(cell.source for cell in cells)
    lines = [math.ceil(len(re.sub(r"<[^>]+>", "", option)) / 60) for option in options]
    height = sum(42 * count + 16 for count in lines) + 14
    # The question is in larger type than the text above other code.
    height += 49 * math.ceil(len(plain_text(lead)) / 54) + 26
    fitted = fit(plain_text(title), "", "\n\n".join(sources), [], height)
    if cells and fitted.fits:
        return dataclasses.replace(slide, cells=sources, size=min(fitted.size, 32))
    return slide


def _failing_slides(title: str, section: Section, is_asked_first: bool) -> Iterator[Slide]:
    """Yield the cell that fails with its output, after the cells that define what it uses."""
    yield from code_slides("failing", title, "", _failing_cells(section, is_asked_first))


def _failing_cells(section: Section, is_asked_first: bool) -> list[Cell]:
    """Return the cell that fails, after the cells that define what it uses.

    Args:
        section: The section.
        is_asked_first: Whether a *Predict* question comes before the cell.
    """
    parts = ("before", "predict") if is_asked_first else ("before",)
    cells = [c for c in section.cells(*parts) if not c.is_folded and not c.is_comparison]
    cells = [cell for cell in cells if not cell.is_only_figure]
    shown = [cell for cell in cells if cell.has_result or cell.figure]
    if not shown:
        return cells
    asked = [cell for cell in shown if cell.part == "predict"]
    errors = [cell for cell in shown if cell.error]
    failing = (asked or errors or shown)[0]
    needed: list[Cell] = []
    names = used_names(failing.source)
    for cell in reversed(cells[: cells.index(failing)]):
        if bound_names(cell.source) & names:
            needed.insert(0, cell)
            names |= used_names(cell.source)
    return [*needed, failing]


def _run(cells: Iterable[Cell]) -> list[Cell]:
    """Return the visible cells up to the first one with a result."""
    found: list[Cell] = []
    for cell in cells:
        if cell.is_folded or cell.is_only_figure or cell.is_comparison:
            continue
        found.append(cell)
        if cell.has_result:
            break
    return found


def _figure_slides(title: str, cells: Iterable[Cell]) -> Iterator[Slide]:
    """Yield each figure and, if its type is small, its enlarged parts."""
    for cell in cells:
        if not cell.figure:
            continue
        whole = Slide("figure", title, figure=cell.figure, alt_text=cell.alt_text)
        yield whole
        kind, data = cell.figure
        windows = divide_figure(data) if kind == "image/svg+xml" else []
        for number, window in enumerate(windows, 1):
            part = f"{title} <small>part {number} of {len(windows)}</small>"
            yield dataclasses.replace(whole, kind="zoom", title=part, window=window)


def _tour_slides(section: Section) -> Iterator[Slide]:
    """Yield the slides of a section that explains something without a failure."""
    by_heading: dict[str, list[Cell]] = {}
    for cell in section.cells():
        by_heading.setdefault(cell.heading, []).append(cell)
    for heading, cells in by_heading.items():
        title = to_html(heading or section.heading)
        count = 0
        for cell in cells:
            is_visible = not (cell.is_folded or cell.is_only_figure or cell.is_comparison)
            if is_visible and count < _MOST_IN_A_TOUR and not _is_only_imports(cell.source):
                yield from code_slides("tour", title, "", [cell])
                count += 1
            yield from _figure_slides(title, [cell])


def _is_only_imports(source: str) -> bool:
    lines = [line for line in source.splitlines() if line.strip() and line[0] not in " )"]
    return all(line.startswith(("import ", "from ")) for line in lines)


def _without_mark(text: str, keep: str = "") -> str:
    """Return a paragraph without the mark at its beginning, such as ``**Why.**``.

    Args:
        text: The paragraph.
        keep: Words of the mark to keep if the sentence continues after them, as in
            ``**The fix** is to …``.
    """
    text = without_links(text)
    found = re.match(r"\*\*([^*]+?)(\.?)\*\*(\.?)\s*", text)
    if not found:
        return text
    rest = text[found.end() :]
    if found[2] or found[3] or not keep:
        return rest
    return f"{keep} {rest}"
