"""Check that the steps on the page *By symptom* contain valid calls and lead to known entries."""

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


def test_symptoms_page_lists_answers_below_steps() -> None:
    page = symptoms.symptoms_page([SYMPTOM], _catalogue.load())
    title = "<code>jnp.take</code> fills a missing element with NaN, -2147483648, 255, or True"
    address = f"../{_catalogue.load()['take-fills'].page}"
    assert f'1. Look.\n\n   - It is there: <a href="{address}">{title}</a>' in page


@pytest.mark.parametrize("call", CALLS)
def test_call_in_step_matches_signature(call: str) -> None:
    tree = ast.parse(call, mode="eval").body
    function = tree.func if isinstance(tree, ast.Call) else tree
    target: object = pkgutil.resolve_name(ast.unparse(function))
    if isinstance(tree, ast.Call):
        assert callable(target)
        if not inspect.isfunction(target):
            # The call passes arguments to the detector, not to the function under test.
            target = functools.partial(type(target).__call__, target)
        keywords = {k.arg for k in tree.keywords}
        plain = [a for a in tree.args if not isinstance(a, ast.Starred)]
        inspect.signature(target).bind(*plain, **dict.fromkeys(map(str, keywords)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seen": ""}, "'It is late': a symptom must have title, seen, and step"),
        ({"step": [{"do": "Look."}]}, "a step must have do and answers"),
        ({"step": [STEP | {"answers": [{"when": "never"}]}]}, "an answer must have when and bit"),
    ],
)
def test_read_symptoms_rejects_malformed_symptom(change, message, tmp_path) -> None:
    entry = SYMPTOM | change
    lines = [f"{key} = {json.dumps(entry[key])}" for key in ("title", "seen")]
    steps = ", ".join(
        "{ " + ", ".join(f"{k} = {to_inline_toml(v)}" for k, v in step.items()) + " }"
        for step in entry["step"]
    )
    file = tmp_path / "symptoms.toml"
    file.write_text("[[symptom]]\n" + "\n".join(lines) + f"\nstep = [{steps}]\n", "utf8")
    with pytest.raises(symptoms.SymptomsError, match=re.escape(message)):
        symptoms.read_symptoms(file)


def to_inline_toml(value: object) -> str:
    """Format a string, or a list of tables with string values, as inline TOML."""
    if isinstance(value, list):
        tables = (", ".join(f'{k} = "{v}"' for k, v in table.items()) for table in value)
        return "[" + ", ".join(f"{{ {table} }}" for table in tables) + "]"
    return f'"{value}"'


def test_symptoms_page_rejects_answer_with_unknown_bit() -> None:
    step = STEP | {"answers": [{"when": "it is there", "bit": "no-such-bit"}]}
    with pytest.raises(
        symptoms.SymptomsError, match="bit must be in the catalogue, got 'no-such-bit'"
    ):
        symptoms.symptoms_page([SYMPTOM | {"step": [step]}], _catalogue.load())


def test_symptoms_lead_to_every_chapter() -> None:
    catalogue = _catalogue.load()
    reached = {
        catalogue[answer["bit"]].chapter
        for symptom in symptoms.read_symptoms(FILE)
        for step in symptom["step"]
        for answer in step["answers"]
        if "bit" in answer
    }
    assert not {bit.chapter for bit in catalogue.values()} - reached
