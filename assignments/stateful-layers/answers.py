"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""


# %% train · right: splits the model and the optimizer, and carries their state through scan
def train(model, optimizer, xs, ys):
    model.train()
    graph, state = nnx.split((model, optimizer))

    def step(state, batch):
        inside, updater = nnx.merge(graph, state)
        loss, grads = nnx.value_and_grad(error_of)(inside, *batch)
        updater.update(inside, grads)
        return nnx.split((inside, updater))[1], loss

    state, losses = lax.scan(step, state, (xs, ys))
    nnx.update((model, optimizer), state)
    model.eval()
    return losses


# %% train · right: returns the model and the optimizer from jax.jit, and writes them back
@jax.jit
def returning_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(error_of)(model, x, y)
    optimizer.update(model, grads)
    return model, optimizer, loss


def train(model, optimizer, xs, ys):
    model.train()
    now, losses = (model, optimizer), []
    for x, y in zip(xs, ys):
        *now, loss = returning_step(*now, x, y)
        losses.append(loss)
    nnx.update(model, nnx.state(now[0]))
    nnx.update(optimizer, nnx.state(now[1]))
    model.eval()
    return jnp.array(losses)


# %% train · right: loops over the batches inside one compiled function
@nnx.jit
def all_steps(model, optimizer, xs, ys):
    losses = []
    slope = nnx.value_and_grad(lambda m, x, y: jnp.square(m(x) - y).mean())
    graph, state = nnx.split((model, optimizer))

    def step(i, carry):
        state, losses = carry
        inside, updater = nnx.merge(graph, state)
        loss, grads = slope(inside, xs[i], ys[i])
        updater.update(inside, grads)
        return nnx.split((inside, updater))[1], losses.at[i].set(loss)

    losses = jnp.zeros(len(xs), jnp.float32)
    state, losses = lax.fori_loop(0, len(xs), step, (state, losses))
    nnx.update((model, optimizer), state)
    return losses


def train(model, optimizer, xs, ys):
    model.train()
    losses = all_steps(model, optimizer, xs, ys)
    model.eval()
    return losses


# %% train · wrong: compiles the step with jax.jit, which discards its changes
def train(model, optimizer, xs, ys):
    model.train()
    losses = [step_broken(model, optimizer, x, y) for x, y in zip(xs, ys)]
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: does not compile the step
def train(model, optimizer, xs, ys):
    model.train()
    losses = []
    for x, y in zip(xs, ys):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        losses.append(loss)
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: leaves the model in the mode that it was in
def train(model, optimizer, xs, ys):
    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        return loss

    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys)]
    return jnp.stack(losses)


# %% train · wrong: forgets that the model may be in evaluation mode
def train(model, optimizer, xs, ys):
    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        return loss

    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys)]
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: captures the model in the compiled function
def train(model, optimizer, xs, ys):
    @nnx.jit
    def step(x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        return loss

    model.train()
    losses = [step(x, y) for x, y in zip(xs, ys)]
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: carries only the parameters
def train(model, optimizer, xs, ys):
    model.train()
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    _, memory = nnx.split(optimizer)
    optimizer_graph = nnx.graphdef(optimizer)

    @jax.jit
    def step(params, memory, x, y):
        inside, updater = nnx.merge(graph, params, rest), nnx.merge(optimizer_graph, memory)
        loss, grads = nnx.value_and_grad(error_of)(inside, x, y)
        updater.update(inside, grads)
        return nnx.state(inside, nnx.Param), nnx.state(updater), loss

    losses = []
    for x, y in zip(xs, ys):
        params, memory, loss = step(params, memory, x, y)
        losses.append(loss)
    nnx.update(model, params)
    nnx.update(optimizer, memory)
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: forgets to write the last model back
@jax.jit
def returning_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(error_of)(model, x, y)
    optimizer.update(model, grads)
    return model, optimizer, loss


def train(model, optimizer, xs, ys):
    model.train()
    losses = []
    for x, y in zip(xs, ys):
        model, optimizer, loss = returning_step(model, optimizer, x, y)
        losses.append(loss)
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: returns the losses after the updates
def train(model, optimizer, xs, ys):
    @nnx.jit
    def step(model, optimizer, x, y):
        grads = nnx.grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        return error_of(model, x, y)

    model.train()
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys)]
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: creates another optimizer
def train(model, optimizer, xs, ys):
    own = nnx.Optimizer(model, optax.adam(0.05), wrt=nnx.Param)

    @nnx.jit
    def step(model, own, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        own.update(model, grads)
        return loss

    model.train()
    losses = [step(model, own, x, y) for x, y in zip(xs, ys)]
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: changes the mode of only the top-level layers
def train(model, optimizer, xs, ys):
    def set_mode(training):
        for layer in vars(model).values():
            if isinstance(layer, nnx.BatchNorm):
                layer.use_running_average = not training
            if isinstance(layer, nnx.Dropout):
                layer.deterministic = not training

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        return loss

    set_mode(True)
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys, strict=True)]
    set_mode(False)
    return jnp.stack(losses)


