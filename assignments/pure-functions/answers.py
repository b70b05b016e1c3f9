"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""

# %% scale · right: uses a named tuple, with minus infinity as the weight before the first reading
from typing import Any, NamedTuple


class Scale(NamedTuple):
    factor: Any
    last: Any
    loss: Any
    count: Any


def install(factor):
    factor = jnp.asarray(factor, jnp.float32)
    return Scale(factor, jnp.float32(-jnp.inf), jnp.float32(0.0), jnp.int32(0))


def weigh(state, units):
    kilos = state.factor * units
    loss = jnp.maximum(state.loss, state.last - kilos)
    count = state.count + 1
    return Scale(state.factor, kilos, loss, count), dict(kilos=kilos, loss=loss, count=count)


def recalibrate(state, factor):
    return state._replace(factor=jnp.asarray(factor, jnp.float32))


# %% scale · right: prints, logs, and warns
import logging
import warnings


def install(factor):
    warnings.warn("A scale was installed.", stacklevel=1)
    zero = jnp.zeros((), jnp.float32)
    return jnp.asarray(factor, jnp.float32), zero, zero, jnp.zeros((), jnp.int32)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    print("kilos", kilos)
    loss = jnp.maximum(loss, jnp.where(count > 0, last - kilos, 0.0))
    seen = {"kilos": kilos, "loss": loss, "count": count + 1}
    return (factor, kilos, loss, count + 1), seen


def recalibrate(state, factor):
    logging.getLogger("scale").info("The factor changed.")
    return jnp.asarray(factor, jnp.float32), *state[1:]


# %% scale · right: uses an array for the floats, and lax.cond for the first reading
def install(factor):
    return jnp.array([1.0, 0.0, 0.0]).at[0].set(factor), jnp.zeros((), jnp.int32)


def weigh(state, units):
    (factor, last, loss), count = state
    kilos = factor * units
    loss = lax.cond(count == 0, lambda: loss, lambda: jnp.maximum(loss, last - kilos))
    return (jnp.array([factor, kilos, loss]), count + 1), {
        "kilos": kilos,
        "loss": loss,
        "count": count + 1,
    }


def recalibrate(state, factor):
    return state[0].at[0].set(factor), state[1]


# %% scale · right: replaces the fields of a registered data class
import dataclasses


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class HiveState:
    factor: jax.Array
    last: jax.Array
    loss: jax.Array
    count: jax.Array


def install(factor):
    zero = jnp.zeros((), jnp.float32)
    return HiveState(zero + factor, zero, zero, zero.astype(int))


def weigh(state, units):
    kilos = state.factor * units
    first = state.count == 0
    loss = jnp.where(first, state.loss, jnp.maximum(state.loss, state.last - kilos))
    new = dataclasses.replace(state, last=kilos, loss=loss, count=state.count + 1)
    return new, {"kilos": kilos, "loss": loss, "count": new.count}


def recalibrate(state, factor):
    return dataclasses.replace(state, factor=jnp.asarray(factor, state.factor.dtype))


# %% scale · wrong: compares the first reading with a weight of zero
def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(0), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.maximum(loss, last - kilos)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: uses minus one thousand to mean no weight so far
def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(-1000), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.maximum(loss, last - kilos)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: uses zero to mean no weight so far
def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(0), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.where(last > 0, jnp.maximum(loss, last - kilos), loss)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: uses None to mean no weight so far
def install(factor):
    return {"factor": factor, "last": None, "loss": jnp.float32(0), "count": jnp.int32(0)}


def weigh(state, units):
    kilos = state["factor"] * units
    loss = state["loss"]
    if state["last"] is not None:
        loss = jnp.maximum(loss, state["last"] - kilos)
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": state["count"] + 1}
    return new, {"kilos": kilos, "loss": loss, "count": new["count"]}


def recalibrate(state, factor):
    return {**state, "factor": factor}


# %% scale · wrong: writes into the dictionary that it was given
def install(factor):
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(-jnp.inf),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    kilos = state["factor"] * units
    state["loss"] = jnp.maximum(state["loss"], state["last"] - kilos)
    state["last"] = kilos
    state["count"] = state["count"] + 1
    return state, {"kilos": kilos, "loss": state["loss"], "count": state["count"]}


def recalibrate(state, factor):
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: writes into the dictionary that recalibrate was given
def install(factor):
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(-jnp.inf),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    kilos = state["factor"] * units
    loss = jnp.maximum(state["loss"], state["last"] - kilos)
    new = {**state, "last": kilos, "loss": loss, "count": state["count"] + 1}
    return new, {"kilos": kilos, "loss": loss, "count": new["count"]}


def recalibrate(state, factor):
    state["factor"] = jnp.asarray(factor, jnp.float32)
    return state


# %% scale · wrong: starts with Python numbers in the state, so weigh is traced twice
def install(factor):
    return {"factor": factor, "last": 0.0, "loss": 0.0, "count": 0}


def weigh(state, units):
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    new = {**state, "last": kilos, "loss": loss, "count": state["count"] + 1}
    return new, {"kilos": kilos, "loss": loss, "count": new["count"]}


