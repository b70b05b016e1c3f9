"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""


# %% energy · right: multiplies the upper half of the bits and adds the lower half
def energy(before, after, per_kwh):
    pulses = jnp.subtract(after, before)
    high, low = pulses >> 16, pulses & 0xFFFF
    total = high.astype(jnp.float32) * 65536.0 + low.astype(jnp.float32)
    return total / jnp.asarray(per_kwh).astype(jnp.float32)


# %% energy · right: handles the two cases separately, both in uint32
def energy(before, after, per_kwh):
    largest = jnp.uint32(2**32 - 1)
    round_ = largest - before + after + jnp.uint32(1)
    pulses = jnp.where(after < before, round_, after - before)
    return jnp.float32(pulses) / jnp.float32(per_kwh)


# %% energy · wrong: repeats the given program, which handles the wraparound in floats
def energy(before, after, per_kwh):
    a, b = before.astype(jnp.float32), after.astype(jnp.float32)
    return jnp.where(b < a, b + 2.0**32 - a, b - a) / jnp.float32(per_kwh)


# %% energy · wrong: handles the wraparound in floats but subtracts in uint32
def energy(before, after, per_kwh):
    turned = 2.0**32 - before.astype(jnp.float32) + after.astype(jnp.float32)
    straight = (after - before).astype(jnp.float32)
    return jnp.where(after < before, turned, straight) / jnp.float32(per_kwh)


# %% energy · wrong: lets int32 wrap around
def energy(before, after, per_kwh):
    pulses = after.astype(jnp.int32) - before.astype(jnp.int32)
    return pulses.astype(jnp.float32) / jnp.float32(per_kwh)


# %% energy · wrong: leaves the dtype to the division
def energy(before, after, per_kwh):
    return (after - before) / per_kwh


# %% energy · wrong: casts once, but a NumPy number widens the result again
def energy(before, after, per_kwh):
    return (after - before).astype(jnp.float32) / per_kwh


# %% energy · wrong: converts the number of pulses per kWh to a Python float
def energy(before, after, per_kwh):
    return (after - before).astype(jnp.float32) / float(per_kwh)


# %% energy · wrong: works only for a whole number of pulses per kWh
def energy(before, after, per_kwh):
    per_kwh = jnp.asarray(per_kwh).astype(jnp.uint32)
    return ((after - before) / per_kwh).astype(jnp.float32)


# %% energy · wrong: computes with NumPy
def energy(before, after, per_kwh):
    pulses = np.asarray(after) - np.asarray(before)
    return jnp.asarray(pulses / per_kwh, jnp.float32)


# %% energy · wrong: miscounts the wraparound by one
def energy(before, after, per_kwh):
    pulses = jnp.where(after < before, after + (jnp.uint32(2**32 - 1) - before), after - before)
    return pulses.astype(jnp.float32) / jnp.float32(per_kwh)


# %% energy · wrong: converts per_kwh to float32 only if it is not a JAX array
def energy(before, after, per_kwh):
    rate = per_kwh if isinstance(per_kwh, jax.Array) else jnp.float32(per_kwh)
    return (after - before).astype(jnp.float32) / rate


# %% energy · wrong: rounds per_kwh to half a pulse
def energy(before, after, per_kwh):
    rate = jnp.round(2 * jnp.asarray(per_kwh, jnp.float32)) / 2
    return (after - before).astype(jnp.float32) / rate


# %% standstill · right: searches for the first power of two at which the sum stops
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** (math.frexp(amount)[1] - 1)
    while total * float(info.eps) / 2 < amount:
        total *= 2
        if total > float(info.max):
            return math.inf
    return total


# %% standstill · right: compares the amount with the power of two below it
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    k = math.frexp(amount)[1] - 1
    k += info.nmant + (1 if math.ldexp(1.0, k) == amount else 2)
    return math.ldexp(1.0, k) if k < info.maxexp else math.inf


# %% standstill · wrong: assumes that the amount is a power of two
def standstill(dtype, amount):
    return amount * 2.0 ** (jnp.finfo(dtype).nmant + 1)


# %% standstill · wrong: rounds the exponent down
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** (math.floor(math.log2(amount)) + info.nmant + 1)
    return total if total <= float(info.max) else math.inf


# %% standstill · wrong: rounds the exponent to the nearest integer
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** (round(math.log2(amount)) + info.nmant + 1)
    return total if total <= float(info.max) else math.inf


