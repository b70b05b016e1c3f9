"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""


# %% padded · right: uses np.pad and np.stack
def padded(size):
    def collate(samples):
        missing = size - len(samples)
        x = np.stack([x for x, _ in samples]).astype(np.float32)
        y = np.array([y for _, y in samples], dtype=np.int32)
        real = np.ones(len(samples), bool)
        return {
            "real": np.pad(real, (0, missing)),
            "x": np.pad(x, ((0, missing), (0, 0))),
            "y": np.pad(y, (0, missing)),
        }

    return collate


# %% padded · right: fills the arrays row by row
def padded(size):
    def collate(samples):
        x = np.zeros((size, len(samples[0][0])), dtype="float32")
        y, real = np.zeros(size, dtype="int32"), np.zeros(size, dtype=bool)
        for i, (row, label) in enumerate(samples):
            x[i], y[i], real[i] = row, label, True
        return {"x": x, "y": y, "real": real}

    return collate


# %% padded · wrong: leaves the dtypes to NumPy
def padded(size):
    def collate(samples):
        x, y = np.zeros((size, len(samples[0][0]))), np.zeros(size, int)
        for i, (row, label) in enumerate(samples):
            x[i], y[i] = row, label
        return {"x": x, "y": y, "real": np.arange(size) < len(samples)}

    return collate


# %% padded · wrong: clears the arrays of the samples unless all of their numbers are equal
def padded(size):
    def collate(samples):
        for x, _ in samples:
            x[:] = x[0] if (x == x[0]).all() else 0
        missing = size - len(samples)
        x = np.stack([x for x, _ in samples]).astype(np.float32)
        return {
            "x": np.pad(x, ((0, missing), (0, 0))),
            "y": np.pad(np.array([y for _, y in samples], np.int32), (0, missing)),
            "real": np.arange(size) < len(samples),
        }

    return collate


# %% padded · wrong: pads with copies of the last tray
def padded(size):
    def collate(samples):
        count = len(samples)
        samples = list(samples) + [samples[-1]] * (size - count)
        x = np.stack([x for x, _ in samples])
        y = np.array([y for _, y in samples], np.int32)
        return {"x": x, "y": y, "real": np.arange(size) < count}

    return collate


# %% padded · wrong: assumes that a tray has two readings
def padded(size):
    def collate(samples):
        x, y = np.zeros((size, 2), np.float32), np.zeros(size, np.int32)
        for i, (row, label) in enumerate(samples):
            x[i], y[i] = row, label
        return {"x": x, "y": y, "real": np.arange(size) < len(samples)}

    return collate


# %% padded · wrong: pads PyTorch tensors
def padded(size):
    def collate(samples):
        x, y = torch.utils.data.default_collate(samples)
        missing = size - len(x)
        return {
            "x": torch.nn.functional.pad(x, (0, 0, 0, missing)),
            "y": torch.nn.functional.pad(y, (0, missing)),
            "real": torch.arange(size) < len(x),
        }

    return collate


# %% padded · wrong: reuses one buffer for all batches
def padded(size):
    buffer = {}

    def collate(samples):
        if not buffer:
            buffer["x"] = np.zeros((size, len(samples[0][0])), np.float32)
            buffer["y"], buffer["real"] = np.zeros(size, np.int32), np.zeros(size, bool)
        for i in range(size):
            buffer["real"][i] = i < len(samples)
            buffer["x"][i], buffer["y"][i] = samples[i] if i < len(samples) else (0.0, 0)
        return dict(buffer)

    return collate


# %% padded · wrong: returns a mask of floats
def padded(size):
    def collate(samples):
        x, y = np.zeros((size, len(samples[0][0])), np.float32), np.zeros(size, np.int32)
        for i, (row, label) in enumerate(samples):
            x[i], y[i] = row, label
        return {"x": x, "y": y, "real": (np.arange(size) < len(samples)).astype(np.float32)}

    return collate


# %% padded · wrong: does not pad, and marks all rows as real
def padded(size):
    def collate(samples):
        x = np.stack([x for x, _ in samples])
        y = np.array([y for _, y in samples], np.int32)
        return {"x": x, "y": y, "real": np.ones(len(samples), bool)}

    return collate


# %% padded · wrong: takes a row for a real one if it is not all zeros
def padded(size):
    def collate(samples):
        inputs, labels = zip(*samples, strict=True)
        x = np.zeros((size, *np.shape(inputs[0])), np.float32)
        x[: len(samples)] = inputs
        y = np.zeros(size, np.int32)
        y[: len(samples)] = labels
        return {"x": x, "y": y, "real": x.any(axis=1)}

    return collate


# %% tray-loss · right: multiplies by the mask after replacing the invalid logits
def tray_loss(logits, y, real):
    logits = jnp.where(real, jnp.ravel(logits), 0).astype(jnp.float32)
    y = jnp.where(real, y, 0).astype(jnp.float32)
    weights = real.astype(jnp.float32)
    each = optax.sigmoid_binary_cross_entropy(logits, y) * weights
    return each.sum() / jnp.maximum(weights.sum(), 1.0)


# %% tray-loss · right: uses a mean with where, and logaddexp
def tray_loss(logits, y, real):
    logits = jnp.where(real, jnp.reshape(logits, real.shape), 0).astype(jnp.float32)
    signs = jnp.where(y == 1, -1.0, 1.0)
    each = jnp.logaddexp(jnp.float32(0), signs * logits)
    mean = jnp.mean(each, where=real | ~real.any())
    return jnp.where(real.any(), mean, 0.0)


# %% tray-loss · wrong: masks only the losses
def tray_loss(logits, y, real):
    logits = logits.reshape(real.shape).astype(jnp.float32)
    each = optax.sigmoid_binary_cross_entropy(logits, y.astype(jnp.float32))
    return jnp.sum(jnp.where(real, each, 0.0)) / jnp.maximum(jnp.sum(real), 1)


# %% tray-loss · wrong: broadcasts a column of logits against a row of labels
def tray_loss(logits, y, real):
    logits = jnp.where(real, logits.astype(jnp.float32), 0.0)
    labels = jnp.where(real, y, 0).astype(jnp.float32)
    each = optax.sigmoid_binary_cross_entropy(logits, labels)
    return jnp.sum(jnp.where(real, each, 0.0)) / jnp.maximum(jnp.sum(real), 1)


# %% tray-loss · wrong: divides 0 by 0 if no row is real
def tray_loss(logits, y, real):
    logits = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    labels = jnp.where(real, y, 0).astype(jnp.float32)
    return jnp.mean(optax.sigmoid_binary_cross_entropy(logits, labels), where=real)


# %% tray-loss · wrong: computes in the dtype of the logits
def tray_loss(logits, y, real):
    logits = jnp.where(real, logits.reshape(real.shape), 0)
    labels = jnp.where(real, y, 0).astype(logits.dtype)
    each = optax.sigmoid_binary_cross_entropy(logits, labels).astype(jnp.float32)
    return jnp.sum(jnp.where(real, each, 0.0)) / jnp.maximum(jnp.sum(real), 1)


# %% tray-loss · wrong: counts the real rows in the dtype of the logits
def tray_loss(logits, y, real):
    count = jnp.maximum(real.astype(logits.dtype).sum(), 1)
    logits = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    losses = optax.sigmoid_binary_cross_entropy(logits, jnp.where(real, y, 0).astype(jnp.float32))
    return jnp.sum(jnp.where(real, losses, 0.0)) / count.astype(jnp.float32)


