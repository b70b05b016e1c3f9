"""Right and wrong answers to the exercises on devices and memory."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def memory_of(f, x):
    return jax.jit(f).lower(x).compile().memory_analysis()


def bytes_of_temporary_arrays(f, x):
    return memory_of(f, x).temp_size_in_bytes


def bytes_without_results(f, x):
    memory = memory_of(f, x)
    return memory.argument_size_in_bytes + memory.temp_size_in_bytes


def bytes_without_temporary_arrays(f, x):
    memory = memory_of(f, x)
    return memory.argument_size_in_bytes + memory.output_size_in_bytes


def bytes_of_arguments(f, x):
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(x))


def bytes_by_running(f, x):
    result = f(x)
    return x.nbytes + result.nbytes


def bytes_by_running_the_program(f, x):
    program = jax.jit(f)
    memory = program.lower(x).compile().memory_analysis()
    program(x)
    return memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes


def bytes_in_mib(f, x):
    memory = memory_of(f, x)
    total = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return total / 2**20


def bytes_as_statistics(f, x):
    return memory_of(f, x)


def bytes_from_a_list(f, x):
    memory = jax.jit(f).trace(x).lower().compile().memory_analysis()
    kinds = ("argument", "output", "temp")
    return float(sum(getattr(memory, f"{kind}_size_in_bytes") for kind in kinds))


def summed_gradient(loss, params, batch, parts):
    pieces = batch.reshape(parts, -1, *batch.shape[1:])

    def add(total, piece):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, piece)), None

    return lax.scan(add, jax.tree.map(jnp.zeros_like, params), pieces)[0]


def last_gradient(loss, params, batch, parts):
    pieces = batch.reshape(parts, -1, *batch.shape[1:])

    def step(_, piece):
        return jax.grad(loss)(params, piece), None

    return lax.scan(step, jax.tree.map(jnp.zeros_like, params), pieces)[0]


def first_gradient(loss, params, batch, parts):
    return jax.grad(loss)(params, batch[: len(batch) // parts])


def gradient_by_vmap(loss, params, batch, parts):
    pieces = batch.reshape(parts, -1, *batch.shape[1:])
    gradients = jax.vmap(lambda piece: jax.grad(loss)(params, piece))(pieces)
    return jax.tree.map(lambda g: g.mean(0), gradients)


def gradient_of_the_whole_batch(loss, params, batch, parts):
    return jax.grad(loss)(params, batch)


def gradient_of_flat_batch(loss, params, batch, parts):
    return solve_with_shape(loss, params, batch.reshape(-1), parts)


def gradient_of_matrix_only(loss, params, batch, parts):
    pieces = batch.reshape(parts, len(batch) // parts, batch.shape[1])
    return solve_with_shape(loss, params, pieces.reshape(batch.shape), parts)


def gradient_as_a_list(loss, params, batch, parts):
    return [jax.grad(loss)(params, piece) for piece in jnp.split(batch, parts)]


def solve_with_shape(loss, params, batch, parts):
    pieces = batch.reshape(parts, -1, *batch.shape[1:])

    def step(total, piece):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, piece)), None

    total = lax.scan(step, jax.tree.map(jnp.zeros_like, params), pieces)[0]
    return jax.tree.map(lambda g: g / parts, total)


def gradient_by_fori_loop(loss, params, batch, parts):
    size = len(batch) // parts

    def add(i, total):
        piece = lax.dynamic_slice_in_dim(batch, i * size, size)
        gradient = jax.grad(loss)(params, piece)
        return jax.tree.map(lambda t, g: t + g / parts, total, gradient)

    return lax.fori_loop(0, parts, add, jax.tree.map(jnp.zeros_like, params))


def gradient_of_checkpointed_mean(loss, params, batch, parts):
    """Let grad accumulate, which saves as much memory if each part is checkpointed."""

    def mean_loss(params):
        pieces = batch.reshape(parts, -1, *batch.shape[1:])
        return lax.map(jax.checkpoint(lambda piece: loss(params, piece)), pieces).mean()

    return jax.grad(mean_loss)(params)


def same_if_close(one, other):
    return jax.tree.all(jax.tree.map(jnp.allclose, one, other))


def same_if_equal(one, other):
    return jax.tree.all(jax.tree.map(jnp.array_equal, one, other))


def same_if_equal_with_nan(one, other):
    if jax.tree.structure(one) != jax.tree.structure(other):
        return False
    return jax.tree.all(
        jax.tree.map(lambda a, b: jnp.array_equal(a, b, equal_nan=True), one, other)
    )


def same_values(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=False)
    return all((np.asarray(a) == np.asarray(b)).all() for a, b in pairs)


def same_by_operator(one, other):
    return one == other


def same_for_each_leaf(one, other):
    return jax.tree.map(jnp.array_equal, one, other)


def same_bytes_only(one, other):
    def bytes_of(tree):
        return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]

    return bytes_of(one) == bytes_of(other)


def same_without_structure(one, other):
    def forms(tree):
        leaves = map(np.asarray, jax.tree.leaves(tree))
        return [(leaf.dtype, leaf.shape, leaf.tobytes()) for leaf in leaves]

    return forms(one) == forms(other)


def same_by_paths(one, other):
    def forms(tree):
        flat, structure = jax.tree.flatten(tree)
        return structure, [(str(x.dtype), x.shape, np.asarray(x).tobytes()) for x in flat]

    return forms(one) == forms(other)


WRONG = {
    "devices-and-memory/1": [
        (bytes_of_temporary_arrays, "these are only the temporary arrays"),
        (bytes_without_results, "the results are missing"),
        (bytes_without_temporary_arrays, "the temporary arrays are missing"),
        (bytes_of_arguments, "these are only the arguments"),
        (bytes_by_running, "the temporary arrays are missing"),
        (bytes_by_running_the_program, "which has no values"),
        (bytes_in_mib, "return bytes, not MiB"),
        (bytes_as_statistics, "must return a number"),
    ],
    "devices-and-memory/2": [
        (summed_gradient, "divide the sum of the gradients by the number of parts"),
        (last_gradient, "which is the gradient of the last part alone"),
        (first_gradient, "which is the gradient of the first part alone"),
        (gradient_by_vmap, "must need less than half as much memory"),
        (gradient_of_the_whole_batch, "must need less than half as much memory"),
        (gradient_of_flat_batch, "under jit"),
        (gradient_of_matrix_only, "IndexError"),
        (gradient_as_a_list, "must have the structure of the parameters"),
    ],
    "devices-and-memory/3": [
        (same_if_close, "the last digit differs"),
        (same_if_equal, "NaN at the same place has the same bits"),
        (same_if_equal_with_nan, "0.0 and -0.0 have different bits"),
        (same_values, "NaN at the same place has the same bits"),
        (same_by_operator, "ambiguous"),
        (same_for_each_leaf, "must return a single boolean"),
        (same_bytes_only, "the dtypes differ"),
        (same_without_structure, "the keys differ"),
    ],
}
RIGHT = [
    ("devices-and-memory/1", bytes_from_a_list),
    ("devices-and-memory/2", gradient_by_fori_loop),
    ("devices-and-memory/2", gradient_of_checkpointed_mean),
    ("devices-and-memory/3", same_by_paths),
]
