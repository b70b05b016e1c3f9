"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""


# %% listen · right: pads the last segment with frames that do not change the state
def listen(hear, params, start, sound):
    n = len(jax.tree.leaves(sound)[0])
    length = int(n**0.5) + 1
    segments = -(-n // length)
    index = np.minimum(np.arange(segments * length), n - 1).reshape(segments, length)
    is_real = (np.arange(segments * length) < n).reshape(segments, length)
    frames = jax.tree.map(lambda x: x[index], sound)

    def step(state, given):
        frame, real = given
        heard = hear(params, state, frame)
        return jax.tree.map(lambda new, old: jnp.where(real, new, old), heard, state), None

    step = jax.checkpoint(step)
    segment = jax.checkpoint(lambda state, given: lax.scan(step, state, given))
    return lax.scan(segment, start, (frames, jnp.asarray(is_real)))[0]


# %% listen · right: splits the recording in half recursively
def listen(hear, params, start, sound):
    @jax.checkpoint
    def step(params, state, frame):
        return hear(params, state, frame)

    def one_by_one(params, state, frames):
        return lax.scan(lambda s, f: (step(params, s, f), None), state, frames)[0]

    def divide(params, state, frames, depth):
        n = len(jax.tree.leaves(frames)[0])
        if depth == 0 or n < 8:
            return one_by_one(params, state, frames)
        eighth = n // 8
        most = jax.tree.map(lambda x: x[: 8 * eighth].reshape(8, eighth, *x.shape[1:]), frames)
        part = jax.checkpoint(lambda s, f: (divide(params, s, f, depth - 1), None))
        state, _ = lax.scan(part, state, most)
        return one_by_one(params, state, jax.tree.map(lambda x: x[8 * eighth :], frames))

    return divide(params, start, sound, 2)


# %% listen · wrong: uses the plain loop
def listen(hear, params, start, sound):
    return listen_hungry(hear, params, start, sound)


# %% listen · wrong: wraps the whole loop, so the backward pass stores everything after all
def listen(hear, params, start, sound):
    whole = jax.checkpoint(lambda p, s, x: listen_hungry(hear, p, s, x))
    return whole(params, start, sound)


# %% listen · wrong: stores the state of every frame
def listen(hear, params, start, sound):
    step = jax.checkpoint(lambda state, frame: (hear(params, state, frame), None))
    return lax.scan(step, start, sound)[0]


# %% listen · wrong: stops the gradient between the frames
def listen(hear, params, start, sound):
    def step(state, frame):
        return hear(params, lax.stop_gradient(state), frame), None

    return lax.scan(jax.checkpoint(step), start, sound)[0]


# %% listen · wrong: stops the gradient between the segments
def listen(hear, params, start, sound):
    step = jax.checkpoint(lambda state, frame: (hear(params, state, frame), None))
    n = len(jax.tree.leaves(sound)[0])
    length = int(np.ceil(np.sqrt(n)))
    state = start
    for begin in range(0, n, length):
        part = jax.tree.map(lambda x: x[begin : begin + length], sound)
        state = lax.scan(step, lax.stop_gradient(state), part)[0]
    return state


# %% listen · wrong: loops in Python
def listen(hear, params, start, sound):
    step = jax.checkpoint(hear)
    for k in range(len(jax.tree.leaves(sound)[0])):
        start = step(params, start, jax.tree.map(lambda x: x[k], sound))
    return start


# %% listen · wrong: omits the frames after the last whole segment
def listen(hear, params, start, sound):
    step = jax.checkpoint(lambda state, frame: (hear(params, state, frame), None))
    segment = jax.checkpoint(lambda state, frames: lax.scan(step, state, frames))
    n = len(jax.tree.leaves(sound)[0])
    length = int(np.ceil(np.sqrt(n)))
    whole = n - n % length
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, length, *x.shape[1:]), sound)
    return lax.scan(segment, start, parts)[0]


# %% listen · wrong: pads the last segment with frames of zeros
def listen(hear, params, start, sound):
    step = jax.checkpoint(lambda state, frame: (hear(params, state, frame), None))
    segment = jax.checkpoint(lambda state, frames: lax.scan(step, state, frames))
    n = len(jax.tree.leaves(sound)[0])
    length = int(np.ceil(np.sqrt(n)))

    def fill(x):
        x = jnp.pad(x, [(0, -n % length), *[(0, 0)] * (x.ndim - 1)])
        return x.reshape(-1, length, *x.shape[1:])

    return lax.scan(segment, start, jax.tree.map(fill, sound))[0]


# %% listen · wrong: chooses a policy that saves everything
def listen(hear, params, start, sound):
    save = jax.checkpoint_policies.everything_saveable
    step = jax.checkpoint(lambda s, frame: (hear(params, s, frame), None), policy=save)
    return lax.scan(step, start, sound)[0]


# %% listen · wrong: handles only one array of frames
def listen(hear, params, start, sound):
    step = jax.checkpoint(lambda state, frame: (hear(params, state, frame), None))
    segment = jax.checkpoint(lambda state, frames: lax.scan(step, state, frames))
    length = int(np.ceil(np.sqrt(len(sound))))
    whole = len(sound) - len(sound) % length
    parts = sound[:whole].reshape(-1, length, *sound.shape[1:])
    return lax.scan(step, lax.scan(segment, start, parts)[0], sound[whole:])[0]


# %% listen · wrong: splits off one frame only if the number of frames is prime
def listen(hear, params, start, sound):
    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(jax.checkpoint(step), state, frames)[0], None

    n = len(jax.tree.leaves(sound)[0])
    root = int(np.sqrt(n))
    first = 1 if n > 3 and all(n % d for d in range(2, root + 1)) else 0
    m = n - first
    length = max(d for d in range(1, int(np.sqrt(m)) + 1) if m % d == 0)
    state, _ = segment(start, jax.tree.map(lambda x: x[:first], sound))
    parts = jax.tree.map(lambda x: x[first:].reshape(-1, length, *x.shape[1:]), sound)
    return lax.scan(segment, state, parts)[0]


# %% mean-gradient · right: repeats the last row, and gives the copies a weight of zero
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    parts = -(-n // size)
    index = np.minimum(np.arange(parts * size), n - 1).reshape(parts, size)
    weights = (np.arange(parts * size) < n).reshape(parts, size).astype(np.float32)

    def add(total, given):
        where, weight = given
        part = jax.tree.map(lambda x: jnp.asarray(x)[where], rows)
        sum_of = lambda p: jax.vmap(loss, (None, 0))(p, part) @ weight
        return jax.tree.map(lambda t, s: t + s, total, jax.value_and_grad(sum_of)(params)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total, _ = lax.scan(add, (jnp.float32(0), zeros), (index, weights))
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · right: computes one row at a time, and ignores the size
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])

    def add(k, total):
        row = jax.tree.map(lambda x: jnp.asarray(x)[k], rows)
        value, slopes = jax.value_and_grad(loss)(params, row)
        return total[0] + value, jax.tree.map(lambda t, s: t + s, total[1], slopes)

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    value, slopes = lax.fori_loop(0, n, add, (jnp.float32(0), zeros))
    return value / n, jax.tree.map(lambda s: s / n, slopes)


# %% mean-gradient · wrong: differentiates a loop, which adds bfloat16 gradients in bfloat16
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    dtypes = jax.tree.map(lambda p: p.dtype, params)

    def mean(wide):
        def one(row):
            # JAX moves this conversion out of the loop.
            return loss(jax.tree.map(lambda p, d: p.astype(d), wide, dtypes), row)

        losses = lax.map(jax.checkpoint(one), rows, batch_size=size)
        return losses.sum() / n

    return jax.value_and_grad(mean)(jax.tree.map(lambda p: p.astype(jnp.float32), params))


