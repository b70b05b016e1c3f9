"""The pytest plugin, which audits the jitted functions of a module that marked tests call.

The mark ``@pytest.mark.jaxbits_audit("my_project.training")`` replaces these functions during the
test with recorders, which copy the arguments of the first call. Without the mark, this plugin does
nothing. pytest imports it at every start, so it imports JAX only for a marked test.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pytest

_MARK = "jaxbits_audit"
_USAGE = f"{_MARK}(*modules, fail='warning', allow=(), limit=60.0): audit each jitted function of "
_USAGE += "these modules on the arguments of its first call in the test"
_OPTIONS = {"fail", "allow", "limit"}
_AUDITED = pytest.StashKey[set[tuple[str, str]]]()


class Recorder:
    """A stand-in for a jitted function, which keeps copies of the arguments of its first call.

    Attributes:
        call: The positional and keyword arguments, or None before the first successful call.
        is_traced: Whether JAX called the function while it traced another one.
    """

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__wrapped__ = function.__wrapped__  # JAX and the audit look at the inner function.
        self._function = function
        self.call: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self.is_traced = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from jaxbits import _jax_compat

        is_tracing = _jax_compat.is_tracing()
        self.is_traced = self.is_traced or is_tracing
        if self.call is not None or is_tracing:
            return self._function(*args, **kwargs)
        call = _copy_arguments(args, kwargs)  # The call may delete donated arrays.
        result = self._function(*args, **kwargs)
        self.call = call  # A call that raises an error is not an example of how to call it.
        return result

    def __getattr__(self, name: str) -> Any:
        # `copy` and `pickle` ask for attributes before `_function` exists.
        return getattr(object.__getattribute__(self, "_function"), name)


def _copy_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return copies of a call's arguments, or the arguments themselves if they are too large."""
    from jaxbits._analysis import copying, resource_limits

    try:
        copied: tuple[tuple[Any, ...], dict[str, Any]] = copying.copy_tree((args, kwargs))
    except resource_limits.TooLarge:  # The audit does not run the function on them, either.
        return args, kwargs
    return copied


def _jitted_functions(module_name: str) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a module's jitted functions, without those it imports."""
    for name, value in list(vars(importlib.import_module(module_name)).items()):
        is_wrapper = inspect.getattr_static(value, "__wrapped__", None) is not None
        if not is_wrapper or not callable(getattr(value, "lower", None)):
            continue
        home = getattr(value, "__module__", module_name)
        if home == module_name or not _holds(sys.modules.get(home), value):
            yield name, value


def _holds(module: Any, value: Any) -> bool:
    return any(value is other for other in list(getattr(module, "__dict__", {}).values()))


def _replace_everywhere(replacements: dict[int, Any]) -> None:
    """Replace the values with these ids in the global names of all imported modules."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        for name, value in list(names.items()) if isinstance(names, dict) else ():
            if id(value) in replacements:
                names[name] = replacements[id(value)]  # type: ignore[index]


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", _USAGE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Record the first calls in a marked test, and audit the functions after the test passed."""
    marks = list(item.iter_markers(_MARK))[::-1]  # The mark closest to the test wins.
    if not marks:
        yield
        return
    if any(not mark.args or mark.kwargs.keys() - _OPTIONS for mark in marks):
        pytest.fail(f"the mark must have modules and known options, as in {_USAGE}", pytrace=False)
    functions = {
        f"{module}.{name}": (value, mark)
        for mark in marks
        for module in mark.args
        for name, value in _jitted_functions(module)
    }
    recorders = {id(value): Recorder(value) for value, _ in functions.values()}
    _replace_everywhere(recorders)
    try:
        yield
    finally:
        _replace_everywhere({id(recorder): recorder._function for recorder in recorders.values()})
    failures: list[str] = []
    for name, (value, mark) in functions.items():
        call, is_traced = recorders[id(value)].call, recorders[id(value)].is_traced
        use = "called" if call is not None else "traced" if is_traced else "unused"
        item.user_properties.append((_MARK, f"{name} {use}"))
        audited = item.config.stash.setdefault(_AUDITED, set())
        if call is not None and (key := (name, repr(mark.kwargs))) not in audited:
            audited.add(key)
            failures += _audit(name, value, call, mark.kwargs)
    if failures:
        pytest.fail("\n\n".join(failures), pytrace=False)


def _audit(name: str, function: Any, call: Any, options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report of an audit if it fails, with the options of the mark."""
    from jaxbits import assert_clean
    from jaxbits._report import AuditError

    args, kwargs = call
    if kwargs.keys() & inspect.signature(assert_clean).parameters.keys():
        # Such a keyword would be taken for an option of the audit.
        bound = inspect.signature(function).bind(*args, **kwargs)
        args, kwargs = bound.args, bound.kwargs
    try:
        assert_clean(function, *args, **options, **kwargs)
    except AuditError as error:
        yield f"{name}: {error}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the jitted functions that no marked test called, because they were not audited."""
    # The reports also contain what the workers of pytest-xdist have recorded.
    reports = [report for found in terminalreporter.stats.values() for report in found]
    seen = dict.fromkeys(
        text
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == _MARK
    )
    names = dict.fromkeys(text.split()[0] for text in seen)
    if unused := [name for name in names if f"{name} called" not in seen]:
        terminalreporter.section("jaxbits audit")
        terminalreporter.line("not audited, because no passing test with the mark called them:")
        for name in unused:
            inside = " (except inside another transformation)" if f"{name} traced" in seen else ""
            terminalreporter.line(f"    {name}{inside}")
