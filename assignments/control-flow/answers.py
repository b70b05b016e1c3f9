"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""


# %% day · right: uses fori_loop and cond
def day(level, rises):
    def spill(level):
        return level - 0.2 * (level - CREST) ** 1.5

    def hour(i, state):
        level, highest, hours = state
        level = level + rises[i]
        level = lax.cond(level > CREST, spill, lambda level: level, level)
        level, hours = lax.cond(
            level > INTAKE, lambda h: (level - 0.05, h + 1), lambda h: (level, h), hours
        )
        return level, jnp.maximum(level, highest), hours

    level = jnp.float32(level)
    level, highest, hours = lax.fori_loop(0, len(rises), hour, (level, level, jnp.int32(0)))
    return {"hours": hours, "highest": highest, "level": level}


# %% day · right: keeps all levels, and computes the rest after the loop
def day(level, rises):
    def hour(level, rise):
        risen = level + rise
        is_over = risen > CREST
        spilled = 0.2 * jnp.where(is_over, risen - CREST, 1.0) ** 1.5
        risen = risen - jnp.where(is_over, spilled, 0.0)
        runs = risen > INTAKE
        left = risen - jnp.where(runs, jnp.float32(0.05), 0)
        return left, (left, runs)

    start = jnp.asarray(level).astype(jnp.float32)
    last, (levels, runs) = lax.scan(hour, start, rises)
    hours = jnp.sum(runs.astype(jnp.int32))
    return {"level": last, "highest": jnp.maximum(start, levels.max()), "hours": hours}


# %% day · wrong: masks the flow only after the power, so its gradient is NaN
def day(level, rises):
    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        level = jnp.where(level > CREST, level - 0.2 * (level - CREST) ** 1.5, level)
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% day · wrong: keeps Python's loop, which jit unrolls
def day(level, rises):
    level = jnp.asarray(level, jnp.float32)
    highest, hours = level, jnp.int32(0)
    for rise in rises:
        level = level + rise
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        highest, hours = jnp.maximum(highest, level), hours + runs
    return {"level": level, "highest": highest, "hours": hours}


# %% day · wrong: starts the carry with an integer if the level is one
def day(level, rises):
    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% day · wrong: counts the hours in a float
def day(level, rises):
    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        runs = jnp.where(level > INTAKE, 1.0, 0.0)
        level = level - 0.05 * runs
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.float32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% day · wrong: ignores the morning in the highest level
def day(level, rises):
    def hour(level, rise):
        level = level + rise
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return level, (level, runs)

    last, (levels, runs) = lax.scan(hour, jnp.asarray(level, jnp.float32), rises)
    return {"level": last, "highest": levels.max(), "hours": runs.sum(dtype=jnp.int32)}


# %% day · wrong: runs the turbine before water runs over the weir
def day(level, rises):
    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% day · wrong: returns the NumPy program's results
def day(level, rises):
    found = day_numpy(float(level), np.asarray(rises))
    return {
        "level": jnp.float32(found["level"]),
        "highest": jnp.float32(found["highest"]),
        "hours": jnp.int32(found["hours"]),
    }


# %% day · wrong: uses a while_loop, which has no gradient
def day(level, rises):
    def hour(state):
        i, level, highest, hours = state
        level = level + rises[i]
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return i + 1, level, jnp.maximum(highest, level), hours + runs

    start = jnp.asarray(level, jnp.float32)
    state = lax.while_loop(
        lambda state: state[0] < len(rises), hour, (0, start, start, jnp.int32(0))
    )
    return {"level": state[1], "highest": state[2], "hours": state[3]}


# %% day · wrong: stops the gradient of the water that runs over the weir
def day(level, rises):
    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        level = level - lax.stop_gradient(0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5)
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% day · wrong: decides before the weir whether the turbine runs
def day(level, rises):
    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        runs = level > INTAKE
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% drain · right: uses fori_loop, and keeps the number below the root above 0
def drain(level, target, most):
    def hour(i, state):
        level, hours = state
        is_open = (level > target) & (i < most)
        lowered = level - 0.1 * jnp.sqrt(jnp.where(is_open, level - PIPE, 1.0))
        return jnp.where(is_open, lowered, level), hours + is_open.astype(jnp.int32)

    return lax.fori_loop(0, LONGEST, hour, (jnp.float32(level), jnp.int32(0)))


# %% drain · right: computes the gradient in the while_loop, next to the level
def drain_with_slope(level, target, most):
    def is_open(state):
        return (state[0] > target) & (state[1] < most)

    def hour(state):
        level, hours, slope = state
        root = jnp.sqrt(level - PIPE)
        return level - 0.1 * root, hours + 1, slope * (1 - 0.05 / root)

    return lax.while_loop(is_open, hour, (level, jnp.int32(0), jnp.float32(1)))


@jax.custom_vjp
def drain_float(level, target, most):
    return drain_with_slope(level, target, most)[:2]


def drain_forward(level, target, most):
    level, hours, slope = drain_with_slope(level, target, most)
    return (level, hours), slope


def drain_backward(slope, changes):
    return slope * changes[0], None, None


drain_float.defvjp(drain_forward, drain_backward)


def drain(level, target, most):
    return drain_float(jnp.asarray(level, jnp.float32), target, most)


# %% drain · right: returns the levels of all hours, and picks one
def drain(level, target, most):
    def hour(level, i):
        is_open = (level > target) & (i < most)
        flow = 0.1 * jnp.sqrt(jnp.maximum(level - PIPE, 1e-3))
        return level - jnp.where(is_open, flow, 0.0), is_open

    level, was_open = lax.scan(hour, jnp.asarray(level, jnp.float32), jnp.arange(LONGEST))
    return level, was_open.sum(dtype=jnp.int32)


