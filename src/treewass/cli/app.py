"""The command ``treewass``: its sub-commands, and how errors and warnings are shown."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from treewass import __version__
from treewass.cli.change import add_command, remove_command, update_command
from treewass.cli.compare import compare_command
from treewass.cli.demo import demo_command
from treewass.cli.explain import explain_command
from treewass.cli.export import export_command
from treewass.cli.fit import fit_command
from treewass.cli.fold import backup_command, fold_command, publish_command
from treewass.cli.predict import predict_command
from treewass.cli.report import report_command
from treewass.cli.search import search_command, similar_command
from treewass.cli.serve import serve_command
from treewass.cli.shard import shard_command
from treewass.compute.arguments import as_options

__all__ = ["Commands", "app", "main", "run"]

_GIVEN_ONCE = ("text", "label", "key", "title")  # the last one would win, and nobody would know


class _OptionGroup(TyperGroup):
    """Commands with options of their own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options."""
        return _without_flag_types(super().get_params(ctx))


class _OptionCommand(TyperCommand):
    """A command that runs where messages know its options."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options."""
        return _without_flag_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; refuse a column that is named twice."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for parameter in {one.name: one for one in given if one.name in _GIVEN_ONCE and not one.multiple}.values():
            number, option = given.count(parameter), max(parameter.opts, key=len)
            if number > 1 and parameter.param_type_name == "option" and not ctx.resilient_parsing:
                several = f" For the texts of several columns: {option} a,b." if parameter.name == "text" else ""
                ctx.fail(f"Expected {option} once, got it {number} times.{several}")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        options = {
            str(parameter.name): max(parameter.opts, key=len)
            for parameter in self.params
            if parameter.param_type_name == "option"
        }
        with as_options(options):
            return super().invoke(ctx)


def _without_flag_types(parameters: list[Any]) -> list[Any]:
    """Let help show ``--json`` instead of ``--json <bool>``."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class Commands(typer.Typer):
    """An application of typer; the errors of its commands name options, such as ``--format`` for ``format``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=_OptionGroup, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        """Register a command; parameters as in typer. The paragraphs of its docstring have lines as long as fit."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            paragraphs = (inspect.getdoc(function) or "").split("\n\n")
            described = {"help": "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs), **settings}
            return super(Commands, self).command(name, cls=_OptionCommand, **described)(function)

        return register


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
    ("similar", similar_command),
    ("explain", explain_command),
    ("report", report_command),
    ("compare", compare_command),
    ("add", add_command),
    ("remove", remove_command),
    ("update", update_command),
    ("serve", serve_command),
    ("fold", fold_command),
    ("backup", backup_command),
    ("publish", publish_command),
    ("export", export_command),
    ("shard", shard_command),
):
    app.command(name)(command)


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


def run(commands: Callable[[], object]) -> None:
    """Run a command line: 0 for success, 1 for an error, which is one sentence, 2 for wrong usage."""
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows question marks, no traceback
    try:
        commands()
    except (ValueError, TypeError, ImportError, OSError) as error:
        if "--debug" in sys.argv[1:]:
            raise
        said = error.strerror if isinstance(error, OSError) and error.filename is None else None
        typer.echo(f"treewass: {said or error}", err=True)
        sys.exit(1)


def main() -> None:
    """Run ``treewass``."""
    run(app)
