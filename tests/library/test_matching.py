"""Test how Python ranks pasted errors. tests/pages/test_matcher.py compares JavaScript."""

from __future__ import annotations

import random

import pytest
from matcher_vectors import LAYOUT, Vector, damage, read_vectors

from jaxbits import explain
from jaxbits._catalogue import Symptom, load
from jaxbits._matching import MOST, Entry, Match, Matcher, catalogue_matcher
from jaxbits._matching_rules import compile_shared, load_rules
from jaxbits._pasted_error import PastedText, read_pasted_text

VECTORS = read_vectors()


def rank(text: str) -> list[Match]:
    matcher = catalogue_matcher()
    return matcher.rank(matcher.read(text))


def ids(text: str) -> list[str]:
    return [match.entry.id for match in rank(text)]


@pytest.mark.parametrize("key", VECTORS)
def test_rank_puts_wanted_bit_first(key: str) -> None:
    vector = VECTORS[key]
    found = ids(vector.text)
    assert (found[:1] or ["nothing"]) == [vector.wanted], vector.why
    assert [bit.id for bit in explain(vector.text).bits] == found[:3]


def test_vectors_are_many_and_go_both_ways() -> None:
    wanted = [vector.wanted for vector in VECTORS.values()]
    assert len(wanted) >= 120
    assert wanted.count("nothing") >= 50
    assert set(wanted) - {"nothing"} <= set(load())
    assert all(vector.why.endswith(".") for vector in VECTORS.values())


SYMPTOMS = [(bit.id, symptom) for bit in load().values() for symptom in bit.symptoms]


def texts_of(symptom: Symptom) -> list[str]:
    """Return a symptom's text as a message, with and without its class."""
    text = symptom.text.replace("…", " zork ")
    texts = [f"{symptom.error}: {text}" if symptom.error else text]
    # The text may be too short to be recognized without its class.
    if len(text) > 30 and not symptom.generic:
        texts.append(text)
    return texts


@pytest.mark.parametrize(("id", "symptom"), SYMPTOMS)
def test_each_symptom_is_found_by_its_own_text(id: str, symptom: Symptom) -> None:
    if symptom.leaked or symptom.line or symptom.context or symptom.caller:
        return  # The text alone does not say enough.
    for text in texts_of(symptom):
        matches = rank(text)
        best = [match.entry.id for match in matches if match.score == matches[0].score]
        # A symptom with the same text may belong to several bits.
        same = [other for other, s in SYMPTOMS if s.text == symptom.text]
        assert id in best or set(same) & set(best), (text, matches[:3])


@pytest.mark.parametrize(("id", "symptom"), SYMPTOMS)
def test_symptom_needs_its_context(id: str, symptom: Symptom) -> None:
    if symptom.context.startswith("^(?!") or not symptom.context:
        return  # The context says what must not be there.
    (text, *_) = texts_of(symptom)
    if compile_shared(symptom.context).search(text):
        return
    matcher = Matcher([Entry(id, symptom)])
    assert matcher.rank(matcher.read(text)) == []


def test_rank_returns_few_bits_and_each_once() -> None:
    symptom = Symptom("TypeError", "the flux capacitor must be a scalar")
    matcher = Matcher(Entry(f"bit-{number // 2}", symptom) for number in range(20))
    found = matcher.rank(matcher.read("TypeError: the flux capacitor must be a scalar"))
    assert [match.entry.id for match in found] == [f"bit-{number}" for number in range(MOST)]


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("TypeError: scan body output must be a pair, got 3", "message"),
        ("scan body output must be a pair, got 3", "message"),
        ("ValueError: Reverse-mode differentiation does not work for lax.while_l", "cut"),
        (VECTORS["forms: error of the program's own with a cause in JAX"].text, "another"),
        (VECTORS["forms: interrupted after a warning"].text, "message"),
        ("tracer bool", "words"),
        ("jax.errors.UnexpectedTracerError", "class"),
    ],
)
def test_match_says_what_matches(text: str, how: str) -> None:
    assert rank(text)[0].how == how
    assert explain(text).how == how


