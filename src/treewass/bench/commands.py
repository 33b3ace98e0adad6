"""The commands of ``treewass bench``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from treewass.bench.rows import Row, rows_table

__all__ = ["bench"]

bench = typer.Typer(help="Measure: rows as JSON lines for machines, a table for people.", no_args_is_help=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print rows as JSON lines instead of a table.")]


def show(rows: Iterable[Row], as_json: bool) -> None:
    """Print rows: as JSON lines as soon as each is there, or as one table."""
    if as_json:
        for row in rows:
            typer.echo(row.to_json())
        return
    from rich.console import Console

    Console().print(rows_table(rows))


@bench.command("import")
def import_command(
    as_json: AsJson = False,
    repetitions: Annotated[int, typer.Option(min=1, help="Starts of Python.")] = 10,
) -> None:
    """Measure the CPU time of ``import treewass``."""
    from treewass.bench.imports import bench_import

    show(bench_import(repetitions), as_json)


@bench.command("memory")
def memory_command(
    as_json: AsJson = False,
    documents: Annotated[int, typer.Option(min=10, help="Documents to generate.")] = 100_000,
    words: Annotated[int, typer.Option(min=1, help="Mean number of words of a document.")] = 40,
) -> None:
    """Measure the memory that each step of the flow needs, on generated documents."""
    from treewass.bench.memory import bench_memory

    show(bench_memory(documents, words), as_json)


@bench.command("speed")
def speed_command(
    as_json: AsJson = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two sets and a tenth of the documents; rough figures.")
    ] = False,
    data: Annotated[str | None, typer.Option(help="Folder of text sets; TREEWASS_DATA by default.")] = None,
    table: Annotated[str | None, typer.Option(help="Lay stored rows out as Markdown instead of measuring.")] = None,
) -> None:
    """Measure exact search against other libraries, on one thread."""
    if table is not None:
        from treewass.bench.rows import read_rows
        from treewass.bench.speed_table import speed_markdown

        typer.echo(speed_markdown(read_rows(table)))
        return
    from treewass.bench.speed import bench_speed

    show(bench_speed(quick, data), as_json)