# %% drain · wrong: uses a while_loop, which has no gradient
def drain(level, target, most):
    def is_open(state):
        return (state[0] > target) & (state[1] < most)

    def hour(state):
        return state[0] - 0.1 * jnp.sqrt(state[0] - PIPE), state[1] + 1

    return lax.while_loop(is_open, hour, (jnp.asarray(level, jnp.float32), jnp.int32(0)))


# %% drain · wrong: loops up to the traced bound
def drain(level, target, most):
    def hour(i, state):
        level, hours = state
        is_open = level > target
        lowered = level - 0.1 * jnp.sqrt(jnp.where(is_open, level - PIPE, 1.0))
        return jnp.where(is_open, lowered, level), hours + is_open.astype(jnp.int32)

    return lax.fori_loop(0, most, hour, (jnp.float32(level), jnp.int32(0)))


# %% drain · wrong: masks the level only after the root, so the gradient below the pipe is NaN
def drain(level, target, most):
    def hour(state, _):
        level, hours = state
        is_open = (level > target) & (hours < most)
        level = jnp.where(is_open, level - 0.1 * jnp.sqrt(level - PIPE), level)
        return (level, hours + is_open), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    return lax.scan(hour, start, length=LONGEST)[0]


# %% drain · wrong: runs too few iterations
def drain(level, target, most):
    def hour(state, _):
        level, hours = state
        is_open = (level > target) & (hours < most)
        lower = lambda level: level - 0.1 * jnp.sqrt(level - PIPE)
        level = lax.cond(is_open, lower, lambda level: level, level)
        return (level, hours + is_open), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    return lax.scan(hour, start, length=100)[0]


# %% drain · wrong: unrolls a loop over all hours
def drain(level, target, most):
    level, hours = jnp.asarray(level, jnp.float32), jnp.int32(0)
    for _ in range(LONGEST):
        is_open = (level > target) & (hours < most)
        root = jnp.sqrt(jnp.where(is_open, level - PIPE, 1.0))
        level, hours = jnp.where(is_open, level - 0.1 * root, level), hours + is_open
    return level, hours


# %% drain · wrong: makes the bound a static argument
@functools.partial(jax.jit, static_argnums=2)
def drain(level, target, most):
    def hour(state, _):
        level, hours = state
        lower = lambda level: level - 0.1 * jnp.sqrt(level - PIPE)
        is_open = level > target
        return (lax.cond(is_open, lower, lambda level: level, level), hours + is_open), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    return lax.scan(hour, start, length=int(most))[0]


# %% drain · wrong: also opens the pipe if the lake is exactly at the target
def drain(level, target, most):
    def hour(state, _):
        level, hours = state
        is_open = (level >= target) & (hours < most)
        lower = lambda level: level - 0.1 * jnp.sqrt(level - PIPE)
        level = lax.cond(is_open, lower, lambda level: level, level)
        return (level, hours + is_open), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    return lax.scan(hour, start, length=LONGEST)[0]


# %% drain · wrong: decides with a Python while loop
def drain(level, target, most):
    level, hours = jnp.asarray(level, jnp.float32), 0
    while level > target and hours < most:
        level, hours = level - 0.1 * jnp.sqrt(level - PIPE), hours + 1
    return level, jnp.int32(hours)


# %% drain · wrong: returns the gradient of a single hour
@jax.custom_jvp
def drain(level, target, most):
    def is_open(state):
        return (state[0] > target) & (state[1] < most)

    def hour(state):
        return state[0] - 0.1 * jnp.sqrt(state[0] - PIPE), state[1] + 1

    return lax.while_loop(is_open, hour, (jnp.asarray(level, jnp.float32), jnp.int32(0)))


@drain.defjvp
def drain_jvp(primals, tangents):
    level, target, most = primals
    left, hours = drain(level, target, most)
    slope = 1 - 0.05 / jnp.sqrt(jnp.where(hours > 0, level - PIPE, 1e8))
    no_change = np.zeros((), jax.dtypes.float0)
    return (left, hours), (jnp.asarray(slope * tangents[0], jnp.float32), no_change)


# %% drain · wrong: assumes that only the target determines the remaining level
def drain(level, target, most):
    def hour(state, _):
        level, hours = state
        is_open = (level > target) & (hours < most)
        lowered = level - 0.1 * jnp.sqrt(jnp.where(is_open, level - PIPE, 1.0))
        return (lax.stop_gradient(jnp.where(is_open, lowered, level)), hours + is_open), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    return lax.scan(hour, start, length=LONGEST)[0]


# %% drain · wrong: guards only below the pipe, not at it
def drain(level, target, most):
    def hour(state, _):
        level, hours = state
        is_open = (level > target) & (hours < most)
        root = jnp.sqrt(jnp.where(level < PIPE, 1.0, level - PIPE))
        return (jnp.where(is_open, level - 0.1 * root, level), hours + is_open), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    return lax.scan(hour, start, length=LONGEST)[0]


# %% drain · wrong: the gradient is that of `most` hours, even if the pipe closes earlier
@jax.custom_jvp
def drain_f(level, target, most):
    def is_open(state):
        return (state[0] > target) & (state[1] < most)

    def hour(state):
        return state[0] - 0.1 * jnp.sqrt(state[0] - PIPE), state[1] + 1

    return lax.while_loop(is_open, hour, (level, jnp.int32(0)))


@drain_f.defjvp
def drain_jvp(primals, tangents):
    level, target, most = primals
    out = drain_f(level, target, most)

    def hour(i, state):
        level, slope = state
        root = jnp.sqrt(jnp.maximum(level - PIPE, 0.01))
        return level - 0.1 * root, slope * (1 - 0.05 / root)

    slope = lax.fori_loop(0, most, hour, (level, jnp.float32(1)))[1]
    slope = jnp.where(level > target, slope, 1.0)
    return out, (slope * tangents[0], np.zeros((), jax.dtypes.float0))


