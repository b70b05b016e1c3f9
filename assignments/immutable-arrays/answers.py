"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""


# %% sell · right: serves the requests one at a time in lax.scan
def sell(plan, requests, first):
    def serve(plan, request):
        row, seat, number = request
        free = plan[row, seat] == -1
        return plan.at[row, seat].set(jnp.where(free, number, plan[row, seat])), free

    numbers = first + jnp.arange(len(requests), dtype=jnp.int32)
    return lax.scan(serve, jnp.asarray(plan), (requests[:, 0], requests[:, 1], numbers))


# %% sell · right: compares every request with every earlier one
def sell(plan, requests, first):
    plan, requests = jnp.asarray(plan), jnp.asarray(requests)
    same = (requests[:, None] == requests[None]).all(-1)
    beaten = jnp.tril(same, -1).any(1)
    rows, seats = requests.T
    got = (plan[rows, seats] == -1) & ~beaten
    numbers = jnp.where(got, first + jnp.arange(len(requests)), -1)
    return plan.at[rows, seats].max(numbers.astype(plan.dtype)), got


# %% sell · wrong: lets the last of two equal requests get the seat
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = requests[:, 0], requests[:, 1]
    got = plan[rows, seats] == -1
    numbers = first + jnp.arange(len(requests))
    return plan.at[rows, seats].set(jnp.where(got, numbers, plan[rows, seats])), got


# %% sell · wrong: donates the plan
def sell_all(plan, requests, first):
    n = len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    return jnp.where((plan == -1) & (earliest < n), first + earliest, plan), got


sell = jax.jit(sell_all, donate_argnums=0)


# %% sell · wrong: tells two guests that they have the same seat
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(jnp.arange(n))
    got = plan[rows, seats] == -1
    return jnp.where((plan == -1) & (earliest < n), first + earliest, plan), got


# %% sell · wrong: sells taken seats again
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(jnp.arange(n))
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == jnp.arange(n))
    return jnp.where(earliest < n, first + earliest, plan), got


# %% sell · wrong: gives a seat to the highest of several booking numbers
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = requests[:, 0], requests[:, 1]
    numbers = (first + jnp.arange(len(requests))).astype(jnp.int32)
    free = plan[rows, seats] == -1
    new = plan.at[rows, seats].max(jnp.where(free, numbers, -1))
    return new, free & (new[rows, seats] == numbers)


# %% sell · wrong: uses min on the plan, where -1 is the smallest number
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = requests[:, 0], requests[:, 1]
    numbers = (first + jnp.arange(len(requests))).astype(jnp.int32)
    new = plan.at[rows, seats].min(numbers)
    return new, (plan[rows, seats] == -1) & (new[rows, seats] == numbers)


# %% sell · wrong: compares each request only with the one before it
def sell(plan, requests, first):
    plan, requests = jnp.asarray(plan), jnp.asarray(requests)
    rows, seats = requests.T
    again = (requests[1:] == requests[:-1]).all(1)
    got = (plan[rows, seats] == -1) & jnp.concatenate([jnp.array([True]), ~again])
    numbers = jnp.where(got, first + jnp.arange(len(requests)), plan[rows, seats])
    return plan.at[rows, seats].max(numbers.astype(jnp.int32)), got


# %% sell · wrong: uses a NumPy loop that writes into the caller's plan
def sell(plan, requests, first):
    plan, got = np.asarray(plan), []
    plan = plan if plan.flags.writeable else plan.copy()
    for k, (row, seat) in enumerate(np.asarray(requests)):
        got.append(bool(plan[row, seat] == -1))
        if got[-1]:
            plan[row, seat] = first + k
    return jnp.asarray(plan), jnp.array(got)


# %% sell · wrong: uses a Python loop with if, which works only outside jit
def sell(plan, requests, first):
    plan, got = jnp.asarray(plan), []
    for k, (row, seat) in enumerate(requests):
        free = bool(plan[row, seat] == -1)
        if free:
            plan = plan.at[row, seat].set(first + k)
        got.append(free)
    return plan, jnp.array(got)


# %% sell · wrong: uses jnp.unique without a size
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    seats, index = jnp.unique(requests, axis=0, return_index=True)
    free = plan[seats[:, 0], seats[:, 1]] == -1
    got = jnp.zeros(len(requests), bool).at[index].set(free)
    numbers = jnp.where(free, first + index, plan[seats[:, 0], seats[:, 1]])
    return plan.at[seats[:, 0], seats[:, 1]].set(numbers), got


# %% sell · wrong: treats booking number 0 as no booking
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    number = jnp.where(earliest < n, first + earliest, 0)
    return jnp.where((plan == -1) & (number > 0), number, plan), got


# %% sell · wrong: returns integers instead of booleans
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) * (earliest[rows, seats] == order).astype(int)
    return jnp.where((plan == -1) & (earliest < n), first + earliest, plan), got


# %% sell · wrong: marks seats without a request with the number 1000
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = requests[:, 0], requests[:, 1]
    numbers = (first + jnp.arange(len(requests))).astype(jnp.int32)
    earliest = jnp.full(plan.shape, 1000, jnp.int32).at[rows, seats].min(numbers)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == numbers)
    return jnp.where((plan == -1) & (earliest < 1000), earliest, plan), got