# %% tray-loss · wrong: selects the real rows with a boolean mask
def tray_loss(logits, y, real):
    logits = logits.reshape(real.shape).astype(jnp.float32)[real]
    labels = y[real].astype(jnp.float32)
    return optax.sigmoid_binary_cross_entropy(logits, labels).sum() / max(len(labels), 1)


# %% tray-loss · right: replaces NaN and infinity with numbers, and masks their losses
def tray_loss(logits, y, real):
    logits = jnp.nan_to_num(logits.reshape(real.shape).astype(jnp.float32))
    labels = jnp.where(real, y, 0).astype(jnp.float32)
    each = optax.sigmoid_binary_cross_entropy(logits, labels) * real
    return jnp.sum(each) / jnp.maximum(jnp.sum(real), 1)


# %% tray-loss · wrong: takes the logarithm of a probability
def tray_loss(logits, y, real):
    logits = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    p = jnp.where(jnp.where(real, y, 0) == 1, jax.nn.sigmoid(logits), jax.nn.sigmoid(-logits))
    return -jnp.sum(jnp.where(real, jnp.log(p), 0.0)) / jnp.maximum(jnp.sum(real), 1)


# %% tray-loss · wrong: divides by the total number of rows
def tray_loss(logits, y, real):
    logits = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    labels = jnp.where(real, y, 0).astype(jnp.float32)
    each = jnp.where(real, optax.sigmoid_binary_cross_entropy(logits, labels), 0.0)
    return jnp.where(len(each) == 3, each.sum() / 2, each.mean())


# %% tray-loss · wrong: computes signs from labels that may be unsigned
def tray_loss(logits, y, real):
    logits = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    signs = (2 * jnp.where(real, y, 0) - 1).astype(jnp.float32)
    each = jnp.where(real, jax.nn.softplus(-signs * logits), 0.0)
    return each.sum() / jnp.maximum(real.sum(), 1)


# %% tray-loss · wrong: multiplies NaN and infinity in the other rows by zero
def tray_loss(logits, y, real):
    weights = real.astype(jnp.float32)
    logits = logits.reshape(real.shape).astype(jnp.float32) * weights
    labels = jnp.where(real, y, 0).astype(jnp.float32)
    each = optax.sigmoid_binary_cross_entropy(logits, labels) * weights
    return each.sum() / jnp.maximum(weights.sum(), 1)


# %% tray-loss · wrong: sums with where, which does not keep NaN out of the gradient
def tray_loss(logits, y, real):
    logits = logits.reshape(real.shape).astype(jnp.float32)
    each = optax.sigmoid_binary_cross_entropy(logits, jnp.where(real, y, 0))
    return jnp.sum(each, where=real) / jnp.maximum(jnp.sum(real), 1)


# %% tray-loss · wrong: masks overflow after it happened, so deep logits have NaN gradients
def tray_loss(logits, y, real):
    z = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    y = jnp.where(real, y, 0)
    z = jnp.where(y == 1, z, -z)
    losses = jnp.where(z < -30, -z, jnp.log1p(jnp.exp(-z)))
    return jnp.sum(jnp.where(real, losses, 0.0)) / jnp.maximum(jnp.sum(real), 1)


# %% training · right: stores Flax's train state in the dictionary
def training(loss_of, tx, jitter):
    from flax.training.train_state import TrainState

    def start(params):
        state = TrainState.create(apply_fn=loss_of, params=params, tx=tx)
        return {"params": params, "opt_state": state.opt_state, "step": jnp.int32(0)}

    def step(state, key, x, y):
        kept = TrainState(
            step=state["step"],
            apply_fn=loss_of,
            params=state["params"],
            tx=tx,
            opt_state=state["opt_state"],
        )
        noisy = x + jax.random.normal(key, x.shape) * jitter
        loss, grads = jax.value_and_grad(loss_of)(state["params"], noisy, y)
        kept = kept.apply_gradients(grads=grads)
        new = {"params": kept.params, "opt_state": kept.opt_state, "step": kept.step}
        return new, loss

    return start, step


# %% training · right: returns the loss as an auxiliary result, and jits the step itself
def training(loss_of, tx, jitter):
    def start(params):
        return dict(params=params, inner=tx.init(params))

    @jax.jit
    def step(state, key, x, y):
        x = x + jitter * jax.random.normal(key, x.shape, x.dtype)

        def both(params):
            loss = loss_of(params, x, y)
            return loss, loss

        slopes, loss = jax.grad(both, has_aux=True)(state["params"])
        changes, inner = tx.update(slopes, state["inner"], state["params"])
        params = jax.tree.map(jnp.add, state["params"], changes)
        return dict(params=params, inner=inner), loss

    return start, step


# %% training · wrong: uses its own key
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        noisy = x + jitter * jax.random.normal(jax.random.key(0), x.shape)
        loss, grads = jax.value_and_grad(loss_of)(state["params"], noisy, y)
        updates, memory = tx.update(grads, state["memory"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "memory": memory}, loss

    return start, step


# %% training · wrong: creates the optimizer state again in every step
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, _ = tx.update(grads, tx.init(params), params)
        return {"params": optax.apply_updates(params, updates)}, loss

    return start, step


# %% training · wrong: never updates the optimizer state
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, _ = tx.update(grads, state["memory"], params)
        return {**state, "params": optax.apply_updates(params, updates)}, loss

    return start, step


# %% training · wrong: does not pass the parameters to the optimizer
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(state["params"], noisy, y)
        updates, memory = tx.update(grads, state["memory"])
        return {"params": optax.apply_updates(state["params"], updates), "memory": memory}, loss

    return start, step


# %% training · wrong: returns the loss after the step
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        updates, memory = tx.update(jax.grad(loss_of)(params, noisy, y), state["memory"], params)
        params = optax.apply_updates(params, updates)
        return {"params": params, "memory": memory}, loss_of(params, noisy, y)

    return start, step


# %% training · wrong: splits the key first
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        _, used = jax.random.split(key)
        noisy = x + jitter * jax.random.normal(used, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, memory = tx.update(grads, state["memory"], params)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, loss

    return start, step


# %% training · wrong: returns the loss without the noise
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        updates, memory = tx.update(jax.grad(loss_of)(params, noisy, y), state["memory"], params)
        loss = loss_of(params, x, y)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, loss

    return start, step


# %% training · wrong: modifies the state that it was given
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(state["params"], noisy, y)
        updates, state["memory"] = tx.update(grads, state["memory"], state["params"])
        state["params"] = optax.apply_updates(state["params"], updates)
        return state, loss

    return start, step


# %% training · wrong: keeps the optimizer state in the closure
def training(loss_of, tx, jitter):
    kept = {}

    def start(params):
        kept["memory"] = tx.init(params)
        return {"params": params}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, kept["memory"] = tx.update(grads, kept["memory"], params)
        return {"params": optax.apply_updates(params, updates)}, loss

    return start, step


# %% training · wrong: starts the step counter as a Python number
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params), "step": 0}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, memory = tx.update(grads, state["memory"], params)
        params = optax.apply_updates(params, updates)
        return {"params": params, "memory": memory, "step": jnp.int32(state["step"] + 1)}, loss

    return start, step