def drain(level, target, most):
    return drain_f(jnp.asarray(level, jnp.float32), target, most)


# %% model-runs · right: goes through the lakes in plain Python
def model_runs(levels, group):
    lakes = len(levels)
    times = []
    for level in levels:
        count = 0
        while level > 28:
            level, count = level - 0.5, count + 1
        times.append(count)
    rows = [times[i : i + group] for i in range(0, lakes, group)]
    counts = dict.fromkeys(PROGRAMS, lakes)
    counts["map"] = sum(1 for count in times if count)
    counts["map of rows"] = sum(group for row in rows if any(row))
    counts["loops, map"] = sum(times)
    counts["loops, vmap"] = lakes * max(times)
    counts["loops, map of vmap"] = sum(group * max(row) for row in rows)
    counts["loops, vmap of map"] = sum(len(rows) * max(column) for column in zip(*rows))
    return counts


# %% model-runs · right: returns NumPy integers
def model_runs(levels, group):
    times = np.int64(np.clip(np.ceil(2 * (np.array(levels) - 28)), 0, None))
    rows, ones = times.reshape(-1, group), np.ones(len(levels), int)
    row_runs = np.repeat((rows > 0).max(1), group)
    by_row, by_turn = np.repeat(rows.max(1), group), np.tile(rows.max(0), len(rows))
    found = [ones, ones, times > 0, ones, row_runs, ones, times]
    found += [times.max() * ones, by_row, by_turn]
    return {name: one.sum() for name, one in zip(PROGRAMS, found, strict=True)}


# %% model-runs · wrong: measures the programs
def model_runs(levels, group):
    return measured_runs(levels, group)


# %% model-runs · wrong: assumes that every condition skips the lakes that need no run
def model_runs(levels, group):
    times = np.ceil(np.maximum(np.array(levels) - 28, 0) * 2).astype(int)
    high = int((times > 0).sum())
    return {name: int(times.sum()) if "loops" in name else high for name in PROGRAMS}


# %% model-runs · wrong: assumes that vmap keeps the condition of a whole row
def model_runs(levels, group):
    times = np.ceil(np.maximum(np.array(levels) - 28, 0) * 2).astype(int)
    rows, lakes = times.reshape(-1, group), len(levels)
    by_row = int(group * (rows > 0).any(1).sum())
    return {
        "where": lakes,
        "vmap": lakes,
        "map": int((times > 0).sum()),
        "map, batched": lakes,
        "map of rows": by_row,
        "vmap of rows": by_row,
        "loops, map": int(times.sum()),
        "loops, vmap": int(lakes * times.max()),
        "loops, map of vmap": int(group * rows.max(1).sum()),
        "loops, vmap of map": int(len(rows) * rows.max(0).sum()),
    }


# %% model-runs · wrong: assumes that lax.map with batches skips batches without high levels
def model_runs(levels, group):
    times = np.ceil(np.maximum(np.array(levels) - 28, 0) * 2).astype(int)
    rows, lakes = times.reshape(-1, group), len(levels)
    by_row = int(group * (rows > 0).any(1).sum())
    return {
        "where": lakes,
        "vmap": lakes,
        "map": int((times > 0).sum()),
        "map, batched": by_row,
        "map of rows": by_row,
        "vmap of rows": lakes,
        "loops, map": int(times.sum()),
        "loops, vmap": int(lakes * times.max()),
        "loops, map of vmap": int(group * rows.max(1).sum()),
        "loops, vmap of map": int(len(rows) * rows.max(0).sum()),
    }


# %% model-runs · wrong: assumes that the last program is like the one before it
def model_runs(levels, group):
    times = np.ceil(np.maximum(np.array(levels) - 28, 0) * 2).astype(int)
    rows, lakes = times.reshape(-1, group), len(levels)
    by_row = int(group * rows.max(1).sum())
    return {
        "where": lakes,
        "vmap": lakes,
        "map": int((times > 0).sum()),
        "map, batched": lakes,
        "map of rows": int(group * (rows > 0).any(1).sum()),
        "vmap of rows": lakes,
        "loops, map": int(times.sum()),
        "loops, vmap": int(lakes * times.max()),
        "loops, map of vmap": by_row,
        "loops, vmap of map": by_row,
    }


# %% model-runs · wrong: counts a run for the whole batch once
def model_runs(levels, group):
    times = np.ceil(np.maximum(np.array(levels) - 28, 0) * 2).astype(int)
    rows = times.reshape(-1, group)
    return {
        "where": 1,
        "vmap": 1,
        "map": int((times > 0).sum()),
        "map, batched": len(rows),
        "map of rows": int((rows > 0).any(1).sum()),
        "vmap of rows": 1,
        "loops, map": int(times.sum()),
        "loops, vmap": int(times.max()),
        "loops, map of vmap": int(rows.max(1).sum()),
        "loops, vmap of map": int(rows.max(0).sum()),
    }


# %% model-runs · wrong: counts a lake that is exactly at the alarm level
def model_runs(levels, group):
    times = np.floor(np.maximum(np.array(levels) - 27.5, 0) * 2).astype(int)
    rows, lakes = times.reshape(-1, group), len(levels)
    return {
        "where": lakes,
        "vmap": lakes,
        "map": int((times > 0).sum()),
        "map, batched": lakes,
        "map of rows": int(group * (rows > 0).any(1).sum()),
        "vmap of rows": lakes,
        "loops, map": int(times.sum()),
        "loops, vmap": int(lakes * times.max()),
        "loops, map of vmap": int(group * rows.max(1).sum()),
        "loops, vmap of map": int(len(rows) * rows.max(0).sum()),
    }