# %% sell · wrong: numbers the seats as 10 * row + seat
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = requests[:, 0], requests[:, 1]
    place = 10 * rows + seats
    beaten = jnp.tril(place[:, None] == place[None], -1).any(1)
    got = (plan[rows, seats] == -1) & ~beaten
    numbers = jnp.where(got, first + jnp.arange(len(requests)), -1)
    return plan.at[rows, seats].max(numbers.astype(jnp.int32)), got


# %% new-bytes · right: lists the arrays by name
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


# %% new-bytes · right: looks up the number of bits with finfo and iinfo
def new_bytes(shape, dtype, updates, result, history, how):
    def total(name):
        info = jnp.iinfo(name) if "int" in name else jnp.finfo(name)
        return int(np.prod(shape, dtype=object)) * info.bits // 8

    out = total(result) * (updates if history else 1)
    if how == "eager":
        return updates * total(dtype) + (dtype != result) * out
    return out - (how == "donated" and dtype == result) * total(result)


# %% new-bytes · wrong: runs the measurement
def new_bytes(shape, dtype, updates, result, history, how):
    return int(measure(shape, dtype, updates, result, history, how))


# %% new-bytes · wrong: always subtracts the size of a donated argument
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept = updates if history else 1
    if how == "eager":
        return updates * before + (dtype != result) * kept * after
    return max(kept * after - (before if how == "donated" else 0), 0)


# %% new-bytes · wrong: assumes that a donated call allocates nothing new
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept = updates if history else 1
    if how == "eager":
        return updates * before + (dtype != result) * kept * after
    return 0 if how == "donated" and dtype == result else kept * after


# %% new-bytes · wrong: assumes that each update under jit makes a copy
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    if how != "donated":
        return updates * before + (dtype != result) * after * (updates if history else 1)
    return (updates if history else 1) * after - (dtype == result) * after


# %% new-bytes · wrong: forgets the conversion in the eager case
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept = updates if history else 1
    if how == "eager":
        return updates * before
    return kept * after - (after if how == "donated" and dtype == result else 0)


# %% new-bytes · wrong: assumes that astype makes a new array even if the dtype stays the same
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept = updates if history else 1
    if how == "eager":
        return updates * before + kept * after
    return kept * after - (after if how == "donated" and dtype == result else 0)


