"""Rank the catalogue's symptoms by how well they match a pasted error.

``matching.toml`` has the rules and the numbers, and ``_static/error-matcher.js`` does the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxbits._catalogue import Symptom, load
from jaxbits._matching_rules import Rules, compile_shared, load_rules
from jaxbits._pasted_error import Message, PastedText, read_pasted_text

MOST = 5
"""The largest number of matches."""

_NOT_LETTERS = re.compile(r"[^!-~]|['\"`\\]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]+")
_PARTS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])")
_NO_MESSAGE = re.compile(r"https?://\S*|\S*[/\\]\S+\.\w+\S*")
_ELLIPSIS = re.compile(r"\.{2,}$")
_LAST_WORD = re.compile(r"([A-Za-z_]\w{2,})$", re.ASCII)


@dataclass(frozen=True)
class Entry:
    """A symptom of a sharp bit.

    Attributes:
        id: The id of the sharp bit.
        symptom: The symptom.
    """

    id: str
    symptom: Symptom


@dataclass(frozen=True)
class Match:
    """A sharp bit that may have caused an error.

    Attributes:
        entry: Its symptom that matches best.
        score: How well the symptom matches.
        how: What matches: the whole ``message``, its beginning (``cut``), the message of
            ``another`` error, a warning or line next to the error (``aside``), only ``words``, or
            only the ``class``.
    """

    entry: Entry
    score: float
    how: str


def squeeze(text: str) -> str:
    r"""Return the letters that count: ASCII in lowercase, without whitespace and quotation marks.

    >>> squeeze("module 'jax' has\n no …")
    'modulejaxhasno'
    """
    return _NOT_LETTERS.sub("", text).lower()


def words_of(text: str) -> dict[str, None]:
    """Return the words of a text in lowercase, and the parts of names such as ``ArrayImpl``."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text):
        for part in (word, *(part for part in _PARTS.split(word) if len(part) > 1)):
            found[part.lower()] = None
    return found


class _Known:
    """An entry, and what the matcher needs of its symptom."""

    def __init__(self, entry: Entry, gap: int) -> None:
        self.entry = entry
        self.symptom = entry.symptom
        self.parts = [part for part in map(squeeze, self.symptom.text.split("…")) if part]
        self.letters = sum(map(len, self.parts))
        self.joint = f"[\\s\\S]{{0,{gap}}}?"
        self.pattern = compile_shared(self.joint.join(map(re.escape, self.parts)))
        self.words = words_of(f"{self.symptom.error} {self.symptom.text}")
        self.order = [word.lower() for word in _WORD.findall(self.symptom.text)]
        self.starts_with_gap = self.symptom.text.startswith("…")

    def is_in(self, text: str) -> bool:
        return bool(self.parts) and self.parts[0] in text and bool(self.pattern.search(text))

    def letters_before_cut(self, text: str, least: int) -> int:
        """Return how many letters of the symptom stand at the end of a text, which was cut off.

        Args:
            text: The squeezed text.
            least: How many letters must follow after a gap.
        """
        for last in range(len(self.parts) - 1, -1, -1):
            rest = text
            if last:
                head = compile_shared(self.joint.join(map(re.escape, self.parts[:last])))
                match = head.search(text)
                if match is None:
                    continue
                rest = text[match.end() :]
            for length in range(min(len(self.parts[last]), len(rest)), least if last else 0, -1):
                if rest.endswith(self.parts[last][:length]):
                    return sum(map(len, self.parts[:last])) + length
        return 0


