"""List the modules, builtins, comparison methods, and shell attributes that tests rely on."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A notebook must not change anything in these modules. The dot at the end ensures that a prefix
# matches only whole names.
MODULES = tuple(
    f"{root}."
    for root in (
        "numpy",
        "jax",
        "jaxlib",
        "jaxbits",
        "jaxbits_grader",
        "flax",
        "optax",
        "torch",
        "builtins",
        "math",
        "operator",
        "unittest",
    )
)
SETTINGS = ("jax.config.", "unittest.mock.", "torch.backends.", "torch.utils.", "flax.config.")
# These names were removed from NumPy and JAX, and people add them back so that old code still runs.
SHIMS = _words("numpy.float numpy.int numpy.bool numpy.object numpy.str numpy.complex")
SHIMS |= _words("jax.tree_map jax.tree_multimap jax.random.KeyArray")

# The names by which tests refer to modules.
NAMES = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "jax": "jax",
    "testing": "jaxbits.testing",
    "detect": "jaxbits.detect",
}
# Some people write `import jax.numpy as np`. This may make a test fail, but it cannot make a wrong
# answer pass.
HONEST_MODULES = (
    "numpy", "jax.numpy", "cupy", "autograd.numpy", "torch", "jax",
    "numpy.testing", "torch.testing",
)  # fmt: skip

# A notebook has no honest reason to give these names a different meaning.
TYPES = _words("""AssertionError BaseException Exception isinstance issubclass hasattr callable
__import__ __build_class__""")
# A variable with one of these names is harmless, but a function with the same name would replace
# the one that tests call.
FUNCTIONS = _words("""abs all any bool complex dict float getattr int len list range set str tuple
type zip""")
# Students write their own functions with these names, so only a constant function is suspicious.
COMMON = _words("sum min max sorted round pow enumerate map filter repr")
# With these methods, a class can decide the outcome of a comparison.
COMPARISONS = _words("""__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __array_ufunc__
__array_function__ __instancecheck__ __subclasscheck__""")

# Calls to the first group of functions return something callable. Calls to the second group do not.
MAKES_FUNCTIONS = _words("""jit vmap grad vectorize partial pmap checkpoint custom_jvp frompyfunc
Partial attrgetter itemgetter methodcaller""")
MAKES_DATA = _words("""int float len list tuple dict set str sum range round bool abs complex sorted
min max input""")

# These are the shell that runs the cells, its methods and hooks, and a setting that is harmless to
# change.
SHELLS = ("ipython", "IPython", "ipykernel")
SHELL_PARTS = _words("showtraceback _showtraceback run_cell run_cell_async do_execute")
SHELL_HOOKS = _words("""ast_transformers input_transformers_cleanup input_transformers_post
input_transformer_manager set_custom_exc""")
SHELL_SETTINGS = _words("ast_node_interactivity")


def is_within(path: str | None, roots: tuple[str, ...] = MODULES) -> bool:
    """Return whether a dotted name is one of the given modules or inside one of them.

    Args:
        path: The dotted name, or None if there is none.
        roots: The names of the modules, each with a dot at the end.
    """
    return path is not None and f"{path}.".startswith(roots)