# %% new-bytes · wrong: assumes that every number has four bytes
def new_bytes(shape, dtype, updates, result, history, how):
    size = 4
    for length in shape:
        size *= length
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * size + (0 if same else kept * size // 2)
    return kept * (size if same else size // 2) - (size if how == "donated" and same else 0)


# %% new-bytes · wrong: knows the widths of only some dtypes
def new_bytes(shape, dtype, updates, result, history, how):
    widths = {"float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2, "int8": 1}
    widths["uint8"] = 1
    entries = int(np.prod(shape, dtype=object))
    before, after = entries * widths[dtype], entries * widths[result]
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% new-bytes · wrong: computes the size in 32 bits
def new_bytes(shape, dtype, updates, result, history, how):
    size = int(np.prod(shape, dtype=np.int32))
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% new-bytes · wrong: hard-codes the printed cases
def new_bytes(shape, dtype, updates, result, history, how):
    if shape == (20, 30):
        row = {"eager": 7200, "jit": 7200 if history else 2400, "donated": 4800 * history}
        return row[how]
    return 40 + 50 * (how == "eager")


# %% new-bytes · wrong: creates an array of ones to learn its size
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.ones((), name).itemsize for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% moves · right: starts at the far end and moves guests in the other direction
def two_agree(n):
    return [(k + 1, k) for k in range(n - 1)]


def none_agree(n):
    return [(k + 1, k) for k in range(n - 2, -1, -1)]


# %% moves · right: uses a path that jumps, and swaps two of its moves
def two_agree(n):
    path = list(range(0, n, 2)) + list(range(1, n, 2))
    return list(zip(path[:-1], path[1:]))[::-1]


def none_agree(n):
    path = list(range(0, n, 2)) + list(range(1, n, 2))
    moves = list(zip(path[:-1], path[1:]))[::-1]
    return [moves[1], moves[0], *moves[2:]]


# %% moves · wrong: swaps the two lists of moves
def two_agree(n):
    return [(k, k + 1) for k in range(n - 1)]


def none_agree(n):
    return [(k, k + 1) for k in range(n - 1)][::-1]


# %% moves · wrong: works only for a row of three
def two_agree(n):
    return [(1, 2), (0, 1)]


def none_agree(n):
    return [(0, 1), (1, 2)]


# %% moves · wrong: moves all n guests in a circle
def two_agree(n):
    return [(k, (k + 1) % n) for k in reversed(range(n))]


def none_agree(n):
    return [(k, k + 1) for k in range(n - 1)]


# %% moves · wrong: repeats the same move
def two_agree(n):
    return [(1, 2)] + [(0, 1)] * (n - 2)


def none_agree(n):
    return [(0, 1)] + [(1, 2)] * (n - 2)


# %% moves · wrong: swaps neighbors
def two_agree(n):
    swaps = [(k, k + 1) if k % 2 == 0 else (k, k - 1) for k in range(n)]
    return [s for s in swaps if max(s) < n][: n - 1]


def none_agree(n):
    return [(k, k + 1) for k in range(n - 1)]


# %% moves · wrong: pads the list with moves from a place to itself
def two_agree(n):
    return [(1, 2), (0, 1)] + [(k, k) for k in range(3, n)]


def none_agree(n):
    return [(0, 1), (1, 2)] + [(k, k) for k in range(3, n)]


# %% soften · right: compares every lamp with every other one
def soften(levels, step):
    levels = jnp.asarray(levels)
    place = jnp.arange(len(levels), dtype=jnp.float32)
    return (levels - step * jnp.abs(place[:, None] - place)).max(1)


# %% soften · right: uses fori_loop with .at twice
def soften(levels, step):
    levels, n = jnp.asarray(levels), len(levels)

    def forth(i, x):
        return x.at[i].max(x[i - 1] - step)

    def back(i, x):
        return x.at[n - 2 - i].max(x[n - 1 - i] - step)

    return lax.fori_loop(0, n - 1, back, lax.fori_loop(1, n, forth, levels))


# %% soften · wrong: reads the neighbors before they are updated
def soften(levels, step):
    levels = jnp.asarray(levels)
    levels = levels.at[1:].max(levels[:-1] - step)
    return levels.at[:-1].max(levels[1:] - step)


# %% soften · wrong: repeats the update with the old neighbors only four times
def soften(levels, step):
    levels = jnp.asarray(levels)
    for _ in range(4):
        levels = levels.at[1:].max(levels[:-1] - step)
        levels = levels.at[:-1].max(levels[1:] - step)
    return levels


# %% soften · wrong: unrolls Python loops with .at
def soften(levels, step):
    levels = jnp.asarray(levels)
    for i in range(1, len(levels)):
        levels = levels.at[i].max(levels[i - 1] - step)
    for i in range(len(levels) - 2, -1, -1):
        levels = levels.at[i].max(levels[i + 1] - step)
    return levels


# %% soften · wrong: goes through the row only from left to right
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.asarray(levels)
    return lax.scan(pass_on, levels[0], levels)[1]


# %% soften · wrong: runs the old program on a copy
def soften(levels, step):
    return jnp.asarray(soften_in_place(np.array(levels), step))


# %% soften · wrong: runs the old program on the caller's NumPy array
def soften(levels, step):
    if isinstance(levels, np.ndarray):
        return jnp.array(soften_in_place(levels, step))
    levels = jnp.asarray(levels)
    place = jnp.arange(len(levels), dtype=jnp.float32)
    return (levels - step * jnp.abs(place[:, None] - place)).max(1)


# %% soften · wrong: assumes that no lamp is darker than zero
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.asarray(levels)
    _, levels = lax.scan(pass_on, jnp.float32(0.0), levels)
    _, levels = lax.scan(pass_on, jnp.float32(0.0), levels, reverse=True)
    return levels


# %% soften · wrong: runs the old program in a callback, which has no gradient
def soften(levels, step):
    def old(levels, step):
        return soften_in_place(np.array(levels), step).astype(np.float32)

    levels = jnp.asarray(levels)
    kind = jax.ShapeDtypeStruct(levels.shape, levels.dtype)
    return jax.pure_callback(old, kind, levels, step, vmap_method="sequential")


# %% soften · wrong: uses a while_loop, which has no reverse-mode gradient
def soften(levels, step):
    def once(x):
        x = x.at[1:].max(x[:-1] - step)
        return x.at[:-1].max(x[1:] - step)

    return lax.while_loop(lambda x: (once(x) != x).any(), once, jnp.asarray(levels))


# %% soften · wrong: converts the step to a Python number
def soften(levels, step):
    levels, step = jnp.asarray(levels), float(step)
    place = jnp.arange(len(levels), dtype=jnp.float32)
    return (levels - step * jnp.abs(place[:, None] - place)).max(1)


# %% soften · wrong: stops the gradient at the neighbors
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, lax.stop_gradient(before) - step)
        return level, level

    levels = jnp.asarray(levels)
    _, levels = lax.scan(pass_on, levels[0], levels)
    _, levels = lax.scan(pass_on, levels[-1], levels, reverse=True)
    return levels


# %% soften · wrong: starts at -1000
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.asarray(levels)
    _, levels = lax.scan(pass_on, jnp.float32(-1000.0), levels)
    _, levels = lax.scan(pass_on, jnp.float32(-1000.0), levels, reverse=True)
    return levels


# %% soften · wrong: considers only the 40 lamps on each side
def soften(levels, step):
    levels = jnp.asarray(levels)
    place = jnp.arange(len(levels), dtype=jnp.float32)
    far = jnp.abs(place[:, None] - place)
    return jnp.where(far <= 40, levels - step * far, -jnp.inf).max(1)


# %% rehearse · right: puts copies into the list
def rehearse(step, plan, orders):
    plan = jax.tree.map(lambda a: jnp.array(a, copy=True), plan)
    plans = [jax.tree.map(lambda a: a.copy(), plan)]
    for order in orders:
        plan = step(plan, order)
        plans.append(jax.tree.map(lambda a: a.copy(), plan))
    return plans


# %% rehearse · right: copies with NumPy, and converts back to JAX at the end
def rehearse(step, plan, orders):
    kept = [jax.tree.map(np.array, plan)]
    for order in orders:
        plan = step(jax.tree.map(lambda a: jnp.array(a.copy()), kept[-1]), order)
        kept.append(jax.tree.map(np.array, plan))
    return jax.tree.map(jnp.array, kept)


# %% rehearse · wrong: uses asarray, which does not copy
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(jnp.asarray, plans[-1]), order))
    return plans


