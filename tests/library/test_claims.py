import json

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import claims, made_for, raises
from jaxbits._claims import evaluate_claim

BIT = "out-of-bounds-read"


def lines(capsys, statements):
    """What `claims` prints below its first line, the summary."""
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
def test_what_is_true_holds(capsys, value):
    assert lines(capsys, {"it is so": value}) == ["✓ it is so"]


@pytest.mark.parametrize(
    ("value", "seen"),
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
def test_what_is_false_is_shown_and_not_raised(capsys, value, seen):
    line, advice = lines(capsys, {"it is so": value})
    assert line.startswith("✗ it is so: saw ")
    assert seen in line
    assert advice.startswith("If you changed none of the cells above")


def test_a_claim_made_elsewhere_is_neither_checked_nor_denied(capsys):
    def never():
        raise AssertionError("called where the claim is not made")

    assert lines(capsys, {"later": made_for(never, jax=">=99")}) == [
        "– later (applies only with jax>=99)"
    ]
    assert lines(capsys, {"there": made_for(never, backend="tpu")}) == [
        "– there (applies only with backend tpu)"
    ]
    assert lines(capsys, {"with it": made_for(never, no_such_package=">=1")})[0][0] == "–"


@pytest.mark.parametrize("nothing", ["text", None, [], {}, (1, 2, 3)])
def test_a_claim_without_a_check_is_refused(nothing):
    with pytest.raises(TypeError, match="must be a boolean, a pair"):
        claims(BIT, {"it is so": nothing})


def test_wrong_arguments_are_named():
    with pytest.raises(KeyError, match="did you mean out-of-bounds-read"):
        claims("out-of-bounds-reed", {})
    with pytest.raises(ValueError, match="needs a backend or a package"):
        made_for(True)
    with pytest.raises(ValueError, match=r"jax must be a version specifier .* got 'new'"):
        made_for(True, jax="new")


def test_outcomes_are_recorded_where_asked_for(tmp_path, monkeypatch, capsys):
    record = tmp_path / "claims.jsonl"
    monkeypatch.setenv("JAXBITS_RECORD", str(record))
    claims(BIT, {"yes": True, "no": (1, 2), "later": made_for(True, jax=">=99")})
    written = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(w["claim"], w["outcome"]) for w in written] == [
        ("yes", "held"),
        ("no", "failed"),
        ("later", "not made"),
    ]
    assert written[1]["seen"] == "1"
    assert written[1]["expected"] == "2"
    assert written[2]["made_for"] == "jax>=99"


def test_a_leaking_tracer_in_a_claim_does_not_stop_the_notebook():
    import jax

    kept = []
    jax.jit(lambda x: kept.append(x))(1.0)
    assert evaluate_claim(BIT, "leaks", lambda: kept[0] + 1 > 0).outcome == "failed"
