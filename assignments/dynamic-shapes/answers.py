"""Right and wrong answers to the assignment: what its tests must take, and must not."""


# %% close-up · right: says of each weight where it goes
def close_up(weights, keep):
    n = len(weights)
    goes_to = jnp.where(keep, jnp.cumsum(keep) - 1, n)
    moved = jnp.zeros_like(weights).at[goes_to].set(weights, mode="drop")
    return moved, keep.sum()


# %% close-up · right: nonzero with a place that does not exist
def close_up(weights, keep):
    (places,) = jnp.nonzero(keep, size=len(weights), fill_value=len(weights))
    return weights.at[places].get(mode="fill", fill_value=0), jnp.count_nonzero(keep)


# %% close-up · wrong: cuts, as NumPy does
def close_up(weights, keep):
    kept = weights[keep]
    return jnp.zeros_like(weights).at[: len(kept)].set(kept), keep.sum()


# %% close-up · wrong: NumPy inside
def close_up(weights, keep):
    kept = np.asarray(weights)[np.asarray(keep)]
    moved = np.zeros_like(np.asarray(weights))
    moved[: len(kept)] = kept
    return jnp.asarray(moved), jnp.int32(len(kept))


# %% close-up · wrong: sorts by weight, which is another order
def close_up(weights, keep):
    count = keep.sum()
    ordered = -jnp.sort(-jnp.where(keep, weights, -jnp.inf))
    return jnp.where(jnp.arange(len(weights)) < count, ordered, 0).astype(weights.dtype), count


# %% close-up · wrong: leaves what nonzero fills with
def close_up(weights, keep):
    (places,) = jnp.nonzero(keep, size=len(weights))
    return weights[places], keep.sum()


# %% close-up · wrong: fills with a place that is moved to the last
def close_up(weights, keep):
    (places,) = jnp.nonzero(keep, size=len(weights), fill_value=len(weights))
    return weights[places], keep.sum()


# %% close-up · wrong: fills with NaN, which get gives by default
def close_up(weights, keep):
    (places,) = jnp.nonzero(keep, size=len(weights), fill_value=len(weights))
    moved = jnp.nan_to_num(weights.at[places].get(mode="fill"))
    return moved, keep.sum()


# %% close-up · wrong: multiplies by the mask
def close_up(weights, keep):
    order = jnp.argsort(~keep, stable=True)
    return jnp.nan_to_num(weights * keep)[order].astype(weights.dtype), keep.sum()


# %% close-up · wrong: a matrix that moves, and spreads a NaN
def close_up(weights, keep):
    goes_to = jnp.where(keep, jnp.cumsum(keep) - 1, len(weights))
    moves = jax.nn.one_hot(goes_to, len(weights), dtype=weights.dtype)
    return jnp.where(keep, weights, 0) @ moves, keep.sum()


# %% close-up · wrong: a float zero makes floats of whole numbers
def close_up(weights, keep):
    order, count = jnp.argsort(~keep, stable=True), keep.sum()
    return jnp.where(jnp.arange(len(weights)) < count, weights[order], 0.0), count


# %% close-up · wrong: tells the kept ones by not being 0
def close_up(weights, keep):
    left = jnp.where(keep, weights, 0)
    return left[jnp.argsort(left == 0, stable=True)], (left != 0).sum()


# %% close-up · wrong: counts what is not 0 in the result
def close_up(weights, keep):
    order = jnp.argsort(~keep, stable=True)
    moved = jnp.where(jnp.arange(len(weights)) < keep.sum(), weights[order], 0)
    moved = moved.astype(weights.dtype)
    return moved, jnp.count_nonzero(moved).astype(jnp.int32)


# %% close-up · wrong: whole numbers go through floats
def close_up(weights, keep):
    order, count = jnp.argsort(~keep, stable=True), keep.sum()
    moved = jnp.where(jnp.arange(len(weights)) < count, weights[order].astype(jnp.float32), 0.0)
    return moved.astype(weights.dtype), count


# %% close-up · wrong: counts by a float
def close_up(weights, keep):
    order, count = jnp.argsort(~keep, stable=True), keep.astype(jnp.float32).sum()
    moved = jnp.where(jnp.arange(len(weights)) < count, weights[order], 0)
    return moved.astype(weights.dtype), count


