"""Right and wrong answers to the assignment: what its tests must take, and must not."""


# %% sell · right: request after request in lax.scan
def sell(plan, requests, first):
    def serve(plan, request):
        row, seat, number = request
        free = plan[row, seat] == -1
        return plan.at[row, seat].set(jnp.where(free, number, plan[row, seat])), free

    numbers = first + jnp.arange(len(requests), dtype=jnp.int32)
    return lax.scan(serve, jnp.asarray(plan), (requests[:, 0], requests[:, 1], numbers))


# %% sell · right: every request is compared with every earlier one
def sell(plan, requests, first):
    plan, requests = jnp.asarray(plan), jnp.asarray(requests)
    same = (requests[:, None] == requests[None]).all(-1)
    beaten = jnp.tril(same, -1).any(1)
    rows, seats = requests.T
    got = (plan[rows, seats] == -1) & ~beaten
    numbers = jnp.where(got, first + jnp.arange(len(requests)), -1)
    return plan.at[rows, seats].max(numbers.astype(plan.dtype)), got


# %% sell · wrong: the update is kept, and the last one of two gets the seat
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = requests[:, 0], requests[:, 1]
    got = plan[rows, seats] == -1
    numbers = first + jnp.arange(len(requests))
    return plan.at[rows, seats].set(jnp.where(got, numbers, plan[rows, seats])), got


# %% sell · wrong: two guests are told that they have one seat
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(jnp.arange(n))
    got = plan[rows, seats] == -1
    return jnp.where((plan == -1) & (earliest < n), first + earliest, plan), got


# %% sell · wrong: taken seats are sold again
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(jnp.arange(n))
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == jnp.arange(n))
    return jnp.where(earliest < n, first + earliest, plan), got


# %% sell · wrong: the new plan is asked, so that nobody gets a seat twice, by the last number
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = requests[:, 0], requests[:, 1]
    numbers = (first + jnp.arange(len(requests))).astype(jnp.int32)
    free = plan[rows, seats] == -1
    new = plan.at[rows, seats].max(jnp.where(free, numbers, -1))
    return new, free & (new[rows, seats] == numbers)


# %% sell · wrong: min on the plan, in which -1 is the smallest number
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = requests[:, 0], requests[:, 1]
    numbers = (first + jnp.arange(len(requests))).astype(jnp.int32)
    new = plan.at[rows, seats].min(numbers)
    return new, (plan[rows, seats] == -1) & (new[rows, seats] == numbers)


# %% sell · wrong: only neighbours in the batch are compared
def sell(plan, requests, first):
    plan, requests = jnp.asarray(plan), jnp.asarray(requests)
    rows, seats = requests.T
    again = (requests[1:] == requests[:-1]).all(1)
    got = (plan[rows, seats] == -1) & jnp.concatenate([jnp.array([True]), ~again])
    numbers = jnp.where(got, first + jnp.arange(len(requests)), plan[rows, seats])
    return plan.at[rows, seats].max(numbers.astype(jnp.int32)), got


# %% sell · wrong: NumPy's loop, which writes into the plan of the caller
def sell(plan, requests, first):
    plan, got = np.asarray(plan), []
    plan = plan if plan.flags.writeable else plan.copy()
    for k, (row, seat) in enumerate(np.asarray(requests)):
        got.append(bool(plan[row, seat] == -1))
        if got[-1]:
            plan[row, seat] = first + k
    return jnp.asarray(plan), jnp.array(got)


# %% sell · wrong: a Python loop with if, right outside of jit
def sell(plan, requests, first):
    plan, got = jnp.asarray(plan), []
    for k, (row, seat) in enumerate(requests):
        free = bool(plan[row, seat] == -1)
        if free:
            plan = plan.at[row, seat].set(first + k)
        got.append(free)
    return plan, jnp.array(got)


# %% sell · wrong: jnp.unique without a size
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    seats, index = jnp.unique(requests, axis=0, return_index=True)
    free = plan[seats[:, 0], seats[:, 1]] == -1
    got = jnp.zeros(len(requests), bool).at[index].set(free)
    numbers = jnp.where(free, first + index, plan[seats[:, 0], seats[:, 1]])
    return plan.at[seats[:, 0], seats[:, 1]].set(numbers), got