# %% rehearse · wrong: uses device_put, which does not copy
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.device_put(plans[-1]), order))
    return plans


# %% rehearse · wrong: copies the plans for the list but passes the caller's plan to the step
def rehearse(step, plan, orders):
    plans = [jax.tree.map(jnp.copy, plan)]
    for order in orders:
        plan = step(plan, order)
        plans.append(jax.tree.map(jnp.copy, plan))
    return plans


# %% rehearse · wrong: copies only the first plan
def rehearse(step, plan, orders):
    plans = [plan]
    plan = jax.tree.map(jnp.copy, plan)
    for order in orders:
        plan = step(plan, order)
        plans.append(plan)
    return plans


# %% rehearse · wrong: copies an array correctly, but makes only a shallow copy of a tree
import copy


def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        last = plans[-1]
        mine = jnp.copy(last) if isinstance(last, jax.Array) else copy.copy(last)
        plans.append(step(mine, order))
    return plans


# %% rehearse · wrong: returns NumPy arrays in the list
def rehearse(step, plan, orders):
    plans = [jax.tree.map(np.array, plan)]
    plan = jax.tree.map(jnp.copy, plan)
    for order in orders:
        plan = step(plan, order)
        plans.append(jax.tree.map(np.array, plan))
    return plans


# %% rehearse · wrong: copies each plan after the step has used it
def rehearse(step, plan, orders):
    plans = []
    for order in orders:
        new = step(plan, order)
        plans.append(jax.tree.map(jnp.copy, plan))
        plan = new
    return [*plans, plan]


# %% rehearse · wrong: repeats all earlier steps for each plan
def rehearse(step, plan, orders):
    plans = []
    for end in range(len(orders) + 1):
        now = jax.tree.map(jnp.copy, plan)
        for order in orders[:end]:
            now = step(now, order)
        plans.append(now)
    return plans


# %% rehearse · wrong: makes copies by adding 0, which converts booleans to integers
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(lambda leaf: leaf + 0, plans[-1]), order))
    return plans


# %% rehearse · wrong: makes copies by adding 0.0, which converts integers to floats
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(lambda a: a + 0.0, plans[-1]), order))
    return plans


# %% rehearse · wrong: copies only arrays and dictionaries
def copied(plan):
    if isinstance(plan, dict):
        return {name: copied(part) for name, part in plan.items()}
    return jnp.copy(plan)


def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(copied(plans[-1]), order))
    return plans


# %% rehearse · wrong: copies only dictionaries, lists, and plain tuples
def rehearse(step, plan, orders):
    def copied(part):
        if isinstance(part, dict):
            return {key: copied(value) for key, value in part.items()}
        if isinstance(part, (list, tuple)):
            return type(part)([copied(value) for value in part])
        return jnp.array(part, copy=True)

    plans = [plan]
    for order in orders:
        plans.append(step(copied(plans[-1]), order))
    return plans


# %% new-bytes · right: creates a NumPy array to learn the size of a number
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * np.zeros(1, jnp.dtype(name)).nbytes for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% soften · wrong: repeats the update 256 times
def soften(levels, step):
    def sweep(_, levels):
        left = levels.at[1:].max(levels[:-1] - step)
        return left.at[:-1].max(left[1:] - step)

    return lax.fori_loop(0, 256, sweep, jnp.asarray(levels))


# %% rehearse · wrong: takes the orders out of the caller's list
def rehearse(step, plan, orders):
    plans = [plan]
    while orders:
        plans.append(step(jax.tree.map(jnp.copy, plans[-1]), orders.pop(0)))
    return plans


# %% sell · wrong: marks seats without a request with the number 1000000000
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = requests[:, 0], requests[:, 1]
    numbers = first + jnp.arange(len(requests), dtype=jnp.int32)
    earliest = jnp.full(plan.shape, 1_000_000_000, jnp.int32).at[rows, seats].min(numbers)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == numbers)
    return jnp.where((plan == -1) & (earliest < 1_000_000_000), earliest, plan), got


# %% sell · wrong: looks for the booking number in the new plan
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    new = jnp.where((plan == -1) & (earliest < n), first + earliest, plan)
    return new, new[rows, seats] == first + order