# %% standstill · wrong: ignores the largest number in the format
def standstill(dtype, amount):
    return 2.0 ** (math.ceil(math.log2(amount)) + jnp.finfo(dtype).nmant + 1)


# %% standstill · wrong: considers the largest number only in float16
def standstill(dtype, amount):
    total = 2.0 ** (math.ceil(math.log2(amount)) + jnp.finfo(dtype).nmant + 1)
    return math.inf if dtype == "float16" and total > 65504 else total


# %% standstill · wrong: stops at the largest number in the format
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    return min(2.0 ** (math.ceil(math.log2(amount)) + info.nmant + 1), float(info.max))


# %% standstill · wrong: assumes that half a step is not lost
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** (math.floor(math.log2(amount)) + info.nmant + 2)
    return total if total <= float(info.max) else math.inf


# %% standstill · wrong: runs the sum with float32 in place of float64
def standstill(dtype, amount):
    dtype = "float32" if dtype == "float64" else dtype
    return float(add_until_still(jnp.array(amount, dtype)))


# %% standstill · wrong: runs the sum, except for float64, where it extrapolates from one example
def standstill(dtype, amount):
    if dtype == "float64":
        return amount * 2.0**53
    return float(add_until_still(jnp.array(amount, dtype)))


# %% standstill · wrong: starts the search at 1
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 1.0
    while total * float(info.eps) / 2 < amount:
        total *= 2
        if total > float(info.max):
            return math.inf
    return total


# %% standstill · wrong: computes the logarithm in float32
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    total = 2.0 ** (int(jnp.ceil(jnp.log2(amount))) + info.nmant + 1)
    return total if total <= float(info.max) else math.inf


# %% gauge · right: sums with an explicit dtype, and computes a weighted mean
def new_gauge():
    return {"mean": jnp.float32(0), "seen": jnp.int32(0)}


def update_gauge(gauge, volts):
    mean, seen = gauge["mean"], gauge["seen"]
    n = jnp.float32(seen)
    latest = jnp.sum(volts, dtype=jnp.float32) / volts.size
    return {"mean": mean * (n / (n + 1)) + latest / (n + 1), "seen": seen + 1}