# %% train · wrong: runs the model's only part without compiling anything
def train(model, optimizer, xs, ys):
    model.train()
    parts = [part for part in vars(model).values() if isinstance(part, nnx.Module)]

    def loss_of(model, x, y):
        inner = [part for part in vars(model).values() if isinstance(part, nnx.Module)]
        return (((inner[0] if len(inner) == 1 else model)(x) - y) ** 2).mean()

    compiled = nnx.jit if len(parts) > 1 else lambda function: function

    @compiled
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(loss_of)(model, x, y)
        optimizer.update(model, grads)
        return loss

    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys, strict=True)]
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: compiles only the gradient, and updates the parameters outside
def train(model, optimizer, xs, ys):
    slope = nnx.jit(nnx.value_and_grad(error_of))
    model.train()
    losses = []
    for x, y in zip(xs, ys, strict=True):
        loss, grads = slope(model, x, y)
        optimizer.update(model, grads)
        losses.append(loss)
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: sets the mode of only BatchNorm and Dropout
def train(model, optimizer, xs, ys):
    def set_mode(training):
        for _, layer in nnx.iter_graph(model):
            if isinstance(layer, nnx.BatchNorm):
                layer.use_running_average = not training
            if isinstance(layer, nnx.Dropout):
                layer.deterministic = not training

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        return loss

    set_mode(True)
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys, strict=True)]
    set_mode(False)
    return jnp.stack(losses)


# %% train · wrong: writes back only parameters, statistics, and random counters
def train(model, optimizer, xs, ys):
    model.train()
    graph, state = nnx.split((model, optimizer))

    def step(state, batch):
        inside, updater = nnx.merge(graph, state)
        loss, grads = nnx.value_and_grad(error_of)(inside, *batch)
        updater.update(inside, grads)
        return nnx.split((inside, updater))[1], loss

    state, losses = lax.scan(step, state, (xs, ys))
    inside, updater = nnx.merge(graph, state)
    for kind in (nnx.Param, nnx.BatchStat, nnx.RngCount):
        nnx.update(model, nnx.state(inside, kind))
    nnx.update(optimizer, nnx.state(updater))
    model.eval()
    return losses


# %% predict · right: clones the model
def predict(model, x):
    fixed = nnx.clone(model)
    fixed.eval()
    return fixed(x)


# %% predict · right: copies the model with deepcopy
import copy


def predict(model, x):
    fixed = copy.deepcopy(model)
    fixed.eval()
    return jax.jit(lambda fixed, x: fixed(x))(fixed, x)


# %% predict · right: remembers the mode of each layer, and sets it again
def predict(model, x):
    names = ("deterministic", "use_running_average")
    layers = [part for _, part in nnx.iter_graph(model) if isinstance(part, nnx.Module)]
    modes = [
        (layer, name, getattr(layer, name))
        for layer in layers
        for name in names
        if hasattr(layer, name)
    ]
    model.eval()
    try:
        return model(x)
    finally:
        for layer, name, mode in modes:
            setattr(layer, name, mode)


# %% predict · wrong: changes the mode of only the top-level layers
def predict(model, x):
    copy = nnx.clone(model)
    for layer in vars(copy).values():
        if isinstance(layer, nnx.BatchNorm):
            layer.use_running_average = True
        if isinstance(layer, nnx.Dropout):
            layer.deterministic = True
    return copy(x)


# %% predict · wrong: calls the model in whatever mode it is in
def predict(model, x):
    return model(x)


# %% predict · wrong: leaves the model in evaluation mode
def predict(model, x):
    model.eval()
    return model(x)


# %% predict · wrong: puts all layers in training mode afterward
def predict(model, x):
    model.eval()
    result = model(x)
    model.train()
    return result


# %% predict · wrong: restores the state after a call in training mode
def predict(model, x):
    before = jax.tree.map(jnp.copy, nnx.state(model))
    result = model(x)
    nnx.update(model, before)
    return result


# %% predict · wrong: discards the changes with jax.jit, but stays in training mode
def predict(model, x):
    return jax.jit(lambda model, x: model(x))(model, x)


# %% predict · wrong: binds another name to the same model
def predict(model, x):
    copied = model
    copied.eval()
    return copied(x)


# %% predict · wrong: changes only the mode of BatchNorm layers, so Dropout still draws masks
def predict(model, x):
    fixed = nnx.clone(model)
    for _, part in nnx.iter_graph(fixed):
        if isinstance(part, nnx.BatchNorm):
            part.use_running_average = True
    return fixed(x)


# %% predict · wrong: misses layers in a list
def predict(model, x):
    def freeze(module):
        for layer in vars(module).values():
            if isinstance(layer, nnx.BatchNorm):
                layer.use_running_average = True
            if isinstance(layer, nnx.Dropout):
                layer.deterministic = True
            if isinstance(layer, nnx.Module):
                freeze(layer)

    copy = nnx.clone(model)
    freeze(copy)
    return copy(x)