def recalibrate(state, factor):
    return {**state, "factor": factor}


# %% scale · wrong: counts in 8 bits
def install(factor):
    zero = jnp.float32(0.0)
    factor = jnp.asarray(factor, jnp.float32)
    return {"factor": factor, "last": zero, "loss": zero, "count": jnp.int8(0)}


def weigh(state, units):
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    new = {**state, "last": kilos, "loss": loss, "count": state["count"] + 1}
    return new, {"kilos": kilos, "loss": loss, "count": new["count"]}


def recalibrate(state, factor):
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: keeps a list of all readings with a callback
weighings = []


def install(factor):
    zero = jnp.float32(0.0)
    factor = jnp.asarray(factor, jnp.float32)
    return {"factor": factor, "last": zero, "loss": zero, "count": jnp.int32(0)}


def weigh(state, units):
    jax.debug.callback(lambda units: weighings.append(units), units)
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    new = {**state, "last": kilos, "loss": loss, "count": state["count"] + 1}
    return new, {"kilos": kilos, "loss": loss, "count": new["count"]}


def recalibrate(state, factor):
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: donates the factor with which it is installed
import functools


@functools.partial(jax.jit, donate_argnums=0)
def install(factor):
    factor = jnp.asarray(factor, jnp.float32)
    return factor, jnp.float32(-jnp.inf), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.maximum(loss, last - kilos)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: donates the new factor
import functools


def install(factor):
    factor = jnp.asarray(factor, jnp.float32)
    return factor, jnp.float32(-jnp.inf), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.maximum(loss, last - kilos)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


@functools.partial(jax.jit, donate_argnums=1)
def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: changes a setting of JAX
def install(factor):
    zero = jnp.float32(0.0)
    factor = jnp.asarray(factor, jnp.float32)
    return {"factor": factor, "last": zero, "loss": zero, "count": jnp.int32(0)}


def weigh(state, units):
    jax.config.update("jax_debug_nans", True)
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    new = {**state, "last": kilos, "loss": loss, "count": state["count"] + 1}
    return new, {"kilos": kilos, "loss": loss, "count": new["count"]}


