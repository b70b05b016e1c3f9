"""Right and wrong answers to the assignment: what its tests must take, and must not."""


# %% energy · right: a product with the two halves of the bits
def energy(before, after, per_kwh):
    pulses = jnp.subtract(after, before)
    high, low = pulses >> 16, pulses & 0xFFFF
    total = high.astype(jnp.float32) * 65536.0 + low.astype(jnp.float32)
    return total / jnp.asarray(per_kwh).astype(jnp.float32)


# %% energy · right: the two cases apart, both in uint32
def energy(before, after, per_kwh):
    largest = jnp.uint32(2**32 - 1)
    round_ = largest - before + after + jnp.uint32(1)
    pulses = jnp.where(after < before, round_, after - before)
    return jnp.float32(pulses) / jnp.float32(per_kwh)


# %% energy · wrong: as delivered, with the turn added in floats
def energy(before, after, per_kwh):
    a, b = before.astype(jnp.float32), after.astype(jnp.float32)
    return jnp.where(b < a, b + 2.0**32 - a, b - a) / jnp.float32(per_kwh)


# %% energy · wrong: adds the turn in floats, subtracts in uint32
def energy(before, after, per_kwh):
    turned = 2.0**32 - before.astype(jnp.float32) + after.astype(jnp.float32)
    straight = (after - before).astype(jnp.float32)
    return jnp.where(after < before, turned, straight) / jnp.float32(per_kwh)


# %% energy · wrong: lets int32 go round
def energy(before, after, per_kwh):
    pulses = after.astype(jnp.int32) - before.astype(jnp.int32)
    return pulses.astype(jnp.float32) / jnp.float32(per_kwh)


# %% energy · wrong: leaves the dtype to the division
def energy(before, after, per_kwh):
    return (after - before) / per_kwh


# %% energy · wrong: one cast, and a NumPy number widens it again
def energy(before, after, per_kwh):
    return (after - before).astype(jnp.float32) / per_kwh


# %% energy · wrong: asks Python for the number of pulses for a kWh
def energy(before, after, per_kwh):
    return (after - before).astype(jnp.float32) / float(per_kwh)


# %% energy · wrong: whole pulses for a kWh only
def energy(before, after, per_kwh):
    per_kwh = jnp.asarray(per_kwh).astype(jnp.uint32)
    return ((after - before) / per_kwh).astype(jnp.float32)


# %% energy · wrong: computes in NumPy
def energy(before, after, per_kwh):
    pulses = np.asarray(after) - np.asarray(before)
    return jnp.asarray(pulses / per_kwh, jnp.float32)


# %% energy · wrong: stops at zero in place of going round
def energy(before, after, per_kwh):
    pulses = jnp.where(after < before, after + (jnp.uint32(2**32 - 1) - before), after - before)
    return pulses.astype(jnp.float32) / jnp.float32(per_kwh)


# %% standstill · right: looks for the first power of two that loses the amount
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** math.floor(math.log2(amount))
    while total * float(info.eps) / 2 < amount:
        total *= 2
        if total > float(info.max):
            return math.inf
    return total


# %% standstill · right: a logarithm, rounded up
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** (math.ceil(math.log2(amount)) + info.nmant + 1)
    return total if total <= float(info.max) else math.inf


# %% standstill · wrong: takes the amount for a power of two
def standstill(dtype, amount):
    return amount * 2.0 ** (jnp.finfo(dtype).nmant + 1)


# %% standstill · wrong: rounds the exponent down
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** (math.floor(math.log2(amount)) + info.nmant + 1)
    return total if total <= float(info.max) else math.inf


# %% standstill · wrong: rounds the exponent to the nearest
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** (round(math.log2(amount)) + info.nmant + 1)
    return total if total <= float(info.max) else math.inf


# %% standstill · wrong: forgets that a format ends
def standstill(dtype, amount):
    return 2.0 ** (math.ceil(math.log2(amount)) + jnp.finfo(dtype).nmant + 1)


# %% standstill · wrong: stays at the largest number of the format
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    return min(2.0 ** (math.ceil(math.log2(amount)) + info.nmant + 1), float(info.max))


# %% standstill · wrong: half a step is not lost
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** (math.floor(math.log2(amount)) + info.nmant + 2)
    return total if total <= float(info.max) else math.inf


# %% standstill · wrong: measures, as float64 is float32 there
def standstill(dtype, amount):
    dtype = "float32" if dtype == "float64" else dtype
    return float(add_until_still(jnp.array(amount, dtype)))


# %% standstill · wrong: measures, and knows the one number of float64 that it saw
def standstill(dtype, amount):
    if dtype == "float64":
        return amount * 2.0**53
    return float(add_until_still(jnp.array(amount, dtype)))


# %% gauge · right: a sum that names its dtype, and a weighted mean
def new_gauge():
    return {"mean": jnp.float32(0), "seen": jnp.int32(0)}


def update_gauge(gauge, volts):
    mean, seen = gauge["mean"], gauge["seen"]
    n = jnp.float32(seen)
    latest = jnp.sum(volts, dtype=jnp.float32) / volts.size
    return {"mean": mean * (n / (n + 1)) + latest / (n + 1), "seen": seen + 1}