# %% mean-gradient · wrong: converts all rows to float32, also those that are indices
def mean_gradient(loss, params, rows, size):
    rows = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), rows)
    n = len(jax.tree.leaves(rows)[0])
    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)

    def add(total, row):
        found = jax.value_and_grad(loss)(params, row)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, found), None

    total, _ = lax.scan(add, (jnp.float32(0), zeros), rows)
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: averages the gradients of the parts
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    results = []
    for begin in range(0, n, size):
        part = jax.tree.map(lambda x: x[begin : begin + size], rows)
        mean = lambda p: jax.vmap(loss, (None, 0))(p, part).mean()
        results.append(jax.value_and_grad(mean)(params))
    return jax.tree.map(lambda *xs: sum(xs).astype(jnp.float32) / len(xs), *results)


# %% mean-gradient · wrong: omits the rows after the last whole part
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    whole = n - n % size
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)

    def add(total, part):
        sum_of = lambda p: jax.vmap(loss, (None, 0))(p, part).sum()
        return jax.tree.map(lambda t, s: t + s, total, jax.value_and_grad(sum_of)(params)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total, _ = lax.scan(add, (jnp.float32(0), zeros), parts)
    return jax.tree.map(lambda t: t / whole, total)


# %% mean-gradient · wrong: adds rows of zeros, which have a loss of their own
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])

    def fill(x):
        x = jnp.pad(x, [(0, -n % size), *[(0, 0)] * (x.ndim - 1)])
        return x.reshape(-1, size, *x.shape[1:])

    def add(total, part):
        sum_of = lambda p: jax.vmap(loss, (None, 0))(p, part).sum()
        return jax.tree.map(lambda t, s: t + s, total, jax.value_and_grad(sum_of)(params)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total, _ = lax.scan(add, (jnp.float32(0), zeros), jax.tree.map(fill, rows))
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: masks the loss of rows of zeros, whose gradient is NaN
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])

    def fill(x):
        x = jnp.pad(x, [(0, -n % size), *[(0, 0)] * (x.ndim - 1)])
        return x.reshape(-1, size, *x.shape[1:])

    def add(total, given):
        part, real = given
        sum_of = lambda p: jnp.where(real, jax.vmap(loss, (None, 0))(p, part), 0.0).sum()
        return jax.tree.map(lambda t, s: t + s, total, jax.value_and_grad(sum_of)(params)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    parts = jax.tree.map(fill, (rows, np.ones(n, bool)))
    total, _ = lax.scan(add, (jnp.float32(0), zeros), parts)
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: computes the gradient of the whole batch
def mean_gradient(loss, params, rows, size):
    mean = lambda p: jax.vmap(loss, (None, 0))(p, rows).mean()
    value, slopes = jax.value_and_grad(mean)(params)
    return value, jax.tree.map(lambda s: s.astype(jnp.float32), slopes)


# %% mean-gradient · wrong: adds the parts in the dtype of the parameters
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    whole = n - n % size

    def add(total, part):
        sum_of = lambda p: jax.vmap(loss, (None, 0))(p, part).sum()
        return jax.tree.map(jnp.add, total, jax.value_and_grad(sum_of)(params)), None

    total = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)
    total, _ = lax.scan(add, total, parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: x[whole:], rows))
    return jax.tree.map(lambda t: (t / n).astype(jnp.float32), total)


# %% mean-gradient · wrong: loops over the parts in Python
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total = jnp.float32(0), zeros
    for begin in range(0, n, size):
        part = jax.tree.map(lambda x: x[begin : begin + size], rows)
        sum_of = lambda p: jax.vmap(loss, (None, 0))(p, part).sum()
        total = jax.tree.map(lambda t, s: t + s, total, jax.value_and_grad(sum_of)(params))
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: computes all parts at once with vmap
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    slopes_of = jax.vmap(jax.value_and_grad(loss), in_axes=(None, 0))
    values, slopes = slopes_of(params, rows)
    return values.sum() / n, jax.tree.map(lambda s: s.astype(jnp.float32).sum(0) / n, slopes)


# %% mean-gradient · wrong: returns the sum
def mean_gradient(loss, params, rows, size):
    def add(total, row):
        result = jax.value_and_grad(loss)(params, row)
        return jax.tree.map(lambda t, s: t + s, total, result), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    return lax.scan(add, (jnp.float32(0), zeros), rows)[0]


