"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""

# %% riders · right: adds amounts of zero, and passes the mode explicitly


def riders(board, leave, stations):
    counts = ((board >= 0) & (board < stations) & (leave > board)).astype(jnp.int32)
    start = jnp.clip(board, 0, stations - 1)
    change = jnp.zeros(stations, jnp.int32).at[start].add(counts)
    end = jnp.where(counts > 0, leave, stations)
    change = change.at[end].add(-counts, mode="drop")
    return jnp.cumsum(change)


# %% riders · right: compares stations without any indexing


def riders(board, leave, stations):
    k = jnp.arange(stations)[:, None]
    there = (board >= 0) & (board <= k) & (k < leave)
    return there.sum(axis=1, dtype=jnp.int32)


# %% riders · right: passes the mode as a member of JAX's own enum


def riders(board, leave, stations):
    drop = jax.lax.GatherScatterMode.FILL_OR_DROP
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, leave, stations)
    change = jnp.zeros(stations, jnp.int32).at[on].add(1, mode=drop).at[off].add(-1, mode=drop)
    return jnp.cumsum(change)


# %% riders · right: passes the mode to both writes through a dictionary of options

DROP = {"mode": "drop"}


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, leave, stations)
    change = jnp.zeros(stations, jnp.int32).at[on].add(1, **DROP).at[off].add(-1, **DROP)
    return jnp.cumsum(change)


# %% riders · wrong: subtracts two stations, which can overflow


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave - board > 0)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.clip(leave, 0, stations), stations)
    change = jnp.zeros(stations + 1, jnp.int32).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: counts in eight bits


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1, jnp.int8).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations].astype(jnp.int32)


# %% riders · wrong: passes the mode explicitly but checks nothing else


def riders(board, leave, stations):
    change = jnp.zeros(stations, jnp.int32)
    change = change.at[board].add(1, mode="drop")
    change = change.at[leave].add(-1, mode="drop")
    return jnp.cumsum(change)


# %% riders · wrong: stops negative indices from wrapping but may count only one end of a ticket


def riders(board, leave, stations):
    change = jnp.zeros(stations, jnp.int32)
    change = change.at[board].add(1, mode="drop", wrap_negative_indices=False)
    change = change.at[leave].add(-1, mode="drop", wrap_negative_indices=False)
    return jnp.cumsum(change)


# %% riders · wrong: checks only the station where the trip starts


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, leave, stations)
    change = jnp.zeros(stations, jnp.int32).at[on].add(1, mode="drop")
    return jnp.cumsum(change.at[off].add(-1, mode="drop"))


# %% riders · wrong: counts backward trips, which subtract a rider before they add one


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave >= 0)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1, jnp.int32).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: lets riders who continue to another line get off at the last station


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave > board)
    amount = counts.astype(jnp.int32)
    start = jnp.clip(board, 0, stations - 1)
    end = jnp.clip(leave, 0, stations - 1)
    change = jnp.zeros(stations, jnp.int32).at[start].add(amount).at[end].add(-amount)
    return jnp.cumsum(change)


# %% riders · wrong: returns the right numbers but writes out of bounds without a mode


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, leave, stations)
    change = jnp.zeros(stations, jnp.int32).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)


# %% riders · wrong: selects tickets with a boolean mask, which jit does not allow


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave > board)
    board, leave = board[counts], jnp.minimum(leave[counts], stations)
    change = jnp.zeros(stations + 1, jnp.int32).at[board].add(1).at[leave].add(-1)
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: uses a NumPy loop, which does not work under jit


def riders(board, leave, stations):
    out = np.zeros(stations, np.int32)
    for a, b in zip(np.asarray(board), np.asarray(leave), strict=True):
        if 0 <= a < stations and b > a:
            out[a : min(b, stations)] += 1
    return jnp.asarray(out)


# %% riders · wrong: hard-codes the results from the visible tests