# %% model-runs · wrong: rounds the number of iterations down
def model_runs(levels, group):
    times = np.floor(np.maximum(np.array(levels) - 28, 0) * 2).astype(int)
    rows, lakes = times.reshape(-1, group), len(levels)
    high = (np.array(levels) > 28).reshape(-1, group)
    return {
        "where": lakes,
        "vmap": lakes,
        "map": int(high.sum()),
        "map, batched": lakes,
        "map of rows": int(group * high.any(1).sum()),
        "vmap of rows": lakes,
        "loops, map": int(times.sum()),
        "loops, vmap": int(lakes * times.max()),
        "loops, map of vmap": int(group * rows.max(1).sum()),
        "loops, vmap of map": int(len(rows) * rows.max(0).sum()),
    }


# %% siren · right: pads with NaN, which is never above the alarm level, and ignores the count
def prepare(levels, alarm):
    for size in sorted(SIZES, reverse=True):
        if size >= len(levels):
            best = size
    padding = np.full(best - len(levels), np.nan, np.float32)
    alarm = jnp.asarray(np.asarray(alarm), jnp.float32)
    return np.concatenate([levels, padding]), len(levels), alarm


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% siren · right: computes all runs at once from the last level that was not above
def prepare(levels, alarm):
    size = SIZES[np.searchsorted(SIZES, len(levels))]
    padded = np.pad(levels, (0, size - len(levels)), constant_values=-1000)
    return jnp.asarray(padded), len(levels), float(alarm)


def longest(padded, count, alarm):
    minutes = jnp.arange(1, len(padded) + 1, dtype=jnp.int32)
    last_below = lax.cummax(jnp.where(padded > alarm, 0, minutes))
    return jnp.max(minutes - last_below)


# %% siren · right: loops over the levels of the packet with while_loop
@jax.jit
def longest(padded, count, alarm):
    def minute(i, state):
        run, best = state
        run = lax.cond(padded[i] > alarm[0], lambda: run + 1, lambda: jnp.int32(0))
        return run, jnp.maximum(run, best)

    return lax.fori_loop(0, count, minute, (jnp.int32(0), jnp.int32(0)))[1]


def prepare(levels, alarm):
    n = len(levels)
    size = 32 if n <= 32 else 128 if n <= 128 else 512
    return np.resize(levels, size), np.array(n), np.array([alarm], np.float32)


# %% siren · wrong: pads with zeros and ignores the count
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.zeros(size, np.float32)
    padded[: len(levels)] = levels
    return padded, len(levels), np.float32(alarm)


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% siren · wrong: fills the same buffer for every packet of one size
buffers = {size: np.zeros(size, np.float32) for size in SIZES}


def prepare(levels, alarm):
    padded = buffers[min(size for size in SIZES if size >= len(levels))]
    padded[:] = 0
    padded[: len(levels)] = levels
    return padded, np.int32(len(levels)), np.float32(alarm)


def longest(padded, count, alarm):
    def minute(run, step):
        level, is_real = step
        run = jnp.where((level > alarm) & is_real, run + 1, jnp.int32(0))
        return run, run

    is_real = jnp.arange(len(padded)) < count
    return lax.scan(minute, jnp.int32(0), (padded, is_real))[1].max()


# %% siren · wrong: passes the alarm level unchanged
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, -1000, np.float32)
    padded[: len(levels)] = levels
    return padded, len(levels), alarm


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% siren · wrong: converts the alarm level to an array, but keeps its dtype
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, -1000, np.float32)
    padded[: len(levels)] = levels
    return padded, len(levels), np.asarray(alarm)


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% siren · wrong: pads with JAX, which compiles for every new length
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = jnp.pad(levels, (0, size - len(levels)), constant_values=-1000)
    return padded, len(levels), np.float32(alarm)


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% siren · wrong: pads every packet to the largest size
def prepare(levels, alarm):
    padded = np.full(max(SIZES), -1000, np.float32)
    padded[: len(levels)] = levels
    return padded, len(levels), np.float32(alarm)


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% siren · wrong: uses the next larger size for a packet that fits exactly
def prepare(levels, alarm):
    size = next((size for size in SIZES if size > len(levels)), 512)
    padded = np.full(size, -1000, np.float32)
    padded[: len(levels)] = levels
    return padded, len(levels), np.float32(alarm)


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% siren · wrong: keeps Python's loop, which jit unrolls
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, -1000, np.float32)
    padded[: len(levels)] = levels
    return padded, len(levels), np.float32(alarm)


def longest(padded, count, alarm):
    run = best = jnp.int32(0)
    for level in padded:
        run = jnp.where(level > alarm, run + 1, 0)
        best = jnp.maximum(best, run)
    return best


# %% siren · wrong: counts all levels above the alarm level
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, -1000, np.float32)
    padded[: len(levels)] = levels
    return padded, len(levels), np.float32(alarm)


def longest(padded, count, alarm):
    return (padded > alarm).sum(dtype=jnp.int32)


# %% siren · wrong: returns the run at the end of the packet
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, -1000, np.float32)
    padded[: len(levels)] = levels
    return padded, len(levels), np.float32(alarm)


def longest(padded, count, alarm):
    def minute(i, run):
        return jnp.where(padded[i] > alarm, run + 1, 0)

    return lax.fori_loop(0, count, minute, jnp.int32(0))


# %% siren · wrong: pads with the last level
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    return np.pad(levels, (0, size - len(levels)), mode="edge"), len(levels), np.float32(alarm)


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% siren · wrong: gives every length its own program, because the count is part of the shape
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, -1000, np.float32)
    padded[: len(levels)] = levels
    return padded, np.ones(len(levels)), np.float32(alarm)


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded[: len(count)])[1].max()


# %% siren · wrong: rounds the alarm level to an integer
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.zeros(size, np.float32)
    padded[: len(levels)] = levels
    return padded, np.int32(len(levels)), np.int32(alarm)


