"""``treewass report``: one HTML file that says what a model has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewass.commands.progress import waiting
from treewass.commands.shared import AsJson, ModelFolder, load_model, print_json, print_line

__all__ = ["report_command"]


def report_command(
    model: ModelFolder,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")
    ] = "report.html",
    as_json: AsJson = False,
) -> None:
    """Write a report: errors, the learned tree, telling words, near-duplicates, probably wrong labels.

    It is one file that opens without a network and asks for nothing.
    """
    from treewass.report import make_report
    from treewass.saving import check_folder

    target = Path(output).expanduser()
    check_folder(target)  # before the work, not after
    with waiting("comparing each document with the others …"):
        report = make_report(load_model(model, compiled=True))
        report.write_html(target)
    if as_json:
        print_json({"report": str(target), **report.findings()})
    else:
        print_line(f"Written to {output}.")
