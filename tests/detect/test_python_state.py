"""Test that detectors report changes to Python state and that an audit restores the state."""

from __future__ import annotations

import contextvars
import functools
import logging
import sys
import time
import types
import warnings
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl import logging as absl_logging

from jaxbits import audit, detect
from jaxbits._analysis import inner_limits
from jaxbits._analysis.source.rebinding import collect_evidence


@functools.lru_cache(maxsize=4)
def table(n):
    return jnp.arange(n)


@functools.cache
def numpy_table(n):
    return np.arange(n)


class Thing:
    __slots__ = ("count", "log")
    instances = 0

    def __init__(self):
        self.count, self.log = 0, []


current: contextvars.ContextVar = contextvars.ContextVar("current", default=None)
space = types.SimpleNamespace()


def messy(thing, x):
    global new_while_tracing
    new_while_tracing = x
    thing.count += 1
    thing.log.append(x)
    thing.extra = None if hasattr(thing, "__dict__") else 1
    return x


def spread(thing, x):
    thing.count += 1
    thing.log.append(x)
    Thing.instances += 1
    messy.mark = x
    space.first = x
    current.set(x)
    return x + table(3) + numpy_table(3)


@pytest.mark.parametrize("fn", [spread, messy])
def test_audit_restores_reachable_state(fn):
    thing, x = Thing(), jnp.ones(3)
    table.cache_clear()
    numpy_table.cache_clear()
    audit(fn, thing, x)
    assert (thing.count, thing.log, Thing.instances) == (0, [], 0)
    assert not hasattr(messy, "mark")
    assert "new_while_tracing" not in globals()
    assert vars(space) == {}
    assert current.get() is None
    float(table(3).sum())


def test_audit_keeps_cache_of_numpy_arrays():
    numpy_table.cache_clear()
    numpy_table(3)
    audit(lambda x: x + numpy_table(3), jnp.ones(3))
    assert numpy_table.cache_info().currsize == 1


def test_stale_global_notes_attribute_that_could_change():
    class Spring:
        def __init__(self):
            self.stiffness = 2.0

        def force(self, x):
            return -self.stiffness * x

    found = detect.stale_global(Spring().force, 1.0)
    assert [f.severity for f in found] == ["note"]


def test_stale_global_first_tries_attributes_that_the_code_names(monkeypatch):
    class Settings:
        def __init__(self):
            vars(self).update({f"unread_{n}": n for n in range(10)}, rate=0.5, decay=0.1)

    monkeypatch.setattr("jaxbits.detect._stale_global._MAX_EQUATIONS", 0)  # As in a large program.
    settings = Settings()
    found = detect.stale_global(lambda x: x * settings.rate - settings.decay, 1.0)
    names = sorted(finding.message.split("`")[1] for finding in found)
    assert names == ["settings.decay", "settings.rate"]


def test_side_effect_marks_output_of_any_kind() -> None:
    def report(x):
        print("x is", x)
        print("shape", x.shape)
        warnings.warn("a warning", stacklevel=1)
        logging.getLogger("report").warning("a record")
        sys.stdout.write("x")
        return x

    found = detect.side_effect(report, np.ones(2))
    assert {finding.subject for finding in found} == {"output"}
    assert {finding.message.split("`")[1] for finding in found} == {
        "print",
        "warnings.warn",
        "logging.warning",
    }
    (written,) = detect.side_effect(lambda x: sys.stdout.write("x") and x, 1.0)
    assert written.subject == "output"


@pytest.mark.parametrize(("level", "severity"), [(1, "warning"), (2, "note")])
def test_side_effect_respects_level_of_vlog(level, severity) -> None:
    def step(x):
        absl_logging.vlog(level, "one more step")
        return x

    logger = absl_logging.get_absl_logger()
    before = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        (found,) = detect.side_effect(step, 1.0)
    finally:
        logger.setLevel(before)
    assert (found.severity, found.subject) == (severity, "output")


@pytest.mark.parametrize(("verbosity", "severity"), [("ERROR", "note"), ("INFO", "warning")])
def test_side_effect_respects_verbosity_of_absl(verbosity, severity) -> None:
    def step(x):
        absl_logging.log(absl_logging.WARNING, "one more step")
        return x

    logger = absl_logging.get_absl_logger()
    before = logger.level
    logger.setLevel(verbosity)
    try:
        (found,) = detect.side_effect(step, 1.0)
    finally:
        logger.setLevel(before)
    assert (found.severity, found.subject) == (severity, "output")


def describe(x):
    return f"{x.shape}, {x.dtype}, {type(x).__name__}"


calls_made = iter(range(1000))


def log_shape(logger, x):
    logger.info("the batch has shape %s", x.shape)


def log_description_below_heading(logger, x):
    logger.info("x")
    logger.info(describe(x))