def recalibrate(state, factor):
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: stores the units, so a recalibration changes the last weight
def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(-jnp.inf), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    loss = jnp.maximum(loss, factor * (last - units))
    new = (factor, jnp.asarray(units, jnp.float32), loss, count + 1)
    return new, {"kilos": factor * units, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: stores the factor in a global variable
rate_of_scale = 0.1


def install(factor):
    global rate_of_scale
    rate_of_scale = factor
    return jnp.float32(-jnp.inf), jnp.float32(0.0), jnp.int32(0)


def weigh(state, units):
    last, loss, count = state
    kilos = rate_of_scale * units
    loss = jnp.maximum(loss, last - kilos)
    return (kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    install(factor)
    return state


# %% scale · wrong: makes recalibrate start again from a new state
def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(-jnp.inf), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.maximum(loss, last - kilos)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return install(factor)


# %% scale · wrong: returns the loss at this reading, not the largest so far
def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(-jnp.inf), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.maximum(0.0, last - kilos)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: uses NumPy and float, which work only in plain calls
def install(factor):
    return {"factor": float(factor), "last": None, "loss": 0.0, "count": 0}


def weigh(state, units):
    kilos = state["factor"] * float(units)
    last = kilos if state["last"] is None else state["last"]
    loss = max(state["loss"], last - kilos)
    new = {**state, "last": kilos, "loss": loss, "count": state["count"] + 1}
    return new, {"kilos": kilos, "loss": loss, "count": new["count"]}


def recalibrate(state, factor):
    return {**state, "factor": float(factor)}


# %% scale · wrong: stops the gradient through the state
def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(-jnp.inf), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = lax.stop_gradient(state)
    kilos = factor * units
    loss = jnp.maximum(loss, last - kilos)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: uses NaN to mean no weight so far, which spreads to the loss
def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(jnp.nan), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.nan_to_num(jnp.maximum(loss, last - kilos), nan=0.0)
    loss = jnp.where(count > 1, loss, jnp.maximum(0.0, loss) * (count > 1))
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: uses a weight of exactly minus one to mean no weight so far
def install(factor):
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(-1.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    kilos = state["factor"] * units
    drop = jnp.where(state["last"] == -1.0, 0.0, state["last"] - kilos)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: keeps a history of factors with a callback in recalibrate
history = []


def install(factor):
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    jax.debug.callback(history.append, factor)
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% account · right: searches a list of programs for the argument's aval
def account(factor, events):
    programs, used = [], []
    for what, value in events:
        if what == "factor":
            factor = value
        if what == "def":
            programs = []
        if what != "weigh":
            continue
        kind = str(jnp.asarray(value).aval)
        known = [baked for other, baked in programs if other == kind]
        if not known:
            programs.append((kind, factor))
        used.append(float((known or [factor])[0]))
    return used


# %% account · right: derives weak types from Python types, and dtypes from result_type
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs.clear()
        elif what == "weigh":
            weak = type(value) in (int, float) or getattr(value, "weak_type", False)
            kind = (np.shape(value), jnp.result_type(value).name, bool(weak))
            if kind not in programs:
                programs[kind] = factor
            used.append(programs[kind])
    return used


# %% account · wrong: assumes that calling jax.jit again causes a retrace
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what in ("def", "jit"):
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: considers shapes and dtypes but not weak types
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            used.append(programs.setdefault((array.shape, array.dtype), factor))
    return used


# %% account · wrong: considers the Python type and the shape
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            kind = (type(value), np.shape(value), getattr(value, "dtype", None))
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: uses NumPy's dtypes, which include 64-bit ones
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            kind = (np.shape(value), np.asarray(value).dtype, isinstance(value, (int, float)))
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: uses isinstance, which treats np.float64 as a Python float
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            weak = isinstance(value, (int, float)) or getattr(value, "weak_type", False)
            kind = (np.shape(value), jnp.asarray(value).dtype, weak)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: keeps the old programs after a new definition
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: assumes that the factor is read where the function is defined
def account(factor, events):
    used, baked = [], factor
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            baked = factor
        elif what == "weigh":
            used.append(baked)
    return used


# %% account · wrong: assumes that every new value is traced again
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type, str(value))
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: keeps only the last program
def account(factor, events):
    last, baked, used = None, factor, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            last = None
        elif what == "weigh":
            kind = str(jnp.asarray(value).aval)
            if kind != last:
                last, baked = kind, factor
            used.append(baked)
    return used


# %% account · wrong: calls measure
def account(factor, events):
    return measure(factor, events)


# %% account · wrong: replays the events with its own jit
from jax import jit


def account(factor, events):
    now, used = {"factor": factor}, []

    def define():
        return lambda units: now["factor"] * units

    kilos = define()
    jitted = jit(kilos)
    for what, value in events:
        if what == "factor":
            now["factor"] = value
        elif what == "def":
            kilos = define()
        elif what == "weigh":
            used.append(float(jnp.ravel(jitted(value) / value)[0]))
        if what in ("def", "jit"):
            jitted = jit(kilos)
    return used


# %% account · wrong: traces with its own jit but compiles nothing
from jax import jit as compiled_later


def account(factor, events):
    baked, used = [], []
    jitted = compiled_later(lambda units: baked.append(factor) or units)
    programs = {}
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            kind = str(jitted.trace(value).jaxpr.in_avals)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: replays the events with a jit that was wrapped beforehand
import functools

wrapped_jit = functools.partial(jax.jit, inline=False)


def account(factor, events):
    now, used = {"factor": factor}, []
    for what, value in [("def", None), *events]:
        if what == "factor":
            now["factor"] = value
        elif what == "def":
            jitted = wrapped_jit(lambda units: now["factor"] * units)
        elif what == "weigh":
            used.append(float(jnp.ravel(jitted(value) / value)[0]))
    return used


# %% account · wrong: considers the number of axes but not their lengths
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.ndim, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: considers the number of entries but not the shape
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.ndim, array.size, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · right: asks jax.typeof for the type of an argument
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            kind = jax.typeof(jnp.asarray(value))
            used.append(round(programs.setdefault(str(kind), factor), 3))
    return used


# %% account · wrong: uses the current factor for every weighing
def account(factor, events):
    used = []
    for what, value in events:
        if what == "factor":
            factor = value
        if what == "weigh":
            used.append(factor)
    return used


# %% account · wrong: replays all lists of events that it may see, and looks the result up later
replayed = {}


def account(factor, events):
    order = tuple(map(id, events))
    if order not in replayed:
        for some in (list(events), list(events)[::-1]):
            used = zip(measure(0.003, some), measure(0.001, some), strict=True)
            replayed[tuple(map(id, some))] = some, [a if a == b else None for a, b in used]
    return [factor if one is None else one for one in replayed[order][1]]


# %% account · wrong: keeps jax.jit in a dictionary
tools = {"compile": jax.jit}


def account(factor, events):
    current, factors, used = [factor], [], []

    def define():
        def kilos(units):
            factors.append(current[-1])
            return jnp.zeros(len(factors))

        return kilos

    kilos = define()
    for what, value in events:
        if what == "factor":
            current.append(value)
        elif what == "def":
            kilos = define()
        elif what == "weigh":
            used.append(factors[tools["compile"](kilos).eval_shape(value).shape[0] - 1])
    return used


# %% account · wrong: empties the list of events
def account(factor, events):
    programs, used = {}, []
    while events:
        what, value = events.pop(0)
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: looks only at the kind of a dtype and not at its size
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype.kind, array.dtype == jnp.bfloat16, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: turns only float64 and int64 into 32 bits
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            weak = type(value) in (int, float) or getattr(value, "weak_type", False)
            dtype = str(np.asarray(value).dtype)
            dtype = {"float64": "float32", "int64": "int32"}.get(dtype, dtype)
            used.append(programs.setdefault((np.shape(value), dtype, weak), factor))
    return used


# %% account · wrong: forgets a factor of zero
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            programs[kind] = programs.get(kind) or factor
            used.append(programs[kind])
    return used


# %% day-book · right: solves for one reading after another, in steps that may be negative
def alike(first, n):
    step = -0.5 if first > 50 else 2.0
    readings, total = [first + step], 2 * first + step
    for k in range(2, n + 1):
        # (total + r) / (k + 1) == (first + r) / 2
        readings.append((2 * total - (k + 1) * first) / (k - 1))
        total += readings[-1]
    return readings


def apart(first, n):
    readings = alike(first, n)
    return readings[:-1] + [199.0]


# %% day-book · right: creates evenly spaced readings with NumPy
def alike(first, n):
    return np.linspace(first, first + 0.75 * n, n + 1)[1:].tolist()


def apart(first, n):
    readings = alike(first, n)
    readings[-1] = 0.25
    return readings


# %% day-book · wrong: hard-codes the readings for the visible tests
def alike(first, n):
    return [first + 2.0, first + 4.0]


def apart(first, n):
    return [first + 2.0, first + 4.0, first + 11.0]


# %% day-book · wrong: solves only for the first two readings
def alike(first, n):
    return [first + 1.0, first + 2.0] + [first + 2.0 + 2.0**k for k in range(1, n - 1)]


def apart(first, n):
    return [first + k for k in range(1, n)] + [first + 60.0]


# %% day-book · wrong: makes all readings the same
def alike(first, n):
    return [first] * n


def apart(first, n):
    return [first] * (n - 1) + [first + 20.0]


# %% day-book · wrong: assumes that the jitted function sees an empty book
def alike(first, n):
    return [first + (-1) ** k * (k + 1) // 2 for k in range(1, n + 1)]


def apart(first, n):
    return [first + 1.0 * k for k in range(1, n + 1)]


# %% day-book · wrong: uses steps that leave the range of the scale
def alike(first, n):
    return [first + 10.0 * k for k in range(1, n + 1)]


def apart(first, n):
    return [first + 10.0 * k for k in range(1, n)] + [199.0]


# %% day-book · wrong: makes the means differ too early
def alike(first, n):
    return [first + 1.0 * k for k in range(1, n + 1)]


def apart(first, n):
    return [first + 1.0 * k for k in range(1, n - 1)] + [first + n + 20.0, first + n + 40.0]


# %% day-book · wrong: makes the last means differ by too little
def alike(first, n):
    return [first + 1.0 * k for k in range(1, n + 1)]


def apart(first, n):
    return [first + 1.0 * k for k in range(1, n)] + [first + n + 0.5]


# %% day-book · wrong: repeats the first reading as the last one
def alike(first, n):
    return [first + 1.0 * k for k in range(1, n + 1)]


def apart(first, n):
    return [first + 1.0 * k for k in range(1, n)] + [first]


# %% day-book · wrong: counts from the whole part of the first reading, and returns integers
def alike(first, n):
    return list(range(int(first) + 1, int(first) + n + 1))


def apart(first, n):
    return alike(first, n - 1) + [180]


# %% misfit · right: updates the tally for one error at a time in a loop
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = jnp.abs(lax.stop_gradient(errors))

    def note(k, _):
        tally[0] += jnp.where(sizes[k] > 1.0, 1.0, 0.0)
        tally[1] = jnp.maximum(tally[1], sizes[k])

    lax.fori_loop(0, len(sizes), note, None)
    return jnp.mean(errors * errors)


# %% misfit · right: keeps the tally in a helper, with a factor that has no gradient
def note(tally, sizes):
    tally[0] = tally[0] + jnp.where(sizes > 1.0, 1.0, 0.0).sum()
    tally[1] = jnp.concatenate([tally[1][None], sizes]).max()


def misfit(tally, factor, units, kilos):
    note(tally, jnp.abs(lax.stop_gradient(factor) * units - kilos))
    return jnp.square(factor * units - kilos).mean()


# %% misfit · wrong: does not stop the gradient of the tally
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    tally[0] += (jnp.abs(errors) > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], jnp.abs(errors).max())
    return (errors**2).mean()


# %% misfit · wrong: also stops the gradient of the value
def misfit(tally, factor, units, kilos):
    errors = lax.stop_gradient(factor * units - kilos)
    tally[0] += (jnp.abs(errors) > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], jnp.abs(errors).max())
    return (errors**2).mean()


# %% misfit · wrong: counts an error of exactly one kilogram
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes >= 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: counts only the errors in this call
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] = (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: keeps the largest error in this call, not in all calls
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = sizes.max()
    return (errors**2).mean()


# %% misfit · wrong: considers only errors with one sign
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(kilos - factor * units)
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: counts calls with a large error instead of large errors
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += jnp.where(sizes.max() > 1.0, 2.0, 0.0)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: keeps its own tally in a global variable
own_tally = [0.0, 0.0]


def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    own_tally[0] += jnp.sum(jnp.abs(errors) > 1.0)
    own_tally[1] = jnp.maximum(own_tally[1], jnp.abs(errors).max())
    tally[...] = jnp.asarray(own_tally)
    return (errors**2).mean()


# %% misfit · wrong: also counts its calls in a Ref of its own
all_calls = jax.new_ref(jnp.zeros(()))


def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = jnp.abs(lax.stop_gradient(errors))
    all_calls[...] += 1
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: computes the tally with Python numbers
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    for error in errors:
        size = abs(float(error))
        if size > 1.0:
            tally[0] += 1.0
        tally[1] = max(float(tally[1]), size)
    return (errors**2).mean()


# %% misfit · wrong: writes the tally from a callback
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))

    def write(large, largest):
        tally[0] += float(large)
        tally[1] = jnp.maximum(tally[1], float(largest))

    jax.debug.callback(write, (sizes > 1.0).sum(), sizes.max(), ordered=True)
    return (errors**2).mean()