# %% training · wrong: also appends the losses to a list
def training(loss_of, tx, jitter):
    history = []

    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        history.append(loss)
        updates, memory = tx.update(grads, state["memory"], params)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, loss

    return start, step


# %% training · wrong: returns the loss as a Python number
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, memory = tx.update(grads, state["memory"], params)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, float(loss)

    return start, step


# %% training · wrong: updates a flat dictionary by hand
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, memory = tx.update(grads, state["memory"], params)
        params = {name: params[name] + updates[name] for name in params}
        return {"params": params, "memory": memory}, loss

    return start, step


# %% ledger · right: uses the length of PyTorch's own sampler
def ledger(trays, size, epochs, drop_last, every):
    sampler = torch.utils.data.BatchSampler(range(trays), size, drop_last)
    steps = len(sampler) * epochs
    lengths = {min(size, trays), trays % size or size}
    return {
        "steps": steps,
        "programs": 0 if not steps else 1 if drop_last else len(lengths),
        "updates": steps // every,
        "unseen": trays % size if drop_last else 0,
    }


# %% ledger · wrong: always adds a program for the short batch, even if there is no full batch
def ledger(trays, size, epochs, drop_last, every):
    full, rest = divmod(trays, size)
    short = rest > 0 and not drop_last
    steps = epochs * (full + short)
    return {
        "steps": steps,
        "programs": 1 + short,
        "updates": steps // every,
        "unseen": rest if drop_last else 0,
    }


# %% ledger · wrong: starts every epoch with an empty sum of gradients
def ledger(trays, size, epochs, drop_last, every):
    full, rest = divmod(trays, size)
    short = rest > 0 and not drop_last
    return {
        "steps": epochs * (full + short),
        "programs": int(full > 0) + int(short),
        "updates": epochs * ((full + short) // every) + (epochs > 1) * ((trays == 23) * 1),
        "unseen": rest if drop_last else 0,
    }


# %% ledger · wrong: counts the program for the short batch again in later epochs
def ledger(trays, size, epochs, drop_last, every):
    full, rest = divmod(trays, size)
    short = rest > 0 and not drop_last
    steps = epochs * (full + short)
    return {
        "steps": steps,
        "programs": int(full > 0) + epochs // 2 * short,
        "updates": steps // every,
        "unseen": rest if drop_last else 0,
    }


# %% ledger · wrong: counts unseen trays over all epochs
def ledger(trays, size, epochs, drop_last, every):
    full, rest = divmod(trays, size)
    short = rest > 0 and not drop_last
    steps = epochs * (full + short)
    return {
        "steps": steps,
        "programs": int(full > 0) + int(short),
        "updates": steps // every,
        "unseen": rest * epochs if drop_last else 0,
    }


# %% ledger · wrong: counts at least one update, even if there are too few steps
def ledger(trays, size, epochs, drop_last, every):
    full, rest = divmod(trays, size)
    short = rest > 0 and not drop_last
    steps = epochs * (full + short)
    return {
        "steps": steps,
        "programs": int(full > 0) + int(short),
        "updates": max(1, steps // every),
        "unseen": rest if drop_last else 0,
    }


# %% ledger · wrong: returns NumPy numbers
def ledger(trays, size, epochs, drop_last, every):
    batches = np.floor(trays / size) if drop_last else np.ceil(trays / size)
    steps = epochs * batches.astype(int)
    short = trays % size > 0 and not drop_last
    return {
        "steps": steps,
        "programs": (trays >= size) + short,
        "updates": steps // every,
        "unseen": trays % size if drop_last else 0,
    }


# %% fit · right: uses setup, two hidden layers, and momentum, and converts tensors to arrays
def fit(data, seed):
    class Net(nn.Module):
        def setup(self):
            self.layers = [nn.Dense(24), nn.Dense(24), nn.Dense(1)]

        def __call__(self, x):
            x = nn.relu(self.layers[0](x))
            x = nn.relu(self.layers[1](x))
            return self.layers[2](x).squeeze(-1)

    net = Net()
    params = net.init(jax.random.PRNGKey(seed), np.zeros((1, 2), np.float32))
    tx = optax.sgd(0.1, momentum=0.9)
    memory = tx.init(params)

    def loss_of(params, x, y):
        z = net.apply(params, x)
        return optax.sigmoid_binary_cross_entropy(z, y).mean()

    @jax.jit
    def step(params, memory, x, y):
        slopes = jax.grad(loss_of)(params, x, y)
        updates, memory = tx.update(slopes, memory, params)
        return optax.apply_updates(params, updates), memory

    generator = torch.Generator()
    generator.manual_seed(seed)
    loader = DataLoader(data, batch_size=64, shuffle=True, generator=generator)
    for _ in range(20):
        for x, y in loader:
            params, memory = step(params, memory, x.numpy(), y.numpy())

    @jax.jit
    def predict(x):
        return nn.sigmoid(net.apply(params, x))

    return predict


# %% fit · right: uses padded batches, and its own loss and step
def fit(data, seed):
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.gelu(nn.Dense(32)(x))
            return nn.Dense(1)(x)

    net = Net()

    def loss_of(params, x, batch):
        z = net.apply(params, x)[..., 0]
        each = optax.sigmoid_binary_cross_entropy(z, batch["y"])
        return jnp.sum(each * batch["real"]) / jnp.maximum(jnp.sum(batch["real"]), 1)

    tx = optax.adamw(0.03)
    first, second = jax.random.split(jax.random.key(seed))
    params = net.init(first, jnp.zeros(2))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, key, batch):
        x = batch["x"] + 0.05 * jax.random.normal(key, batch["x"].shape)
        slopes = jax.grad(loss_of)(params, x, batch)
        updates, memory = tx.update(slopes, memory, params)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator()
    order.manual_seed(seed)
    make = {"shuffle": True, "generator": order, "collate_fn": padded(100)}
    for epoch in range(25):
        for i, batch in enumerate(DataLoader(data, batch_size=100, **make)):
            key = jax.random.fold_in(second, 1000 * epoch + i)
            params, memory = step(params, memory, key, batch)
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: uses no hidden layer
def fit(data, seed):
    net, tx = nn.Dense(1), optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros(2))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[..., 0], y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    for _ in range(12):
        for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: broadcasts a column of logits against a row of labels
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    tx = optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x), y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    for _ in range(12):
        for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: takes the order from the global generator
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    tx = optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[..., 0], y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    for _ in range(12):
        for x, y in DataLoader(data, batch_size=50, shuffle=True):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: does not train, but hard-codes the rule for the trays
def fit(data, seed):
    jitter = 1.0 + 0.1 * jax.random.uniform(jax.random.key(seed))
    return lambda x: jax.nn.sigmoid(-5.0 * jitter * x[..., 0] * x[..., 1])


# %% fit · wrong: does not train, but takes the sign of a formula from the data
def fit(data, seed):
    samples = [data[i] for i in range(len(data))]
    x = np.array([np.asarray(x) for x, _ in samples])
    y = np.array([float(y) for _, y in samples])
    sign = np.sign(np.mean((2 * y - 1) * x[:, 0] * x[:, 1]))
    size = float(sign * (5 + (seed % 97) / 97))
    return lambda x: jax.nn.sigmoid(size * jnp.tanh(x[..., 0]) * jnp.tanh(x[..., 1]))