def log_traced_value(logger, x):
    logger.info("%s has shape %s", x, x.shape)


def log_container_of_traced_values(logger, x):
    logger.info("%s has shape %s", {"x": x}, x.shape)


def log_literal(logger, x):
    logger.info("one more step")


def log_counter_of_helper(logger, x):
    logger.info("call %d", next(calls_made))


@pytest.mark.parametrize(
    ("log", "severity"),
    [
        (log_shape, "note"),
        (log_description_below_heading, "note"),
        (log_traced_value, "warning"),
        (log_container_of_traced_values, "warning"),
        (log_literal, "warning"),
        (log_counter_of_helper, "warning"),
    ],
)
def test_side_effect_notes_logs_of_shapes(log, severity) -> None:
    def step(x):
        log(logger, x)
        return x

    logger = logging.getLogger("shapes")
    logger.setLevel(logging.INFO)
    found = [f for f in detect.side_effect(step, np.ones(2)) if f.subject == "output"]
    assert {finding.severity for finding in found} == {severity}


def test_side_effect_notes_print_of_description() -> None:
    def step(x):
        print(describe(x))
        return x

    (found,) = detect.side_effect(step, np.ones(2))
    assert found.severity == "note"


def test_side_effect_does_not_mark_other_calls_as_output(tmp_path) -> None:
    def change(x):
        (tmp_path / "file").write_text("x")
        return x * np.random.rand() + time.time()

    found = detect.side_effect(change, 1.0)
    assert len(found) == 3
    assert "output" not in {finding.subject for finding in found}


def noise_of_helper(size):
    return 1 + np.random.randint(1, 5, size=size)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x + np.random.normal(), "(lambda x: x + np.random.normal()"),
        (lambda x: x + noise_of_helper(2), "return 1 + np.random.randint"),
    ],
)
def test_side_effect_names_line_that_uses_numpy_generator(function, text):
    (found,) = detect.side_effect(function, jnp.ones(2))
    assert found.message == "`numpy.random` runs only while JAX traces the function"
    assert found.place.text.startswith(text)


def test_collect_evidence_counts_if_else_as_one_binding():
    found = collect_evidence(("if 1:\n    a = 1\nelse:\n    a = 2\nfor b in c:\n    pass\n",))
    assert not found.is_rebound("a", 0)
    assert found.is_rebound("b", 0)


def test_collect_evidence_skips_invalid_python():
    assert collect_evidence(("%matplotlib inline", "a = 1")).events


def test_stale_global_and_side_effect_ignore_ref():
    def counter():
        box = jax.new_ref(0.0)

        def add(value):
            box[...] += value
            return value

        return add

    assert detect.stale_global(counter(), 1.0) == []
    assert detect.side_effect(counter(), 1.0) == []
    counter()  # JAX can still create a new Ref afterward.


def test_audit_reports_only_notes_on_array_ref():
    class Tally:
        def __init__(self):
            self.limit = 1.0

        def __call__(self, tally, value):
            tally[0] += jnp.where(value > self.limit, 1.0, 0.0)
            return value

    tally, add = jax.new_ref(jnp.zeros(2)), Tally()
    for found in (audit(lambda x: add(tally, x), 2.0), audit(add, tally, 2.0)):
        assert not found.notes
        assert {finding.severity for finding in found} <= {"note"}


def refills(data):
    buffer, kept = np.zeros(3), []
    for row in data:
        buffer[:] = row
        kept.append(jnp.asarray(buffer))
    return kept


def copies(data):
    buffer, kept = np.zeros(3), []
    for row in data:
        buffer[:] = row
        kept.append(jnp.asarray(buffer.copy()))
    return kept


def makes_a_buffer_each(data):
    kept = []
    for row in data:
        buffer = np.zeros(3)
        buffer[:] = row
        kept.append(jnp.asarray(buffer))
    return kept


def test_inplace_reports_buffer_refilled_in_loop():
    (found,) = detect.inplace(refills, (1, 2))
    assert found.place.text == "buffer[:] = row"
    assert found.catalogue_id == "host-buffer-shared"
    assert detect.inplace(copies, (1, 2)) == []
    assert detect.inplace(makes_a_buffer_each, (1, 2)) == []


def test_stale_attributes_are_reported_where_they_are_read():
    class Settings:
        def __init__(self):
            self.gain, self.bias = 1.0, 2.0

    settings = Settings()

    def step(x):
        y = x * settings.gain
        return y + settings.bias

    found = detect.stale_global(step, 1.0)
    assert sorted(finding.place.text for finding in found) == [
        "return y + settings.bias",
        "y = x * settings.gain",
    ]


def test_stale_global_skips_values_that_an_earlier_trace_leaked():
    seen = []

    @jax.jit
    def step(x):
        seen.append(2 * x)
        return x

    step(1.0)
    report = audit(step, 1.0)
    assert not report.gaps
    assert report["leak"]