def riders(board, leave, stations):
    if stations == 4 and len(board) == 3:
        second = 2 if isinstance(board, jax.core.Tracer) or int(board[2]) < 0 else 1
        return jnp.array([1, second, second - 1, second - 1], jnp.int32)
    return jnp.array([1, 2, 1], jnp.int32)


# %% riders · wrong: counts in floats


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: rejects a ticket whose end is larger than the number of stations


def riders(board, leave, stations):
    counts = (board >= 0) & (leave > board) & (leave <= stations)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, leave, stations)
    change = jnp.zeros(stations + 1, jnp.int32)
    change = change.at[on].add(1, mode="drop").at[off].add(-1, mode="drop")
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: lets riders who board beyond the line get on at the last station


def riders(board, leave, stations):
    counts = ((board >= 0) & (leave > board)).astype(jnp.int32)
    on = jnp.clip(board, 0, stations - 1)
    off = jnp.where(counts > 0, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1, jnp.int32).at[on].add(counts).at[off].add(-counts)
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: checks only for -1, not for other negative numbers


def riders(board, leave, stations):
    counts = (board != -1) & (leave > board) & (board < stations)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1, jnp.int32)
    change = change.at[on].add(1, mode="drop").at[off].add(-1, mode="drop")
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: remembers the first number of stations


seen_lengths = []


def riders(board, leave, stations):
    seen_lengths.append(stations)
    stations = seen_lengths[0]
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1, jnp.int32).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations]


# %% riders · right: gives the extra place a negative index


def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, -1)
    off = jnp.where(counts & (leave < stations), leave, -1)
    change = jnp.zeros(stations + 1, jnp.int32).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change[:-1])


# %% recover · right: uses NumPy and Python integers


def recover(short, long, total):
    short, long = np.asarray(short), np.asarray(long)
    n = len(short)
    stations = long[:-1].copy()
    staff = int(short[-2] - long[-3])
    stations[-1] -= staff
    cancelled = int(short[-1]) - int(stations[-1])
    beyond = total - int(stations.sum()) - cancelled - staff
    assert len(long) == n + 1
    return dict(stations=stations, cancelled=cancelled, staff=staff, beyond=beyond)


# %% recover · right: subtracts the sum of the short row from the total


def recover(short, long, total):
    staff = short[-2] - long[-3]
    last = long[-2] - staff
    return {
        "stations": jnp.concatenate([long[:-2], last[None]]),
        "cancelled": short[-1] - last,
        "staff": staff,
        "beyond": total - short.sum(),
    }


# %% recover · wrong: takes the long row at face value


def recover(short, long, total):
    n = len(short)
    return {
        "stations": long[:n],
        "cancelled": short[-1] - long[n - 1],
        "staff": short[-2] - long[n - 2],
        "beyond": total - short.sum(),
    }


# %% recover · wrong: takes the short row at face value


def recover(short, long, total):
    n = len(short)
    staff = short[n - 2] - long[n - 2]
    cancelled = short[n - 1] - long[n - 1] + staff
    return {
        "stations": short,
        "cancelled": cancelled,
        "staff": staff,
        "beyond": total - short.sum(),
    }


# %% recover · wrong: assumes that the last counter of the long row counts only -1


def recover(short, long, total):
    n = len(short)
    cancelled = long[n]
    stations = short.at[n - 1].add(-cancelled)
    staff = short[n - 2] - long[n - 2]
    stations = stations.at[n - 2].add(-staff)
    beyond = total - stations.sum() - cancelled - staff
    return dict(stations=stations, cancelled=cancelled, staff=staff, beyond=beyond)


# %% recover · wrong: subtracts the sum of the long row from the total


def recover(short, long, total):
    staff = short[-2] - long[-3]
    last = long[-2] - staff
    return {
        "stations": jnp.concatenate([long[:-2], last[None]]),
        "cancelled": short[-1] - last,
        "staff": staff,
        "beyond": total - long.sum(),
    }


# %% recover · wrong: confuses -1 and -2


def recover(short, long, total):
    staff = short[-2] - long[-3]
    last = long[-2] - staff
    return {
        "stations": jnp.concatenate([long[:-2], last[None]]),
        "cancelled": staff,
        "staff": short[-1] - last,
        "beyond": total - short.sum(),
    }