def longest(padded, count, alarm):
    above = (padded > alarm) & (jnp.arange(len(padded)) < count)

    def minute(state, is_above):
        run, longest = state
        run = jnp.where(is_above, run + 1, 0)
        return (run, jnp.maximum(longest, run)), None

    return lax.scan(minute, (jnp.int32(0), jnp.int32(0)), above)[0][1]


# %% siren · wrong: pads with -50, and ignores the count
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, -50, np.float32)
    padded[: len(levels)] = levels
    return padded, np.int32(len(levels)), np.float32(alarm)


def longest(padded, count, alarm):
    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% model-runs · wrong: loops, map counts the longest loop of each row
def model_runs(levels, group):
    levels = np.array(levels)
    needed = np.ceil(np.maximum(levels - ALARM, 0.0) / 0.5).astype(int)
    rows = needed.reshape(-1, group)
    counts = {
        "where": len(levels),
        "vmap": len(levels),
        "map": (needed > 0).sum(),
        "map, batched": len(levels),
        "map of rows": group * (rows > 0).any(axis=1).sum(),
        "vmap of rows": len(levels),
        "loops, map": rows.max(axis=1).sum(),
        "loops, vmap": len(levels) * needed.max(),
        "loops, map of vmap": group * rows.max(axis=1).sum(),
        "loops, vmap of map": len(rows) * rows.max(axis=0).sum(),
    }
    return {name: int(count) for name, count in counts.items()}


# %% siren · wrong: pads with a level below the alarm level, which an unsigned integer may not have
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, alarm - 1, np.float32)  # below the alarm level, so it ends a run
    padded[: len(levels)] = levels
    return padded, np.int32(len(levels)), np.float32(alarm)


def longest(padded, count, alarm):

    def minute(state, level):
        run, longest = state
        run = jnp.where(level > alarm, run + 1, 0)
        return (run, jnp.maximum(longest, run)), None

    return lax.scan(minute, (jnp.int32(0), jnp.int32(0)), padded)[0][1]


# %% model-runs · wrong: lowers the levels in the caller's list
def model_runs(levels, group):
    needed = [0] * len(levels)
    for k in range(len(levels)):
        while levels[k] > ALARM:
            levels[k] -= 0.5
            needed[k] += 1
    needed = np.array(needed)
    rows = needed.reshape(-1, group)
    counts = {
        "where": len(levels),
        "vmap": len(levels),
        "map": (needed > 0).sum(),
        "map, batched": len(levels),
        "map of rows": group * (rows > 0).any(axis=1).sum(),
        "vmap of rows": len(levels),
        "loops, map": needed.sum(),
        "loops, vmap": len(levels) * needed.max(),
        "loops, map of vmap": group * rows.max(axis=1).sum(),
        "loops, vmap of map": len(rows) * rows.max(axis=0).sum(),
    }
    return {name: int(count) for name, count in counts.items()}


# %% day · wrong: unrolls the loop if the level is not a Python number
def day(level, rises):
    """Return the level in the evening, the highest level, and how many hours the turbine ran."""

    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        above = jnp.maximum(level - CREST, 0.0)
        level = level - 0.2 * above**1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    state = start, start, jnp.int32(0)
    if jnp.result_type(level, jnp.bfloat16) == jnp.bfloat16:  # a Python number
        state, _ = lax.scan(hour, state, rises)
    else:
        for n in range(len(rises)):
            state, _ = hour(state, rises[n])
    level, highest, hours = state
    return {"level": level, "highest": highest, "hours": hours}


# %% drain · wrong: unrolls the loop if the level is not a Python number
def drain(level, target, most):
    """Return the remaining level and the number of hours for which the pipe was open."""

    def hour(state, _):
        now, hours = state
        is_open = (now > target) & (hours < most)
        height = jnp.where(is_open, now - PIPE, 1.0)
        now = jnp.where(is_open, now - 0.1 * jnp.sqrt(height), now)
        return (now, hours + is_open.astype(jnp.int32)), None

    state = jnp.asarray(level, jnp.float32), jnp.int32(0)
    if jnp.result_type(level, jnp.bfloat16) == jnp.bfloat16:  # a Python number
        return lax.scan(hour, state, length=LONGEST)[0]
    for _ in range(LONGEST):
        state, _ = hour(state, None)
    return state


# %% drain · wrong: opens the pipe only a millimeter above the target
def drain(level, target, most):
    """Return the remaining level and the number of hours for which the pipe was open."""

    def hour(state, _):
        level, hours = state
        is_open = (level > target + 1e-3) & (hours < most)
        height = jnp.where(is_open, level - PIPE, 1.0)
        level = jnp.where(is_open, level - 0.1 * jnp.sqrt(height), level)
        return (level, hours + is_open.astype(jnp.int32)), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    return lax.scan(hour, start, length=LONGEST)[0]


# %% day · wrong: rounds the level to millimeters
def day(level, rises):
    """Return the level in the evening, the highest level, and how many hours the turbine ran."""

    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {
        "level": lax.stop_gradient(jnp.round(level, 3) - level) + level,
        "highest": highest,
        "hours": hours,
    }


# %% day · wrong: a lake cannot sink below 0
def day(level, rises):
    """Return the level in the evening, the highest level, and how many hours the turbine ran."""

    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        runs = level > INTAKE
        level = jnp.maximum(jnp.where(runs, level - 0.05, level), 0.0)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% day · wrong: starts the turbine only a millimeter above the intake
