"""Optional dependencies: imported on first use, named with their pip line where they are missing."""

from __future__ import annotations

import re
from importlib import import_module, metadata
from types import ModuleType

__all__ = ["require"]


def require(module: str, *, purpose: str, extra: str | None = None, package: str | None = None) -> ModuleType:
    """Import an optional module, or say how to install it.

    Parameters
    ----------
    module : str
        The module's name, such as ``"ot"``.
    purpose : str
        What needs it, for the message.
    extra : str, optional
        The extra of treewass that brings it.
    package : str, optional
        Its name on the package index, where no extra brings it.

    Returns
    -------
    module

    Examples
    --------
    >>> require("json", purpose="this example", extra="ot").__name__
    'json'
    >>> require("no_such_module", purpose="this example", extra="ot")
    Traceback (most recent call last):
        ...
    ImportError: this example needs the module 'no_such_module'. Install it with: pip install "pot>=0.9.5"
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise
        wanted = _requirements(extra) if extra else package or module
        raise ImportError(f"{purpose} needs the module {module!r}. Install it with: pip install {wanted}") from error


def _requirements(extra: str) -> str:
    """Quote what an extra brings: a line for pip that is right however treewass itself was installed."""
    try:
        lines = metadata.requires("treewass") or []
    except metadata.PackageNotFoundError:  # run from its source alone
        lines = []
    named = [line.partition(";")[0].strip() for line in lines if re.search(rf"extra == ['\"]{extra}['\"]", line)]
    return " ".join(f'"{requirement}"' for requirement in named or [f"treewass[{extra}]"])