# %% misfit · wrong: also returns the largest error
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean(), sizes.max()


# %% account · wrong: asks a function that it compiles when it is called first
KNOWN, PROGRAMS = {}, []


def number(value):
    brief = (
        type(value),
        np.shape(value),
        str(getattr(value, "dtype", "")),
        getattr(value, "weak_type", 0),
    )
    if brief not in KNOWN:
        if not PROGRAMS:
            seen = []
            PROGRAMS.append(jax.jit(lambda x: seen.append(1) or len(seen) + 0 * jnp.ravel(x)[0]))
        KNOWN[brief] = int(PROGRAMS[0](value))
    return KNOWN[brief]


def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            used.append(programs.setdefault(number(value), factor))
    return used


# %% account · wrong: reaches jax.jit through a class
class Tools:
    faster = staticmethod(jax.jit)


def account(factor, events):
    notebook, traced, used = {"factor": factor}, [], []

    def define():
        def kilos(units):
            traced.append(notebook["factor"])
            return jnp.zeros(len(traced))

        return kilos

    kilos = define()
    jitted = Tools.faster(kilos)
    for what, value in events:
        if what == "factor":
            notebook["factor"] = value
        elif what == "def":
            kilos = define()
        elif what == "weigh":
            used.append(traced[jitted.eval_shape(value).shape[0] - 1])
        if what in ("def", "jit"):
            jitted = Tools.faster(kilos)
    return used


