"""``treewass report``: one HTML file that says what a model has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewass.cli.data import Defuse
from treewass.cli.shared import AsJson, ModelFolder, load_model, print_json
from treewass.compute.progress import waiting

__all__ = ["report_command"]


def report_command(
    model: ModelFolder,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")
    ] = "report.html",
    doubtful: Annotated[
        str | None,
        typer.Option("--doubtful", metavar="FILE", help="A CSV file to write too: ids, texts, labels, suggestions."),
    ] = None,
    defuse: Defuse = False,
    as_json: AsJson = False,
) -> None:
    """Write a report: errors, the learned tree, telling words, near-duplicates, probably wrong labels.

    It is one file that opens without a network and asks for nothing.
    """
    from treewass.report import make_report
    from treewass.storage.folders import check_folder

    targets = [Path(name).expanduser() for name in (output, doubtful) if name is not None]
    for target in targets:
        check_folder(target)  # before the work, not after
    with waiting("comparing each document with the others …"):
        report = make_report(load_model(model))
        report.write_html(targets[0])
        for target in targets[1:]:
            report.oddities.write_suspects(target, defuse=defuse)
    if as_json:
        print_json({"report": str(targets[0]), **report.to_dict()})
    else:
        typer.echo(f"Written to {' and '.join(map(str, targets))}.")
