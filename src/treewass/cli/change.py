"""``treewass add``, ``remove`` and ``update``: changing the documents of a model, also while a service runs on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewass.cli.columns import as_learned, remembered_columns
from treewass.cli.data import (
    BadRows,
    DataFiles,
    DataFormat,
    Delimiter,
    Encoding,
    IdColumn,
    KeptColumns,
    LabelColumn,
    NoLabels,
    SkipBad,
    TextColumn,
    TitleColumn,
    empty_texts_said,
    read_data,
    read_labelled,
)
from treewass.cli.shared import ModelFolder, Store, load_model, named_document, say_note
from treewass.compute.arguments import counted_noun

if TYPE_CHECKING:
    from treewass.documents.corpus import Corpus

__all__ = ["add_command", "remove_command", "update_command"]


def add_command(
    context: typer.Context,
    model: ModelFolder,
    data: DataFiles,
    text: TextColumn = "text",
    label: LabelColumn = "label",
    no_labels: NoLabels = False,
    key: IdColumn = None,
    title: TitleColumn = None,
    columns: KeptColumns = None,
    format: DataFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    bad_rows: BadRows = "bad-rows.csv",
    store: Store = None,
) -> None:
    """Add documents to a model, to find and to vote, without learning from them; a service that runs goes on."""
    from treewass.model.inference import count_texts
    from treewass.serve.applied_writes import NewDocument
    from treewass.serve.live_model import LiveModel

    corpus = read_labelled(
        data,
        text=text,
        label=label,
        no_labels=no_labels,
        key=key,
        title=title,
        columns=columns,
        part=None,
        format=format,
        encoding=encoding,
        delimiter=delimiter,
        skip_bad=skip_bad,
        bad_rows=bad_rows,
        min_classes=1,
        remembered=remembered_columns(model, context),
    )
    with LiveModel(Path(model).expanduser(), store) as live:
        held = live.current()
        if corpus.keys is None and held.documents.key_ids:
            say_note("the documents have no id of yours (--id COLUMN), and could be there twice.")
        labels = _labels(corpus, held.classes)
        documents = [
            NewDocument(
                own,
                None if labels is None else labels[row],
                "" if corpus.titles is None else corpus.titles[row],
                None if corpus.keys is None else corpus.keys[row],
                {name: values[row] for name, values in corpus.columns.items()},
            )
            for row, own in enumerate(corpus.texts)
        ]
        unknown = count_texts(held, corpus.texts).unknown
        with empty_texts_said(corpus, "they are kept, but are never neighbours.", unknown):
            ids, _ = live.add(documents)
        live.fold()
    named = f"the id {ids[0]}" if len(ids) == 1 else f"the ids {ids[0]} to {ids[-1]}"
    typer.echo(f"{counted_noun(len(ids), 'document')} added to {model}, with {named}.")


def remove_command(
    context: typer.Context,
    model: ModelFolder,
    documents: Annotated[
        list[str],
        typer.Argument(
            metavar="DOCUMENT", help="Documents of the model: id:17 or key:NAME; with --id, files that list them."
        ),
    ],
    key: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Column of your own names of the documents, in files."),
    ] = None,
    format: DataFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    store: Store = None,
) -> None:
    """Remove documents from a model, all of those named or none; a service that runs goes on."""
    from treewass.documents.histograms import first_few
    from treewass.serve.live_model import LiveModel

    if key is None and all(named_document(one) is None and Path(one).expanduser().is_file() for one in documents):
        reading = {"format": format, "encoding": encoding, "delimiter": delimiter}
        key = as_learned(documents, reading, remembered_columns(model, context, ["key"])).get("key")
    if key is None:
        named = _named(documents)
    else:
        corpus = read_data(
            documents,
            text=None,
            label=None,
            key=key,
            part=None,
            format=format,
            encoding=encoding,
            delimiter=delimiter,
            unique_keys=False,
        )
        named = [{"key": name} for name in corpus.keys or () if name]
    with LiveModel(Path(model).expanduser(), store) as live:
        held = live.current()
        absent = [found["key"] for found in named if "key" in found and found["key"] not in held.documents.key_ids]
        if absent:
            listed = first_few([repr(name) for name in dict.fromkeys(absent)])
            raise ValueError(f"No document of the model has the key {listed}. Nothing is removed.")
        ids = list(dict.fromkeys(held.id_of(**found) for found in named))
        live.remove(ids)
        live.fold()
    typer.echo(f"{counted_noun(len(ids), 'document')} removed from {model}.")


def _named(documents: list[str]) -> list[dict[str, Any]]:
    """Read the names of documents, such as ``id:17``."""
    from treewass.documents.histograms import first_few

    found = [(document, named_document(document)) for document in documents]
    wrong = [document for document, named in found if named is None]
    if wrong:
        hint = " Name the column of your ids with --id to read a file." if Path(wrong[0]).expanduser().exists() else ""
        raise ValueError(
            f"Expected documents as id:17 or key:NAME, got {first_few([repr(one) for one in wrong])}.{hint}"
        )
    return [named for _, named in found if named is not None]


def update_command(
    context: typer.Context,
    model: ModelFolder,
    data: DataFiles,
    text: TextColumn = "text",
    label: LabelColumn = "label",
    no_labels: NoLabels = False,
    key: IdColumn = None,
    title: TitleColumn = None,
    columns: KeptColumns = None,
    format: DataFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    bad_rows: BadRows = "bad-rows.csv",
    store: Store = None,
) -> None:
    """Add documents and learn again from all: new words and labels come in. It takes as long as fit.

    Writes of a service come in first. Those that arrive while it learns are refused a place in the new model, and are
    kept in a file beside it: let a busy service rest meanwhile. If the service folds its writes, nothing is changed.
    Services on a database take the new model when it is published.
    """
    from treewass.model.model_folder import data_name, save_contents
    from treewass.serve.live_model import LiveModel

    corpus = read_labelled(
        data,
        text=text,
        label=label,
        no_labels=no_labels,
        key=key,
        title=title,
        columns=columns,
        part=None,
        format=format,
        encoding=encoding,
        delimiter=delimiter,
        skip_bad=skip_bad,
        bad_rows=bad_rows,
        min_classes=1,
        remembered=remembered_columns(model, context),
    )
    folder = Path(model).expanduser()
    with LiveModel(folder, store) as live:
        live.fold()
    before = data_name(folder)
    loaded = load_model(model)
    with empty_texts_said(corpus, "nothing is learned from them, and they are never neighbours."):
        ids = loaded.update(
            corpus.texts,
            _labels(corpus, loaded.contents_.classes),
            titles=corpus.titles,
            keys=corpus.keys,
            columns=corpus.columns,
        )
    save_contents(folder, loaded.contents_, replaces=before)
    added = counted_noun(len(ids), "document")
    typer.echo(f"{added} added to {model}, which has learned again from all {len(loaded.index_)}.")
    if store is not None:
        typer.echo("Copy it to the folder of each service on the database; then treewass publish lets them take it.")


def _labels(corpus: Corpus, classes: tuple[str | int, ...]) -> list[str | int] | None:
    """Return the labels of a corpus, which are texts, as the kind that the model has."""
    if corpus.labels is None:
        return None
    are_numbers = bool(classes) and isinstance(classes[0], int)
    return [int(label) if are_numbers else label for label in corpus.labels]