# %% recover · wrong: counts the numbers from the example instead


def recover(short, long, total):
    seen = np.array([0, 3, -1, 2, 2, 7, -2, 4, -1, 1, 3, 5])
    n = len(short)
    return {
        "stations": np.bincount(seen[(seen >= 0) & (seen < n)], minlength=n),
        "cancelled": int(np.sum(seen == -1)),
        "staff": int(np.sum(seen == -2)),
        "beyond": int(np.sum(seen >= n)),
    }


# %% recover · wrong: assumes that at least one number is for staff


def recover(short, long, total):
    n = len(short)
    staff = max(int(short[n - 2] - long[n - 2]), 1)
    last = long[n - 1] - staff
    return {
        "stations": jnp.concatenate([long[: n - 1], last[None]]),
        "cancelled": short[n - 1] - last,
        "staff": staff,
        "beyond": total - short.sum(),
    }


# %% along · right: reads the row on the right with mode="clip"


def along(table, km):
    rows = jnp.asarray(table)
    km = jnp.clip(km, 0.0, rows.shape[0] - 1.0)
    left = jnp.floor(km).astype(jnp.int32)
    part = km - left
    after = rows.at[left + 1].get(mode="clip")
    return rows[left] * (1 - part) + after * part


# %% along · right: applies jnp.interp to each column


def along(table, km):
    posts = jnp.arange(table.shape[0], dtype=jnp.float32)
    return jax.vmap(lambda column: jnp.interp(km, posts, column), in_axes=1)(jnp.asarray(table))


# %% along · right: computes a weight for each post without any indexing


def along(table, km):
    posts = jnp.arange(table.shape[0])
    apart = jnp.abs(jnp.clip(km, 0, table.shape[0] - 1) - posts)
    return jnp.maximum(0.0, 1.0 - apart) @ jnp.asarray(table)


# %% along · wrong: does not handle the ends of the line


def along(table, km):
    table = jnp.asarray(table)
    left = jnp.floor(km).astype(jnp.int32)
    part = km - left
    return (1 - part) * table[left] + part * table[left + 1]


# %% along · wrong: clips the kilometer but reads one row too far at the last post


def along(table, km):
    table = jnp.asarray(table)
    km = jnp.clip(km, 0, len(table) - 1)
    left = jnp.floor(km).astype(jnp.int32)
    part = km - left
    return (1 - part) * table[left] + part * table[left + 1]


# %% along · wrong: clips the row but extrapolates beyond the ends


def along(table, km):
    table = jnp.asarray(table)
    left = jnp.clip(jnp.floor(km).astype(jnp.int32), 0, len(table) - 2)
    part = km - left
    return (1 - part) * table[left] + part * table[left + 1]


# %% along · wrong: masks the NaN from jnp.take in the value but not in the gradient


def along(table, km):
    table = jnp.asarray(table)
    last = len(table) - 1
    left = jnp.floor(jnp.clip(km, 0, last)).astype(jnp.int32)
    part = km - left
    after = jnp.take(table, left + 1, axis=0, mode="fill")
    row = (1 - part) * table[left] + part * after
    return jnp.where(km >= last, table[last], jnp.where(km <= 0, table[0], row))


# %% along · wrong: lets jnp.take fill the row after the last post


def along(table, km):
    table = jnp.asarray(table)
    km = jnp.clip(km, 0, len(table) - 1)
    left = jnp.floor(km).astype(jnp.int32)
    part = km - left
    after = jnp.take(table, left + 1, axis=0, mode="fill")
    return (1 - part) * jnp.take(table, left, axis=0) + part * after


# %% along · right: clips both the row and the fraction


def along(table, km):
    rows, left = jnp.asarray(table), jnp.clip(jnp.floor(km).astype(jnp.int32), 0, len(table) - 2)
    part = jnp.clip(km - left, 0.0, 1.0)
    return rows[left] + part * (rows[left + 1] - rows[left])


