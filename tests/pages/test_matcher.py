"""Check that the JavaScript of the page *Errors* ranks pasted errors exactly as Python does."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from contents import stored_errors
from matcher_vectors import damage, read_vectors
from playwright.sync_api import Browser, Page

from jaxbits._catalogue import load
from jaxbits._matching import catalogue_matcher
from jaxbits._matching_rules import read_rules

VECTORS = read_vectors()
SEED = 19


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    page = browser.new_page()
    page.goto(f"{site}/reference/errors.html")
    yield page
    page.close()


def rank_in_browser(page: Page, texts: Iterable[str]) -> list[tuple[list[Any], dict[str, Any]]]:
    """Return the matches for each text, and what the page reads in it."""
    found: list[Any] = page.evaluate(
        """(texts) => {
            const read = (id) => JSON.parse(document.getElementById(id).textContent);
            const [entries, rules] = [read("finder-entries"), read("finder-rules")];
            const matcher = new jaxbitsMatcher.Matcher(entries, rules);
            return texts.map((text) => {
                const { matches, pasted } = matcher.rank(text);
                return [matches.map(({ entry, score, how }) => [entry.id, how, score]), pasted];
            });
        }""",
        list(texts),
    )
    return [tuple(one) for one in found]


def assert_same(page: Page, texts: dict[str, str]) -> None:
    """Check that Python and JavaScript give the same ids in the same order with the same scores."""
    matcher = catalogue_matcher()
    for (key, text), (matches, pasted) in zip(
        texts.items(), rank_in_browser(page, texts.values()), strict=True
    ):
        read = matcher.read(text)
        expected = matcher.rank(read)
        assert [tuple(found[:2]) for found in matches] == [
            (match.entry.id, match.how) for match in expected
        ], (key, text)
        for found, match in zip(matches, expected, strict=True):
            assert found[2] == pytest.approx(match.score, rel=0, abs=1e-9), (key, text)
        assert (pasted["main"]["name"], pasted["code"], pasted["library"], pasted["isLeak"]) == (
            read.main.name,
            read.code,
            read.library,
            read.is_leak,
        ), (key, text)


def test_page_contains_rules(page: Page) -> None:
    rules = page.evaluate("JSON.parse(document.getElementById('finder-rules').textContent)")
    assert rules == read_rules()


def test_vectors_give_the_same_in_both_languages(page: Page) -> None:
    assert_same(page, {key: vector.text for key, vector in VECTORS.items()})


def test_symptoms_give_the_same_in_both_languages(page: Page) -> None:
    texts = {}
    for bit in load().values():
        for number, symptom in enumerate(bit.symptoms):
            text = symptom.text.replace("…", " zork ")
            texts[f"{bit.id} {number}"] = f"{symptom.error}: {text}"
            texts[f"{bit.id} {number} without class"] = text
    assert_same(page, texts)


def test_stored_errors_give_the_same_in_both_languages(page: Page) -> None:
    assert_same(
        page,
        {
            f"{chapter} {number}": f"{name}: {text}"
            for number, (chapter, name, text) in enumerate(stored_errors())
        },
    )


def test_damaged_vectors_give_the_same_in_both_languages(page: Page) -> None:
    chance = random.Random(SEED)
    assert_same(
        page,
        {
            f"{key}, damaged ({number})": damage(vector.text, chance)
            for key, vector in VECTORS.items()
            for number in range(4)
        },
    )


def test_regular_expressions_compile_in_both_languages(page: Page) -> None:
    expressions = {
        expression
        for bit in load().values()
        for symptom in bit.symptoms
        for expression in (symptom.line, symptom.context, symptom.caller)
    }
    problems = page.evaluate(
        """(expressions) => expressions.filter((expression) => {
            try { new RegExp(expression); return false; } catch { return true; }
        })""",
        sorted(expressions),
    )
    assert problems == []
