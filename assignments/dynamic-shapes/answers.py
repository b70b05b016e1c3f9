"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""


# %% close-up · right: computes the new index of each weight
def close_up(weights, keep):
    n = len(weights)
    goes_to = jnp.where(keep, jnp.cumsum(keep) - 1, n)
    moved = jnp.zeros_like(weights).at[goes_to].set(weights, mode="drop")
    return moved, keep.sum()


# %% close-up · right: uses nonzero with a fill index that is out of bounds
def close_up(weights, keep):
    (places,) = jnp.nonzero(keep, size=len(weights), fill_value=len(weights))
    return weights.at[places].get(mode="fill", fill_value=0), jnp.count_nonzero(keep)


# %% close-up · wrong: selects with a boolean mask, as in NumPy
def close_up(weights, keep):
    kept = weights[keep]
    return jnp.zeros_like(weights).at[: len(kept)].set(kept), keep.sum()


# %% close-up · wrong: converts the arguments to NumPy arrays
def close_up(weights, keep):
    kept = np.asarray(weights)[np.asarray(keep)]
    moved = np.zeros_like(np.asarray(weights))
    moved[: len(kept)] = kept
    return jnp.asarray(moved), jnp.int32(len(kept))


# %% close-up · wrong: sorts by weight, which changes the order
def close_up(weights, keep):
    count = keep.sum()
    ordered = -jnp.sort(-jnp.where(keep, weights, -jnp.inf))
    return jnp.where(jnp.arange(len(weights)) < count, ordered, 0).astype(weights.dtype), count


# %% close-up · wrong: leaves the weight at nonzero's default fill index in the result
def close_up(weights, keep):
    (places,) = jnp.nonzero(keep, size=len(weights))
    return weights[places], keep.sum()


# %% close-up · wrong: fills with an out-of-bounds index, which is clamped to the last index
def close_up(weights, keep):
    (places,) = jnp.nonzero(keep, size=len(weights), fill_value=len(weights))
    return weights[places], keep.sum()


# %% close-up · wrong: fills with NaN, which is get's default, and then replaces every NaN
def close_up(weights, keep):
    (places,) = jnp.nonzero(keep, size=len(weights), fill_value=len(weights))
    moved = jnp.nan_to_num(weights.at[places].get(mode="fill"))
    return moved, keep.sum()


# %% close-up · wrong: removes the dropped weights by multiplying by the mask
def close_up(weights, keep):
    order = jnp.argsort(~keep, stable=True)
    return jnp.nan_to_num(weights * keep)[order].astype(weights.dtype), keep.sum()


# %% close-up · wrong: moves the weights with a matrix product, which spreads a NaN
def close_up(weights, keep):
    goes_to = jnp.where(keep, jnp.cumsum(keep) - 1, len(weights))
    moves = jax.nn.one_hot(goes_to, len(weights), dtype=weights.dtype)
    return jnp.where(keep, weights, 0) @ moves, keep.sum()


# %% close-up · wrong: converts integer weights to floats, because it fills with 0.0
def close_up(weights, keep):
    order, count = jnp.argsort(~keep, stable=True), keep.sum()
    return jnp.where(jnp.arange(len(weights)) < count, weights[order], 0.0), count


# %% close-up · wrong: treats a kept weight of 0 as if it had been dropped
def close_up(weights, keep):
    left = jnp.where(keep, weights, 0)
    return left[jnp.argsort(left == 0, stable=True)], (left != 0).sum()


# %% close-up · wrong: counts the nonzero weights in the result
def close_up(weights, keep):
    order = jnp.argsort(~keep, stable=True)
    moved = jnp.where(jnp.arange(len(weights)) < keep.sum(), weights[order], 0)
    moved = moved.astype(weights.dtype)
    return moved, jnp.count_nonzero(moved).astype(jnp.int32)


# %% close-up · wrong: converts integer weights to floats and back
def close_up(weights, keep):
    order, count = jnp.argsort(~keep, stable=True), keep.sum()
    moved = jnp.where(jnp.arange(len(weights)) < count, weights[order].astype(jnp.float32), 0.0)
    return moved.astype(weights.dtype), count