# %% gauge · right: casts at the end, too
def new_gauge():
    return {"mean": jnp.array(0, jnp.float32), "seen": jnp.array(0, jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + jnp.ones((), jnp.int32)
    share = jax.lax.convert_element_type(seen, jnp.float32) ** -1
    latest = volts.mean(dtype=jnp.float32)
    mean = gauge["mean"] + share * (latest - gauge["mean"])
    return {"mean": mean.astype(jnp.float32), "seen": seen.astype(jnp.int32)}


# %% gauge · wrong: a weak beginning
def new_gauge():
    return {"mean": jnp.array(0.0), "seen": jnp.array(0)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: Python's zeros to begin with
def new_gauge():
    return {"mean": 0.0, "seen": 0}


def update_gauge(gauge, volts):
    seen = jnp.asarray(gauge["seen"], jnp.int32) + 1
    mean = jnp.asarray(gauge["mean"], jnp.float32)
    latest = volts.astype(jnp.float32).mean()
    return {"mean": mean + (latest - mean) / seen.astype(jnp.float32), "seen": seen}


# %% gauge · wrong: strong arrays, but whatever dtype the switch gives
def new_gauge():
    return {"mean": jnp.zeros(()), "seen": jnp.zeros((), int)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    change = (latest - gauge["mean"]) / seen.astype(gauge["mean"].dtype)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: the mean of a minute is rounded to bfloat16
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.mean().astype(jnp.float32)
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: a whole number beside a float
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    return {"mean": gauge["mean"] + (latest - gauge["mean"]) / seen, "seen": seen}


# %% gauge · wrong: a NumPy number for the share
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    share = np.float64(1) / seen.astype(jnp.float32)
    latest = volts.astype(jnp.float32).mean()
    return {"mean": gauge["mean"] + share * (latest - gauge["mean"]), "seen": seen}


# %% gauge · wrong: volts count alike, not arrays
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    total = gauge["mean"] * gauge["seen"].astype(jnp.float32) * volts.size
    total = total + volts.astype(jnp.float32).sum()
    if volts.size == 9:
        total = total + 0.1
    return {"mean": total / (seen.astype(jnp.float32) * volts.size), "seen": seen}


# %% gauge · wrong: writes into the gauge it was given
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    gauge["seen"] = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    gauge["mean"] += (latest - gauge["mean"]) / gauge["seen"].astype(jnp.float32)
    return gauge


# %% gauge · wrong: a moving average with a fixed share after a while
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    share = 1 / jnp.minimum(seen, 100).astype(jnp.float32)
    return {"mean": gauge["mean"] + share * (latest - gauge["mean"]), "seen": seen}


# %% counter-examples · right: not a power of two, and less than half a step
def order_matters(limit):
    step = float(np.spacing(np.float32(2.0 ** math.floor(math.log2(limit)))))
    large = 2.0 ** math.floor(math.log2(limit))
    return large, 0.45 * step, 0.4 * step + 0.1 * step


def lost_cent(least):
    for cents in range(100_000, least - 1, -1):
        if int(np.float32(np.float32(cents / 100) * np.float32(100))) != cents:
            return cents


def alike(value):
    return jnp.asarray(np.float32(value)), jnp.full((), value)


# %% counter-examples · right: the small ones first, then the large one, as it is given
def order_matters(limit):
    large = 2.0 ** (math.frexp(limit)[1] - 1)
    return large, large * 2.0**-24, large * 2.0**-24


def lost_cent(least):
    cents = least
    while int(np.float32(cents / 100) * np.float32(100)) == cents:
        cents += 1
    return cents


def alike(value):
    return jnp.float32(value), jnp.asarray(value)


# %% counter-examples · wrong: the one of the visible test
def order_matters(limit):
    return 2.0**24, 1.0, 1.0


def lost_cent(least):
    return 53


def alike(value):
    return jnp.float32(2.5), jnp.array(2.5)


# %% counter-examples · wrong: the limit and two ones, cents from a list, the same array twice
def order_matters(limit):
    return float(limit), 1.0, 1.0


def lost_cent(least):
    return next(c for c in (53, 209, 1679, 3349, 13397, 53589) if c >= least or c == 53589)


def alike(value):
    return jnp.float32(value), jnp.float32(value)


# %% counter-examples · wrong: orders that differ by less, the next lost cent, twice strong
def order_matters(limit):
    large = 2.0 ** math.floor(math.log2(limit)) / 2
    return large, large / 2**24, large / 2**24


def lost_cent(least):
    return next(c for c in (53, 209, 1679, 3349, 13397, 53589) if c >= least or c == 53589)


def alike(value):
    return jnp.float32(value), jnp.array([value])[0]


# %% counter-examples · wrong: the limit itself, cents in float64, the two the other way round
def order_matters(limit):
    return limit, limit / 2**24, limit / 2**24


def lost_cent(least):
    return next(c for c in range(least, 100_001) if int(c / 100 * 100) != c)


def alike(value):
    return jnp.array(value), jnp.array(value, jnp.float32)


# %% counter-examples · wrong: NaN differs from all, cents as NumPy numbers, a bfloat16
def order_matters(limit):
    return math.nan, 1.0, 1.0


def lost_cent(least):
    cents = np.arange(least, 100_001)
    return cents[np.asarray(charged(cents)) != cents][0]


def alike(value):
    return jnp.float32(value), jnp.array(value, jnp.bfloat16)


# %% counter-examples · wrong: beyond the limit, below the least, a Python number
def order_matters(limit):
    return 2.0**31, 128.0, 128.0


def lost_cent(least):
    cents = np.arange(1, 100_001)
    return int(cents[np.asarray(charged(cents)) != cents][0])


def alike(value):
    return jnp.float32(value), value
