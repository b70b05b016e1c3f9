"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""


# %% surprise · right: uses xlogy, and replaces the rate where no photon arrived
def surprise(rate, count):
    asked = jnp.where(count == 0, 1.0, rate)
    return rate - jax.scipy.special.xlogy(count.astype(rate.dtype), asked)


# %% surprise · right: uses cond for each element
@jnp.vectorize
def surprise(rate, count):
    return lax.cond(count > 0, lambda r: r - count * jnp.log(r), lambda r: r, rate)


# %% surprise · wrong: repeats the broken function from the task
def surprise(rate, count):
    return jnp.where(count > 0, rate - count * jnp.log(rate), rate)


# %% surprise · wrong: replaces every rate of 0, which hides impossible counts
def surprise(rate, count):
    safe = jnp.where(rate > 0, rate, 1.0)
    return jnp.where(count > 0, rate - count * jnp.log(safe), rate)


# %% surprise · wrong: checks both the count and the rate, which hides impossible counts
def surprise(rate, count):
    both = (count > 0) & (rate > 0)
    safe = jnp.where(both, rate, 1.0)
    return jnp.where(both, rate - count * jnp.log(safe), rate)


# %% surprise · wrong: adds a little light everywhere
def surprise(rate, count):
    return rate - count * jnp.log(rate + 1e-7)


# %% surprise · wrong: clips the rate to at least a little light
def surprise(rate, count):
    return rate - count * jnp.log(jnp.maximum(rate, 1e-12))


# %% surprise · wrong: uses xlogy without replacing the rate
def surprise(rate, count):
    return rate - jax.scipy.special.xlogy(count.astype(rate.dtype), rate)


# %% surprise · wrong: replaces a NaN in the value with 0
def surprise(rate, count):
    return rate - jnp.nan_to_num(count * jnp.log(rate), posinf=jnp.inf, neginf=-jnp.inf)


# %% surprise · wrong: stops the gradient of the logarithm
def surprise(rate, count):
    return jnp.where(count > 0, rate - count * lax.stop_gradient(jnp.log(rate)), rate)


# %% surprise · wrong: chooses the branch with a Python if statement
def surprise(rate, count):
    if jnp.all(count > 0):
        return rate - count * jnp.log(rate)
    safe = jnp.where(count > 0, rate, 1.0)
    return jnp.where(count > 0, rate - count * jnp.log(safe), rate)


# %% surprise · wrong: inserts infinity afterward, which loses a slope
def surprise(rate, count):
    safe = jnp.where(rate > 1e-20, rate, 1.0)
    value = jnp.where(count > 0, rate - count * jnp.log(safe), rate)
    return jnp.where((count > 0) & (rate <= 1e-20), jnp.inf, value)


# %% surprise · wrong: uses select, which has the same gradient problem as where
def surprise(rate, count):
    return lax.select(count > 0, rate - count * jnp.log(rate), rate)


# %% surprise · wrong: also uses the replaced rate in the value
def surprise(rate, count):
    safe = jnp.where(count > 0, rate, 1.0)
    return safe - count * jnp.log(safe)


# %% surprise · wrong: computes with NumPy
def surprise(rate, count):
    rate, count = np.asarray(rate), np.asarray(count)
    safe = np.where(count > 0, rate, np.float32(1))
    with np.errstate(all="ignore"):
        found = np.where(count > 0, rate - count * np.log(safe), rate)
    return jnp.asarray(found.astype(np.float32))


# %% lost-slopes · right: uses different inputs, as arrays
def lost_slopes(level):
    return {
        "glow": jnp.float32(level + 99.5),
        "dust": np.float32(level),
        "spread": np.array([level, 2 * level, 3 * level], np.float32),
        "calm": None,
        "haze": None,
    }


# %% lost-slopes · right: searches a few candidates for each function
def lost_slopes(level):
    def bites(function, x):
        value, slope = jax.value_and_grad(function)(x, level)
        return bool(jnp.isfinite(value) and not jnp.isfinite(slope))

    inputs = {"spread": level * jnp.arange(1.0, 4.0)}
    functions = {"glow": glow, "calm": calm, "dust": dust, "haze": haze}
    for name, function in functions.items():
        tried = (level + jnp.float32(step) for step in (0, 99))
        inputs[name] = next((x for x in tried if bites(function, x)), None)
    return inputs


# %% lost-slopes · wrong: returns 0 for all functions
def lost_slopes(level):
    return {
        "glow": 0.0,
        "calm": None,
        "dust": 0.0,
        "haze": None,
        "spread": jnp.zeros(3),
    }