def test_other_words_of_a_long_text_do_not_matter() -> None:
    frame = '  File "/home/me/train.py", line 12, in my_step\n    loss = model_q(batch_q)\n'
    end = VECTORS["forms: traceback of Python"].text
    text = f"Traceback (most recent call last):\n{frame * 3000}{end}"
    assert ids(text)[0] == "value-needed-while-tracing"


def read(text: str) -> PastedText:
    return read_pasted_text(text)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("ValueError: no\nreally", "ValueError", "no\nreally"),
        ("a.b.ValueError: no", "ValueError", "no"),
        ("ValueError", "ValueError", ""),
        ("no class: here", "", "no class: here"),
        ("Original error: ValueError: no", "ValueError", "no"),
        ("FAILED a.py::b - a.ValueError: no", "ValueError", "no"),
        ("ValueError: no\nTypeError: quoted", "ValueError", "no"),
        ('ValueError: first\n  File "a.py", line 1\n    f()\nTypeError: last', "TypeError", "last"),
        ("UserWarning: hm\nstill\nValueError: no", "ValueError", "no"),
    ],
)
def test_read_finds_the_main_error(text: str, name: str, message: str) -> None:
    main = read(text).main
    assert (main.name, main.text) == (name, message)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('File "a.py", line 1, in f\n  g(x)\n    ^^^\nValueError: no', "g(x)"),
        ('File "a.py", line 1\n  g(x)\nFile "/x/site-packages/b.py", line 2\n  h(x)', "g(x)"),
        ('File "/x/site-packages/b.py", line 2\n  h(x)\nValueError: no', "h(x)"),
        ('File "/x/site-packages/jax/b.py", line 2\n  h(x)\nValueError: no', ""),
        ("Cell In[3], line 2\n      1 a = 1\n----> 2 g(x)\nValueError: no", "g(x)"),
        (">       g(x)\n\na.py:3: \nE   ValueError: no", "g(x)"),
        ("a.py:3: in f\n    g(x)\nE   ValueError: no", "g(x)"),
        ("ValueError: no", ""),
    ],
)
def test_read_finds_the_readers_line(text: str, code: str) -> None:
    assert read(text).code == code


def test_read_names_the_library_that_raised_the_error() -> None:
    text = (
        'File "/venv/lib/python3.11/site-packages/equinox/nn.py", line 3\n  f()\nValueError: zork'
    )
    assert read(text).library == "equinox"
    assert "Since equinox raised it" in str(explain(text))
    assert "issues" in str(explain("ValueError: zork"))


def test_explanation_says_if_only_another_error_matches() -> None:
    text = VECTORS["forms: error of the program's own with a cause in JAX"].text
    assert "The last error is not in the book" in str(explain(text))


def test_shared_expressions_know_only_ascii_letters() -> None:
    assert not compile_shared(r"\w").search("é")
    assert not compile_shared(r"\d").search("٣")


def test_rules_are_complete() -> None:
    rules = load_rules()
    assert rules.telling <= {symptom.error for _, symptom in SYMPTOMS} | {"TypePromotionError"}
    assert rules.is_same_class("XlaRuntimeError", "RuntimeError")
    assert not rules.is_same_class("KeyError", "RuntimeError")


def test_damaged_texts_raise_no_error() -> None:
    chance = random.Random(0)
    for vector in VECTORS.values():
        rank(damage(vector.text, chance))


def test_damage_seldom_changes_the_answer() -> None:
    """Quoting, prefixing, and wrapping must not hide a message."""
    chance = random.Random(1)
    wordings = [v for key, v in VECTORS.items() if key.startswith(("wordings", "code_lines"))]

    def is_found(vector: Vector, text: str) -> bool:
        return (ids(text)[:1] or ["nothing"]) == [vector.wanted]

    for mark in ("> ", "E   ", "│ "):
        for vector in wordings:
            text = "\n".join(mark + line for line in vector.text.split("\n"))
            assert is_found(vector, text), (mark, vector.name)
    # Wrapping may hide the reader's line, and then another bit with the same message wins.
    kept = sum(is_found(vector, damage(vector.text, chance, LAYOUT)) for vector in wordings)
    assert kept > 0.85 * len(wordings)
