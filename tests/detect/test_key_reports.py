"""Test which line and how many uses the findings about PRNG keys name."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxbits import audit, detect

KEY, X = jax.random.key(0), jnp.arange(6.0)
CHECKS = ["key_reuse", "const_key"]


def _line(marker):
    """Return the number of the only line of this file with a comment."""
    lines = inspect.getsource(inspect.getmodule(_line)).splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if line.endswith(f"# {marker}"))
    return number


def _dropout(key, x):
    return x * jax.random.bernoulli(key, 0.5, x.shape)  # draws


def _model(key, x):
    for number in (10, 11):
        x = _dropout(jax.random.fold_in(key, number), x)
    return x


def accumulate(key, x):
    total = _model(key, x)  # first call
    return total + _model(key, 2 * x)  # second call


def accumulate_in_loop(key, x):
    return lax.fori_loop(0, 4, lambda i, total: total + _model(key, i * x), x)  # loop


@pytest.mark.parametrize(
    ("function", "marker"), [(accumulate, "second call"), (accumulate_in_loop, "loop")]
)
def test_reuse_in_calls_is_reported_once_at_caller(function, marker):
    (found,) = audit(function, KEY, X, checks=CHECKS).findings
    assert (found.check, found.severity) == ("key_reuse", "error")
    assert found.place.line == _line(marker)
    assert f".py:{_line('draws')}" in found.evidence


def test_evidence_names_both_callers():
    (found,) = audit(accumulate, KEY, X, checks=CHECKS).findings
    for marker in ("first call", "second call"):
        assert f"called at test_key_reports.py:{_line(marker)}" in found.evidence


def test_returned_key_is_reported_where_it_is_used():
    class Layer:
        def __call__(self, x, key):
            return x + jax.random.normal(key, x.shape), key  # uses and returns

    layer = Layer()
    (found,) = detect.key_reuse(jax.jit(lambda x, key: layer(x, key)), X, KEY)
    assert found.place.line == _line("uses and returns")


@pytest.mark.parametrize(
    ("draw", "count"),
    [
        (lambda x: x[jax.random.randint(KEY, (2,), 0, 4)], "1 draw "),
        (lambda x: jax.random.permutation(KEY, x) + jax.random.normal(KEY, x.shape), "2 draws "),
    ],
)
def test_const_key_counts_calls(draw, count):
    (found,) = detect.const_key(jax.jit(draw), X)
    assert found.evidence.startswith(count)


def test_same_literal_key_in_helper_is_reported_once():
    def helper(x):
        return x[jax.random.permutation(jax.random.key(3), x.size)]

    found = audit(lambda tree: jax.tree.map(helper, tree), {"a": X, "b": X[:3]}, checks=CHECKS)
    assert [(f.check, f.severity) for f in found.findings] == [("const_key", "warning")]


def test_antithetic_calls_get_note_with_both_lines():
    def loss(theta, key):
        return jnp.sum((theta - jax.random.normal(key, theta.shape)) ** 2)

    def difference(theta, key):
        plus = loss(theta + 0.1, key)  # plus
        minus = loss(theta - 0.1, key)  # minus
        return plus - minus

    (found,) = detect.key_reuse(difference, X, KEY)
    assert found.severity == "note"
    for marker in ("plus", "minus"):
        assert f"test_key_reports.py:{_line(marker)}" in found.evidence


def test_evaluation_of_gradients_names_function():
    def losses(theta, key):
        noisy = theta * jax.random.normal(key, theta.shape)
        return jnp.sum(noisy**2), jnp.sum(jnp.sin(noisy))

    def gradients(theta, key):
        return [jax.grad(lambda t: losses(t, key)[i])(theta) for i in range(2)]  # noqa: B023

    (found,) = detect.key_reuse(gradients, X, KEY)
    assert (found.severity, found.message) == (
        "note",
        "`losses` is evaluated 2 times with one PRNG key",
    )


def _noisy(theta, key, scale=1.0):
    return jnp.sum((theta - scale * jax.random.normal(key, theta.shape)) ** 2)


def test_fix_names_calls_that_may_share_one_child():
    def estimate(theta, key):
        noise = jax.random.uniform(key, theta.shape)
        return (_noisy(theta + noise, key) - _noisy(theta - noise, key)) * noise  # pair

    (found,) = detect.key_reuse(estimate, X, KEY)
    assert found.severity == "error"
    calls = f"the calls of `_noisy` at test_key_reports.py:{_line('pair')} may share one child"
    assert found.fix.endswith(calls)


def test_fix_says_nothing_about_calls_that_lines_do_not_distinguish():
    def gradients(theta, key):
        scales = 1.0, 1.0, 2.0
        return [jax.grad(lambda t: _noisy(t, key, scales[i]) ** (i + 1))(theta) for i in range(3)]  # noqa: B023

    (found,) = detect.key_reuse(gradients, X, KEY)
    assert found.severity == "error"
    assert "on purpose" not in found.evidence
    assert "share" not in found.fix


def test_aligned_shuffles_get_note():
    (found,) = detect.key_reuse(
        lambda key, x, y: [jax.random.permutation(key, a) for a in (x, y)], KEY, X, -X
    )
    assert (found.severity, found.message) == (
        "note",
        "one PRNG key rearranges 2 arrays in the same order",
    )


@pytest.mark.parametrize(
    ("function", "section"),
    [
        (lambda k: jax.random.split(k)[0] == jax.random.split(k, 3)[0], "has been split"),
        (lambda k: lax.fori_loop(0, 3, lambda i, s: s + jax.random.normal(k), 0.0), "every step"),
        (lambda k: jax.random.normal(k) + jax.random.uniform(k), "same numbers every time"),
    ],
)
def test_finding_refers_to_section(function, section):
    found = detect.key_reuse(function, KEY)
    assert section in found[0].reference


def _mix_with_noise(key, x):
    noise = jax.random.normal(key, x.shape)
    return x + noise * jax.random.uniform(key)  # draws again


def split_again_in_loop(key, x):
    key, _ = jax.random.split(key)
    for _ in range(2):
        _, child = jax.random.split(key)  # splits again
        x = _mix_with_noise(child, x)
    return x


def split_again_and_draw_once(key, x):
    for _ in range(3):
        first, second = jax.random.split(key)
        x = x * jax.random.uniform(first) + jax.random.normal(second)
    return x


def test_child_that_is_used_twice_is_reported_next_to_its_parent():
    found = detect.key_reuse(split_again_in_loop, KEY, X)
    assert [f.place.line for f in found] == [_line("splits again"), _line("draws again")]
    assert found[1].message == "one PRNG key is used 2 times"


def test_equal_children_of_two_splits_are_not_reported():
    (found,) = detect.key_reuse(split_again_and_draw_once, KEY, X)
    assert found.message == "one PRNG key is used 3 times"