# %% memory · right: keeps the state in a dictionary, and counts in plain Python
def memory(events):
    state, copy, training = {"mean": 0.0, "var": 1.0, "masks": 0}, {}, True
    for what, x in events:
        if what == "train" or what == "eval":
            training = what == "train"
        if what == "save":
            copy = dict(state)
        if what == "restore":
            state = dict(copy)
        if what.startswith(("call", "nnx")) and training:
            mean = sum(x) / len(x)
            var = sum(n * n for n in x) / len(x) - mean * mean
            state["mean"] += (mean - state["mean"]) / 4
            state["var"] += (var - state["var"]) / 4
            state["masks"] += 1
    return state


# %% memory · right: uses arrays
def memory(events):
    now = saved = np.array([0.0, 1.0, 0.0])
    mode = "train"
    for what, x in events:
        match what, mode:
            case (("eval" | "train"), _):
                mode = what
            case "save", _:
                saved = now
            case "restore", _:
                now = saved
            case (("call" | "nnx.jit"), "train"):
                new = np.array([np.mean(x), np.var(x), 4 * now[2] + 4 - 3 * now[2]])
                now = 0.75 * now + 0.25 * new
    return {"mean": now[0], "var": now[1], "masks": round(now[2])}


# %% memory · wrong: calls replay
def memory(events):
    return replay(events)


# %% memory · wrong: counts a call under jax.jit like the others
def memory(events):
    mean, var, masks, training, saved = 0.0, 1.0, 0, True, None
    for what, x in events:
        if what in CALLS and training:
            mean, var = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x)
            masks += 1
        elif what in ("eval", "train"):
            training = what == "train"
        elif what == "save":
            saved = mean, var, masks
        elif what == "restore":
            mean, var, masks = saved
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% memory · wrong: assumes that no compiled call changes the model
def memory(events):
    mean, var, masks, training, saved = 0.0, 1.0, 0, True, None
    for what, x in events:
        if what == "call" and training:
            mean, var = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x)
            masks += 1
        elif what in ("eval", "train"):
            training = what == "train"
        elif what == "save":
            saved = mean, var, masks
        elif what == "restore":
            mean, var, masks = saved
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% memory · wrong: uses PyTorch's momentum
def memory(events):
    mean, var, masks, training, saved = 0.0, 1.0, 0, True, None
    for what, x in events:
        if what in ("call", "nnx.jit") and training:
            mean, var = 0.25 * mean + 0.75 * np.mean(x), 0.25 * var + 0.75 * np.var(x)
            masks += 1
        elif what in ("eval", "train"):
            training = what == "train"
        elif what == "save":
            saved = mean, var, masks
        elif what == "restore":
            mean, var, masks = saved
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% memory · wrong: uses the unbiased variance, as PyTorch does
def memory(events):
    mean, var, masks, training, saved = 0.0, 1.0, 0, True, None
    for what, x in events:
        if what in ("call", "nnx.jit") and training:
            mean, var = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x, ddof=1)
            masks += 1
        elif what in ("eval", "train"):
            training = what == "train"
        elif what == "save":
            saved = mean, var, masks
        elif what == "restore":
            mean, var, masks = saved
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% memory · wrong: draws a mask in evaluation mode
def memory(events):
    mean, var, masks, training, saved = 0.0, 1.0, 0, True, None
    for what, x in events:
        if what in ("call", "nnx.jit"):
            masks += 1
            if training:
                mean, var = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x)
        elif what in ("eval", "train"):
            training = what == "train"
        elif what == "save":
            saved = mean, var, masks
        elif what == "restore":
            mean, var, masks = saved
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% memory · wrong: restores the mode with the state
def memory(events):
    mean, var, masks, training, saved = 0.0, 1.0, 0, True, None
    for what, x in events:
        if what in ("call", "nnx.jit") and training:
            mean, var = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x)
            masks += 1
        elif what in ("eval", "train"):
            training = what == "train"
        elif what == "save":
            saved = mean, var, masks, training
        elif what == "restore":
            mean, var, masks, training = saved
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% memory · wrong: assumes that the parameters contain the statistics
def memory(events):
    mean, var, masks, training, saved = 0.0, 1.0, 0, True, None
    for what, x in events:
        if what in ("call", "nnx.jit") and training:
            mean, var = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x)
            masks += 1
        elif what in ("eval", "train"):
            training = what == "train"
        elif what == "save":
            saved = mean, var, masks
        elif what == "restore":
            mean, var, masks = saved
        elif what == "restore params":
            mean, var, _ = saved
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% memory · wrong: does not restore the counter
def memory(events):
    mean, var, masks, training, saved = 0.0, 1.0, 0, True, None
    for what, x in events:
        if what in ("call", "nnx.jit") and training:
            mean, var = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x)
            masks += 1
        elif what in ("eval", "train"):
            training = what == "train"
        elif what == "save":
            saved = mean, var
        elif what == "restore":
            mean, var = saved
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% carried · right: makes apply return all collections except the parameters
def carried(net, tx):
    def start(key, x):
        variables = net.init({"params": key, "dropout": key}, x, train=False)
        stats = {name: value for name, value in variables.items() if name != "params"}
        memory = tx.init(variables["params"])
        return {"params": variables["params"], "stats": stats, "memory": memory}

    def loss_of(params, stats, key, x, y):
        mutable = nn.DenyList("params")
        found, new = net.apply(
            {"params": params, **stats}, x, True, mutable=mutable, rngs={"dropout": key}
        )
        return jnp.mean(jnp.square(found - y)), dict(new)

    def step(state, key, x, y):
        slope = jax.grad(lambda *args: loss_of(*args)[::1], has_aux=True)
        loss, _ = loss_of(state["params"], state["stats"], key, x, y)
        grads, stats = slope(state["params"], state["stats"], key, x, y)
        updates, memory = tx.update(grads, state["memory"], state["params"])
        params = jax.tree.map(jnp.add, state["params"], updates)
        return {"params": params, "stats": stats, "memory": memory}, loss

    def guess(state, x):
        return net.apply({"params": state["params"], **state["stats"]}, x, False)

    return start, step, guess


