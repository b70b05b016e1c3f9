"""Whatever is audited: nothing of the user's is harmed, and nothing is raised."""

from __future__ import annotations

import builtins
import functools
import json
import os
import random
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import assert_clean, audit, detect
from jaxbits.detect.detector import DETECTORS
from jaxbits.report import AuditError

kept: list = []
counts = {"calls": 0, "inner": [1]}
steps = iter(range(10))
weights = np.ones(3)


def messy(x, fail=False):
    kept.append(x)
    counts["calls"] += 1
    counts["inner"].append(2)
    weights[0] += 1
    next(steps)
    os.environ["JAXBITS_TEST"] = "1"
    random.random()
    np.random.normal()
    print("messy")
    if fail:
        raise RuntimeError("on purpose")
    return x * weights.sum()


@pytest.mark.parametrize("fail", [False, True])
def test_state_is_put_back(fail, capsys):
    before = (sys.getprofile(), builtins.print, random.getstate(), sys.stdout)
    numpy_before = np.random.get_state(legacy=False)["state"]
    report = audit(functools.partial(messy, fail=fail), jnp.ones(3))
    assert kept == []
    assert counts == {"calls": 0, "inner": [1]}
    assert weights.tolist() == [1, 1, 1]
    assert next(steps) == 0
    globals()["steps"] = iter(range(10))
    assert "JAXBITS_TEST" not in os.environ
    assert before == (sys.getprofile(), builtins.print, random.getstate(), sys.stdout)
    now = np.random.get_state(legacy=False)["state"]
    assert now["pos"] == numpy_before["pos"]
    assert capsys.readouterr() == ("", "")
    assert {f.check for f in report} >= {"leak", "side_effect", "iterator"}
    assert bool(report.notes) == fail


def test_arguments_are_copied():
    def spoil(x, tree):
        x[0] = 9
        tree["a"] = 1
        return jnp.asarray(x)

    array, tree = np.zeros(2), {"b": 2.0}
    audit(spoil, array, tree)
    assert array.tolist() == [0, 0]
    assert tree == {"b": 2.0}


def test_donated_arguments_survive():
    x = jnp.arange(3.0)
    audit(jax.jit(lambda x: x + 1, donate_argnums=0), x)
    assert not x.is_deleted()


def test_caches_do_not_hide_what_tracing_does():
    @jax.jit
    def f(x):
        print("traced")
        return x

    f(jnp.ones(2))
    assert detect.side_effect(f, jnp.ones(2))


class Holder:
    rate = 2.0

    def method(self, x):
        return x * 2

    def __call__(self, x):
        return x + 1


@pytest.mark.parametrize(
    ("fn", "args", "kwargs"),
    [
        (Holder().method, (1.0,), {}),
        (Holder(), (1.0,), {}),
        (jnp.sin, (jnp.ones(3),), {}),
        (functools.partial(jnp.multiply, 2.0), (jnp.ones(3),), {}),
        (lambda x, *, by=1: x * by, (1.0,), {"by": 3}),
        (lambda x: None, (1.0,), {}),
        (jax.jit(lambda x, n: x * n, static_argnums=1), (jnp.ones(2), 3), {}),
        (jax.jit(lambda x, mode="a": x, static_argnames="mode"), (1.0,), {"mode": "b"}),
        (lambda x, n: jnp.zeros(n) + x, (1.0, 3), {}),
        (lambda: jnp.ones(3), (), {}),
        (lambda k: jax.random.normal(k), (jax.random.key(0),), {}),
        (lambda x: x if x > 0 else -x, (jnp.float32(1),), {}),
        (lambda s: len(s), ("text",), {}),
    ],
)
def test_any_function_gets_a_report(fn, args, kwargs):
    report = audit(fn, *args, **kwargs)
    json.dumps(report.to_dict())
    assert "jaxbits-audit" in report._repr_html_()
    assert not any("failed" in note for note in report.notes), report.notes


def test_refusals_say_what_was_wrong():
    def generator(x):
        yield x

    with pytest.raises(TypeError, match="generator"):
        audit(generator, 1.0)
    with pytest.raises(TypeError, match="fn was int, and should be a function"):
        audit(3)
    with pytest.raises(ValueError, match="checks has 'oob', and should have some of out_of_bounds"):
        audit(jnp.sin, 1.0, checks=["oob"])
    with pytest.raises(ValueError, match="should be a list"):
        audit(jnp.sin, 1.0, checks="leak")
    with pytest.raises(KeyError, match="one that ran"):
        audit(jnp.sin, 1.0, checks=["leak"])["recompile"]
    with pytest.raises(ValueError, match="severity was 'bad'"):
        audit(jnp.sin, 1.0, checks=["leak"]).raise_if("bad")


def test_a_check_that_fails_is_a_note(monkeypatch):
    def fail(subject):
        raise RuntimeError("the check's own fault")

    monkeypatch.setattr(DETECTORS["leak"], "find", fail)
    report = audit(jnp.sin, 1.0)
    assert report.ok
    assert report.notes == ("leak failed: RuntimeError: the check's own fault",)


def test_a_line_can_be_ignored():
    def shown(x):
        print("x")  # jaxbits: ignore[leak, side_effect]
        return x

    def other(x):
        print("x")  # jaxbits: ignore[leak]
        return x

    assert detect.side_effect(shown, 1.0) == []
    assert len(detect.side_effect(other, 1.0)) == 1


def test_assert_clean():
    def noisy(x):
        print(x)
        return x

    assert_clean(noisy, 1.0, allow=["side_effect"])
    with pytest.raises(AuditError, match="`print` runs while tracing"):
        assert_clean(noisy, 1.0)


def test_raise_if():
    report = audit(lambda x: [print("x"), x], 1.0)
    report.raise_if("error")
    with pytest.raises(AuditError):
        report.raise_if("warning")


def test_findings_escape_html():
    report = audit(lambda x, i: x[i] if "<b>" else x, jnp.ones(3), jnp.int32(4))
    assert "<b>&quot;" not in report._repr_html_()
    assert "&lt;b&gt;" in report._repr_html_()


@pytest.mark.parametrize("fn", [jnp.tril_indices_from, jnp.triu_indices_from, jnp.cov, jnp.sort])
def test_a_librarys_own_indexing_is_no_alarm(fn):
    assert detect.out_of_bounds(fn, jnp.ones((3, 4))) == []


def test_an_argument_is_named():
    found = detect.control_flow(lambda x, flag: x if flag else -x, 1.0, True)
    assert found[0].evidence == "TracerBoolConversionError, from argument flag"
    assert "static_argnames='flag'" in found[0].fix


def test_counters_survive_that_listeners_are_cleared():
    calls = [(jnp.ones(2),), (jnp.ones(3),)]
    jax.monitoring.clear_event_listeners()
    assert detect.recompile(jax.jit(jnp.cos), calls=calls)


def test_a_flax_module_is_no_changing_global():
    import flax.linen as nn

    model = nn.Dense(2)
    params = model.init(jax.random.key(0), jnp.ones((1, 3)))
    report = audit(lambda p, x: model.apply(p, x), params, jnp.ones((1, 3)))
    assert report.ok, str(report)