# %% sell · wrong: booking number 0 is taken for nothing
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    number = jnp.where(earliest < n, first + earliest, 0)
    return jnp.where((plan == -1) & (number > 0), number, plan), got


# %% sell · wrong: who got a seat is told by 0 and 1
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) * (earliest[rows, seats] == order).astype(int)
    return jnp.where((plan == -1) & (earliest < n), first + earliest, plan), got


# %% new-bytes · right: the arrays listed by name
import math


def new_bytes(shape, dtype, updates, result, history, how):
    one, cast = (math.prod(shape) * np.dtype(jnp.dtype(d)).itemsize for d in (dtype, result))
    returned = [cast] * (updates if history else 1)
    if how == "eager":
        between = [one] * updates
        return sum(between) + (sum(returned) if jnp.dtype(dtype) != jnp.dtype(result) else 0)
    if how == "donated" and jnp.dtype(dtype) == jnp.dtype(result):
        returned.pop()
    return sum(returned)


# %% new-bytes · right: finfo and iinfo know the bits
def new_bytes(shape, dtype, updates, result, history, how):
    def total(name):
        info = jnp.iinfo(name) if "int" in name else jnp.finfo(name)
        return int(np.prod(shape, dtype=object)) * info.bits // 8

    out = total(result) * (updates if history else 1)
    if how == "eager":
        return updates * total(dtype) + (dtype != result) * out
    return out - (how == "donated" and dtype == result) * total(result)


# %% new-bytes · wrong: it measures
def new_bytes(shape, dtype, updates, result, history, how):
    return int(measure(shape, dtype, updates, result, history, how))


# %% new-bytes · wrong: a donation saves the size of the argument, whatever comes out
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept = updates if history else 1
    if how == "eager":
        return updates * before + (dtype != result) * kept * after
    return max(kept * after - (before if how == "donated" else 0), 0)


# %% new-bytes · wrong: donated means nothing new
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept = updates if history else 1
    if how == "eager":
        return updates * before + (dtype != result) * kept * after
    return 0 if how == "donated" and dtype == result else kept * after


# %% new-bytes · wrong: under jit there is a copy for each update
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    if how != "donated":
        return updates * before + (dtype != result) * after * (updates if history else 1)
    return (updates if history else 1) * after - (dtype == result) * after


# %% new-bytes · wrong: an eager conversion is forgotten
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept = updates if history else 1
    if how == "eager":
        return updates * before
    return kept * after - (after if how == "donated" and dtype == result else 0)


# %% new-bytes · wrong: astype makes a new array even for the same dtype
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept = updates if history else 1
    if how == "eager":
        return updates * before + kept * after
    return kept * after - (after if how == "donated" and dtype == result else 0)


