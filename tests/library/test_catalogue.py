"""Test the catalogue's parser and search functions, and check that its files follow the rules."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import jaxbits
from jaxbits._catalogue import (
    ALSO_SHARP,
    CatalogueError,
    Symptom,
    find_bit,
    heading_id,
    load,
    parse,
)
from jaxbits._matching_rules import compile_shared

FILES = sorted((Path(jaxbits.__file__).parent / "catalogue").glob("*.toml"))
REQUIRED = {"title", "section", "fix", "guard"}
STRINGS = REQUIRED | {"look_for", "since", "until", "task", "context"}
LISTS = {"symptoms", "noticed"}
SILENT_ENTRY = """
[some-bit]
title = "It bites"
section = "It bites: `x[i]`"
silent = true
look_for = "a number"
fix = "do this."
guard = "none: nothing sees it"
"""
RAISING_ENTRY = """
[loud-bit]
title = "It shouts"
section = "Also sharp"
silent = false
symptoms = [{ error = "TypeError", text = "no … here" }]
fix = "do that."
guard = "none: it raises by itself"
"""


SYMPTOM_KEYS = {"error", "text", "leaked", "line", "context", "caller", "generic"}


def problems_of_symptom(symptom):
    if not isinstance(symptom, dict) or not {"error", "text"} <= set(symptom) <= SYMPTOM_KEYS:
        return [f"a symptom must be {{error = ..., text = ...}}, got {symptom!r}"]
    found = []
    if not (isinstance(symptom["text"], str) and symptom["text"].strip()):
        found.append(f"the text of a symptom must not be empty, got {symptom['text']!r}")
    error = symptom["error"]
    if not (isinstance(error, str) and (error.isidentifier() or not error)):
        found.append(f"the error of a symptom must be a class name or empty, got {error!r}")
    for key in ("leaked", "generic"):
        if not isinstance(symptom.get(key, False), bool):
            found.append(f"{key} must be true or false, got {symptom[key]!r}")
    for key in ("line", "context", "caller"):
        # tests/pages/test_matcher.py compiles these in JavaScript.
        try:
            compile_shared(symptom.get(key, ""))
        except (TypeError, re.error):
            found.append(f"{key} must be a regular expression, got {symptom[key]!r}")
    return found


def problems_of_entry(id, values):
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", id):
        yield "the id must be in lower case with hyphens"
    if not isinstance(values, dict):
        yield f"an entry must be a table, got {values!r}"
        return
    yield from (f"unknown key {key!r}" for key in values if key not in STRINGS | LISTS | {"silent"})
    yield from (f"missing key {key!r}" for key in sorted((REQUIRED | {"silent"}) - set(values)))
    for key in STRINGS & set(values):
        if not isinstance(values[key], str) or (key in REQUIRED and not values[key].strip()):
            yield f"{key} must be a string that is not empty, got {values[key]!r}"
    silent, symptoms = values.get("silent"), values.get("symptoms", [])
    if not isinstance(silent, bool):
        yield f"silent must be true or false, got {silent!r}"
    if not isinstance(symptoms, list):
        yield f"symptoms must be a list, got {symptoms!r}"
        return
    noticed = values.get("noticed", [])
    if not (isinstance(noticed, list) and all(isinstance(key, str) for key in noticed)):
        yield f"noticed must be a list of strings, got {noticed!r}"
    for symptom in symptoms:
        yield from problems_of_symptom(symptom)
    texts = [json.dumps(symptom, sort_keys=True) for symptom in symptoms]
    yield from (f"{text} is there twice" for text, count in Counter(texts).items() if count > 1)
    if silent is False and not symptoms:
        yield "an entry that is not silent must have symptoms"
    if silent is True and not values.get("look_for"):
        yield "a silent entry must have look_for"
    if not str(values.get("fix", "")).endswith("."):
        yield "fix must end with a period"
    if re.match("none(?!: )", str(values.get("guard", ""))):
        yield "guard must give a reason: `none: ...`"


def problems(texts):
    """Return all violations of the catalogue's rules. `texts` maps chapters to TOML strings."""
    tables = {chapter: tomllib.loads(text) for chapter, text in texts.items()}
    found = [
        f"[{id}] {problem}"
        for entries in tables.values()
        for id, values in entries.items()
        for problem in problems_of_entry(id, values)
    ]
    ids = Counter(id for entries in tables.values() for id in entries)
    found += [f"[{id}] is in two chapters" for id, count in ids.items() if count > 1]
    return found