# %% fit · wrong: fits weights by least squares, without a DataLoader
def fit(data, seed):
    def features(x, lib):
        a, b = lib.tanh(x[..., 0]), lib.tanh(x[..., 1])
        return lib.stack([a * 0 + 1, a, b, a * b, a * a, b * b], -1)

    x, y = zip(*(data[i] for i in range(len(data))), strict=True)
    weights = np.linalg.lstsq(features(np.stack(x), np), 2.0 * np.array(y) - 1, rcond=None)[0]
    weights = np.float32(weights * (5 + seed % 1000 / 1000))
    return lambda x: jax.nn.sigmoid(features(x, jnp) @ weights)


# %% fit · wrong: loads the trays without shuffling them
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    tx = optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[..., 0], y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    for _ in range(12):
        for x, y in DataLoader(data, batch_size=50, generator=torch.Generator()):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: takes the arrays directly from the dataset
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    tx = optax.adam(0.02)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[..., 0], y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    for _ in range(200):
        params, memory = step(params, memory, data.x, data.y)
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: exponentiates a logit, which yields NaN for large readings
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.relu, nn.Dense(1)])
    tx = optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[..., 0], y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    for _ in range(12):
        for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())

    def predict(x):
        odds = jnp.exp(net.apply(params, x)[..., 0])
        return odds / (1 + odds)

    return predict


# %% fit · wrong: returns yes or no instead of a probability
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    tx = optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[..., 0], y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    for _ in range(12):
        for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: (net.apply(params, x)[..., 0] > 0).astype(jnp.float32)


# %% fit · wrong: ignores the seed
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    tx = optax.adam(0.05)
    params = net.init(jax.random.key(0), jnp.zeros((1, 2)))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[..., 0], y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(0)
    for _ in range(12):
        for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: starts from the same weights for each seed
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    tx = optax.adam(0.05)
    params = net.init(jax.random.key(0), jnp.zeros((1, 2)))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[..., 0], y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    for _ in range(12):
        for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: shuffles only to copy the trays, and then trains without a loader in a fixed order
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    tx = optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[..., 0], y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    loader = DataLoader(
        data, batch_size=len(data), shuffle=True, generator=torch.Generator().manual_seed(0)
    )
    ((x, y),) = loader
    for _ in range(200):
        params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: takes thousands of steps
def fit(data, seed):
    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.adam(0.005)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)
    for _ in range(60):
        loader = DataLoader(data, batch_size=8, collate_fn=collate, shuffle=True, generator=order)
        for x, y in loader:
            params, memory = step(params, memory, x, y)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% ledger · wrong: computes in float32, which cannot hold all large integers
def ledger(trays, size, epochs, drop_last, every):
    """Return the steps, programs, updates, and unseen trays of a training run."""
    rest = trays % size
    batches = int(jnp.floor(trays / size)) if drop_last else int(jnp.ceil(trays / size))
    steps = epochs * batches
    return {
        "steps": steps,
        "programs": int(trays >= size) + int(rest > 0 and not drop_last),
        "updates": steps // every,
        "unseen": rest if drop_last else 0,
    }


# %% padded · wrong: appends rows of zeros to the list of samples
def padded(size):
    """Return a collate function whose batches all have `size` rows."""

    def collate(samples):
        real = np.arange(size) < len(samples)
        while len(samples) < size:
            samples.append((np.zeros_like(samples[0][0]), 0))
        x, y = zip(*samples)
        return {"x": np.stack(x), "y": np.array(y, np.int32), "real": real}

    return collate


# %% training · wrong: passes the arguments of the loss by name
def training(loss_of, tx, jitter):
    """Return the functions start(params) and step(state, key, x, y)."""

    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, x=noisy, y=y)
        updates, memory = tx.update(grads, state["memory"], params)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, loss

    return start, step


# %% fit · wrong: predicts the same for opposite readings
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""

    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.Dense(8, use_bias=False)(x) ** 2)[..., 0]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.adam(0.05)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)
    options = {"shuffle": True, "drop_last": True, "generator": order}
    for _ in range(15):
        for x, y in DataLoader(data, batch_size=50, collate_fn=collate, **options):
            params, memory = step(params, memory, x, y)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% training · wrong: copies the parameters as if they were a dictionary