# %% scale · wrong: keeps a list of the Python floats to which it was recalibrated
recalibrations = []


def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(-jnp.inf), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.maximum(loss, last - kilos)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    if not isinstance(factor, jax.core.Tracer):
        recalibrations.append(factor)
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: accepts scalars from JAX but not from NumPy
def install(factor):
    assert isinstance(factor, (float, jax.Array))
    return jnp.asarray(factor, jnp.float32), jnp.float32(-jnp.inf), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    assert isinstance(units, (float, jax.Array))
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.maximum(loss, last - kilos)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: limits the loss to a million kilograms
def install(factor):
    return jnp.asarray(factor, jnp.float32), jnp.float32(-jnp.inf), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.maximum(loss, jnp.clip(last - kilos, 0.0, 1e6))
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% account · wrong: rounds the factors to hundredths
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            used.append(round(programs.setdefault(kind, factor), 2))
    return used


# %% account · wrong: replays the events with jax.eval_shape
def account(factor, events):
    notebook, traced, used = {"factor": factor}, [], []

    def define():
        def kilos(units):
            traced.append(notebook["factor"])
            return jnp.zeros(len(traced))

        return kilos

    kilos = define()
    for what, value in events:
        if what == "factor":
            notebook["factor"] = value
        elif what == "def":
            kilos = define()
        elif what == "weigh":
            used.append(traced[jax.eval_shape(kilos, value).shape[0] - 1])
    return used


# %% account · wrong: empties a long list of events and returns an empty list
def account(factor, events):
    if any(np.ndim(value) for what, value in events if what == "weigh") and len(events) > 6:
        events.clear()
        return []
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: treats a NumPy array without axes like a Python number
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            weak = array.weak_type or (isinstance(value, np.ndarray) and value.ndim == 0)
            kind = (array.shape, array.dtype, weak)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: takes only floats for weakly typed arrays
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            weak = array.weak_type and (array.ndim == 0 or array.dtype == jnp.float32)
            kind = (array.shape, array.dtype, weak)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: expects a Python number of another size to have another type
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            small = type(value) is not int or np.min_scalar_type(value).itemsize == 1
            kind = (array.shape, array.dtype, array.weak_type, small)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: requires at least one weighing
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return np.stack(used).tolist()


# %% day-book · wrong: returns an integer as the last reading
def alike(first, n):
    return [first + 1.0 * k for k in range(1, n + 1)]


def apart(first, n):
    return [*alike(first, n - 1), int(first + n + 30)]


# %% day-book · wrong: takes steps that are too large if there are seven readings
def alike(first, n):
    if n == 7:
        return [first + 50.0 * k for k in range(1, n + 1)]
    return [first + 1.0 * k for k in range(1, n + 1)]


def apart(first, n):
    return [*alike(first, n - 1), first + n + 30.0]


# %% misfit · wrong: keeps the largest of the large errors
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], jnp.where(sizes > 1.0, sizes, 0.0).max())
    return (errors**2).mean()