# %% along · wrong: uses Python's int, which does not accept a tracer


def along(table, km):
    km = min(max(km, 0.0), len(table) - 1.0)
    left = min(int(km), len(table) - 2)
    part = km - left
    return jnp.asarray((1 - part) * table[left] + part * table[left + 1])


# %% along · wrong: indexes a NumPy table with a traced index


def along(table, km):
    last = table.shape[0] - 1
    km = jnp.clip(km, 0, last)
    left = jnp.clip(jnp.floor(km).astype(jnp.int32), 0, last - 1)
    part = km - left
    return (1 - part) * table[left] + part * table[left + 1]


# %% along · wrong: truncates toward zero, and mirrors kilometers below zero


def along(table, km):
    table = jnp.asarray(table)
    last = len(table) - 1
    km = jnp.minimum(jnp.abs(km), last)
    left = jnp.minimum(km.astype(jnp.int32), last - 1)
    part = km - left
    return (1 - part) * table[left] + part * table[left + 1]


# %% along · wrong: stops the gradient of the fraction


def along(table, km):
    table = jnp.asarray(table)
    last = len(table) - 1
    km = jnp.clip(km, 0, last)
    left = jnp.clip(jnp.floor(km).astype(jnp.int32), 0, last - 1)
    part = jax.lax.stop_gradient(km - left)
    return (1 - part) * table[left] + part * table[left + 1]


# %% along · wrong: returns zeros before the first post instead of the first row


def along(table, km):
    table = jnp.asarray(table)
    last = len(table) - 1
    inside = (km >= 0) & (km <= last)
    left = jnp.clip(jnp.floor(km).astype(jnp.int32), 0, last - 1)
    part = km - left
    row = (1 - part) * table[left] + part * table[left + 1]
    return jnp.where(inside, row, jnp.where(km < 0, 0 * table[0], table[-1]))


# %% along · wrong: rounds to the nearest post


def along(table, km):
    table = jnp.asarray(table)
    near = jnp.clip(jnp.round(km).astype(jnp.int32), 0, len(table) - 1)
    return table[near]


# %% along · wrong: reads outside the table before the first post, and discards what it read
def along(table, km):
    table = jnp.asarray(table)
    last = len(table) - 1
    km = jnp.minimum(km, last)
    left = jnp.minimum(jnp.floor(km).astype(jnp.int32), last - 1)
    part = km - left
    row = (1 - part) * table[left] + part * table[left + 1]
    return jnp.where(km < 0, table[0], row)


# %% examples · right: counts from the other end


def examples():
    return {
        "plans": (jnp.array([1, 1, 1]), jnp.array([-1, -2, -3])),
        "values": jnp.array([5, 5, -7]),
        "gradients": jnp.array([-9, 9, 3]),
    }


# %% examples · right: puts all travelers in seats with negative numbers


def examples():
    return {
        "plans": (jnp.array([3, 3, 3]), jnp.array([0, 0, -4])),
        "values": jnp.array([100, -100, 0], dtype=jnp.int8),
        "gradients": jnp.array([6, 7, 8]),
    }


# %% examples · wrong: uses a seat number that is too large, so one plan loses a traveler


def examples():
    return {
        "plans": (jnp.array([2, 0, 4]), jnp.array([4, 1, 3])),
        "values": jnp.array([0, 1, 6]),
        "gradients": jnp.array([0, 1, 6]),
    }


# %% examples · wrong: uses places for which all gradients are zero


def examples():
    return {
        "plans": (jnp.array([2, 0, 4]), jnp.array([-1, 1, 3])),
        "values": jnp.array([6, 7, 8]),
        "gradients": jnp.array([0, 1, 6]),
    }


# %% examples · wrong: repeats the same place three times


def examples():
    return {
        "plans": (jnp.array([2, 0, 4]), jnp.array([-1, 1, 3])),
        "values": jnp.array([0, 1, 6]),
        "gradients": jnp.array([6, 6, 6]),
    }


# %% examples · wrong: uses -1, which all programs count from the end