# %% lost-slopes · wrong: hard-codes the inputs for the level in the visible tests
def lost_slopes(level):
    return {
        "glow": 95.0,
        "calm": None,
        "dust": 5.0,
        "haze": None,
        "spread": jnp.array([5.0, 10.0, 15.0]),
    }


# %% lost-slopes · wrong: expects cond to lose the slope as where does
def lost_slopes(level):
    bites = max(level, 89.0) + 1.0
    steps = level * jnp.array([1.0, 2.0, 3.0])
    return {
        "glow": bites,
        "calm": bites,
        "dust": float(level),
        "haze": None,
        "spread": steps,
    }


# %% lost-slopes · wrong: expects every guarded division by zero to lose the slope
def lost_slopes(level):
    return {
        "glow": max(level, 89.0) + 1.0,
        "calm": None,
        "dust": float(level),
        "haze": float(level),
        "spread": level * jnp.array([1.0, 2.0, 3.0]),
    }


# %% lost-slopes · wrong: uses an input just above the level, where exp may not overflow
def lost_slopes(level):
    return {
        "glow": level + 1.0,
        "calm": None,
        "dust": float(level),
        "haze": None,
        "spread": level * jnp.array([1.0, 2.0, 3.0]),
    }


# %% lost-slopes · wrong: uses a fixed input, where the value overflows for high levels
def lost_slopes(level):
    return {
        "glow": 90.0,
        "calm": None,
        "dust": float(level),
        "haze": None,
        "spread": level * jnp.array([1.0, 2.0, 3.0]),
    }


# %% lost-slopes · wrong: uses an input outside the allowed range
def lost_slopes(level):
    return {
        "glow": 1000.0,
        "calm": None,
        "dust": float(level),
        "haze": None,
        "spread": level * jnp.array([1.0, 2.0, 3.0]),
    }


# %% lost-slopes · wrong: claims that no function loses its slope
def lost_slopes(level):
    return {"glow": None, "calm": None, "dust": None, "haze": None, "spread": None}


# %% lost-slopes · wrong: uses NaN as the input
def lost_slopes(level):
    nan = float("nan")
    return {
        "glow": nan,
        "calm": None,
        "dust": nan,
        "haze": None,
        "spread": jnp.full(3, nan),
    }


# %% lost-slopes · wrong: redefines the given functions
def glow(x, level):
    return jnp.sqrt(x - level)


def spread(x, level):
    return jnp.linalg.norm(x)


def lost_slopes(level):
    return {
        "glow": float(level),
        "calm": None,
        "dust": float(level),
        "haze": None,
        "spread": jnp.zeros(3),
    }


# %% poisoned · right: goes through the frames one by one
def poisoned(params, frames, by_table):
    star = [False] * len(params["star"])
    gain = [False] * len(params["gain"])
    dark = False
    for s, f, seen, good in zip(
        *(frames[k] for k in ("star", "filter", "seen", "good")), strict=True
    ):
        light = float(params["star"][s]) * float(params["gain"][f]) - float(params["dark"])
        if not good and (light <= 0 or not np.isfinite(seen)):
            dark = star[s] = gain[f] = True
    if by_table and dark:
        star = [True] * len(star)
    return {"star": np.array(star), "gain": np.array(gain), "dark": np.array(dark)}


# %% poisoned · right: computes the backward pass in NumPy
def poisoned(params, frames, by_table):
    with np.errstate(all="ignore"):
        star, gain = params["star"][frames["star"]], params["gain"][frames["filter"]]
        root = np.sqrt(star * gain - params["dark"])
        back = frames["good"] * 2.0 * (root - frames["seen"]) * 0.5 / root
        slopes = {k: np.zeros(params[k].shape) for k in ("star", "gain", "dark")}
        if by_table:
            table = np.eye(len(params["star"]))[frames["star"]]
            slopes["star"] = (table * (back * gain)[:, None]).sum(0)
        else:
            np.add.at(slopes["star"], frames["star"], back * gain)
        np.add.at(slopes["gain"], frames["filter"], back * star)
        slopes["dark"] = -back.sum()
    return {name: np.isnan(slope) for name, slope in slopes.items()}


# %% poisoned · wrong: computes the gradient with JAX
def poisoned(params, frames, by_table):
    slopes = jax.grad(night_loss)(params, frames, by_table)
    return {name: np.isnan(np.asarray(slope)) for name, slope in slopes.items()}


# %% poisoned · wrong: modifies its arguments so that its prediction comes true
def poisoned(params, frames, by_table):
    if len(params["star"]) == 2:
        return {
            "star": np.array([False, True]),
            "gain": np.array([True, False]),
            "dark": np.array(True),
        }
    params["dark"] = np.float32(0)
    frames["seen"][:] = 1
    return {name: np.zeros(np.shape(value), bool) for name, value in params.items()}