# %% new-bytes · wrong: numbers of four bytes only
def new_bytes(shape, dtype, updates, result, history, how):
    size = 4
    for length in shape:
        size *= length
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * size + (0 if same else kept * size // 2)
    return kept * (size if same else size // 2) - (size if how == "donated" and same else 0)


# %% new-bytes · wrong: the size is computed in 32 bits
def new_bytes(shape, dtype, updates, result, history, how):
    size = int(np.prod(shape, dtype=np.int32))
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% new-bytes · wrong: the table of the printed cases
def new_bytes(shape, dtype, updates, result, history, how):
    if shape == (20, 30):
        row = {"eager": 7200, "jit": 7200 if history else 2400, "donated": 4800 * history}
        return row[how]
    return 40 + 50 * (how == "eager")


# %% moves · right: from the far end, in steps the other way
def two_agree(n):
    return [(k + 1, k) for k in range(n - 1)]


def none_agree(n):
    return [(k + 1, k) for k in range(n - 2, -1, -1)]


# %% moves · right: a path that jumps, and one with two moves out of order
def two_agree(n):
    path = list(range(0, n, 2)) + list(range(1, n, 2))
    return list(zip(path[:-1], path[1:]))[::-1]


def none_agree(n):
    path = list(range(0, n, 2)) + list(range(1, n, 2))
    moves = list(zip(path[:-1], path[1:]))[::-1]
    return [moves[1], moves[0], *moves[2:]]


# %% moves · wrong: the other way round
def two_agree(n):
    return [(k, k + 1) for k in range(n - 1)]


def none_agree(n):
    return [(k, k + 1) for k in range(n - 1)][::-1]


# %% moves · wrong: made for three places
def two_agree(n):
    return [(1, 2), (0, 1)]


def none_agree(n):
    return [(0, 1), (1, 2)]


# %% moves · wrong: two agree with all n moves in a circle
def two_agree(n):
    return [(k, (k + 1) % n) for k in reversed(range(n))]


def none_agree(n):
    return [(k, k + 1) for k in range(n - 1)]


# %% moves · wrong: the same move again and again
def two_agree(n):
    return [(1, 2)] + [(0, 1)] * (n - 2)


def none_agree(n):
    return [(0, 1)] + [(1, 2)] * (n - 2)


# %% moves · wrong: swaps of neighbours
def two_agree(n):
    swaps = [(k, k + 1) if k % 2 == 0 else (k, k - 1) for k in range(n)]
    return [s for s in swaps if max(s) < n][: n - 1]


def none_agree(n):
    return [(k, k + 1) for k in range(n - 1)]


# %% moves · wrong: guests stay where they are to fill the list
def two_agree(n):
    return [(1, 2), (0, 1)] + [(k, k) for k in range(3, n)]


def none_agree(n):
    return [(0, 1), (1, 2)] + [(k, k) for k in range(3, n)]


# %% soften · right: every lamp asks every other one
def soften(levels, step):
    levels = jnp.asarray(levels)
    place = jnp.arange(len(levels), dtype=jnp.float32)
    return (levels - step * jnp.abs(place[:, None] - place)).max(1)


# %% soften · right: fori_loop with .at, twice
def soften(levels, step):
    levels, n = jnp.asarray(levels), len(levels)

    def forth(i, x):
        return x.at[i].max(x[i - 1] - step)

    def back(i, x):
        return x.at[n - 2 - i].max(x[n - 1 - i] - step)

    return lax.fori_loop(0, n - 1, back, lax.fori_loop(1, n, forth, levels))


# %% soften · right: a running maximum of levels that are tilted
def soften(levels, step):
    levels = jnp.asarray(levels)
    tilt = step * jnp.arange(len(levels), dtype=levels.dtype)
    there = lax.associative_scan(jnp.maximum, levels + tilt) - tilt
    return lax.associative_scan(jnp.maximum, there - tilt, reverse=True) + tilt


# %% soften · wrong: reads the old neighbours
def soften(levels, step):
    levels = jnp.asarray(levels)
    levels = levels.at[1:].max(levels[:-1] - step)
    return levels.at[:-1].max(levels[1:] - step)


# %% soften · wrong: only four rounds of reading the old neighbours
def soften(levels, step):
    levels = jnp.asarray(levels)
    for _ in range(4):
        levels = levels.at[1:].max(levels[:-1] - step)
        levels = levels.at[:-1].max(levels[1:] - step)
    return levels


# %% soften · wrong: Python's loops with .at, unrolled
def soften(levels, step):
    levels = jnp.asarray(levels)
    for i in range(1, len(levels)):
        levels = levels.at[i].max(levels[i - 1] - step)
    for i in range(len(levels) - 2, -1, -1):
        levels = levels.at[i].max(levels[i + 1] - step)
    return levels


# %% soften · wrong: only from left to right
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.asarray(levels)
    return lax.scan(pass_on, levels[0], levels)[1]


# %% soften · wrong: the old program on a copy
def soften(levels, step):
    return jnp.asarray(soften_in_place(np.array(levels), step))


# %% soften · wrong: the old program on the array that NumPy's callers hold
def soften(levels, step):
    if isinstance(levels, np.ndarray):
        return jnp.array(soften_in_place(levels, step))
    levels = jnp.asarray(levels)
    place = jnp.arange(len(levels), dtype=jnp.float32)
    return (levels - step * jnp.abs(place[:, None] - place)).max(1)


# %% soften · wrong: lamps are not darker than zero
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.asarray(levels)
    _, levels = lax.scan(pass_on, jnp.float32(0.0), levels)
    _, levels = lax.scan(pass_on, jnp.float32(0.0), levels, reverse=True)
    return levels


# %% soften · wrong: the old program in a callback, without a gradient
def soften(levels, step):
    def old(levels, step):
        return soften_in_place(np.array(levels), step).astype(np.float32)

    levels = jnp.asarray(levels)
    kind = jax.ShapeDtypeStruct(levels.shape, levels.dtype)
    return jax.pure_callback(old, kind, levels, step, vmap_method="sequential")


# %% soften · wrong: while there is something to do, which has no gradient
def soften(levels, step):
    def once(x):
        x = x.at[1:].max(x[:-1] - step)
        return x.at[:-1].max(x[1:] - step)

    return lax.while_loop(lambda x: (once(x) != x).any(), once, jnp.asarray(levels))


# %% soften · wrong: the step is made a Python number
def soften(levels, step):
    levels, step = jnp.asarray(levels), float(step)
    place = jnp.arange(len(levels), dtype=jnp.float32)
    return (levels - step * jnp.abs(place[:, None] - place)).max(1)


# %% soften · wrong: the gradient is stopped at the neighbours
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, lax.stop_gradient(before) - step)
        return level, level

    levels = jnp.asarray(levels)
    _, levels = lax.scan(pass_on, levels[0], levels)
    _, levels = lax.scan(pass_on, levels[-1], levels, reverse=True)
    return levels


# %% rehearse · right: the copy goes into the list
def rehearse(step, plan, orders):
    plan = jax.tree.map(lambda a: jnp.array(a, copy=True), plan)
    plans = [jax.tree.map(lambda a: a.copy(), plan)]
    for order in orders:
        plan = step(plan, order)
        plans.append(jax.tree.map(lambda a: a.copy(), plan))
    return plans


# %% rehearse · right: copies by NumPy, back to JAX at the end
def rehearse(step, plan, orders):
    kept = [jax.tree.map(np.array, plan)]
    for order in orders:
        plan = step(jax.tree.map(lambda a: jnp.array(a.copy()), kept[-1]), order)
        kept.append(jax.tree.map(np.array, plan))
    return jax.tree.map(jnp.array, kept)


# %% rehearse · wrong: asarray for a copy
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(jnp.asarray, plans[-1]), order))
    return plans