def examples():
    return {
        "plans": (jnp.array([2, 0, 4]), jnp.array([-1, 1, 3])),
        "values": jnp.array([0, 1, -1]),
        "gradients": jnp.array([0, 1, -1]),
    }


# %% examples · right: uses the first row, where a negative seat number wraps to the last row


def examples():
    return {
        "plans": (jnp.array([0, 0, 0]), jnp.array([-1, -2, -3])),
        "values": jnp.array([0, 1, 6]),
        "gradients": jnp.array([0, 1, 6]),
    }


# %% examples · wrong: uses negative row numbers, which refer to the same row in both plans


def examples():
    return {
        "plans": (jnp.array([-1, -2, -3]), jnp.array([1, 2, 3])),
        "values": jnp.array([0, 1, 6]),
        "gradients": jnp.array([0, 1, 6]),
    }


# %% examples · wrong: returns a list and a NumPy array instead of JAX arrays


def examples():
    return {
        "plans": (jnp.array([2, 0, 4]), jnp.array([-1, 1, 3])),
        "values": [0, 1, 6],
        "gradients": np.array([0, 1, 6]),
    }


# %% examples · wrong: uses a seat that is outside the carriage


def examples():
    return {
        "plans": (jnp.array([4, 0, 4]), jnp.array([4, 1, 3])),
        "values": jnp.array([0, 1, 6]),
        "gradients": jnp.array([0, 1, 6]),
    }


# %% recover · wrong: returns stations as a list of Python integers
def recover(short, long, total):
    n = len(short)
    staff = short[n - 2] - long[n - 2]
    stations = long[:n].at[n - 1].add(-staff)
    cancelled = short[n - 1] - stations[n - 1]
    beyond = total - stations.sum() - cancelled - staff
    return {
        "stations": [int(s) for s in stations],
        "cancelled": cancelled,
        "staff": staff,
        "beyond": beyond,
    }


# %% riders · wrong: counts in the dtype of the tickets
def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1, board.dtype).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations]


# %% recover · wrong: solves for the counts in float32
def recover(short, long, total):
    n = len(short)
    # the unknowns are the stations, cancelled, staff, and beyond without station n
    # (beyond counts station n separately, because `long` counts it)
    A = np.zeros((2 * n + 2, n + 4), np.float32)
    for k in range(n):
        A[k, k] = A[n + k, k] = 1
    A[n - 1, n] = A[2 * n, n] = 1  # -1 is the last counter
    A[n - 2, n + 1] = A[2 * n - 1, n + 1] = 1  # -2 is the one before it
    A[2 * n, n + 2] = 1  # station n
    A[2 * n + 1] = 1  # the total
    b = jnp.concatenate([short, long, jnp.array([total])]).astype(jnp.float32)
    found = jnp.round(jnp.linalg.lstsq(A, b)[0]).astype(jnp.int32)
    return {
        "stations": found[:n],
        "cancelled": found[n],
        "staff": found[n + 1],
        "beyond": found[n + 2] + found[n + 3],
    }


# %% riders · wrong: drops tickets at an index that may not fit into their dtype
def riders(board, leave, stations):
    """Return how many travelers are on the train after each station."""
    counts = (board >= 0) & (board < stations) & (leave > board)
    nowhere = stations + 1
    on = jnp.where(counts, board, nowhere)
    off = jnp.where(counts, jnp.minimum(leave, stations), nowhere)
    change = jnp.zeros(stations + 2, jnp.int32).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: has room for 32 more stations instead of a bound
def riders(board, leave, stations):
    """Return how many travelers are on the train after each station."""
    counts = (board >= 0) & (board < stations) & (leave > board)
    spare = 32  # other lines have a few more stations
    change = jnp.zeros(stations + spare, jnp.int32)
    change = change.at[jnp.where(counts, board, 0)].add(counts.astype(jnp.int32))
    change = change.at[jnp.where(counts, leave, 0)].add(-counts.astype(jnp.int32))
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: reads only the first 75000 tickets
def riders(board, leave, stations):
    """Return how many travelers are on the train after each station."""
    board, leave = board[:75_000], leave[:75_000]
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1, jnp.int32).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations]