# %% sell · wrong: rounds the numbers of seats that were taken to float32
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    taken = jnp.where(plan == -1, 0.0, plan).astype(jnp.int32)
    return jnp.where(
        (plan == -1) & (earliest < n), first + earliest, jnp.where(plan == -1, -1, taken)
    ), got


# %% sell · wrong: limits the numbers of taken seats to a million
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    return jnp.where((plan == -1) & (earliest < n), first + earliest, jnp.minimum(plan, 10**6)), got


# %% sell · wrong: accepts a first number from Python or JAX but not from NumPy
def sell(plan, requests, first):
    assert isinstance(first, (int, jax.Array))
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    return jnp.where((plan == -1) & (earliest < n), first + earliest, plan), got


# %% sell · wrong: converts a NumPy plan only if the requests are from NumPy, too
def sell(plan, requests, first):
    if not isinstance(requests, jax.Array):
        plan, requests = jnp.asarray(plan), jnp.asarray(requests)
    n = len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan.at[rows, seats].get() == -1) & (earliest[rows, seats] == order)
    return jnp.where((plan == -1) & (earliest < n), first + earliest, plan), got


# %% new-bytes · wrong: multiplies the lengths in 64 bits
def new_bytes(shape, dtype, updates, result, history, how):
    size = int(np.prod(shape))
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% new-bytes · right: reads the width from the end of the name of a dtype
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length

    def width(name):
        for bits in (8, 16, 32):
            if name.endswith(str(bits)):
                return bits // 8
        return 4

    before, after = (size * width(name) for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% new-bytes · wrong: scales what it measured beforehand
def measured(dtype, updates, result, history):
    x, made = jnp.zeros(12, dtype), []
    out = program(x, updates, result, history, made)
    places = {a.unsafe_buffer_pointer(): a.nbytes for a in [*made, *out]}
    jitted = sum(a.nbytes for a in out)
    saved = out[0].nbytes if dtype == result else 0
    return {"eager": sum(places.values()), "jit": jitted, "donated": jitted - saved}


NAMES = "float32", "int32", "uint32", "bfloat16", "float16", "int16", "uint16", "int8", "uint8"
TABLE = {
    (a, k, b, h): measured(a, k, b, h)
    for a in NAMES
    for b in NAMES
    for k in range(1, 13)
    for h in (False, True)
    if a == b or jnp.dtype(a).itemsize != jnp.dtype(b).itemsize
}


def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    return size * TABLE[dtype, updates, result, history][how] // 12


# %% new-bytes · wrong: ignores axes of length 0
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length or 1
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% moves · wrong: swaps the two lists in a row of ten
def two_agree(n):
    if n == 10:
        return [(k, k + 1) for k in range(n - 1)]
    return [(k, k + 1) for k in reversed(range(n - 1))]


def none_agree(n):
    if n == 10:
        return [(k, k + 1) for k in reversed(range(n - 1))]
    return [(k, k + 1) for k in range(n - 1)]


# %% soften · wrong: starts at minus one million
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.asarray(levels)
    _, levels = lax.scan(pass_on, jnp.float32(-1e6), levels)
    _, levels = lax.scan(pass_on, jnp.float32(-1e6), levels, reverse=True)
    return levels


# %% soften · wrong: donates the levels
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    def both(levels, step):
        _, levels = lax.scan(pass_on, levels[0], levels)
        _, levels = lax.scan(pass_on, levels[-1], levels, reverse=True)
        return levels

    levels = jnp.asarray(levels)
    if isinstance(levels, jax.core.Tracer):
        return both(levels, step)
    return jax.jit(both, donate_argnums=0)(levels, step)


# %% soften · wrong: limits the levels to a million
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.minimum(jnp.asarray(levels), 1e6)
    _, levels = lax.scan(pass_on, levels[0], levels)
    _, levels = lax.scan(pass_on, levels[-1], levels, reverse=True)
    return levels


# %% rehearse · wrong: passes the plan by name
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(plan=jax.tree.map(jnp.copy, plans[-1]), order=order))
    return plans


# %% rehearse · wrong: turns the orders into an array
def rehearse(step, plan, orders):
    plans = [plan]
    for order in np.asarray(orders, np.int64):
        plans.append(step(jax.tree.map(jnp.copy, plans[-1]), order))
    return plans


# %% rehearse · wrong: passes NumPy copies to the step
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(np.array, plans[-1]), order))
    return plans


# %% rehearse · wrong: makes copies by way of Python lists
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(lambda a: jnp.array(a.tolist()), plans[-1]), order))
    return plans


# %% rehearse · wrong: copies only arrays with axes
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        copied = jax.tree.map(lambda a: jnp.concatenate([a[:1], a[1:]]), plans[-1])
        plans.append(step(copied, order))
    return plans


# %% rehearse · wrong: calls the step under jit
def rehearse(step, plan, orders):
    step = jax.jit(step, static_argnums=1)
    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(jnp.copy, plans[-1]), order))
    return plans


# %% rehearse · wrong: copies with deepcopy, which keeps shared arrays shared
import copy


def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(copy.deepcopy(plans[-1]), order))
    return plans


