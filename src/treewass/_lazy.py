"""Lazy public names (PEP 562): a package lists its names, each is imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["attach"]


def attach(
    package: str, sources: Mapping[str, str], subpackages: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and ``__dir__`` of a package whose names load on first use.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    sources : mapping of str to str
        The module that holds each public name, relative to the package, such as ``{"Tree": ".trees.tree"}``.
    subpackages : iterable of str, optional
        Subpackages that are attributes too, such as ``"trees"``.

    Returns
    -------
    tuple of callable
        ``(__getattr__, __dir__)``.

    Examples
    --------
    >>> getter, lister = attach("treewass", {"Tree": ".trees.tree"})
    >>> "Tree" in lister()
    True
    >>> getter("Tree").__name__
    'Tree'
    """
    modules = set(subpackages)

    def __getattr__(name: str) -> Any:
        if name in modules:
            return import_module(f".{name}", package)
        if name not in sources:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(sources[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        dunders = {name for name in vars(sys.modules[package]) if name.startswith("__")}
        return sorted({*dunders, *sources, *modules})

    return __getattr__, __dir__
