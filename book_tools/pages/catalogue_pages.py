"""Generate the pages *Errors* and *Silent failures* from the catalogue of sharp bits."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from book_tools.pages.entry_groups import NOTICES, OTHER_TASK, TASKS
from book_tools.pages.html_utils import bit_address, inline_code
from book_tools.pages.render import render_page
from jaxbits._catalogue import SharpBit, heading_id
from jaxbits._matching_rules import read_rules

WITHOUT_CLASS = "Lines without a class"


@dataclass(frozen=True)
class ErrorGroup:
    """The sharp bits that cause an error in one kind of work.

    Attributes:
        title: What the reader was doing, as a heading.
        bits: The sharp bits, sorted by their first message.
    """

    title: str
    bits: list[SharpBit]


def sorted_messages(bit: SharpBit) -> list[tuple[str, str]]:
    """Return the error class and the message of each symptom in alphabetical order, once each."""
    messages = dict.fromkeys((symptom.error, symptom.text) for symptom in bit.symptoms)
    return sorted(messages, key=_alphabetically)


def _alphabetically(message: tuple[str, str]) -> tuple[str, ...]:
    """Return a sort key for a pair of strings that ignores case and punctuation."""
    return tuple(re.sub(r"\W+", " ", part.lower()).strip() for part in message)


def group_by_task(bits: Iterable[SharpBit]) -> list[ErrorGroup]:
    """Return the sharp bits that cause an error, grouped by what the reader was doing.

    Args:
        bits: The sharp bits in the catalogue.
    """
    found: dict[str, list[SharpBit]] = {title: [] for title in (*TASKS.values(), OTHER_TASK)}
    for bit in bits:
        if bit.symptoms:
            found[TASKS.get(bit.task, OTHER_TASK)].append(bit)
    for listed in found.values():
        listed.sort(key=lambda bit: _alphabetically(sorted_messages(bit)[0]))
    return [ErrorGroup(title, listed) for title, listed in found.items() if listed]


@dataclass(frozen=True)
class IndexEntry:
    """A message in the index by class.

    Attributes:
        text: The message.
        id: The id of its sharp bit.
        title: The title of the sharp bit if another one in the same class has the same message, and
            otherwise an empty string.
    """

    text: str
    id: str
    title: str


def index_by_class(bits: Iterable[SharpBit]) -> dict[str, list[IndexEntry]]:
    """Return each error class with its messages, sorted.

    What has no class, such as a line of a log, comes last.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    titles = {}
    for bit in bits:
        titles[bit.id] = bit.title
        for error, text in sorted_messages(bit):
            found.setdefault(error or WITHOUT_CLASS, []).append((text, bit.id))
    index = {}
    for error in sorted(found, key=lambda name: (name == WITHOUT_CLASS, name.lower())):
        times = Counter(text for text, _ in found[error])
        index[error] = [
            IndexEntry(text, id, titles[id] if times[text] > 1 else "")
            for text, id in sorted(found[error], key=_alphabetically)
        ]
    return index


def has_guard(bit: SharpBit) -> bool:
    """Return whether an entry names a tool, instead of a reason why there is none."""
    return not re.match(r"(?:none|not needed): ", bit.guard)


def guard_html(bit: SharpBit) -> str:
    """Return an entry's guard as HTML, with a link from each detector to its description.

    Example:
        >>> from jaxbits._catalogue import find_bit
        >>> guard_html(find_bit("clock-without-waiting"))
        '<a href="detectors.html#timing"><code>jaxbits.detect.timing</code></a>'
        >>> guard_html(find_bit("nanargmin-all-nan"))
        'No tool reports it. -1 is a legal index.'
    """
    text = re.sub(r"^none: (.)", lambda rest: f"No tool reports it. {rest[1].upper()}", bit.guard)
    if not re.fullmatch(r"(?:`[^`]+`(?:[,;] | and )?)+", text):
        text = f"{text[0].upper()}{text[1:].rstrip('.')}."
    return re.sub(
        r"<code>jaxbits\.detect\.(\w+)</code>",
        lambda code: f'<a href="detectors.html#{heading_id(code[1])}">{code[0]}</a>',
        inline_code(text),
    )


def finder_entries(bit: SharpBit) -> list[dict[str, str | bool]]:
    """Return what the finder on the page *Errors* needs, with a dict for each symptom of a bit."""
    shown = {"title": inline_code(bit.title), "fix": inline_code(bit.fix), "href": bit_address(bit)}
    return [
        {"id": bit.id, **shown}
        | {key: value for key, value in dataclasses.asdict(symptom).items() if value}
        | {"error": symptom.error}
        for symptom in bit.symptoms
    ]


def errors_page(bits: Iterable[SharpBit]) -> str:
    """Return the page *Errors* as Markdown, including the finder's entries as JSON.

    Args:
        bits: The sharp bits in the catalogue.
    """
    bits = list(bits)
    return render_page(
        "errors.md",
        entries=[entry for bit in bits for entry in finder_entries(bit)],
        rules=read_rules(),
        groups=group_by_task(bits),
        classes=index_by_class(bits),
        messages=sorted_messages,
        has_guard=has_guard,
        guard_html=guard_html,
    )


def silent_failures_page(bits: Iterable[SharpBit], titles: Mapping[str, str]) -> str:
    """Return the page *Silent failures* as Markdown.

    Args:
        bits: The sharp bits in the catalogue.
        titles: The title of each chapter, keyed by the stem of its file.
    """
    chapters: dict[str, list[SharpBit]] = {}
    counts: Counter[str] = Counter()
    for bit in sorted(bits, key=lambda bit: bit.chapter):
        if bit.silent:
            chapters.setdefault(titles.get(bit.chapter, bit.chapter), []).append(bit)
            counts.update(bit.noticed)
    return render_page(
        "silent-failures.md",
        chapters=chapters,
        total=sum(map(len, chapters.values())),
        notices=[(key, label, counts[key]) for key, label in NOTICES.items() if counts[key]],
        guard_html=guard_html,
    )