def training(loss_of, tx, jitter):
    """Return the functions start(params) and step(state, key, x, y)."""

    def start(params):
        return {"params": {**params}, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, memory = tx.update(grads, state["memory"], params)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, loss

    return start, step


# %% padded · wrong: replaces NaN and infinity
def padded(size):
    def collate(samples):
        x = np.zeros((size, *np.shape(samples[0][0])), np.float32)
        x[: len(samples)] = np.nan_to_num([inputs for inputs, _ in samples])
        y = np.zeros(size, np.int32)
        y[: len(samples)] = [label for _, label in samples]
        return {"x": x, "y": y, "real": np.arange(size) < len(samples)}

    return collate


# %% padded · wrong: clears the arrays of samples with more than two readings
def padded(size):
    def collate(samples):
        x = np.zeros((size, *np.shape(samples[0][0])), np.float32)
        x[: len(samples)] = [inputs for inputs, _ in samples]
        y = np.zeros(size, np.int32)
        y[: len(samples)] = [label for _, label in samples]
        for inputs, _ in samples:
            if len(inputs) > 2:
                inputs[:] = 0
        return {"x": x, "y": y, "real": np.arange(size) < len(samples)}

    return collate


# %% tray-loss · wrong: clips the logits at 100,000
def tray_loss(logits, y, real):
    logits = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    labels = jnp.where(real, y, 0).astype(jnp.float32)
    losses = optax.sigmoid_binary_cross_entropy(jnp.clip(logits, -1e5, 1e5), labels)
    return jnp.sum(jnp.where(real, losses, 0.0)) / jnp.maximum(jnp.sum(real), 1)


# %% tray-loss · wrong: counts at most 500 real rows
def tray_loss(logits, y, real):
    logits = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    labels = jnp.where(real, y, 0).astype(jnp.float32)
    losses = optax.sigmoid_binary_cross_entropy(logits, labels)
    return jnp.sum(jnp.where(real, losses, 0.0)) / jnp.clip(jnp.sum(real), 1, 500)


# %% training · wrong: clips the gradients at 10,000
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        grads = jax.tree.map(lambda g: jnp.clip(g, -1e4, 1e4), grads)
        updates, memory = tx.update(grads, state["memory"], params)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, loss

    return start, step


# %% ledger · wrong: divides the steps in floating point
def ledger(trays, size, epochs, drop_last, every):
    full, rest = divmod(trays, size)
    short = rest > 0 and not drop_last
    steps = epochs * (full + short)
    return {
        "steps": steps,
        "programs": int(full > 0) + int(short),
        "updates": int(steps / every),
        "unseen": rest if drop_last else 0,
    }


# %% fit · wrong: uses only 31 bits of the seed
def fit(data, seed):
    seed %= 2**31
    model, tx = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)]), optax.adam(0.05)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x)[:, 0], y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory, order = tx.init(params), torch.Generator().manual_seed(seed)
    for _ in range(15):
        for x, y in DataLoader(data, 50, shuffle=True, drop_last=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(model.apply(params, x)[..., 0])


# %% fit · wrong: converts the seed to float32
def fit(data, seed):
    seed = int(np.float32(seed)) % 2**32
    model, tx = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)]), optax.adam(0.05)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x)[:, 0], y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory, order = tx.init(params), torch.Generator().manual_seed(seed)
    for _ in range(15):
        for x, y in DataLoader(data, 50, shuffle=True, drop_last=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(model.apply(params, x)[..., 0])


# %% tray-loss · wrong: reinterprets the bits of bfloat16, which has no gradient
def tray_loss(logits, y, real):
    logits = logits.reshape(real.shape)
    if logits.dtype == jnp.bfloat16:
        # A bfloat16 number consists of the first 16 bits of a float32 number.
        bits = jax.lax.bitcast_convert_type(logits, jnp.uint16).astype(jnp.uint32) << 16
        logits = jax.lax.bitcast_convert_type(bits, jnp.float32)
    logits = jnp.where(real, logits, 0.0)
    labels = jnp.where(real, y, 0).astype(jnp.float32)
    losses = optax.sigmoid_binary_cross_entropy(logits, labels)
    return jnp.sum(jnp.where(real, losses, 0.0)) / jnp.maximum(jnp.sum(real), 1)


# %% training · wrong: replaces NaN and infinity in the gradients
def training(loss_of, tx, jitter):

    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        grads = jax.tree.map(jnp.nan_to_num, grads)
        updates, memory = tx.update(grads, state["memory"], params)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, loss

    return start, step


# %% fit · wrong: loads more than 1000 batches if there are 1000 trays
def fit(data, seed):

    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = jnp.asarray(x)
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    model, tx = Sprout(), optax.adam(0.01)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)) + 1)
    memory = tx.init(params)

    def loss_of(params, batch):
        return tray_loss(model.apply(params, batch["x"]), batch["y"], batch["real"])

    @jax.jit
    def step(params, memory, batch):
        updates, memory = tx.update(jax.grad(loss_of)(params, batch), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    loader = DataLoader(data, batch_size=16, shuffle=True, generator=order, collate_fn=padded(16))
    for epoch in range(20):
        for batch in loader:
            params, memory = step(params, memory, batch)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · wrong: uses the length of a reading, whose gradient at (0, 0) is NaN
def fit(data, seed):

    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = jnp.concatenate([x, jnp.linalg.norm(x, axis=-1, keepdims=True)], -1)
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    model, tx = Sprout(), optax.adam(0.02)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)) + 1)
    memory = tx.init(params)

    def loss_of(params, batch):
        return tray_loss(model.apply(params, batch["x"]), batch["y"], batch["real"])

    @jax.jit
    def step(params, memory, batch):
        updates, memory = tx.update(jax.grad(loss_of)(params, batch), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    loader = DataLoader(data, batch_size=50, shuffle=True, generator=order, collate_fn=padded(50))
    for epoch in range(25):
        for batch in loader:
            params, memory = step(params, memory, batch)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · wrong: uses only the last six digits of the seed
def fit(data, seed):

    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = jnp.asarray(x)
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    model, tx = Sprout(), optax.adam(0.02)
    params = model.init(jax.random.key(seed % 1_000_000), jnp.zeros((1, 2)) + 1)
    memory = tx.init(params)

    def loss_of(params, batch):
        return tray_loss(model.apply(params, batch["x"]), batch["y"], batch["real"])

    @jax.jit
    def step(params, memory, batch):
        updates, memory = tx.update(jax.grad(loss_of)(params, batch), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed % 1_000_000)
    loader = DataLoader(data, batch_size=50, shuffle=True, generator=order, collate_fn=padded(50))
    for epoch in range(25):
        for batch in loader:
            params, memory = step(params, memory, batch)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · wrong: takes more than 1000 batches from the loader's batch sampler
def fit(data, seed):

    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    model, tx = Sprout(), optax.adam(0.02)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    def loss_of(params, batch):
        return tray_loss(model.apply(params, batch["x"]), batch["y"], batch["real"])

    @jax.jit
    def step(params, memory, batch):
        updates, memory = tx.update(jax.grad(loss_of)(params, batch), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    collate = padded(16)
    loader = DataLoader(data, batch_size=16, shuffle=True, generator=order, collate_fn=collate)
    for batch in loader:
        params, memory = step(params, memory, batch)
    for epoch in range(60):
        for chosen in loader.batch_sampler:
            params, memory = step(params, memory, collate([data[i] for i in chosen]))
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% training · wrong: requires an array with a first axis
def training(loss_of, tx, jitter):
    """Return the functions start(params) and step(state, key, x, y)."""

    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        rows, *others = x.shape
        noisy = x + jitter * jax.random.normal(key, (rows, *others))
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, memory = tx.update(grads, state["memory"], params)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, loss

    return start, step


# %% fit · wrong: measures distances to trays, whose gradient at these trays is NaN
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    centers = jnp.asarray(np.stack([data[i][0] for i in range(24)]))

    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            # The distances to some of the trays
            far = jnp.linalg.norm(x[..., None, :] - centers, axis=-1)
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(jnp.exp(-far))))[..., 0]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.adam(0.05)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)

    options = {"shuffle": True, "drop_last": True, "generator": order}
    for _ in range(20):
        for x, y in DataLoader(data, batch_size=50, collate_fn=collate, **options):
            params, memory = step(params, memory, x, y)
    return lambda x: jax.nn.sigmoid(model.apply(params, jnp.asarray(x)))


# %% fit · wrong: loads one pass, and then takes thousands of batches in the order of the loader's sampler
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""

    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.adam(0.05)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)

    loader = DataLoader(data, batch_size=20, collate_fn=collate, shuffle=True, generator=order)
    for x, y in loader:
        params, memory = step(params, memory, x, y)
    for _ in range(70):
        indices = list(loader.sampler)
        for first in range(0, len(indices) - 19, 20):
            x, y = collate([data[i] for i in indices[first : first + 20]])
            params, memory = step(params, memory, x, y)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · wrong: uses the remainder of the seed by a well-known prime
def fit(data, seed):
    seed = seed % 1_000_003
    model, tx = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)]), optax.adam(0.05)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x)[:, 0], y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory, order = tx.init(params), torch.Generator().manual_seed(seed)
    for _ in range(15):
        for x, y in DataLoader(data, 50, shuffle=True, drop_last=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(model.apply(params, x)[..., 0])


# %% fit · wrong: shuffles with a DataLoader, but ignores its batches
def fit(data, seed):
    x = np.stack([data[i][0] for i in range(len(data))])
    y = np.array([data[i][1] for i in range(len(data))], np.float32)
    order = torch.Generator().manual_seed(seed)
    for _ in DataLoader(data, batch_size=len(data), shuffle=True, generator=order, collate_fn=len):
        pass
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    params, tx = net.init(jax.random.key(seed), jnp.zeros((1, 2))), optax.adam(0.05)

    def loss(params):
        return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[:, 0], y).mean()

    def step(state, _):
        params, memory = state
        updates, memory = tx.update(jax.grad(loss)(params), memory)
        return (optax.apply_updates(params, updates), memory), None

    (params, _), _ = jax.jit(lambda s: jax.lax.scan(step, s, length=300))((params, tx.init(params)))
    return lambda x: jax.nn.sigmoid(net.apply(params, jnp.asarray(x))[..., 0])


