"""The commands of ``treewass bench``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treewass.bench.data.commands import data_app
from treewass.bench.paper_commands import register
from treewass.commands.option_names import Commands
from treewass.methods import DEFAULT_METHODS

if TYPE_CHECKING:
    from treewass.bench.rows import Row

__all__ = ["bench"]

bench = Commands(help="Measure: rows as JSON lines for machines, a table for people.", no_args_is_help=True)
register(bench)
bench.add_typer(data_app, name="data")
AsJson = Annotated[bool, typer.Option("--json", help="Print rows as JSON lines instead of a table.")]
StoredRows = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", exists=True, dir_okay=False, help="Lay stored rows out as Markdown instead of measuring."
    ),
]


def show(rows: Iterable[Row], as_json: bool) -> None:
    """Print rows: as JSON lines as soon as each is there, or as one table."""
    if as_json:
        for row in rows:
            typer.echo(row.to_json())
        return
    from rich.console import Console

    from treewass.bench.rows import rows_table

    Console().print(rows_table(rows))


@bench.command("all")
def all_command(
    data: Annotated[str | None, typer.Option(help="Folder of the text sets; TREEWASS_DATA by default.")] = None,
    output: Annotated[str, typer.Option(help="Folder of rows: what it holds is not measured again.")] = "benchmarks",
    quick: Annotated[bool, typer.Option("--quick", help="Small sets, first splits: under ten minutes.")] = False,
    only: Annotated[
        str | None,
        typer.Option(help="Some, with commas: statistics, synthetic, accuracy, duplicates, depth, ablation, time."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes for what is not a time.")] = 2,
    page: Annotated[str | None, typer.Option(help="The page to write; results.md in the folder of rows.")] = None,
    readme: Annotated[str | None, typer.Option(help="A file whose short table is renewed too.")] = None,
) -> None:
    """Make every table and figure of the paper: measure what has no row yet, then lay all rows out."""
    from treewass.bench.cells import run_cells
    from treewass.bench.data_mark import mark_data
    from treewass.bench.plan import all_cells, chosen_cells, quick_cells
    from treewass.bench.row_files import RowFiles

    cells = chosen_cells(all_cells(data), only)
    mark_data(Path(output), data)
    try:
        for _ in run_cells(quick_cells(cells) if quick else cells, RowFiles(output), jobs, _say):
            pass
    finally:
        page_command(output, page, readme)


@bench.command("page")
def page_command(
    output: Annotated[str, typer.Option(help="Folder of rows.")] = "benchmarks",
    page: Annotated[str | None, typer.Option(help="The page to write; results.md in the folder of rows.")] = None,
    readme: Annotated[str | None, typer.Option(help="A file whose short table is renewed too.")] = None,
) -> None:
    """Lay stored rows out, without measuring: the page of results, its figures, the short table."""
    from treewass.bench.results.page import write_page, write_short_table

    rows = Path(output)
    if not any(rows.glob("*.jsonl")):
        raise ValueError(f"Expected files of rows in {rows}, found none. Measure with treewass bench all first.")
    written = write_page(rows, Path(page) if page else rows / "results.md")
    _say(f"The tables and figures are in {written}.")
    if readme is not None:
        write_short_table(rows, Path(readme))


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
    parts: Annotated[
        str, typer.Option(help="What to measure, with commas.")
    ] = "query,set,embedding,start,large,growth,approximate",
    table: StoredRows = None,
) -> None:
    """Measure exact search against other libraries, on one thread."""
    from treewass.bench.rows import read_rows
    from treewass.bench.speed_table import speed_markdown

    if table is not None:
        typer.echo(speed_markdown(read_rows(table)))
        return
    from treewass.bench.speed import bench_speed

    measured = _announced(bench_speed(quick, data, parts.split(",")))
    if as_json:
        show(measured, as_json)
    else:
        typer.echo(speed_markdown(measured))


@bench.command("accuracy")
def accuracy_command(
    as_json: AsJson = False,
    sets: Annotated[
        str, typer.Option(help="Text sets, with commas; docstrings is the built-in corpus.")
    ] = "twitter,amazon,classic,bbcsport,ohsumed,reuters",
    methods: Annotated[
        str | None, typer.Option(help=f"Names that treewass methods lists, with commas; {','.join(DEFAULT_METHODS)}.")
    ] = None,
    splits: Annotated[int | None, typer.Option(min=1, help="The first so many splits of each set.")] = None,
    data: Annotated[str | None, typer.Option(help="Folder of the text sets; TREEWASS_DATA by default.")] = None,
    output: Annotated[str | None, typer.Option(help="File of rows: resumed if there, appended to.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    table: StoredRows = None,
) -> None:
    """Measure error, macro-F1, log-loss and calibration, the linear models' beside ours."""
    if table is not None:
        from treewass.bench.accuracy_table import accuracy_markdown
        from treewass.bench.rows import read_rows

        rows = read_rows(table)
        typer.echo(accuracy_markdown(rows) if methods is None else accuracy_markdown(rows, methods.split(",")))
        return
    from treewass.bench.accuracy import bench_accuracy, mean_rows

    chosen = DEFAULT_METHODS if methods is None else methods.split(",")
    measured = bench_accuracy(sets.split(","), chosen, splits, data, output, jobs, report=_say)
    show(measured if as_json else mean_rows(measured), as_json)