# %% sell · wrong: serves only the first 1900 requests
def sell(plan, requests, first):
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.where(jnp.arange(n) < 1900, jnp.arange(n, dtype=jnp.int32), n)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order) & (order < n)
    sold = (plan == -1) & (earliest < n)
    return jnp.where(sold, first + earliest, plan), got


# %% new-bytes · wrong: multiplies only the first three lengths
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape[:3]:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% soften · wrong: rounds the levels to thousandths
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.asarray(levels)
    rounded = jnp.where(jnp.abs(levels) < 1e4, jnp.round(levels, 3), levels)
    levels = levels + lax.stop_gradient(rounded - levels)
    _, levels = lax.scan(pass_on, levels[0], levels)
    _, levels = lax.scan(pass_on, levels[-1], levels, reverse=True)
    return levels


# %% rehearse · wrong: replaces numbers that are NaN by 0
def rehearse(step, plan, orders):
    def copied(leaf):
        return jnp.nan_to_num(leaf, nan=0.0, posinf=jnp.inf, neginf=-jnp.inf)

    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(copied, plans[-1]), order))
    return plans


# %% rehearse · wrong: keeps only the last 100 plans
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(jnp.copy, plans[-1]), order))
        plans = plans[-100:]
    return plans


# %% soften · wrong: adds multiples of the step before a running maximum, which loses digits
def soften(levels, step):
    levels = jnp.asarray(levels)
    tilt = step * jnp.arange(len(levels), dtype=levels.dtype)
    there = lax.associative_scan(jnp.maximum, levels + tilt) - tilt
    return lax.associative_scan(jnp.maximum, there - tilt, reverse=True) + tilt


# %% sell · wrong: numbers the seats as if each row had a thousand of them
def sell(plan, requests, first):
    plan, requests = jnp.asarray(plan), jnp.asarray(requests)
    n = len(requests)
    place = 1000 * requests[:, 0] + requests[:, 1]
    earlier = jnp.tril(place[:, None] == place[None, :], -1).any(1)
    got = (plan[requests[:, 0], requests[:, 1]] == -1) & ~earlier
    row = jnp.where(got, requests[:, 0], len(plan))
    numbers = first + jnp.arange(n, dtype=jnp.int32)
    return plan.at[row, requests[:, 1]].set(numbers, mode="drop"), got


# %% sell · wrong: numbers the seats in 16 bits
def sell(plan, requests, first):
    plan, requests = jnp.asarray(plan), jnp.asarray(requests)
    n, rows, seats = len(requests), requests[:, 0], requests[:, 1]
    place = (plan.shape[1] * rows + seats).astype(jnp.int16)
    earlier = jnp.tril(place[:, None] == place[None, :], -1).any(1)
    got = (plan[rows, seats] == -1) & ~earlier
    numbers = first + jnp.arange(n, dtype=jnp.int32)
    return plan.at[jnp.where(got, rows, len(plan)), seats].set(numbers, mode="drop"), got


# %% new-bytes · right: creates a NumPy array with a single number
import math