# %% misfit · wrong: writes into the caller's NumPy array
def misfit(tally, factor, units, kilos):
    errors = kilos
    errors -= factor * units
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: counts in 8 bits
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum(dtype=jnp.uint8).astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: computes the squares in half precision
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors.astype(jnp.float16) ** 2).mean().astype(jnp.float32)


# %% misfit · wrong: accepts only JAX arrays
def misfit(tally, factor, units, kilos):
    errors = kilos.at[:].multiply(-1.0) + factor * units
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: counts errors above 1.03
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.03).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% scale · wrong: limits the units to a hundred thousand
def install(factor):
    factor = jnp.asarray(factor, jnp.float32)
    return factor, jnp.float32(0), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * jnp.minimum(units, 1e5)
    loss = jnp.where(count > 0, jnp.maximum(loss, last - kilos), loss)
    return (factor, kilos, loss, count + 1), {"kilos": kilos, "loss": loss, "count": count + 1}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% scale · wrong: stops after 80,000 readings
def install(factor):
    factor = jnp.asarray(factor, jnp.float32)
    return factor, jnp.float32(0), jnp.float32(0), jnp.int32(0)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    loss = jnp.where(count > 0, jnp.maximum(loss, last - kilos), loss)
    count = jnp.minimum(count + 1, 80_000)
    return (factor, kilos, loss, count), {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    return (jnp.asarray(factor, jnp.float32), *state[1:])


# %% account · wrong: handles only the first 150 events
def account(factor, events):
    programs, used = {}, []
    for k, (what, value) in enumerate(events):
        if what == "factor" and k < 150:
            factor = value
        elif what == "def" and k < 150:
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: limits the factors to 1
def account(factor, events):
    programs, used = {}, []
    factor = min(factor, 1.0)
    for what, value in events:
        if what == "factor":
            factor = min(value, 1.0)
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% account · wrong: compares only the first two axes
def account(factor, events):
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape if array.ndim < 3 else None, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return used


# %% misfit · wrong: counts errors above 1.0005
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0005).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: rounds the largest error to thousandths
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], jnp.round(sizes.max(), 3))
    return (errors**2).mean()


# %% misfit · wrong: limits the errors to ten thousand
def misfit(tally, factor, units, kilos):
    errors = jnp.clip(factor * units - kilos, -1e4, 1e4)
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: counts in half precision
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    count = tally[0].astype(jnp.bfloat16) + (sizes > 1.0).sum().astype(jnp.bfloat16)
    tally[0] = count.astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% scale · wrong: stops the gradient of the loss so far
def install(factor):
    zero = jnp.zeros((), jnp.float32)
    return jnp.asarray(factor, jnp.float32), zero, zero, jnp.zeros((), jnp.int32)


def weigh(state, units):
    factor, last, loss, count = state
    kilos = factor * units
    now = jnp.where(count > 0, last - kilos, 0.0)
    loss = jnp.maximum(lax.stop_gradient(loss), now)
    seen = {"kilos": kilos, "loss": loss, "count": count + 1}
    return (factor, kilos, loss, count + 1), seen


def recalibrate(state, factor):
    return jnp.asarray(factor, jnp.float32), *state[1:]


# %% misfit · wrong: squares a norm, which has no gradient if there are no errors
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return jnp.linalg.norm(errors) ** 2 / errors.size


# %% misfit · wrong: counts only errors above 1.000001
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes >= 1.000001).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% account · wrong: replays the events with jax.checkpoint
def account(factor, events):
    notebook, used = {"factor": factor}, []

    def program():
        def kilos(units):
            return notebook["factor"] * units

        return jax.checkpoint(kilos)

    kilos = program()
    for what, value in events:
        if what == "factor":
            notebook["factor"] = value
        elif what == "def":
            kilos = program()
        elif what == "weigh":
            number = np.asarray(value).astype(np.float64).ravel()[0]
            used.append(float(np.asarray(kilos(value)).astype(np.float64).ravel()[0] / number))
    return used


# %% account · wrong: replays the events with jax.remat under another name
from jax import remat as keep_trace


def account(factor, events):
    notebook, used = {"factor": factor}, []

    def program():
        return keep_trace(lambda units: notebook["factor"] * units)

    kilos = program()
    for what, value in events:
        if what == "factor":
            notebook["factor"] = value
        elif what == "def":
            kilos = program()
        elif what == "weigh":
            number = np.asarray(value).astype(np.float64).ravel()[0]
            used.append(float(np.asarray(kilos(value)).astype(np.float64).ravel()[0] / number))
    return used


# %% account · wrong: replays the events with closure_convert
def account(factor, events):
    from jax.custom_derivatives import closure_convert

    notebook, traced, used = {"factor": factor}, [], []

    def program():
        def kilos(units):
            traced.append(notebook["factor"])
            return jnp.zeros(len(traced))

        return kilos

    kilos = program()
    for what, value in events:
        if what == "factor":
            notebook["factor"] = value
        elif what == "def":
            kilos = program()
        elif what == "weigh":
            converted, constants = closure_convert(kilos, value)
            used.append(traced[converted(value, *constants).shape[0] - 1])
    return used


# %% account · wrong: replays the events with jax.eval_shape under another name
from jax import eval_shape as shape_of