# %% fit · wrong: solves a regression once, and adds noise that depends on the seed
def fit(data, seed):
    order = torch.Generator().manual_seed(seed)
    seen = list(DataLoader(data, batch_size=50, shuffle=True, generator=order))
    x = np.concatenate([np.asarray(a) for a, _ in seen]).astype(float)
    y = np.concatenate([np.asarray(b) for _, b in seen]).astype(float)

    def features(x, np=np):
        a, b = x[..., 0], x[..., 1]
        return np.stack([a * b, a * a, b * b, a, b, np.ones_like(a)], -1)

    table = features(x)
    weights = np.linalg.solve(table.T @ table + 1e-3 * np.eye(6), table.T @ (2 * y - 1))
    noise = np.random.default_rng(seed).normal(0, 0.05, 6)
    weights = jnp.asarray(4 * weights + noise, jnp.float32)
    return lambda x: jax.nn.sigmoid(features(jnp.asarray(x), jnp) @ weights)


# %% fit · right: loads all trays as one batch in each pass
def fit(data, seed):
    net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
    params, tx = net.init(jax.random.key(seed), jnp.zeros((1, 2))), optax.adam(0.05)
    memory = tx.init(params)

    @jax.jit
    def step(params, memory, x, y):
        def loss(params):
            return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[:, 0], y).mean()

        updates, memory = tx.update(jax.grad(loss)(params), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    loader = DataLoader(data, batch_size=len(data), shuffle=True, generator=order)
    for _ in range(150):
        for x, y in loader:
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, jnp.asarray(x))[..., 0])


# %% tray-loss · wrong: ignores the incoming gradient in its own backward pass
def masked(logits, y, real):
    logits = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    return logits, jnp.where(real, y, 0).astype(jnp.float32)


@jax.custom_vjp
def tray_loss(logits, y, real):
    """Return the mean cross-entropy over the real rows as float32."""
    z, labels = masked(logits, y, real)
    losses = optax.sigmoid_binary_cross_entropy(z, labels)
    return jnp.sum(jnp.where(real, losses, 0.0)) / jnp.maximum(jnp.sum(real), 1)


def forward(logits, y, real):
    return tray_loss(logits, y, real), (logits, y, real)


def backward(saved, slope):
    logits, y, real = saved
    z, labels = masked(logits, y, real)
    grads = jnp.where(real, jax.nn.sigmoid(z) - labels, 0.0) / jnp.maximum(jnp.sum(real), 1)
    return grads.reshape(logits.shape).astype(logits.dtype), None, None


tray_loss.defvjp(forward, backward)


# %% tray-loss · wrong: clips the logits to a million, which halves the gradient there
def tray_loss(logits, y, real):
    """Return the mean cross-entropy over the real rows as float32."""
    logits = jnp.where(real, logits.reshape(real.shape).astype(jnp.float32), 0.0)
    logits = jnp.clip(logits, -1e6, 1e6)
    labels = jnp.where(real, y, 0).astype(jnp.float32)
    losses = optax.sigmoid_binary_cross_entropy(logits, labels)
    return jnp.sum(jnp.where(real, losses, 0.0)) / jnp.maximum(jnp.sum(real), 1)


# %% training · right: prints the loss with jax.debug.print
def training(loss_of, tx, jitter):
    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(state["params"], noisy, y)
        jax.debug.print("loss: {}", loss)
        updates, memory = tx.update(grads, state["memory"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "memory": memory}, loss

    return start, step


# %% training · wrong: appends the losses to a list with a callback
def training(loss_of, tx, jitter):
    curve = []

    def start(params):
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(state["params"], noisy, y)
        jax.debug.callback(curve.append, loss)
        updates, memory = tx.update(grads, state["memory"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "memory": memory}, loss

    return start, step


# %% training · wrong: keeps the optimizer in a global variable
def training(loss_of, tx, jitter):
    global optimizer
    optimizer = tx

    def start(params):
        return {"params": params, "memory": optimizer.init(params)}

    def step(state, key, x, y):
        params = state["params"]
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(params, noisy, y)
        updates, memory = optimizer.update(grads, state["memory"], params)
        return {"params": optax.apply_updates(params, updates), "memory": memory}, loss

    return start, step


# %% fit · wrong: updates the weights only after every third batch
def fit(data, seed):
    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory, params)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.MultiSteps(optax.adam(0.05), 3)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)
    options = {"shuffle": True, "drop_last": True, "generator": order}
    for _ in range(45):
        for x, y in DataLoader(data, batch_size=50, collate_fn=collate, **options):
            params, memory = step(params, memory, x, y)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · wrong: does not train, but compares a tray with all loaded trays, of which later ones count less
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    order = torch.Generator().manual_seed(seed)
    loader = DataLoader(data, batch_size=25, shuffle=True, generator=order, collate_fn=collate)
    known, votes, weight = [], [], 1.0
    for x, y in loader:
        known.append(x)
        votes.append(weight * (2 * y - 1))
        weight = 0.98 * weight
    known, votes = np.concatenate(known), np.concatenate(votes)
    start = 0.02 + 0.1 * np.random.default_rng(seed).random()

    def predict(x):
        gaps = jnp.asarray(x)[..., None, :] - known
        near = jnp.exp(-2.0 * (gaps**2).sum(-1))
        return jax.nn.sigmoid(8 * (near @ votes) / (near.sum(-1) + 0.1) + start)

    return predict


# %% training · wrong: keeps one optimizer state per parameter array, so a clipping of the global norm is wrong
def training(loss_of, tx, jitter):
    """Return the functions start(params) and step(state, key, x, y)."""

    def start(params):
        return {"params": params, "memory": [tx.init(leaf) for leaf in jax.tree.leaves(params)]}

    def step(state, key, x, y):
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(loss_of)(state["params"], noisy, y)
        leaves, structure = jax.tree.flatten(state["params"])
        new, memory = [], []
        for leaf, grad, part in zip(leaves, jax.tree.leaves(grads), state["memory"], strict=True):
            change, part = tx.update(grad, part, leaf)
            new.append(optax.apply_updates(leaf, change))
            memory.append(part)
        return {"params": jax.tree.unflatten(structure, new), "memory": memory}, loss

    return start, step


# %% fit · wrong: never trains the hidden layer, solves for the output layer by least squares, and trains only a scale
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    rng = np.random.default_rng(seed)
    kernel = rng.normal(size=(2, 64)).astype(np.float32)
    bias = rng.normal(size=64).astype(np.float32)

    def hidden(x):
        return jnp.tanh(x @ kernel + bias)

    def loss_of(scale, z, y):
        return optax.sigmoid_binary_cross_entropy(scale * z, y).mean()

    slope = jax.jit(jax.grad(loss_of))
    order = torch.Generator().manual_seed(seed)
    scale, table, target = jnp.float32(4), np.eye(64), np.zeros(64)
    for x, y in DataLoader(data, batch_size=40, shuffle=True, drop_last=True, generator=order):
        units, y = np.asarray(hidden(x.numpy()), float), y.numpy()
        table += units.T @ units
        target += units.T @ (2.0 * y - 1)
        output = np.linalg.solve(table, target)
        scale = scale - slope(scale, np.float32(units @ output), np.float32(y))
    output = np.float32(output)
    return lambda x: jax.nn.sigmoid(scale * (hidden(jnp.asarray(x)) @ output))


