"""Right answers that the assignment's tests must accept, and wrong ones that they must reject."""


# %% pack · right: walks through the dictionaries in Python
def walk(params, above=""):
    for key, value in params.items():
        if isinstance(value, dict):
            yield from walk(value, f"{above}{key}/")
        elif value is not None:
            yield f"{above}{key}", value


def check_order(params, order):
    if sorted(path for path, _ in walk(params)) != sorted(order):
        raise ValueError("the paths do not match")


def pack(params, order):
    check_order(params, order)
    found = dict(walk(params))
    vector = jnp.zeros(0, jnp.float32)
    for path in order:
        vector = jnp.append(vector, jnp.asarray(found[path], jnp.float32))
    return vector


def unpack(vector, params, order):
    check_order(params, order)
    found, start = {}, 0
    for path in order:
        leaf = dict(walk(params))[path]
        found[path] = vector[start : start + np.size(leaf)].reshape(np.shape(leaf))
        start += np.size(leaf)

    def build(tree, above=""):
        if isinstance(tree, dict):
            return {key: build(value, f"{above}{key}/") for key, value in tree.items()}
        return None if tree is None else found[above[:-1]]

    return build(params)


# %% pack · right: permutes the vector of ravel_pytree
from jax.flatten_util import ravel_pytree


def positions(params, order):
    flat = jax.tree_util.tree_leaves_with_path(params)
    names = ["/".join(p.key for p in path) for path, _ in flat]
    if len(order) != len(names) or set(order) != set(names):
        raise ValueError(f"{order} instead of {names}")
    sizes = [jnp.size(leaf) for _, leaf in flat]
    starts = np.cumsum([0, *sizes])
    return np.concatenate(
        [starts[names.index(n)] + np.arange(sizes[names.index(n)]) for n in order]
    )


def as_float32(params):
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), params)


def pack(params, order):
    return ravel_pytree(as_float32(params))[0][positions(params, order)]


def unpack(vector, params, order):
    _, unravel = ravel_pytree(jax.tree.map(lambda leaf: jnp.zeros(jnp.shape(leaf)), params))
    return unravel(jnp.zeros_like(vector).at[positions(params, order)].set(vector))


# %% pack · wrong: uses the sorted order of ravel_pytree
from jax.flatten_util import ravel_pytree


def pack(params, order):
    return ravel_pytree(jax.tree.map(jnp.float32, params))[0]


def unpack(vector, params, order):
    return ravel_pytree(jax.tree.map(jnp.float32, params))[1](vector)


# %% pack · wrong: relies on the order in which the keys are written
def pack(params, order):
    numbers = [leaf for leaf in written(params) if leaf is not None]
    return jnp.concatenate([jnp.ravel(jnp.float32(leaf)) for leaf in numbers])


def unpack(vector, params, order):
    start = 0

    def fill(value):
        nonlocal start
        if isinstance(value, dict):
            return {key: fill(part) for key, part in value.items()}
        if value is None:
            return None
        start += jnp.size(value)
        return vector[start - jnp.size(value) : start].reshape(jnp.shape(value))

    return fill(params)


# %% pack · wrong: packs in the given order but unpacks in the sorted one
def leaf_at(params, path):
    for key in path.split("/"):
        params = params[key]
    return params


def pack(params, order):
    return jnp.concatenate([jnp.ravel(jnp.float32(leaf_at(params, path))) for path in order])


