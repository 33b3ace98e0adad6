"""The command ``treewass``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from treewass import __version__
from treewass.bench.commands import bench

__all__ = ["app", "main"]

app = typer.Typer(
    name="treewass",
    help="Learn a tree over words; compare, search, classify and explain documents with its Wasserstein distance.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(bench, name="bench")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"treewass {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn a tree over words; compare, search, classify and explain documents with its Wasserstein distance."""


@app.command()
def demo() -> None:
    """Run the whole flow on a built-in corpus: the docstrings of SciPy's functions."""
    from treewass.demo import run_demo

    run_demo()


@app.command()
def methods() -> None:
    """List the methods that ``treewass bench accuracy`` can measure."""
    from rich.console import Console
    from rich.table import Table

    from treewass.methods import METHODS

    table = Table()
    for column in ("name", "kind", "needs", "one comparison", "source"):
        table.add_column(column)
    for name, method in METHODS.items():
        table.add_row(name, method.kind, ", ".join(method.needs), method.complexity, method.citation)
    Console().print(table)


def main() -> None:
    """Run the command line; errors that a user can mend are one sentence."""
    try:
        app()
    except (ValueError, ImportError, OSError) as error:
        typer.echo(f"treewass: {error}", err=True)
        sys.exit(1)