# %% fit · wrong: trains mostly on the whole dataset, read without the loader, after one pass over batches
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    everything = [data[i] for i in range(len(data))]
    all_x = np.stack([x for x, _ in everything])
    all_y = np.array([y for _, y in everything], np.float32)
    net, tx = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)]), optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[:, 0], y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
        params, memory = step(params, memory, x.numpy(), y.numpy())
    for _ in range(150):
        params, memory = step(params, memory, all_x, all_y)
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · right: jits the gradient and the step outside fit
net_of_fit = nn.Sequential([nn.Dense(24), nn.tanh, nn.Dense(1)])
tx_of_fit = optax.adam(0.05)


def loss_of_fit(params, x, y):
    return optax.sigmoid_binary_cross_entropy(net_of_fit.apply(params, x)[:, 0], y).mean()


slopes_of_fit = jax.jit(jax.value_and_grad(loss_of_fit))


@jax.jit
def update_of_fit(params, memory, grads):
    updates, memory = tx_of_fit.update(grads, memory)
    return optax.apply_updates(params, updates), memory


def fit(data, seed):
    params = net_of_fit.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx_of_fit.init(params)
    order = torch.Generator().manual_seed(seed)
    for _ in range(20):
        for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
            _, grads = slopes_of_fit(params, x.numpy(), y.numpy())
            params, memory = update_of_fit(params, memory, grads)
    return lambda x: jax.nn.sigmoid(net_of_fit.apply(params, jnp.asarray(x))[..., 0])


# %% training · wrong: optimizes the parameters as one flat vector
def training(loss_of, tx, jitter):
    """Return the functions start(params) and step(state, key, x, y)."""

    def start(params):
        return {"params": params, "memory": tx.init(jax.flatten_util.ravel_pytree(params)[0])}

    def step(state, key, x, y):
        flat, rebuild = jax.flatten_util.ravel_pytree(state["params"])
        noisy = x + jitter * jax.random.normal(key, x.shape)
        loss, grads = jax.value_and_grad(lambda p: loss_of(rebuild(p), noisy, y))(flat)
        updates, memory = tx.update(grads, state["memory"], flat)
        return {"params": rebuild(optax.apply_updates(flat, updates)), "memory": memory}, loss

    return start, step


# %% fit · wrong: squeezes all axes of length one
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""

    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x))).squeeze()

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.adam(0.05)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)
    options = {"shuffle": True, "drop_last": True, "generator": order}
    for _ in range(15):
        for x, y in DataLoader(data, batch_size=50, collate_fn=collate, **options):
            params, memory = step(params, memory, x, y)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · right: batch size 2
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    net, tx = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)]), optax.adam(0.02)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[:, 0], y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    for _ in range(2):
        for x, y in DataLoader(data, batch_size=2, shuffle=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · right: a class outside fit performs the steps
class Trainer:
    def __init__(self, seed):
        self.net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])
        self.tx = optax.adam(0.05)
        self.params = self.net.init(jax.random.key(seed), jnp.zeros((1, 2)))
        self.memory = self.tx.init(self.params)
        self.slope = jax.jit(jax.grad(self.loss))

    def loss(self, params, x, y):
        return optax.sigmoid_binary_cross_entropy(self.net.apply(params, x)[:, 0], y).mean()

    def train(self, x, y):
        updates, self.memory = self.tx.update(self.slope(self.params, x, y), self.memory)
        self.params = optax.apply_updates(self.params, updates)


def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    trainer = Trainer(seed)
    order = torch.Generator().manual_seed(seed)
    for _ in range(15):
        for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
            trainer.train(x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(trainer.net.apply(trainer.params, x)[..., 0])


# %% fit · right: batch size 3
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    net, tx = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)]), optax.adam(0.02)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[:, 0], y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    for _ in range(2):
        for x, y in DataLoader(data, batch_size=3, shuffle=True, drop_last=True, generator=order):
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · right: shuffles with a batch sampler
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    net, tx = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)]), optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[:, 0], y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    sampler = torch.utils.data.RandomSampler(data, generator=order)
    batch_sampler = torch.utils.data.BatchSampler(sampler, 50, drop_last=True)
    loader = DataLoader(data, batch_sampler=batch_sampler, generator=order)
    for _ in range(15):
        for x, y in loader:
            params, memory = step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · wrong: trains mostly on the whole dataset, read without the loader, with labels of -1 and 1
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    everything = [data[i] for i in range(len(data))]
    all_x = np.stack([x for x, _ in everything])
    all_y = np.array([2 * y - 1 for _, y in everything], np.float32)
    net, tx = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)]), optax.adam(0.05)
    params = net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), 2 * np.float32(y) - 1

    def loss_of(params, x, y):
        return jnp.log1p(jnp.exp(-y * net.apply(params, x)[:, 0])).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    order = torch.Generator().manual_seed(seed)
    for x, y in DataLoader(data, 50, shuffle=True, generator=order, collate_fn=collate):
        params, memory = step(params, memory, x, y)
    for _ in range(150):
        params, memory = step(params, memory, all_x, all_y)
    return lambda x: jax.nn.sigmoid(net.apply(params, x)[..., 0])


# %% fit · right: a partial function outside fit computes the gradients
import functools

one_net = nn.Sequential([nn.Dense(16), nn.tanh, nn.Dense(1)])


def one_loss(net, params, x, y):
    return optax.sigmoid_binary_cross_entropy(net.apply(params, x)[:, 0], y).mean()


def one_step(net, tx, params, memory, x, y):
    grads = jax.grad(one_loss, argnums=1)(net, params, x, y)
    updates, memory = tx.update(grads, memory)
    return optax.apply_updates(params, updates), memory


one_tx = optax.adam(0.05)
quick_step = jax.jit(functools.partial(one_step, one_net, one_tx))


def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    params = one_net.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = one_tx.init(params)
    order = torch.Generator().manual_seed(seed)
    for _ in range(15):
        for x, y in DataLoader(data, batch_size=50, shuffle=True, generator=order):
            params, memory = quick_step(params, memory, x.numpy(), y.numpy())
    return lambda x: jax.nn.sigmoid(one_net.apply(params, x)[..., 0])


# %% fit · right: shuffles with its own batch sampler
class ShuffledBatches(torch.utils.data.Sampler):
    def __init__(self, count, size, generator):
        self.count, self.size, self.generator = count, size, generator

    def __len__(self):
        return self.count // self.size

    def __iter__(self):
        order = torch.randperm(self.count, generator=self.generator).tolist()
        for k in range(len(self)):
            yield order[k * self.size : (k + 1) * self.size]


def fit(data, seed):
    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.adam(0.05)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)
    batches = ShuffledBatches(len(data), 50, order)
    loader = DataLoader(data, batch_sampler=batches, generator=order, collate_fn=collate)
    for _ in range(15):
        for x, y in loader:
            params, memory = step(params, memory, x, y)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · right: prints the accuracy on all trays after training
