"""Registries that decorators fill while this module is imported, and settings that change later."""

from __future__ import annotations

functions: dict = {}
divergences: dict = {}
settings: dict = {}


def register(name):
    def decorate(function):
        functions[name] = function
        return function

    return decorate


class RegisterDivergence:
    def __init__(self, kind):
        self.kind = kind

    def __call__(self, function):
        if self.kind in divergences:
            raise ValueError(self.kind)
        divergences[self.kind] = function
        return function


def configure(name, value):
    settings[name] = value


def apply_registered(x):
    return functions["double"](x)


def apply_divergence(x):
    return divergences[float](x)


def scale(x):
    return x * settings["rate"]


@register("double")
def double(x):
    return 2 * x


@RegisterDivergence(float)
def square(x):
    return x * x


configure("rate", 0.5)