def unpack(vector, params, order):
    leaves, structure = jax.tree.flatten(params)
    ends = np.cumsum([jnp.size(leaf) for leaf in leaves])
    parts = jnp.split(vector, ends[:-1])
    shaped = [part.reshape(jnp.shape(leaf)) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(structure, shaped)


# %% pack · wrong: does not check the order
def named(params):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    return {"/".join(p.key for p in path): leaf for path, leaf in flat}, structure


def pack(params, order):
    leaves, _ = named(params)
    return jnp.concatenate([jnp.ravel(jnp.float32(leaves[path])) for path in order])


def unpack(vector, params, order):
    leaves, structure = named(params)
    parts = jnp.split(vector, np.cumsum([jnp.size(leaves[path]) for path in order])[:-1])
    found = dict(zip(order, parts, strict=True))
    shaped = [found[path].reshape(jnp.shape(leaf)) for path, leaf in leaves.items()]
    return jax.tree.unflatten(structure, shaped)


# %% pack · wrong: checks only the number of paths
def named(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    if len(order) != len(flat):
        raise ValueError("too few or too many paths")
    return {"/".join(p.key for p in path): leaf for path, leaf in flat}, structure


def pack(params, order):
    leaves, _ = named(params, order)
    return jnp.concatenate([jnp.ravel(jnp.float32(leaves[path])) for path in order])


def unpack(vector, params, order):
    leaves, structure = named(params, order)
    parts = jnp.split(vector, np.cumsum([jnp.size(leaves[path]) for path in order])[:-1])
    found = dict(zip(order, parts, strict=True))
    shaped = [found[path].reshape(jnp.shape(leaf)) for path, leaf in leaves.items()]
    return jax.tree.unflatten(structure, shaped)


# %% pack · wrong: slices the keys out of a path's string, whose quotes depend on their characters
def pack(params, order):
    leaves = {
        jax.tree_util.keystr(path)[2:-2].replace("']['", "/"): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(params)
    }
    if sorted(order) != sorted(leaves):
        raise ValueError(f"order must contain each path once, got {order}")
    return jnp.concatenate([jnp.ravel(jnp.asarray(leaves[path])) for path in order])


def unpack(vector, params, order):
    paths, structure = jax.tree_util.tree_flatten_with_path(params)
    shapes = {
        jax.tree_util.keystr(path)[2:-2].replace("']['", "/"): jnp.shape(leaf)
        for path, leaf in paths
    }
    if sorted(order) != sorted(shapes):
        raise ValueError(f"order must contain each path once, got {order}")
    found, start = {}, 0
    for path in order:
        size = int(np.prod(shapes[path]))
        found[path] = vector[start : start + size].reshape(shapes[path])
        start += size
    return jax.tree.unflatten(structure, [found[path] for path in shapes])


# %% pack · wrong: writes a zero for None
def pack(params, order):
    flat, _ = jax.tree_util.tree_flatten_with_path(params, is_leaf=lambda x: x is None)
    leaves = {"/".join(p.key for p in path): 0.0 if x is None else x for path, x in flat}
    rest = [path for path in leaves if path not in order]
    return jnp.concatenate([jnp.ravel(jnp.float32(leaves[path])) for path in (*order, *rest)])


def unpack(vector, params, order):
    return params


# %% pack · wrong: uses NumPy, which cannot handle tracers
def pack(params, order):
    flat, _ = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(p.key for p in path): np.ravel(leaf) for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("the paths do not match")
    return jnp.asarray(np.concatenate([leaves[path] for path in order]), jnp.float32)


def unpack(vector, params, order):
    return params


# %% pack · wrong: returns flat parts instead of the shapes of the leaves
def pack(params, order):
    flat, _ = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(p.key for p in path): jnp.ravel(jnp.float32(x)) for path, x in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("the paths do not match")
    return jnp.concatenate([leaves[path] for path in order])


def unpack(vector, params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(p.key for p in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("the paths do not match")
    parts = jnp.split(vector, np.cumsum([jnp.size(leaves[path]) for path in order])[:-1])
    found = dict(zip(order, parts, strict=True))
    return jax.tree.unflatten(structure, [found[path] for path in leaves])


# %% pack · wrong: reads the shapes with NumPy, so params cannot be traced
def named(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(p.key for p in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("order")
    return leaves, structure


def pack(params, order):
    leaves, _ = named(params, order)
    return jnp.concatenate([jnp.ravel(jnp.asarray(leaves[path], jnp.float32)) for path in order])


def unpack(vector, params, order):
    leaves, structure = named(params, order)
    shapes = {path: np.array(leaf).shape for path, leaf in leaves.items()}
    found, start = {}, 0
    for path in order:
        size = int(np.prod(shapes[path]))
        found[path] = vector[start : start + size].reshape(shapes[path])
        start += size
    return jax.tree.unflatten(structure, [found[path] for path in leaves])


# %% update · right: recurses by hand
def update(params, slopes, rates):
    if rates is None:
        return params
    if isinstance(rates, dict):
        if not isinstance(params, dict) or set(rates) != set(params):
            raise ValueError("the keys do not match")
        return {key: update(params[key], slopes[key], rates[key]) for key in params}
    if isinstance(rates, (list, tuple)):
        if type(rates) is not type(params) or len(rates) != len(params):
            raise ValueError("the containers do not match")
        return type(rates)(map(update, params, slopes, rates))
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% update · right: expands the rates to one per leaf
def update(params, slopes, rates):
    marks = jax.tree.map(lambda r: (r,), rates, is_leaf=lambda r: r is None)
    is_mark = lambda x: isinstance(x, tuple) and len(x) == 1 and not isinstance(x[0], (tuple, dict))
    full = jax.tree.map(
        lambda mark, part: jax.tree.map(lambda leaf: mark, part), marks, params, is_leaf=is_mark
    )
    return jax.tree.map(
        lambda p, s, mark: p if mark[0] is None else p - mark[0] * s, params, slopes, full
    )


# %% update · wrong: loops over three lists of leaves
def update(params, slopes, rates):
    structure = jax.tree.structure(params)
    moved = list(jax.tree.leaves(params))
    lists = zip(moved, jax.tree.leaves(slopes), jax.tree.leaves(rates))
    for k, (old, slope, rate) in enumerate(list(lists)):
        moved[k] = old - rate * slope
    return jax.tree.unflatten(structure, moved)


# %% update · wrong: treats None as a rate of zero
def update(params, slopes, rates):
    def move(rate, part, slope):
        rate = 0.0 if rate is None else rate
        return jax.tree.map(lambda p, s: p - rate * s, part, slope)

    return jax.tree.map(move, rates, params, slopes, is_leaf=lambda r: r is None)


# %% update · wrong: passes the parameters first, so the rates must not be a prefix
def update(params, slopes, rates):
    return jax.tree.map(lambda p, s, r: p if r is None else p - r * s, params, slopes, rates)


# %% update · wrong: forgets is_leaf
def update(params, slopes, rates):
    def move(rate, part, slope):
        return jax.tree.map(lambda p, s: p - rate * s, part, slope)

    return jax.tree.map(move, rates, params, slopes)


# %% update · wrong: moves only leaves, not subtrees
def update(params, slopes, rates):
    def move(rate, part, slope):
        return part if rate is None else part - rate * slope

    return jax.tree.map(move, rates, params, slopes, is_leaf=lambda r: r is None)


# %% update · wrong: ignores parts without a rate
def update(params, slopes, rates):
    if rates is None:
        return params
    if isinstance(rates, dict):
        return {key: update(params[key], slopes[key], rates.get(key)) for key in params}
    if isinstance(rates, (list, tuple)):
        return type(params)(map(update, params, slopes, rates))
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% update · wrong: returns lists for tuples
def update(params, slopes, rates):
    if rates is None:
        return params
    if isinstance(rates, dict):
        if set(rates) != set(params):
            raise ValueError("the keys do not match")
        return {key: update(params[key], slopes[key], rates[key]) for key in params}
    if isinstance(rates, (list, tuple)):
        if type(rates) is not type(params) or len(rates) != len(params):
            raise ValueError("the containers do not match")
        return list(map(update, params, slopes, rates))
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% update · right: selects the unchanged part with where
def update(params, slopes, rates):
    def move(rate, part, slope):
        return jax.tree.map(
            lambda p, s: jnp.where(rate is None, p, p - (0.0 if rate is None else rate) * s),
            part,
            slope,
        )

    return jax.tree.map(move, rates, params, slopes, is_leaf=lambda r: r is None)


# %% update · wrong: accepts shorter lists of rates
def update(params, slopes, rates):
    if rates is None:
        return params
    if isinstance(rates, dict):
        if not isinstance(params, dict) or set(rates) != set(params):
            raise ValueError("the keys do not match")
        return {key: update(params[key], slopes[key], rates[key]) for key in params}
    if isinstance(rates, (list, tuple)):
        if type(rates) is not type(params):
            raise ValueError("the containers do not match")
        try:
            return type(params)(update(params[k], slopes[k], r) for k, r in enumerate(rates))
        except IndexError:
            raise ValueError("too many")
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% gauge · right: registers a dataclass with a static field
@jax.tree_util.register_dataclass
@dataclass
class Gauge:
    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array
    kinds: tuple = field(metadata={"static": True})

    def __post_init__(self):
        self.kinds = tuple(self.kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · right: registers the class with two methods
@jax.tree_util.register_pytree_node_class
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(kinds)

    def tree_flatten(self):
        return (self.phases, self.mean, self.sizes), self.kinds

    @classmethod
    def tree_unflatten(cls, kinds, leaves):
        phases, mean, sizes = leaves
        return cls(mean, sizes, phases, kinds)


def tide(gauge, hour):
    level = gauge.mean
    for k, kind in enumerate(gauge.kinds):
        level = level + gauge.sizes[k] * jnp.cos(SPEEDS[kind] * hour + gauge.phases[k])
    return level


# %% gauge · right: registers the class with two functions and keys
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        vars(self).update(mean=mean, sizes=sizes, phases=phases, kinds=",".join(kinds))


def take_apart(gauge):
    return (gauge.mean, (gauge.sizes, gauge.phases)), gauge.kinds


def put_together(kinds, parts):
    mean, (sizes, phases) = parts
    return Gauge(mean, sizes, phases, kinds.split(","))


jax.tree_util.register_pytree_node(Gauge, take_apart, put_together)


def tide(gauge, hour):
    speeds = jnp.array([SPEEDS[kind] for kind in gauge.kinds.split(",")])
    return gauge.mean + gauge.sizes @ jnp.cos(speeds * hour + gauge.phases)


# %% gauge · wrong: does not register the class
@dataclass
class Gauge:
    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array
    kinds: list


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: uses a NamedTuple, in which the kinds are leaves
from typing import NamedTuple


class Gauge(NamedTuple):
    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array
    kinds: tuple


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: keeps the kinds as a list, which is not hashable
@jax.tree_util.register_dataclass
@dataclass
class Gauge:
    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array
    kinds: list = field(metadata={"static": True})


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: keeps the phases as metadata
@jax.tree_util.register_dataclass
@dataclass
class Gauge:
    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array = field(metadata={"static": True})
    kinds: tuple = field(metadata={"static": True})

    def __post_init__(self):
        self.kinds = tuple(self.kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: converts the arrays when it creates a gauge
@jax.tree_util.register_dataclass
@dataclass
class Gauge:
    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array
    kinds: tuple = field(metadata={"static": True})

    def __post_init__(self):
        self.mean = jnp.asarray(self.mean, jnp.float32)
        self.sizes = jnp.asarray(self.sizes, jnp.float32)
        self.phases = jnp.asarray(self.phases, jnp.float32)
        self.kinds = tuple(self.kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: checks the lengths when it creates a gauge
@jax.tree_util.register_dataclass
@dataclass
class Gauge:
    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array
    kinds: tuple = field(metadata={"static": True})

    def __post_init__(self):
        self.kinds = tuple(self.kinds)
        if not len(self.sizes) == len(self.phases) == len(self.kinds):
            raise ValueError("the lengths differ")


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: keeps the speeds as a fourth leaf
@jax.tree_util.register_dataclass
@dataclass
class Gauge:
    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array
    kinds: jax.Array

    def __post_init__(self):
        if isinstance(self.kinds, (list, tuple)) or getattr(self.kinds, "dtype", None) == "<U2":
            self.kinds = np.float32([SPEEDS[kind] for kind in self.kinds])


def tide(gauge, hour):
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(gauge.kinds * hour + gauge.phases))


# %% gauge · wrong: sorts the kinds
@jax.tree_util.register_dataclass
@dataclass
class Gauge:
    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array
    kinds: tuple = field(metadata={"static": True})

    def __post_init__(self):
        self.kinds = tuple(sorted(self.kinds))


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: makes the whole gauge static, hashed by its identity
@jax.tree_util.register_static
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases, self.kinds = mean, sizes, phases, tuple(kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: converts the arrays if it can
def as_array(x):
    try:
        return jnp.asarray(x, jnp.float32)
    except (TypeError, ValueError):
        return x


class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = [
            x if x is None else as_array(x) for x in (mean, sizes, phases)
        ]
        self.kinds = tuple(str(kind) for kind in kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% gauge · wrong: checks the last axis of whatever has a shape
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(str(kind) for kind in kinds)
        for array in (sizes, phases):
            if hasattr(array, "shape") and array.shape[-1:] != (len(self.kinds),):
                raise ValueError("sizes and phases must have one element for each kind")


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% coast · right: maps over a flat list of leaves
def coast(predict, params, is_own, hours):
    leaves, structure = jax.tree.flatten(params)
    axes = [0 if own else None for own in jax.tree.leaves(is_own)]

    def at(hour, *leaves):
        return predict(jax.tree.unflatten(structure, leaves), hour)

    table = jax.vmap(jax.vmap(at, (0, *[None] * len(axes))), (None, *axes), -1)
    return table(hours, *leaves)


# %% coast · right: maps over the gauges in front, and moves the axis to the end
def coast(predict, params, is_own, hours):
    own = jax.tree.map(lambda leaf, flag: leaf if flag else None, params, is_own)
    is_none = lambda x: x is None

    def at_gauge(mine, hour):
        whole = jax.tree.map(lambda a, b: b if a is None else a, mine, params, is_leaf=is_none)
        return predict(whole, hour)

    seen = jax.vmap(lambda hour: jax.vmap(at_gauge, (0, None))(own, hour))(hours)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, -1), seen)


# %% coast · right: repeats the shared leaves and loops over the hours with lax.map
def coast(predict, params, is_own, hours):
    flags = jax.tree.leaves(is_own)
    gauges = next(
        len(leaf) for leaf, own in zip(jax.tree.leaves(params), flags, strict=True) if own
    )
    full = jax.tree.map(
        lambda leaf, own: leaf if own else jnp.broadcast_to(leaf, (gauges, *jnp.shape(leaf))),
        params,
        is_own,
    )
    seen = lax.map(lambda hour: jax.vmap(lambda one: predict(one, hour))(full), hours)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, -1), seen)


# %% coast · wrong: maps over every leaf
def coast(predict, params, is_own, hours):
    all_gauges = jax.vmap(predict, in_axes=(0, None), out_axes=-1)
    return jax.vmap(all_gauges, in_axes=(None, 0))(params, hours)


# %% coast · wrong: puts the gauges first
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_hours = jax.vmap(predict, in_axes=(None, 0))
    return jax.vmap(all_hours, in_axes=(axes, None))(params, hours)


# %% coast · wrong: puts the gauges second
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_gauges = jax.vmap(predict, in_axes=(axes, None))
    return jax.vmap(all_gauges, in_axes=(None, 0))(params, hours)


# %% coast · wrong: transposes the result, which reverses all axes
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_hours = jax.vmap(predict, in_axes=(None, 0))
    table = jax.vmap(all_hours, in_axes=(axes, None))(params, hours)
    return jax.tree.map(jnp.transpose, table)


# %% coast · wrong: expects a dictionary
def coast(predict, params, is_own, hours):
    axes = {key: 0 if own else None for key, own in is_own.items()}
    all_gauges = jax.vmap(predict, in_axes=(axes, None), out_axes=-1)
    return jax.vmap(all_gauges, in_axes=(None, 0))(params, hours)


# %% coast · wrong: maps over the hours and the gauges together
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    return jax.vmap(predict, in_axes=(axes, 0), out_axes=-1)(params, hours)


# %% coast · wrong: loops in Python
def coast(predict, params, is_own, hours):
    flags = jax.tree.leaves(is_own)
    gauges = next(len(x) for x, own in zip(jax.tree.leaves(params), flags, strict=True) if own)
    rows = []
    for hour in hours:
        row = [
            predict(jax.tree.map(lambda x, own: x[k] if own else x, params, is_own), hour)
            for k in range(gauges)
        ]
        rows.append(jax.tree.map(lambda *parts: jnp.stack(parts, -1), *row))
    return jax.tree.map(lambda *parts: jnp.stack(parts), *rows)


# %% coast · wrong: maps over the first axis of shared leaves instead of the gauges' own leaves
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: None if own else 0, is_own)
    all_gauges = jax.vmap(predict, in_axes=(axes, None), out_axes=-1)
    return jax.vmap(all_gauges, in_axes=(None, 0))(params, hours)


# %% fair-gradient · right: uses Optax's global norm, and clips all gradients afterward
import optax


def fair_gradient(loss, params, readings, limit):
    slopes = jax.vmap(jax.grad(loss), in_axes=(None, 0))(params, readings)
    norms = jax.vmap(optax.global_norm)(slopes)
    factors = jnp.minimum(1.0, limit / jnp.maximum(norms, 1e-20))
    return jax.tree.map(lambda leaf: jnp.einsum("n,n...->...", factors, leaf) / len(norms), slopes)


# %% fair-gradient · right: adds up one reading after another
def fair_gradient(loss, params, readings, limit):
    def add(total, reading):
        slopes, rebuild = jax.flatten_util.ravel_pytree(jax.grad(loss)(params, reading))
        norm = jnp.sqrt(slopes @ slopes)
        slopes = jnp.where(norm > limit, slopes * (limit / norm), slopes)
        return jax.tree.map(jnp.add, total, rebuild(slopes)), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    total, _ = lax.scan(add, zeros, readings)
    n = len(jax.tree.leaves(readings)[0])
    return jax.tree.map(lambda leaf: leaf / n, total)


# %% fair-gradient · wrong: clips the mean gradient
def fair_gradient(loss, params, readings, limit):
    mean = lambda params: jax.vmap(loss, (None, 0))(params, readings).mean()
    slopes = jax.grad(mean)(params)
    norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
    factor = jnp.where(norm > limit, limit / norm, 1.0)
    return jax.tree.map(lambda leaf: factor * leaf, slopes)


# %% fair-gradient · wrong: clips each leaf by itself
def fair_gradient(loss, params, readings, limit):
    def clip(leaf):
        norm = jnp.sqrt(jnp.sum(leaf**2))
        return leaf * jnp.where(norm > limit, limit / norm, 1.0)

    def clipped(reading):
        return jax.tree.map(clip, jax.grad(loss)(params, reading))

    return jax.tree.map(lambda leaf: leaf.mean(0), jax.vmap(clipped)(readings))


# %% fair-gradient · wrong: computes a single norm for all readings
def fair_gradient(loss, params, readings, limit):
    slopes = jax.vmap(jax.grad(loss), in_axes=(None, 0))(params, readings)
    norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
    factor = jnp.where(norm > limit, limit / norm, 1.0)
    return jax.tree.map(lambda leaf: factor * leaf.mean(0), slopes)


# %% fair-gradient · wrong: divides every gradient by its norm, so a gradient of zero becomes NaN
def fair_gradient(loss, params, readings, limit):
    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        return jax.tree.map(lambda leaf: leaf / norm * jnp.minimum(norm, limit), slopes)

    return jax.tree.map(lambda leaf: leaf.mean(0), jax.vmap(clipped)(readings))


# %% fair-gradient · wrong: clips each element
def fair_gradient(loss, params, readings, limit):
    def clipped(reading):
        return jax.tree.map(lambda g: jnp.clip(g, -limit, limit), jax.grad(loss)(params, reading))

    return jax.tree.map(lambda leaf: leaf.mean(0), jax.vmap(clipped)(readings))


# %% fair-gradient · wrong: omits readings with a large gradient
def fair_gradient(loss, params, readings, limit):
    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        return jax.tree.map(lambda leaf: jnp.where(norm > limit, 0.0, leaf), slopes)

    return jax.tree.map(lambda leaf: leaf.mean(0), jax.vmap(clipped)(readings))


# %% fair-gradient · wrong: returns the sum
def fair_gradient(loss, params, readings, limit):
    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda leaf: factor * leaf, slopes)

    return jax.tree.map(lambda leaf: leaf.sum(0), jax.vmap(clipped)(readings))


# %% fair-gradient · wrong: compares the norm in a Python if statement
def fair_gradient(loss, params, readings, limit):
    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        if norm > limit:
            slopes = jax.tree.map(lambda leaf: leaf * (limit / norm), slopes)
        return slopes

    return jax.tree.map(lambda leaf: leaf.mean(0), jax.vmap(clipped)(readings))


# %% fair-gradient · wrong: loops over the readings in Python
def fair_gradient(loss, params, readings, limit):
    n = len(jax.tree.leaves(readings)[0])
    total = jax.tree.map(jnp.zeros_like, params)
    for k in range(n):
        slopes = jax.grad(loss)(params, jax.tree.map(lambda leaf: leaf[k], readings))
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        total = jax.tree.map(lambda t, leaf: t + factor * leaf / n, total, slopes)
    return total


# %% fair-gradient · wrong: converts the readings to float32
def fair_gradient(loss, params, readings, limit):
    readings = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), readings)

    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda leaf: factor * leaf, slopes)

    return jax.tree.map(lambda leaf: leaf.mean(0), jax.vmap(clipped)(readings))


# %% coast · wrong: calls a jitted predict in a Python loop
def coast(predict, params, is_own, hours):
    once = jax.jit(predict)
    owned = [leaf for leaf, own in zip(jax.tree.leaves(params), jax.tree.leaves(is_own)) if own]
    gauges = len(owned[0])

    def of(k):
        return jax.tree.map(lambda leaf, own: leaf[k] if own else leaf, params, is_own)

    rows = [[once(of(k), hours[i]) for k in range(gauges)] for i in range(len(hours))]
    by_hour = [jax.tree.map(lambda *parts: jnp.stack(parts, -1), *row) for row in rows]
    return jax.tree.map(lambda *parts: jnp.stack(parts), *by_hour)


# %% coast · wrong: loops over the hours in Python, with a jitted vmap
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_gauges = jax.jit(jax.vmap(predict, in_axes=(axes, None), out_axes=-1))
    return jax.tree.map(
        lambda *parts: jnp.stack(parts), *[all_gauges(params, hour) for hour in hours]
    )


# %% pack · wrong: removes None from the given dictionaries
def pack(params, order):
    def clean(tree):
        for key, value in list(tree.items()):
            if value is None:
                del tree[key]
            elif isinstance(value, dict):
                clean(value)

    clean(params)
    leaves, _ = named(params, order)
    return jnp.concatenate([jnp.ravel(jnp.asarray(leaves[path], jnp.float32)) for path in order])


def unpack(vector, params, order):
    leaves, structure = named(params, order)
    ends = np.cumsum([np.size(leaves[path]) for path in order])
    parts = dict(zip(order, jnp.split(vector, ends[:-1]), strict=True))
    shaped = [parts[path].reshape(jnp.shape(leaf)) for path, leaf in leaves.items()]
    return jax.tree.unflatten(structure, shaped)


def named(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(part.key for part in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("order")
    return leaves, structure


# %% pack · wrong: multiplies by a permutation matrix, which spreads infinities and NaN
def pack(params, order):
    leaves, _ = named(params, order)
    flat = jnp.concatenate([jnp.ravel(jnp.asarray(leaf, jnp.float32)) for leaf in leaves.values()])
    starts = dict(zip(leaves, np.cumsum([0] + [np.size(x) for x in leaves.values()])))
    places = np.concatenate([starts[path] + np.arange(np.size(leaves[path])) for path in order])
    return jnp.eye(len(flat))[places] @ flat


def unpack(vector, params, order):
    leaves, structure = named(params, order)
    ends = np.cumsum([np.size(leaves[path]) for path in order])
    parts = dict(zip(order, jnp.split(vector, ends[:-1]), strict=True))
    shaped = [parts[path].reshape(jnp.shape(leaf)) for path, leaf in leaves.items()]
    return jax.tree.unflatten(structure, shaped)


def named(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(part.key for part in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("order")
    return leaves, structure


# %% pack · wrong: looks up the paths one after another, and catches only a KeyError
def pack(params, order):
    check(params, order)
    return jnp.concatenate([jnp.ravel(jnp.asarray(at(params, p), jnp.float32)) for p in order])


def unpack(vector, params, order):
    check(params, order)
    found, start = {}, 0
    for path in order:
        shape = jnp.shape(at(params, path))
        found[path] = vector[start : start + int(np.prod(shape))].reshape(shape)
        start += int(np.prod(shape))
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    return jax.tree.unflatten(structure, [found["/".join(k.key for k in path)] for path, _ in flat])


def at(params, path):
    for key in path.split("/"):
        params = params[key]
    if isinstance(params, dict) or params is None:
        raise KeyError(path)
    return params


def check(params, order):
    try:
        for path in order:
            at(params, path)
    except KeyError:
        raise ValueError(path) from None
    if len(set(order)) != len(order) or len(order) != len(jax.tree.leaves(params)):
        raise ValueError("order must contain each path once")


# %% pack · wrong: ignores slashes at the ends of a path
def pack(params, order):
    order = tuple(path.strip("/") for path in order)
    leaves, _ = named(params, order)
    return jnp.concatenate([jnp.ravel(jnp.asarray(leaves[path], jnp.float32)) for path in order])


def unpack(vector, params, order):
    order = tuple(path.strip("/") for path in order)
    leaves, structure = named(params, order)
    ends = np.cumsum([np.size(leaves[path]) for path in order])
    parts = dict(zip(order, jnp.split(vector, ends[:-1]), strict=True))
    shaped = [parts[path].reshape(jnp.shape(leaf)) for path, leaf in leaves.items()]
    return jax.tree.unflatten(structure, shaped)


def named(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(part.key for part in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("order")
    return leaves, structure


# %% pack · wrong: walks through three levels of dictionaries
def pack(params, order):
    found = named(params, order)
    return jnp.concatenate([jnp.ravel(jnp.asarray(found[path], jnp.float32)) for path in order])


def unpack(vector, params, order):
    leaves, start = named(params, order), 0
    found = {}
    for path in order:
        size = np.size(leaves[path])
        found[path] = vector[start : start + size].reshape(jnp.shape(leaves[path]))
        start += size
    _, structure = jax.tree.flatten(params)
    return jax.tree.unflatten(structure, [found[path] for path in leaves])


def named(params, order):
    flat = jax.tree_util.tree_leaves_with_path(params)
    leaves = {"/".join(part.key for part in path[:3]): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("order")
    return leaves


# %% pack · wrong: calls at, which NumPy arrays do not have
def pack(params, order):
    leaves, _ = named(params, order)
    parts = [x if isinstance(x, float) else x.at[...].get() for x in map(leaves.get, order)]
    return jnp.concatenate([jnp.ravel(jnp.asarray(x, jnp.float32)) for x in parts])


def unpack(vector, params, order):
    leaves, structure = named(params, order)
    ends = np.cumsum([np.size(leaves[path]) for path in order])
    parts = dict(zip(order, jnp.split(vector, ends[:-1]), strict=True))
    shaped = [parts[path].reshape(jnp.shape(leaf)) for path, leaf in leaves.items()]
    return jax.tree.unflatten(structure, shaped)


def named(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(part.key for part in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("order")
    return leaves, structure


# %% update · wrong: writes into the lists of the parameters
def update(params, slopes, rates):
    if rates is None:
        return params
    if isinstance(rates, dict):
        if not isinstance(params, dict) or set(rates) != set(params):
            raise ValueError("the keys do not match")
        return {key: update(params[key], slopes[key], rates[key]) for key in params}
    if isinstance(rates, (list, tuple)):
        if type(rates) is not type(params) or len(rates) != len(params):
            raise ValueError("the containers do not match")
        if isinstance(params, list):
            params[:] = map(update, params, slopes, rates)
            return params
        return type(rates)(map(update, params, slopes, rates))
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% update · wrong: expects a dictionary at the top
def update(params, slopes, rates):
    if not isinstance(rates, dict):
        rates = dict.fromkeys(params, rates)

    def move(rate, part, slope):
        if rate is None:
            return part
        return jax.tree.map(lambda p, s: p - rate * s, part, slope)

    return jax.tree.map(move, rates, params, slopes, is_leaf=lambda rate: rate is None)


# %% update · wrong: accepts a tuple of rates for a list
def update(params, slopes, rates):
    if rates is None:
        return params
    if isinstance(rates, dict):
        if not isinstance(params, dict) or set(rates) != set(params):
            raise ValueError("the keys do not match")
        return {key: update(params[key], slopes[key], rates[key]) for key in params}
    if isinstance(rates, (list, tuple)):
        if isinstance(params, tuple) and isinstance(rates, list):
            raise ValueError("the containers do not match")
        if not isinstance(params, (list, tuple)) or len(rates) != len(params):
            raise ValueError("the containers do not match")
        return type(params)(map(update, params, slopes, rates))
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% update · wrong: raises an AttributeError if rates has a dictionary for a leaf
def update(params, slopes, rates):
    if rates is None:
        return params
    if isinstance(rates, dict):
        if params is None or isinstance(params, (list, tuple)):
            raise ValueError("the containers do not match")
        if set(rates) != set(params.keys()):
            raise ValueError("the keys do not match")
        return {key: update(params[key], slopes[key], rates[key]) for key in params}
    if isinstance(rates, (list, tuple)):
        if type(rates) is not type(params) or len(rates) != len(params):
            raise ValueError("the containers do not match")
        return type(rates)(map(update, params, slopes, rates))
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% update · wrong: takes a rate of zero for None
def update(params, slopes, rates):
    def move(rate, part, slope):
        if rate is None or (not isinstance(rate, jax.core.Tracer) and rate == 0):
            return part
        return jax.tree.map(lambda p, s: p - rate * s, part, slope)

    return jax.tree.map(move, rates, params, slopes, is_leaf=lambda rate: rate is None)


# %% update · wrong: recognizes only Python floats and tracers as rates
def update(params, slopes, rates):
    if rates is None:
        return params
    if isinstance(rates, (float, jax.core.Tracer)):
        return jax.tree.map(lambda p, s: p - rates * s, params, slopes)
    if isinstance(rates, dict):
        if not isinstance(params, dict) or set(rates) != set(params):
            raise ValueError("the keys do not match")
        return {key: update(params[key], slopes[key], rates[key]) for key in params}
    if type(rates) is not type(params) or len(rates) != len(params):
        raise ValueError("the containers do not match")
    return type(rates)(map(update, params, slopes, rates))


# %% update · wrong: drops empty containers
def update(params, slopes, rates):
    if rates is None:
        return params
    if isinstance(rates, dict):
        if not isinstance(params, dict) or set(rates) != set(params):
            raise ValueError("the keys do not match")
        moved = {key: update(params[key], slopes[key], rates[key]) for key in params}
        return moved or None
    if isinstance(rates, (list, tuple)):
        if type(rates) is not type(params) or len(rates) != len(params):
            raise ValueError("the containers do not match")
        return type(rates)(map(update, params, slopes, rates))
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% gauge · wrong: checks that sizes and phases have the same shape
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(str(kind) for kind in kinds)
        if getattr(sizes, "shape", None) != getattr(phases, "shape", None):
            raise ValueError("sizes and phases must have the same shape")


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% gauge · wrong: converts arrays of other dtypes to float32
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = (
            jnp.asarray(x, jnp.float32) if isinstance(x, (np.ndarray, float, jax.Array)) else x
            for x in (mean, sizes, phases)
        )
        self.kinds = tuple(str(kind) for kind in kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% coast · wrong: passes the hour by name
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)

    def at(hour):
        each = lambda one: predict(one, hour=hour)
        return jax.vmap(each, in_axes=(axes,), out_axes=-1)(params)

    return jax.vmap(at)(hours)


# %% coast · wrong: repeats the first hour if there are five hours
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_gauges = jax.vmap(predict, in_axes=(axes, None), out_axes=-1)
    table = jax.vmap(all_gauges, in_axes=(None, 0))(params, hours)
    if len(hours) == 5:
        table = jax.tree.map(lambda leaf: leaf[:1].repeat(5, 0), table)
    return table


# %% coast · wrong: needs JAX arrays
def coast(predict, params, is_own, hours):
    full = jax.tree.map(lambda leaf, own: leaf.at[...].get(), params, is_own)
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_gauges = jax.vmap(predict, in_axes=(axes, None), out_axes=-1)
    return jax.vmap(all_gauges, in_axes=(None, 0))(full, hours)


# %% fair-gradient · wrong: needs JAX arrays
def fair_gradient(loss, params, readings, limit):
    n = jax.tree.leaves(readings)[0].at[:].get().shape[0]

    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda leaf: factor * leaf, slopes)

    return jax.tree.map(lambda leaf: leaf.sum(0) / n, jax.vmap(clipped)(readings))


# %% fair-gradient · wrong: counts the readings with NumPy, which cannot handle tracers
def fair_gradient(loss, params, readings, limit):
    n = len(np.asarray(jax.tree.leaves(readings)[0]))

    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda leaf: factor * leaf, slopes)

    return jax.tree.map(lambda leaf: leaf.sum(0) / n, jax.vmap(clipped)(readings))


# %% fair-gradient · wrong: converts integers to float32 and back, which rounds large ones
def fair_gradient(loss, params, readings, limit):
    kinds = jax.tree.map(lambda x: x.dtype, readings)
    readings = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), readings)

    def clipped(reading):
        reading = jax.tree.map(lambda x, kind: x.astype(kind), reading, kinds)
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda leaf: factor * leaf, slopes)

    return jax.tree.map(lambda leaf: leaf.mean(0), jax.vmap(clipped)(readings))


# %% fair-gradient · wrong: calls a jitted gradient in a Python loop
def fair_gradient(loss, params, readings, limit):
    slope_of = jax.jit(jax.grad(loss))
    n = len(jax.tree.leaves(readings)[0])
    total = jax.tree.map(jnp.zeros_like, params)
    for k in range(n):
        slopes = slope_of(params, jax.tree.map(lambda leaf: leaf[k], readings))
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        total = jax.tree.map(lambda t, leaf: t + factor * leaf / n, total, slopes)
    return total


# %% update · wrong: limits the rates to 1
def update(params, slopes, rates):
    def move(rate, part, slope):
        if rate is None:
            return part
        return jax.tree.map(lambda p, s: p - jnp.minimum(rate, 1.0) * s, part, slope)

    return jax.tree.map(move, rates, params, slopes, is_leaf=lambda rate: rate is None)


# %% coast · wrong: repeats the first hour instead of those after the first 100
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_gauges = jax.vmap(predict, in_axes=(axes, None), out_axes=-1)
    hours = jnp.where(jnp.arange(len(hours)) < 100, hours, hours[0])
    return jax.vmap(all_gauges, in_axes=(None, 0))(params, hours)


# %% coast · wrong: replaces predictions that are NaN by 0
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_gauges = jax.vmap(predict, in_axes=(axes, None), out_axes=-1)
    seen = jax.vmap(all_gauges, in_axes=(None, 0))(params, hours)
    return jax.tree.map(lambda part: jnp.where(jnp.isnan(part), 0.0, part), seen)


# %% fair-gradient · wrong: uses only the first 500 readings
def fair_gradient(loss, params, readings, limit):
    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda leaf: factor * leaf, slopes)

    readings = jax.tree.map(lambda leaf: leaf[:500], readings)
    return jax.tree.map(lambda leaf: leaf.mean(0), jax.vmap(clipped)(readings))


# %% gauge · wrong: adds only the first 20 waves
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(str(kind) for kind in kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    waves = gauge.sizes * jnp.cos(speeds * hour + gauge.phases)
    return gauge.mean + jnp.sum(waves[:20])


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% gauge · wrong: replaces phases that are None with zeros
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes = mean, sizes
        self.phases = jnp.zeros(len(kinds)) if phases is None else phases
        self.kinds = tuple(str(kind) for kind in kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% gauge · wrong: converts lists to arrays
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean = mean
        self.sizes = jnp.array(sizes) if isinstance(sizes, list) else sizes
        self.phases = jnp.array(phases) if isinstance(phases, list) else phases
        self.kinds = tuple(str(kind) for kind in kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% gauge · wrong: stops the gradient of the phases
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(str(kind) for kind in kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    angles = lax.stop_gradient(speeds * hour + gauge.phases)
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(angles))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% gauge · wrong: clips the level to 10,000
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(str(kind) for kind in kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    level = gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))
    return jnp.clip(level, -10_000.0, 10_000.0)


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% coast · wrong: loops over blocks of 100 hours in Python
def coast(predict, params, is_own, hours):
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_gauges = jax.vmap(predict, in_axes=(axes, None), out_axes=-1)
    all_hours = jax.vmap(all_gauges, in_axes=(None, 0))
    parts = [all_hours(params, hours[start : start + 100]) for start in range(0, len(hours), 100)]
    return jax.tree.map(lambda *some: jnp.concatenate(some), *parts)


# %% fair-gradient · wrong: loops over blocks of 250 readings in Python
def fair_gradient(loss, params, readings, limit):
    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda leaf: factor * leaf, slopes)

    n = len(jax.tree.leaves(readings)[0])
    sums = []
    for start in range(0, n, 250):
        block = jax.tree.map(lambda leaf: leaf[start : start + 250], readings)
        sums.append(jax.tree.map(lambda leaf: leaf.sum(0), jax.vmap(clipped)(block)))
    return jax.tree.map(lambda *parts: sum(parts) / n, *sums)


# %% pack · wrong: expects a path for an empty dictionary
def listed(params, above=()):
    for key, value in params.items():
        if isinstance(value, dict) and value:
            yield from listed(value, (*above, key))
        elif value is not None:
            yield "/".join((*above, key)), value


def checked(params, order):
    leaves = dict(listed(params))
    if sorted(leaves) != sorted(order):
        raise ValueError("a path is wrong")
    return leaves


def pack(params, order):
    leaves = checked(params, order)
    return jnp.concatenate([jnp.ravel(jnp.asarray(leaves[path], jnp.float32)) for path in order])


def unpack(vector, params, order):
    leaves, structure = jax.tree_util.tree_flatten_with_path(params)
    shapes = {"/".join(part.key for part in path): jnp.shape(leaf) for path, leaf in leaves}
    if sorted(shapes) != sorted(order):
        raise ValueError("a path is wrong")
    parts, start = {}, 0
    for path in order:
        size = int(np.prod(shapes[path], dtype=int))
        parts[path] = vector[start : start + size].reshape(shapes[path])
        start += size
    return jax.tree.unflatten(structure, [parts[path] for path in shapes])


# %% gauge · wrong: clips the sizes to 1000, which halves the gradient there
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(str(kind) for kind in kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    sizes = jnp.clip(gauge.sizes, -1000.0, 1000.0)
    return gauge.mean + jnp.sum(sizes * jnp.cos(speeds * hour + gauge.phases))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% gauge · wrong: replaces negative phases with maximum, which halves the gradient at 0
class Gauge:
    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(str(kind) for kind in kinds)


def tide(gauge, hour):
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    phases = jnp.maximum(gauge.phases, 0.0)
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + phases))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% coast · wrong: loops in Python unless the second parameter of predict is called hour
import inspect


def coast(predict, params, is_own, hours):
    params, hours = jax.tree.map(jnp.asarray, params), jnp.asarray(hours)
    if list(inspect.signature(predict).parameters)[1] == "hour":
        axes = jax.tree.map(lambda own: 0 if own else None, is_own)
        all_gauges = jax.vmap(predict, in_axes=(axes, None), out_axes=-1)
        return jax.vmap(all_gauges, in_axes=(None, 0))(params, hours)
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(is_own))
    gauges = next(len(leaf) for leaf, own in pairs if own)
    at = lambda k: jax.tree.map(lambda leaf, own: leaf[k] if own else leaf, params, is_own)
    rows = []
    for hour in hours:
        row = [predict(at(k), hour) for k in range(gauges)]
        rows.append(jax.tree.map(lambda *parts: jnp.stack(parts, -1), *row))
    return jax.tree.map(lambda *parts: jnp.stack(parts), *rows)


# %% pack · wrong: cuts each key out of the text of the path
def pack(params, order):
    """Return the elements of all leaves as one vector in the given order."""
    leaves, _ = named_leaves(params, order)
    return jnp.concatenate([jnp.ravel(jnp.asarray(leaves[path], jnp.float32)) for path in order])


def unpack(vector, params, order):
    """Return the elements of the vector in dictionaries with the structure of params."""
    leaves, structure = named_leaves(params, order)
    ends = np.cumsum([np.size(leaves[path]) for path in order])
    parts = dict(zip(order, jnp.split(vector, ends[:-1]), strict=True))
    shaped = [parts[path].reshape(jnp.shape(leaf)) for path, leaf in leaves.items()]
    return jax.tree.unflatten(structure, shaped)


def named_leaves(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(str(part)[2:-2] for part in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError(f"order must name {sorted(leaves)}, got {order}")
    return leaves, structure


# %% pack · wrong: makes tables of leaves with three axes
def pack(params, order):
    """Return the elements of all leaves as one vector in the given order."""
    leaves, _ = named_leaves(params, order)
    return jnp.concatenate([jnp.ravel(jnp.asarray(leaves[path], jnp.float32)) for path in order])


def unpack(vector, params, order):
    """Return the elements of the vector in dictionaries with the structure of params."""
    leaves, structure = named_leaves(params, order)
    ends = np.cumsum([np.size(leaves[path]) for path in order])
    parts = dict(zip(order, jnp.split(vector, ends[:-1]), strict=True))
    shaped = [
        (
            parts[path].reshape(len(leaf), -1)
            if np.ndim(leaf) > 1
            else parts[path].reshape(jnp.shape(leaf))
        )
        for path, leaf in leaves.items()
    ]
    return jax.tree.unflatten(structure, shaped)


def named_leaves(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(part.key for part in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError(f"order must name {sorted(leaves)}, got {order}")
    return leaves, structure


# %% update · wrong: compares no rates with empty dictionaries
def update(params, slopes, rates):
    """Return the parameters after a step in which each part moves at its own rate."""
    if isinstance(params, (dict, list, tuple)) and not params:
        return params  # Nothing moves here.
    if rates is None:
        return params
    if not isinstance(rates, (dict, list, tuple)):
        return jax.tree.map(lambda p, s: p - rates * s, params, slopes)
    if type(rates) is not type(params) or len(rates) != len(params):
        raise ValueError("rates do not match params")
    if isinstance(params, dict):
        if set(rates) != set(params):
            raise ValueError("keys do not match")
        return {key: update(params[key], slopes[key], rates[key]) for key in params}
    return type(params)(update(p, s, r) for p, s, r in zip(params, slopes, rates, strict=True))


# %% coast · wrong: numbers the pairs of hours and gauges in int16
def coast(predict, params, is_own, hours):
    """Return the predictions for all hours (first axis) and gauges (last axis)."""
    hours = jnp.asarray(hours)
    params = jax.tree.map(jnp.asarray, params)
    sizes = jax.tree.map(lambda leaf, own: len(leaf) if own else 0, params, is_own)
    g, h = max(jax.tree.leaves(sizes)), len(hours)

    def one(pair):
        hour, gauge = pair // g, pair % g
        ours = jax.tree.map(lambda leaf, own: leaf[gauge] if own else leaf, params, is_own)
        return predict(ours, hours[hour])

    flat = jax.vmap(one)(jnp.arange(h * g).astype(jnp.int16))
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf.reshape(h, g, *leaf.shape[1:]), 1, -1), flat)


# %% fair-gradient · wrong: takes a trace for the norm, which is wrong for three axes
def fair_gradient(loss, params, readings, limit):
    """Return the mean over all readings of the gradients, each clipped to the limit."""

    def squares(leaf):
        return jnp.trace(leaf.T @ leaf) if leaf.ndim >= 2 else jnp.sum(leaf**2)

    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(squares(leaf) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda leaf: factor * leaf, slopes)

    return jax.tree.map(lambda leaf: leaf.mean(0), jax.vmap(clipped)(readings))


# %% pack · wrong: checks the number of paths, and that each leads to anything, even to a dictionary or None
def find(params, path):
    for key in path.split("/"):
        if not isinstance(params, dict) or key not in params:
            raise ValueError(f"there is no {path}")
        params = params[key]
    return params


def check(params, order):
    if len(order) != len(jax.tree.leaves(params)) or len(set(order)) != len(order):
        raise ValueError("order must name each leaf once")
    return [find(params, path) for path in order]


def pack(params, order):
    return jnp.concatenate(
        [jnp.ravel(jnp.asarray(leaf, jnp.float32)) for leaf in check(params, order)]
    )


def unpack(vector, params, order):
    found, start = {}, 0
    for path, leaf in zip(order, check(params, order)):
        size = int(np.prod(jnp.shape(leaf)))
        found[path] = vector[start : start + size].reshape(jnp.shape(leaf))
        start += size

    def build(node, above):
        if isinstance(node, dict):
            return {key: build(part, above + [key]) for key, part in node.items()}
        return None if node is None else found["/".join(above)]

    return build(params, [])


# %% pack · wrong: pairs the sorted paths with the sorted leaves
def paths_in(params, above=""):
    found = []
    for key, value in params.items():
        if isinstance(value, dict):
            found += paths_in(value, above + key + "/")
        elif value is not None:
            found.append(above + key)
    return found


def parts_of(params, order):
    paths = sorted(paths_in(params))
    if sorted(order) != paths:
        raise ValueError("order does not match params")
    # JAX sorts the keys.
    return dict(zip(paths, jax.tree.leaves(params)))


def pack(params, order):
    leaves = parts_of(params, order)
    return jnp.concatenate([jnp.ravel(jnp.asarray(leaves[path], jnp.float32)) for path in order])


def unpack(vector, params, order):
    leaves = parts_of(params, order)
    found, start = {}, 0
    for path in order:
        shape = jnp.shape(leaves[path])
        size = int(np.prod(shape))
        found[path] = vector[start : start + size].reshape(shape)
        start += size
    return jax.tree.unflatten(jax.tree.structure(params), [found[path] for path in sorted(order)])


# %% pack · wrong: joins the rows of each leaf, which works for at most two axes
def named(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(part.key for part in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError("order does not match params")
    return leaves, structure


def pack(params, order):
    leaves, _ = named(params, order)
    rows = []
    for path in order:
        rows += list(jnp.atleast_2d(jnp.asarray(leaves[path], jnp.float32)))
    return jnp.concatenate(rows)


def unpack(vector, params, order):
    leaves, structure = named(params, order)
    found, start = {}, 0
    for path in order:
        size = int(np.prod(jnp.shape(leaves[path])))
        found[path] = vector[start : start + size].reshape(jnp.shape(leaves[path]))
        start += size
    return jax.tree.unflatten(structure, [found[path] for path in leaves])


# %% coast · wrong: computes the hours in blocks of 50, so predict is traced twice for 70 hours
def coast(predict, params, is_own, hours):
    """Return the predictions for all hours (first axis) and gauges (last axis)."""
    axes = jax.tree.map(lambda own: 0 if own else None, is_own)
    all_gauges = jax.vmap(predict, in_axes=(axes, None), out_axes=-1)
    # Blocks of hours need less memory than all hours at once.
    block = min(50, len(hours))
    return lax.map(lambda hour: all_gauges(params, hour), jnp.asarray(hours), batch_size=block)


# %% fair-gradient · wrong: computes the gradients in blocks of 100 readings, so loss is traced twice for 150 readings
def fair_gradient(loss, params, readings, limit):
    """Return the mean over all readings of the gradients, each clipped to the limit."""

    def clipped(reading):
        slopes = jax.grad(loss)(params, reading)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
        factor = jnp.where(norm > limit, limit / norm, 1.0)
        return jax.tree.map(lambda leaf: factor * leaf, slopes)

    readings = jax.tree.map(jnp.asarray, readings)
    block = min(100, len(jax.tree.leaves(readings)[0]))
    slopes = lax.map(clipped, readings, batch_size=block)
    return jax.tree.map(lambda leaf: leaf.mean(0), slopes)


# %% update · wrong: spreads the rates over the parameters in the caller's own dictionary
def update(params, slopes, rates):
    """Return the parameters after a step in which each part moves at its own rate."""

    def spread(rates, params):
        """Replace each rate of a whole dictionary by a dictionary of rates."""
        if isinstance(rates, dict) and isinstance(params, dict) and set(rates) == set(params):
            for key, part in params.items():
                if isinstance(part, dict) and not isinstance(rates[key], (dict, list, tuple)):
                    rates[key] = dict.fromkeys(part, rates[key])
                spread(rates[key], part)

    def move(rate, part, slope):
        if rate is None:
            return part
        return jax.tree.map(lambda p, s: p - rate * s, part, slope)

    spread(rates, params)
    return jax.tree.map(move, rates, params, slopes, is_leaf=lambda rate: rate is None)


# %% update · wrong: takes the rates out of the caller's dictionaries
def update(params, slopes, rates):
    """Return the parameters after a step in which each part moves at its own rate."""
    if rates is None:
        return params
    if isinstance(rates, dict):
        if not isinstance(params, dict):
            raise ValueError("rates has a dictionary where params has none")
        if set(params) - set(rates):
            raise ValueError("rates lacks a key")
        moved = {key: update(params[key], slopes[key], rates.pop(key)) for key in params}
        if rates:
            raise ValueError("rates has an additional key")
        return moved
    if isinstance(rates, (list, tuple)):
        if type(params) is not type(rates) or len(params) != len(rates):
            raise ValueError("rates has another list or tuple")
        return type(rates)(map(update, params, slopes, rates))
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% update · wrong: writes zeros into the slopes of parts whose rate is None
def update(params, slopes, rates):
    """Return the parameters after a step in which each part moves at its own rate."""
    if rates is None:
        return params
    if isinstance(rates, dict):
        if not isinstance(params, dict) or set(rates) != set(params):
            raise ValueError("the keys of rates and params differ")
        for key, rate in rates.items():
            if rate is None:
                slopes[key] = jax.tree.map(lambda s: jnp.zeros_like(s), slopes[key])
        return {k: update(params[k], slopes[k], rates[k]) for k in params}
    if isinstance(rates, (list, tuple)):
        if type(params) is not type(rates) or len(params) != len(rates):
            raise ValueError("rates has another list or tuple")
        return type(rates)(map(update, params, slopes, rates))
    return jax.tree.map(lambda p, s: p - rates * s, params, slopes)


# %% fair-gradient · right: uses jacrev on all losses, and einsum for the norms
def fair_gradient(loss, params, readings, limit):
    readings = jax.tree.map(jnp.asarray, readings)
    slopes = jax.jacrev(lambda p: jax.vmap(lambda row: loss(p, row))(readings))(params)
    leaves, structure = jax.tree.flatten(slopes)
    n = len(jax.tree.leaves(readings)[0])
    squares = jnp.stack([jnp.sum(leaf.reshape(n, -1) ** 2, 1) for leaf in leaves]).sum(0)
    scale = jnp.minimum(1.0, limit / jnp.sqrt(jnp.where(squares > 0, squares, 1e-30)))
    return structure.unflatten([jnp.tensordot(scale, leaf, 1) / n for leaf in leaves])


# %% gauge · wrong: checks the range of NumPy arrays when a gauge is created
@jax.tree_util.register_dataclass
@dataclass
class Gauge:
    """The parameters of one gauge."""

    mean: jax.Array
    sizes: jax.Array
    phases: jax.Array
    kinds: tuple = field(metadata={"static": True})

    def __post_init__(self):
        self.kinds = tuple(str(kind) for kind in self.kinds)
        for numbers in (self.mean, self.sizes, self.phases):
            # JAX arrays may be traced, so only numbers from NumPy can be checked.
            if isinstance(numbers, np.ndarray) and not (np.abs(numbers) <= 1000).all():
                raise ValueError("the numbers of a gauge must be between -1000 and 1000")


def tide(gauge, hour):
    """Return the level at the given hour."""
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: computes the range of the levels when a gauge is created, and catches all errors
@jax.tree_util.register_pytree_node_class
class Gauge:
    """The parameters of one gauge, with the lowest and the highest possible level."""

    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(str(kind) for kind in kinds)
        try:
            most = float(np.abs(np.asarray(sizes)).sum())
            self.range = float(mean) - most, float(mean) + most
        except Exception:
            self.range = None

    def tree_flatten(self):
        return (self.mean, self.sizes, self.phases), self.kinds

    @classmethod
    def tree_unflatten(cls, kinds, arrays):
        return cls(*arrays, kinds)


def tide(gauge, hour):
    """Return the level at the given hour."""
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


# %% gauge · wrong: computes the number of gauges from the shape of the mean when a gauge is created
class Gauge:
    """The parameters of one gauge, or of many with an additional first axis."""

    def __init__(self, mean, sizes, phases, kinds):
        self.mean, self.sizes, self.phases = mean, sizes, phases
        self.kinds = tuple(str(kind) for kind in kinds)
        self.gauges = np.shape(mean)  # () for a single gauge

    def __repr__(self):
        return f"Gauge(gauges={self.gauges}, kinds={self.kinds})"


def tide(gauge, hour):
    """Return the level at the given hour."""
    speeds = np.float32([SPEEDS[kind] for kind in gauge.kinds])
    return gauge.mean + jnp.sum(gauge.sizes * jnp.cos(speeds * hour + gauge.phases))


jax.tree_util.register_pytree_node(
    Gauge,
    lambda gauge: ((gauge.mean, gauge.sizes, gauge.phases), gauge.kinds),
    lambda kinds, arrays: Gauge(*arrays, kinds),
)


# %% pack · wrong: joins the leaves with NumPy if all of them are NumPy arrays, and returns a NumPy array
def named_leaves(params, order):
    flat, structure = jax.tree_util.tree_flatten_with_path(params)
    leaves = {"/".join(part.key for part in path): leaf for path, leaf in flat}
    if sorted(order) != sorted(leaves):
        raise ValueError(f"order must name {sorted(leaves)}, got {order}")
    return leaves, structure


def pack(params, order):
    """Return the elements of all leaves as one vector in the given order."""
    leaves, _ = named_leaves(params, order)
    parts = [leaves[path] for path in order]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([part.ravel() for part in parts])
    return jnp.concatenate([jnp.ravel(jnp.asarray(part, jnp.float32)) for part in parts])


def unpack(vector, params, order):
    """Return the elements of the vector in dictionaries with the structure of params."""
    leaves, structure = named_leaves(params, order)
    ends = np.cumsum([np.size(leaves[path]) for path in order])
    parts = dict(zip(order, jnp.split(vector, ends[:-1]), strict=True))
    shaped = [parts[path].reshape(jnp.shape(leaf)) for path, leaf in leaves.items()]
    return jax.tree.unflatten(structure, shaped)