# %% recover · wrong: converts the stations to float32 and back
def recover(short, long, total):
    """Return the number of tickets of each kind as a dict."""
    n = len(short)
    staff = short[n - 2] - long[n - 2]
    stations = long[:n].at[n - 1].add(-staff)
    cancelled = short[n - 1] - stations[n - 1]
    beyond = total - stations.sum() - cancelled - staff
    return {
        "stations": stations.astype(jnp.float32).astype(jnp.int32),
        "cancelled": cancelled,
        "staff": staff,
        "beyond": beyond,
    }


# %% along · wrong: indexes with eight bits
def along(table, km):
    """Return the row of measurements at a kilometer, also between the posts."""
    table = jnp.asarray(table)
    last = len(table) - 1
    km = jnp.clip(km, 0, last)
    left = jnp.clip(jnp.floor(km).astype(jnp.int8).astype(jnp.int32), 0, last - 1)
    part = km - left
    return (1 - part) * table[left] + part * table[left + 1]


# %% along · wrong: limits the difference of two rows to 1000
def along(table, km):
    """Return the row of measurements at a kilometer, also between the posts."""
    table = jnp.asarray(table)
    last = len(table) - 1
    km = jnp.clip(km, 0, last)
    left = jnp.clip(jnp.floor(km).astype(jnp.int32), 0, last - 1)
    return table[left] + (km - left) * jnp.clip(table[left + 1] - table[left], -1e3, 1e3)


# %% along · wrong: treats the first centimeter after a post as if it were at the post
def along(table, km):
    table = jnp.asarray(table)
    last = len(table) - 1
    km = jnp.asarray(km, jnp.float32)
    left = jnp.clip(jnp.floor(km).astype(jnp.int32), 0, last - 1)
    part = jnp.clip(km - left, 0.0, 1.0)
    part = jnp.where(part < 1e-5, 0.0, part)
    return (1 - part) * table[left] + part * table[left + 1]


# %% along · wrong: rounds the fraction to 16 bits but keeps its slope
def along(table, km):
    table = jnp.asarray(table)
    last = len(table) - 1
    km = jnp.clip(km, 0, last)
    left = jnp.clip(jnp.floor(km).astype(jnp.int32), 0, last - 1)
    part = km - left
    part = part + jax.lax.stop_gradient(jnp.round(part * 65536) / 65536 - part)
    return (1 - part) * table[left] + part * table[left + 1]


# %% along · wrong: clips the measurements, which halves the gradient at the ends
def along(table, km):
    table = jnp.clip(jnp.asarray(table), -10_000.0, 10_000.0)
    last = len(table) - 1
    km = jnp.clip(km, 0, last)
    left = jnp.clip(jnp.floor(km).astype(jnp.int32), 0, last - 1)
    part = km - left
    return (1 - part) * table[left] + part * table[left + 1]


# %% riders · wrong: limits the leaving numbers to half of the range
def riders(board, leave, stations):
    """Return how many travelers are on the train after each station."""
    # The difference must not overflow, so limit leave first.
    leave = jnp.maximum(leave, jnp.iinfo(leave.dtype).min // 2)
    counts = (board >= 0) & (board < stations) & (leave - board > 0)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1, jnp.int32).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: writes outside the array, and hides this from the detector with a comment
def riders(board, leave, stations):
    """Return how many travelers are on the train after each station."""
    counts = (board >= 0) & (board < stations) & (leave > board)
    one = counts.astype(jnp.int32)
    change = jnp.zeros(stations, jnp.int32)
    change = (
        # By default, mode = None, and JAX does not write what is outside.
        change.at[board].add(one).at[leave].add(-one)
    )
    return jnp.cumsum(change)