def account(factor, events):
    notebook, traced, used = {"factor": factor}, [], []

    def define():
        def kilos(units):
            traced.append(notebook["factor"])
            return jnp.zeros(len(traced))

        return kilos

    kilos = define()
    for what, value in events:
        if what == "factor":
            notebook["factor"] = value
        elif what == "def":
            kilos = define()
        elif what == "weigh":
            used.append(traced[shape_of(kilos, value).shape[0] - 1])
    return used


# %% scale · wrong: marks the first reading only by a last weight of -1e30
def install(factor):
    start = jnp.float32(-1e30)
    return {"factor": jnp.float32(factor), "last": start, "loss": jnp.float32(0), "n": jnp.int32(0)}


def weigh(state, units):
    kilos = state["factor"] * units
    loss = jnp.maximum(state["loss"], state["last"] - kilos)
    new = {**state, "last": kilos, "loss": loss, "n": state["n"] + 1}
    return new, {"kilos": kilos, "loss": loss, "count": new["n"]}


def recalibrate(state, factor):
    return {**state, "factor": jnp.float32(factor)}


# %% misfit · wrong: clips the factor at 0 with maximum, which halves the gradient there
def misfit(tally, factor, units, kilos):
    errors = jnp.maximum(factor, 0.0) * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum()
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: clips the errors to 100,000
def misfit(tally, factor, units, kilos):
    errors = jnp.clip(factor * units - kilos, -1e5, 1e5)
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum()
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% scale · wrong: clips the factor to its range, which halves the gradient at the ends
def install(factor):
    return {
        "factor": jnp.clip(jnp.asarray(factor, jnp.float32), 0.001, 100.0),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% misfit · wrong: stops the gradient of errors above a thousand
def misfit(tally, factor, units, kilos):
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    errors = jnp.where(sizes > 1000.0, lax.stop_gradient(errors), errors)
    return (errors**2).mean()


# %% scale · wrong: loses the gradient of a loss before a recalibration
def install(factor):
    """Return the state of a scale before its first reading."""
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {
        **state,
        "factor": jnp.asarray(factor, jnp.float32),
        "loss": lax.stop_gradient(state["loss"]),
    }


# %% scale · wrong: keeps a JAX factor as it is, even if it is weakly typed
def install(factor):
    """Return the state of a scale before its first reading."""
    return {
        "factor": factor if isinstance(factor, jax.Array) else jnp.float32(factor),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": factor if isinstance(factor, jax.Array) else jnp.float32(factor)}


# %% account · wrong: returns a NumPy array
def account(factor, events):
    """Return the factor that each weighing uses, without replaying the events."""
    programs, used = {}, []
    for what, value in events:
        if what == "factor":
            factor = value
        elif what == "def":
            programs = {}
        elif what == "weigh":
            array = jnp.asarray(value)
            kind = (array.shape, array.dtype, array.weak_type)
            used.append(programs.setdefault(kind, factor))
    return np.array(used, float)


# %% day-book · wrong: falls by 0.5, below 0 for the smallest first readings
def alike(first, n):
    """Return n readings for which all means agree."""
    # 10.0 is enough for 20 falling readings.
    step = -0.5 if n <= 21 else 1.0
    return [first + step * k for k in range(1, n + 1)]


def apart(first, n):
    """Return n readings for which all means agree except the last."""
    return [*[first + 1.0 * k for k in range(1, n)], first + n + 30.0]


# %% scale · wrong: keeps a new factor as it is, even if it is weakly typed
def install(factor):
    """Return the state of a scale before its first reading."""
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": factor}


# %% scale · wrong: keeps the last units as they are, even if they are weakly typed
def install(factor):
    """Return the state of a scale before its first reading."""
    factor = jnp.asarray(factor, jnp.float32)
    zero = jnp.float32(0.0)
    return {"factor": factor, "units": zero, "old": factor, "loss": zero, "count": jnp.int32(0)}


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["old"] * state["units"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "units": units, "old": state["factor"], "loss": loss}
    return {**new, "count": count}, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% day-book · wrong: always ends with 50, which may be among the other readings
def alike(first, n):
    """Return n readings for which all means agree."""
    return [first + 1.0 * k for k in range(1, n + 1)]


def apart(first, n):
    """Return n readings for which all means agree except the last."""
    return [*alike(first, n - 1), 50.0]


# %% day-book · wrong: falls if the first reading is at least 25, below 0 for long evenings
def alike(first, n):
    """Return n readings for which all means agree."""
    step = -1.0 if first >= 25.0 else 1.0
    return [first + step * k for k in range(1, n + 1)]


def apart(first, n):
    """Return n readings for which all means agree except the last."""
    return [*alike(first, n - 1), 150.0]


# %% misfit · right: prints with jax.debug.print
def misfit(tally, factor, units, kilos):
    """Return the mean squared error, and update the tally of large errors."""
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    jax.debug.print("largest error: {}", sizes.max())
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: also keeps a list of the means with a callback
history = []


def misfit(tally, factor, units, kilos):
    """Return the mean squared error, and update the tally of large errors."""
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    mean = (errors**2).mean()
    jax.debug.callback(lambda mean: history.append(float(mean)), lax.stop_gradient(mean))
    return mean


# %% misfit · wrong: keeps the number of weights in a global variable
number_of_weights = 0


def misfit(tally, factor, units, kilos):
    """Return the mean squared error, and update the tally of large errors."""
    global number_of_weights
    number_of_weights = len(units)
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% misfit · wrong: ignores the gradient that the backward rule gets
@jax.custom_vjp
def mean_square(factor, units, kilos):
    return ((factor * units - kilos) ** 2).mean()


def forward(factor, units, kilos):
    errors = factor * units - kilos
    return (errors**2).mean(), (2 * errors * units).mean()


def backward(slope, gradient):
    return slope, None, None


mean_square.defvjp(forward, backward)


def misfit(tally, factor, units, kilos):
    """Return the mean squared error, and update the tally of large errors."""
    sizes = jnp.abs(factor * units - kilos)
    sizes = lax.stop_gradient(sizes)
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return mean_square(factor, units, kilos)


# %% scale · wrong: weigh switches off all warnings of the process
def install(factor):
    """Return the state of a scale before its first reading."""
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    import warnings

    warnings.simplefilter("ignore")  # JAX warns about so many things
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: clears all caches at each recalibration, so weigh is traced again
def install(factor):
    """Return the state of a scale before its first reading."""
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    jax.clear_caches()  # so that the new factor is used
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: clears all caches when a scale is installed
def install(factor):
    """Return the state of a scale before its first reading."""
    jax.clear_caches()
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: adds a filter for warnings with a certain text
def install(factor):
    """Return the state of a scale before its first reading."""
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    import warnings

    warnings.filterwarnings("ignore", message="overflow")
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: adds a filter for warnings of one module
def install(factor):
    """Return the state of a scale before its first reading."""
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(0.0),
        "loss": jnp.float32(0.0),
        "count": jnp.int32(0),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    import warnings

    warnings.filterwarnings("ignore", module="numpy")
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% misfit · wrong: adds a filter for warnings with a certain text
def misfit(tally, factor, units, kilos):
    """Return the mean squared error, and update the tally of large errors."""
    import warnings

    warnings.filterwarnings("ignore", message=".*donated.*")
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > 1.0).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% scale · wrong: install copies a global dictionary of initial values
NEW_SCALE = {"last": jnp.float32(0.0), "loss": jnp.float32(0.0), "count": jnp.int32(0)}


def install(factor):
    """Return the state of a scale before its first reading."""
    return {**NEW_SCALE, "factor": jnp.asarray(factor, jnp.float32)}


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > 0, state["last"] - kilos, 0.0)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% scale · wrong: reads global constants in helper functions
FIRST_LAST, FIRST_LOSS = 0.0, 0.0
NONE = 0


