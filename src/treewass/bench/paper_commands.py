"""The commands of the paper's smaller tables: synthetic set, depth, ablation, duplicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from treewass.bench.cells import Cell
    from treewass.bench.rows import Row

__all__ = ["register"]

AsJson = Annotated[bool, typer.Option("--json", help="Print rows as JSON lines instead of a table.")]
Data = Annotated[str | None, typer.Option(help="Folder of the text sets; TREEWASS_DATA by default.")]
Output = Annotated[
    str | None, typer.Option(help="Folder of rows, or a file: rows there are not measured again, others are added.")
]
Sets = Annotated[str, typer.Option(help="Text sets, with commas.")]
Table = Annotated[
    Path | None,
    typer.Option(exists=True, help="Lay stored rows of a folder, or a file, out as Markdown instead of measuring."),
]
_SETS = "twitter,amazon,classic,bbcsport,ohsumed,reuters"


def register(bench: typer.Typer) -> None:
    """Add the commands to ``treewass bench``.

    Parameters
    ----------
    bench : typer.Typer
    """
    for name, command in (
        ("synthetic", synthetic_command),
        ("depth", depth_command),
        ("ablation", ablation_command),
        ("duplicates", duplicates_command),
    ):
        bench.command(name)(command)


def synthetic_command(
    as_json: AsJson = False,
    seeds: Annotated[int, typer.Option(min=1, help="Corpora to draw.")] = 10,
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure errors on the paper's synthetic set, and keep the trees that methods build there."""
    if table is not None:
        from treewass.bench.results.synthetic import synthetic_markdown

        _lay_out(table, ("synthetic",), synthetic_markdown)
        return
    from treewass.bench.synthetic import synthetic_cells

    _measure(synthetic_cells(data, seeds), as_json, output)


def depth_command(
    as_json: AsJson = False, sets: Sets = _SETS, data: Data = None, output: Output = None, table: Table = None
) -> None:
    """Measure the error of STW and TSW with trees less deep than those of ``bench accuracy``."""
    if table is not None:
        from treewass.bench.results.depth import depth_markdown

        _lay_out(table, ("depth", "accuracy"), depth_markdown)
        return
    from treewass.bench.depth import depth_cells

    _measure(depth_cells(data, sets.split(",")), as_json, output)


def ablation_command(
    as_json: AsJson = False, sets: Sets = _SETS, data: Data = None, output: Output = None, table: Table = None
) -> None:
    """Measure the smooth and soft variants of STW, and the losses of its training."""
    if table is not None:
        from treewass.bench.results.ablation import ablation_markdown

        _lay_out(table, ("ablation",), ablation_markdown)
        return
    from treewass.bench.ablation import ablation_cells

    _measure(ablation_cells(data, sets.split(",")), as_json, output)


def duplicates_command(
    as_json: AsJson = False, sets: Sets = _SETS, data: Data = None, output: Output = None, table: Table = None
) -> None:
    """Measure errors on test documents that training documents do not already hold."""
    if table is not None:
        from treewass.bench.results.duplicates import duplicates_markdown

        _lay_out(table, ("duplicates", "ablation"), duplicates_markdown)
        return
    from treewass.bench.duplicates import duplicate_cells

    _measure(duplicate_cells(data, sets.split(",")), as_json, output)


def _lay_out(place: Path, benchmarks: Iterable[str], layout: Callable[[list[Row]], str]) -> None:
    """Print stored rows as Markdown."""
    from treewass.bench.row_files import RowFiles

    files = RowFiles(place)
    rows = [row for benchmark in benchmarks for row in files.rows(benchmark)]
    if not rows:
        raise typer.BadParameter(
            f"{place} holds no rows of {' or '.join(benchmarks)}; expected a folder of rows, or a .jsonl file.",
            param_hint="--table",
        )
    typer.echo(layout(rows))


def _measure(cells: Iterable[Cell], as_json: bool, output: str | None) -> None:
    """Measure cells in this process, saying how far it is, and print their rows."""
    from treewass.bench.cells import run_cells
    from treewass.bench.commands import show_each
    from treewass.bench.row_files import RowFiles

    files = None if output is None else RowFiles(output)
    show_each(run_cells(cells, files, report=lambda sentence: typer.echo(sentence, err=True)), as_json)