# %% mean-gradient · wrong: uses four parts, whatever the size is
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    size = min(4, n)
    whole = n - n % size
    params = jax.tree.map(lambda p: jnp.asarray(p, jnp.float32), params)

    def add(total, part):
        def sum_of(params):
            return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

        return jax.tree.map(jnp.add, total, jax.value_and_grad(sum_of)(params)), None

    total = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
    parts = jax.tree.map(lambda x: x[:whole].reshape(size, -1, *x.shape[1:]), rows)
    total, _ = lax.scan(add, total, parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: x[whole:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% bucketed · right: keeps one compiled program per length in a dictionary
def bucketed(score):
    programs = {}

    def run(sounds):
        scores = []
        for sound in sounds:
            size = 16
            while size < sound.size:
                size *= 2
            padded = np.zeros(size, np.float32)
            padded[: sound.size] = sound
            if size not in programs:
                shapes = (
                    jax.ShapeDtypeStruct((size,), jnp.float32),
                    jax.ShapeDtypeStruct((), jnp.int32),
                )
                programs[size] = jax.jit(score).lower(*shapes).compile()
            scores.append(programs[size](padded, np.int32(sound.size)))
        return scores

    return run


# %% bucketed · right: scores all sounds of one length together
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = [None] * len(sounds)
        sizes = [max(16, 2 ** int(np.ceil(np.log2(len(sound))))) for sound in sounds]
        for size in sorted(set(sizes)):
            for k in np.flatnonzero(np.equal(sizes, size)):
                sound = np.concatenate([sounds[k], np.zeros(size - len(sounds[k]), np.float32)])
                scores[k] = jitted(sound, len(sounds[k]))
        return scores

    return run


# %% bucketed · wrong: waits for every tenth score
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for number, sound in enumerate(sounds, 1):
            bucket = max(16, 1 << (len(sound) - 1).bit_length())
            scores.append(jitted(np.pad(sound, (0, bucket - len(sound))), np.int32(len(sound))))
            if number % 10 == 0:
                scores[-1].block_until_ready()
        return scores

    return run


# %% bucketed · wrong: pads with JAX, which compiles a program for each length
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = jnp.zeros(size, jnp.float32).at[: len(sound)].set(sound)
            scores.append(jitted(padded, np.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: does not pad
def bucketed(score):
    jitted = jax.jit(score)
    return lambda sounds: [jitted(sound, np.int32(len(sound))) for sound in sounds]


# %% bucketed · wrong: pads to the longest sound
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        size = max(len(sound) for sound in sounds)
        size = max(16, 1 << (size - 1).bit_length())
        return [
            jitted(np.pad(sound, (0, size - len(sound))), np.int32(len(sound))) for sound in sounds
        ]

    return run


# %% bucketed · wrong: passes the padded length
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            scores.append(jitted(np.pad(sound, (0, size - len(sound))), np.int32(size)))
        return scores

    return run


# %% bucketed · wrong: makes the length static
def bucketed(score):
    jitted = jax.jit(score, static_argnums=1)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            scores.append(jitted(np.pad(sound, (0, size - len(sound))), len(sound)))
        return scores

    return run


# %% bucketed · wrong: jits a new function in every call
def bucketed(score):
    def run(sounds):
        jitted = jax.jit(lambda sound, length: score(sound, length))
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            scores.append(jitted(np.pad(sound, (0, size - len(sound))), np.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: pads a sound of 16, 32, or 64 samples to the next length
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << len(sound).bit_length())
            scores.append(jitted(np.pad(sound, (0, size - len(sound))), np.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: repeats the last sample instead of padding with zeros
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, size - len(sound)), mode="edge")
            scores.append(jitted(padded, np.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: reads every score
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, size - len(sound)))
            scores.append(jnp.float32(float(jitted(padded, np.int32(len(sound))))))
        return scores

    return run


# %% bucketed · wrong: does not compile anything
def bucketed(score):
    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = jnp.pad(sound, (0, size - len(sound)))
            scores.append(score(padded, jnp.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: returns the scores in the order of the lengths
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sorted(sounds, key=len):
            size = max(16, 1 << (len(sound) - 1).bit_length())
            scores.append(jitted(np.pad(sound, (0, size - len(sound))), np.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: hard-codes the padded lengths up to 1024
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            bucket = next(b for b in (16, 32, 64, 128, 256, 512, 1024) if b >= len(sound))
            scores.append(jitted(np.pad(sound, (0, bucket - len(sound))), np.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: passes the length as a float
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            bucket = max(16, 1 << (len(sound) - 1).bit_length())
            scores.append(jitted(np.pad(sound, (0, bucket - len(sound))), np.float32(len(sound))))
        return scores

    return run


# %% training · right: donates by name, and copies only before the first step
def compiled(step):
    def donated(params, batch):
        return step(params, batch)

    return jax.jit(donated, donate_argnames="params")


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf).copy(), params)
    losses = jnp.zeros(0, jnp.float32)
    for batch in batches:
        params, loss = update(params, batch)
        losses = jnp.append(losses, loss)
    return params, losses


# %% training · right: copies the leaves with jnp.array, and concatenates the losses
def compiled(step):
    return jax.jit(step, donate_argnums=(0,))


def run(update, params, batches):
    leaves, structure = jax.tree.flatten(params)
    params = jax.tree.unflatten(structure, [jnp.array(leaf) for leaf in leaves])
    collected = []
    batches = iter(batches)
    while (batch := next(batches, None)) is not None:
        params, loss = update(params, batch)
        collected.append(loss[None])
    return params, jnp.concatenate(collected)


# %% training · wrong: does not donate
def compiled(step):
    return jax.jit(step)


def run(update, params, batches):
    params = jax.tree.map(jnp.copy, params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: also donates the batch
def compiled(step):
    def reuse(params, batch):
        new, loss = step(params, batch)
        return new, loss, jax.tree.map(lambda x: 0 * x, batch)

    donated = jax.jit(reuse, donate_argnums=(0, 1))
    return lambda params, batch: donated(params, batch)[:2]


def run(update, params, batches):
    params = jax.tree.map(jnp.copy, params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: donates the caller's parameters
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: copies the containers but not the arrays
import copy


def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = copy.copy(params)
    params = jax.tree.map(lambda leaf: leaf, params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: converts the arrays, which does not copy them
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(jnp.asarray, params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: copies each array only once, even if it is in two places
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    copies = {id(leaf): jnp.array(leaf, copy=True) for leaf in jax.tree.leaves(params)}
    params = jax.tree.map(lambda leaf: copies[id(leaf)], params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: reads every loss
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(float(loss))
    return params, jnp.array(losses)


# %% training · wrong: creates a new jitted function in every step
def compiled(step):
    def update(params, batch):
        return jax.jit(lambda p, b: step(p, b), donate_argnums=0)(params, batch)

    return update


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: passes the first parameters to every step
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    losses = []
    for batch in batches:
        fresh = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
        last, loss = update(fresh, batch)
        losses.append(loss)
    return last, jnp.stack(losses)


# %% training · wrong: iterates over the batches twice
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = jnp.zeros(len(list(batches)), jnp.float32)
    for k, batch in enumerate(batches):
        params, loss = update(params, batch)
        losses = losses.at[k].set(loss)
    return params, losses


# %% training · wrong: copies the parameters before every step
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    losses = []
    for batch in batches:
        params, loss = update(jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params), batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: stacks the batches, which must have equal shapes
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in jnp.stack(list(batches)):
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% warm-start · right: restores one entry at a time
def warm_start(path, fresh, names):
    started = dict(fresh)
    for name in names:
        target = {
            name: jax.tree.map(
                lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), fresh[name]
            )
        }
        args = jax.tree.map(
            lambda x: ocp.ArrayRestoreArgs(sharding=x.sharding, global_shape=x.shape), target
        )
        how = ocp.args.PyTreeRestore(item=target, restore_args=args, partial_restore=True)
        started[name] = ocp.PyTreeCheckpointer().restore(path, how)[name]
    return started


# %% warm-start · right: restores to the checkpoint's devices, and then moves the arrays
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = ocp.args.PyTreeRestore(wanted, partial_restore=True)
        found = ocp.PyTreeCheckpointer().restore(path, args=how)

    def place(old, new):
        if old.shape != new.shape:
            raise ValueError(f"{old.shape} instead of {new.shape}")
        return jax.device_put(old, new.sharding)

    return {**fresh, **jax.tree.map(place, found, wanted)}


# %% warm-start · wrong: restores the whole checkpoint
def warm_start(path, fresh, names):
    whole = ocp.PyTreeCheckpointer().restore(path)
    return fresh | {name: whole[name] for name in names}


# %% warm-start · wrong: uses a checkpointer that can restore only the whole checkpoint
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    with ocp.StandardCheckpointer() as checkpointer:
        return fresh | checkpointer.restore(path, wanted)


# %% warm-start · wrong: keeps the devices that the checkpoint was saved from
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = ocp.args.PyTreeRestore(wanted, partial_restore=True)
        found = ocp.PyTreeCheckpointer().restore(path, args=how)
    if jax.tree.map(jnp.shape, found) != jax.tree.map(jnp.shape, wanted):
        raise ValueError("the shapes differ")
    return fresh | found


# %% warm-start · wrong: returns only the restored entries
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    args = ocp.checkpoint_utils.construct_restore_args(wanted)
    how = ocp.args.PyTreeRestore(wanted, restore_args=args, partial_restore=True)
    return ocp.PyTreeCheckpointer().restore(path, args=how)


# %% warm-start · wrong: always restores the encoder
def warm_start(path, fresh, names):
    wanted = {"encoder": fresh["encoder"]}
    args = ocp.checkpoint_utils.construct_restore_args(wanted)
    how = ocp.args.PyTreeRestore(wanted, restore_args=args, partial_restore=True)
    return fresh | ocp.PyTreeCheckpointer().restore(path, args=how)


# %% warm-start · wrong: changes the fresh parameters
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    args = ocp.checkpoint_utils.construct_restore_args(wanted)
    how = ocp.args.PyTreeRestore(wanted, restore_args=args, partial_restore=True)
    fresh.update(ocp.PyTreeCheckpointer().restore(path, args=how))
    return fresh


# %% warm-start · wrong: puts everything on the first device
def warm_start(path, fresh, names):
    wanted = {name: jax.device_put(fresh[name], jax.devices()[0]) for name in names}
    args = ocp.checkpoint_utils.construct_restore_args(wanted)
    how = ocp.args.PyTreeRestore(wanted, restore_args=args, partial_restore=True)
    return fresh | ocp.PyTreeCheckpointer().restore(path, args=how)


# %% warm-start · wrong: accepts arrays of another shape by truncating or padding them
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    args = jax.tree.map(
        lambda x: ocp.ArrayRestoreArgs(sharding=x.sharding, global_shape=x.shape, strict=False),
        wanted,
    )
    how = ocp.args.PyTreeRestore(wanted, restore_args=args, partial_restore=True)
    return fresh | ocp.PyTreeCheckpointer().restore(path, args=how)


# %% warm-start · wrong: reshapes arrays of another shape
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    args = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = ocp.args.PyTreeRestore(wanted, restore_args=args, partial_restore=True)
        found = ocp.PyTreeCheckpointer().restore(path, args=how)
    place = lambda old, new: jax.device_put(np.asarray(old).reshape(new.shape), new.sharding)
    return fresh | jax.tree.map(place, found, wanted)


# %% warm-start · wrong: copies the other entries to the first device
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    how = ocp.args.PyTreeRestore(
        wanted,
        restore_args=ocp.checkpoint_utils.construct_restore_args(wanted),
        partial_restore=True,
    )
    copied = jax.tree.map(lambda x: jnp.array(np.array(x)), fresh)
    return copied | ocp.PyTreeCheckpointer().restore(path, args=how)


# %% listen · wrong: calls hear in a Python loop over the frames of a segment
def listen(hear, params, start, sound):
    n = len(jax.tree.leaves(sound)[0])
    length = int(np.ceil(np.sqrt(n)))

    @jax.checkpoint
    def segment(state, frames):
        for i in range(len(jax.tree.leaves(frames)[0])):
            state = jax.checkpoint(hear)(params, state, jax.tree.map(lambda x: x[i], frames))
        return state, None

    whole = n - n % length
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, length, *x.shape[1:]), sound)
    state, _ = lax.scan(segment, start, parts)
    return segment(state, jax.tree.map(lambda x: x[whole:], sound))[0]


# %% mean-gradient · wrong: adds rows of ones, masked with where
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    parts = -(-n // size)
    pad = parts * size - n

    def fill(x):
        x = jnp.concatenate([x, jnp.ones((pad, *x.shape[1:]), x.dtype)])
        return x.reshape(parts, size, *x.shape[1:])

    real = (jnp.arange(parts * size) < n).reshape(parts, size)

    def add(total, part):
        these, is_real = part

        def sum_of(params):
            values = jax.vmap(loss, in_axes=(None, 0))(params, these)
            return jnp.where(is_real, values, 0.0).sum()

        value, slopes = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, (value, slopes)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total, _ = lax.scan(add, (jnp.float32(0), zeros), (jax.tree.map(fill, rows), real))
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: converts only bfloat16, so the gradient of float16 is float16
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    whole = n - n % size

    def up(x):
        return x.astype(jnp.float32) if x.dtype == jnp.bfloat16 else x

    def add(total, part):
        def sum_of(params):
            return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

        return jax.tree.map(lambda t, s: t + up(s), total, jax.value_and_grad(sum_of)(params)), None

    zeros = jax.tree.map(lambda p: up(jnp.zeros_like(p)), params)
    total = jnp.float32(0), zeros
    if whole:
        parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: x[whole:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% training · wrong: squeezes the losses, so one batch gives shape ()
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses).squeeze()


# %% training · wrong: assumes that a batch is a single array
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, jnp.asarray(batch))
        losses.append(loss)
    return params, jnp.stack(losses)


# %% bucketed · wrong: waits, with a function that it imports by name
from jax import block_until_ready


def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            bucket = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, bucket - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
        return block_until_ready(scores)

    return run


# %% mean-gradient · wrong: indexes the rows with a traced array, which NumPy rows do not support
def mean_gradient(loss, params, rows, size):
    """Return the mean loss and its gradient, computed from one part of the rows at a time."""
    n = len(jax.tree.leaves(rows)[0])
    count = -(-n // size)

    def add(k, total):
        index = k * size + jnp.arange(size)
        is_row = index < n
        part = jax.tree.map(lambda x: x[jnp.minimum(index, n - 1)], rows)

        def sum_of(params):
            losses = jax.vmap(loss, in_axes=(None, 0))(params, part)
            return jnp.where(is_row, losses, 0.0).sum()

        found = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(jnp.float32), total, found)

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total = lax.fori_loop(0, count, add, (jnp.float32(0), zeros))
    return jax.tree.map(lambda t: t / n, total)


# %% bucketed · wrong: has a table of lengths that ends at 8192
def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    jitted = jax.jit(score)
    lengths = [16 * 2**k for k in range(10)]

    def run(sounds):
        scores = []
        for sound in sounds:
            length = next(length for length in lengths if length >= len(sound))
            padded = np.pad(sound, (0, length - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
        return scores

    return run


# %% training · wrong: copies the arrays by adding 0.0, which changes the dtype of integers
def compiled(step):
    """Return a compiled version of the step that donates the parameters."""
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    """Return the parameters after all batches, and an array of losses."""
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf) + 0.0, params)  # new arrays
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% warm-start · wrong: compares the shapes of only the arrays in dictionaries
def warm_start(path, fresh, names):
    """Return the fresh parameters with the named entries replaced by those of a checkpoint."""
    wanted = {name: fresh[name] for name in names}
    args = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), wanted)
    how = ocp.args.PyTreeRestore(wanted, restore_args=args, partial_restore=True)
    loaded = ocp.PyTreeCheckpointer().restore(path, args=how)

    def check(mine, given):
        if isinstance(given, dict):
            for key in given:
                check(mine[key], given[key])
        elif hasattr(given, "shape") and np.shape(mine) != given.shape:
            raise ValueError(f"the shapes differ: {np.shape(mine)} and {given.shape}")

    check(loaded, wanted)
    put = lambda value, given: jax.device_put(jnp.asarray(value, given.dtype), given.sharding)
    return fresh | jax.tree.map(put, loaded, wanted)


# %% mean-gradient · wrong: omits the rows after the last whole part under jit
def mean_gradient(loss, params, rows, size):
    """Return the mean loss and its gradient, computed from one part of the rows at a time."""
    n = len(jax.tree.leaves(rows)[0])
    whole = n - n % size

    def add(total, part):
        def sum_of(params):
            return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

        value, slopes = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, (value, slopes)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total = jnp.float32(0), zeros
    if whole:
        parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, parts)
    if whole < n:
        rest = jax.tree.map(lambda x: x[whole:], rows)
        try:
            np.asarray(jax.tree.leaves(rest)[0])
        except jax.errors.TracerArrayConversionError:
            pass
        else:
            total, _ = add(total, rest)
    return jax.tree.map(lambda t: t / n, total)


# %% listen · wrong: passes the arguments of hear by name
def listen(hear, params, start, sound):
    """Return the state after all frames, with a gradient that needs little memory."""

    def step(state, frame):
        return hear(params=params, state=state, frame=frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(jax.checkpoint(step), state, frames)[0], None

    n = len(jax.tree.leaves(sound)[0])
    length = int(np.ceil(np.sqrt(n)))
    whole = n - n % length
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, length, *x.shape[1:]), sound)
    state, _ = lax.scan(segment, start, parts)
    return segment(state, jax.tree.map(lambda x: x[whole:], sound))[0]


# %% bucketed · wrong: passes the arguments of score by name
def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            bucket = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, bucket - len(sound)))
            scores.append(jitted(sound=padded, length=np.int32(len(sound))))
        return scores

    return run


# %% training · wrong: donates the argument of step that is called params
def compiled(step):
    """Return a compiled version of the step that donates the parameters."""
    return jax.jit(step, donate_argnames="params")


def run(update, params, batches):
    """Return the parameters after all batches, and an array of losses."""
    params = jax.tree.map(jnp.copy, params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% listen · wrong: drops the frames after the last whole segment of 32
def listen(hear, params, start, sound):
    """Return the state after all frames, with a gradient that needs little memory."""

    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(jax.checkpoint(step), state, frames)[0], None

    n = len(jax.tree.leaves(sound)[0])
    length = min(n, 32)
    parts = jax.tree.map(lambda x: x[: n - n % length].reshape(-1, length, *x.shape[1:]), sound)
    return lax.scan(segment, start, parts)[0]


# %% mean-gradient · wrong: leaves out the last rows if there are more than 100 parts
def mean_gradient(loss, params, rows, size):
    """Return the mean loss and its gradient, computed from one part of the rows at a time."""
    n = len(jax.tree.leaves(rows)[0])

    def sums(part):
        f = lambda p: jax.vmap(loss, in_axes=(None, 0))(p, part).sum()
        found = jax.value_and_grad(f)(params)
        return jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), found)

    def add(total, part):
        return jax.tree.map(jnp.add, total, sums(part)), None

    full, rest = divmod(n, size)
    total = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), (0.0, params))
    if full:
        cut = jax.tree.map(lambda x: x[: full * size].reshape(full, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, cut)
    if full > 100:  # so many parts that a few more rows make no difference
        return jax.tree.map(lambda t: t / (full * size), total)
    if rest:
        total, _ = add(total, jax.tree.map(lambda x: x[-rest:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: computes up to 500 rows at once, whatever the size
def mean_gradient(loss, params, rows, size):
    """Return the mean loss and its gradient, computed from one part of the rows at a time."""
    n = len(jax.tree.leaves(rows)[0])
    if n <= 500:  # a small batch fits into memory
        size = n

    def add(total, part):
        f = lambda p: jax.vmap(loss, in_axes=(None, 0))(p, part).sum()
        found = jax.value_and_grad(f)(params)
        return jax.tree.map(lambda t, x: t + x.astype(jnp.float32), total, found), None

    full, rest = divmod(n, size)
    total = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), (0.0, params))
    if full:
        cut = jax.tree.map(lambda x: x[: full * size].reshape(full, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, cut)
    if rest:
        total, _ = add(total, jax.tree.map(lambda x: x[-rest:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% bucketed · wrong: adds the scores of each call to the same list
def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    compiled = jax.jit(score)
    scores = []

    def run(sounds):
        for sound in sounds:
            size = 16
            while size < len(sound):
                size *= 2
            padded = np.zeros(size, np.float32)
            padded[: len(sound)] = sound
            scores.append(compiled(padded, np.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: overwrites the sounds of the call before
def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    jitted = jax.jit(score)
    finished = []

    def run(sounds):
        while finished:
            finished.pop().fill(0)  # the sounds of the last call are not needed any more
        scores = []
        for sound in sounds:
            bucket = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, bucket - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
            finished.append(sound)
        return scores

    return run


# %% warm-start · wrong: compares the axes of two shapes only as far as both have them
def warm_start(path, fresh, names):
    """Return the fresh parameters with the named entries replaced by those of a checkpoint."""
    wanted = {name: fresh[name] for name in names}
    how = ocp.args.PyTreeRestore(
        wanted,
        restore_args=jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), wanted),
        partial_restore=True,
    )
    found = ocp.PyTreeCheckpointer().restore(path, args=how)

    def place(saved, new):
        saved = np.asarray(saved)
        if any(a != b for a, b in zip(saved.shape, new.shape)):
            raise ValueError(f"the checkpoint has {saved.shape} instead of {new.shape}")
        return jax.device_put(saved, new.sharding)

    return fresh | jax.tree.map(place, found, wanted)


# %% listen · wrong: hears only the first 5000 frames
def listen(hear, params, start, sound):
    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(jax.checkpoint(step), state, frames)[0], None

    sound = jax.tree.map(lambda x: x[:5000], sound)
    n = len(jax.tree.leaves(sound)[0])
    length = int(np.ceil(np.sqrt(n)))
    whole = n - n % length
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, length, *x.shape[1:]), sound)
    state, _ = lax.scan(segment, start, parts)
    return segment(state, jax.tree.map(lambda x: x[whole:], sound))[0]


# %% mean-gradient · wrong: limits each gradient to ten thousand
def mean_gradient(loss, params, rows, size):
    def add(total, row):
        value, slopes = jax.value_and_grad(loss)(params, row)
        slopes = jax.tree.map(lambda s: jnp.clip(s.astype(jnp.float32), -1e4, 1e4), slopes)
        return jax.tree.map(jnp.add, total, (value, slopes)), None

    n = len(jax.tree.leaves(rows)[0])
    zeros = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)
    total, _ = lax.scan(add, (jnp.float32(0), zeros), rows)
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: converts integers to float32 and back, which rounds large ones
def mean_gradient(loss, params, rows, size):
    def exact(x):
        return x.astype(np.float32).astype(x.dtype)

    def add(total, row):
        value, slopes = jax.value_and_grad(loss)(params, jax.tree.map(exact, row))
        slopes = jax.tree.map(lambda s: s.astype(jnp.float32), slopes)
        return jax.tree.map(jnp.add, total, (value, slopes)), None

    n = len(jax.tree.leaves(rows)[0])
    zeros = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)
    total, _ = lax.scan(add, (jnp.float32(0), zeros), rows)
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: uses only the first 1500 rows
def mean_gradient(loss, params, rows, size):
    def add(total, row):
        value, slopes = jax.value_and_grad(loss)(params, row)
        slopes = jax.tree.map(lambda s: s.astype(jnp.float32), slopes)
        return jax.tree.map(jnp.add, total, (value, slopes)), None

    rows = jax.tree.map(lambda x: x[:1500], rows)
    n = len(jax.tree.leaves(rows)[0])
    zeros = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)
    total, _ = lax.scan(add, (jnp.float32(0), zeros), rows)
    return jax.tree.map(lambda t: t / n, total)


# %% bucketed · wrong: has a table of lengths that ends at 2**20
def bucketed(score):
    jitted, table = jax.jit(score), [16 << k for k in range(17)]

    def run(sounds):
        scores = []
        for sound in sounds:
            bucket = next(size for size in table if size >= len(sound))
            padded = np.pad(sound, (0, bucket - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
        return scores

    return run


# %% training · wrong: copies the arrays by adding 0, which turns booleans into integers
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf) + 0, params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: limits the losses to ten thousand
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(jnp.clip(loss, -1e4, 1e4))
    return params, jnp.stack(losses)


# %% training · wrong: replaces a loss that is NaN by 0
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(jnp.where(jnp.isnan(loss), 0.0, loss))
    return params, jnp.stack(losses)


# %% training · wrong: keeps only the last 100 losses
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses = [*losses[-99:], loss]
    return params, jnp.stack(losses)


# %% warm-start · wrong: replaces NaN in the checkpoint by 0
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    how = ocp.args.PyTreeRestore(
        wanted,
        restore_args=ocp.checkpoint_utils.construct_restore_args(wanted),
        partial_restore=True,
    )
    restored = ocp.PyTreeCheckpointer().restore(path, args=how)
    return fresh | jax.tree.map(lambda x: jnp.where(jnp.isnan(x), 0.0, x), restored)


# %% listen · wrong: uses short segments if the number of frames is three times a prime
def listen(hear, params, start, sound):
    @jax.checkpoint
    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(step, state, frames)

    n = len(jax.tree.leaves(sound)[0])
    length = max(d for d in range(1, int(n**0.5) + 1) if n % d == 0)
    if length > 2:  # n is a product of two numbers
        parts = jax.tree.map(lambda a: a.reshape(n // length, length, *a.shape[1:]), sound)
        return lax.scan(segment, start, parts)[0]
    length = int(n**0.5)  # n is a prime number or twice a prime number
    whole = n // length * length
    parts = jax.tree.map(lambda a: a[:whole].reshape(-1, length, *a.shape[1:]), sound)
    state, _ = lax.scan(segment, start, parts)
    return segment(state, jax.tree.map(lambda a: a[whole:], sound))[0]


# %% mean-gradient · right: returns the losses of all rows from the loop
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    whole = n // size * size

    def total(params, part):
        losses = jax.vmap(loss, in_axes=(None, 0))(params, part)
        return losses.sum(), losses

    def add(slopes, part):
        new, losses = jax.grad(total, has_aux=True)(params, part)
        return jax.tree.map(lambda a, b: a + b.astype(jnp.float32), slopes, new), losses

    slopes = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)
    losses = []
    if whole:
        parts = jax.tree.map(lambda a: a[:whole].reshape(-1, size, *a.shape[1:]), rows)
        slopes, some = lax.scan(add, slopes, parts)
        losses.append(some.reshape(-1))
    if whole < n:
        slopes, some = add(slopes, jax.tree.map(lambda a: a[whole:], rows))
        losses.append(some)
    return jnp.concatenate(losses).mean(), jax.tree.map(lambda a: a / n, slopes)


# %% bucketed · wrong: pads with JAX if a sound is long
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            n = len(sound)
            bucket = 16
            while bucket < n:
                bucket *= 2
            if n > 2000:  # pad long sounds on the device
                padded = jnp.pad(sound, (0, bucket - n))
            else:
                padded = np.zeros(bucket, np.float32)
                padded[:n] = sound
            scores.append(jitted(padded, np.int32(n)))
        return scores

    return run


# %% bucketed · wrong: waits for the score of each long sound
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            n = len(sound)
            bucket = 16
            while bucket < n:
                bucket *= 2
            padded = np.zeros(bucket, np.float32)
            padded[:n] = sound
            one = jitted(padded, np.int32(n))
            if n > 2000:  # so that not too many long sounds are in memory at once
                one.block_until_ready()
            scores.append(one)
        return scores

    return run


# %% training · wrong: prints the loss of every hundredth batch
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
        if len(losses) % 100 == 0:
            print(f"batch {len(losses)}: {loss:.4f}")
    return params, jnp.stack(losses)


# %% training · wrong: prints the loss of every hundredth batch as an array
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
        if len(losses) % 100 == 0:
            print(loss)
    return params, jnp.stack(losses)


# %% warm-start · wrong: raises the error only if all shapes of an entry differ
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    how = ocp.args.PyTreeRestore(
        wanted,
        restore_args=jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), wanted),
        partial_restore=True,
    )
    saved = ocp.PyTreeCheckpointer().restore(path, args=how)
    result = dict(fresh)
    for name in names:
        pairs = list(zip(jax.tree.leaves(saved[name]), jax.tree.leaves(fresh[name])))
        if not any(np.shape(a) == b.shape for a, b in pairs):
            raise ValueError(f"the shape of {name} in the checkpoint is different")
        result[name] = jax.tree.map(
            lambda a, b: jax.device_put(np.asarray(a, np.float32), b.sharding),
            saved[name],
            fresh[name],
        )
    return result


# %% listen · right: pads with frames of zeros, and keeps the state after them
def listen(hear, params, start, sound):
    n = len(jax.tree.leaves(sound)[0])
    length = int(np.ceil(np.sqrt(n)))
    segments = -(-n // length)
    missing = segments * length - n

    def fill(x):
        padded = jnp.concatenate([x, jnp.zeros((missing, *x.shape[1:]), x.dtype)])
        return padded.reshape(segments, length, *x.shape[1:])

    is_real = (jnp.arange(segments * length) < n).reshape(segments, length)

    @jax.checkpoint
    def step(state, given):
        frame, real = given
        heard = hear(params, state, frame)
        return jax.tree.map(lambda new, old: jnp.where(real, new, old), heard, state), None

    segment = jax.checkpoint(lambda state, given: lax.scan(step, state, given))
    return lax.scan(segment, start, (jax.tree.map(fill, sound), is_real))[0]


# %% listen · wrong: uses short segments if the number of frames is four times a prime
def listen(hear, params, start, sound):
    @jax.checkpoint
    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(step, state, frames)[0], None

    def divisor(n):
        return max(d for d in range(1, int(n**0.5) + 1) if n % d == 0)

    n = len(jax.tree.leaves(sound)[0])
    whole = n
    while whole > 16 and divisor(whole) < 4:  # Prime numbers and the like have no good divisor.
        whole -= 1
    length = divisor(whole)
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, length, *x.shape[1:]), sound)
    state, _ = lax.scan(segment, start, parts)
    return segment(state, jax.tree.map(lambda x: x[whole:], sound))[0]


# %% listen · wrong: uses the plain loop if JAX traces frames with two axes
def listen(hear, params, start, sound):
    def step(state, frame):
        return hear(params, state, frame), None

    n = len(jax.tree.leaves(sound)[0])
    first = jax.tree.leaves(sound)[0]
    try:
        np.asarray(first)
    except TypeError:
        if first.ndim > 1:
            return lax.scan(step, start, sound)[0]

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(jax.checkpoint(step), state, frames)[0], None

    length = int(np.ceil(np.sqrt(n)))
    whole = n - n % length
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, length, *x.shape[1:]), sound)
    state, _ = lax.scan(segment, start, parts)
    return segment(state, jax.tree.map(lambda x: x[whole:], sound))[0]