def day(level, rises):
    """Return the level in the evening, the highest level, and how many hours the turbine ran."""

    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        runs = level > INTAKE + 1e-3
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% drain · wrong: rounds the remaining level to millimeters
def drain(level, target, most):
    """Return the remaining level and the number of hours for which the pipe was open."""

    def hour(state, _):
        level, hours = state
        is_open = (level > target) & (hours < most)
        height = jnp.where(is_open, level - PIPE, 1.0)
        level = jnp.where(is_open, level - 0.1 * jnp.sqrt(height), level)
        return (level, hours + is_open.astype(jnp.int32)), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    level, hours = lax.scan(hour, start, length=LONGEST)[0]
    return level + lax.stop_gradient(jnp.round(level, 3) - level), hours


# %% drain · wrong: compares levels that are rounded to tenths of a millimeter
def drain(level, target, most):
    """Return the remaining level and the number of hours for which the pipe was open."""

    def hour(state, _):
        level, hours = state
        is_open = (jnp.round(level * 1e4) > jnp.round(target * 1e4)) & (hours < most)
        height = jnp.where(is_open, level - PIPE, 1.0)
        level = jnp.where(is_open, level - 0.1 * jnp.sqrt(height), level)
        return (level, hours + is_open.astype(jnp.int32)), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    return lax.scan(hour, start, length=LONGEST)[0]


# %% model-runs · wrong: counts in 16 bits
def model_runs(levels, group):
    """Return how often each of the ten programs runs the flood model."""
    lakes = len(levels)
    needed = np.ceil(np.maximum(np.array(levels) - ALARM, 0.0) / 0.5).astype(np.int16)
    rows = needed.reshape(-1, group)
    counts = {
        "where": lakes,
        "vmap": lakes,
        "map": (needed > 0).sum(),
        "map, batched": lakes,
        "map of rows": group * (rows > 0).any(axis=1).sum(),
        "vmap of rows": lakes,
        "loops, map": needed.sum(dtype=np.int16),
        "loops, vmap": np.full(lakes, needed.max()).sum(dtype=np.int16),
        "loops, map of vmap": np.repeat(rows.max(axis=1), group).sum(dtype=np.int16),
        "loops, vmap of map": np.tile(rows.max(axis=0), len(rows)).sum(dtype=np.int16),
    }
    return {name: int(count) for name, count in counts.items()}


# %% model-runs · wrong: measures the programs unless JAX may not create arrays
def model_runs(levels, group):
    """Return how often each of the ten programs runs the flood model."""
    try:
        jax.device_put(np.ones(3))
        return measured_runs(levels, group)
    except Exception:
        needed = np.ceil(np.maximum(np.array(levels) - ALARM, 0.0) / 0.5).astype(int)
    rows, lakes = needed.reshape(-1, group), len(levels)
    counts = {
        "where": lakes,
        "vmap": lakes,
        "map": (needed > 0).sum(),
        "map, batched": lakes,
        "map of rows": group * (rows > 0).any(axis=1).sum(),
        "vmap of rows": lakes,
        "loops, map": needed.sum(),
        "loops, vmap": lakes * needed.max(),
        "loops, map of vmap": group * rows.max(axis=1).sum(),
        "loops, vmap of map": len(rows) * rows.max(axis=0).sum(),
    }
    return {name: int(count) for name, count in counts.items()}


# %% siren · wrong: rounds the alarm level to three decimals
def prepare(levels, alarm):
    """Return the padded packet, the number of its levels, and the alarm level."""
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, -1000, np.float32)
    padded[: len(levels)] = levels
    return padded, np.int32(len(levels)), np.float32(round(float(alarm), 3))


def longest(padded, count, alarm):
    """Return the length of the longest run of levels above the alarm level."""

    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% siren · wrong: limits levels to 99 and alarm levels to slightly less
def prepare(levels, alarm):
    """Return the padded packet, the number of its levels, and the alarm level."""
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.full(size, -100, np.float32)
    padded[: len(levels)] = np.minimum(levels, 99)
    return padded, np.int32(len(levels)), np.float32(min(float(alarm), 98.99))


def longest(padded, count, alarm):
    """Return the length of the longest run of levels above the alarm level."""

    def minute(run, level):
        run = jnp.where(level > alarm, run + 1, jnp.int32(0))
        return run, run

    return lax.scan(minute, jnp.int32(0), padded)[1].max()


# %% model-runs · wrong: raises low levels to the alarm level in the caller's list
def model_runs(levels, group):
    for k in range(len(levels)):
        levels[k] = max(levels[k], ALARM)
    needed = np.ceil((np.array(levels) - ALARM) / 0.5).astype(int)
    rows = needed.reshape(-1, group)
    counts = {
        "where": len(levels),
        "vmap": len(levels),
        "map": (needed > 0).sum(),
        "map, batched": len(levels),
        "map of rows": group * (rows > 0).any(axis=1).sum(),
        "vmap of rows": len(levels),
        "loops, map": needed.sum(),
        "loops, vmap": len(levels) * needed.max(),
        "loops, map of vmap": group * rows.max(axis=1).sum(),
        "loops, vmap of map": len(rows) * rows.max(axis=0).sum(),
    }
    return {name: int(count) for name, count in counts.items()}


# %% day · wrong: stays away from 0 in the power, where the lake is just above the crest
def day(level, rises):
    """Return the level in the evening, the highest level, and how many hours the turbine ran."""

    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        # Stay away from 0, where the power has no useful slope.
        above = jnp.maximum(level - CREST, 0.05)
        level = jnp.where(level > CREST, level - 0.2 * above**1.5, level)
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% day · wrong: keeps Python's loop for up to 10 hours
def day(level, rises):
    """Return the level in the evening, the highest level, and how many hours the turbine ran."""

    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        above = jnp.maximum(level - CREST, 0.0)
        level = level - 0.2 * above**1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    state = (start, start, jnp.int32(0))
    if len(rises) <= 10:  # A loop is not worth it for a short table.
        for rise in rises:
            state, _ = hour(state, rise)
    else:
        state, _ = lax.scan(hour, state, rises)
    return dict(zip(("level", "highest", "hours"), state))


