"""Test that an audit restores the user's state and reports errors instead of raising them."""

from __future__ import annotations

import builtins
import functools
import json
import os
import random
import sys
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import assert_clean, audit, detect
from jaxbits._analysis import resource_limits
from jaxbits._report import AuditError
from jaxbits.detect import detectors

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
def test_audit_restores_state(fail, capsys):
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
    numpy_after = np.random.get_state(legacy=False)["state"]
    assert numpy_after["pos"] == numpy_before["pos"]
    assert capsys.readouterr() == ("", "")
    assert {f.check for f in report} >= {"leak", "side_effect", "iterator"}
    assert bool(report.notes) == fail


def test_audit_copies_arguments():
    def spoil(x, tree):
        x[0] = 9
        tree["a"] = 1
        return jnp.asarray(x)

    array, tree = np.zeros(2), {"b": 2.0}
    audit(spoil, array, tree)
    assert array.tolist() == [0, 0]
    assert tree == {"b": 2.0}


def test_audit_keeps_donated_arguments():
    x = jnp.arange(3.0)
    audit(jax.jit(lambda x: x + 1, donate_argnums=0), x)
    assert not x.is_deleted()


class DonatingLearner:
    def __init__(self):
        self.w = jnp.ones(3)

    def update(self, x):
        self.w, loss = donating_step(self.w, x)
        return loss


@functools.partial(jax.jit, donate_argnames="w")
def donating_step(w, x):
    return w - 0.1 * x, (w * x).sum()


@pytest.mark.parametrize("was_called", [False, True])
def test_audit_keeps_donated_state(was_called):
    learner = DonatingLearner()
    if was_called:
        learner.update(jnp.ones(3))
    assert audit(learner.update, jnp.ones(3)).ok
    learner.update(jnp.ones(3))


def test_side_effect_ignores_jit_cache():
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
def test_audit_reports_on_any_callable(fn, args, kwargs):
    report = audit(fn, *args, **kwargs)
    json.dumps(report.to_dict())
    assert "jaxbits-audit" in report._repr_html_()
    assert not any("failed" in note for note in report.notes), report.notes


def test_audit_rejects_invalid_arguments():
    def generator(x):
        yield x

    with pytest.raises(TypeError, match="generator"):
        audit(generator, 1.0)
    with pytest.raises(TypeError, match="fn must be a function, got int"):
        audit(3)
    with pytest.raises(ValueError, match=r"names of detectors, 'big_const', .*; got 'oob'"):
        audit(jnp.sin, 1.0, checks=["oob"])
    with pytest.raises(ValueError, match="checks must be a list such as"):
        audit(jnp.sin, 1.0, checks="leak")
    with pytest.raises(KeyError, match="check must be one that ran"):
        audit(jnp.sin, 1.0, checks=["leak"])["recompile"]
    with pytest.raises(ValueError, match=r"severity must be one of .*; got 'bad'"):
        audit(jnp.sin, 1.0, checks=["leak"]).raise_if("bad")


def test_audit_adds_note_about_failed_check(monkeypatch):
    def fail(target):
        raise RuntimeError("the check's own fault")

    monkeypatch.setattr(detectors()["leak"], "find", fail)
    report = audit(jnp.sin, 1.0)
    assert not report.ok
    assert report.notes == ("leak failed: RuntimeError: the check's own fault",)
    assert report.gaps[0].case == "partial"


def test_ignore_comment_silences_check():
    def ignored(x):
        print("x")  # jaxbits: ignore[leak, side_effect]
        return x

    def reported(x):
        print("x")  # jaxbits: ignore[leak]
        return x

    assert detect.side_effect(ignored, 1.0) == []
    assert len(detect.side_effect(reported, 1.0)) == 1


def test_assert_clean():
    def noisy(x):
        print(x)
        return x

    assert_clean(noisy, 1.0, allow=["side_effect"])
    with pytest.raises(AuditError, match="`print` runs only while JAX traces"):
        assert_clean(noisy, 1.0)


def test_raise_if():
    report = audit(lambda x: [print("x"), x], 1.0)
    report.raise_if("error")
    with pytest.raises(AuditError):
        report.raise_if("warning")


def test_report_repr_html_escapes_findings():
    report = audit(lambda x, i: x[i] if "<b>" else x, jnp.ones(3), jnp.int32(4))
    assert "<b>&quot;" not in report._repr_html_()
    assert "&lt;b&gt;" in report._repr_html_()


@pytest.mark.parametrize("fn", [jnp.tril_indices_from, jnp.triu_indices_from, jnp.cov, jnp.sort])
def test_out_of_bounds_ignores_indexing_inside_jax(fn):
    assert detect.out_of_bounds(fn, jnp.ones((3, 4))) == []


def test_control_flow_names_argument():
    found = detect.control_flow(lambda x, flag: x if flag else -x, 1.0, True)
    assert found[0].evidence == "TracerBoolConversionError, from argument flag"
    assert "static_argnames='flag'" in found[0].fix


