"""Read what somebody pasted: the errors in it, their messages, and the reader's line of code."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from jaxbits._matching_rules import Rules, load_rules

_MAX_LINES = 20_000
_MAX_LINE = 4_000
# JavaScript counts these as two characters.
_OUTSIDE_BMP = re.compile("[\U00010000-\U0010ffff\ud800-\udfff]")


@dataclass
class Message:
    """An error, a warning, or what was pasted without the name of a class.

    Attributes:
        name: The class, or "".
        lines: The lines of the message. They are empty if only the class is known.
        is_nested: Whether no frame and no other line separates it from the message before, which
            quotes it.
        is_late: Whether Python raised the error after it had reported the main one.
    """

    name: str
    lines: list[str] = field(default_factory=list)
    is_nested: bool = False
    is_late: bool = False

    @property
    def text(self) -> str:
        """The message in one string."""
        return "\n".join(self.lines).strip()


@dataclass(frozen=True)
class PastedText:
    """What a pasted text says.

    Attributes:
        main: The error to explain. Its name is "" if the text names no class.
        others: The other errors, such as the cause of the main one, and the lines of a log that
            announce a traceback.
        asides: Warnings, and the lines that belong to no message.
        code: The reader's line that led to the error, or "".
        library: The package whose line raised the error, or "".
        caller: The installed package that called JAX, or "" if the reader's own code did, or if the
            text does not show it.
        whole: The clean text in one line.
        has_frames: Whether the text contains a part of a traceback.
        is_foreign: Whether the traceback shows another library, but neither JAX nor a library that
            builds on it.
        is_leak: Whether the main error is about a tracer that has outlived its trace.
    """

    main: Message
    others: tuple[Message, ...] = ()
    asides: tuple[Message, ...] = ()
    code: str = ""
    library: str = ""
    caller: str = ""
    whole: str = ""
    has_frames: bool = False
    is_foreign: bool = False
    is_leak: bool = False


@dataclass
class _Frame:
    file: str
    name: str
    code: str = ""


def clean_lines(text: str) -> list[str]:
    r"""Return the lines of a text without colors, marks of quotation, and prefixes of logs.

    >>> clean_lines("\x1b[31mE   TypeError: got\x1b[0m\r\nE     a list")
    ['TypeError: got', 'a list']
    """
    rules = load_rules()
    text = _OUTSIDE_BMP.sub("?", text)
    for pattern, replacement in rules.clean:
        text = pattern.sub(replacement, text)
    lines = [line[:_MAX_LINE] for line in text.split("\n")[-_MAX_LINES:]]
    is_pytest = any(rules.find("pytest_message", line) for line in lines)
    cleaned = (_clean_line(line, rules, is_pytest) for line in lines)
    return [line for line in cleaned if line]


def _clean_line(line: str, rules: Rules, is_pytest: bool) -> str:
    code = rules.find("pytest_arrow", line) if is_pytest else None
    if code:
        return f"---> 0 {code[1]}".rstrip(" ")
    line = _remove(line, rules.lists["suffixes"])
    return _remove(line, rules.lists["prefixes"])


def _remove(line: str, patterns: Collection[re.Pattern[str]]) -> str:
    """Remove what any of the patterns matches, until none of them does."""
    before = None
    while before != line:
        before = line
        for pattern in patterns:
            line = pattern.sub("", line, count=1)
    return line


class _Reader:
    """Sort the lines of a text into messages, frames, and the rest."""

    def __init__(self, classes: Collection[str]) -> None:
        self.rules = load_rules()
        self.classes = classes
        self.messages: list[Message] = []
        self.open: list[Message] = []
        self.loose: list[str] = []
        self.announcing: list[str] = []
        self.last_loose = ""
        self.frames: list[_Frame] = []
        self.announced = self.marked_code = ""
        self.is_in_frames = self.expects_code = self.is_late = False

    def read(self, line: str) -> None:
        before, self.last_loose = self.last_loose, ""
        if self.rules.find("breaks", line):
            if self.rules.find("announced", line) and self.rules.find("announcing", before):
                self.announcing.append(before)
            self.open, self.is_in_frames = [], False
            self.is_late |= bool(self.rules.find("demoting", line))
        elif arrow := self.rules.find("arrows", line):
            self._mark_code(arrow[1].strip())
        elif self._read_header(line) or self._read_frame(line):
            return
        elif self.open:
            if len(self.open[0].lines) < self.rules.scores["message_lines"]:
                self.open[0].lines.append(line)
        elif self.is_in_frames:
            if self.expects_code and not re.match(r"\d+\b", line, re.ASCII):
                self.frames[-1].code = line
            self.expects_code = False
        else:
            self.loose.append(line)
            self.last_loose = line

    def _read_header(self, line: str) -> bool:
        match = self.rules.find("header", line)
        if match is None or not self._is_class(match[2]):
            return False
        if match[3] is None and "Traceback" in line:
            self.open, self.is_in_frames, self.announced = [], False, match[2]
            return True
        if self.open and not match[3]:
            return False  # The name of a class ends a wrapped link.
        message = Message(match[2], [match[3]] if match[3] else [], bool(self.open), self.is_late)
        self.messages.append(message)
        self.open = [message]
        self.is_in_frames = self.expects_code = False
        return True

    def _is_class(self, name: str) -> bool:
        return name in self.classes or bool(self.rules.find("class_name", name))

    def _read_frame(self, line: str) -> bool:
        match = self.rules.find("frames", line)
        if match is None:
            return False
        self.frames.append(_Frame(match[1], match[2] or "", self.marked_code))
        self.marked_code = ""
        self.open, self.is_in_frames, self.expects_code = [], True, True
        return True

    def _mark_code(self, code: str) -> None:
        """Keep a line that an arrow marks. IPython prints it after the file, and pytest before."""
        if self.is_in_frames:
            self.frames[-1].code = code
            self.expects_code = False
        else:
            self.marked_code, self.open = code, []

    def main_message(self) -> Message:
        """Return the error to explain."""
        real = [m for m in self.messages if not self.rules.find("not_an_error", m.name)]
        errors = [m for m in real if not self.rules.find("warning", m.name)]
        for found in (
            [m for m in errors if not (m.is_nested or m.is_late)],
            [m for m in errors if not m.is_nested],
            real,
        ):
            if found:
                named = [m for m in found if m.name == found[-1].name and m.text]
                return found[-1] if found[-1].text or not named else named[-1]
        return Message(self.announced)

    def reader_code(self) -> str:
        """Return the reader's innermost line of code, or else the innermost one outside JAX."""
        with_code = [frame for frame in self.frames if frame.code]
        own = [f for f in with_code if not self.rules.find("library", f.file)]
        foreign = [f for f in with_code if not self.rules.find("jax_files", f.file)]
        found = own or foreign
        return found[-1].code if found else self.marked_code

    def caller(self) -> str:
        """Return the package of the innermost frame outside JAX, or "" if it is the reader's."""
        for frame in reversed(self.frames):
            package = self.rules.find("package", frame.file)
            if package and not self.rules.find("jax_itself", package[1]):
                return package[1]
            # The import system and other modules of Python may stand between the two.
            if not self.rules.find("library", frame.file):
                return self._imported_package(frame.code)
        return self._imported_package(self.marked_code)

    def _imported_package(self, code: str) -> str:
        """Return the package that a line imports, whose frames are left out, or ""."""
        match = self.rules.find("imported", code)
        return match[1] if match else ""