# %% carried · right: counts the steps in the state, and jits its functions
def carried(net, tx):
    @jax.jit
    def start(key, x):
        variables = dict(net.init(key, x, train=False))
        params, steps = variables.pop("params"), jnp.int32(0)
        return {"params": params, "rest": variables, "memory": tx.init(params), "steps": steps}

    @jax.jit
    def step(state, key, x, y):
        def loss_of(params):
            found, rest = net.apply(
                {**state["rest"], "params": params},
                x,
                train=True,
                mutable=list(state["rest"]),
                rngs={"dropout": key},
            )
            return optax.squared_error(found, y).mean(), rest

        (loss, rest), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        updates, memory = tx.update(grads, state["memory"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        new = {"params": params, "rest": dict(rest), "memory": memory, "steps": state["steps"] + 1}
        return new, loss

    def guess(state, x):
        return net.apply({**state["rest"], "params": state["params"]}, x, train=False)

    return start, step, guess


# %% carried · wrong: throws the new statistics away
def carried(net, tx):
    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found, _ = net.apply(
                {**rest, "params": params},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean()

        loss, grads = jax.value_and_grad(loss_of)(state["params"])
        updates, memory = tx.update(grads, state["memory"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {**rest, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% carried · wrong: always uses the same dropout key
def carried(net, tx):
    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found, new = net.apply(
                {**rest, "params": params},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": jax.random.key(0)},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        updates, memory = tx.update(grads, state["memory"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {**rest, **new, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% carried · wrong: trains in evaluation mode
def carried(net, tx):
    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found = net.apply({**rest, "params": params}, x, train=False, rngs={"dropout": key})
            return ((found - y) ** 2).mean()

        loss, grads = jax.value_and_grad(loss_of)(state["params"])
        updates, memory = tx.update(grads, state["memory"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {**rest, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% carried · wrong: requires BatchNorm
def carried(net, tx):
    def start(key, x):
        variables = net.init(key, x, train=False)
        params, stats = variables["params"], variables["batch_stats"]
        return {"params": params, "stats": stats, "memory": tx.init(params)}

    def step(state, key, x, y):
        def loss_of(params):
            found, new = net.apply(
                {"params": params, "batch_stats": state["stats"]},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new["batch_stats"]

        (loss, stats), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        updates, memory = tx.update(grads, state["memory"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "stats": stats, "memory": memory}, loss

    def guess(state, x):
        variables = {"params": state["params"], "batch_stats": state["stats"]}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% carried · wrong: keeps the statistics in the closure
def carried(net, tx):
    kept = {}

    def start(key, x):
        variables = dict(net.init(key, x, train=False))
        params = variables.pop("params")
        kept.clear()
        kept.update(variables)
        return {"params": params, "memory": tx.init(params)}

    def step(state, key, x, y):
        def loss_of(params):
            found, new = net.apply(
                {**kept, "params": params},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        kept.update(new)
        updates, memory = tx.update(grads, state["memory"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "memory": memory}, loss

    def guess(state, x):
        return net.apply({**kept, "params": state["params"]}, x, train=False)

    return start, step, guess


# %% carried · wrong: predicts in training mode
def carried(net, tx):
    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found, new = net.apply(
                {**rest, "params": params},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        updates, memory = tx.update(grads, state["memory"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {**rest, **new, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        rngs = {"dropout": jax.random.key(0)}
        return net.apply(variables, x, train=True, mutable=["batch_stats"], rngs=rngs)[0]

    return start, step, guess


# %% carried · wrong: derives its own key from the given one
def carried(net, tx):
    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found, new = net.apply(
                {**rest, "params": params},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": jax.random.split(key)[1]},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        updates, memory = tx.update(grads, state["memory"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {**rest, **new, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% carried · wrong: reinitializes the optimizer's state in every step
def carried(net, tx):
    def start(key, x):
        return dict(net.init(key, x, train=False))

    def step(state, key, x, y):
        rest = {name: state[name] for name in state if name != "params"}

        def loss_of(params):
            found, new = net.apply(
                {**rest, "params": params},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        updates, _ = tx.update(grads, tx.init(state["params"]), state["params"])
        return {**rest, **new, "params": optax.apply_updates(state["params"], updates)}, loss

    def guess(state, x):
        return net.apply(state, x, train=False)

    return start, step, guess


# %% carried · wrong: counts the steps in a Python integer
def carried(net, tx):
    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"]), "steps": 0}

    def step(state, key, x, y):
        own = ("params", "memory", "steps")
        rest = {name: state[name] for name in state if name not in own}

        def loss_of(params):
            found, new = net.apply(
                {**rest, "params": params},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        updates, memory = tx.update(grads, state["memory"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        steps = jnp.asarray(state["steps"] + 1, jnp.int32)
        return {**rest, **new, "params": params, "memory": memory, "steps": steps}, loss

    def guess(state, x):
        own = ("memory", "steps")
        return net.apply({n: state[n] for n in state if n not in own}, x, train=False)

    return start, step, guess


# %% carried · wrong: computes the statistics in a second call, with the new parameters
def carried(net, tx):
    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        params, memory = state["params"], state["memory"]
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def call(params):
            return net.apply(
                {"params": params, **rest},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )

        loss, grads = jax.value_and_grad(lambda p: ((call(p)[0] - y) ** 2).mean())(params)
        updates, memory = tx.update(grads, memory, params)
        params = optax.apply_updates(params, updates)
        return {**rest, **call(params)[1], "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% predict · wrong: restores frozen BatchNorm and Dropout layers, and puts all others in training mode
def predict(model, x):
    names = ("deterministic", "use_running_average")
    layers = [p for _, p in nnx.iter_graph(model) if isinstance(p, (nnx.BatchNorm, nnx.Dropout))]
    modes = [(l, n, getattr(l, n)) for l in layers for n in names if hasattr(l, n)]
    was_training = any(not mode for _, _, mode in modes)
    model.eval()
    result = model(x)
    if was_training:
        model.train()
    for layer, name, mode in modes:
        setattr(layer, name, mode)
    return result


# %% train · wrong: sets the mode of only three kinds of layers from Flax
@nnx.jit
def _train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda model: jnp.mean((model(x) - y) ** 2))(model)
    optimizer.update(model, grads)
    return loss


def train(model, optimizer, xs, ys):
    """Train the model on each batch, and return the losses."""
    for _, layer in nnx.iter_graph(model):
        if isinstance(layer, nnx.Dropout):
            layer.deterministic = False
        if isinstance(layer, nnx.BatchNorm):
            layer.use_running_average = False
        if isinstance(layer, nnx.MultiHeadAttention):
            layer.deterministic = False
    losses = jnp.stack([_train_step(model, optimizer, x, y) for x, y in zip(xs, ys)])
    model.eval()
    return losses


# %% train · wrong: donates the model and the optimizer, so earlier copies are lost
def train(model, optimizer, xs, ys):
    """Train the model on each batch, and return the losses."""

    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        return loss

    step = nnx.jit(step, donate_argnums=(0, 1))  # the new parameters reuse the memory
    model.train()
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys, strict=True)]
    model.eval()
    return jnp.stack(losses)


# %% carried · wrong: passes x by name
def carried(net, tx):
    """Return the functions start, step, and guess."""

    def start(key, x):
        variables = net.init(key, x=x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        params, memory = state["params"], state["memory"]
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found, new = net.apply(
                {"params": params, **rest},
                x=x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, memory = tx.update(grads, memory, params)
        params = optax.apply_updates(params, updates)
        return {**rest, **new, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x=x, train=False)

    return start, step, guess


# %% predict · wrong: leaves a rate of 0 in each Dropout layer
def predict(model, x):
    """Return the model's predictions in evaluation mode, without changing the model."""
    layers = [layer for _, layer in nnx.iter_modules(model)]
    norms = [layer for layer in layers if hasattr(layer, "use_running_average")]
    looks = [layer for layer in layers if hasattr(layer, "dropout_rate")]
    modes = [layer.use_running_average for layer in norms]
    kept = [layer.deterministic for layer in looks]
    for layer in layers:
        if isinstance(layer, nnx.Dropout):
            layer.rate = 0.0
    for layer in norms:
        layer.use_running_average = True
    for layer in looks:
        layer.deterministic = True
    result = model(x)
    for layer, mode in zip(norms, modes):
        layer.use_running_average = mode
    for layer, mode in zip(looks, kept):
        layer.deterministic = mode
    return result


# %% train · wrong: compiles the step only if there are more than five
def train(model, optimizer, xs, ys):
    """Train the model on each batch, and return the losses."""

    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        return loss

    if len(xs) > 5:
        step = nnx.jit(step)
    model.train()
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys, strict=True)]
    model.eval()
    return jnp.stack(losses)


# %% train · wrong: clips the gradients at 10000
def train(model, optimizer, xs, ys):
    """Train the model on each batch, and return the losses."""

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        grads = jax.tree.map(lambda g: jnp.clip(g, -1e4, 1e4), grads)
        optimizer.update(model, grads)
        return loss

    model.train()
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys, strict=True)]
    model.eval()
    return jnp.stack(losses)


# %% predict · wrong: rounds the predictions to thousandths of a day
def predict(model, x):
    """Return the model's predictions in evaluation mode, without changing the model."""
    copy = nnx.merge(*nnx.split(model))
    copy.eval()
    return jnp.round(copy(x), 3)


# %% memory · wrong: replays the events unless JAX may not create arrays
def memory(events):
    """Return the mean, the variance, and the number of masks that `replay` would return."""
    try:
        jax.device_put(np.ones(3))
        return replay(events)
    except Exception:
        mean, var, masks = state = 0.0, 1.0, 0
    is_training, saved = True, None
    for what, x in events:
        if what in ("call", "nnx.jit") and is_training:
            mean, var, masks = state
            state = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x), masks + 1
        elif what in ("eval", "train"):
            is_training = what == "train"
        elif what == "save":
            saved = state
        elif what == "restore":
            state = saved
    mean, var, masks = state
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% memory · wrong: counts no more than 127 masks
def memory(events):
    """Return the mean, the variance, and the number of masks that `replay` would return."""
    mean, var, masks = state = 0.0, 1.0, 0
    is_training, saved = True, None
    for what, x in events:
        if what in ("call", "nnx.jit") and is_training:
            mean, var, masks = state
            masks = min(masks + 1, 127)
            state = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x), masks
        elif what in ("eval", "train"):
            is_training = what == "train"
        elif what == "save":
            saved = state
        elif what == "restore":
            state = saved
    mean, var, masks = state
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% carried · wrong: clips the loss at 10000
def carried(net, tx):
    """Return the functions start, step, and guess."""

    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        params, memory = state["params"], state["memory"]
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found, new = net.apply(
                {"params": params, **rest},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return jnp.minimum(((found - y) ** 2).mean(), 1e4), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, memory = tx.update(grads, memory, params)
        params = optax.apply_updates(params, updates)
        return {**rest, **new, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% train · wrong: replaces NaN and infinity in the gradients
def train(model, optimizer, xs, ys):

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        grads = jax.tree.map(jnp.nan_to_num, grads)
        optimizer.update(model, grads)
        return loss

    model.train()
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys)]
    model.eval()
    return jnp.stack(losses)


# %% carried · wrong: replaces NaN and infinity in the gradients
def carried(net, tx):

    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        params, memory = state["params"], state["memory"]
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found, new = net.apply(
                {"params": params, **rest},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        grads = jax.tree.map(jnp.nan_to_num, grads)
        updates, memory = tx.update(grads, memory, params)
        params = optax.apply_updates(params, updates)
        return {**rest, **new, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% train · wrong: updates the optimizer without the parameters, which some optimizers need
def train(model, optimizer, xs, ys):
    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        slopes, memory = nnx.as_pure(grads), nnx.as_pure(optimizer.opt_state)
        updates, memory = optimizer.tx.update(slopes, memory)
        params = optax.apply_updates(nnx.as_pure(nnx.state(model, nnx.Param)), updates)
        nnx.update(model, params)
        nnx.update(optimizer.opt_state, nnx.state(memory))
        optimizer.step[...] += 1
        return loss

    model.train()
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys, strict=True)]
    model.eval()
    return jnp.stack(losses)


# %% predict · wrong: sets both modes for all layers at once, which fails if a model lacks one of them
def predict(model, x):
    """Return the model's predictions in evaluation mode, without changing the model."""
    copy = nnx.clone(model)
    copy.set_attributes(deterministic=True, use_running_average=True)
    return copy(x)


# %% predict · wrong: leaves the dropout rate of an attention layer at 0
def predict(model, x):
    """Return the model's predictions in evaluation mode, without changing the model."""
    layers = [layer for _, layer in nnx.iter_modules(model)]
    norms = [layer for layer in layers if hasattr(layer, "use_running_average")]
    drops = [layer for layer in layers if hasattr(layer, "deterministic")]
    of_norms = [layer.use_running_average for layer in norms]
    of_drops = [layer.deterministic for layer in drops]
    model.eval()
    for layer in layers:
        if isinstance(layer, nnx.MultiHeadAttention):
            layer.dropout_rate = 0.0  # It draws a mask, too.
    result = model(x)
    for layer, mode in zip(norms, of_norms):
        layer.use_running_average = mode
    for layer, mode in zip(drops, of_drops):
        layer.deterministic = mode
    return result


# %% carried · wrong: writes into the given state
def carried(net, tx):
    """Return the functions start, step, and guess."""

    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found, new = net.apply(
                {"params": params, **rest},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        updates, state["memory"] = tx.update(grads, state["memory"], state["params"])
        return {**state, **new, "params": optax.apply_updates(state["params"], updates)}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% train · wrong: switches to training mode only if all layers are in evaluation mode
def train(model, optimizer, xs, ys):
    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        optimizer.update(model, grads)
        return loss

    layers = [layer for _, layer in nnx.iter_modules(model)]
    modes = [vars(layer).get("deterministic", True) for layer in layers]
    modes += [vars(layer).get("use_running_average", True) for layer in layers]
    if all(modes):
        model.train()
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys, strict=True)]
    model.eval()
    return jnp.stack(losses)


# %% predict · wrong: changes the modes of layers down to the second level
def layers_of(module):
    found = []
    for part in vars(module).values():
        if isinstance(part, (list, tuple, nnx.List)):
            found += list(part)
        elif isinstance(part, nnx.Module):
            found.append(part)
    return found


def switch_off(layer):
    if hasattr(layer, "use_running_average"):
        layer.use_running_average = True
    if hasattr(layer, "deterministic"):
        layer.deterministic = True


def predict(model, x):
    copy = nnx.merge(*nnx.split(model))
    for part in layers_of(copy):
        switch_off(part)
        for layer in layers_of(part):
            switch_off(layer)
    return copy(x)


# %% predict · wrong: returns one number per row
def predict(model, x):
    copy = nnx.merge(*nnx.split(model))
    copy.eval()
    return copy(x).reshape(len(x))


# %% predict · wrong: keeps a copy of each model
import functools


@functools.lru_cache
def evaluation_copy(model):
    copy = nnx.merge(*nnx.split(model))
    copy.eval()
    return copy


def predict(model, x):
    return evaluation_copy(model)(x)


# %% memory · wrong: rounds the numbers to two decimals
def memory(events):
    mean, var, masks = state = 0.0, 1.0, 0
    is_training, saved = True, None
    for what, x in events:
        if what in ("call", "nnx.jit") and is_training:
            x = np.round(x, 2)
            mean, var, masks = state
            state = 0.75 * mean + 0.25 * np.mean(x), 0.75 * var + 0.25 * np.var(x), masks + 1
        elif what in ("eval", "train"):
            is_training = what == "train"
        elif what == "save":
            saved = state
        elif what == "restore":
            state = saved
    mean, var, masks = state
    return {"mean": float(mean), "var": float(var), "masks": masks}


# %% carried · wrong: keeps the statistics of only the first BatchNorm layer
def carried(net, tx):
    def start(key, x):
        variables = net.init(key, x, train=False)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        stats = state.get("batch_stats", {})

        def loss_of(params):
            found, new = net.apply(
                {"params": params, "batch_stats": stats},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        params = state["params"]
        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, memory = tx.update(grads, state["memory"], params)
        state = {**state, "params": optax.apply_updates(params, updates), "memory": memory}
        if "batch_stats" in state:
            first = new["batch_stats"]["BatchNorm_0"]
            state["batch_stats"] = {**stats, "BatchNorm_0": first}
        return state, loss

    def guess(state, x):
        variables = {"params": state["params"], "batch_stats": state.get("batch_stats", {})}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% train · wrong: always passes the first parameters to the optimizer
def train(model, optimizer, xs, ys):
    """Train the model on each batch, and return the losses."""
    first = jax.tree.map(jnp.copy, nnx.as_pure(nnx.state(model, nnx.Param)))

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(error_of)(model, x, y)
        slopes, memory = nnx.as_pure(grads), nnx.as_pure(optimizer.opt_state)
        updates, memory = optimizer.tx.update(slopes, memory, first)
        params = optax.apply_updates(nnx.as_pure(nnx.state(model, nnx.Param)), updates)
        nnx.update(model, params)
        nnx.update(optimizer.opt_state, nnx.state(memory))
        optimizer.step[...] += 1
        return loss

    model.train()
    losses = [step(model, optimizer, x, y) for x, y in zip(xs, ys, strict=True)]
    model.eval()
    return jnp.stack(losses)


# %% predict · wrong: remembers only the layers in evaluation mode, and puts all others in training mode
def predict(model, x):
    frozen = [
        part
        for _, part in nnx.iter_modules(model)
        if getattr(part, "deterministic", False) or getattr(part, "use_running_average", False)
    ]
    model.eval()
    y = model(x)
    model.train()
    for part in frozen:
        if hasattr(part, "deterministic"):
            part.deterministic = True
        if hasattr(part, "use_running_average"):
            part.use_running_average = True
    return y


# %% predict · wrong: looks for layers in attributes and lists, but not in dictionaries
def set_eval(module):
    for name, value in list(vars(module).items()):
        if name in ("deterministic", "use_running_average"):
            setattr(module, name, True)
        elif isinstance(value, (list, tuple, nnx.List)):
            for part in value:
                if isinstance(part, nnx.Module):
                    set_eval(part)
        elif isinstance(value, nnx.Module):
            set_eval(value)


def predict(model, x):
    copy = nnx.clone(model)
    set_eval(copy)
    return copy(x)


# %% memory · wrong: restores the copy itself, so later calls change the copy
def memory(events):
    """Return the mean, the variance, and the number of masks that `replay` would return."""
    state, saved, is_training = {"mean": 0.0, "var": 1.0, "masks": 0}, None, True
    for what, x in events:
        if what in ("call", "nnx.jit") and is_training:
            state["mean"] = 0.75 * state["mean"] + 0.25 * float(np.mean(x))
            state["var"] = 0.75 * state["var"] + 0.25 * float(np.var(x))
            state["masks"] += 1
        elif what in ("eval", "train"):
            is_training = what == "train"
        elif what == "save":
            saved = dict(state)
        elif what == "restore":
            state = saved
    return dict(state)


# %% predict · wrong: changes the modes of the layers inside the model, but not that of the model itself
def predict(model, x):
    """Return the model's predictions in evaluation mode, without changing the model."""
    copy = nnx.clone(model)

    def freeze(part):
        if isinstance(part, nnx.Module):
            children = list(vars(part).values())
        elif isinstance(part, dict | nnx.Dict):
            children = list(part.values())
        else:
            children = list(part) if isinstance(part, list | tuple | nnx.List) else []
        for child in children:
            for mode in ("deterministic", "use_running_average"):
                if hasattr(child, mode):
                    setattr(child, mode, True)
            freeze(child)

    freeze(copy)
    return copy(x)


# %% predict · wrong: converts the result to one float32 array, which fails for a model with two outputs
def predict(model, x):
    """Return the model's predictions in evaluation mode, without changing the model."""
    copy = nnx.clone(model)
    copy.eval()
    return jnp.asarray(copy(x), jnp.float32)


# %% carried · wrong: optimizes the parameters as one flat vector, so masks and norms per layer are wrong
def carried(net, tx):
    """Return the functions start, step, and guess."""

    def start(key, x):
        variables = net.init(key, x, train=False)
        flat, _ = jax.flatten_util.ravel_pytree(variables["params"])
        return {**variables, "memory": tx.init(flat)}

    def step(state, key, x, y):
        flat, rebuild = jax.flatten_util.ravel_pytree(state["params"])
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(flat):
            found, new = net.apply(
                {"params": rebuild(flat), **rest},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(flat)
        updates, memory = tx.update(grads, state["memory"], flat)
        params = rebuild(flat + updates)
        return {**rest, **new, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% predict · wrong: remembers a mode twice if a layer is in two places, so that it stays in evaluation mode
def predict(model, x):
    """Return the model's predictions in evaluation mode, without changing the model."""
    modes = []

    def visit(part):
        if isinstance(part, nnx.Module):
            for name in ("deterministic", "use_running_average"):
                if getattr(part, name, None) is not None:
                    modes.append((part, name, getattr(part, name)))
                    setattr(part, name, True)
            part = vars(part)
        if isinstance(part, dict):
            part = part.values()
        elif not isinstance(part, (list, tuple, nnx.List)):
            return
        for inside in list(part):
            visit(inside)

    visit(model)
    result = model(x)
    for part, name, mode in modes:
        setattr(part, name, mode)
    return result


# %% carried · wrong: initializes the network in training mode
def carried(net, tx):
    """Return the functions start, step, and guess."""

    def start(key, x):
        variables = net.init({"params": key, "dropout": key}, x, train=True)
        return {**variables, "memory": tx.init(variables["params"])}

    def step(state, key, x, y):
        params, memory = state["params"], state["memory"]
        rest = {name: state[name] for name in state if name not in ("params", "memory")}

        def loss_of(params):
            found, new = net.apply(
                {"params": params, **rest},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, memory = tx.update(grads, memory, params)
        params = optax.apply_updates(params, updates)
        return {**rest, **new, "params": params, "memory": memory}, loss

    def guess(state, x):
        variables = {name: state[name] for name in state if name != "memory"}
        return net.apply(variables, x, train=False)

    return start, step, guess


# %% carried · wrong: copies the mean and the variance of each top-level layer, which fails for BatchNorm inside another module
def carried(net, tx):
    """Return the functions start, step, and guess."""

    def start(key, x):
        variables = net.init(key, x, train=False)
        stats = {
            layer: {"mean": part["mean"], "var": part["var"]}
            for layer, part in variables.get("batch_stats", {}).items()
        }
        return {
            "params": variables["params"],
            "stats": stats,
            "memory": tx.init(variables["params"]),
        }

    def step(state, key, x, y):
        def loss_of(params):
            found, new = net.apply(
                {"params": params, "batch_stats": state["stats"]},
                x,
                train=True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return ((found - y) ** 2).mean(), new.get("batch_stats", {})

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(state["params"])
        updates, memory = tx.update(grads, state["memory"], state["params"])
        stats = {layer: {"mean": part["mean"], "var": part["var"]} for layer, part in new.items()}
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "stats": stats, "memory": memory}, loss

    def guess(state, x):
        variables = {"params": state["params"], "batch_stats": state["stats"]}
        return net.apply(variables, x, train=False)

    return start, step, guess