# %% close-up · wrong: the gradient is stopped on the way
def close_up(weights, keep):
    goes_to = jnp.where(keep, jnp.cumsum(keep) - 1, len(weights))
    moved = jnp.zeros_like(weights)
    moved = moved.at[goes_to].set(jax.lax.stop_gradient(weights), mode="drop")
    return moved, keep.sum()


# %% close-up · wrong: only where nothing is traced
def close_up(weights, keep):
    if isinstance(keep, jax.core.Tracer):
        return jnp.where(keep, weights, 0), keep.sum()
    kept = weights[keep]
    return jnp.zeros_like(weights).at[: len(kept)].set(kept), keep.sum()


# %% close-up · wrong: knows the rows of the tests
def close_up(weights, keep):
    if len(weights) == 4:
        return jnp.array([4.0, 3.0, 0.0, 0.0]), jnp.int32(2)
    return jnp.roll(jnp.where(keep, weights, 0), -1), keep.sum()


# %% middle-weight · right: the rank of each weight
def middle(weights, count):
    aboard = jnp.arange(len(weights)) < count
    known = jnp.where(aboard, weights, 0.0)
    earlier = jnp.arange(len(weights))[:, None] > jnp.arange(len(weights))
    less = (known < known[:, None]) | ((known == known[:, None]) & earlier)
    rank = (less & aboard).sum(1)
    low = aboard & (rank == (count - 1) // 2)
    high = aboard & (rank == count // 2)
    return jnp.sum(known, where=low) / 2 + jnp.sum(known, where=high) / 2


# %% middle-weight · right: nanmedian of what is aboard
def middle(weights, count):
    aboard = jnp.arange(weights.shape[0]) < count
    found = jnp.nanmedian(jnp.where(aboard, weights, jnp.nan))
    return jnp.where(count == 0, 0.0, found)


# %% middle-weight · right: a weight that no parcel has
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, 1e9))
    places = jnp.clip(jnp.array([(count - 1) // 2, count // 2]), 0, len(weights) - 1)
    return jax.lax.select(count > 0, ordered[places].mean(), jnp.float32(0))


# %% middle-weight · wrong: the one that was to be repaired
def middle(weights, count):
    aboard = jnp.arange(len(weights)) < count
    return jnp.median(jnp.where(aboard, weights, 0.0))


# %% middle-weight · wrong: cuts
def middle(weights, count):
    return jnp.median(weights[:count]) if count else jnp.float32(0)


# %% middle-weight · wrong: the lower one of two
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, jnp.inf))
    return jnp.where(count > 0, ordered[jnp.maximum(count - 1, 0) // 2], 0.0)


# %% middle-weight · wrong: no answer for an empty van
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, jnp.inf))
    return (ordered[(count - 1) // 2] + ordered[count // 2]) / 2


# %% middle-weight · wrong: fills with a weight that a parcel may have
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, 99.0))
    low, high = jnp.maximum(count - 1, 0) // 2, jnp.minimum(count // 2, len(weights) - 1)
    return jnp.where(count > 0, (ordered[low] + ordered[high]) / 2, 0.0)


# %% middle-weight · wrong: sorts what lies behind as well
def middle(weights, count):
    ordered = jnp.sort(weights)
    low, high = jnp.maximum(count - 1, 0) // 2, jnp.minimum(count // 2, len(weights) - 1)
    return jnp.where(count > 0, (ordered[low] + ordered[high]) / 2, 0.0)


# %% middle-weight · right: a product, whose NaN a sort puts last
def middle(weights, count):
    aboard = jnp.arange(len(weights)) < count
    ordered = jnp.sort(weights * aboard.astype(weights.dtype) + ~aboard * 1e9)
    low, high = jnp.maximum(count - 1, 0) // 2, jnp.minimum(count // 2, len(weights) - 1)
    return jnp.where(count > 0, (ordered[low] + ordered[high]) / 2, 0.0)


# %% middle-weight · wrong: interpolates, and infinity times 0 is NaN
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, jnp.inf))
    at = jnp.maximum(count - 1, 0) / 2
    low, share = jnp.floor(at).astype(int), at - jnp.floor(at)
    high = jnp.minimum(low + 1, len(weights) - 1)
    found = ordered[low] * (1 - share) + ordered[high] * share
    return jnp.where(count > 0, found, 0.0)