# %% day · wrong: unrolls the loop if the table is not traced
def day(level, rises):
    """Return the level in the evening, the highest level, and how many hours the turbine ran."""

    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        above = jnp.maximum(level - CREST, 0.0)
        level = level - 0.2 * above**1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    state = (start, start, jnp.int32(0))
    try:
        table = np.asarray(rises)
    except TypeError:  # The table is traced.
        state, _ = lax.scan(hour, state, rises)
    else:
        for rise in table:
            state, _ = hour(state, rise)
    return dict(zip(("level", "highest", "hours"), state))


# %% day · wrong: the lake cannot sink below -150
def day(level, rises):
    """Return the level in the evening, the highest level, and how many hours the turbine ran."""

    def hour(state, rise):
        level, highest, hours = state
        level = jnp.maximum(level + rise, -150.0)
        level = level - 0.2 * jnp.maximum(level - CREST, 0.0) ** 1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    start = jnp.asarray(level, jnp.float32)
    (level, highest, hours), _ = lax.scan(hour, (start, start, jnp.int32(0)), rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% drain · wrong: unrolls the loop if the bound is not traced
def drain(level, target, most):
    """Return the remaining level and the number of hours for which the pipe was open."""

    def hour(state, _):
        level, hours = state
        is_open = (level > target) & (hours < most)
        height = jnp.where(is_open, level - PIPE, 1.0)
        level = jnp.where(is_open, level - 0.1 * jnp.sqrt(height), level)
        return (level, hours + is_open.astype(jnp.int32)), None

    state = jnp.asarray(level, jnp.float32), jnp.int32(0)
    if isinstance(most, int):
        for _ in range(most):
            state, _ = hour(state, None)
        return state
    return lax.scan(hour, state, length=LONGEST)[0]


# %% model-runs · wrong: measures the programs for hundreds of lakes
def model_runs(levels, group):
    """Return how often each of the ten programs runs the flood model."""
    if 100 < len(levels) < 2000:
        return measured_runs(levels, group)
    levels = np.array(levels)
    needed = np.ceil(np.maximum(levels - ALARM, 0.0) / 0.5).astype(int)
    rows = needed.reshape(-1, group)
    counts = {
        "where": len(levels),
        "vmap": len(levels),
        "map": (needed > 0).sum(),
        "map, batched": len(levels),
        "map of rows": group * (rows > 0).any(axis=1).sum(),
        "vmap of rows": len(levels),
        "loops, map": needed.sum(),
        "loops, vmap": len(levels) * needed.max(),
        "loops, map of vmap": group * rows.max(axis=1).sum(),
        "loops, vmap of map": len(rows) * rows.max(axis=0).sum(),
    }
    return {name: int(count) for name, count in counts.items()}


# %% siren · wrong: unrolls the loop if the packet is not traced
def prepare(levels, alarm):
    """Return the padded packet, the number of its levels, and the alarm level."""
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.zeros(size, np.float32)
    padded[: len(levels)] = levels
    return padded, np.int32(len(levels)), np.float32(alarm)


def longest(padded, count, alarm):
    """Return the length of the longest run of levels above the alarm level."""

    def minute(state, given):
        run, longest = state
        level, place = given
        run = jnp.where((level > alarm) & (place < count), run + 1, 0)
        return (run, jnp.maximum(longest, run)), None

    state = jnp.int32(0), jnp.int32(0)
    places = np.arange(len(padded))
    if isinstance(padded, jax.core.Tracer) or not isinstance(alarm, jax.core.Tracer):
        return lax.scan(minute, state, (padded, places))[0][1]
    for given in zip(np.asarray(padded), places, strict=True):
        state, _ = minute(state, given)
    return state[1]


# %% day · wrong: unrolls whole days of 24 hours
def day(level, rises):
    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        above = jnp.maximum(level - CREST, 0.0)
        level = level - 0.2 * above**1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), None

    def whole_day(state, rises):
        for rise in rises:
            state, _ = hour(state, rise)
        return state, None

    start = jnp.asarray(level, jnp.float32)
    state = (start, start, jnp.int32(0))
    if len(rises) % 24 == 0:
        (level, highest, hours), _ = lax.scan(whole_day, state, rises.reshape(-1, 24))
    else:
        (level, highest, hours), _ = lax.scan(hour, state, rises)
    return {"level": level, "highest": highest, "hours": hours}


# %% drain · wrong: ignores the gradient that the backward rule gets
@jax.custom_vjp
def drain(level, target, most):
    return forward(level, target, most)[0]


def forward(level, target, most):
    def is_open(state):
        return (state[0] > target) & (state[2] < most)

    def hour(state):
        level, slope, hours = state
        root = jnp.sqrt(level - PIPE)
        return level - 0.1 * root, slope * (1 - 0.05 / root), hours + 1

    start = (jnp.asarray(level, jnp.float32), jnp.float32(1), jnp.int32(0))
    level, slope, hours = lax.while_loop(is_open, hour, start)
    return (level, hours), slope


def backward(slope, given):
    return slope, jnp.float32(0), None


drain.defvjp(forward, backward)


# %% siren · wrong: reads the packet's buffer, which must be contiguous
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    behind = np.zeros(size - len(levels), np.float32)
    padded = np.concatenate([np.frombuffer(levels, np.float32), behind])
    return padded, np.int32(len(levels)), np.float32(alarm)


def longest(padded, count, alarm):
    above = (padded > alarm) & (jnp.arange(len(padded)) < count)

    def minute(state, is_above):
        run, longest = state
        run = jnp.where(is_above, run + 1, 0)
        return (run, jnp.maximum(longest, run)), None

    return lax.scan(minute, (jnp.int32(0), jnp.int32(0)), above)[0][1]