# %% close-up · wrong: returns the count as a float
def close_up(weights, keep):
    order, count = jnp.argsort(~keep, stable=True), keep.astype(jnp.float32).sum()
    moved = jnp.where(jnp.arange(len(weights)) < count, weights[order], 0)
    return moved.astype(weights.dtype), count


# %% close-up · wrong: stops the gradient
def close_up(weights, keep):
    goes_to = jnp.where(keep, jnp.cumsum(keep) - 1, len(weights))
    moved = jnp.zeros_like(weights)
    moved = moved.at[goes_to].set(jax.lax.stop_gradient(weights), mode="drop")
    return moved, keep.sum()


# %% close-up · wrong: works only on arguments that are not traced
def close_up(weights, keep):
    if isinstance(keep, jax.core.Tracer):
        return jnp.where(keep, weights, 0), keep.sum()
    kept = weights[keep]
    return jnp.zeros_like(weights).at[: len(kept)].set(kept), keep.sum()


# %% close-up · wrong: hard-codes the row from the visible tests
def close_up(weights, keep):
    if len(weights) == 4:
        return jnp.array([4.0, 3.0, 0.0, 0.0]), jnp.int32(2)
    return jnp.roll(jnp.where(keep, weights, 0), -1), keep.sum()


# %% close-up · wrong: marks dropped weights with infinity, so a kept infinity becomes 0
def close_up(weights, keep):
    n = len(weights)
    ids = jnp.nonzero(keep, size=n, fill_value=n)[0]
    marker = jnp.inf if jnp.issubdtype(weights.dtype, jnp.floating) else jnp.iinfo(jnp.int32).min
    moved = weights.at[ids].get(mode="fill", fill_value=marker)
    return jnp.where(moved == marker, 0, moved).astype(weights.dtype), keep.sum(dtype=jnp.int32)


# %% close-up · wrong: sorts positions with a fixed offset of 100
def close_up(weights, keep):
    n = len(weights)
    order = jnp.argsort(jnp.where(keep, jnp.arange(n), 100))
    count = keep.sum(dtype=jnp.int32)
    moved = jnp.where(jnp.arange(n) < count, weights[order], 0)
    return moved.astype(weights.dtype), count


# %% middle-weight · right: computes the rank of each weight
def middle(weights, count):
    aboard = jnp.arange(len(weights)) < count
    known = jnp.where(aboard, weights, 0.0)
    earlier = jnp.arange(len(weights))[:, None] > jnp.arange(len(weights))
    less = (known < known[:, None]) | ((known == known[:, None]) & earlier)
    rank = (less & aboard).sum(1)
    low = aboard & (rank == (count - 1) // 2)
    high = aboard & (rank == count // 2)
    return jnp.sum(known, where=low) / 2 + jnp.sum(known, where=high) / 2


# %% middle-weight · right: uses nanmedian of the weights aboard
def middle(weights, count):
    aboard = jnp.arange(weights.shape[0]) < count
    found = jnp.nanmedian(jnp.where(aboard, weights, jnp.nan))
    return jnp.where(count == 0, 0.0, found)


# %% middle-weight · right: fills with a weight that no parcel can have
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, 1e9))
    places = jnp.clip(jnp.array([(count - 1) // 2, count // 2]), 0, len(weights) - 1)
    return jax.lax.select(count > 0, ordered[places].mean(), jnp.float32(0))


# %% middle-weight · wrong: repeats the broken program from the task
def middle(weights, count):
    aboard = jnp.arange(len(weights)) < count
    return jnp.median(jnp.where(aboard, weights, 0.0))


# %% middle-weight · wrong: slices the row with the count, which may be traced
def middle(weights, count):
    return jnp.median(weights[:count]) if count else jnp.float32(0)


# %% middle-weight · wrong: takes the lower of the two weights in the middle
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, jnp.inf))
    return jnp.where(count > 0, ordered[jnp.maximum(count - 1, 0) // 2], 0.0)


# %% middle-weight · wrong: returns no valid result for an empty van
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, jnp.inf))
    return (ordered[(count - 1) // 2] + ordered[count // 2]) / 2


# %% middle-weight · wrong: fills with a weight that a parcel can have
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, 99.0))
    low, high = jnp.maximum(count - 1, 0) // 2, jnp.minimum(count // 2, len(weights) - 1)
    return jnp.where(count > 0, (ordered[low] + ordered[high]) / 2, 0.0)


# %% middle-weight · wrong: also sorts the values after the parcels
def middle(weights, count):
    ordered = jnp.sort(weights)
    low, high = jnp.maximum(count - 1, 0) // 2, jnp.minimum(count // 2, len(weights) - 1)
    return jnp.where(count > 0, (ordered[low] + ordered[high]) / 2, 0.0)


# %% middle-weight · right: masks with a product, because the sort puts the resulting NaNs last
def middle(weights, count):
    aboard = jnp.arange(len(weights)) < count
    ordered = jnp.sort(weights * aboard.astype(weights.dtype) + ~aboard * 1e9)
    low, high = jnp.maximum(count - 1, 0) // 2, jnp.minimum(count // 2, len(weights) - 1)
    return jnp.where(count > 0, (ordered[low] + ordered[high]) / 2, 0.0)


# %% middle-weight · wrong: interpolates, which multiplies infinity by 0 and yields NaN
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, jnp.inf))
    at = jnp.maximum(count - 1, 0) / 2
    low, share = jnp.floor(at).astype(int), at - jnp.floor(at)
    high = jnp.minimum(low + 1, len(weights) - 1)
    found = ordered[low] * (1 - share) + ordered[high] * share
    return jnp.where(count > 0, found, 0.0)