def test_recompile_counts_compilations_after_listeners_are_cleared():
    calls = [(jnp.ones(2),), (jnp.ones(3),)]
    jax.monitoring.clear_event_listeners()
    assert detect.recompile(jax.jit(jnp.cos), calls=calls)


def test_audit_accepts_global_flax_module():
    import flax.linen as nn

    model = nn.Dense(2)
    params = model.init(jax.random.key(0), jnp.ones((1, 3)))
    report = audit(lambda p, x: model.apply(p, x), params, jnp.ones((1, 3)))
    assert report.ok, str(report)


def exits(x):
    sys.exit(3)


def skips_test(x):
    pytest.skip("a test's own way to end")


def recurses(x):
    return recurses(x)


def out_of_memory(x):
    raise MemoryError("no more")


def calls_input(x):
    return x * float(input("rate? "))


def reads_stdin(x):
    return x * float(sys.stdin.readline())


@pytest.mark.parametrize(
    ("fn", "reason"),
    [
        (exits, "Exited: SystemExit 3"),
        (skips_test, "Exited: Skipped a test's own way to end"),
        (recurses, "RecursionError"),
        (out_of_memory, "MemoryError: no more"),
        (calls_input, "EOFError: `input` has nothing to read"),
        (reads_stdin, "ValueError: could not convert string to float"),
    ],
)
def test_audit_reports_on_function_that_cannot_be_traced(fn, reason):
    streams = sys.stdin, sys.stdout, sys.stderr, builtins.input
    report = audit(fn, 1.0)
    (gap,) = report.gaps
    assert gap.case == "raises"
    assert gap.error.startswith(reason)
    assert gap.place.function == fn.__name__
    assert gap.place.text.startswith(("sys.exit", "pytest.skip", "return", "raise", "def recurses"))
    assert not report.ok
    assert (sys.stdin, sys.stdout, sys.stderr, builtins.input) == streams


@pytest.mark.parametrize("fn", [calls_input, reads_stdin])
def test_side_effect_reports_reading_input(fn):
    with pytest.warns(UserWarning, match="side_effect may have missed something: the function r"):
        assert detect.side_effect(fn, 1.0)


def test_audit_propagates_ctrl_c_and_restores_state():
    def interrupted(x):
        kept.append(x)
        raise KeyboardInterrupt

    streams = sys.stdout, sys.getprofile()
    with pytest.raises(KeyboardInterrupt):
        audit(interrupted, 1.0)
    assert kept == []
    assert (sys.stdout, sys.getprofile()) == streams


@pytest.mark.parametrize("error", [RecursionError, MemoryError, SystemExit, GeneratorExit])
def test_audit_notes_any_exception_in_check(monkeypatch, error):
    def fail(target):
        raise error("of the check")

    monkeypatch.setattr(detectors()["leak"], "find", fail)
    assert audit(jnp.sin, 1.0).notes == (f"leak failed: {error.__name__}: of the check",)


def test_audit_propagates_ctrl_c_in_check(monkeypatch):
    def fail(target):
        raise KeyboardInterrupt

    monkeypatch.setattr(detectors()["leak"], "find", fail)
    with pytest.raises(KeyboardInterrupt):
        audit(jnp.sin, 1.0)


class AsyncStep:
    async def step(self, x):
        return x

    def __call__(self, x):
        yield x


async def async_function(x):
    return x


async def async_generator(x):
    yield x


@pytest.mark.parametrize(
    ("fn", "kind"),
    [
        (async_function, "an async function"),
        (async_generator, "an async function"),
        (functools.partial(async_function), "an async function"),
        (AsyncStep().step, "an async function"),
        (AsyncStep(), "a generator function"),
    ],
)
def test_audit_and_leak_reject_async_and_generators(fn, kind):
    with pytest.raises(TypeError, match=f"fn must .*, got {kind}"):
        audit(fn, 1.0)
    with pytest.raises(TypeError, match=f"fn must .*, got {kind}"):
        detect.leak(fn, 1.0)


def test_side_effect_reports_thread():
    def threads(x):
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        return x

    (found,) = audit(threads, 1.0)["side_effect"]
    assert "threading.start" in found.message


def test_audit_restores_process_settings(tmp_path):
    def switches(x):
        jax.config.update("jax_debug_nans", True)
        np.seterr(all="raise")
        os.chdir(tmp_path)
        sys.setrecursionlimit(5000)
        return x

    def current_settings():
        return jax.config.jax_debug_nans, np.geterr(), Path.cwd(), sys.getrecursionlimit()

    before = current_settings()
    audit(switches, 1.0)
    assert current_settings() == before


def test_audit_does_not_consume_iterator_arguments():
    numbers, letters = iter([1.0, 2.0]), (n for n in (3.0, 4.0))
    pairs = zip([1.0, 2.0], [3.0, 4.0], strict=True)
    report = audit(
        lambda x, a, b, c: x + next(a) + next(c)[0] + next(b), 1.0, numbers, letters, pairs
    )
    assert (next(numbers), next(letters)) == (1.0, 3.0)
    assert next(pairs) == (1.0, 3.0)
    assert report["iterator"]


