"""The commands of ``python -m treewass_bench``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treewass.cli.app import Commands, run
from treewass_bench.data.commands import data_app
from treewass_bench.methods import DEFAULT_METHODS

if TYPE_CHECKING:
    from treewass_bench.cells import Cell
    from treewass_bench.rows import Row

__all__ = ["app", "main"]

app = Commands(help="Measure: rows as JSON lines for machines, a table for people.", no_args_is_help=True)
app.add_typer(data_app, name="data")

AsJson = Annotated[bool, typer.Option("--json", help="Print rows as JSON lines instead of a table.")]
Data = Annotated[str | None, typer.Option(help="Folder of the text sets; TREEWASS_DATA by default.")]
Sets = Annotated[str, typer.Option(help="Text sets, with commas.")]
Cases = Annotated[str, typer.Option(help="What to measure, with commas.")]
Rows = Annotated[str, typer.Option(help="Folder of rows: what it holds is not measured again.")]
Page = Annotated[str | None, typer.Option(help="The page to write; results.md in the folder of rows.")]
Output = Annotated[
    str | None, typer.Option(help="Folder of rows, or a file: rows there are not measured again, others are added.")
]
Table = Annotated[
    Path | None,
    typer.Option(exists=True, help="Lay stored rows of a folder, or a file, out as Markdown instead of measuring."),
]
_SETS = "twitter,amazon,classic,bbcsport,ohsumed,reuters"
_ROWS = "benchmarks/rows"


@app.command("all")
def all_command(
    data: Data = None,
    output: Rows = _ROWS,
    quick: Annotated[bool, typer.Option("--quick", help="Small sets, first splits: under ten minutes.")] = False,
    only: Annotated[
        str | None,
        typer.Option(help="Some, with commas: statistics, synthetic, accuracy, duplicates, depth, ablation, time."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes for what is not a time.")] = 2,
    page: Page = None,
) -> None:
    """Make every table and figure of the paper: measure what has no row yet, then lay all rows out."""
    from treewass_bench.cells import run_cells
    from treewass_bench.plan import all_cells, chosen_cells, quick_cells
    from treewass_bench.rows import RowFiles, mark_data

    cells = chosen_cells(all_cells(data), only)
    mark_data(Path(output), data)
    try:
        for _ in run_cells(quick_cells(cells) if quick else cells, RowFiles(output), jobs, _say):
            pass
    finally:
        page_command(output, page)


@app.command("page")
def page_command(output: Rows = _ROWS, page: Page = None) -> None:
    """Lay stored rows out, without measuring: the page of results and its figures."""
    from treewass_bench.page import write_page

    rows = Path(output)
    if not any(rows.glob("*.jsonl")):
        raise ValueError(
            f"Expected files of rows in {rows}, found none. Measure with python -m treewass_bench all first."
        )
    written = write_page(rows, Path(page) if page else rows / "results.md")
    _say(f"The tables and figures are in {written}.")


@app.command("methods")
def methods_command(as_json: AsJson = False) -> None:
    """List the methods that ``accuracy`` can measure: ours, those of the paper, and their rivals."""
    from rich.console import Console

    from treewass_bench.methods import METHODS, methods_table

    if not as_json:
        Console().print(methods_table())
        return
    shown = ("title", "kind", "vote", "configuration", "needs", "complexity", "citation")
    for name, method in METHODS.items():
        typer.echo(json.dumps({"name": name} | {field: getattr(method, field) for field in shown}, ensure_ascii=False))


@app.command("accuracy")
def accuracy_command(
    as_json: AsJson = False,
    sets: Annotated[str, typer.Option(help="Text sets, with commas; docstrings is the built-in corpus.")] = _SETS,
    methods: Annotated[
        str | None, typer.Option(help=f"Names of methods, with commas; {','.join(DEFAULT_METHODS)}.")
    ] = None,
    splits: Annotated[int | None, typer.Option(min=1, help="The first so many splits of each set.")] = None,
    data: Data = None,
    output: Output = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of the profile learner, from 0.")] = 1,
    table: Table = None,
) -> None:
    """Measure error, macro-F1, log-loss and calibration, the linear models' beside ours."""
    if table is not None:
        from treewass_bench.accuracy_tables import accuracy_markdown
        from treewass_bench.paired import paired_markdown

        chosen = {} if methods is None else {"methods": methods.split(",")}
        _lay_out(table, ("accuracy",), lambda rows: accuracy_markdown(rows, **chosen) + "\n" + paired_markdown(rows))
        return
    from treewass_bench.accuracy import bench_accuracy, mean_rows

    names = DEFAULT_METHODS if methods is None else methods.split(",")
    measured = bench_accuracy(sets.split(","), names, splits, data, output, jobs, _say, seeds)
    _show(measured if as_json else mean_rows(measured), as_json)