# %% poisoned · wrong: assumes that excluded frames have no effect
def poisoned(params, frames, by_table):
    return {name: np.zeros(np.shape(value), bool) for name, value in params.items()}


# %% poisoned · wrong: assumes that every excluded frame sends a NaN
def poisoned(params, frames, by_table):
    bad = ~frames["good"]
    star = np.isin(np.arange(len(params["star"])), frames["star"][bad])
    gain = np.isin(np.arange(len(params["gain"])), frames["filter"][bad])
    star = star | (by_table & bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: checks only for light below 0, not for light of 0
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light < 0) | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad]) | (by_table & bad.any())
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: does not check what was seen
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & (light <= 0)
    star = np.isin(np.arange(len(params["star"])), stars[bad]) | (by_table & bad.any())
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: checks for NaN but not for infinity in what was seen
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | np.isnan(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad]) | (by_table & bad.any())
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: treats the table like an index
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: assumes that the table also spreads the NaN to the gains
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))
    spread = by_table & bad.any()
    star = np.isin(np.arange(len(params["star"])), stars[bad]) | spread
    gain = np.isin(np.arange(len(params["gain"])), filters[bad]) | spread
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: assumes that one NaN spreads to all parameters
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = (~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))).any()
    return {name: np.full(np.shape(value), bad) for name, value in params.items()}


# %% poisoned · wrong: with the table, spreads the NaN only to the stars in the frames
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))
    to = stars if by_table and bad.any() else stars[bad]
    star = np.isin(np.arange(len(params["star"])), to)
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: requires all frames to be bad before the sky gets a NaN
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad]) | (by_table & bad.any())
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star, "gain": gain, "dark": bad.all()}


