"""What the tests rely on: modules, Python's own functions, comparisons, and the shell."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Parts of these are not to be changed. Paths end in a dot when compared.
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
# Old names that people put back so that old code runs.
SHIMS = _words("numpy.float numpy.int numpy.bool numpy.object numpy.str numpy.complex")
SHIMS |= _words("jax.tree_map jax.tree_multimap jax.random.KeyArray")

# Names of modules in the tests, and what they stand for.
NAMES = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "jax": "jax",
    "testing": "jaxbits.testing",
    "detect": "jaxbits.detect",
}
# People do write ``import jax.numpy as np``: the tests may fail of it, but none is defeated.
LIKE_NUMPY = (
    "numpy", "jax.numpy", "cupy", "autograd.numpy", "torch", "jax",
    "numpy.testing", "torch.testing",
)  # fmt: skip

# Nobody calls a thing of theirs so, whatever it is.
TYPES = _words("""AssertionError BaseException Exception isinstance issubclass hasattr callable
__import__ __build_class__""")
# A variable may be called so; a function that is would answer in the tests' place.
FUNCTIONS = _words("""abs all any bool complex dict float getattr int len list range set str tuple
type zip""")
# Students write functions of these names, too; only one that always answers the same says enough.
COMMON = _words("sum min max sorted round pow enumerate map filter repr")
# What a class may answer in the tests' place.
COMPARISONS = _words("""__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __array_ufunc__
__array_function__ __instancecheck__ __subclasscheck__""")

# Which calls make something that can be called, and which make what cannot.
MAKES_FUNCTIONS = _words("""jit vmap grad vectorize partial pmap checkpoint custom_jvp frompyfunc
Partial attrgetter itemgetter methodcaller""")
MAKES_DATA = _words("""int float len list tuple dict set str sum range round bool abs complex sorted
min max input""")

# The shell that runs the cells: its parts, and what of them a person may set.
SHELLS = ("ipython", "IPython", "ipykernel")
SHELL_PARTS = _words("showtraceback _showtraceback run_cell run_cell_async do_execute")
SHELL_HOOKS = _words("""ast_transformers input_transformers_cleanup input_transformers_post
input_transformer_manager set_custom_exc""")
SHELL_SETTINGS = _words("ast_node_interactivity")


def within(path: str | None, roots: tuple[str, ...] = MODULES) -> bool:
    """Whether a dotted name is one of these, or of a part of one."""
    return path is not None and f"{path}.".startswith(roots)
