"""The commands of ``python -m treewass_bench data``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from treewass.cli.app import Commands

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from treewass.documents import Corpus
    from treewass_bench.rows import Value

__all__ = ["data_app"]

data_app = Commands(
    help="Say where the text sets can be had; turn public files into the folder that the benchmarks read; check it.",
    invoke_without_command=True,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of the texts.")]
Folder = Annotated[str | None, typer.Option("--data", help="Folder of text sets; TREEWASS_DATA by default.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]


@data_app.callback()
def data_command(context: typer.Context) -> None:
    """Say where the text sets can be had; turn public files into the folder that the benchmarks read; check it."""
    if context.invoked_subcommand is None:
        list_command()


@data_app.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the sets: what they are, where they can be had, on what terms, and the command that converts them."""
    from treewass_bench.data.sources import SOURCES, sources_table

    if as_json:
        for source in SOURCES:
            typer.echo(json.dumps(source.to_dict(), ensure_ascii=False))
        return
    from rich.console import Console

    Console().print(sources_table())


@data_app.command("mat")
def mat_command(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="The word mover papers' .mat files.")],
    data: Folder = None,
    name: Annotated[str | None, typer.Option(help="What to call the set of one file; its name tells.")] = None,
    force: Force = False,
) -> None:
    """Convert the word mover papers' .mat files: words, splits and vectors."""
    from treewass_bench.data.folder import add_vectors, check_set, make_folder, write_set
    from treewass_bench.data.mat_files import name_of_mat_file, read_mat

    if name is not None and len(files) > 1:
        raise ValueError(f"Expected one file with --name, got {len(files)}. Leave --name out: the files' names tell.")
    folder = make_folder(data)
    for file in files:
        set_name = name or name_of_mat_file(file)
        check_set(folder, set_name, force=force)
        found = read_mat(file, set_name)
        add_vectors(folder, found.vectors)
        path = write_set(folder, set_name, found.corpus, train_rows=found.train_rows, cleaned=True, force=force)
        _report(path, found.corpus, len(found.train_rows))


@data_app.command("texts")
def texts_command(
    name: Annotated[str, typer.Argument(help="What to call the set, such as reuters.")],
    source: Annotated[str, typer.Argument(help="File or folder of texts: all, or those that train.")],
    test: Annotated[str | None, typer.Option(help="File or folder of the texts that test.")] = None,
    marks: Annotated[
        str | None, typer.Option(help="File of a name, train or test and a label a line; SOURCE has a text a line.")
    ] = None,
    classes: Annotated[str | None, typer.Option(help="The labels to keep, with commas; all by default.")] = None,
    format: Annotated[
        str | None, typer.Option(help="reviews, smart, jsonl, csv, tsv, lines or folder; by default the name tells.")
    ] = None,
    text: Annotated[str, typer.Option(help="Column of the texts.")] = "text",
    label: Annotated[str, typer.Option(help="Column of the labels.")] = "label",
    encoding: Encoding = "utf-8",
    data: Folder = None,
    force: Force = False,
) -> None:
    """Convert texts; a set without a split of its own gets five random ones."""
    from treewass_bench.data.folder import check_set, make_folder, published_splits, write_set
    from treewass_bench.data.texts import read_marked_lines, read_texts, with_classes

    if marks is not None and test is not None:
        raise ValueError("Expected --marks or --test, got both: marks say which texts test.")
    folder = make_folder(data)
    check_set(folder, name, force=force)
    if marks is not None:
        corpus = read_marked_lines(source, marks, encoding)
    else:
        corpus = read_texts(source, test, format=format, encoding=encoding, text=text, label=label)
    if classes is not None:
        corpus = with_classes(corpus, classes.split(","))
    train_rows = published_splits(name, len(corpus)) if corpus.parts is None else ()
    path = write_set(folder, name, corpus, train_rows=train_rows, force=force)
    _report(path, corpus, len(train_rows))


@data_app.command("20news")
def newsgroups_command(data: Folder = None, force: Force = False) -> None:
    """Fetch the 20 newsgroups through scikit-learn."""
    from treewass_bench.data.folder import check_set, make_folder, write_set
    from treewass_bench.data.texts import fetch_newsgroups

    folder = make_folder(data)
    check_set(folder, "20news", force=force)
    corpus = fetch_newsgroups()
    _report(write_set(folder, "20news", corpus, force=force), corpus, 1)


@data_app.command("vectors")
def vectors_command(
    file: Annotated[str, typer.Argument(help="word2vec or GloVe vectors, text or binary, plain or .gz, or .npz.")],
    format: Annotated[
        str | None, typer.Option(help="word2vec, binary, glove or npz; by default the name tells.")
    ] = None,
    data: Folder = None,
    force: Force = False,
) -> None:
    """Take the vectors of the words that occur in the folder's sets."""
    from treewass_bench.data.folder import make_vectors
    from treewass_bench.datasets import data_folder

    folder = data_folder(data)
    vectors = make_vectors(folder, file, format=format, force=force)
    typer.echo(f"{folder / 'word_vectors.npz'}: {len(vectors)} words, {vectors.n_dimensions} dimensions")


@data_app.command("check")
def check_command(data: Folder = None, as_json: AsJson = False) -> None:
    """Count documents, classes and words of each set, beside the paper's table 1."""
    from treewass_bench.statistics import bench_statistics

    for row in bench_statistics(data):
        typer.echo(row.to_json() if as_json else _verdict(row.case["set"], row.measures))


def _report(path: Path, corpus: Corpus, n_splits: int) -> None:
    """Say what was written."""
    splits = "a split of its own" if corpus.parts is not None else f"{n_splits} splits"
    typer.echo(f"{path}: {len(corpus)} documents, {len(corpus.classes)} classes, {splits}")


def _verdict(name: Value, found: Mapping[str, Value]) -> str:
    """Say in a line how a set compares with what is published."""
    words, mean = _beside(found["dimension"], found["paper_dimension"]), _shown(found["words_a_document"])
    with_vector = ""
    if found["dimension_with_vector"] is None:
        mean = _beside(found["words_a_document"], found["paper_words_a_document"])
    else:
        own = _beside(found["words_a_document_with_vector"], found["paper_words_a_document"])
        with_vector = f"; with a vector {found['dimension_with_vector']} words, {own} a document"
    return (
        f"{name}: {found['verdict']}. {found['documents']} documents, {found['classes']} classes, "
        f"{found['train']} train, {found['test']} test, splits: {found['splits']}; "
        f"{words} words, {mean} a document{with_vector}"
    )


def _beside(found: Value, published: Value) -> str:
    return _shown(found) if published is None else f"{_shown(found)} (paper: {_shown(published)})"


def _shown(value: Value) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)
