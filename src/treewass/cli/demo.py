"""``treewass demo``: the whole flow on a built-in corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewass.cli.shared import AsJson, print_json

__all__ = ["demo_command"]


def demo_command(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the report.")
    ] = "treewass-demo.html",
    as_json: AsJson = False,
) -> None:
    """Run the whole flow on a built-in corpus: the docstrings of SciPy's functions."""
    from rich.console import Console

    from treewass.cli.tour import run_demo

    figures = run_demo(Console(quiet=as_json), report=str(Path(output).expanduser()))
    if as_json:
        print_json(figures)
