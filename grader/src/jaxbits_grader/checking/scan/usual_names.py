"""List the modules, members, and names that answers usually use, and some that they do not."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _members(**modules: str) -> frozenset[str]:
    return frozenset(
        f"{module}.{name}" for module, text in modules.items() for name in text.split()
    )


MODULES = _words(
    """
    __future__ abc absl altair array asyncio base64 beartype bisect blackjax bokeh calendar chex
    clu cmath collections contextlib copy cProfile csv cupy cv2 dataclasses datasets datetime
    decimal diffrax distrax einops enum equinox flax fractions functools gc google grain gzip
    h5py haiku hashlib heapq html hypothesis importlib inspect io ipywidgets itertools jax
    jaxbits jaxlib jaxopt jaxtyping jraph json keras keyword lineax locale logging math
    matplotlib ml_collections ml_dtypes networkx numba numbers numpy numpyro operator optax
    optimistix orbax os pandas pathlib penzai pickle PIL platform plotly pprint pstats psutil
    pytest queue random re requests rich rlax scipy seaborn secrets shutil sklearn statistics
    string struct sys tabulate tempfile tensorflow tensorflow_datasets textwrap time
    timeit torch torchaudio torchvision tqdm traceback transformers treescope types typing
    typing_extensions unicodedata unittest urllib uuid warnings weakref xarray zipfile zlib
    """
)
# Many notebooks set `InteractiveShell.ast_node_interactivity`.
IPYTHON = ("IPython", "IPython.display", "IPython.core.interactiveshell.InteractiveShell")

ALLOWED_MEMBERS = {
    "sys": _words(
        """argv byteorder exit executable flags float_info getrecursionlimit getsizeof
        implementation int_info maxsize path platform setrecursionlimit stderr stdin stdout version
        version_info"""
    ),
    "sys.stdout": _words("encoding flush isatty write"),
    "sys.stderr": _words("encoding flush isatty write"),
    "asyncio": _words("run sleep"),
    "gc": _words("collect disable enable isenabled"),
    "IPython.core.interactiveshell.InteractiveShell": _words("ast_node_interactivity"),
    "importlib.metadata": _words("version PackageNotFoundError"),
    "inspect": _words(
        """BoundArguments Parameter Signature cleandoc getdoc getfullargspec getsource isbuiltin
        isclass isfunction isgenerator isgeneratorfunction ismethod ismodule signature"""
    ),
    "jax.core": _words("ShapedArray"),
    "numpy.testing": _words(
        """assert_allclose assert_almost_equal assert_array_almost_equal assert_array_equal
        assert_array_less assert_equal assert_raises"""
    ),
    "numpy.lib": _words("recfunctions stride_tricks"),
    "pytest": _words("approx deprecated_call fail fixture mark param raises skip warns"),
    "unittest": _words("TestCase TestLoader TestSuite TextTestRunner main skip"),
    "traceback": _words("format_exc format_exception print_exc print_exception"),
}
"""For some modules, all members that answers usually use."""

UNUSUAL_MEMBERS = _members(
    beartype="claw",
    builtins="__build_class__ breakpoint locals",
    cProfile="run runctx",
    chex="fake_jit fake_pmap fake_pmap_and_jit fake_vmap",
    equinox="internal",
    flax="linen.intercept_methods",
    matplotlib="pyplot.switch_backend",
    functools="singledispatch singledispatchmethod",
    ipywidgets="Widget",
    jax=(
        "closure_convert distributed experimental.pjit export extend ffi interpreters lib "
        "transfer_guard transfer_guard_device_to_host transfer_guard_host_to_device"
    ),
    logging=(
        "Filter LogRecord Logger LoggerAdapter addLevelName config getLevelName "
        "getLevelNamesMapping getLogRecordFactory getLoggerClass makeLogRecord "
        "setLogRecordFactory setLoggerClass"
    ),
    numpy="core ctypeslib distutils f2py frompyfunc",
    operator="attrgetter methodcaller",
    os="register_at_fork",
    pandas="eval read_pickle",
    string="Formatter",
    torch="compile fx hub jit load ops package serialization",
    types="CodeType FunctionType LambdaType MethodType ModuleType",
    typing="ForwardRef get_type_hints",
    typing_extensions="ForwardRef evaluate_forward_ref get_type_hints",
    weakref="finalize getweakrefcount getweakrefs",
) | {
    *("jax.experimental.compilation_cache", "jax.experimental.serialize_executable"),
    *("jax.random.clone", "jax.random.key_data", "jax.random.wrap_key_data"),
}
"""Members that run text as code, list the parts of objects, find objects by name, or copy keys."""

# A library may import these modules, as in `os.sys` or `random._os`.
IMPORTED_ELSEWHERE = _words(
    """builtins ctypes gc importlib inspect linecache marshal multiprocessing os pickle socket
    subprocess sys threading"""
)
# Answers may use these modules as values, for example to choose between `math` and `cmath`.
PASSED_ON = _words("cmath json math operator random statistics time")
# Tests call these modules, and no answer passes them on.
OWN_MODULES = ("jaxbits", "jaxbits.detect", "jaxbits.testing")
# Tests call functions with these names, and answers have no reason to set them on any object.
TEST_FUNCTIONS = _words(
    """all allclose any apply_updates array_equal assert_allclose assert_array assert_close
    ast_parse count_compilations count_traces deserialize find_mismatch isclose isfinite isinf
    isnan"""
)
MUTATORS = _words(
    "append clear discard extend insert pop popitem remove reverse setdefault sort update"
)
"""Methods that change a given dictionary, list, or set."""

SPECIAL_NAMES = _words(
    """
    __abs__ __add__ __all__ __and__ __annotations__ __args__ __array__ __array_function__
    __array_priority__ __array_ufunc__ __bool__ __call__ __cause__ __class__ __class_getitem__
    __complex__ __contains__ __context__ __copy__ __dataclass_fields__ __deepcopy__ __delitem__
    __dict__ __divmod__ __doc__ __eq__ __file__ __float__ __floordiv__
    __format__ __ge__ __get__ __getitem__ __gt__ __hash__ __iadd__ __index__ __init__
    __init_subclass__ __int__ __invert__ __iter__ __jax_array__ __le__ __len__ __lt__ __main__
    __match_args__ __matmul__ __missing__ __mod__ __module__ __mul__ __name__ __ne__ __neg__ __new__
    __next__ __notes__ __or__ __origin__ __pos__ __post_init__ __pow__ __qualname__ __radd__
    __repr__ __reversed__ __rmatmul__ __rmul__ __round__ __rpow__ __rsub__ __rtruediv__ __set__
    __set_name__ __setitem__ __slots__ __str__ __sub__ __truediv__ __version__
    __wrapped__ __xor__
    """
)
"""The special attributes that answers usually read."""

SURROUNDINGS = _words(
    """
    decimal.getcontext locale os.cpu_count os.environ os.getcwd os.getenv os.getpid
    os.getppid os.listdir os.stat os.times os.uname platform psutil secrets socket sys.argv
    sys.exc_info sys.executable sys.flags sys.getrefcount sys.getsizeof sys.path time
    datetime.date.today datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow uuid
    numpy.getbufsize numpy.geterr numpy.get_printoptions warnings.catch_warnings warnings.filters
    builtins.RecursionError builtins.open builtins.id jax.core.Tracer jax.errors
    """
)
"""Objects from which a function could find out where, when, or by what it is called. The functions
of an answer usually do not need them."""

LEVEL_SETTERS = ("setLevel", "set_verbosity")
"""Attributes with which a function could keep a number in a log of Python or of absl."""

SETTINGS = (
    "calendar.setfirstweekday",
    "csv.field_size_limit",
    "csv.register_dialect",
    "decimal.getcontext",
    "decimal.setcontext",
    "jax.config.update",
    "locale.setlocale",
    "numpy.set_printoptions",
    "numpy.seterr",
    "sys.setrecursionlimit",
)
"""Functions that change settings of the process, which no answer does when it is called."""

NEVER_ASSIGNED = ("__class__", "__module__", "__qualname__", "__wrapped__")
"""Special attributes that answers read but do not usually set."""

UNUSUAL_ATTRIBUTES = _words(
    """
    _analysis _core _current_frames _equality _getframe _jax_compat _src addFilter addHandler
    addaudithook ag_code ag_frame cache_info call_at call_later call_soon call_soon_threadsafe
    constvars control_handlers cr_await cr_code def_abstract_eval def_impl display_formatter
    eqns ev ex exec_module f_builtins f_code get_coro get_field get_loop get_stack gi_code
    gi_yieldfrom interpreters invars load_module meta_path monitoring outvars owndata path_hooks
    pub_socket pub_thread run_cell run_cell_magic run_code run_line_magic setprofile settrace
    shell_handlers tb_next type_printers user_global_ns user_module user_ns
    """
)
"""Attributes that lead to other code, to the loop that runs cells, or into JAX's programs, or that
tell a function what calls it."""
