"""Allocate a fresh buffer for every message, or take one from a pool: an instrument that measures it.

The functions to use from Python are those of `allocpool.api`: ``import allocpool; allocpool.load("batch")``.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

_SURFACE = frozenset(
    ("claims", "command", "compare", "headline", "load", "plan", "run", "source", "status", "theme", "trial")
)
"""The functions of `allocpool.api`, imported when one is asked for: trials import this package, and start fast."""


def _function(name: str) -> Any:
    return getattr(importlib.import_module("allocpool.api"), name)


def __getattr__(name: str) -> Any:
    if name not in _SURFACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _function(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_SURFACE})


class _CallablePackage(ModuleType):
    """A subpackage whose name a function of the surface has, too: ``allocpool.trial(...)``."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return _function(self.__name__.rpartition(".")[2])(*args, **settings)

    @property
    def __signature__(self) -> Any:
        import inspect  # for help alone: trials do without

        return inspect.signature(_function(self.__name__.rpartition(".")[2]))


class _Package(ModuleType):
    """This package: importing a subpackage sets it as an attribute, which must not hide the function of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _SURFACE and isinstance(value, ModuleType):
            value.__class__ = _CallablePackage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