global_pairs = zip([1.0, 2.0], [3.0, 4.0], strict=True)


def test_audit_restores_global_zip_iterator():
    audit(lambda x: x + next(global_pairs)[0], 1.0)
    assert next(global_pairs) == (1.0, 3.0)


deep = {"a": [{"b": [{"c": [{"d": [{"e": []}]}]}]}]}


def test_leak_finds_tracer_in_nested_global():
    def stores(x):
        deep["a"][0]["b"][0]["c"][0]["d"][0]["e"].append(x)
        return x

    (found,) = detect.leak(stores, 1.0)
    assert "`deep`" in found.message
    assert deep == {"a": [{"b": [{"c": [{"d": [{"e": []}]}]}]}]}


many = [[n] for n in range(6000)]


def test_audit_notes_state_beyond_snapshot_limit():
    report = audit(lambda x: x * len(many), 1.0, checks=["leak"])
    assert any("5000" in note for note in report.notes), report.notes
    assert audit(lambda x: x, 1.0).notes == ()


large = np.zeros(1_000_000)


def test_audit_makes_large_global_array_read_only():
    def writes(x):
        large[0] += 1
        return x

    report = audit(writes, 1.0)
    assert large[0] == 0
    assert large.flags.writeable
    assert "read-only" in str(report)
    assert report.gaps


def test_audit_traces_large_arguments_without_copying(monkeypatch):
    monkeypatch.setattr(resource_limits, "MAX_COPY_BYTES", 1000)
    x, i = np.zeros(1000), jnp.int32(2000)

    def read(x, i):
        return jnp.asarray(x)[i] * len([print("traced")])

    report = audit(read, x, i, calls=[(x, i), (x, i)])
    assert report["side_effect"]
    (note,) = [note for note in report.notes if note.startswith("recompile ran only in part")]
    assert "the arguments take up 0.0 GiB, but are copied only up to" in note


def test_stale_global_notes_names_beyond_limit():
    scope: dict = {"jnp": jnp}
    names = [f"n{number}" for number in range(30)]
    scope |= {name: [1.0] for name in names}
    code = "def f(x):\n    return x + " + " + ".join(f"{name}[0]" for name in names)
    exec(compile(code, "many_names.py", "exec"), scope)
    (note,) = audit(scope["f"], 1.0, checks=["stale_global"]).notes
    assert note == ("stale_global: 24 names were tried, but not " + ", ".join(names[24:]))


def test_stale_global_ignores_function_that_fails_to_trace():
    def fails(x):
        return x * kept[counts["calls"]]

    with pytest.warns(UserWarning, match="stale_global may have missed something: the function r"):
        assert detect.stale_global(fails, 1.0) == []


def test_audit_keeps_written_file(tmp_path):
    def writes(x):
        (tmp_path / "log").write_text("x")
        return x

    report = audit(writes, 1.0)
    assert report["side_effect"]
    assert (tmp_path / "log").exists()


def test_audit_accepts_nnx_train_step():
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.linear = nnx.Linear(3, 4, rngs=rngs)
            self.norm = nnx.BatchNorm(4, rngs=rngs)
            self.dropout = nnx.Dropout(0.5, rngs=rngs)
            self.out = nnx.Linear(4, 1, rngs=rngs)

        def __call__(self, x):
            return self.out(self.dropout(self.norm(self.linear(x))))

    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        optimizer.update(model, grads)
        return loss

    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
    x, y = jnp.ones((8, 3)), jnp.ones((8, 1))
    before = [np.asarray(jax.random.key_data(v) if _is_key(v) else v) for v in _values(model)]
    for fn in (step, nnx.jit(step)):
        report = audit(fn, model, optimizer, x, y)
        assert report.ok, str(report)
        assert not report.notes
    after = [np.asarray(jax.random.key_data(v) if _is_key(v) else v) for v in _values(model)]
    assert all(map(np.array_equal, before, after))
    assert int(optimizer.step[...]) == 0
    assert np.isfinite(nnx.jit(step)(model, optimizer, x, y))


def _values(model):
    from flax import nnx

    return jax.tree.leaves(nnx.state(model))


def _is_key(value):
    return jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def test_audit_accepts_linen_and_optax_train_step():
    import flax.linen as nn
    import optax

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.relu(nn.Dense(4)(x)))

    model, tx = Net(), optax.adamw(0.1)
    x, y = jnp.ones((8, 3)), jnp.ones((8, 1))
    params = model.init(jax.random.key(0), x)
    state = tx.init(params)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, x, y):
        loss, grads = jax.value_and_grad(lambda p: ((model.apply(p, x) - y) ** 2).mean())(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    report = audit(step, params, state, x, y)
    assert report.ok, str(report)
    assert not report.notes
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves((params, state)))