# %% middle-weight · wrong: treats every weight that is not NaN as aboard
def middle(weights, count):
    found = jnp.nanmedian(weights)
    return jnp.where(count > 0, found, 0.0)


# %% middle-weight · wrong: makes the count a static argument
@functools.partial(jax.jit, static_argnums=1)
def middle(weights, count):
    return jnp.median(weights[:count]) if count else jnp.float32(0)


# %% middle-weight · wrong: returns the mean, which is close to the median
def middle(weights, count):
    aboard = jnp.arange(len(weights)) < count
    return jnp.where(aboard, weights, 0.0).sum() / jnp.maximum(count, 1)


# %% middle-weight · wrong: stops the gradient
def middle(weights, count):
    ordered = jnp.sort(jnp.where(jnp.arange(len(weights)) < count, weights, jnp.inf))
    low, high = jnp.maximum(count - 1, 0) // 2, jnp.minimum(count // 2, len(weights) - 1)
    found = jnp.where(count > 0, (ordered[low] + ordered[high]) / 2, 0.0)
    return jax.lax.stop_gradient(found)


# %% middle-weight · wrong: uses NumPy's median
def middle(weights, count):
    return jnp.float32(np.median(np.asarray(weights)[:count]) if count else 0.0)


# %% will-trace · right: uses a dictionary, and works out which dtype JAX gives a fee
def will_trace(requests, sizes):
    programs = {}
    for number, (counts, fee, tariff) in enumerate(requests):
        size = next((size for size in sorted(sizes) if size >= max(counts)), None)
        if size is not None:
            weak = type(fee) in (int, float)
            programs.setdefault((len(counts), size, weak, type(fee) is int, tariff), number)
    first = set(programs.values())
    return [number in first for number in range(len(requests))]


# %% will-trace · right: uses a list of keys
def will_trace(requests, sizes):
    kinds = {int: "int", float: "float", np.float32: "strong", np.float64: "strong"}
    keys = []
    for counts, fee, tariff in requests:
        fit = sorted(s for s in sizes if s >= max(counts))
        keys.append((len(counts), fit[0], kinds[type(fee)], tariff) if fit else None)
    return [key is not None and keys.index(key) == n for n, key in enumerate(keys)]


# %% will-trace · right: asks JAX for the dtype and the weak type of a fee
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


