"""Every exercise, both ways: stubs fail, solutions pass, foreseen mistakes are told apart."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import jaxbits
from jaxbits import xor
from jaxbits.exercises import check, exercise, exercises, hint, solution

ALL = sorted(exercises())


def float_of_max(x, factor):
    scaled = x * factor
    return scaled, float(jnp.abs(scaled).max())


LOGGED = []


def log_outside(x, factor):
    scaled = x * factor
    LOGGED.append(jnp.abs(scaled).max())
    return scaled, LOGGED[0]


def traces_by_shape(function, calls):
    return len({args[0].shape for args in calls if hasattr(args[0], "shape")})


def traces_of_one_jit(function, calls, seen=None, kept=[]):  # noqa: B006
    def counted(*args):
        kept.append(1)
        return function(*args)

    before = len(kept)
    for args in calls:
        CACHE.setdefault(id(function), jax.jit(counted))(*args)
    return len(kept) - before


CACHE: dict = {}


def python_guard(table, i, default):
    if i < 0 or i >= len(table):
        return default
    return table[i]


def losses(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


def masked(logits, labels):
    return jnp.where(labels >= 0, losses(logits, labels), 0.0)


def naive(logits, labels):
    known = (labels >= 0) & (labels < 4)
    p = jax.nn.softmax(logits)[jnp.arange(3), jnp.where(known, labels, 0)]
    return jnp.where(known, -jnp.log(p), 0.0).sum() / jnp.maximum(known.sum(), 1)


SOLUTION = exercises()["out-of-bounds/2"].solution


def slide(x, start, size):
    return jax.lax.dynamic_slice(x, (start,), (size,))


def step_up(params, x, y, loss_of):
    loss, slopes = jax.value_and_grad(loss_of)(params, x, y)
    return jax.tree.map(lambda p, g: p + 0.1 * g, params, slopes), loss


def step_then_loss(params, x, y, loss_of):
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_of)(params, x, y))
    return new, loss_of(new, x, y)


def python_epoch(step, params, inputs, labels):
    losses = []
    for x, y in zip(inputs, labels, strict=True):
        params, loss = step(params, x, y)
        losses.append(loss)
    return params, jnp.stack(losses)


def forgetful(params, grads, tx):
    for grad in grads:
        params = params + tx.update(grad, tx.init(params), params)[0]
    return params


def from_scratch(path, tx, loader, epochs):
    return xor.fit(xor.create_state(0, tx=tx), loader, epochs=epochs, progress=False)[0]


def all_epochs_again(path, tx, loader, epochs):
    state = xor.restore(path, xor.create_state(0, tx=tx))
    return xor.fit(state, loader, epochs=epochs, progress=False)[0]


def half_known(path, tx, loader, epochs):
    state = xor.restore(path, xor.create_state(0, tx=tx))
    return xor.fit(state, loader, epochs=epochs, first_epoch=epochs // 2, progress=False)[0]


WRONG = {
    "xor/1": [
        (lambda samples: [np.stack(part) for part in zip(*samples, strict=True)], "returns a list"),
        (
            lambda samples: torch.utils.data.default_collate(samples),
            "it returns a list",
        ),
        (
            lambda samples: tuple(torch.utils.data.default_collate(samples)),
            "its inputs are torch.Tensor",
        ),
        (
            lambda samples: tuple(np.array(p, np.float64) for p in zip(*samples, strict=True)),
            "the inputs were float32",
        ),
    ],
    "xor/2": [
        (step_up, "it climbs"),
        (step_then_loss, "(before the step)"),
        (lambda p, x, y, f: jax.grad(f)(p, x, y), "should return a tuple"),
        (lambda p, x, y, f: step_then_loss(p, x, y, f)[::-1], "the loss comes first"),
    ],
    "xor/3": [
        (python_epoch, "a loop, unrolled"),
        (
            lambda step, p, x, y: jax.lax.scan(lambda p, b: step(p, *b), p, (x, y), unroll=True),
            "a loop, unrolled",
        ),
        (
            lambda step, p, x, y: (p, jax.vmap(lambda x, y: step(p, x, y)[1])(x, y)),
            "the losses are",
        ),
    ],
    "xor/4": [
        (forgetful, "the new state is dropped"),
        (
            lambda params, grads, tx: params - 0.1 * grads.sum(axis=0),
            "with optax.sgd(0.1, momentum",
        ),
        (lambda p, g, tx: p + tx.update(g[0], tx.init(p), p)[0], "one for each row of grads"),
    ],
    "xor/5": [
        (all_epochs_again, "it ends at step 20, an unbroken training at 16"),
        (from_scratch, "it trains from the start"),
        (half_known, "it ends at step"),
        (lambda *args: from_scratch(*args).params, "should return the state"),
    ],
    "tracing/1": [
        (lambda function, calls: len(calls), "five calls with one shape are traced once"),
        (traces_by_shape, "one shape, but two dtypes"),
        (lambda function, calls: "two", "should return a whole number"),
        (traces_of_one_jit, "begin afresh each time"),
    ],
    "tracing/2": [
        (float_of_max, "it raises ConcretizationTypeError"),
        (log_outside, "should be"),
        (lambda x, factor: x * factor, "should return a pair"),
    ],
    "tracing/3": [
        (lambda params: sum(jnp.sum(v**2) for v in params.values()), "it raises"),
        (lambda params: jax.tree.map(lambda v: jnp.sum(v**2), params), "should be 14.0"),
        (
            lambda params: jax.tree.reduce(
                jnp.add, jax.tree.map(lambda v: jnp.sum(v**2), params), None
            ),
            "it raises",
        ),
        (
            lambda params: jnp.float32(sum(float(jnp.sum(v**2)) for v in jax.tree.leaves(params))),
            "under jit, for",
        ),
        (
            lambda params: sum(
                (jnp.linalg.norm(v) ** 2 for v in jax.tree.leaves(params)), jnp.float32(0)
            ),
            "the slope of 0² is 0",
        ),
    ],
    "out-of-bounds/1": [
        (lambda table, i, default: table[i], "it returns 30.0, should be -1.0"),
        (
            lambda table, i, default: table.at[i].get(mode="fill", fill_value=default),
            "a negative index has no row here",
        ),
        (python_guard, "under jit, for"),
        (
            lambda table, i, default: jnp.where((i >= 0) & (i < 3), table[i], default),
            "this table has five rows",
        ),
        (
            lambda table, i, default: jnp.nan_to_num(
                table.at[i].get(mode="fill", wrap_negative_indices=False), nan=default
            ),
            "a NaN in the table stays one",
        ),
    ],
    "out-of-bounds/2": [
        (lambda s, labels: losses(s, labels).mean(), "a label of -100 is not a class"),
        (lambda s, labels: masked(s, labels).mean(), "divides by 3"),
        (lambda s, labels: jnp.nanmean(losses(s, labels)), "a label of -1 is no class"),
        (
            lambda s, labels: masked(s, labels).sum() / (labels >= 0).sum(),
            "4 classes end at label 3",
        ),
        (
            lambda s, labels: jax.lax.stop_gradient(SOLUTION(s, labels)),
            "gradient is wrong in the rows kept",
        ),
        (lambda s, labels: naive(s, labels), "large logits are no infinity"),
    ],
    "out-of-bounds/3": [
        (slide, "slid back into the array"),
        (lambda x, start, size: x[start : start + size], "should be"),
        (
            lambda x, start, size: jnp.take(x, start + jnp.arange(size), fill_value=jnp.nan),
            "no element before the first",
        ),
        (
            lambda x, start, size: jax.lax.dynamic_slice(
                jnp.pad(x, size, constant_values=jnp.nan), (start + size,), (size,)
            ),
            "that is before the first element",
        ),
    ],
}


@pytest.mark.parametrize("id", ALL)
def test_a_stub_is_not_written_yet(id):
    task = exercise(id)
    assert "not written yet" in task.problem(task.stub)


@pytest.mark.parametrize("id", ALL)
def test_the_solution_passes(id, capsys):
    check(id, exercise(id).solution)
    assert capsys.readouterr().out == f"✓ {id}: {exercise(id).title}\n"


@pytest.mark.parametrize("id", ALL)
def test_the_printed_solution_passes_under_the_name_of_the_stub(id, capsys):
    solution(id)
    source = capsys.readouterr().out
    task = exercise(id)
    names = {"jax": jax, "jnp": jnp, "np": np, "lax": jax.lax}
    exec("from __future__ import annotations\n" + source, names)
    assert task.problem(names[task.stub.__name__]) is None


@pytest.mark.parametrize(
    ("id", "answer", "message"), [(id, *case) for id in WRONG for case in WRONG[id]]
)
def test_a_foreseen_mistake_gets_the_message_meant_for_it(id, answer, message):
    LOGGED.clear()
    assert message in exercise(id).problem(answer)


def test_every_exercise_has_at_least_two_foreseen_mistakes():
    assert sorted(WRONG) == ALL
    assert all(len(cases) >= 2 for cases in WRONG.values())


def crash(*args):
    raise MemoryError("boom")


@pytest.mark.parametrize("id", ALL)
@pytest.mark.parametrize(
    "answer",
    [
        3,
        None,
        "text",
        crash,
        lambda *args: sys.exit(),
        sys.exit,
        lambda: 1,
        lambda *args: None,
        lambda *args: object(),
        lambda *args: np.array(["text"], object),
        lambda *args: {"a": 1},
    ],
)
def test_no_wrong_answer_makes_check_raise(id, answer, capsys):
    check(id, answer)
    assert capsys.readouterr().out.startswith(f"○ {id}: ")


def test_a_jax_error_of_an_answer_is_explained():
    said = exercise("out-of-bounds/1").problem(python_guard)
    assert jaxbits.load()["value-needed-while-tracing"].title in said


@pytest.mark.parametrize(
    ("id", "answer"),
    [
        ("tracing/3", lambda params: sum(jnp.sum(v**2) for v in jax.tree.leaves(params))),
        ("tracing/3", lambda params: optax.tree.norm(params, squared=True)),
        ("tracing/2", lambda x, f: [x * f, jnp.max(jnp.abs(x * f))]),
        ("out-of-bounds/2", lambda s, t: masked_mean(s, t)),
        (
            "out-of-bounds/1",
            lambda table, i, default: jnp.where(
                (i < 0) | (i >= len(table)), default, table[jnp.clip(i, 0, len(table) - 1)]
            ),
        ),
    ],
)
def test_a_right_answer_of_another_kind_passes(id, answer):
    assert exercise(id).problem(answer) is None


def masked_mean(logits, labels):
    known = (labels >= 0) & (labels < logits.shape[1])
    total = losses(logits, jnp.clip(labels, 0, logits.shape[1] - 1)).sum(where=known)
    return total / jnp.maximum(known.sum(), 1)


def test_hints_come_one_by_one_and_end(capsys):
    import jaxbits.exercises.core as core

    core._hints_given.clear()
    for _ in range(5):
        hint("out-of-bounds/1")
    said = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in said[:3]] == ["Hint 1", "Hint 2", "Hint 3"]
    assert (
        said[3]
        == said[4]
        == 'That was the last hint. solution("out-of-bounds/1") shows one way to do it.'
    )


def test_an_unknown_exercise_is_answered_with_the_near_ones():
    for verb in (hint, solution, lambda id: check(id, max)):
        with pytest.raises(KeyError, match="there are out-of-bounds/1, out-of-bounds/2"):
            verb("out-of-bounds/9")
    with pytest.raises(KeyError, match="no exercise 'nothing/1'; there are"):
        exercise("nothing/1")
