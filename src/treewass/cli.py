"""The command ``treewass``."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer

from treewass import __version__
from treewass.bench.commands import bench
from treewass.commands.demo import demo_command
from treewass.commands.explain import explain_command
from treewass.commands.fit import fit_command
from treewass.commands.option_names import Commands
from treewass.commands.predict import predict_command
from treewass.commands.report import report_command
from treewass.commands.search import search_command
from treewass.commands.serve import serve_command
from treewass.commands.shared import AsJson, print_json

__all__ = ["app", "main"]

app = Commands(
    name="treewass",
    help="Learn a tree over words; compare, search, classify and explain documents with its Wasserstein distance.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, command in (
    ("demo", demo_command),
    ("fit", fit_command),
    ("predict", predict_command),
    ("search", search_command),
    ("explain", explain_command),
    ("report", report_command),
    ("serve", serve_command),
):
    app.command(name)(command)
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
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Learn a tree over words; compare, search, classify and explain documents with its Wasserstein distance."""


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"treewass: warning: {message}", err=True)


@app.command()
def methods(as_json: AsJson = False) -> None:
    """List the methods that ``treewass bench accuracy`` can measure."""
    from treewass.methods import METHODS

    if as_json:
        fields = ("title", "kind", "needs", "configuration", "complexity", "citation")
        for name, method in METHODS.items():
            print_json({"name": name, **{field: getattr(method, field) for field in fields}})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for column in ("name", "kind", "needs", "one comparison", "source"):
        table.add_column(column)
    for name, method in METHODS.items():
        table.add_row(name, method.kind, ", ".join(method.needs), method.complexity, method.citation)
    Console().print(table)


def main() -> None:
    """Run the command line: 0 for success, 1 for an error, which is one sentence, 2 for wrong usage."""
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows question marks, no traceback
    try:
        app()
    except (ValueError, TypeError, ImportError, OSError) as error:
        if "--debug" in sys.argv[1:]:
            raise
        typer.echo(f"treewass: {error}", err=True)
        sys.exit(1)
