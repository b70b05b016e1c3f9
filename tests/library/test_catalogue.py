import pytest

from jaxbits import _catalogue
from jaxbits._catalogue import CatalogueError, Symptom, bit, heading_id, load, parse

GOOD = """
[some-bit]
title = "It bites"
section = "It bites: `x[i]`"
silent = true
look_for = "a number"
fix = "do this"
guard = "none: nothing sees it"
"""
LOUD = """
[loud-bit]
title = "It shouts"
section = "Also sharp"
silent = false
symptoms = [{ error = "TypeError", text = "no … here" }]
fix = "do that"
guard = "none: it raises by itself"
"""


def test_a_catalogue_is_read_in_order():
    bits = parse({"02-topic": GOOD + LOUD})
    assert list(bits) == ["some-bit", "loud-bit"]
    assert bits["some-bit"].page == "chapters/02-topic.html#it-bites-x-i"
    assert bits["loud-bit"].page == "chapters/02-topic.html#loud-bit"
    assert bits["loud-bit"].reference == 'chapter 02, "Also sharp"'


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('fix = "do this"', "", r"\[some-bit\] lacks the key 'fix'"),
        ('title = "It bites"', 'title = ""', r"\[some-bit\] title should be a text"),
        ('guard = "none: nothing sees it"', "guard = 3", r"\[some-bit\] guard .* was 3"),
        ("silent = true", 'silent = "yes"', r"\[some-bit\] silent should be true or false"),
        ("silent = true", "silent = false", r"\[some-bit\] symptoms should name the error"),
        ('look_for = "a number"', "", r"\[some-bit\] look_for should say"),
        ('fix = "do this"', 'fix = "x"\nfox = "y"', r"\[some-bit\] has a key 'fox'"),
        ("[some-bit]", "[Some_Bit]", r"\[Some_Bit\] should be named in lower case"),
        ("[some-bit]", "some-bit = 3\n[other]", r"\[some-bit\] should be a table, was 3"),
        ("[some-bit]", "[some-bit", "not TOML"),
    ],
)
def test_a_malformed_entry_is_named_with_its_key(old, new, complaint):
    assert old in GOOD
    with pytest.raises(CatalogueError, match=complaint):
        parse({"02-topic": GOOD.replace(old, new, 1)})


@pytest.mark.parametrize(
    ("symptoms", "complaint"),
    [
        ("3", "symptoms should be a list"),
        ("[3]", "number 1, should be {error"),
        ('[{ error = "TypeError" }]', "number 1, should be {error"),
        ('[{ error = "TypeError", text = "" }]', "texts that are not empty"),
        ('[{ error = "a class", text = "x" }]', "the name of a class"),
    ],
)
def test_a_malformed_symptom_is_named(symptoms, complaint):
    text = LOUD.replace('[{ error = "TypeError", text = "no … here" }]', symptoms)
    with pytest.raises(CatalogueError, match=complaint):
        parse({"02-topic": text})


def test_two_entries_cannot_have_one_section():
    with pytest.raises(CatalogueError, match=r"\[twin\] section is that of \[some-bit\]"):
        parse({"02-topic": GOOD + GOOD.replace("[some-bit]", "[twin]")})


def test_two_chapters_cannot_have_one_entry():
    with pytest.raises(CatalogueError, match=r"\[some-bit\] is in 02-topic and in 03-other"):
        parse({"02-topic": GOOD, "03-other": GOOD})


def test_a_symptom_matches_over_line_breaks_and_with_gaps():
    symptom = Symptom("TypeError", "got … at position")
    assert symptom.matches("TypeError", "f got\nan int\nat  position 3")
    assert not symptom.matches("ValueError", "f got an int at position 3")
    assert not symptom.matches("TypeError", "at position 3 got")
    longer = Symptom("TypeError", "got … at position 3")
    message = "f got an int at position 3"
    assert longer.matches("TypeError", message) > symptom.matches("TypeError", message)


def test_the_books_own_catalogue_is_sound():
    bits = load()
    assert bits
    for one in bits.values():
        assert one.fix.endswith("."), one.id
        assert not one.guard.startswith("none") or one.guard.startswith("none: "), one.id


def test_an_unknown_bit_is_answered_with_the_nearest():
    with pytest.raises(KeyError, match="did you mean take-fills"):
        bit("take-fils")
    with pytest.raises(KeyError, match=r"see jaxbits\.load"):
        bit("zzz")


def test_headings_get_the_ids_that_docutils_gives():
    nodes = pytest.importorskip("docutils.nodes")
    for one in load().values():
        if one.section != _catalogue.ALSO_SHARP:
            assert heading_id(one.section) == nodes.make_id(one.section)