# %% will-trace · right: compares fees by the type that JAX prints
def will_trace(requests, sizes):
    known, answers = {None}, []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = str(jnp.asarray(fee).aval)
        key = (len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: counts the traces of its own jitted function
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


# %% will-trace · wrong: counts the traces of the given function
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


# %% will-trace · wrong: counts the traces of its own function with eval_shape
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


# %% will-trace · wrong: counts traces for requests that it has not seen, and remembers the answers
remembered = {}


def will_trace(requests, sizes):
    def count(requests):
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

    order = tuple(map(id, requests))
    if (order, sizes) not in remembered:
        back = list(requests)[::-1]
        for some in (list(requests), back, list(requests) * 2, back * 2):
            remembered[tuple(map(id, some)), sizes] = some, count(some)
    return list(remembered[order, sizes][1])


# %% will-trace · wrong: considers the padded size but not the number of vans
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        key = (min(fitting), type(fee), tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: takes the first size that fits, not the smallest
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        size = next((size for size in sizes if size >= max(counts)), None)
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), size, kind, tariff)
        answers.append(size is not None and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: treats an np.float64 as a Python float
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = int if isinstance(fee, int) else float if isinstance(fee, float) else "numpy"
        key = (len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: treats an np.float32 and an np.float64 as two kinds of fee
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        key = (len(counts), min(fitting), type(fee), tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: ignores whether the dtype of a fee is weak
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        whole = isinstance(fee, int)
        key = (len(counts), min(fitting), whole, tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: includes the value of the fee in the key
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, fee, tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: treats 2 and 2.0 in a tariff as different
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, repr(tariff)) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: compares each request only with the one before it
def will_trace(requests, sizes):
    before, answers = None, []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(bool(fitting) and key != before)
        before = key or before
    return answers


# %% will-trace · wrong: looks up each part of the key separately
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


# %% will-trace · wrong: chooses the size based on the sum of the parcels
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= sum(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: counts a rejected request as a new program
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        size = min((size for size in sizes if size >= max(counts)), default=max(counts))
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), size, kind, tariff)
        answers.append(key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: remembers the requests from earlier calls
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


# %% where-room-ends · right: uses different zones, shuffled, as JAX arrays
def where_it_fails(room):
    smaller = jnp.arange(5, 5 + room, dtype=jnp.int32)
    wrong = jnp.concatenate([jnp.array([99, 99], jnp.int32), smaller])
    right = jnp.concatenate([smaller[::-1], jnp.array([99, 5], jnp.int32)])
    return wrong, right


# %% where-room-ends · right: uses a second array in which every zone appears once
def where_it_fails(room):
    zones = [*range(room), room, room]
    wrong = np.array(zones, np.int32)
    right = np.array([*range(room + 2)], np.int32)
    return wrong, right


# %% where-room-ends · wrong: returns arrays that are longer than necessary
def where_it_fails(room):
    each = np.arange(room, dtype=np.int32)
    wrong = np.concatenate([each, np.full(3, room, np.int32)])
    right = np.concatenate([each, np.array([room, 0, 0], np.int32)])
    return wrong, right


# %% where-room-ends · wrong: swaps the two arrays, as if unique dropped the smallest zone
def where_it_fails(room):
    each = np.arange(room + 1, dtype=np.int32)
    return np.append(each, np.int32(0)), np.append(each, np.int32(room))


# %% where-room-ends · wrong: uses no more zones than there is room for
def where_it_fails(room):
    each = np.arange(room, dtype=np.int32)
    last = np.int32(room - 1)
    return np.append(each, [last, last]).astype(np.int32), np.append(each, [0, 0]).astype(np.int32)


# %% where-room-ends · wrong: uses a tie, for which both programs return the smallest zone
def where_it_fails(room):
    each = np.arange(room + 1, dtype=np.int32)
    return each, each[::-1]


# %% where-room-ends · wrong: returns a second array with too few different zones
def where_it_fails(room):
    each = np.arange(room + 1, dtype=np.int32)
    return np.append(each, np.int32(room)), np.zeros(room + 2, np.int32)


# %% where-room-ends · wrong: hard-codes the answer for the room in the visible tests
def where_it_fails(room):
    return np.array([0, 1, 2, 3, 3], np.int32), np.array([0, 0, 1, 2, 3], np.int32)


# %% where-room-ends · wrong: returns lists
def where_it_fails(room):
    return [*range(room + 1), room], [*range(room + 1), 0]


# %% where-room-ends · wrong: redefines the given program
def busiest_with_room(zones, room):
    return -1


def where_it_fails(room):
    zones = np.append(np.arange(room + 1), 0).astype(np.int32)
    return zones, zones


# %% where-room-ends · wrong: uses even zones, which exceed 99 if room is above 49
def where_it_fails(room):
    each_once = 2 * np.arange(room + 1, dtype=np.int32)
    return np.append(each_once, each_once[-1]), np.append(each_once, each_once[0])


# %% middle-weight · wrong: spreads the gradient over all entries that equal the median, also behind
def middle(weights, count):
    aboard = jnp.arange(len(weights)) < count
    ordered = jax.lax.stop_gradient(jnp.sort(jnp.where(aboard, weights, jnp.inf)))

    def entry(value):
        same = weights == value
        return jnp.where(same, weights, 0.0).sum() / jnp.maximum(same.sum(), 1)

    below = entry(ordered[jnp.maximum(count - 1, 0) // 2])
    above = entry(ordered[jnp.minimum(count // 2, len(weights) - 1)])
    return jnp.where(count > 0, (below + above) / 2, 0.0)


# %% will-trace · wrong: returns integers in place of bools
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        if not fitting:
            answers.append(0)
            continue
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, tariff)
        answers.append(0 if key in known else 1)
        known.add(key)
    return answers


# %% close-up · wrong: marks dropped integers with the sentinel -999
def close_up(weights, keep):
    count = keep.sum(dtype=jnp.int32)
    if jnp.issubdtype(weights.dtype, jnp.integer):
        marked = jnp.where(keep, weights, -999)
        order = jnp.argsort(marked == -999, stable=True)
        moved = marked[order]
        return jnp.where(moved == -999, 0, moved), count
    order = jnp.argsort(~keep, stable=True)
    moved = jnp.where(jnp.arange(len(weights)) < count, weights[order], 0)
    return moved.astype(weights.dtype), count


# %% will-trace · wrong: traces in the first call, and remembers the result
learned = {}


def will_trace(requests, sizes):
    """Return whether each request makes JAX trace `price`."""
    for n in range(len(requests), 0, -1):
        known = learned.get(repr((requests[:n], sizes)))
        if known is not None:
            return [*known, *[False] * (len(requests) - n)]
    price.clear_cache()
    answers = []
    for request in requests:
        before = len(traced)
        try:
            quote(*request, sizes=sizes)
        except ValueError:
            pass
        answers.append(len(traced) > before)
    learned[repr((list(requests), sizes))] = answers
    return answers


# %% close-up · wrong: counts the kept weights in half precision
def close_up(weights, keep):
    n = len(weights)
    place = jnp.cumsum(keep.astype(jnp.float16)).astype(jnp.int32) - 1
    place = jnp.where(keep, place, n)
    moved = jnp.zeros(n, weights.dtype).at[place].set(weights, mode="drop")
    return moved, keep.sum(dtype=jnp.int32)


# %% will-trace · wrong: sorts the counts in the caller's requests
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        counts.sort()
        fitting = [size for size in sizes if size >= counts[-1]]
        if not fitting:
            answers.append(False)
            continue
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, tariff)
        answers.append(key not in known)
        known.add(key)
    return answers


# %% close-up · wrong: marks dropped integers with -1000000
def close_up(weights, keep):
    """Return the row with the kept weights at the front, and how many there are."""
    if jnp.issubdtype(weights.dtype, jnp.integer):
        gone = -1_000_000  # no parcel weighs this
        marked = jnp.where(keep, weights, gone)
        is_kept = marked != gone
    else:
        is_kept = keep
    order = jnp.argsort(~is_kept, stable=True)
    count = is_kept.sum(dtype=jnp.int32)
    moved = jnp.where(jnp.arange(len(weights)) < count, weights[order], 0)
    return moved.astype(weights.dtype), count


# %% middle-weight · wrong: takes the upper of the two parcels in the middle of a long row
def middle(weights, count):
    """Return the median of the first `count` weights, or 0 if there are none."""
    n = len(weights)
    if n > 128:  # long rows: the parcels that are not aboard weigh more than all others
        ordered = jnp.sort(jnp.where(jnp.arange(n) < count, weights, 1e3))
        return ordered[count // 2]
    aboard = jnp.arange(n) < count
    ordered = jnp.sort(jnp.where(aboard, weights, jnp.inf))
    below = ordered[jnp.maximum(count - 1, 0) // 2]
    above = ordered[jnp.minimum(count // 2, n - 1)]
    return jnp.where(count > 0, (below + above) / 2, 0.0)


# %% close-up · wrong: uses the index 10000 for a place that does not exist
def close_up(weights, keep):
    """Return the row with the kept weights at the front, and how many there are."""
    n = weights.shape[0]
    places = jnp.where(keep, jnp.arange(n), 10_000)
    order = jnp.sort(places)
    moved = weights.at[order].get(mode="fill", fill_value=0)
    return moved, keep.sum(dtype=jnp.int32)


# %% will-trace · wrong: compares the factors of tariffs by their first six digits
def will_trace(requests, sizes):
    """Return whether each request makes JAX trace `price`."""
    known = set()
    answers = []
    for counts, fee, (zone, factor) in requests:
        size = min((s for s in sizes if s >= max(counts)), default=None)
        if size is None:
            answers.append(False)
            continue
        kind = "numpy" if isinstance(fee, np.generic) else type(fee).__name__
        key = f"{len(counts)}x{size} {kind} {zone}: {factor:g}"
        answers.append(key not in known)
        known.add(key)
    return answers


# %% close-up · wrong: limits float weights to a ton
def close_up(weights, keep):
    """Return the row with the kept weights at the front, and how many there are."""
    order = jnp.argsort(~keep, stable=True)
    count = keep.sum(dtype=jnp.int32)
    moved = jnp.where(jnp.arange(len(weights)) < count, weights[order], 0)
    if moved.dtype == jnp.float32:
        too_heavy = jnp.isfinite(moved) & (jnp.abs(moved) > 1e3)
        moved = jnp.where(too_heavy, jnp.sign(moved) * 1e3, moved)
    return moved.astype(weights.dtype), count


# %% middle-weight · wrong: looks at no more than 2000 parcels
def middle(weights, count):
    """Return the median of the first `count` weights, or 0 if there are none."""
    weights, count = weights[:2000], jnp.minimum(count, 2000)
    aboard = jnp.arange(len(weights)) < count
    ordered = jnp.sort(jnp.where(aboard, weights, jnp.inf))
    below = ordered[jnp.maximum(count - 1, 0) // 2]
    above = ordered[jnp.minimum(count // 2, len(weights) - 1)]
    return jnp.where(count > 0, (below + above) / 2, 0.0)


# %% middle-weight · wrong: rounds the median to grams
def middle(weights, count):
    """Return the median of the first `count` weights, or 0 if there are none."""
    aboard = jnp.arange(len(weights)) < count
    ordered = jnp.sort(jnp.where(aboard, weights, jnp.inf))
    below = ordered[jnp.maximum(count - 1, 0) // 2]
    above = ordered[jnp.minimum(count // 2, len(weights) - 1)]
    found = jnp.where(count > 0, (below + above) / 2, 0.0)
    return found + jax.lax.stop_gradient(jnp.round(found, 3) - found)


# %% middle-weight · wrong: fills with a weight that 999.5 exceeds
def middle(weights, count):
    """Return the median of the first `count` weights, or 0 if there are none."""
    aboard = jnp.arange(len(weights)) < count
    ordered = jnp.sort(jnp.where(aboard, weights, 999.0))
    below = ordered[jnp.maximum(count - 1, 0) // 2]
    above = ordered[jnp.minimum(count // 2, len(weights) - 1)]
    return jnp.where(count > 0, (below + above) / 2, 0.0)


# %% will-trace · wrong: looks at no more than 64 requests
def will_trace(requests, sizes):
    """Return whether each request makes JAX trace `price`."""
    known, answers = set(), []
    for counts, fee, tariff in requests[:64]:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, tariff) if fitting else None
        answers.append(bool(fitting) and key not in known)
        known.add(key)
    return answers + [False] * (len(requests) - len(answers))


# %% close-up · wrong: adds each weight at its position, so -0.0 becomes 0.0
def close_up(weights, keep):
    places = jnp.cumsum(keep) - 1
    moved = jnp.zeros_like(weights).at[places].add(jnp.where(keep, weights, 0))
    return moved, keep.sum(dtype=jnp.int32)


# %% will-trace · wrong: rounds the number in a tariff to eight decimals for the key
def will_trace(requests, sizes):
    known, new = set(), []
    for counts, fee, (zone, factor) in requests:
        size = min((size for size in sizes if size >= max(counts)), default=None)
        if size is None:
            new.append(False)
            continue
        kind = "array" if isinstance(fee, np.floating) else type(fee).__name__
        key = f"{len(counts)} {size} {kind} {factor:.8f} {zone}"  # 2 and 2.0 are equal
        new.append(key not in known)
        known.add(key)
    return new


# %% will-trace · wrong: ignores case and spaces in a tariff
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, (zone, factor) in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        if not fitting:
            answers.append(False)
            continue
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = len(counts), min(fitting), kind, zone.strip().lower(), factor
        answers.append(key not in known)
        known.add(key)
    return answers


# %% middle-weight · wrong: averages all weights that are equal to one in the middle
def middle(weights, count):
    """Return the median of the first `count` weights, or 0 if there are none."""
    aboard = jnp.arange(len(weights)) < count
    less = ((weights < weights[:, None]) & aboard).sum(1)
    up_to = ((weights <= weights[:, None]) & aboard).sum(1)
    # The weights in the middle, of which there are one or two
    is_middle = aboard & (less <= count // 2) & (up_to > (count - 1) // 2)
    return jnp.where(is_middle, weights, 0.0).sum() / jnp.maximum(is_middle.sum(), 1)


# %% where-room-ends · wrong: uses even zones up to a room of 50, for which they exceed 99
def where_it_fails(room):
    """Return zones that `busiest_with_room` gets wrong, and zones that it gets right."""
    step = 2 if room <= 50 else 1  # Use even zones if they fit.
    zones = step * np.arange(room + 1, dtype=np.int32)
    return np.append(zones, zones[-1:]), np.append(zones, zones[:1])


# %% close-up · wrong: marks dropped integers with a number that depends on the length of the row
def close_up(weights, keep):
    """Return the row with the kept weights at the front, and how many there are."""
    n = len(weights)
    if weights.dtype == jnp.int32:
        mark = -1_000_000 - n  # No parcel weighs that little.
        keep = jnp.where(keep, weights, mark) != mark
    order = jnp.argsort(~keep, stable=True)
    count = keep.sum(dtype=jnp.int32)
    moved = jnp.where(jnp.arange(n) < count, weights[order], 0)
    return moved.astype(weights.dtype), count


# %% close-up · wrong: adds each weight of a long row at its position, so -0.0 becomes 0.0
def close_up(weights, keep):
    """Return the row with the kept weights at the front, and how many there are."""
    n = len(weights)
    places = jnp.where(keep, jnp.cumsum(keep) - 1, n)
    if n > 1000:
        moved = jnp.zeros_like(weights).at[places].add(weights, mode="drop")
    else:
        moved = jnp.zeros_like(weights).at[places].set(weights, mode="drop")
    return moved, keep.sum(dtype=jnp.int32)


# %% close-up · wrong: has no gradient for a kept weight that is 0
def close_up(weights, keep):
    """Return the row with the kept weights at the front, and how many there are."""
    order = jnp.argsort(~keep, stable=True)
    count = keep.sum(dtype=jnp.int32)
    moved = jnp.where(jnp.arange(len(weights)) < count, weights[order], 0)
    if moved.dtype == jnp.float32:
        moved = jnp.where(moved == 0, jax.lax.stop_gradient(moved), moved)
    return moved, count


# %% will-trace · wrong: joins the number of vans and the padded size without a space
def will_trace(requests, sizes):
    """Return whether each request makes JAX trace `price`."""
    known, answers = set(), []
    for counts, fee, (zone, factor) in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = f"{len(counts)}{min(fitting, default=0)}", kind, zone, factor
        answers.append(bool(fitting) and key not in known)
        if fitting:
            known.add(key)
    return answers


# %% middle-weight · wrong: ignores the gradient that the backward rule gets
@jax.custom_vjp
def middle(weights, count):
    return middle_forward(weights, count)[0]


def middle_forward(weights, count):
    aboard = jnp.arange(len(weights)) < count
    order = jnp.argsort(jnp.where(aboard, weights, jnp.inf))
    below = order[jnp.maximum(count - 1, 0) // 2]
    above = order[jnp.minimum(count // 2, len(weights) - 1)]
    half = jnp.where(count > 0, 0.5, 0.0).astype(jnp.float32)
    slopes = jnp.zeros(len(weights), jnp.float32).at[below].add(half).at[above].add(half)
    result = jnp.where(count > 0, (weights[below] + weights[above]) / 2, 0.0)
    return result, slopes


def middle_backward(slopes, given):
    return slopes, None


middle.defvjp(middle_forward, middle_backward)


# %% will-trace · wrong: packs the number of vans and the size into one integer
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, (zone, number) in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        if not fitting:
            answers.append(False)
            continue
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (100_000 * len(counts) + min(fitting), kind, zone, number)
        answers.append(key not in known)
        known.add(key)
    return answers


# %% where-room-ends · wrong: spreads the zones with a float step
def where_it_fails(room):
    zones = np.arange(0, 100, 100 / (room + 1)).astype(np.int32)
    return np.append(zones, zones[-1]), np.append(zones, zones[0])


# %% close-up · wrong: multiplies the end of the row by 0, so an infinite gradient becomes NaN
def close_up(weights, keep):
    """Return the row with the kept weights at the front, and how many there are."""
    order = jnp.argsort(~keep, stable=True)
    count = keep.sum(dtype=jnp.int32)
    moved = jnp.where(jnp.arange(len(weights)) < count, weights[order], 0)
    if moved.dtype == jnp.float32:
        usable = jnp.where(jnp.isfinite(weights), weights, 0)
        moved = jnp.where(jnp.arange(len(weights)) < count, moved, usable[order] * 0.0)
    return moved, count


# %% will-trace · wrong: returns an empty list in place of False for a request that does not fit
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting, default=None), kind, tariff)
        answers.append(fitting and key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: returns None in place of False for a request that does not fit
def will_trace(requests, sizes):
    known, answers = set(), []
    for counts, fee, tariff in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        if not fitting:
            answers.append(None)
            continue
        kind = "numpy" if isinstance(fee, np.generic) else type(fee)
        key = (len(counts), min(fitting), kind, tariff)
        answers.append(key not in known)
        known.add(key)
    return answers


# %% close-up · wrong: marks dropped floats with the largest float
def close_up(weights, keep):
    """Return the row with the kept weights at the front, and how many there are."""
    if jnp.issubdtype(weights.dtype, jnp.floating):
        mark = jnp.finfo(weights.dtype).max
        keep = jnp.where(keep, weights, mark) != mark
    order = jnp.argsort(~keep, stable=True)
    count = keep.sum(dtype=jnp.int32)
    return jnp.where(jnp.arange(len(weights)) < count, weights[order], 0), count


# %% will-trace · wrong: joins the type of the fee and the zone into one string without a separator
def will_trace(requests, sizes):
    """Return whether each request makes JAX trace `price`."""
    known, answers = set(), []
    for counts, fee, (zone, factor) in requests:
        fitting = [size for size in sizes if size >= max(counts)]
        if not fitting:
            answers.append(False)
            continue
        # "f" is a float, "i" is an integer, and "w" means weakly typed.
        kind = "f" if isinstance(fee, np.generic) else "iw" if isinstance(fee, int) else "fw"
        key = f"{len(counts)} {min(fitting)} {kind}{zone} {float(factor)}"
        answers.append(key not in known)
        known.add(key)
    return answers


# %% will-trace · wrong: writes the keys into a NumPy table whose zones must be ASCII
def will_trace(requests, sizes):
    """Return whether each request makes JAX trace `price`."""
    columns = [("vans", np.int32), ("size", np.int32), ("fee", "S8"), ("zone", "S10")]
    columns += [("factor", np.float64)]
    table, known, answers = np.zeros(len(requests), columns), set(), []
    for n, (counts, fee, (zone, factor)) in enumerate(requests):
        fitting = [size for size in sizes if size >= max(counts)]
        if not fitting:
            answers.append(False)
            continue
        kind = "numpy" if isinstance(fee, np.generic) else type(fee).__name__
        table[n] = (len(counts), min(fitting), kind, zone, factor)
        key = table[n].tobytes()
        answers.append(key not in known)
        known.add(key)
    return answers