def read_pasted_text(text: str, classes: Collection[str] = ()) -> PastedText:
    r"""Return what a pasted text says.

    Args:
        text: A message, a traceback, a whole log, or a part of one of these.
        classes: The names of classes that a line of the text may name, apart from those that end
            with a word such as Error.

    >>> pasted = read_pasted_text('''  File "train.py", line 7, in step
    ...     if loss > best:
    ... jax.errors.TracerBoolConversionError: Attempted boolean conversion''')
    >>> pasted.main.name, pasted.main.text, pasted.code
    ('TracerBoolConversionError', 'Attempted boolean conversion', 'if loss > best:')
    """
    rules = load_rules()
    lines = clean_lines(text)
    reader = _Reader(classes)
    for line in lines:
        reader.read(line)
    main = reader.main_message()
    loose = reader.loose
    if not main.name:
        main = _message_inside(lines, rules) or Message("", loose or lines)
        loose = []
    others: list[Message] = []
    asides: list[Message] = []
    for message in reader.messages:
        if message is not main:
            is_aside = rules.find("warning", message.name)
            (asides if is_aside else others).append(message)
    if main.name:
        others += [Message("", [line]) for line in reader.announcing]
        loose = [line for line in loose if line not in reader.announcing]
    if loose:
        asides.append(Message("", loose))
    whole = " ".join(lines)
    packages = [rules.find("package", frame.file) for frame in reader.frames]
    return PastedText(
        main=main,
        others=tuple(others),
        asides=tuple(asides),
        code=reader.reader_code(),
        library=packages[-1][1] if packages and packages[-1] else "",
        caller=reader.caller(),
        whole=whole,
        has_frames=bool(reader.frames),
        is_foreign=bool(reader.frames)
        and not rules.find("mentions_jax", whole)
        and bool(rules.find("mentions_others", whole)),
        is_leak=_is_leak(main, reader.frames, lines, rules),
    )


def _message_inside(lines: list[str], rules: Rules) -> Message | None:
    """Return the last error that is named in the middle of a line."""
    for number in range(len(lines) - 1, -1, -1):
        if match := rules.find("inner_header", lines[number]):
            return Message(match[1], [match[2], *lines[number + 1 :]])
    return None


def _is_leak(main: Message, frames: list[_Frame], lines: list[str], rules: Rules) -> bool:
    """Return whether a whole traceback lacks the function that the message says was traced."""
    match = rules.find("traced_function", main.text.replace("\n", " "))
    if match is None or not frames or any(rules.find("left_out", line) for line in lines):
        return False
    starts = [frames[0].file, frames[0].name]
    is_whole = any(rules.find("outermost", start) for start in starts)
    return is_whole and match[1] not in {frame.name for frame in frames}