@app.command("synthetic")
def synthetic_command(
    as_json: AsJson = False,
    seeds: Annotated[int, typer.Option(min=1, help="Corpora to draw.")] = 10,
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure errors on the paper's synthetic set, and keep the trees that methods build there."""
    from treewass_bench.synthetic import synthetic_cells, synthetic_markdown

    if table is not None:
        _lay_out(table, ("synthetic",), synthetic_markdown)
    else:
        _measure(synthetic_cells(data, seeds), as_json, output)


@app.command("depth")
def depth_command(
    as_json: AsJson = False, sets: Sets = _SETS, data: Data = None, output: Output = None, table: Table = None
) -> None:
    """Measure the error of STW and TSW with trees less deep than those of ``accuracy``."""
    from treewass_bench.depth import depth_cells, depth_markdown

    if table is not None:
        _lay_out(table, ("depth", "accuracy"), depth_markdown)
    else:
        _measure(depth_cells(data, sets.split(",")), as_json, output)


@app.command("ablation")
def ablation_command(
    as_json: AsJson = False, sets: Sets = _SETS, data: Data = None, output: Output = None, table: Table = None
) -> None:
    """Measure the smooth and soft variants of STW, and the losses of its training."""
    from treewass_bench.ablation import ablation_cells, ablation_markdown

    if table is not None:
        _lay_out(table, ("ablation",), ablation_markdown)
    else:
        _measure(ablation_cells(data, sets.split(",")), as_json, output)


@app.command("duplicates")
def duplicates_command(
    as_json: AsJson = False, sets: Sets = _SETS, data: Data = None, output: Output = None, table: Table = None
) -> None:
    """Measure errors on test documents that training documents do not already hold."""
    from treewass_bench.duplicates import duplicate_cells, duplicates_markdown

    if table is not None:
        _lay_out(table, ("duplicates", "ablation"), duplicates_markdown)
    else:
        _measure(duplicate_cells(data, sets.split(",")), as_json, output)


@app.command("search")
def search_command(
    as_json: AsJson = False,
    sets: Sets = f"{_SETS},20news",
    methods: Annotated[str | None, typer.Option(help="Some of the methods, with commas; times: beside BM25.")] = None,
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure what typed words find, beside BM25, TF-IDF, the learned distance and sentence vectors."""
    from treewass_bench.typed_search import SEARCH_METHODS, search_cells, search_markdown

    if table is not None:
        _lay_out(table, ("search",), search_markdown)
    else:
        chosen = methods.split(",") if methods else (*SEARCH_METHODS, "times")
        _measure(search_cells(data, sets.split(","), chosen), as_json, output)


@app.command("unlabelled")
def unlabelled_command(
    as_json: AsJson = False,
    sets: Sets = f"{_SETS},20news",
    methods: Annotated[str | None, typer.Option(help="Some of the methods, with commas.")] = None,
    splits: Annotated[int, typer.Option(min=1, help="The first so many splits of each set.")] = 1,
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure how many of the ten nearest documents, found without labels, have the label of the query."""
    from treewass_bench.unlabelled import UNLABELLED_METHODS, unlabelled_cells, unlabelled_markdown

    if table is not None:
        _lay_out(table, ("unlabelled",), unlabelled_markdown)
    else:
        chosen = methods.split(",") if methods else tuple(UNLABELLED_METHODS)
        _measure(unlabelled_cells(data, sets.split(","), chosen, splits), as_json, output)


@app.command("few")
def few_command(
    as_json: AsJson = False,
    sets: Sets = "twitter,reuters,20news",
    methods: Annotated[str | None, typer.Option(help="Some of the methods, with commas.")] = None,
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure errors with 20 to 200 labels, with and without word vectors, beside rivals."""
    from treewass_bench.few import FEW_METHODS, few_cells, few_markdown

    if table is not None:
        _lay_out(table, ("few",), few_markdown)
    else:
        _measure(
            few_cells(data, sets.split(","), methods.split(",") if methods else tuple(FEW_METHODS)), as_json, output
        )


@app.command("costs")
def costs_command(
    as_json: AsJson = False,
    sets: Sets = "twitter,bbcsport",
    methods: Annotated[str | None, typer.Option(help="Some of the trees, with commas.")] = None,
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure how close the distances of trees over word vectors are to true transport costs."""
    from treewass_bench.costs import COST_METHODS, cost_cells, costs_markdown

    if table is not None:
        _lay_out(table, ("costs",), costs_markdown)
    else:
        chosen = methods.split(",") if methods else tuple(COST_METHODS)
        _measure(cost_cells(data, sets.split(","), chosen), as_json, output)


@app.command("validation")
def validation_command(
    as_json: AsJson = False,
    sets: Sets = "twitter",
    methods: Annotated[str, typer.Option(help="Names of methods, with commas.")] = "stw,stw-lars",
    splits: Annotated[int, typer.Option(min=1, help="The first so many splits of each set.")] = 5,
    folds: Annotated[int, typer.Option(min=1, max=5, help="How many of five parts are held out, one by one.")] = 2,
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure methods on parts of the training documents, as a choice between them must be made."""
    from treewass_bench.validation import validation_cells, validation_markdown

    if table is not None:
        _lay_out(table, ("validation", "accuracy"), validation_markdown)
    else:
        _measure(validation_cells(data, sets.split(","), methods.split(","), splits, folds), as_json, output)


@app.command("pull")
def pull_command(
    as_json: AsJson = False,
    sets: Sets = f"{_SETS},20news",
    draws: Annotated[int, typer.Option(min=1, max=5, help="Draws of labels.")] = 5,
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure, on training documents alone, how closely a calibrated vote should stay to the plain one."""
    from treewass_bench.pull import pull_cells, pull_markdown

    if table is not None:
        _lay_out(table, ("pull",), pull_markdown)
    else:
        _measure(pull_cells(data, sets.split(","), draws), as_json, output)


@app.command("border")
def border_command(
    as_json: AsJson = False,
    sets: Sets = "bbcsport,classic,ohsumed,amazon",
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure up to how many words a text is better ranked by its words than by distance, with and without stems."""
    from treewass_bench.border import border_cells, border_markdown

    if table is not None:
        _lay_out(table, ("border",), border_markdown)
    else:
        _measure(border_cells(data, sets.split(",")), as_json, output)


@app.command("labels")
def labels_command(
    as_json: AsJson = False,
    sets: Sets = "twitter,reuters,20news",
    data: Data = None,
    output: Output = None,
    table: Table = None,
) -> None:
    """Measure how well labels that were changed at random are found, beside cleanlab."""
    from treewass_bench.labels import label_cells, labels_markdown

    if table is not None:
        _lay_out(table, ("labels",), labels_markdown)
    else:
        _measure(label_cells(data, sets.split(",")), as_json, output)


@app.command("batch")
def batch_command(
    as_json: AsJson = False, sets: Sets = _SETS, data: Data = None, output: Output = None, table: Table = None
) -> None:
    """Measure the time of one document against many: every method, batch sizes, depths, whole training sets."""
    if table is not None:
        from treewass_bench.time_tables import times_markdown

        _lay_out(table, ("time",), times_markdown)
        return
    from treewass_bench import times

    _measure(times.time_cells(data, sets.split(",")), as_json, output)


@app.command("speed")
def speed_command(
    as_json: AsJson = False,
    quick: Annotated[bool, typer.Option("--quick", help="Two sets, fewer documents; rough figures.")] = False,
    data: Data = None,
    parts: Cases = "query,set,embedding,start,large,growth,approximate",
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="SRC",
            exists=True,
            file_okay=False,
            help="Measure another version instead: the folder of its source.",
        ),
    ] = None,
    table: Table = None,
) -> None:
    """Measure exact search against other libraries, or against another version, on one thread."""
    from treewass_bench import speed

    if table is not None:
        _lay_out(table, ("speed", "against"), speed.speed_markdown)
        return
    if against is not None:
        from treewass_bench.against import bench_against

        measured = bench_against(against, quick, data)
    else:
        measured = speed.bench_speed(quick, data, parts.split(","))
    if as_json:
        _show(_announced(measured), as_json)
    else:
        typer.echo(speed.speed_markdown(_announced(measured)))


@app.command("trees")
def trees_command(
    as_json: AsJson = False,
    quick: Annotated[bool, typer.Option("--quick", help="Two sets and few pairs; rough figures.")] = False,
    data: Data = None,
) -> None:
    """Measure the unsupervised trees and Flowtree beside the paper's tree and exact transport."""
    from treewass_bench.trees import bench_trees

    _show_each(_announced(bench_trees(quick, data)), as_json)


@app.command("wmd")
def wmd_command(
    as_json: AsJson = False,
    cases: Cases = "gensim,bounds,neighbors",
    data: Data = None,
    table: Table = None,
) -> None:
    """Measure word mover's distances: against gensim, bounds against exact ones, pruned search."""
    if table is not None:
        from treewass_bench.speed import speed_markdown

        _lay_out(table, ("wmd",), lambda rows: speed_markdown(rows, key="case"))
        return
    from treewass_bench.word_mover import bench_word_mover

    _show_each(_announced(bench_word_mover(cases.split(","), data)), as_json)


@app.command("train")
def train_command(
    as_json: AsJson = False, cases: Cases = "dense,memory,vocabulary,depth,ablation", data: Data = None
) -> None:
    """Measure the paper's learner: a step beside algorithm 1, memory, growth with words and depth, its options."""
    from treewass_bench.train import bench_train

    _show_each(_announced(bench_train(cases.split(","), data)), as_json)


@app.command("fit")
def fit_command(
    as_json: AsJson = False,
    cases: Cases = "stage1,search,channel,passes,memory",
    data: Data = None,
    documents: Annotated[int, typer.Option(min=100, help="Documents to generate for memory.")] = 1_000_000,
    against: Annotated[
        Path | None, typer.Option(help="Another version's src: measure defaults of both instead.")
    ] = None,
    sets: Annotated[str, typer.Option(help="Text sets for that, with commas.")] = "twitter,reuters,amazon,20news",
) -> None:
    """Measure learning: beside counting words, a grid search and LIBLINEAR; its passes, memory, or another version."""
    if against is not None:
        from treewass_bench.fit_against import bench_fit_against

        _show_each(_announced(bench_fit_against(against, sets.split(","), data)), as_json)
        return
    from treewass_bench.fit import bench_fit

    _show_each(_announced(bench_fit(cases.split(","), data, documents)), as_json)


@app.command("memory")
def memory_command(
    as_json: AsJson = False,
    documents: Annotated[int, typer.Option(min=10, help="Documents to generate.")] = 100_000,
    words: Annotated[int, typer.Option(min=1, help="Mean number of words of a document.")] = 40,
) -> None:
    """Measure the memory that each step of the flow needs, on generated documents."""
    from treewass_bench.fit import bench_memory

    _show(bench_memory(documents, words), as_json)


@app.command("file")
def file_command(
    as_json: AsJson = False,
    rows: Annotated[int, typer.Option(min=100, help="Rows of the table.")] = 100_000,
    words: Annotated[int, typer.Option(min=1, help="Mean number of words of a text.")] = 35,
    against: Annotated[Path | None, typer.Option(help="Another version's src, to measure too.")] = None,
    python: Annotated[str, typer.Option(help="The interpreter, such as one without pandas.")] = sys.executable,
) -> None:
    """Measure `treewass fit` on a table of generated texts: CPU seconds and peak memory of its process."""
    from treewass_bench.file_fit import bench_file

    _show_each(bench_file(rows, words, None if against is None else str(against.resolve()), python), as_json)


@app.command("scale")
def scale_command(
    as_json: AsJson = False,
    cases: Cases = "bytes,threads,order,collection,actors",
    documents: Annotated[int, typer.Option(min=1000, help="Documents of the collection in shards.")] = 10_000_000,
    shards: Annotated[int, typer.Option(min=1, help="Shards of the collection.")] = 16,
    sample: Annotated[int, typer.Option(min=1000, help="Documents to count the bytes of.")] = 200_000,
    threads: Annotated[int, typer.Option(min=1000, help="Documents to search with two threads.")] = 400_000,
    folder: Annotated[Path, typer.Option(help="Where shards are built; those that are there are kept.")] = Path(
        "scale-shards"
    ),
    keep: Annotated[bool, typer.Option(help="Leave the shards where they are, for another run.")] = False,
    data: Data = None,
    output: Output = None,
) -> None:
    """Measure bytes a document, one query in two threads, and a large collection in mapped shards, also on Dask."""
    from treewass_bench.scale import scale_cells
    from treewass_bench.scale_shards import remove_shards

    sizes = {"sample": sample, "threads": threads}
    cells = scale_cells(cases.split(","), documents, shards, folder, **sizes, data=data, say=_say)
    _measure(cells, as_json, output)
    if not keep:
        remove_shards(folder)


@app.command("scale-tables")
def scale_tables_command(
    rows: Annotated[str, typer.Option(help="Where the rows of `scale` are stored.")] = "benchmarks/rows",
) -> None:
    """Print the stored rows of `scale` as Markdown, and what larger collections would cost, on paper."""
    from treewass_bench.rows import RowFiles
    from treewass_bench.scale_tables import scale_tables

    typer.echo("\n\n".join(scale_tables(RowFiles(rows).rows("scale"))))


@app.command("serve")
def serve_command(
    as_json: AsJson = False,
    documents: Annotated[int, typer.Option(min=100, help="Documents to generate.")] = 100_000,
    requests: Annotated[int, typer.Option(min=10, help="Searches of a round.")] = 1_000,
) -> None:
    """Measure the service on loopback: throughput and latency, beside the search in one process."""
    from treewass_bench.serve import bench_serve

    _show(bench_serve(documents, requests), as_json)


@app.command("stores")
def stores_command(
    as_json: AsJson = False,
    sets: Annotated[str, typer.Option(help="Text sets, with commas.")] = "twitter,reuters,20news",
    queries: Annotated[
        int | None, typer.Option(min=1, help="The first so many test documents; all by default.")
    ] = None,
    data: Data = None,
) -> None:
    """Measure search in PostgreSQL, DuckDB and ClickHouse beside TreeIndex, and count equal answers."""
    from treewass_bench.stores import bench_stores

    _show(_announced(bench_stores(sets.split(","), queries, data)), as_json)


@app.command("scale-out")
def scale_out_command(
    as_json: AsJson = False,
    documents: Annotated[int, typer.Option(min=5000, help="Texts to learn from.")] = 1_000_000,
    scored: Annotated[int, typer.Option(min=100, help="Texts to label.")] = 10_000,
    ways: Annotated[
        str, typer.Option(help="With semicolons; also 'in memory, refined on all'.")
    ] = "in memory;file by file;two Dask workers",
) -> None:
    """Fit, index and score files that are never all in memory, here and on Dask, beside one machine's fit."""
    from treewass_bench.scale_out import bench_scale_out

    _show_each(bench_scale_out(documents, scored, ways.split(";")), as_json)


@app.command("import")
def import_command(
    as_json: AsJson = False,
    repetitions: Annotated[int, typer.Option(min=1, help="Starts of Python.")] = 10,
) -> None:
    """Measure the CPU time of ``import treewass``."""
    from treewass_bench.start import bench_import

    _show(bench_import(repetitions), as_json)


@app.command("tool")
def tool_command(
    as_json: AsJson = False,
    documents: Annotated[int, typer.Option(min=100, help="Documents to generate.")] = 100_000,
    words: Annotated[int, typer.Option(min=1, help="Mean number of words of a document.")] = 40,
    repetitions: Annotated[int, typer.Option(min=1, help="Processes of each command.")] = 7,
) -> None:
    """Measure the CPU time of ``treewass search`` and ``predict`` on a large model."""
    from treewass_bench.start import bench_tool

    _show(bench_tool(documents, words, repetitions), as_json)


@app.command("start")
def start_command(
    as_json: AsJson = False,
    documents: Annotated[int, typer.Option(min=30, help="Short texts to generate.")] = 3000,
    repetitions: Annotated[int, typer.Option(min=1, help="Processes of each kind.")] = 3,
    cases: Cases = "fit,search,report,demo",
) -> None:
    """Measure first uses with nothing compiled on the disk, and the same uses again."""
    from treewass_bench.start import bench_start

    _show(_announced(bench_start(documents, repetitions, cases.split(","))), as_json)


def _show(rows: Iterable[Row], as_json: bool) -> None:
    """Print rows: as JSON lines as soon as each is there, or as one table."""
    if as_json:
        for row in rows:
            typer.echo(row.to_json())
        return
    from rich.console import Console

    from treewass_bench.rows import rows_table

    Console().print(rows_table(rows))


def _show_each(rows: Iterable[Row], as_json: bool) -> None:
    """Print rows with different measures: a table for each kind of case."""
    if as_json:
        _show(rows, as_json)
        return
    kinds: dict[object, list[Row]] = {}
    for row in rows:
        kinds.setdefault(tuple(row.measures), []).append(row)
    for members in kinds.values():
        _show(members, as_json)


def _lay_out(place: Path, benchmarks: Iterable[str], layout: Callable[[list[Row]], str]) -> None:
    """Print stored rows as Markdown."""
    from treewass_bench.rows import RowFiles

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
    from treewass_bench.cells import run_cells
    from treewass_bench.rows import RowFiles

    _show_each(run_cells(cells, None if output is None else RowFiles(output), report=_say), as_json)


def _say(sentence: str) -> None:
    """Say on standard error how far a run is."""
    typer.echo(sentence, err=True)


def _announced(rows: Iterable[Row]) -> Iterator[Row]:
    """Say on standard error what has been measured, row by row."""
    for row in rows:
        names = ("measure", "data", "tree", "rival", "set", "split", "method", "case")
        _say(f"measured {', '.join(str(row.case[name]) for name in names if name in row.case)}")
        yield row


def main() -> None:
    """Run a benchmark; errors are one sentence, as on the command line of treewass."""
    run(app)
