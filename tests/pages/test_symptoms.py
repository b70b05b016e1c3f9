"""The page *By symptom*: every step can be taken, every answer leads somewhere."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import pkgutil
import re

import pytest
from contents import ROOT

from book_tools.pages import symptoms
from jaxbits import _catalogue

FILE = ROOT / "reference" / "by-symptom.toml"
STEP = {"do": "Look.", "answers": [{"when": "it is there", "bit": "take-fills"}]}
SYMPTOM = {"title": "It is late", "seen": "At noon.", "step": [STEP]}
CALLS = [
    call
    for symptom in symptoms.read_symptoms(FILE)
    for step in symptom["step"]
    for call in re.findall(r"`(jaxbits\.[^`]+)`", step["do"])
]


def test_a_path_is_a_list_of_steps_with_its_answers_below() -> None:
    page = symptoms.symptoms_page([SYMPTOM], _catalogue.load())
    title = "<code>jnp.take</code> fills a missing element with NaN, -2147483648, 255, or True"
    address = f"../{_catalogue.load()['take-fills'].page}"
    assert f'1. Look.\n\n   - It is there: <a href="{address}">{title}</a>' in page


@pytest.mark.parametrize("call", CALLS)
def test_the_calls_that_a_step_proposes_can_be_made(call: str) -> None:
    tree = ast.parse(call, mode="eval").body
    function = tree.func if isinstance(tree, ast.Call) else tree
    known: object = pkgutil.resolve_name(ast.unparse(function))
    if isinstance(tree, ast.Call):
        assert callable(known)
        if not inspect.isfunction(known):  # a detector: what it is called with, not what it wraps
            known = functools.partial(type(known).__call__, known)
        keywords = {k.arg for k in tree.keywords}
        plain = [a for a in tree.args if not isinstance(a, ast.Starred)]
        inspect.signature(known).bind(*plain, **dict.fromkeys(map(str, keywords)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seen": ""}, "'It is late': a symptom must have title, seen, and step"),
        ({"step": [{"do": "Look."}]}, "a step must have do and answers"),
        ({"step": [STEP | {"answers": [{"when": "never"}]}]}, "an answer must have when and bit"),
    ],
)
def test_a_malformed_symptom_is_refused_with_what_is_wrong(change, message, tmp_path) -> None:

    entry = SYMPTOM | change
    lines = [f"{key} = {json.dumps(entry[key])}" for key in ("title", "seen")]
    steps = ", ".join(
        "{ " + ", ".join(f"{k} = {inline(v)}" for k, v in step.items()) + " }"
        for step in entry["step"]
    )
    file = tmp_path / "symptoms.toml"
    file.write_text("[[symptom]]\n" + "\n".join(lines) + f"\nstep = [{steps}]\n", "utf8")
    with pytest.raises(symptoms.SymptomsError, match=re.escape(message)):
        symptoms.read_symptoms(file)


def inline(value: object) -> str:
    """A text, or a list of tables of texts, as TOML."""
    if isinstance(value, list):
        tables = (", ".join(f'{k} = "{v}"' for k, v in table.items()) for table in value)
        return "[" + ", ".join(f"{{ {table} }}" for table in tables) + "]"
    return f'"{value}"'


def test_an_answer_that_names_no_sharp_bit_is_refused() -> None:
    step = STEP | {"answers": [{"when": "it is there", "bit": "no-such-bit"}]}
    with pytest.raises(
        symptoms.SymptomsError, match="bit must be in the catalogue, got 'no-such-bit'"
    ):
        symptoms.symptoms_page([SYMPTOM | {"step": [step]}], _catalogue.load())


def test_every_chapter_is_reached_by_some_symptom() -> None:
    known = _catalogue.load()
    reached = {
        known[answer["bit"]].chapter
        for symptom in symptoms.read_symptoms(FILE)
        for step in symptom["step"]
        for answer in step["answers"]
        if "bit" in answer
    }
    assert not {bit.chapter for bit in known.values()} - reached