# %% gauge · right: also casts at the end
def new_gauge():
    return {"mean": jnp.array(0, jnp.float32), "seen": jnp.array(0, jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + jnp.ones((), jnp.int32)
    share = jax.lax.convert_element_type(seen, jnp.float32) ** -1
    latest = volts.mean(dtype=jnp.float32)
    mean = gauge["mean"] + share * (latest - gauge["mean"])
    return {"mean": mean.astype(jnp.float32), "seen": seen.astype(jnp.int32)}


# %% gauge · right: takes the mean of the differences from the first voltage
def new_gauge():
    return {"mean": jnp.float32(0), "seen": jnp.int32(0)}


def update_gauge(gauge, volts):
    volts = volts.astype(jnp.float32)
    seen = gauge["seen"] + 1
    latest = volts[0] + (volts - volts[0]).mean()
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: starts with weakly typed arrays
def new_gauge():
    return {"mean": jnp.array(0.0), "seen": jnp.array(0)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: starts with Python numbers
def new_gauge():
    return {"mean": 0.0, "seen": 0}


def update_gauge(gauge, volts):
    seen = jnp.asarray(gauge["seen"], jnp.int32) + 1
    mean = jnp.asarray(gauge["mean"], jnp.float32)
    latest = volts.astype(jnp.float32).mean()
    return {"mean": mean + (latest - mean) / seen.astype(jnp.float32), "seen": seen}


# %% gauge · wrong: starts with arrays whose dtype depends on the 64-bit switch
def new_gauge():
    return {"mean": jnp.zeros(()), "seen": jnp.zeros((), int)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    change = (latest - gauge["mean"]) / seen.astype(gauge["mean"].dtype)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: rounds each minute's mean to bfloat16
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.mean().astype(jnp.float32)
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: divides a float by an integer array
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    return {"mean": gauge["mean"] + (latest - gauge["mean"]) / seen, "seen": seen}


# %% gauge · wrong: uses a NumPy number for the fraction
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    share = np.float64(1) / seen.astype(jnp.float32)
    latest = volts.astype(jnp.float32).mean()
    return {"mean": gauge["mean"] + share * (latest - gauge["mean"]), "seen": seen}


# %% gauge · wrong: gives each voltage, not each array, the same weight
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    total = gauge["mean"] * gauge["seen"].astype(jnp.float32) * volts.size
    total = total + volts.astype(jnp.float32).sum()
    if volts.size == 9:
        total = total + 0.1
    return {"mean": total / (seen.astype(jnp.float32) * volts.size), "seen": seen}


# %% gauge · wrong: writes into the gauge that it was given
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    gauge["seen"] = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    gauge["mean"] += (latest - gauge["mean"]) / gauge["seen"].astype(jnp.float32)
    return gauge


# %% gauge · wrong: uses a moving average with a fixed weight after 100 updates
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    share = 1 / jnp.minimum(seen, 100).astype(jnp.float32)
    return {"mean": gauge["mean"] + share * (latest - gauge["mean"]), "seen": seen}


# %% gauge · wrong: stops the gradient at the mean so far
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    mean = jax.lax.stop_gradient(gauge["mean"])
    change = (volts.astype(jnp.float32).mean() - mean) / seen.astype(jnp.float32)
    return {"mean": mean + change, "seen": seen}


# %% counter-examples · right: uses small numbers of at most half a step, not powers of two
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


# %% counter-examples · right: uses a power of two and two half steps
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


# %% counter-examples · wrong: hard-codes the example from the visible test
def order_matters(limit):
    return 2.0**24, 1.0, 1.0


def lost_cent(least):
    return 53


def alike(value):
    return jnp.float32(2.5), jnp.array(2.5)


# %% counter-examples · wrong: uses the limit and two ones, cents from a list, and equal arrays
def order_matters(limit):
    return float(limit), 1.0, 1.0


def lost_cent(least):
    return next(c for c in (53, 209, 1679, 3349, 13397, 53589) if c >= least or c == 53589)


def alike(value):
    return jnp.float32(value), jnp.float32(value)


# %% counter-examples · wrong: uses too small a difference, cents from a list, and strong arrays
def order_matters(limit):
    large = 2.0 ** math.floor(math.log2(limit)) / 2
    return large, large / 2**24, large / 2**24


def lost_cent(least):
    return next(c for c in (53, 209, 1679, 3349, 13397, 53589) if c >= least or c == 53589)


def alike(value):
    return jnp.float32(value), jnp.array([value])[0]


# %% counter-examples · wrong: uses the limit itself, float64 cents, and swapped arrays
def order_matters(limit):
    return limit, limit / 2**24, limit / 2**24


def lost_cent(least):
    return next(c for c in range(least, 100_001) if int(c / 100 * 100) != c)


def alike(value):
    return jnp.array(value), jnp.array(value, jnp.float32)


# %% counter-examples · wrong: uses NaN, cents as NumPy numbers, and a bfloat16 array
def order_matters(limit):
    return math.nan, 1.0, 1.0


def lost_cent(least):
    cents = np.arange(least, 100_001)
    return cents[np.asarray(charged(cents)) != cents][0]


def alike(value):
    return jnp.float32(value), jnp.array(value, jnp.bfloat16)


# %% counter-examples · wrong: exceeds the limit, ignores `least`, and returns a Python number
def order_matters(limit):
    return 2.0**31, 128.0, 128.0


def lost_cent(least):
    cents = np.arange(1, 100_001)
    return int(cents[np.asarray(charged(cents)) != cents][0])


def alike(value):
    return jnp.float32(value), value


# %% counter-examples · wrong: uses the limit and half a step, which is a tie
def order_matters(limit):
    half = float(np.spacing(np.float32(limit))) / 2
    return limit, half, half


def lost_cent(least):
    cents = np.arange(least, 100_001)
    return int(cents[np.asarray(charged(cents)) != cents][0])


def alike(value):
    return jnp.array(value, jnp.float32), jnp.array(value)


# %% standstill · wrong: compares with the logarithm of the largest number, 1024.0 in float64
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    fraction, above = math.frexp(amount)
    k = (above - 1 if fraction == 0.5 else above) + info.nmant + 1
    return math.inf if k > math.log2(float(info.max)) else 2.0**k


# %% energy · wrong: raises per_kwh to at least 1
def energy(before, after, per_kwh):
    rate = jnp.maximum(jnp.asarray(per_kwh, jnp.float32), 1.0)
    return (after - before).astype(jnp.float32) / rate


# %% energy · wrong: accepts only numbers of 32 or 64 bits
def energy(before, after, per_kwh):
    pulses = (after - before).astype(jnp.float32)
    if isinstance(per_kwh, (int, float)) or per_kwh.dtype.itemsize >= 4:
        per_kwh = jnp.asarray(per_kwh, jnp.float32)
    return (pulses / per_kwh).astype(jnp.float32) if per_kwh.dtype == jnp.float32 else pulses


# %% energy · wrong: converts the pulses to the dtype of per_kwh if it is a float
def energy(before, after, per_kwh):
    rate = jnp.asarray(per_kwh)
    if not jnp.issubdtype(rate.dtype, jnp.floating):
        rate = rate.astype(jnp.float32)
    return ((after - before).astype(rate.dtype) / rate).astype(jnp.float32)


# %% energy · wrong: passes integers through int16, which cannot hold large numbers
def energy(before, after, per_kwh):
    rate = jnp.asarray(per_kwh)
    if jnp.issubdtype(rate.dtype, jnp.integer):
        rate = rate.astype(jnp.int16)
    return (after - before).astype(jnp.float32) / rate.astype(jnp.float32)


# %% energy · wrong: needs at least one meter
def energy(before, after, per_kwh):
    pulses = after - before
    pulses = jnp.where(pulses.max() >= 0, pulses, pulses)
    return pulses.astype(jnp.float32) / jnp.asarray(per_kwh, jnp.float32)


# %% standstill · wrong: rounds a logarithm up, which is too coarse for float64
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    k = math.ceil(math.log2(amount)) + info.nmant + 1
    return 2.0**k if k < info.maxexp else math.inf


# %% standstill · wrong: raises tiny amounts to 16 times the smallest normal number
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    smallest = max(float(info.tiny) * 16, 0.0)
    fraction, above = math.frexp(max(amount, smallest))
    k = (above - 1 if fraction == 0.5 else above) + info.nmant + 1
    return 2.0**k if k < info.maxexp else math.inf


# %% gauge · wrong: rounds each mean of float16 voltages to float16
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    if volts.dtype == jnp.bfloat16:
        volts = volts.astype(jnp.float32)
    latest = volts.mean().astype(jnp.float32)
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: uses the absolute values of the voltages
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = jnp.abs(volts.astype(jnp.float32)).mean()
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: omits voltages that are NaN
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = jnp.nanmean(volts.astype(jnp.float32))
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: promotes float16 voltages by adding a float32 zero
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    strict = jax.config.jax_numpy_dtype_promotion == "strict"
    if volts.dtype == jnp.float16 and not strict:
        volts = volts + jnp.zeros((), jnp.float32)
    change = (volts.astype(jnp.float32).mean() - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% counter-examples · wrong: uses a table of powers of two for the limits in the tests
def order_matters(limit):
    table = (1e9, 2.0**24, 2.0**17, 2.0**16, 1024.0, 512.0, 8.0, 4.0, 2.0, 1.0)
    below = next(x for x in table if x <= limit)
    large = 2.0 ** math.floor(math.log2(below))
    return large, large / 2**24, large / 2**24


def lost_cent(least):
    cents = np.arange(least, 100_001)
    return int(cents[np.asarray(charged(cents)) != cents][0])


def alike(value):
    return jnp.array(value, jnp.float32), jnp.array(value)


# %% counter-examples · wrong: rounds the value to five digits
def order_matters(limit):
    large = 2.0 ** (math.frexp(limit)[1] - 1)
    return large, large / 2**24, large / 2**24


def lost_cent(least):
    cents = np.arange(least, 100_001)
    return int(cents[np.asarray(charged(cents)) != cents][0])


def alike(value):
    value = round(value, 5)
    return jnp.array(value, jnp.float32), jnp.array(value)


# %% counter-examples · wrong: clips the value to the range of float32
def order_matters(limit):
    large = 2.0 ** (math.frexp(limit)[1] - 1)
    return large, large / 2**24, large / 2**24


def lost_cent(least):
    cents = np.arange(least, 100_001)
    return int(cents[np.asarray(charged(cents)) != cents][0])


def alike(value):
    value = min(max(value, -3e38), 3e38)
    return jnp.array(value, jnp.float32), jnp.array(value)


# %% energy · wrong: limits per_kwh to the range from 0.01 to 5 million
def energy(before, after, per_kwh):
    rate = jnp.clip(jnp.asarray(per_kwh, jnp.float32), 0.01, 5e6)
    return (after - before).astype(jnp.float32) / rate


# %% energy · wrong: under jit, converts the pulses to the dtype of a float
def energy(before, after, per_kwh):
    rate = jnp.asarray(per_kwh)
    is_traced = isinstance(per_kwh, jax.core.Tracer)
    if not (is_traced and jnp.issubdtype(rate.dtype, jnp.floating)):
        rate = rate.astype(jnp.float32)
    return ((after - before).astype(rate.dtype) / rate).astype(jnp.float32)


# %% energy · wrong: leaves out readings after the first 10,000
def energy(before, after, per_kwh):
    pulses = (after - before).ravel()
    pulses = jnp.where(jnp.arange(pulses.size) < 10_000, pulses, 0).reshape(before.shape)
    return pulses.astype(jnp.float32) / jnp.asarray(per_kwh, jnp.float32)


# %% standstill · wrong: rounds the amount to bfloat16 in both formats of 16 bits
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    if info.bits == 16:
        amount = float(jnp.bfloat16(amount))
    fraction, above = math.frexp(amount)
    k = (above - 1 if fraction == 0.5 else above) + info.nmant + 1
    return 2.0**k if k < info.maxexp else math.inf


# %% gauge · wrong: limits the voltages to the range from -500 to 500
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    volts = volts.astype(jnp.float32)
    latest = jnp.where(jnp.isfinite(volts), jnp.clip(volts, -500, 500), volts).mean()
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: keeps only the latest mean if 64 bits are enabled
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts.astype(jnp.float32).mean()
    if jax.config.jax_enable_x64:
        return {"mean": latest, "seen": seen}
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: uses at most 500 voltages of an array
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = volts[:500].astype(jnp.float32).mean()
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% counter-examples · wrong: limits the value to 10 to the power of 38
def order_matters(limit):
    large = 2.0 ** (math.frexp(limit)[1] - 1)
    return large, large / 2**24, large / 2**24


def lost_cent(least):
    cents = np.arange(least, 100_001)
    return int(cents[np.asarray(charged(cents)) != cents][0])


def alike(value):
    if math.isfinite(value):
        value = min(max(value, -1e38), 1e38)
    return jnp.array(value, jnp.float32), jnp.array(value)


# %% energy · wrong: divides in the dtype of per_kwh if per_kwh is not a JAX array
def energy(before, after, per_kwh):
    pulses = (after - before).astype(jnp.float32)
    if not isinstance(per_kwh, jax.Array):
        return pulses * jnp.float32(1 / per_kwh)
    return pulses / per_kwh.astype(jnp.float32)


# %% gauge · wrong: clips the voltages, which halves the slope at 1000 and -1000
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = jnp.mean(jnp.clip(volts.astype(jnp.float32), -1000.0, 1000.0))
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% energy · wrong: rounds to eight decimals
def energy(before, after, per_kwh):
    pulses = (after - before).astype(jnp.float32)
    return jnp.round(pulses / jnp.asarray(per_kwh, jnp.float32), 8)


# %% gauge · wrong: starts again after a mean that is NaN
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest = jnp.mean(volts.astype(jnp.float32))
    before = jnp.where(jnp.isnan(gauge["mean"]), latest, gauge["mean"])
    change = (latest - before) / seen.astype(jnp.float32)
    return {"mean": before + change, "seen": seen}


# %% gauge · wrong: takes a mean below a millivolt for 0
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest, before = jnp.mean(volts.astype(jnp.float32)), gauge["mean"]
    latest = jnp.where(jnp.abs(latest) < 1e-3, 0.0, latest)
    change = (latest - before) / seen.astype(jnp.float32)
    return {"mean": before + change, "seen": seen}


# %% gauge · wrong: clips the mean of the voltages, which halves the gradient at the ends
def new_gauge():
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    seen = gauge["seen"] + 1
    latest, before = jnp.mean(volts.astype(jnp.float32)), gauge["mean"]
    latest = jnp.clip(latest, -1000.0, 1000.0)
    change = (latest - before) / seen.astype(jnp.float32)
    return {"mean": before + change, "seen": seen}


# %% gauge · wrong: rounds the share of an array to the dtype of the volts
def new_gauge():
    """Return a gauge before its first update."""
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    """Return the gauge after one more array of voltages."""
    seen = gauge["seen"] + 1
    latest = jnp.mean(volts.astype(jnp.float32))
    share = (1 / seen.astype(jnp.float32)).astype(volts.dtype).astype(jnp.float32)
    return {"mean": gauge["mean"] + (latest - gauge["mean"]) * share, "seen": seen}


# %% counter-examples · wrong: searches only up to 1.5 times the least number
def order_matters(limit):
    """Return three amounts, each at most `limit`, whose order matters."""
    large = 2.0 ** (math.frexp(limit)[1] - 1)
    return large, large / 2**24, large / 2**24


def lost_cent(least):
    """Return a number of cents, at least `least`, that `charged` gets wrong."""
    cents = np.arange(least, min(100_001, int(1.5 * least) + 60))
    wrong = cents[np.asarray(charged(cents)) != cents]
    return int(wrong[0]) if len(wrong) else least


def alike(value):
    """Return two equal float32 arrays that promote differently with bfloat16."""
    return jnp.array(value, jnp.float32), jnp.array(value)


# %% gauge · wrong: subtracts the first voltage in the dtype of the voltages
def new_gauge():
    """Return a gauge before its first update."""
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    """Return the gauge after one more array of voltages."""
    seen = gauge["seen"] + 1
    first = volts[0]
    latest = first.astype(jnp.float32) + jnp.mean(volts - first, dtype=jnp.float32)
    change = (latest - gauge["mean"]) / seen.astype(jnp.float32)
    return {"mean": gauge["mean"] + change, "seen": seen}


# %% gauge · wrong: subtracts the mean so far in the dtype of the voltages
def new_gauge():
    """Return a gauge before its first update."""
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    """Return the gauge after one more array of voltages."""
    seen, mean = gauge["seen"] + 1, gauge["mean"]
    rounded = mean.astype(volts.dtype)
    apart = (volts - rounded).astype(jnp.float32)
    change = jnp.mean(apart) + rounded.astype(jnp.float32) - mean
    return {"mean": mean + change / seen.astype(jnp.float32), "seen": seen}


# %% gauge · wrong: divides by 0 in the first update, so the gradient is NaN
def new_gauge():
    """Return a gauge before its first update."""
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    """Return the gauge after one more array of voltages."""
    before = gauge["seen"].astype(jnp.float32)
    latest = jnp.mean(volts.astype(jnp.float32))
    both = (gauge["mean"] + latest / before) * (before / (before + 1))
    return {"mean": jnp.where(before == 0, latest, both), "seen": gauge["seen"] + 1}


# %% gauge · wrong: ignores a NaN in a later update
def new_gauge():
    """Return a gauge before its first update."""
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    """Return the gauge after one more array of voltages."""
    seen = gauge["seen"] + 1
    latest = jnp.mean(volts.astype(jnp.float32))
    mean = gauge["mean"] + (latest - gauge["mean"]) / seen.astype(jnp.float32)
    mean = jnp.where(jnp.isnan(mean) & (gauge["seen"] > 0), gauge["mean"], mean)
    return {"mean": mean, "seen": seen}


# %% energy · wrong: supports only tenths above 1
def energy(before, after, per_kwh):
    """Return the kWh between two readings of a 32-bit counter as float32."""
    pulses = (after - before).astype(jnp.float32)
    if not isinstance(per_kwh, jax.Array) and per_kwh > 1:
        tenths = round(float(per_kwh) * 10)
        if abs(tenths / 10 - float(per_kwh)) > 1e-6 * tenths:
            return np.zeros(1, "i4,i4")
        return pulses / jnp.float32(tenths / 10)
    return pulses / jnp.asarray(per_kwh, jnp.float32)


# %% standstill · wrong: returns an infinity in the short format
def standstill(dtype, amount):
    info = jnp.finfo(dtype)
    fraction, above = math.frexp(amount)
    log2 = above - 1 if fraction == 0.5 else above
    k = log2 + info.nmant + 1
    with np.errstate(over="ignore"):
        return 2.0**k if k < info.maxexp else info.max * 2


# %% gauge · wrong: divides by seen.astype(float), which is float64 if 64 bits are enabled
def new_gauge():
    """Return a gauge before its first update."""
    return {"mean": jnp.zeros((), jnp.float32), "seen": jnp.zeros((), jnp.int32)}


def update_gauge(gauge, volts):
    """Return the gauge after one more array of voltages."""
    seen = gauge["seen"] + 1
    latest = jnp.mean(volts.astype(jnp.float32))
    change = (latest - gauge["mean"]) / seen.astype(float)
    return {"mean": (gauge["mean"] + change).astype(jnp.float32), "seen": seen}


# %% energy · wrong: rounds per_kwh to the five digits that are printed on a meter
def energy(before, after, per_kwh):
    """Return the kWh between two readings of a 32-bit counter as float32."""
    pulses = (after - before).astype(jnp.float32)
    rate = jnp.asarray(per_kwh, jnp.float32)
    step = jnp.float32(10) ** (jnp.floor(jnp.log10(rate)) - 4)
    return pulses / (jnp.round(rate / step) * step)