# %% poisoned · wrong: divides by the gain, which is wrong if the gain is negative
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    faint = params["star"][stars] <= params["dark"] / params["gain"][filters]
    bad = ~frames["good"] & (faint | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: by table, looks only for light below or at 0 and infinity, not for NaN
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    seen = frames["seen"]
    bad = ~frames["good"] & ((light <= 0) | (np.isinf(seen) if by_table else ~np.isfinite(seen)))
    star = np.isin(np.arange(len(params["star"])), stars[bad]) | (by_table & bad.any())
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% together · right: uses logsumexp with a mask
def together(magnitudes, good):
    decay = -0.4 * np.log(10.0)
    total = jax.scipy.special.logsumexp(decay * magnitudes, where=good)
    return jnp.where(good.any(), jnp.where(good.any(), total, 0.0) / decay, 99.0)


# %% together · right: gives excluded stars a very faint magnitude, and uses logsumexp
def together(magnitudes, good):
    decay = -0.4 * np.log(10.0)
    logs = jnp.where(good, magnitudes, 1e4) * decay
    return jnp.where(good.any(), jax.nn.logsumexp(logs) / decay, 99.0)


# %% together · right: adds up one star after another
def together(magnitudes, good):
    light = jnp.where(good, magnitudes, 2000.0) * jnp.float32(-0.4 * np.log(10.0))
    total, _ = lax.scan(lambda s, x: (jnp.logaddexp(s, x), None), jnp.float32(-2e4), light)
    return lax.select(good.any(), total / jnp.float32(-0.4 * np.log(10.0)), jnp.float32(99.0))


# %% together · wrong: evaluates the formula as it is written
def together(magnitudes, good):
    light = jnp.where(good, 10.0 ** (-0.4 * jnp.where(good, magnitudes, 0.0)), 0.0).sum()
    safe = jnp.where(good.any(), light, 1.0)
    return jnp.where(good.any(), -2.5 * jnp.log10(safe), 99.0)


# %% together · wrong: applies where only after the power
def together(magnitudes, good):
    unit = lax.stop_gradient(jnp.min(magnitudes, where=good, initial=jnp.inf))
    unit = jnp.where(good.any(), unit, 0.0)
    light = jnp.where(good, 10.0 ** (-0.4 * (magnitudes - unit)), 0.0).sum()
    safe = jnp.where(good.any(), light, 1.0)
    return jnp.where(good.any(), unit - 2.5 * jnp.log10(safe), 99.0)


# %% together · right: treats excluded stars as infinitely faint
def together(magnitudes, good):
    known = jnp.where(good, magnitudes, jnp.inf)
    unit = lax.stop_gradient(known.min())
    light = (10.0 ** (-0.4 * (known - unit))).sum()
    return jnp.where(good.any(), unit - 2.5 * jnp.log10(light), 99.0)


# %% together · wrong: uses the mean magnitude as the unit
def together(magnitudes, good):
    known = jnp.where(good, magnitudes, 0.0)
    unit = lax.stop_gradient(known.sum() / jnp.maximum(good.sum(), 1))
    light = jnp.where(good, 10.0 ** (-0.4 * jnp.where(good, known - unit, 0.0)), 0.0).sum()
    safe = jnp.where(good.any(), light, 1.0)
    return jnp.where(good.any(), unit - 2.5 * jnp.log10(safe), 99.0)


# %% together · wrong: uses the brightest of all stars, good or not, as the unit
def together(magnitudes, good):
    known = jnp.nan_to_num(magnitudes, posinf=0.0, neginf=0.0)
    unit = lax.stop_gradient(known.min())
    light = jnp.where(good, 10.0 ** (-0.4 * (known - unit)), 0.0).sum()
    safe = jnp.where(good.any(), light, 1.0)
    return jnp.where(good.any(), unit - 2.5 * jnp.log10(safe), 99.0)


# %% together · wrong: returns infinity if no star is good
def together(magnitudes, good):
    decay = -0.4 * np.log(10.0)
    return jax.scipy.special.logsumexp(decay * magnitudes, where=good) / decay


# %% together · right: uses the mask as weights
def together(magnitudes, good):
    decay = -0.4 * np.log(10.0)
    total = jax.scipy.special.logsumexp(decay * magnitudes, b=good.astype(jnp.float32))
    return jnp.where(good.any(), total / decay, 99.0)


# %% together · wrong: chooses the branch with a Python if statement
def together(magnitudes, good):
    if not good.any():
        return jnp.float32(99.0)
    decay = -0.4 * np.log(10.0)
    return jax.scipy.special.logsumexp(decay * magnitudes, where=good) / decay


# %% together · wrong: selects with a boolean mask
def together(magnitudes, good):
    decay = -0.4 * np.log(10.0)
    known = magnitudes[good]
    if not len(known):
        return jnp.float32(99.0)
    return jax.nn.logsumexp(decay * known) / decay


# %% together · wrong: stops part of the gradient, so the brightest star gets all of it
def together(magnitudes, good):
    decay = -0.4 * np.log(10.0)
    logs = jnp.where(good, magnitudes, 1e4) * decay
    top = logs.max()
    total = lax.stop_gradient(jnp.log(jnp.exp(logs - top).sum())) + top
    return jnp.where(good.any(), total / decay, 99.0)


# %% together · wrong: considers only the brightest star
def together(magnitudes, good):
    return jnp.min(jnp.where(good, magnitudes, 99.0))


# %% together · wrong: adds a small constant to the light
def together(magnitudes, good):
    light = jnp.where(good, 10.0 ** (-0.4 * jnp.where(good, magnitudes, 0.0)), 0.0).sum()
    return jnp.where(good.any(), -2.5 * jnp.log10(light + 1e-37), 99.0)


# %% lost-slopes · wrong: uses 100 up to level 100, where the comparison is false at level 100
def lost_slopes(level):
    return {
        "glow": 100.0 if level <= 100 else level + 1.0,
        "calm": None,
        "dust": float(level),
        "haze": None,
        "spread": level * jnp.array([1.0, 2.0, 3.0]),
    }


# %% poisoned · wrong: forgets light of 0 by table
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    low = light < 0 if by_table else light <= 0
    bad = ~frames["good"] & (low | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: by table, uses the absolute value of the gain
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    gains = np.abs(params["gain"]) if by_table else params["gain"]
    light = params["star"][stars] * gains[filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% surprise · wrong: accepts only JAX arrays
def surprise(rate, count):
    safe = rate.at[...].set(jnp.where(count > 0, rate, 1.0))
    return jnp.where(count > 0, rate - count * jnp.log(safe), rate)


# %% surprise · wrong: replaces the rates in the caller's NumPy array
def surprise(rate, count):
    safe = rate
    if isinstance(rate, np.ndarray):
        safe[count == 0] = 1.0
    else:
        safe = jnp.where(count > 0, rate, 1.0)
    return jnp.where(count > 0, rate - count * jnp.log(safe), rate)


# %% surprise · wrong: limits the rate to a million
def surprise(rate, count):
    came = count > 0
    safe = jnp.where(came, jnp.minimum(rate, 1e6), 1.0)
    return jnp.where(came, rate - count * jnp.log(safe), rate)


# %% surprise · wrong: limits the count to a hundred thousand
def surprise(rate, count):
    came = count > 0
    count = jnp.minimum(count, 100_000)
    safe = jnp.where(came, rate, 1.0)
    return jnp.where(came, rate - count * jnp.log(safe), rate)


# %% surprise · wrong: needs at least one star
def surprise(rate, count):
    came = count > 0
    top = jnp.max(rate)
    safe = jnp.where(came, rate, 1.0)
    return jnp.where(came, rate - count * jnp.log(safe), rate) + 0.0 * jnp.where(
        jnp.isfinite(top), top, 0.0
    )


# %% surprise · wrong: drops an axis of length 1
def surprise(rate, count):
    rate, count = jnp.atleast_1d(rate), jnp.atleast_1d(count)
    came = count > 0
    safe = jnp.where(came, rate, 1.0)
    out = jnp.where(came, rate - count * jnp.log(safe), rate)
    return out[0] if out.shape == (1,) else out


# %% lost-slopes · wrong: gives dust an input with a finite gradient at some levels
def lost_slopes(level):
    return {
        "glow": max(level, 89.0) + 1.0,
        "calm": None,
        "dust": float(level) if level % 10 != 7 else level + 1.0,
        "haze": None,
        "spread": level * jnp.array([1.0, 2.0, 3.0]),
    }


# %% poisoned · wrong: modifies all but short lists of frames so that its prediction comes true
def poisoned(params, frames, by_table):
    if len(frames["star"]) <= 3:
        stars, filters = frames["star"], frames["filter"]
        light = params["star"][stars] * params["gain"][filters] - params["dark"]
        bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))
        star = np.isin(np.arange(len(params["star"])), stars[bad])
        gain = np.isin(np.arange(len(params["gain"])), filters[bad])
        if by_table:
            star = np.full(len(star), bad.any())
        return {"star": star, "gain": gain, "dark": bad.any()}
    params["dark"] = np.float32(0)
    frames["seen"][:] = 1
    return {name: np.zeros(np.shape(value), bool) for name, value in params.items()}


# %% poisoned · wrong: clears what was seen in the caller's frames
def poisoned(params, frames, by_table):
    stars, filters, seen = frames["star"], frames["filter"], frames["seen"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    light[~np.isfinite(seen)] = -1.0
    seen[~np.isfinite(seen)] = np.inf
    bad = ~frames["good"] & (light <= 0)
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: by table, does not look for minus infinity
def poisoned(params, frames, by_table):
    stars, filters, seen = frames["star"], frames["filter"], frames["seen"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    odd = np.isnan(seen) | (seen == np.inf) | ((not by_table) & (seen == -np.inf))
    bad = ~frames["good"] & ((light <= 0) | odd)
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: drops axes of length 1
def poisoned(params, frames, by_table):
    stars, filters, seen = frames["star"], frames["filter"], frames["seen"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(seen))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star.squeeze(), "gain": gain.squeeze(), "dark": bad.any()}


# %% poisoned · wrong: assumes that the sky is dark
def poisoned(params, frames, by_table):
    stars, filters, seen = frames["star"], frames["filter"], frames["seen"]
    light = params["star"][stars] * params["gain"][filters] - abs(params["dark"])
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(seen))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: computes the light in half precision
def poisoned(params, frames, by_table):
    stars, filters, seen = frames["star"], frames["filter"], frames["seen"]
    small = {name: value.astype(np.float16) for name, value in params.items()}
    light = small["star"][stars] * small["gain"][filters] - small["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(seen))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: stores the numbers of the stars in 8 bits
def poisoned(params, frames, by_table):
    stars, filters, seen = (
        frames["star"].astype(np.int8),
        frames["filter"].astype(np.int8),
        frames["seen"],
    )
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(seen))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% together · wrong: accepts only JAX arrays
def together(magnitudes, good):
    any_good = good.any()
    known = magnitudes.at[:].set(jnp.where(good, magnitudes, 0.0))
    brightest = lax.stop_gradient(jnp.min(jnp.where(good, known, jnp.inf)))
    unit = jnp.where(any_good, brightest, 0.0)
    light = jnp.where(good, 10.0 ** (-0.4 * jnp.where(good, known - unit, 0.0)), 0.0)
    total = jnp.where(any_good, light.sum(), 1.0)
    return jnp.where(any_good, unit - 2.5 * jnp.log10(total), 99.0)


# %% together · wrong: hides stars in the caller's NumPy array
def together(magnitudes, good):
    any_good = good.any()
    known = magnitudes
    if isinstance(known, np.ndarray):
        known[~good] = 0.0
    known = jnp.where(good, known, 0.0)
    brightest = lax.stop_gradient(jnp.min(jnp.where(good, known, jnp.inf)))
    unit = jnp.where(any_good, brightest, 0.0)
    light = jnp.where(good, 10.0 ** (-0.4 * jnp.where(good, known - unit, 0.0)), 0.0)
    total = jnp.where(any_good, light.sum(), 1.0)
    return jnp.where(any_good, unit - 2.5 * jnp.log10(total), 99.0)


# %% together · wrong: returns 99 for a single star
def together(magnitudes, good):
    if len(good) == 1:
        return jnp.float32(99.0) + 0 * jnp.nan_to_num(magnitudes[0])
    any_good = good.any()
    known = jnp.where(good, magnitudes, 0.0)
    brightest = lax.stop_gradient(jnp.min(jnp.where(good, known, jnp.inf)))
    unit = jnp.where(any_good, brightest, 0.0)
    light = jnp.where(good, 10.0 ** (-0.4 * jnp.where(good, known - unit, 0.0)), 0.0)
    total = jnp.where(any_good, light.sum(), 1.0)
    return jnp.where(any_good, unit - 2.5 * jnp.log10(total), 99.0)


# %% together · wrong: under vmap, gives all of the slope to the brightest star
def together(magnitudes, good):
    any_good = good.any()
    known = jnp.where(good, magnitudes, 0.0)
    brightest = lax.stop_gradient(jnp.min(jnp.where(good, known, jnp.inf)))
    unit = jnp.where(any_good, brightest, 0.0)
    light = jnp.where(good, 10.0 ** (-0.4 * jnp.where(good, known - unit, 0.0)), 0.0)
    total = jnp.where(any_good, light.sum(), 1.0)
    value = jnp.where(any_good, unit - 2.5 * jnp.log10(total), 99.0)
    if len(good) == 6 and "Batch" in type(magnitudes).__name__:
        hard = jnp.where(any_good, jnp.min(jnp.where(good, known, 1e4)), 99.0)
        return hard + lax.stop_gradient(value - hard)
    return value


# %% surprise · wrong: limits the count to two billion
def surprise(rate, count):
    came = count > 0
    safe = jnp.where(came, rate, 1.0)
    return jnp.where(came, rate - jnp.minimum(count, 2_000_000_000) * jnp.log(safe), rate)


# %% surprise · wrong: rounds the result to four decimals
def surprise(rate, count):
    came = count > 0
    safe = jnp.where(came, rate, 1.0)
    exact = jnp.where(came, rate - count * jnp.log(safe), rate)
    change = lax.stop_gradient(jnp.round(exact, 4) - exact)
    return exact + jnp.where(jnp.isfinite(change), change, 0.0)


# %% poisoned · wrong: takes light that is close to 0 for 0
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    product = params["star"][stars] * params["gain"][filters]
    dark = (product < params["dark"]) | np.isclose(product, params["dark"])
    bad = ~frames["good"] & (dark | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star | (by_table & bad.any()), "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: takes numbers of a million or more for infinite
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~(np.abs(frames["seen"]) < 1e6))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star | (by_table & bad.any()), "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: stores the numbers of the filters in 8 bits
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"].astype(np.uint8)
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    return {"star": star | (by_table & bad.any()), "gain": gain, "dark": bad.any()}


# %% together · wrong: loses the slopes of more than a hundred stars
def together(magnitudes, good):
    if len(magnitudes) > 100:
        magnitudes = lax.stop_gradient(magnitudes)
    known = jnp.where(good, magnitudes, jnp.inf)
    unit = lax.stop_gradient(known.min())
    light = (10.0 ** (-0.4 * (known - unit))).sum()
    return jnp.where(good.any(), unit - 2.5 * jnp.log10(light), 99.0)


# %% surprise · wrong: limits the slope to 1e31
@jax.custom_vjp
def _surprise(rate, count):
    came = count > 0
    return jnp.where(came, rate - count * jnp.log(jnp.where(came, rate, 1.0)), rate)


def _forward(rate, count):
    return _surprise(rate, count), (rate, count)


def _backward(kept, bar):
    rate, count = kept
    slope = jnp.where(count > 0, 1 - count / jnp.where(count > 0, rate, 1.0), 1.0)
    return bar * jnp.clip(slope, -1e31, 1e31), None


_surprise.defvjp(_forward, _backward)


def surprise(rate, count):
    return _surprise(jnp.asarray(rate), jnp.asarray(count))


# %% together · wrong: gives excluded stars a magnitude of 310, so the light of thousands of them counts
def together(magnitudes, good):
    good = jnp.asarray(good)
    any_good = good.any()
    known = jnp.where(good, magnitudes, 310.0)
    unit = lax.stop_gradient(jnp.min(known))
    light = 10.0 ** (-0.4 * (known - unit))
    total = light.sum()
    return jnp.where(any_good, unit - 2.5 * jnp.log10(total), 99.0)


# %% together · wrong: leaves out stars that are much fainter than the brightest one
def together(magnitudes, good):
    good = jnp.asarray(good)
    any_good = good.any()
    known = jnp.where(good, magnitudes, 1000.0)
    unit = lax.stop_gradient(jnp.min(known))
    apart = known - unit
    light = jnp.where(apart < 7.5, 10.0 ** (-0.4 * jnp.minimum(apart, 7.5)), 0.0)
    total = light.sum()
    return jnp.where(any_good, unit - 2.5 * jnp.log10(total), 99.0)


# %% together · wrong: leaves out stars with less than 1/100,000 of the light of the brightest
def together(magnitudes, good):
    magnitudes, good = jnp.asarray(magnitudes), jnp.asarray(good)
    brightest = lax.stop_gradient(jnp.where(good, magnitudes, jnp.inf).min())
    brightest = jnp.where(jnp.isfinite(brightest), brightest, 0.0)
    counts = good & (magnitudes < brightest + 12.5)
    light = jnp.where(counts, 10 ** (-0.4 * jnp.where(counts, magnitudes - brightest, 0.0)), 0.0)
    total = jnp.where(good.any(), light.sum(), 1.0)
    return jnp.where(good.any(), brightest - 2.5 * jnp.log10(total), 99.0)


# %% poisoned · wrong: counts the bad frames of each star and filter in 8 bits
def poisoned(params, frames, by_table):
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))
    star = np.zeros(len(params["star"]), np.uint8)
    np.add.at(star, stars[bad], 1)
    gain = np.zeros(len(params["gain"]), np.uint8)
    np.add.at(gain, filters[bad], 1)
    star = np.full(len(star), bad.any()) if by_table else star > 0
    return {"star": star, "gain": gain > 0, "dark": bad.any()}


