"""``treewass demo``: the whole flow on a built-in corpus."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["demo_command"]


def demo_command(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the report.")
    ] = "treewass-demo.html",
) -> None:
    """Run the whole flow on a built-in corpus: the docstrings of SciPy's functions."""
    from treewass.demo import run_demo

    run_demo(report=output)