@bench.command("batch")
def batch_command(
    as_json: AsJson = False,
    sets: Annotated[
        str, typer.Option(help="Text sets, with commas.")
    ] = "twitter,amazon,classic,bbcsport,ohsumed,reuters",
    data: Annotated[str | None, typer.Option(help="Folder of the text sets; TREEWASS_DATA by default.")] = None,
    output: Annotated[str | None, typer.Option(help="File of rows: resumed if there, appended to.")] = None,
    table: StoredRows = None,
) -> None:
    """Measure the time of one document against many: every method, batch sizes, depths, whole training sets."""
    if table is not None:
        from treewass.bench.results.times import times_markdown
        from treewass.bench.rows import read_rows

        typer.echo(times_markdown(read_rows(table)))
        return
    from treewass.bench.cells import run_cells
    from treewass.bench.row_files import RowFiles
    from treewass.bench.times import time_cells

    files = None if output is None else RowFiles(output)
    show_each(run_cells(time_cells(data, sets.split(",")), files, report=partial(typer.echo, err=True)), as_json)


@bench.command("trees")
def trees_command(
    as_json: AsJson = False,
    quick: Annotated[bool, typer.Option("--quick", help="Two sets and few pairs; rough figures.")] = False,
    data: Annotated[str | None, typer.Option(help="Folder of the text sets; TREEWASS_DATA by default.")] = None,
) -> None:
    """Measure the unsupervised trees and Flowtree beside the paper's tree and exact transport."""
    from treewass.bench.trees import bench_trees

    show_each(_announced(bench_trees(quick, data)), as_json)


@bench.command("fit")
def fit_command(
    as_json: AsJson = False,
    cases: Annotated[str, typer.Option(help="What to measure, with commas.")] = "stage1,search,memory",
    data: Annotated[str | None, typer.Option(help="Folder of the text sets; TREEWASS_DATA by default.")] = None,
    documents: Annotated[int, typer.Option(min=100, help="Documents to generate for memory.")] = 1_000_000,
) -> None:
    """Measure learning: against counting words, against a grid search, and its memory."""
    from treewass.bench.fit import bench_fit

    show_each(_announced(bench_fit(cases.split(","), data, documents)), as_json)


@bench.command("serve")
def serve_command(
    as_json: AsJson = False,
    documents: Annotated[int, typer.Option(min=100, help="Documents to generate.")] = 100_000,
    requests: Annotated[int, typer.Option(min=10, help="Searches of a round.")] = 1_000,
) -> None:
    """Measure the service on loopback: throughput and latency, beside the search in one process."""
    from treewass.bench.serve import bench_serve

    show(bench_serve(documents, requests), as_json)


@bench.command("wmd")
def wmd_command(
    as_json: AsJson = False,
    cases: Annotated[str, typer.Option(help="What to measure, with commas.")] = "gensim,bounds,neighbors,errors",
    data: Annotated[str | None, typer.Option(help="Folder of the text sets; TREEWASS_DATA by default.")] = None,
    table: StoredRows = None,
) -> None:
    """Measure word mover's distances: against gensim, bounds against exact ones, pruned search, errors."""
    if table is not None:
        from treewass.bench.rows import read_rows
        from treewass.bench.speed_table import speed_markdown

        typer.echo(speed_markdown(read_rows(table), key="case"))
        return
    from treewass.bench.word_mover import bench_word_mover

    show_each(_announced(bench_word_mover(cases.split(","), data)), as_json)


@bench.command("train")
def train_command(
    as_json: AsJson = False,
    cases: Annotated[
        str, typer.Option(help="What to measure, with commas.")
    ] = "dense,memory,vocabulary,depth,ablation",
    data: Annotated[str | None, typer.Option(help="Folder of the text sets; TREEWASS_DATA by default.")] = None,
) -> None:
    """Measure the paper's learner: a step beside algorithm 1, memory, growth with words and depth, its options."""
    from treewass.bench.train import bench_train

    show_each(_announced(bench_train(cases.split(","), data)), as_json)


@bench.command("tool")
def tool_command(
    as_json: AsJson = False,
    documents: Annotated[int, typer.Option(min=100, help="Documents to generate.")] = 100_000,
    words: Annotated[int, typer.Option(min=1, help="Mean number of words of a document.")] = 40,
    repetitions: Annotated[int, typer.Option(min=1, help="Processes a command.")] = 7,
) -> None:
    """Measure the CPU time of ``treewass search`` and ``predict`` on a large model."""
    from treewass.bench.tool import bench_tool

    show(bench_tool(documents, words, repetitions), as_json)


def show_each(rows: Iterable[Row], as_json: bool) -> None:
    """Print rows with different measures: a table for each kind of case."""
    if as_json:
        show(rows, as_json)
        return
    kinds: dict[object, list[Row]] = {}
    for row in rows:
        kinds.setdefault(tuple(row.measures), []).append(row)
    for members in kinds.values():
        show(members, as_json)


def _say(sentence: str) -> None:
    """Say on standard error how far a run is."""
    typer.echo(sentence, err=True)


def _announced(rows: Iterable[Row]) -> Iterator[Row]:
    """Say on standard error what has been measured, row by row."""
    for row in rows:
        names = ("measure", "data", "tree", "rival", "set", "split", "method", "case")
        what = ", ".join(str(row.case[name]) for name in names if name in row.case)
        typer.echo(f"measured {what}", err=True)
        yield row