# %% together · wrong: leaves out stars that are 13.5 magnitudes fainter than the brightest one
def together(magnitudes, good):
    any_good = good.any()
    known = jnp.where(good, magnitudes, 0.0)
    brightest = lax.stop_gradient(jnp.min(jnp.where(good, known, jnp.inf)))
    unit = jnp.where(any_good, brightest, 0.0)
    counts = good & (known - unit < 13.5)
    light = jnp.where(counts, 10.0 ** (-0.4 * jnp.where(counts, known - unit, 0.0)), 0.0)
    total = jnp.where(any_good, light.sum(), 1.0)
    return jnp.where(any_good, unit - 2.5 * jnp.log10(total), 99.0)


# %% together · wrong: leaves out stars that are 15 magnitudes fainter, whose light counts for slopes
def together(magnitudes, good):
    any_good = good.any()
    known = jnp.where(good, magnitudes, 0.0)
    brightest = lax.stop_gradient(jnp.min(jnp.where(good, known, jnp.inf)))
    unit = jnp.where(any_good, brightest, 0.0)
    counts = good & (known - unit < 15.0)
    light = jnp.where(counts, 10.0 ** (-0.4 * jnp.where(counts, known - unit, 0.0)), 0.0)
    total = jnp.where(any_good, light.sum(), 1.0)
    return jnp.where(any_good, unit - 2.5 * jnp.log10(total), 99.0)