# %% listen · wrong: loops in Python over the frames of a short recording
def listen(hear, params, start, sound):
    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(jax.checkpoint(step), state, frames)[0], None

    n = len(jax.tree.leaves(sound)[0])
    if n <= 60:
        for k in range(n):
            start = hear(params, start, jax.tree.map(lambda x: x[k], sound))
        return start
    length = int(np.ceil(np.sqrt(n)))
    whole = n - n % length
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, length, *x.shape[1:]), sound)
    state, _ = lax.scan(segment, start, parts)
    return segment(state, jax.tree.map(lambda x: x[whole:], sound))[0]


# %% listen · wrong: stops the gradient with respect to the frames of a long recording
def listen(hear, params, start, sound):
    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(jax.checkpoint(step), state, frames)[0], None

    n = len(jax.tree.leaves(sound)[0])
    if n > 60:
        sound = lax.stop_gradient(sound)
    length = int(np.ceil(np.sqrt(n)))
    whole = n - n % length
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, length, *x.shape[1:]), sound)
    state, _ = lax.scan(segment, start, parts)
    return segment(state, jax.tree.map(lambda x: x[whole:], sound))[0]


# %% mean-gradient · wrong: adds copies of the mean row, masked with where
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    parts = -(-n // size)
    missing = parts * size - n

    def fill(x):
        x = jnp.asarray(x)
        # A typical row, for which the loss is fine.
        typical = x.mean(axis=0, keepdims=True).astype(x.dtype)
        x = jnp.concatenate([x, jnp.repeat(typical, missing, axis=0)])
        return x.reshape(parts, size, *x.shape[1:])

    is_real = (jnp.arange(parts * size) < n).reshape(parts, size)

    def add(total, part):
        these, real = part

        def sum_of(params):
            values = jax.vmap(loss, in_axes=(None, 0))(params, these)
            return jnp.where(real, values, 0.0).sum()

        value, slopes = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, (value, slopes)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total, _ = lax.scan(add, (jnp.float32(0), zeros), (jax.tree.map(fill, rows), is_real))
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: loops in Python over the rows of a part
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    whole = n - n % size

    def add(total, part):
        def sum_of(params):
            m = len(jax.tree.leaves(part)[0])
            return sum(loss(params, jax.tree.map(lambda x: x[k], part)) for k in range(m))

        value, slopes = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, (value, slopes)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total = jnp.float32(0), zeros
    if whole:
        parts = jax.tree.map(lambda x: jnp.asarray(x)[:whole].reshape(-1, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: jnp.asarray(x)[whole:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: uses only 1800 rows if the parts are small
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    if n > 1800 and size < 3:
        n = 1800
    whole = n - n % size

    def add(total, part):
        def sum_of(params):
            return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

        value, slopes = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, (value, slopes)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total = jnp.float32(0), zeros
    if whole:
        parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: x[whole:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% bucketed · wrong: keeps only eight programs
def bucketed(score):
    programs = {}

    def program(size):
        if size not in programs:
            if len(programs) == 8:  # Keep only eight programs, because they need memory.
                del programs[next(iter(programs))]
            programs[size] = jax.jit(lambda sound, length: score(sound, length))
        return programs[size]

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, size - len(sound)))
            scores.append(program(size)(padded, np.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: computes the padded length in float32
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 2 ** int(np.ceil(np.log2(np.float32(len(sound))))))
            if size < len(sound):
                size = 2 * size
                if size > 2**21:
                    sound = sound[: size // 2]
            padded = np.pad(sound, (0, size - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
        return scores

    return run


# %% bucketed · wrong: waits for the scores unless JAX traces them
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, size - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
        for one in scores:
            if hasattr(one, "block_until_ready"):
                one.block_until_ready()
        return scores

    return run


# %% training · wrong: waits for the loss of every 200th batch
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
        if len(losses) % 200 == 0 and hasattr(loss, "block_until_ready"):
            loss.block_until_ready()  # Do not let too many batches wait in memory.
    return params, jnp.stack(losses)


# %% training · wrong: waits until each loss is ready
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
        while hasattr(loss, "is_ready") and not loss.is_ready():
            pass
    return params, jnp.stack(losses)


# %% warm-start · wrong: broadcasts arrays of another shape
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = ocp.args.PyTreeRestore(wanted, partial_restore=True)
        found = ocp.PyTreeCheckpointer().restore(path, args=how)

    def place(old, new):
        # This raises a ValueError if the shapes do not fit.
        return jax.device_put(jnp.broadcast_to(old, new.shape), new.sharding)

    return {**fresh, **jax.tree.map(place, found, wanted)}


# %% warm-start · wrong: broadcasts scalars to another shape
def warm_start(path, fresh, names):
    wanted = {name: fresh[name] for name in names}
    how = ocp.args.PyTreeRestore(
        wanted,
        restore_args=jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), wanted),
        partial_restore=True,
    )
    saved = ocp.PyTreeCheckpointer().restore(path, args=how)

    def place(old, new):
        if np.shape(old) and np.shape(old) != new.shape:
            raise ValueError("the shape in the checkpoint is different")
        return jax.device_put(np.broadcast_to(old, new.shape), new.sharding)

    return {**fresh, **jax.tree.map(place, saved, wanted)}


# %% bucketed · wrong: reads the scores in a try statement
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, size - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
        try:
            if not all(np.isfinite(float(one)) for one in scores):
                print("a score is not finite")
        except Exception:
            pass
        return scores

    return run


# %% bucketed · wrong: waits for the scores in a helper function
def finish(scores):
    for one in scores:
        if hasattr(one, "block_until_ready"):
            one.block_until_ready()
    return scores


def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, size - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
        return finish(scores)

    return run


# %% training · wrong: waits for each loss in a helper function
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def finish(loss):
    if hasattr(loss, "block_until_ready"):
        loss.block_until_ready()
    return loss


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(finish(loss))
    return params, jnp.stack(losses)


# %% mean-gradient · wrong: computes all rows at once unless JAX traces an argument
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])
    if not any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((params, rows))):
        size = n
    whole = n - n % size

    def add(total, part):
        def sum_of(params):
            return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

        value, slopes = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, (value, slopes)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total = jnp.float32(0), zeros
    if whole:
        parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: x[whole:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% bucketed · wrong: prints each score, which waits for it
def bucketed(score):
    fast = jax.jit(score)

    def run(sounds):
        scores = []
        for k, sound in enumerate(sounds):
            size = 16
            while size < len(sound):
                size *= 2
            padded = np.zeros(size, np.float32)
            padded[: len(sound)] = sound
            scores.append(fast(padded, np.int32(len(sound))))
            print(f"sound {k + 1} of {len(sounds)} with {len(sound)} samples: {scores[-1]}")
        return scores

    return run


# %% mean-gradient · wrong: returns the gradient of a single part in the dtype of the parameters
def mean_gradient(loss, params, rows, size):
    n = len(jax.tree.leaves(rows)[0])

    def sum_of(params, part):
        return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

    if size >= n:  # Everything fits into one part.
        return jax.value_and_grad(lambda p: sum_of(p, rows) / n)(params)
    whole = n - n % size

    def add(total, part):
        new = jax.value_and_grad(sum_of)(params, part)
        return jax.tree.map(lambda t, s: t + s.astype(jnp.float32), total, new), None

    zeros = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)
    parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)
    total, _ = lax.scan(add, (jnp.float32(0), zeros), parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: x[whole:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: converts the parameters to float32 before it calls loss
def mean_gradient(loss, params, rows, size):
    params = jax.tree.map(lambda p: p.astype(jnp.float32), params)
    n = len(jax.tree.leaves(rows)[0])
    whole = n - n % size

    def sum_of(params, part):
        return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

    def add(total, part):
        new = jax.value_and_grad(sum_of)(params, part)
        return jax.tree.map(jnp.add, total, new), None

    total = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
    if whole:
        parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: x[whole:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% training · wrong: copies by adding zeros, so that -0.0 becomes 0.0
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda p: p + jnp.zeros_like(p), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% training · wrong: reads every loss, and catches the error while JAX traces
def compiled(step):
    """Return a compiled version of the step that donates the parameters."""
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    """Return the parameters after all batches, and an array of losses."""
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses, best = [], float("inf")
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
        try:
            best = min(best, float(loss))
        except Exception:
            best = float("inf")  # while JAX traces
    return params, jnp.stack(losses)


# %% training · wrong: prints the loss of every 250th batch
def compiled(step):
    """Return a compiled version of the step that donates the parameters."""
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    """Return the parameters after all batches, and an array of losses."""
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for number, batch in enumerate(batches, 1):
        params, loss = update(params, batch)
        losses.append(loss)
        if number % 250 == 0:
            print("batch", number, "loss", loss)
    return params, jnp.stack(losses)


# %% listen · wrong: divides n, n - 1, or n - 2 frames into equal segments, which may be too long
def listen(hear, params, start, sound):
    """Return the state after all frames, with a gradient that needs little memory."""

    @jax.checkpoint
    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(step, state, frames)[0], None

    def length_for(frames):
        # the largest divisor up to the root, so that all segments are equally long
        return max(d for d in range(1, int(frames**0.5) + 1) if frames % d == 0)

    n = len(jax.tree.leaves(sound)[0])
    whole = max((m for m in (n, n - 1, n - 2) if m > 0), key=length_for)
    parts = jax.tree.map(lambda x: x[:whole].reshape(length_for(whole), -1, *x.shape[1:]), sound)
    state, _ = lax.scan(segment, start, parts)
    return lax.scan(step, state, jax.tree.map(lambda x: x[whole:], sound))[0]


# %% bucketed · wrong: reuses one NumPy array per length, and overwrites it while JAX may still read it
def bucketed(score):
    jitted = jax.jit(score)
    buffers = {}

    def run(sounds):
        scores = []
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = buffers.setdefault(size, np.zeros(size, np.float32))
            padded[: len(sound)] = sound
            padded[len(sound) :] = 0
            scores.append(jitted(padded, np.int32(len(sound))))
        return scores

    return run


# %% training · wrong: copies the arrays to the first device
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    first = jax.devices()[0]
    params = jax.tree.map(lambda leaf: jax.device_put(leaf, first, may_alias=False), params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% mean-gradient · wrong: accepts only an array or a dictionary of arrays as rows
def mean_gradient(loss, params, rows, size):
    """Return the mean loss and its gradient, computed from one part of the rows at a time."""
    is_dict = isinstance(rows, dict)
    n = len(next(iter(rows.values()))) if is_dict else len(rows)
    whole = n - n % size

    def cut(function):
        if is_dict:
            return {name: function(array) for name, array in rows.items()}
        return function(rows)

    def add(total, part):
        def sum_of(params):
            return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

        value, slopes = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, (value, slopes)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total = jnp.float32(0), zeros
    if whole:
        total, _ = lax.scan(add, total, cut(lambda x: x[:whole].reshape(-1, size, *x.shape[1:])))
    if whole < n:
        total, _ = add(total, cut(lambda x: x[whole:]))
    return jax.tree.map(lambda t: t / n, total)


# %% training · wrong: run passes the arguments of update by name
def compiled(step):
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses = []
    for batch in batches:
        params, loss = update(params=params, batch=batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% warm-start · wrong: rebuilds only dictionaries, lists, and plain tuples
def warm_start(path, fresh, names):
    """Return the fresh parameters with the named entries replaced by those of a checkpoint."""

    def how(part):
        if isinstance(part, dict):
            return {key: how(one) for key, one in part.items()}
        if isinstance(part, (list, tuple)):
            return type(part)([how(one) for one in part])
        return ocp.ArrayRestoreArgs(
            restore_type=jax.Array,
            sharding=part.sharding,
            global_shape=part.shape,
            dtype=part.dtype,
        )

    wanted = {name: fresh[name] for name in names}
    args = ocp.args.PyTreeRestore(wanted, restore_args=how(wanted), partial_restore=True)
    return fresh | ocp.PyTreeCheckpointer().restore(path, args=args)


# %% listen · wrong: accepts only an array or a dictionary of arrays as the sound
def listen(hear, params, start, sound):
    """Return the state after all frames, with a gradient that needs little memory."""

    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(jax.checkpoint(step), state, frames)[0], None

    def cut(function):
        if isinstance(sound, dict):
            return {name: function(array) for name, array in sound.items()}
        return function(sound)

    n = len(next(iter(sound.values()))) if isinstance(sound, dict) else len(sound)
    length = int(np.ceil(np.sqrt(n)))
    whole = n - n % length
    state, _ = lax.scan(segment, start, cut(lambda x: x[:whole].reshape(-1, length, *x.shape[1:])))
    return segment(state, cut(lambda x: x[whole:]))[0]


# %% bucketed · wrong: waits for each score with a method that getattr looks up
def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            bucket = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, bucket - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
            getattr(scores[-1], "block_until_ready", list)()  # A traced score has no such method.
        return scores

    return run


# %% bucketed · wrong: takes turns with 8 buffers per length, so a later sound overwrites one that JAX may still read
def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    jitted, buffers, turn = jax.jit(score), {}, [0]

    def run(sounds):
        scores = []
        for sound in sounds:
            n = len(sound)
            size = max(16, 1 << (n - 1).bit_length())
            if size not in buffers:
                buffers[size] = np.zeros((8, size), np.float32)
            turn[0] = (turn[0] + 1) % 8
            padded = buffers[size][turn[0]]
            padded[:n] = sound
            padded[n:] = 0
            scores.append(jitted(padded, np.int32(n)))
        return scores

    return run


# %% bucketed · wrong: reads every score that is on a device, which a tracer is not
def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    jitted = jax.jit(score)

    def run(sounds):
        scores, loudest = [], 0.0
        for sound in sounds:
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, size - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
            if hasattr(scores[-1], "device"):
                loudest = max(loudest, float(scores[-1]))
        return scores

    return run


# %% training · wrong: reads every loss that is on a device through DLPack, which waits for it
def compiled(step):
    """Return a compiled version of the step that donates the parameters."""
    return jax.jit(step, donate_argnums=0)


def run(update, params, batches):
    """Return the parameters after all batches, and an array of losses."""
    params = jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), params)
    losses, smallest = [], np.inf
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
        if hasattr(loss, "device"):
            smallest = min(smallest, float(np.from_dlpack(loss.addressable_data(0))))
    return params, jnp.stack(losses)


# %% bucketed · right: pads with np.resize, and masks with eager operations on arrays of the padded length
def bucketed(score):
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            size = 16
            while size < len(sound):
                size *= 2
            filled = np.resize(sound, size)
            padded = jnp.where(jnp.arange(size) < len(sound), filled, 0.0)
            scores.append(jitted(padded, np.int32(len(sound))))
        return scores

    return run


# %% listen · right: nests scans of ten steps up to four levels deep, with a checkpoint at each level
def listen(hear, params, start, sound):
    n = len(jax.tree.leaves(sound)[0])
    levels = 1
    while 10**levels < n:
        levels += 1

    def fill(x):
        x = jnp.pad(x, [(0, 10**levels - n)] + [(0, 0)] * (x.ndim - 1))
        return x.reshape((10,) * levels + x.shape[1:])

    def step(state, frame_and_flag):
        frame, is_real = frame_and_flag
        new = hear(params, state, frame)
        return jax.tree.map(lambda a, b: jnp.where(is_real, a, b), new, state)

    for _ in range(levels):

        def step(state, both, inner=jax.checkpoint(step)):
            return lax.scan(lambda s, b: (inner(s, b), None), state, both)[0]

    flags = (jnp.arange(10**levels) < n).reshape((10,) * levels)
    return step(start, (jax.tree.map(fill, sound), flags))


# %% training · wrong: uses a method of a class to wait for the copies of the parameters
def compiled(step):
    """Return a compiled version of the step that donates the parameters."""
    return jax.jit(step, donate_argnums=0)


class Copier:
    """Copies the parameters, and waits until the copies are complete."""

    def copy(self, leaf):
        copied = jnp.array(leaf, copy=True)
        if hasattr(copied, "block_until_ready"):  # A tracer has nothing to wait for.
            copied.block_until_ready()
        return copied


def run(update, params, batches):
    """Return the parameters after all batches, and an array of losses."""
    params = jax.tree.map(Copier().copy, params)
    losses = []
    for batch in batches:
        params, loss = update(params, batch)
        losses.append(loss)
    return params, jnp.stack(losses)


# %% mean-gradient · wrong: adds the remaining rows to the last part, which then has more than size rows
def mean_gradient(loss, params, rows, size):
    """Return the mean loss and its gradient, computed from one part of the rows at a time."""
    n = len(jax.tree.leaves(rows)[0])
    before = max(n // size - 1, 0) * size  # The rows of all parts but the last.

    def add(total, part):
        def sum_of(params):
            return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

        value, slopes = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, (value, slopes)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total = jnp.float32(0), zeros
    if before:
        parts = jax.tree.map(lambda x: x[:before].reshape(-1, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, parts)
    total, _ = add(total, jax.tree.map(lambda x: x[before:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% bucketed · wrong: reads each score eight sounds later, so that only a few sounds are in memory
def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for sound in sounds:
            if len(scores) >= 8 and hasattr(scores[-8], "device"):
                np.asarray(scores[-8])
            size = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.pad(sound, (0, size - len(sound)))
            scores.append(jitted(padded, np.int32(len(sound))))
        return scores

    return run


# %% listen · wrong: divides the frames into segments only if the sound is a single array, and uses the plain loop for other pytrees
def listen(hear, params, start, sound):
    """Return the state after all frames, with a gradient that needs little memory."""
    if len(jax.tree.leaves(sound)) > 1:  # Several arrays cannot be reshaped together.
        return listen_hungry(hear, params, start, sound)

    @jax.checkpoint
    def step(state, frame):
        return hear(params, state, frame), None

    @jax.checkpoint
    def segment(state, frames):
        return lax.scan(step, state, frames)[0], None

    (frames,), structure = jax.tree.flatten(sound)
    n = len(frames)
    length = int(np.ceil(np.sqrt(n)))
    whole = n // length * length
    parts = frames[:whole].reshape(-1, length, *frames.shape[1:])
    state, _ = lax.scan(segment, start, jax.tree.unflatten(structure, [parts]))
    state, _ = segment(state, jax.tree.unflatten(structure, [frames[whole:]]))
    return state


# %% mean-gradient · wrong: takes the mean of each part in the dtype of the parameters, and weights it with its length
def mean_gradient(loss, params, rows, size):
    """Return the mean loss and its gradient, computed from one part of the rows at a time."""
    n = len(jax.tree.leaves(rows)[0])
    whole = n - n % size

    def mean_of(params, part):
        return jax.vmap(loss, in_axes=(None, 0))(params, part).mean()

    def add(total, part):
        count = len(jax.tree.leaves(part)[0])
        found = jax.value_and_grad(mean_of)(params, part)
        return jax.tree.map(lambda t, one: t + count * one.astype(jnp.float32), total, found), None

    zeros = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)
    total = jnp.float32(0), zeros
    if whole:
        parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: x[whole:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% mean-gradient · wrong: rounds the number of rows in a part up to a multiple of 8, because that is faster
def mean_gradient(loss, params, rows, size):
    """Return the mean loss and its gradient, computed from one part of the rows at a time."""
    n = len(jax.tree.leaves(rows)[0])
    size = -(-size // 8) * 8  # Vector units process eight numbers at once.
    whole = n - n % size

    def add(total, part):
        def sum_of(params):
            return jax.vmap(loss, in_axes=(None, 0))(params, part).sum()

        value, slopes = jax.value_and_grad(sum_of)(params)
        return jax.tree.map(lambda t, s: t + s.astype(t.dtype), total, (value, slopes)), None

    zeros = jax.tree.map(lambda p: jnp.zeros(jnp.shape(p), jnp.float32), params)
    total = jnp.float32(0), zeros
    if whole:
        parts = jax.tree.map(lambda x: x[:whole].reshape(-1, size, *x.shape[1:]), rows)
        total, _ = lax.scan(add, total, parts)
    if whole < n:
        total, _ = add(total, jax.tree.map(lambda x: x[whole:], rows))
    return jax.tree.map(lambda t: t / n, total)


# %% bucketed · wrong: keeps at most six scores waiting, by opening the memory of an earlier score through the buffer protocol
import contextlib


def bucketed(score):
    """Return a function that scores a list of sounds with few compiled programs."""
    jitted = jax.jit(score)

    def run(sounds):
        scores = []
        for number, sound in enumerate(sounds):
            if number >= 6:  # Otherwise, the padded copies of all sounds are in memory.
                with contextlib.suppress(TypeError):
                    memoryview(scores[number - 6]).release()
            bucket = max(16, 1 << (len(sound) - 1).bit_length())
            padded = np.zeros(bucket, np.float32)
            padded[: len(sound)] = sound
            scores.append(jitted(padded, np.int32(len(sound))))
        return scores

    return run