class Matcher:
    """A list of entries, ready to be compared with many pasted texts."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.rules: Rules = load_rules()
        self.known = [_Known(entry, int(self.rules.scores["gap"])) for entry in entries]
        self.classes = frozenset(known.symptom.error for known in self.known)
        uses: dict[str, set[str]] = {}
        for known in self.known:
            for word in known.words:
                uses.setdefault(word, set()).add(known.entry.id)
        self.uses = {word: len(ids) for word, ids in uses.items()}

    def worth(self, word: str) -> float:
        """Return how much a word says: less if many sharp bits or other programs use it."""
        value = 20 / (19 + self.uses[word]) if word in self.uses else self._score("short_unknown")
        return value / 4 if word in self.rules.common else value

    def read(self, text: str) -> PastedText:
        """Return what a pasted text says."""
        return read_pasted_text(text, self.classes)

    def rank(self, pasted: PastedText, classes: Sequence[str] = ()) -> list[Match]:
        """Return the best matches, one for each sharp bit, with the best one first.

        Args:
            pasted: What was pasted.
            classes: The class of the main error and its base classes if they are known.
        """
        look_up = _LookUp(self, pasted, classes or [pasted.main.name])
        found = [
            (match, known.symptom.line_score(pasted.code) + (0 if known.symptom.line else 0.5))
            for known in self.known
            if (match := look_up.match(known))
        ]
        found.sort(key=lambda pair: (-pair[0].score, -pair[1]))
        best = found[0][0] if found else None
        first: dict[str, Match] = {}
        for match, _ in found:
            assert best is not None
            is_close = match.score >= self._score("keep") * best.score
            if is_close and (match.how == best.how or best.how != "message"):
                first.setdefault(match.entry.id, match)
        return list(first.values())[:MOST]

    def _score(self, name: str) -> float:
        return self.rules.scores[name]


class _LookUp:
    """One pasted text, compared with one entry after the other."""

    def __init__(self, matcher: Matcher, pasted: PastedText, classes: Sequence[str]) -> None:
        self.matcher, self.pasted, self.classes = matcher, pasted, classes
        self.rules = matcher.rules
        self.scores = matcher.rules.scores
        main = pasted.main
        self.tight = squeeze(main.text)
        self.cut = squeeze(_ELLIPSIS.sub("", main.text.rstrip(" …")))
        self.others = [(message, squeeze(message.text)) for message in pasted.others]
        is_error = bool(main.name) and not self.rules.find("warning", main.name)
        asides: Sequence[Message] = () if is_error else pasted.asides
        self.asides = [(message, squeeze(message.text)) for message in asides]
        said = _NO_MESSAGE.sub(" ", main.text)
        self.typed = words_of(said)
        self.order = [word.lower() for word in _WORD.findall(said)]
        self.is_question = (
            not main.name
            and not pasted.has_frames
            and 0 < len(self.order) <= self.scores["short_words"]
        )
        last = _LAST_WORD.search(said)
        ends = [last[1], _PARTS.split(last[1])[-1]] if last else []
        # The last word, or the last part of a name, may be one that is still being typed.
        self.started = [
            end for end in dict.fromkeys(map(str.lower, ends)) if end and end not in matcher.uses
        ]

    def match(self, known: _Known) -> Match | None:
        if not self._may_be(known.symptom):
            return None
        score, how = self._score(known)
        return Match(known.entry, score, how) if score else None

    def _may_be(self, symptom: Symptom) -> bool:
        """Return whether what else was pasted allows a symptom."""
        pasted = self.pasted
        if symptom.leaked and not pasted.is_leak:
            return False
        if symptom.generic and pasted.is_foreign:
            return False
        if symptom.caller and not compile_shared(symptom.caller).search(pasted.caller):
            return False
        return not symptom.context or bool(compile_shared(symptom.context).search(pasted.whole))

    def _score(self, known: _Known) -> tuple[float, str]:
        """Return the best score of an entry, and what matches."""
        scores, main = self.scores, self.pasted.main
        agrees = self._class_agrees(known, self.classes)
        found_where = 1000.0 if known.symptom.leaked else 0.0
        found_where += scores["caller"] if known.symptom.caller else 0
        # A line of a log is no part of an error's message.
        is_line = bool(main.name) and not known.symptom.error
        if not is_line and known.is_in(self.tight) and self._is_long_enough(known, agrees):
            extra = {1: scores["same_class"], 0: 0.0, -1: scores["other_class"]}[agrees]
            return scores["exact"] + known.letters + extra + found_where, "message"
        for messages, base, how in (
            (self.others, scores["chained"], "another"),
            (self.asides, scores["aside"], "aside"),
        ):
            for message, tight in messages:
                also_agrees = self._class_agrees(known, [message.name])
                # Only a line of a log is compared with a whole line.
                is_whole = not message.name and not known.symptom.error
                if known.is_in(tight) and self._is_long_enough(known, also_agrees, is_whole):
                    return base + known.letters / 2 + scores["same_class"] * also_agrees, how
        if is_line or (agrees < 0 and not self.is_question):
            return 0.0, ""
        if not self.tight:
            is_known = main.name == known.symptom.error and main.name in self.rules.telling
            return (scores["class_only"], "class") if is_known else (0.0, "")
        if known.symptom.generic and not self.is_question:
            return 0.0, ""
        if score := self._cut_score(known, agrees):
            return score, "cut"
        score = (
            self._question_score(known) if self.is_question else self._words_score(known, agrees)
        )
        return score, "words"

    def _class_agrees(self, known: _Known, classes: Iterable[str]) -> int:
        """Return 1 if the class of the error fits, 0 if it is unknown, and -1 if it is another."""
        if not known.symptom.error or not any(classes):
            return 0
        return max(
            1 if self.rules.is_same_class(name, known.symptom.error) else -1 for name in classes
        )

    def _is_long_enough(self, known: _Known, agrees: int, is_main: bool = True) -> bool:
        """Return whether a symptom's text is too long to be in a message by chance."""
        if agrees > 0 and (is_main or known.letters >= self.scores["min_letters"]):
            return True
        least = "min_letters" if agrees == 0 and is_main else "min_letters_other"
        return known.letters >= self.scores[least]

    def _cut_score(self, known: _Known, agrees: int) -> float:
        """Return the score of a message that ends in the middle of a symptom's text, or 0."""
        letters = known.letters_before_cut(self.cut, int(self.scores["min_letters_part"]) - 1)
        is_all = letters == len(self.cut) and agrees > 0
        is_telling = is_all and self.pasted.main.name in self.rules.telling
        least = self.scores["min_letters_telling" if is_telling else "min_letters_cut"]
        if letters < least or (letters < 0.4 * known.letters and not is_telling):
            return 0.0
        return self.scores["cut"] + 40 * letters / known.letters

    def _question_score(self, known: _Known) -> float:
        """Return the score of a few words that somebody typed, most of which must be known."""
        shared = [word for word in self.typed if word in known.words]
        typed = [word for word in self.typed if word not in self.started]
        for start in self.started:
            becomes = next((word for word in known.words if word.startswith(start)), "")
            if becomes and becomes not in shared:
                shared.append(becomes)
            typed.append(becomes or start)
        of_typed = self._sum(shared) / self._sum(dict.fromkeys(typed))
        of_entry = self._sum(shared) / self._sum(known.words)
        is_clear = any(self.matcher.worth(word) > self.scores["clear_word"] for word in shared)
        if not is_clear or of_typed < self.scores["short_share"]:
            return 0.0
        return self.scores["words"] * (0.75 * of_typed + 0.25 * of_entry)

    def _words_score(self, known: _Known, agrees: int) -> float:
        """Return the score of a message that says the same as a symptom in similar words."""
        total = self._sum(known.order)
        shared = [word for word in known.order if word in self.typed]
        # The word that says most is what distinguishes the symptom from others.
        if known.order and max(known.order, key=self.matcher.worth) not in self.typed:
            return 0.0
        is_telling = agrees > 0 and self.pasted.main.name in self.rules.telling
        least = self.scores[
            "min_share_telling" if is_telling else "min_share_same" if agrees > 0 else "min_share"
        ]
        if not shared or self._sum(shared) < least * total:
            return 0.0
        in_order = self._in_order(known.order)
        enough = self.scores["min_worth"] / (2 if is_telling else 1)
        if in_order < least * total or in_order < enough:
            return 0.0
        return self.scores["words"] * in_order / total

    def _in_order(self, wanted: Sequence[str]) -> float:
        """Return what the words in common are worth that are in the same order in both texts."""
        best = [0.0] * (len(wanted) + 1)
        for word in self.order:
            diagonal = 0.0
            for number, other in enumerate(wanted, 1):
                above = best[number]
                value = diagonal + self.matcher.worth(other) if word == other else 0.0
                best[number] = max(above, best[number - 1], value)
                diagonal = above
        return best[-1]

    def _sum(self, words: Iterable[str]) -> float:
        # Python's `sum` rounds differently from JavaScript's `+` since version 3.12.
        total = 0.0
        for word in words:
            total += self.matcher.worth(word)
        return total


@functools.cache
def catalogue_matcher() -> Matcher:
    """Return the matcher for the catalogue."""
    return Matcher(Entry(bit.id, symptom) for bit in load().values() for symptom in bit.symptoms)
