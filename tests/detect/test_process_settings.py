"""Test that detectors see settings of the process that a function changes, and restore them."""

from __future__ import annotations

import atexit
import calendar
import csv
import decimal
import functools
import os
import sys
import warnings

import matplotlib
import numpy as np
import pytest
import torch

from jaxbits import detect


@functools.cache
def half(n):
    return n / 2


def set_precision(x):
    decimal.getcontext().prec += 1
    return x


def set_weekday(x):
    calendar.setfirstweekday((calendar.firstweekday() + 1) % 7)
    return x


def set_field_size(x):
    csv.field_size_limit(csv.field_size_limit() + 1)
    return x


def set_print_options(x):
    np.set_printoptions(precision=np.get_printoptions()["precision"] + 1)
    return x


def set_errors(x):
    np.seterr(all="raise")
    return x


def set_folder(x):
    os.chdir(os.path.dirname(os.getcwd()))
    return x


def set_mask(x):
    os.umask(os.umask(0o22))
    return x


def set_recursion_limit(x):
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    return x


def set_line_width(x):
    matplotlib.rcParams["lines.linewidth"] += 1
    return x


def set_threads(x):
    torch.set_num_threads(torch.get_num_threads() + 1)
    return x


def ignore_warnings(x):
    warnings.simplefilter("ignore")
    return x


def say_goodbye(x):
    atexit.register(list)
    return x


def count_results(x):
    half(half.cache_info().currsize)
    return x


def set_for_a_time(x):
    with np.errstate(all="ignore"), decimal.localcontext() as context:
        context.prec = 50
        decimal.Decimal(1) / 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
    return x


def read_settings():
    return (
        decimal.getcontext().prec,
        calendar.firstweekday(),
        csv.field_size_limit(),
        np.get_printoptions(),
        np.geterr(),
        os.getcwd(),
        sys.getrecursionlimit(),
        matplotlib.rcParams["lines.linewidth"],
        torch.get_num_threads(),
        list(warnings.filters),
    )


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (set_precision, "decimal.setcontext"),
        (set_weekday, "calendar.setfirstweekday"),
        (set_field_size, "csv.field_size_limit"),
        (set_print_options, "np.set_printoptions"),
        (set_errors, "np.seterr"),
        (set_folder, "os.chdir"),
        (set_mask, "posix.umask"),
        (set_recursion_limit, "sys.setrecursionlimit"),
        (set_line_width, "matplotlib.rcParams"),
        (set_threads, "torch.set_num_threads"),
        (ignore_warnings, "warnings.simplefilter"),
        (say_goodbye, "atexit.register"),
        (count_results, "functools.cache_info"),
    ],
)
def test_side_effect_reports_changed_setting_and_restores_it(function, name):
    before = read_settings()
    (finding,) = detect.side_effect(function, 1.0)
    assert name in finding.message
    assert read_settings() == before


def test_side_effect_accepts_settings_that_a_block_restores():
    assert detect.side_effect(set_for_a_time, 1.0) == []