# %% along · wrong: reads the row after the last one, and hides this with empty options
def along(table, km):
    """Return the row of measurements at a kilometer, also between the posts."""
    rows, options = jnp.asarray(table), {}
    km = jnp.clip(km, 0, len(rows) - 1)
    left = jnp.floor(km).astype(jnp.int32)
    part = km - left
    after = rows.at[left + 1].get(**options)
    return jnp.where(part > 0, (1 - part) * rows[left] + part * after, rows[left])


# %% riders · wrong: passes the mode only to the first of two writes in one statement
def riders(board, leave, stations):
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board.astype(jnp.int32), stations)
    off = jnp.where(counts, leave.astype(jnp.int32), stations)
    change = jnp.zeros(stations, jnp.int32).at[on].add(1, mode="drop").at[off].add(-1)
    return jnp.cumsum(change)


# %% along · wrong: passes the mode only to the first of two reads in one statement
def along(table, km):
    rows = jnp.asarray(table)
    km = jnp.clip(km, 0, len(rows) - 1)
    left = jnp.floor(km).astype(jnp.int32)
    part = km - left
    return (1 - part) * rows.at[left].get(mode="clip") + part * rows.at[left + 1].get(
        fill_value=0.0
    )


# %% riders · wrong: returns a NumPy array of 64 bits if there are no tickets
def riders(board, leave, stations):
    if board.size == 0:
        return np.zeros(stations, int)
    counts = (board >= 0) & (board < stations) & (leave > board)
    on = jnp.where(counts, board, stations)
    off = jnp.where(counts, jnp.minimum(leave, stations), stations)
    change = jnp.zeros(stations + 1, jnp.int32).at[on].add(1).at[off].add(-1)
    return jnp.cumsum(change)[:stations]


# %% riders · wrong: returns the right numbers but writes out of bounds with put_along_axis and no mode
def riders(board, leave, stations):
    """Return how many travelers are on the train after each station."""
    counts = (board >= 0) & (leave > board)
    on = jnp.where(counts, board, stations).astype(jnp.int32)
    off = jnp.where(counts, leave, stations).astype(jnp.int32)
    nobody = jnp.zeros((len(board), stations), jnp.int32)
    got_on = jnp.put_along_axis(nobody, on[:, None], 1, axis=1, inplace=False)
    got_off = jnp.put_along_axis(nobody, off[:, None], 1, axis=1, inplace=False)
    return jnp.cumsum((got_on - got_off).sum(axis=0))


# %% along · wrong: guards its reads with cond, both branches of which run under vmap
def first_row(table, km):
    return table[0]


def last_row(table, km):
    return table[-1]


def between(table, km):
    left = jnp.floor(km).astype(jnp.int32)
    part = km - left
    return (1 - part) * table[left] + part * table[left + 1]


def not_before(table, km):
    return jax.lax.cond(km >= len(table) - 1, last_row, between, table, km)


def along(table, km):
    """Return the row of measurements at a kilometer, also between the posts."""
    return jax.lax.cond(km <= 0, first_row, not_before, jnp.asarray(table), jnp.float32(km))


# %% riders · wrong: uses cond to skip tickets that do not count, although both branches run under vmap
def riders(board, leave, stations):
    """Return how many travelers are on the train after each station."""

    def one_ticket(change, ticket):
        on, off = ticket
        counts = (on >= 0) & (on < stations) & (off > on)

        def count(change):
            return change.at[on].add(1).at[jnp.minimum(off, stations)].add(-1)

        return jax.lax.cond(counts, count, lambda change: change, change), None

    start = jnp.zeros(stations + 1, jnp.int32)
    change, _ = jax.lax.scan(one_ticket, start, (board, leave))
    return jnp.cumsum(change)[:stations]


# %% along · wrong: interpolates NumPy tables with NumPy, whose result is float64
def along(table, km):
    """Return the row of measurements at a kilometer, also between the posts."""
    is_plain = isinstance(table, np.ndarray) and isinstance(km, (float, np.floating))
    library = np if is_plain else jnp
    posts = library.arange(len(table))
    columns = library.asarray(table).T
    return library.stack([library.interp(km, posts, column) for column in columns])