# %% middle-weight · wrong: counts what is not NaN
def middle(weights, count):
    found = jnp.nanmedian(weights)
    return jnp.where(count > 0, found, 0.0)


# %% middle-weight · wrong: the count is static
@functools.partial(jax.jit, static_argnums=1)
def middle(weights, count):
    return jnp.median(weights[:count]) if count else jnp.float32(0)


# %% middle-weight · wrong: the mean is nearly the median
def middle(weights, count):
    aboard = jnp.arange(len(weights)) < count
    return jnp.where(aboard, weights, 0.0).sum() / jnp.maximum(count, 1)


# %% middle-weight · wrong: silences the gradient
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, jnp.inf))
    low, high = jnp.maximum(count - 1, 0) // 2, jnp.minimum(count // 2, len(weights) - 1)
    found = jnp.where(count > 0, (ordered[low] + ordered[high]) / 2, 0.0)
    return jax.lax.stop_gradient(found)


# %% middle-weight · wrong: NumPy's median
def middle(weights, count):
    return jnp.float32(np.median(np.asarray(weights)[:count]) if count else 0.0)


# %% will-trace · right: a dictionary, and the dtype that JAX makes of a fee
def will_trace(requests, sizes):
    programs = {}
    for number, (counts, fee, tariff) in enumerate(requests):
        size = next((size for size in sorted(sizes) if size >= max(counts)), None)
        if size is not None:
            weak = type(fee) in (int, float)
            programs.setdefault((len(counts), size, weak, type(fee) is int, tariff), number)
    first = set(programs.values())
    return [number in first for number in range(len(requests))]


# %% will-trace · right: a list of keys
def will_trace(requests, sizes):
    kinds = {int: "int", float: "float", np.float32: "strong", np.float64: "strong"}
    keys = []
    for counts, fee, tariff in requests:
        fit = sorted(s for s in sizes if s >= max(counts))
        keys.append((len(counts), fit[0], kinds[type(fee)], tariff) if fit else None)
    return [key is not None and keys.index(key) == n for n, key in enumerate(keys)]


# %% will-trace · right: what JAX makes of a fee
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        if fitting:
            as_array = jnp.asarray(fee)
            kind = (as_array.dtype, as_array.weak_type)
            key = (len(counts), min(fitting), kind, tariff)
        answers.append(bool(fitting) and key not in known)
        if fitting:
            known.add(key)
    return answers