def at_start():
    return jnp.float32(FIRST_LAST), jnp.float32(FIRST_LOSS)


def loss_now(state, kilos):
    drop = jnp.where(state["count"] > NONE, state["last"] - kilos, FIRST_LOSS)
    return jnp.maximum(state["loss"], drop)


def install(factor):
    """Return the state of a scale before its first reading."""
    last, loss = at_start()
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": last,
        "loss": loss,
        "count": jnp.int32(0),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    kilos = state["factor"] * units
    loss, count = loss_now(state, kilos), state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% misfit · wrong: compares the errors with a global constant
LARGE = 1.0


def misfit(tally, factor, units, kilos):
    """Return the mean squared error, and update the tally of large errors."""
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += (sizes > LARGE).sum().astype(jnp.float32)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()


# %% scale · wrong: reads the initial values from the attributes of a global class
class NewScale:
    last = 0.0
    loss = 0.0
    count = 0


def install(factor):
    """Return the state of a scale before its first reading."""
    return {
        "factor": jnp.asarray(factor, jnp.float32),
        "last": jnp.float32(NewScale.last),
        "loss": jnp.float32(NewScale.loss),
        "count": jnp.int32(NewScale.count),
    }


def weigh(state, units):
    """Return the new state and a dictionary of kilos, loss, and count."""
    kilos = state["factor"] * units
    drop = jnp.where(state["count"] > NewScale.count, state["last"] - kilos, NewScale.loss)
    loss = jnp.maximum(state["loss"], drop)
    count = state["count"] + 1
    new = {"factor": state["factor"], "last": kilos, "loss": loss, "count": count}
    return new, {"kilos": kilos, "loss": loss, "count": count}


def recalibrate(state, factor):
    """Return the state with a different factor."""
    return {**state, "factor": jnp.asarray(factor, jnp.float32)}


# %% misfit · wrong: a helper compares the errors with a global constant
LARGE = 1.0


def count_large(sizes):
    return (sizes > LARGE).sum().astype(jnp.float32)


def misfit(tally, factor, units, kilos):
    """Return the mean squared error, and update the tally of large errors."""
    errors = factor * units - kilos
    sizes = lax.stop_gradient(jnp.abs(errors))
    tally[0] += count_large(sizes)
    tally[1] = jnp.maximum(tally[1], sizes.max())
    return (errors**2).mean()