# %% rehearse · wrong: device_put for a copy
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.device_put(plans[-1]), order))
    return plans


# %% rehearse · wrong: copies for the list, and the caller's plan for the step
def rehearse(step, plan, orders):
    plans = [jax.tree.map(jnp.copy, plan)]
    for order in orders:
        plan = step(plan, order)
        plans.append(jax.tree.map(jnp.copy, plan))
    return plans


# %% rehearse · wrong: only the first plan is copied
def rehearse(step, plan, orders):
    plans = [plan]
    plan = jax.tree.map(jnp.copy, plan)
    for order in orders:
        plan = step(plan, order)
        plans.append(plan)
    return plans


# %% rehearse · wrong: right for an array, a shallow copy of a tree
import copy


def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        last = plans[-1]
        mine = jnp.copy(last) if isinstance(last, jax.Array) else copy.copy(last)
        plans.append(step(mine, order))
    return plans


# %% rehearse · wrong: NumPy's arrays in the list
def rehearse(step, plan, orders):
    plans = [jax.tree.map(np.array, plan)]
    plan = jax.tree.map(jnp.copy, plan)
    for order in orders:
        plan = step(plan, order)
        plans.append(jax.tree.map(np.array, plan))
    return plans


# %% rehearse · wrong: copied after the step has taken it
def rehearse(step, plan, orders):
    plans = []
    for order in orders:
        new = step(plan, order)
        plans.append(jax.tree.map(jnp.copy, plan))
        plan = new
    return [*plans, plan]


# %% rehearse · wrong: all steps are done again for each plan
def rehearse(step, plan, orders):
    plans = []
    for end in range(len(orders) + 1):
        now = jax.tree.map(jnp.copy, plan)
        for order in orders[:end]:
            now = step(now, order)
        plans.append(now)
    return plans


# %% rehearse · wrong: one array of floats for the copies
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(lambda a: a + 0.0, plans[-1]), order))
    return plans