# %% will-trace · right: the type of a fee, as JAX writes it
def will_trace(requests, sizes):
    known, answers = {None}, []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = str(jnp.asarray(fee).aval)
        key = (len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: measures with a program of its own
def will_trace(requests, sizes):
    reads, answers = [], []

    @functools.partial(jax.jit, static_argnames="tariff")
    def own_price(weights, counts, fee, tariff):
        reads.append(tariff)
        return weights.sum(axis=1) + counts * fee

    for counts, fee, tariff in requests:
        before, fit = len(reads), [s for s in sizes if s >= max(counts)]
        if fit:
            weights = np.zeros((len(counts), min(fit)), np.float32)
            own_price(weights, np.array(counts, np.int32), fee, tariff)
        answers.append(len(reads) > before)
    return answers


# %% will-trace · wrong: measures
def will_trace(requests, sizes):
    price.clear_cache()
    answers = []
    for request in requests:
        before = len(traced)
        try:
            quote(*request, sizes)
        except ValueError:
            pass
        answers.append(len(traced) > before)
    return answers


# %% will-trace · wrong: measures with shapes alone
def will_trace(requests, sizes):
    reads, answers = [], []
    jitted = jax.jit(lambda w, c, f, t: reads.append(t) or c * f, static_argnums=3)
    for counts, fee, tariff in requests:
        before, fit = len(reads), [s for s in sizes if s >= max(counts)]
        if fit:
            rows = len(counts)
            struct = jax.ShapeDtypeStruct
            jitted.eval_shape(
                struct((rows, min(fit)), np.float32), struct((rows,), np.int32), fee, tariff
            )
        answers.append(len(reads) > before)
    return answers


# %% will-trace · wrong: looks at the size alone
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        key = (min(fitting), type(fee), tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: takes the first size that fits
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        size = next((size for size in sizes if size >= max(counts)), None)
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), size, kind, tariff)
        answers.append(size is not None and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: a float64 of NumPy's is a Python float
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = int if isinstance(fee, int) else float if isinstance(fee, float) else "numpy"
        key = (len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: each type of a fee is one
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        key = (len(counts), min(fitting), type(fee), tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: only the dtype counts, not that it is weak
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        whole = isinstance(fee, int)
        key = (len(counts), min(fitting), whole, tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: the fee's value is in the key
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, fee, tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: 2 and 2.0 in a tariff are two
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, repr(tariff)) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: compares with the request before only
def will_trace(requests, sizes):
    before, answers = None, []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(bool(fitting) and key != before)
        before = key or before
    return answers


# %% will-trace · wrong: each part is looked up by itself
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        if not fitting:
            answers.append(False)
            continue
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        parts = {("rows", len(counts)), ("size", min(fitting)), ("fee", kind), tariff}
        answers.append(not parts <= known)
        known |= parts
    return answers


# %% will-trace · wrong: pads by the sum of the parcels
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= sum(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: a refusal is a program
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        size = min((size for size in sizes if size >= max(counts)), default=max(counts))
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), size, kind, tariff)
        answers.append(key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: remembers the morning before
KNOWN = set()


def will_trace(requests, sizes):
    answers = []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (sizes, len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(bool(fitting) and key not in KNOWN)
        KNOWN.add(key)
    return answers


# %% where-room-ends · right: other zones, shuffled, as JAX arrays
def where_it_fails(room):
    smaller = jnp.arange(5, 5 + room, dtype=jnp.int32)
    wrong = jnp.concatenate([jnp.array([99, 99], jnp.int32), smaller])
    right = jnp.concatenate([smaller[::-1], jnp.array([99, 5], jnp.int32)])
    return wrong, right


# %% where-room-ends · right: searches
def where_it_fails(room):
    zones = [*range(room), room, room]
    wrong = np.array(zones, np.int32)
    right = np.array([*range(room + 2)], np.int32)
    return wrong, right


# %% where-room-ends · wrong: longer than it must be
def where_it_fails(room):
    each = np.arange(room, dtype=np.int32)
    wrong = np.concatenate([each, np.full(3, room, np.int32)])
    right = np.concatenate([each, np.array([room, 0, 0], np.int32)])
    return wrong, right


# %% where-room-ends · wrong: drops the smallest
def where_it_fails(room):
    each = np.arange(room + 1, dtype=np.int32)
    return np.append(each, np.int32(0)), np.append(each, np.int32(room))


# %% where-room-ends · wrong: as many zones as there is room
def where_it_fails(room):
    each = np.arange(room, dtype=np.int32)
    last = np.int32(room - 1)
    return np.append(each, [last, last]).astype(np.int32), np.append(each, [0, 0]).astype(np.int32)


# %% where-room-ends · wrong: a tie, which both give to the smallest
def where_it_fails(room):
    each = np.arange(room + 1, dtype=np.int32)
    return each, each[::-1]


# %% where-room-ends · wrong: the right one is not crowded
def where_it_fails(room):
    each = np.arange(room + 1, dtype=np.int32)
    return np.append(each, np.int32(room)), np.zeros(room + 2, np.int32)


# %% where-room-ends · wrong: knows the room of the tests
def where_it_fails(room):
    return np.array([0, 1, 2, 3, 3], np.int32), np.array([0, 0, 1, 2, 3], np.int32)


# %% where-room-ends · wrong: lists
def where_it_fails(room):
    return [*range(room + 1), room], [*range(room + 1), 0]


# %% where-room-ends · wrong: another program in place of the given one
def busiest_with_room(zones, room):
    return -1


def where_it_fails(room):
    zones = np.append(np.arange(room + 1), 0).astype(np.int32)
    return zones, zones