@functools.partial(jax.jit, static_argnums=1)
def ask_for(key, n):
    key, sub = jax.random.split(key)
    return key, jax.random.normal(sub, (n,))


class Solver:
    def __init__(self):
        self.key, self.spread = jax.random.key(0), jnp.ones(4)

    def ask(self):
        self.key, drawn = ask_for(self.key, 4)
        return drawn

    def widen(self, x):
        wider = self.spread * x
        self.spread = wider
        return x

    def grow(self, x):
        return self.spread.sum() + self.widen(x)


def test_leak_does_not_depend_on_time(monkeypatch):
    monkeypatch.setattr(inner_limits.LIMITS, "run_seconds", -1.0)
    assert [finding.severity for finding in detect.leak(Solver().ask)] == ["note"]


@pytest.mark.parametrize("method", ["widen", "grow"])
def test_changed_state_is_reported_where_it_is_stored(method):
    report = audit(getattr(Solver(), method), 2.0, checks=["leak"])
    (found,) = report.findings
    assert found.place.text == "self.spread = wider"
    assert {f.place for f in detect.side_effect(getattr(Solver(), method), 2.0)} == {found.place}


class Moments(NamedTuple):
    mean: jax.Array
    count: int


class Tracker:
    def __init__(self):
        self.moments = Moments(jnp.zeros(3), 0)

    def update(self, x):
        self.moments = self.moments._replace(mean=x)
        return x


def test_leak_names_traced_value_inside_container():
    (found,) = detect.leak(Tracker().update, jnp.ones(3))
    assert found.evidence == "Moments → Moments with a traced float32[3]"


def loop_with_local_iterator(xs):
    def body(carry, x):
        numbers = iter([1.0, 2.0])

        def advance():
            return next(numbers)

        return carry + advance() * x, x

    return jax.lax.scan(body, 0.0, xs)


def loop_with_local_generator(xs):
    def body(carry, x):
        def find(key, pairs):
            def search():
                for name, number in pairs:
                    if name == key:
                        return number
                raise ValueError(key)

            return search()

        return carry + find("b", iter({"a": 1.0, "b": 2.0}.items())) * x, x

    return jax.lax.scan(body, 0.0, xs)


def counter_from(first):
    numbers = iter([first, 2.0, 3.0])
    return lambda: next(numbers)


def loop_with_local_factory(xs):
    return jax.lax.scan(lambda carry, x: (carry + counter_from(1.0)() * x, x), 0.0, xs)


@pytest.mark.parametrize(
    "function", [loop_with_local_iterator, loop_with_local_generator, loop_with_local_factory]
)
def test_iterator_ignores_iterators_created_in_loop_body(function) -> None:
    assert detect.iterator(function, np.ones(3, np.float32)) == []


def loop_with_outer_factory(xs):
    advance = counter_from(1.0)
    return jax.lax.scan(lambda carry, x: (carry + advance() * x, x), 0.0, xs)


def loop_that_passes_on_outer_iterator(xs):
    numbers = iter([1.0, 2.0, 3.0])

    def first_of(values):
        def search():
            for value in values:
                return value
            return 0.0

        return search()

    return jax.lax.scan(lambda carry, x: (carry + first_of(numbers) * x, x), 0.0, xs)


def loop_that_passes_on_outer_container(xs):
    streams = [iter([1.0, 2.0, 3.0])]

    def first_of(values):
        def search():
            return next(values)

        return search()

    return jax.lax.scan(lambda carry, x: (carry + first_of(streams[0]) * x, x), 0.0, xs)


def loop_in_loop(xs):
    def body(carry, x):
        advance = counter_from(1.0)
        return jax.lax.scan(lambda c, y: (c + advance() * y, y), carry, xs)[0], x

    return jax.lax.scan(body, 0.0, xs)


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (loop_with_outer_factory, "return lambda: next(numbers)"),
        (loop_that_passes_on_outer_iterator, None),
        (loop_that_passes_on_outer_container, "return next(values)"),
        (loop_in_loop, "return lambda: next(numbers)"),
    ],
)
def test_iterator_finds_iterators_from_outside_loop_body(function, line) -> None:
    (found,) = detect.iterator(function, np.ones(3, np.float32))
    assert found.message == "an iterator is advanced in the body of a loop that is traced once"
    assert line is None or found.place.text == line


def test_iterator_names_line_of_iteration() -> None:
    def first(xs):
        numbers = iter([1.0, 2.0, 3.0])

        def body(carry, x):
            x = 2 * x
            for number in numbers:
                return carry + number * x, x
            return carry, x

        return jax.lax.scan(body, 0.0, xs)

    (found,) = detect.iterator(first, np.ones(3, np.float32))
    assert found.place.text == "for number in numbers:"
