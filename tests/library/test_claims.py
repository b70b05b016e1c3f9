"""Test how claims are evaluated, printed, and recorded."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import claims, made_for, raises
from jaxbits._claims import evaluate_claim

BIT = "out-of-bounds-read"


def printed_lines(capsys, statements):
    """Return the lines that `claims` prints below its first line, which is the summary."""
    claims(BIT, statements)
    return capsys.readouterr().out.splitlines()[1:]


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.bool_(True),
        jnp.array(True),
        (jnp.arange(3), np.arange(3)),
        (np.float32(0.1), 0.1),
        (float("nan"), np.nan),
        (jnp.float32(2.0), 2),
        ({"a": [1, None]}, {"a": [1, None]}),
        ("text", "text"),
        ((3,), (3,)),
        (jnp.zeros(2).dtype, jnp.float32),
        lambda: (1, 1),
        lambda: raises(KeyError, lambda: {}["x"]),
        raises(KeyError, lambda: {}["x"], "x"),
        raises("LookupError", lambda: {}["x"]),
        made_for(True, jax=">=0.1"),
    ],
)
def test_claims_marks_true_statement_as_held(capsys, value):
    assert printed_lines(capsys, {"it is so": value}) == ["✓ it is so"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (False, "saw False"),
        ((1, 2), "saw 1, expected 2"),
        ((1, True), "saw 1, expected True"),
        ((1, 1.0), "saw 1, expected 1.0"),
        ((jnp.zeros(2), jnp.zeros(3)), "saw [0. 0.], expected [0. 0. 0.]"),
        ((jnp.bfloat16(1.0), jnp.bfloat16(1.0078125)), "saw 1, expected 1.00781"),
        (([1, 2], [1]), "saw [1, 2], expected [1]"),
        (lambda: 1 / 0, "saw ZeroDivisionError: division by zero"),
        (raises(KeyError, lambda: 3), "saw no error, but 3, expected KeyError"),
        (raises(KeyError, lambda: [][1]), "saw IndexError: list index out of range"),
        (raises(KeyError, lambda: {}["x"], "y"), "expected KeyError: …y…"),
    ],
)
def test_claims_shows_false_statement_without_raising(capsys, value, message):
    line, advice = printed_lines(capsys, {"it is so": value})
    assert line.startswith("✗ it is so: saw ")
    assert message in line
    assert advice.startswith("If you changed none of the cells above")


def test_made_for_skips_claim_that_does_not_apply(capsys):
    def fail_if_called():
        raise AssertionError("the claim does not apply here, but `claims` called it")

    assert printed_lines(capsys, {"later": made_for(fail_if_called, jax=">=99")}) == [
        "– later (applies only with jax>=99)"
    ]
    assert printed_lines(capsys, {"there": made_for(fail_if_called, backend="tpu")}) == [
        "– there (applies only with backend tpu)"
    ]
    assert (
        printed_lines(capsys, {"with it": made_for(fail_if_called, no_such_package=">=1")})[0][0]
        == "–"
    )


@pytest.mark.parametrize("value", ["text", None, [], {}, (1, 2, 3)])
def test_claims_rejects_statement_without_check(value):
    with pytest.raises(TypeError, match="must be a boolean, a pair"):
        claims(BIT, {"it is so": value})


def test_claims_and_made_for_name_invalid_argument():
    with pytest.raises(KeyError, match="did you mean out-of-bounds-read"):
        claims("out-of-bounds-reed", {})
    with pytest.raises(ValueError, match="needs a backend or a package"):
        made_for(True)
    with pytest.raises(ValueError, match=r"jax must be a version specifier .* got 'new'"):
        made_for(True, jax="new")


def test_claims_records_outcomes_if_jaxbits_record_is_set(tmp_path, monkeypatch, capsys):
    file = tmp_path / "claims.jsonl"
    monkeypatch.setenv("JAXBITS_RECORD", str(file))
    claims(BIT, {"yes": True, "no": (1, 2), "later": made_for(True, jax=">=99")})
    outcomes = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(outcome["claim"], outcome["outcome"]) for outcome in outcomes] == [
        ("yes", "held"),
        ("no", "failed"),
        ("later", "not made"),
    ]
    assert outcomes[1]["seen"] == "1"
    assert outcomes[1]["expected"] == "2"
    assert outcomes[2]["made_for"] == "jax>=99"


def test_evaluate_claim_reports_leaked_tracer_as_failed():
    import jax

    leaked = []
    jax.jit(lambda x: leaked.append(x))(1.0)
    assert evaluate_claim(BIT, "leaks", lambda: leaked[0] + 1 > 0).outcome == "failed"