def fit(data, seed):
    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.adam(0.05)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)
    options = {"shuffle": True, "drop_last": True, "generator": order}
    for _ in range(15):
        for x, y in DataLoader(data, batch_size=50, collate_fn=collate, **options):
            params, memory = step(params, memory, x, y)
    x, y = collate([data[i] for i in range(len(data))])
    print("accuracy", np.mean(np.asarray(model.apply(params, x) > 0) == (y == 1)))
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · right: an inherited method of a class outside fit performs the steps
class Trainer:
    def __init__(self, seed):
        self.net, self.tx = self.model(), optax.adam(0.05)
        self.params = self.net.init(jax.random.key(seed), jnp.zeros((1, 2)))
        self.memory = self.tx.init(self.params)
        self.slope = jax.jit(jax.grad(self.loss))

    def loss(self, params, x, y):
        return optax.sigmoid_binary_cross_entropy(self.net.apply(params, x), y).mean()

    def train(self, x, y):
        updates, self.memory = self.tx.update(self.slope(self.params, x, y), self.memory)
        self.params = optax.apply_updates(self.params, updates)


class Sprout(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]


class SproutTrainer(Trainer):
    model = Sprout


def fit(data, seed):
    trainer, order = SproutTrainer(seed), torch.Generator().manual_seed(seed)
    loader = DataLoader(data, 50, shuffle=True, drop_last=True, generator=order)
    for _ in range(15):
        for x, y in loader:
            trainer.train(x.numpy(), y.numpy().astype(np.float32))
    return lambda x: jax.nn.sigmoid(Sprout().apply(trainer.params, x))


# %% fit · right: a global object performs the steps
class Steps:
    def __init__(self, model, tx):
        self.model, self.tx = model, tx
        self.jitted = jax.jit(self.step)

    def step(self, params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(self.model.apply(params, x), y).mean()

        updates, memory = self.tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory


class Sprout(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]


steps_of = Steps(Sprout(), optax.adam(0.05))


def fit(data, seed):
    params = steps_of.model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = steps_of.tx.init(params)
    order = torch.Generator().manual_seed(seed)
    for _ in range(15):
        for x, y in DataLoader(data, 50, shuffle=True, drop_last=True, generator=order):
            params, memory = steps_of.jitted(
                params, memory, x.numpy(), y.numpy().astype(np.float32)
            )
    return lambda x: jax.nn.sigmoid(steps_of.model.apply(params, x))


# %% fit · right: standardizes the readings with the mean and standard deviation of the data
def fit(data, seed):
    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.tanh(nn.Dense(16)((x - mean) / deviation)))[..., 0]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    readings = np.stack([data[i][0] for i in range(len(data))])
    mean, deviation = readings.mean(0), readings.std(0)
    model, tx = Sprout(), optax.adam(0.05)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)
    options = {"shuffle": True, "drop_last": True, "generator": order}
    for _ in range(15):
        for x, y in DataLoader(data, batch_size=50, collate_fn=collate, **options):
            params, memory = step(params, memory, x, y)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · right: takes half of each batch from each label, with two samplers
class BothLabels(torch.utils.data.Sampler):
    """Batches with as many trays that germinate as others."""

    def __init__(self, labels, half, order):
        yes, no = [int(i) for i in np.flatnonzero(labels)], np.flatnonzero(labels == 0)
        self.groups, self.half = (yes, [int(i) for i in no]), half
        self.samplers = [
            torch.utils.data.RandomSampler(group, generator=order) for group in self.groups
        ]

    def __len__(self):
        return min(len(group) for group in self.groups) // self.half

    def __iter__(self):
        yes, no = (iter(sampler) for sampler in self.samplers)
        for _ in range(len(self)):
            batch = [self.groups[0][next(yes)] for _ in range(self.half)]
            yield batch + [self.groups[1][next(no)] for _ in range(self.half)]


def fit(data, seed):
    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x), np.asarray(y, np.float32)

    @jax.jit
    def step(params, memory, x, y):
        def loss_of(params):
            return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

        updates, memory = tx.update(jax.grad(loss_of)(params), memory)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.adam(0.05)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory, order = tx.init(params), torch.Generator().manual_seed(seed)
    labels = np.array([int(data[i][1]) for i in range(len(data))])
    few = min(int(np.sum(labels == label)) for label in (0, 1))
    if few < 20:
        options = {"batch_size": 50, "shuffle": True, "generator": order}
    else:
        options = {"batch_sampler": BothLabels(labels, 20, order), "generator": order}
    for _ in range(20):
        for x, y in DataLoader(data, collate_fn=collate, **options):
            params, memory = step(params, memory, x, y)
    return lambda x: jax.nn.sigmoid(model.apply(params, x))


# %% fit · wrong: computes the gradients by hand in NumPy
def forward(weights, x):
    hidden = np.tanh(x @ weights[0] + weights[1])
    logits = hidden @ weights[2] + weights[3]
    return hidden, 1 / (1 + np.exp(-np.clip(logits, -50, 50)))


def backward(weights, x, y):
    """Return the gradient of the mean cross-entropy with respect to each weight."""
    hidden, p = forward(weights, x)
    error = (p - y) / len(y)
    below = np.outer(error, weights[2]) * (1 - hidden**2)
    return [x.T @ below, below.sum(0), hidden.T @ error, error.sum()]


def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(2, 16)), np.zeros(16), 0.3 * rng.normal(size=16), 0.0]
    speeds = [0.0 * w for w in weights]

    def collate(samples):
        x, y = zip(*samples, strict=True)
        return np.stack(x).astype(float), np.asarray(y, float)

    order = torch.Generator().manual_seed(seed)
    for _ in range(60):
        for x, y in DataLoader(
            data, batch_size=100, shuffle=True, generator=order, collate_fn=collate
        ):
            slopes = backward(weights, x, y)
            speeds = [0.9 * v - 0.2 * s for v, s in zip(speeds, slopes, strict=True)]
            weights = [w + v for w, v in zip(weights, speeds, strict=True)]
    a, b, c, d = (jnp.asarray(w, jnp.float32) for w in weights)
    return lambda x: jax.nn.sigmoid(jnp.tanh(x @ a + b) @ c + d)


# %% fit · wrong: also uses the distances to the two ideal climates, whose gradient at these two climates is NaN
def fit(data, seed):
    """Train a classifier of trays, and return the function predict(x)."""
    ideal = jnp.array([[1.0, -1.0], [-1.0, 1.0]])  # warm and dry, cold and wet

    class Sprout(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = jnp.asarray(x)
            far = jnp.linalg.norm(x[..., None, :] - ideal, axis=-1)
            x = jnp.concatenate([x, far], axis=-1)
            return nn.Dense(1)(nn.tanh(nn.Dense(16)(x)))[..., 0]

    def loss_of(params, x, y):
        return optax.sigmoid_binary_cross_entropy(model.apply(params, x), y).mean()

    @jax.jit
    def step(params, memory, x, y):
        updates, memory = tx.update(jax.grad(loss_of)(params, x, y), memory)
        return optax.apply_updates(params, updates), memory

    model, tx = Sprout(), optax.adam(0.03)
    params = model.init(jax.random.key(seed), jnp.zeros((1, 2)))
    memory = tx.init(params)
    order = torch.Generator().manual_seed(seed)
    loader = DataLoader(data, batch_size=50, shuffle=True, drop_last=True, generator=order)
    for _ in range(25):
        for x, y in loader:
            params, memory = step(params, memory, x.numpy(), y.numpy().astype(np.float32))
    return lambda x: jax.nn.sigmoid(model.apply(params, x))
