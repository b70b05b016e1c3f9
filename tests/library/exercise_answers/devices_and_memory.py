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


def plain_scan(step, init, xs, segments):
    return lax.scan(step, init, xs)


def scan_of_checkpointed_step(step, init, xs, segments):
    return lax.scan(jax.checkpoint(step), init, xs)


def checkpointed_scan(step, init, xs, segments):
    return jax.checkpoint(lambda init, xs: lax.scan(step, init, xs))(init, xs)


def split(xs, segments):
    return jax.tree.map(lambda x: x.reshape(segments, -1, *x.shape[1:]), xs)


def merge(ys):
    return jax.tree.map(lambda y: y.reshape(-1, *y.shape[2:]), ys)


def nested_scans(step, init, xs, segments):
    carry, ys = lax.scan(lambda carry, part: lax.scan(step, carry, part), init, split(xs, segments))
    return carry, merge(ys)


def nested_scans_of_checkpointed_step(step, init, xs, segments):
    return nested_scans(jax.checkpoint(step), init, xs, segments)


def results_by_segment(step, init, xs, segments):
    run = jax.checkpoint(lambda carry, part: lax.scan(step, carry, part))
    return lax.scan(run, init, split(xs, segments))


def last_carry_only(step, init, xs, segments):
    return results_by_segment(step, init, xs, segments)[0]


def first_segment_only(step, init, xs, segments):
    return lax.scan(step, init, jax.tree.map(lambda x: x[0], split(xs, segments)))


def independent_segments(step, init, xs, segments):
    carry, ys = jax.vmap(lambda part: lax.scan(step, init, part))(split(xs, segments))
    return jax.tree.map(lambda c: c[-1], carry), merge(ys)


def segments_of_an_array(step, init, xs, segments):
    run = jax.checkpoint(lambda carry, part: lax.scan(step, carry, part))
    carry, ys = lax.scan(run, init, xs.reshape(segments, -1, *xs.shape[1:]))
    return carry, merge(ys)


def segments_of_checkpointed_steps(step, init, xs, segments):
    """Checkpoint the steps, too, which recomputes twice and stores even less."""
    run = jax.checkpoint(lambda carry, part: lax.scan(jax.checkpoint(step), carry, part))
    carry, ys = lax.scan(run, init, split(xs, segments))
    return carry, merge(ys)


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
        (plain_scan, "must need less than a quarter"),
        (scan_of_checkpointed_step, "must need less than a quarter"),
        (checkpointed_scan, "must need less than a quarter"),
        (nested_scans, "must need less than a quarter"),
        (nested_scans_of_checkpointed_step, "must need less than a quarter"),
        (results_by_segment, "the stacked results must be"),
        (last_carry_only, "must return a pair"),
        (first_segment_only, "the last carry must be"),
        (independent_segments, "the last carry must be"),
        (segments_of_an_array, "has no attribute 'reshape'"),
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
    ("devices-and-memory/2", segments_of_checkpointed_steps),
    ("devices-and-memory/3", same_by_paths),
]
