"""Give kernels the compiled programs of JAX's own operations, so that they compile less.

Judges keep the programs that they compile. Most of a kernel's time goes into compiling the same
operations, such as an addition of two arrays. A kernel gets a read-only copy of those programs. It
gets no program from a test, a solution, or another submission.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

# JAX names the file of a program after its function, with a hash of the program:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/cache_key.py
_FILE = re.compile(r"jit_(?P<name>[A-Za-z0-9_-]+)-[0-9a-f]{64}-cache")
# Each of these contains one operation. A loop or a condition could contain an answer.
_OPERATIONS = """
    _allclose _argmax _argmin _bernoulli _broadcast_arrays _gumbel _isclose _mean
    _multi_slice _normal _one_hot _power _randint _reduce_all _reduce_any _reduce_max
    _reduce_min _reduce_prod _reduce_sum _roll_static _squeeze _take _threefry_fold_in
    _threefry_seed _threefry_split _uniform _var _where abs add allclose and argmax argmin
    bitwise_and bitwise_or broadcast_in_dim ceil clip concatenate convert_element_type copy
    cos cumsum div divmod dot_general dynamic_slice dynamic_update_slice eq equal exp expm1
    floor floor_divide gather ge greater greater_equal gt integer_pow iota isfinite isinf
    isnan le less less_equal log log1p logical_and logical_not logical_or logistic lt matmul
    max maximum min minimum mul multiply ne neg negative norm not not_equal or pad pow ravel
    reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum remainder reshape rev
    round rsqrt scatter scatter-add select_n sign sin sort split sqrt square squeeze stack
    sub subtract tanh transpose true_divide unstack
"""


def environment(programs: Path | None) -> dict[str, str]:
    """Return environment variables that make JAX read a folder's programs but write none.

    JAX decides where to read programs when it compiles the first one. After that, a submission
    cannot choose another folder.

    Args:
        programs: The folder, or None if JAX must read no programs.
    """
    if programs is None:
        return {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    return {
        "JAX_COMPILATION_CACHE_DIR": str(programs),
        "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1e9",
    }


@contextlib.contextmanager
def copy_library_programs(
    cache: Path | None, without: Collection[str] = ()
) -> Iterator[Path | None]:
    """Yield a folder with copies of the programs of JAX's operations, and remove it at the end.

    Args:
        cache: The folder in which judges keep all programs. If it is None or contains no such
            program, the block gets None.
        without: The names of functions that are not JAX's but share an operation's name.
    """
    files = sorted(cache.iterdir()) if cache is not None and cache.is_dir() else []
    kept = [file for file in files if is_library_program(file.name, without)]
    if not kept:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="jp") as folder:
        # The kernel runs as another user.
        Path(folder).chmod(0o755)
        for file in kept:
            with contextlib.suppress(FileNotFoundError):  # A judge could be replacing it.
                shutil.copyfile(file, Path(folder) / file.name)
                (Path(folder) / file.name).chmod(0o644)
        yield Path(folder)


def is_library_program(file_name: str, without: Collection[str] = ()) -> bool:
    """Return whether a file in JAX's cache contains a single operation of JAX.

    Args:
        file_name: The name of the file.
        without: The names of functions that are not JAX's but share an operation's name.

    Example:
        >>> is_library_program(f"jit_add-{64 * '0'}-cache")
        True
        >>> is_library_program(f"jit_scan-{64 * '0'}-cache"), is_library_program("jit_add")
        (False, False)
        >>> is_library_program(f"jit_add-{64 * '0'}-cache", without={"add"})
        False
    """
    match = _FILE.fullmatch(file_name)
    return (
        match is not None and match["name"] in _OPERATIONS.split() and match["name"] not in without
    )
