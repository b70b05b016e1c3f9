"""List what tests rely on: modules, builtins, comparison methods, and the IPython shell."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# No part of these may be changed. The dot at the end makes prefixes match whole names.
MODULES = tuple(
    f"{root}."
    for root in (
        "numpy",
        "jax",
        "jaxlib",
        "jaxbits",
        "jaxbits_grader",
        "builtins",
        "math",
        "operator",
        "unittest",
    )
)
SETTINGS = ("jax.config.", "unittest.mock.")
# Names that people add again so that old code runs.
SHIMS = _words("numpy.float numpy.int numpy.bool numpy.object numpy.str numpy.complex")
SHIMS |= _words("jax.tree_map jax.tree_multimap jax.random.KeyArray")

# The names by which tests use modules.
NAMES = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "jax": "jax",
    "testing": "jaxbits.testing",
    "detect": "jaxbits.detect",
}
# People do write `import jax.numpy as np`. A test may fail because of it, but none can be fooled.
HONEST_MODULES = (
    "numpy", "jax.numpy", "cupy", "autograd.numpy", "torch", "jax",
    "numpy.testing", "torch.testing",
)  # fmt: skip

# Nobody uses these names for anything else.
TYPES = _words("""AssertionError BaseException Exception isinstance issubclass hasattr callable
__import__ __build_class__""")
# A variable may have such a name, but a function would replace the one that tests call.
FUNCTIONS = _words("""abs all any bool complex dict float getattr int len list range set str tuple
type zip""")
# Students write functions with these names, so only a constant one is suspicious.
COMMON = _words("sum min max sorted round pow enumerate map filter repr")
# Methods by which a class decides the outcome of a comparison.
COMPARISONS = _words("""__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __array_ufunc__
__array_function__ __instancecheck__ __subclasscheck__""")

# Functions whose results are callable, and functions whose results are not.
MAKES_FUNCTIONS = _words("""jit vmap grad vectorize partial pmap checkpoint custom_jvp frompyfunc
Partial attrgetter itemgetter methodcaller""")
MAKES_DATA = _words("""int float len list tuple dict set str sum range round bool abs complex sorted
min max input""")

# The shell that runs the cells, its methods and hooks, and a setting that is harmless.
SHELLS = ("ipython", "IPython", "ipykernel")
SHELL_PARTS = _words("showtraceback _showtraceback run_cell run_cell_async do_execute")
SHELL_HOOKS = _words("""ast_transformers input_transformers_cleanup input_transformers_post
input_transformer_manager set_custom_exc""")
SHELL_SETTINGS = _words("ast_node_interactivity")


def is_within(path: str | None, roots: tuple[str, ...] = MODULES) -> bool:
    """Return True if a dotted name is one of the given modules, or is inside one.

    Args:
        path: The dotted name, None if there is none.
        roots: The modules, each with a dot at the end.
    """
    return path is not None and f"{path}.".startswith(roots)