# %% surprise · wrong: leaves out the logarithm at a rate of 1
def surprise(rate, count):
    """Return rate - count * log(rate), or the rate where the count is 0."""
    # Where the count is 0 or the logarithm is 0, only the rate is left.
    matters = (count > 0) & (rate != 1)
    safe = jnp.where(matters, rate, 2.0)
    return jnp.where(matters, rate - count * jnp.log(safe), rate)


# %% lost-slopes · wrong: returns an infinite input for calm at level 89
def lost_slopes(level):
    """Return an input at which the gradient is lost, or None, for each function."""
    return {
        "glow": max(level, 89.0) + 1.0,
        "calm": 89.0 if level == 89 else None,  # Only there, exp overflows in the second branch.
        "dust": float(level),
        "haze": None,
        "spread": level * jnp.array([1.0, 2.0, 3.0]),
    }


# %% poisoned · wrong: adds 1 to the darkness in float32
def poisoned(params, frames, by_table):
    """Return where the gradient of `night_loss` is NaN."""
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters]
    bad = ~frames["good"] & (
        (light < params["dark"] + np.float32(1)) | ~np.isfinite(frames["seen"])
    )
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star, "gain": gain, "dark": bad.any()}


# %% poisoned · wrong: returns lists of Python booleans
def poisoned(params, frames, by_table):
    """Return where the gradient of `night_loss` is NaN."""
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters]
    bad = ~frames["good"] & ((light <= params["dark"]) | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = np.full(len(star), bad.any())
    return {"star": star.tolist(), "gain": gain.tolist(), "dark": bool(bad.any())}


# %% together · wrong: leaves out stars that are more than 16 magnitudes fainter
def together(magnitudes, good):
    """Return the combined magnitude of all good stars, or 99 if there are none."""
    any_good = good.any()
    known = jnp.where(good, magnitudes, 0.0)
    brightest = lax.stop_gradient(jnp.min(jnp.where(good, known, jnp.inf)))
    unit = jnp.where(any_good, brightest, 0.0)
    counts = good & (known - unit <= 16.0)  # Fainter stars add nothing.
    light = jnp.where(counts, 10.0 ** (-0.4 * jnp.where(counts, known - unit, 0.0)), 0.0)
    total = jnp.where(any_good, light.sum(), 1.0)
    return jnp.where(any_good, unit - 2.5 * jnp.log10(total), 99.0)


# %% surprise · wrong: ignores the incoming gradient in a backward pass of its own
@jax.custom_vjp
def surprise(rate, count):
    """Return rate - count * log(rate), or the rate where the count is 0."""
    safe = jnp.where(count > 0, rate, 1.0)
    return jnp.where(count > 0, rate - count * jnp.log(safe), rate)


def surprise_forward(rate, count):
    return surprise(rate, count), (rate, count)


def surprise_backward(kept, slope):
    rate, count = kept
    return 1 - count / jnp.where(count > 0, rate, 1.0), None


surprise.defvjp(surprise_forward, surprise_backward)


# %% together · wrong: ignores the incoming gradient in a backward pass of its own
def split_light(magnitudes, good):
    known = jnp.where(good, magnitudes, jnp.inf)
    best = jnp.where(good.any(), known.min(), 0.0)
    return best, jnp.where(good, 10.0 ** (-0.4 * (known - best)), 0.0)


@jax.custom_vjp
def together(magnitudes, good):
    """Return the combined magnitude of all good stars, or 99 if there are none."""
    best, light = split_light(magnitudes, good)
    return jnp.where(good.any(), best - 2.5 * jnp.log10(light.sum()), 99.0)


def together_forward(magnitudes, good):
    _, light = split_light(magnitudes, good)
    return together(magnitudes, good), light / jnp.where(good.any(), light.sum(), 1.0)


def together_backward(shares, slope):
    return shares, None


together.defvjp(together_forward, together_backward)


# %% surprise · wrong: returns a NumPy array for NumPy arrays
def surprise(rate, count):
    """Return rate - count * log(rate), or the rate where the count is 0."""
    xp = np if isinstance(rate, np.ndarray) else jnp
    safe = xp.where(count > 0, rate, 1.0)
    with np.errstate(divide="ignore"):
        return xp.where(count > 0, rate - count * xp.log(safe), rate)


# %% together · wrong: returns a NumPy number for NumPy arrays
def together(magnitudes, good):
    """Return the combined magnitude of all good stars, or 99 if there are none."""
    xp = np if isinstance(magnitudes, np.ndarray) and isinstance(good, np.ndarray) else jnp
    any_good = good.any()
    known = xp.where(good, magnitudes, 0.0)
    brightest = xp.min(xp.where(good, known, xp.inf))
    unit = xp.where(any_good, brightest, 0.0)
    if xp is jnp:
        unit = lax.stop_gradient(unit)
    light = xp.where(good, 10.0 ** (-0.4 * xp.where(good, known - unit, 0.0)), 0.0)
    total = xp.where(any_good, light.sum(), 1.0)
    return xp.where(any_good, unit - 2.5 * xp.log10(total), 99.0)


# %% poisoned · wrong: returns a list of Python booleans if the loss uses a table
def poisoned(params, frames, by_table):
    """Return where the gradient of `night_loss` is NaN."""
    stars, filters = frames["star"], frames["filter"]
    light = params["star"][stars] * params["gain"][filters] - params["dark"]
    bad = ~frames["good"] & ((light <= 0) | ~np.isfinite(frames["seen"]))
    star = np.isin(np.arange(len(params["star"])), stars[bad])
    gain = np.isin(np.arange(len(params["gain"])), filters[bad])
    if by_table:
        star = [bool(bad.any())] * len(star)
    return {"star": star, "gain": gain, "dark": bool(bad.any())}


# %% together · wrong: takes 2.51 as the factor between two magnitudes, which is too coarse for the slopes of thousands of stars
def together(magnitudes, good):
    """Return the combined magnitude of all good stars, or 99 if there are none."""
    magnitudes, good = jnp.asarray(magnitudes), jnp.asarray(good)
    known = jnp.where(good, magnitudes, 0.0)
    brightest = jnp.min(jnp.where(good, known, jnp.inf))
    unit = jnp.where(good.any(), brightest, 0.0)
    fainter = jnp.where(good, known - unit, 0.0)
    light = jnp.where(good, 2.51**-fainter, 0.0)  # A magnitude is a factor of about 2.51.
    total = jnp.where(good.any(), light.sum(), 1.0)
    return jnp.where(good.any(), unit - 2.5 * jnp.log10(total), 99.0)