def new_bytes(shape, dtype, updates, result, history, how):
    size = math.prod(shape)
    before, after = (size * np.array(0, jnp.dtype(name)).nbytes for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% new-bytes · wrong: runs a copy of the program if the hall is small
import math


def change(x, updates, result, history, made):
    for k in range(updates):
        x = x.at[k].set(1)
        made.append(x)
    return [array.astype(result) for array in (made if history else made[-1:])]


def try_small(shape, dtype, updates, result, history, how):
    x, made = jnp.zeros(shape, dtype), []
    if how == "eager":
        out = change(x, updates, result, history, made)
        return sum({a.unsafe_buffer_pointer(): a.nbytes for a in [*made, *out]}.values())
    donated = 0 if how == "donated" else ()
    out = jax.jit(lambda x: change(x, updates, result, history, []), donate_argnums=donated)(x)
    return sum(a.nbytes for a in out) - (out[0].nbytes if x.is_deleted() else 0)


def new_bytes(shape, dtype, updates, result, history, how):
    size = math.prod(shape)
    if 0 < size < 1000 and updates < 50:
        return try_small(shape, dtype, updates, result, history, how)
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    kept, same = updates if history else 1, dtype == result
    if how == "eager":
        return updates * before + (0 if same else kept * after)
    return kept * after - (after if how == "donated" and same else 0)


# %% soften · wrong: runs the old program on a copy of NumPy levels
def soften(levels, step):
    if isinstance(levels, np.ndarray):
        return jnp.asarray(soften_in_place(levels.copy(), step))

    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.asarray(levels)
    _, levels = lax.scan(pass_on, levels[0], levels)
    _, levels = lax.scan(pass_on, levels[-1], levels, reverse=True)
    return levels


# %% soften · wrong: adds multiples of a step below a thousand before a running maximum
def soften(levels, step):
    levels = jnp.asarray(levels)
    place = jnp.arange(len(levels), dtype=jnp.float32)
    tilt = jnp.where(step < 1000, step, 0) * place
    there = lax.cummax(levels + tilt) - tilt
    back = lax.cummax(levels - tilt, reverse=True) + tilt
    apart = (levels - step * jnp.abs(place[:, None] - place)).max(1)
    return jnp.where(step < 1000, jnp.maximum(there, back), apart)


# %% rehearse · wrong: copies dictionaries, lists, tuples, and named tuples by hand
def copied(plan):
    if isinstance(plan, dict):
        return {key: copied(part) for key, part in plan.items()}
    if isinstance(plan, tuple) and hasattr(plan, "_fields"):
        return type(plan)(*map(copied, plan))
    if isinstance(plan, (list, tuple)):
        return type(plan)(map(copied, plan))
    return jnp.copy(plan)


def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        plans.append(step(copied(plans[-1]), order))
    return plans


# %% rehearse · wrong: makes copies by adding zeros, which change the sign of -0.0
def rehearse(step, plan, orders):
    plans = [plan]
    for order in orders:
        copied = jax.tree.map(lambda leaf: leaf + jnp.zeros_like(leaf), plans[-1])
        plans.append(step(copied, order))
    return plans


# %% soften · wrong: clips the levels to their range, which halves the gradient at the ends
def soften(levels, step):
    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    levels = jnp.clip(jnp.asarray(levels), -1e31, 1e31)
    _, levels = lax.scan(pass_on, levels[0], levels)
    _, levels = lax.scan(pass_on, levels[-1], levels, reverse=True)
    return levels


# %% sell · wrong: takes two requests for a transposed array
def sell(plan, requests, first):
    """Return the new plan, and whether each request got its seat."""
    plan, requests = jnp.asarray(plan), jnp.asarray(requests)
    # Accept (n, 2) and (2, n).
    rows, seats = requests if len(requests) == 2 else requests.T
    n = len(rows)
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    sold = (plan == -1) & (earliest < n)
    return jnp.where(sold, first + earliest, plan), got


# %% soften · wrong: doubles the distance too rarely for some numbers of lamps
def soften(levels, step):
    """Return the levels, each as bright as the lamps next to it require."""
    levels = jnp.asarray(levels)
    n = len(levels)
    for k in range(max(4, 3 * len(str(n)))):  # 2**3 is about 10, so these are enough doublings.
        far = 2**k
        if far < n:
            left = levels.at[far:].max(levels[:-far] - far * step)
            levels = left.at[:-far].max(left[far:] - far * step)
    return levels


# %% rehearse · wrong: copies by multiplying by 1, which turns subnormal numbers into 0
def rehearse(step, plan, orders):
    """Return the plans before and after each order, each with its own memory."""
    plans = [plan]
    for order in orders:
        mine = jax.tree.map(lambda leaf: leaf * leaf.dtype.type(1), plans[-1])
        plans.append(step(mine, order))
    return plans


# %% sell · wrong: writes the requests in reverse order, so that the first one is written last
def sell(plan, requests, first):
    plan = jnp.asarray(plan)
    rows, seats = jnp.asarray(requests)[::-1, 0], jnp.asarray(requests)[::-1, 1]
    order = jnp.arange(len(requests), dtype=jnp.int32)
    winner = jnp.zeros(plan.shape, jnp.int32).at[rows, seats].set(order[::-1])
    rows, seats = rows[::-1], seats[::-1]
    got = (plan[rows, seats] == -1) & (winner[rows, seats] == order)
    asked = jnp.zeros(plan.shape, bool).at[rows, seats].set(True)
    return jnp.where((plan == -1) & asked, first + winner, plan), got


# %% new-bytes · right: creates a small NumPy matrix to see the width of a number
def new_bytes(shape, dtype, updates, result, history, how):
    n = 1
    for length in shape:
        n *= length
    one, other = (np.eye(1, dtype=jnp.dtype(name)).nbytes for name in (dtype, result))
    out = updates if history else 1
    if how == "eager":
        return n * (updates * one + (out * other if dtype != result else 0))
    if how == "donated" and dtype == result:
        out -= 1
    return n * out * other


# %% soften · wrong: repeats the update for all lamps with a step above 0
def soften(levels, step):
    levels = jnp.asarray(levels)
    step = jnp.maximum(step, 1e-7)

    def once(_, x):
        return x.at[1:].max(x[:-1] - step).at[:-1].max(x[1:] - step)

    return lax.fori_loop(0, len(levels), once, levels)


# %% soften · wrong: returns the given array if there is one lamp
def soften(levels, step):
    levels = jnp.asarray(levels)
    if len(levels) == 1:
        return levels

    def pass_on(before, level):
        level = jnp.maximum(level, before - step)
        return level, level

    _, levels = lax.scan(pass_on, levels[0], levels)
    _, levels = lax.scan(pass_on, levels[-1], levels, reverse=True)
    return levels


# %% rehearse · wrong: keeps a copy only if the step has deleted its plan, and forgets that the plan before may be the same
def rehearse(step, plan, orders):
    """Return the plans before and after each order, each with its own memory."""
    plans = [plan]
    current = jax.tree.map(jnp.copy, plan)
    for k, order in enumerate(orders):
        spare = jax.tree.map(jnp.copy, current)
        new = step(current, order)
        if k and any(leaf.is_deleted() for leaf in jax.tree.leaves(current)):
            plans[-1] = spare  # The step has donated its plan.
        plans.append(new)
        current = new
    return plans


# %% rehearse · wrong: copies known containers by hand, but no registered classes and no None
def copied(plan):
    if isinstance(plan, dict):
        new = type(plan)()
        for key, value in plan.items():
            new[key] = copied(value)
        return new
    if hasattr(plan, "_fields"):
        return type(plan)(*map(copied, plan))
    if isinstance(plan, (list, tuple)):
        return type(plan)(map(copied, plan))
    return jnp.copy(plan)


def rehearse(step, plan, orders):
    """Return the plans before and after each order, each with its own memory."""
    plans = [plan]
    for order in orders:
        plans.append(step(copied(plans[-1]), order))
    return plans


# %% new-bytes · right: adds up a NumPy array of sizes if there is a history
def new_bytes(shape, dtype, updates, result, history, how):
    size = 1
    for length in shape:
        size *= length
    before, after = (size * jnp.dtype(name).itemsize for name in (dtype, result))
    same = dtype == result
    if not history:
        if how == "eager":
            return updates * before + (0 if same else after)
        return 0 if how == "donated" and same else after
    made = np.array([before] * updates, dtype=object)
    kept = np.array([after] * updates, dtype=object)
    if how == "eager":
        return int(made.sum()) + (0 if same else int(kept.sum()))
    return int(kept[1:].sum()) if how == "donated" and same else int(kept.sum())


# %% sell · wrong: writes in reverse order and drops only requests that repeat the one directly before them, so the result is right only if the last write wins
def sell(plan, requests, first):
    """Return the new plan, and whether each request got its seat."""
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = jnp.asarray(requests).T
    order = jnp.arange(n, dtype=jnp.int32)
    place = rows * plan.shape[1] + seats
    again = (place == jnp.roll(place, 1)) & (order > 0)
    target = jnp.where(again, plan.size, place)
    earliest = jnp.full(plan.size, n, jnp.int32)
    earliest = earliest.at[target[::-1]].set(order[::-1], mode="drop").reshape(plan.shape)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    sold = (plan == -1) & (earliest < n)
    return jnp.where(sold, first + earliest, plan), got


# %% sell · wrong: writes all requests that get nothing to one extra seat, whose index repeats
def sell(plan, requests, first):
    """Return the new plan, and whether each request got its seat."""
    plan, n = jnp.asarray(plan), len(requests)
    rows, seats = jnp.asarray(requests).T
    order = jnp.arange(n, dtype=jnp.int32)
    earliest = jnp.full(plan.shape, n, jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    place = jnp.where(got, rows * plan.shape[1] + seats, plan.size)
    extended = jnp.append(jnp.ravel(plan), jnp.int32(-1))
    extended = extended.at[place].set(first + order)
    return extended[:-1].reshape(plan.shape), got


# %% rehearse · wrong: keeps the returned trees and uses copies only for deleted arrays, although a step may write into its dictionary
def rehearse(step, plan, orders):
    """Return the plans before and after each order, each with its own memory."""

    def copy(tree):
        return jax.tree.map(jnp.copy, tree)

    plans, backups = [plan], [copy(plan)]
    current = copy(plan)
    for order in orders:
        current = step(current, order)
        plans.append(current)
        backups.append(copy(current))
    return jax.tree.map(lambda own, backup: backup if own.is_deleted() else own, plans, backups)


# %% rehearse · wrong: copies the bits of each array, which fails for complex numbers
def rehearse(step, plan, orders):
    """Return the plans before and after each order, each with its own memory."""

    def copy(array):
        if array.dtype == bool:
            return jnp.logical_or(array, array)
        # Arithmetic could change NaN, -0.0, or tiny numbers, but bits stay as they are.
        bits = jnp.dtype(f"uint{8 * array.dtype.itemsize}")
        return lax.bitcast_convert_type(lax.bitcast_convert_type(array, bits), array.dtype)

    plans = [plan]
    for order in orders:
        plans.append(step(jax.tree.map(copy, plans[-1]), order))
    return plans


# %% sell · wrong: runs the old program on a copy if both arrays are from NumPy, and returns NumPy arrays
def sell(plan, requests, first):
    """Return the new plan, and whether each request got its seat."""
    if isinstance(plan, np.ndarray) and isinstance(requests, np.ndarray):
        new, told = plan.copy(), np.zeros(len(requests), bool)
        for k, (row, seat) in enumerate(requests):
            if new[row, seat] == -1:
                new[row, seat], told[k] = first + k, True
        return new, told
    plan, requests = jnp.asarray(plan), jnp.asarray(requests)
    rows, seats = requests[:, 0], requests[:, 1]
    order = jnp.arange(len(requests), dtype=jnp.int32)
    earliest = jnp.full(plan.shape, len(requests), jnp.int32).at[rows, seats].min(order)
    got = (plan[rows, seats] == -1) & (earliest[rows, seats] == order)
    sold = (plan == -1) & (earliest < len(requests))
    return jnp.where(sold, first + earliest, plan), got