def test_catalogue_follows_its_rules():
    assert len(FILES) == 20
    assert problems({file.stem: file.read_text("utf8") for file in FILES}) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('fix = "do this."', "", "missing key 'fix'"),
        ('title = "It bites"', 'title = ""', "title must be a string"),
        ('guard = "none: nothing sees it"', "guard = 3", "guard must be a string .* got 3"),
        ('guard = "none: nothing sees it"', 'guard = "none"', "guard must give a reason"),
        ("silent = true", 'silent = "yes"', "silent must be true or false"),
        ("silent = true", "silent = false", "must have symptoms"),
        ('look_for = "a number"', "", "must have look_for"),
        ('fix = "do this."', 'fix = "x"', "fix must end with a period"),
        ('fix = "do this."', 'fix = "x."\nfox = "y"', "unknown key 'fox'"),
        ('fix = "do this."', 'fix = "x."\ntask = 3', "task must be a string"),
        ('fix = "do this."', 'fix = "x."\nnoticed = "nan"', "noticed must be a list of strings"),
        ("[some-bit]", "[Some_Bit]", r"\[Some_Bit\] the id must be in lower case"),
        ("[some-bit]", "some-bit = 3\n[other]", r"\[some-bit\] an entry must be a table, got 3"),
    ],
)
def test_problems_reports_malformed_entry(old, new, problem):
    assert problems({"02-topic": SILENT_ENTRY}) == []
    assert old in SILENT_ENTRY
    assert re.search(problem, "\n".join(problems({"02-topic": SILENT_ENTRY.replace(old, new, 1)})))


@pytest.mark.parametrize(
    ("symptoms", "problem"),
    [
        ("3", "symptoms must be a list"),
        ("[3]", "a symptom must be {error"),
        ('[{ error = "TypeError" }]', "a symptom must be {error"),
        ('[{ error = "TypeError", text = "" }]', "must not be empty"),
        ('[{ error = "a class", text = "x" }]', "must be a class name or empty"),
        ('[{ error = "", text = "x", class = "" }]', "a symptom must be {error"),
        ('[{ error = "E", text = "x" }, { error = "E", text = "x" }]', "is there twice"),
        ('[{ error = "TypeError", text = "x", leaked = 1 }]', "leaked must be true or false"),
        ('[{ error = "TypeError", text = "x", line = "(" }]', "must be a regular expression"),
        ('[{ error = "TypeError", text = "x", context = 3 }]', "must be a regular expression"),
        ('[{ error = "TypeError", text = "x", caller = "[" }]', "must be a regular expression"),
        ('[{ error = "TypeError", text = "x", generic = 1 }]', "generic must be true or false"),
    ],
)
def test_problems_reports_malformed_symptom(symptoms, problem):
    assert problems({"02-topic": RAISING_ENTRY}) == []
    text = RAISING_ENTRY.replace('[{ error = "TypeError", text = "no … here" }]', symptoms)
    assert problem in "\n".join(problems({"02-topic": text}))


def test_line_of_a_log_needs_no_class():
    text = RAISING_ENTRY.replace('error = "TypeError"', 'error = ""')
    assert problems({"02-topic": text}) == []


def test_problems_reports_duplicate_id():
    assert problems({"02-topic": SILENT_ENTRY, "03-other": SILENT_ENTRY}) == [
        "[some-bit] is in two chapters"
    ]
    also_sharp = RAISING_ENTRY.replace("[loud-bit]", "[other-bit]")
    assert problems({"02-topic": RAISING_ENTRY + also_sharp}) == []


def test_parse_keeps_order_and_sets_page_of_each_bit():
    bits = parse({"02-topic": SILENT_ENTRY + RAISING_ENTRY})
    assert list(bits) == ["some-bit", "loud-bit"]
    assert bits["some-bit"].page == "chapters/02-topic.html#it-bites-x-i"
    assert bits["loud-bit"].page == "chapters/02-topic.html#loud-bit"
    assert bits["loud-bit"].reference == 'chapter 02, "Also sharp"'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[some-bit]", "[some-bit", "cannot read 02-topic: Expected"),
        ("[some-bit]", "some-bit = 3\n[other]", r"\[some-bit\] in 02-topic: it must be a table"),
        ('fix = "do this."', "", r"\[some-bit\] in 02-topic: .* missing .* 'fix'"),
        ('fix = "do this."', "fox = 1", r"\[some-bit\] in 02-topic: .* unexpected .* 'fox'"),
    ],
)
def test_parse_names_file_and_entry_that_it_cannot_read(old, new, message):
    with pytest.raises(CatalogueError, match=message):
        parse({"02-topic": SILENT_ENTRY.replace(old, new, 1)})


def test_message_score_allows_line_breaks_and_gaps():
    symptom = Symptom("TypeError", "got … at position")
    assert symptom.message_score("TypeError", "f got\nan int\nat  position 3")
    assert not symptom.message_score("ValueError", "f got an int at position 3")
    assert not symptom.message_score("TypeError", "at position 3 got")
    longer = Symptom("TypeError", "got … at position 3")
    message = "f got an int at position 3"
    scores = [s.message_score("TypeError", message) for s in (symptom, longer)]
    assert scores[0] < scores[1]


def test_find_bit_suggests_similar_ids():
    with pytest.raises(KeyError, match="did you mean take-fills"):
        find_bit("take-fils")
    with pytest.raises(KeyError, match=r"jaxbits\.load\(\) lists all"):
        find_bit("zzz")


def test_heading_id_matches_docutils():
    nodes = pytest.importorskip("docutils.nodes")
    for bit in load().values():
        if bit.section != ALSO_SHARP:
            assert heading_id(bit.section) == nodes.make_id(bit.section)