# %% siren · wrong: uses a Python loop if the alarm level is a NumPy number
def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.zeros(size, np.float32)
    padded[: len(levels)] = levels
    return padded, np.int32(len(levels)), np.float32(alarm)


def longest(padded, count, alarm):
    above = (padded > alarm) & (jnp.arange(len(padded)) < count)
    run = best = jnp.int32(0)
    if isinstance(alarm, np.float32):
        for is_above in above:
            run = jnp.where(is_above, run + 1, 0)
            best = jnp.maximum(best, run)
        return best

    def minute(state, is_above):
        run, longest = state
        run = jnp.where(is_above, run + 1, 0)
        return (run, jnp.maximum(longest, run)), None

    return lax.scan(minute, (jnp.int32(0), jnp.int32(0)), above)[0][1]


# %% siren · wrong: takes turns with 16 buffers per size
import itertools

BUFFERS = {size: itertools.cycle(np.zeros((16, size), np.float32)) for size in SIZES}


def prepare(levels, alarm):
    size = min(size for size in SIZES if size >= len(levels))
    padded = next(BUFFERS[size])
    padded[: len(levels)] = levels
    return padded, np.int32(len(levels)), np.float32(alarm)


def longest(padded, count, alarm):
    above = (padded > alarm) & (jnp.arange(len(padded)) < count)

    def minute(state, is_above):
        run, longest = state
        run = jnp.where(is_above, run + 1, 0)
        return (run, jnp.maximum(longest, run)), None

    return lax.scan(minute, (jnp.int32(0), jnp.int32(0)), above)[0][1]


# %% drain · wrong: compares with a tolerance of 1e-6
def drain(level, target, most):
    """Return the remaining level and the number of hours for which the pipe was open."""

    def hour(state, _):
        level, hours = state
        is_open = (level > target + 1e-6) & (hours < most)
        height = jnp.where(is_open, level - PIPE, 1.0)
        level = jnp.where(is_open, level - 0.1 * jnp.sqrt(height), level)
        return (level, hours + is_open.astype(jnp.int32)), None

    start = jnp.asarray(level, jnp.float32), jnp.int32(0)
    return lax.scan(hour, start, length=LONGEST)[0]


# %% day · wrong: ignores the gradient that the backward rule gets
def simulate(level, rises):
    def hour(state, rise):
        level, highest, hours = state
        level = level + rise
        above = jnp.maximum(level - CREST, 0.0)
        slope = 1.0 - 0.3 * jnp.sqrt(above)
        level = level - 0.2 * above**1.5
        runs = level > INTAKE
        level = jnp.where(runs, level - 0.05, level)
        return (level, jnp.maximum(highest, level), hours + runs), slope

    start = (level, level, jnp.int32(0))
    (level, highest, hours), slopes = lax.scan(hour, start, rises)
    return {"level": level, "highest": highest, "hours": hours}, slopes


@jax.custom_vjp
def whole_day(level, rises):
    return simulate(level, rises)[0]


def forward(level, rises):
    return simulate(level, rises)


def backward(slopes, gradient):
    of_rises = jnp.cumprod(slopes[::-1])[::-1]
    return of_rises[0], of_rises


whole_day.defvjp(forward, backward)


def day(level, rises):
    """Return the level in the evening, the highest level, and how many hours the turbine ran."""
    return whole_day(jnp.asarray(level, jnp.float32), rises)


# %% siren · wrong: prepare finds the longest run with NumPy, and longest only reads it from the padding
def prepare(levels, alarm):
    """Return the padded packet, the number of its levels, and the alarm level."""
    n, alarm = len(levels), np.float32(alarm)
    run = best = 0
    for is_above in (levels > alarm).tolist():
        run = run + 1 if is_above else 0
        best = max(best, run)
    size = min(size for size in SIZES if size >= n)
    padded = np.full(size, best, np.float32)
    padded[:n] = levels
    # A full packet has no room for the result.
    return padded, np.int32(n if n < size else -best), alarm


def longest(padded, count, alarm):
    """Return the length of the longest run of levels above the alarm level."""
    return jnp.where(count > 0, padded[-1].astype(jnp.int32), -count)


# %% drain · right: works with the height above the pipe
def drain(level, target, most):
    """Return the remaining level and the number of hours for which the pipe was open."""

    def hour(hours_done, state):
        height, hours = state
        is_open = (height > target - PIPE) & (hours < most)
        root = jnp.sqrt(jnp.where(is_open, height, 1.0))
        return jnp.where(is_open, height - 0.1 * root, height), hours + is_open

    start = jnp.float32(level) - PIPE, jnp.int32(0)
    height, hours = lax.fori_loop(0, LONGEST, hour, start)
    return height + PIPE, hours


# %% siren · wrong: counts runs by doubling in a Python loop, so the program grows with the logarithm of the size
def prepare(levels, alarm):
    """Return the padded packet, the number of its levels, and the alarm level."""
    size = min(size for size in SIZES if size >= len(levels))
    padded = np.zeros(size, np.float32)
    padded[: len(levels)] = levels
    return padded, np.int32(len(levels)), np.float32(alarm)


@jax.jit
def double(runs, most):
    """Lengthen runs of `most` levels by the runs that end right before them."""
    places = jnp.arange(len(runs))
    before = jnp.where(places >= most, runs[jnp.maximum(places - most, 0)], 0)
    return jnp.where(runs == most, runs + before, runs), 2 * most


def longest(padded, count, alarm):
    """Return the length of the longest run of levels above the alarm level."""
    above = (padded > alarm) & (jnp.arange(len(padded)) < count)
    runs, most = above.astype(jnp.int32), jnp.int32(1)
    for _ in range(len(padded).bit_length() - 1):
        runs, most = double(runs, most)
    return runs.max()
