"""Test that an audit never writes to the user's objects, whatever their classes define."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import types
import typing

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from object_graph import record_graph

from jaxbits import audit, detect
from jaxbits._analysis.python_state.changed_values import changed_values
from jaxbits._analysis.python_state.iterators import copy_iterator
from jaxbits._analysis.python_state.object_copies import copy_object, is_shared
from jaxbits._analysis.python_state.references import Reference
from jaxbits._analysis.python_state.snapshot import StateSnapshot

X = jnp.ones(4)
ran: list[str] = []
"""The methods of the classes below that ran. An audit must not run any of them by itself."""


class CopyIsSelf:
    def __init__(self):
        self.rate = 0.5

    def __copy__(self):
        ran.append("__copy__")
        return self


class DeepCopyIsSelf:
    def __init__(self):
        self.rate = 0.5

    def __deepcopy__(self, memo):
        ran.append("__deepcopy__")
        return self


class Singleton:
    only = None

    def __new__(cls):
        if cls.only is None:
            cls.only = super().__new__(cls)
            cls.only.rate = 0.5
        return cls.only


class SharedState:
    state: typing.ClassVar[dict] = {}

    def __init__(self):
        self.__dict__ = self.state
        self.rate = 0.5


@dataclasses.dataclass(frozen=True)
class Frozen:
    rate: float = 0.5
    rates: list = dataclasses.field(default_factory=lambda: [0.5])


class Level(enum.Enum):
    LOW = 0.5
    HIGH = 2.0


class Slotted:
    __slots__ = ("__private", "rate")

    def __init__(self):
        self.rate, self.__private = 0.5, [1.0]


class Watched:
    def __init__(self):
        vars(self)["rate"] = 0.5

    def __setattr__(self, name, value):
        ran.append(f"set {name}")
        super().__setattr__(name, value)

    def __delattr__(self, name):
        ran.append(f"delete {name}")
        super().__delattr__(name)


class WatchedProperty:
    def __init__(self):
        self.__dict__["rate"] = 0.5

    @property
    def rate(self):
        return self.__dict__["rate"]

    @rate.setter
    def rate(self, value):
        ran.append("set rate")


class Vivid:
    """A class that creates every attribute that anyone asks for."""

    def __init__(self):
        self.rate = 0.5

    def __getattr__(self, name):
        ran.append(f"get {name}")
        vars(self)[name] = Vivid.__new__(Vivid)
        return vars(self)[name]


class Lazy:
    def __init__(self):
        self.rate = 0.5

    @property
    def table(self):
        self.filled = [1.0]
        return self.filled


class WatchedDict(dict):
    def __setitem__(self, key, value):
        ran.append(f"set {key}")
        super().__setitem__(key, value)

    def update(self, *args, **kwargs):
        ran.append("update")
        super().update(*args, **kwargs)

    def clear(self):
        ran.append("clear")
        super().clear()

    def __copy__(self):
        ran.append("__copy__")
        return self


class WatchedList(list):
    def __init__(self, name, items):
        ran.append("__init__")
        super().__init__(items)
        self.name = name

    def append(self, item):
        ran.append("append")
        super().append(item)

    def __iter__(self):
        ran.append("__iter__")
        return super().__iter__()


class Countdown:
    """An iterator whose copies are the iterator itself."""

    def __init__(self):
        self.numbers = iter([3.0, 2.0, 1.0])

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.numbers)

    def __copy__(self):
        return self


mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
module = types.ModuleType("settings_module")
module.rate = 0.5
objects = {
    "mesh": mesh,
    "copy_is_self": CopyIsSelf(),
    "deep_copy_is_self": DeepCopyIsSelf(),
    "singleton": Singleton(),
    "shared_state": SharedState(),
    "frozen": Frozen(),
    "level": Level.LOW,
    "slotted": Slotted(),
    "watched": Watched(),
    "watched_property": WatchedProperty(),
    "vivid": Vivid(),
    "lazy": Lazy(),
    "module": module,
    "namespace": types.SimpleNamespace(rate=0.5),
    "watched_dict": WatchedDict(rate=0.5),
    "watched_list": WatchedList("rates", [0.5, 1.0]),
    "ordered": collections.OrderedDict(rate=0.5),
    "counter": collections.Counter(a=2),
    "queue": collections.deque([0.5], maxlen=3),
    "countdown": Countdown(),
}
ran.clear()


def rate_of(value):
    if isinstance(value, Mesh):
        return value.size
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return sum(dict.values(value))
    if isinstance(value, list):
        return list.__getitem__(value, 0)
    return 2.0 if isinstance(value, (collections.deque, Countdown)) else value.rate


def reads_closure(value):
    def helper(holder, x):
        return x * rate_of(holder)

    return jax.jit(lambda x: helper(value, x) + (value is None))


def takes_argument(value):
    return lambda x: x * rate_of(value) + len([value])


def check_unchanged(before, root):
    after = record_graph(root, (__name__,))
    for key, (value, parts) in before.items():
        assert after[key][1] == parts, type(value)
    assert before.keys() == after.keys()


@pytest.mark.parametrize("name", objects)
@pytest.mark.parametrize("make", [reads_closure, takes_argument])
def test_audit_leaves_everything_as_it_was(name, make):
    ran.clear()
    classes = [value for value in globals().values() if isinstance(value, type)]
    function = make(objects[name])
    root = {"objects": objects, "module": vars(module), "function": function, "classes": classes}
    before = record_graph(root, (__name__,))
    mesh_before = (repr(mesh), mesh.size, mesh.axis_names, mesh.axis_types, hash(mesh))
    report = audit(function, X)
    assert not report.gaps, str(report)
    assert ran == []
    check_unchanged(before, root)
    assert (repr(mesh), mesh.size, mesh.axis_names, mesh.axis_types, hash(mesh)) == mesh_before


@pytest.mark.parametrize("name", objects)
def test_changed_values_never_writes_to_the_object(name):
    ran.clear()
    root = {"value": objects[name]}
    before = record_graph(root, (__name__,))
    for is_meant in (False, True):
        assert all(value is not objects[name] for value in changed_values(objects[name], is_meant))
    if isinstance(objects[name], Countdown):
        assert copy_iterator(objects[name]) is None
    assert ran == []
    check_unchanged(before, root)


SHARED = {
    "mesh",
    "copy_is_self",
    "deep_copy_is_self",
    "singleton",
    "frozen",
    "level",
    "module",
    "watched_dict",
    "countdown",
}


def test_is_shared_recognizes_objects_that_are_their_own_copies():
    assert {name for name, value in objects.items() if is_shared(value)} == SHARED


def test_copy_object_is_independent():
    for name in objects.keys() - SHARED:
        value = objects[name]
        duplicate = copy_object(value, {})
        assert duplicate is None or duplicate is not value
        if duplicate is not None and hasattr(value, "__dict__") and vars(value) is not None:
            assert vars(duplicate) is not vars(value)


def test_program_with_mesh_still_runs_after_audit():
    @jax.jit
    def step(w, x):
        w = jax.lax.with_sharding_constraint(w, NamedSharding(mesh, PartitionSpec("data")))
        return w - 0.1 * x

    def make(mesh):
        return lambda w, x: step(w, x) * mesh.size

    report = audit(make(mesh), X, X, carry=0)
    assert report.ok, str(report)
    assert step(X, X).tolist() == pytest.approx([0.9] * 4)


def test_restore_works_for_subclasses_with_side_effects():
    held, listed = WatchedDict(a=1), WatchedList("x", [1, 2])
    scope = {"held": held, "listed": listed}
    snapshot = StateSnapshot([Reference("global", name, scope, name) for name in scope])
    dict.__setitem__(held, "b", 2)
    list.append(listed, 3)
    ran.clear()
    assert [(c.before, c.after) for c in snapshot.changes()] == [
        ("WatchedDict of 1", "WatchedDict of 2"),
        ("WatchedList of 2", "WatchedList of 3"),
    ]
    snapshot.restore()
    assert ran == []
    assert (dict(held), list.__len__(listed)) == ({"a": 1}, 2)


def test_audit_makes_views_of_large_arrays_writable_again():
    large = np.zeros(1_000_000)
    views = {"view": large[:900_000], "large": large}
    audit(lambda x: x * views["view"][0] + views["large"][1], 1.0)
    assert large.flags.writeable
    assert views["view"].flags.writeable


def test_audit_accepts_state_with_deleted_arrays():
    arrays = {"kept": jnp.ones(4), "donated": jnp.ones(4)}
    arrays["donated"].delete()
    report = audit(jax.jit(lambda x: x + arrays["kept"]), X)
    assert not report.gaps, str(report)
    assert arrays["donated"].is_deleted()


def test_audit_accepts_state_with_arrays_of_another_mesh():
    first, second = jax.make_mesh((1,), ("first",)), jax.make_mesh((1,), ("second",))
    scales = {"scale": 2.0, "array": jax.device_put(X, NamedSharding(first, PartitionSpec()))}
    with jax.set_mesh(second):
        x = jax.device_put(X, NamedSharding(second, PartitionSpec("second")))
        report = audit(jax.jit(lambda x: x * scales["scale"]), x)
    assert not report.gaps, str(report)
    assert [finding.check for finding in report.findings] == ["stale_global"], str(report)


def test_stale_global_still_sees_ordinary_objects():
    settings = types.SimpleNamespace(rate=0.5)
    kinds = {f.message for f in detect.stale_global(lambda x: x * settings.rate, 1.0)}
    assert kinds == {"closure `settings` is baked into the compiled program"}
    assert copy.copy(settings).rate == 0.5


def test_read_only_arrays_are_writable_after_an_interruption(monkeypatch):
    large = {"array": np.zeros(1_000_000)}

    def interrupt(value):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxbits._analysis.python_state.snapshot.copy_contents", interrupt)
    scope = {**large, "items": [1]}
    with pytest.raises(KeyboardInterrupt):
        StateSnapshot([Reference("global", name, scope, name) for name in scope])
    assert large["array"].flags.writeable


class Parameters:
    """A module whose `__getattr__` raises a KeyError for a name that it does not have."""

    def __init__(self):
        self.__dict__["parameters"] = {"w": jnp.ones((300, 300))}

    def __getattr__(self, name):
        return self.parameters[name]

    def __call__(self, x):
        return (self.w @ x).sum()


parameters = Parameters()
large_array = np.arange(70_000) + 2**40


def uses_parameters(x):
    return parameters(x) + x[0] * large_array.sum()


@pytest.mark.parametrize("check", ["big_const", "x64", "transfer", "leak", "stale_global"])
def test_missing_attribute_that_raises_key_error_stops_no_check(check):
    x = jnp.ones(300)
    found = [detect.detectors()[check](f, x) for f in (jax.jit(uses_parameters), parameters)]
    if check == "big_const":
        assert ["parameters.parameters['w']" in f[0].message for f in found] == [True, False]
