"""Commands whose errors speak of their options where errors in Python speak of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

from treewass.argument_names import as_options

__all__ = ["Commands"]


class _OptionCommand(TyperCommand):
    """A command that runs where messages know its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        options = {
            str(parameter.name): max(parameter.opts, key=len)
            for parameter in self.params
            if parameter.param_type_name == "option"
        }
        with as_options(options):
            return super().invoke(ctx)


class Commands(typer.Typer):
    """An application of typer; the errors of its commands name options, such as ``--format`` for ``format``."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        """Register a command; parameters as in typer."""
        return super().command(name, cls=_OptionCommand, **settings)
