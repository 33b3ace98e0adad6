"""``treewass add``, ``remove`` and ``update``: changing the documents of a model, also while a service runs on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treewass.cli.data import (
    BadRows,
    DataFiles,
    DataFormat,
    Delimiter,
    Encoding,
    IdColumn,
    KeptColumns,
    SkipBad,
    TextColumn,
    TitleColumn,
    read_data,
)
from treewass.cli.shared import ModelFolder, Store, load_model, named_document
from treewass.compute.extras import require

if TYPE_CHECKING:
    from treewass.documents.corpus import Corpus

__all__ = ["add_command", "remove_command", "update_command"]

_Label = Annotated[str | None, typer.Option("--label", help="Column of the labels; without it they have none.")]


def add_command(
    model: ModelFolder,
    data: DataFiles,
    text: TextColumn = "text",
    label: _Label = None,
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
    require("filelock", purpose="treewass add", extra="serve")
    from treewass.serve.applied_writes import NewDocument
    from treewass.serve.live_model import LiveModel

    corpus = read_data(
        data,
        text=text,
        label=label,
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
    )
    with LiveModel(Path(model).expanduser(), store) as live:
        labels = _labels(corpus, live.current().classes)
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
        ids, _ = live.add(documents)
        live.fold()
    typer.echo(f"{len(ids)} documents added to {model}, with the ids {ids[0]} to {ids[-1]}.")


def remove_command(
    model: ModelFolder,
    documents: Annotated[
        list[str], typer.Argument(metavar="DOCUMENT…", help="Documents of the model: id:17 or key:NAME.")
    ],
    store: Store = None,
) -> None:
    """Remove documents from a model, all of those named or none; a service that runs goes on."""
    require("filelock", purpose="treewass remove", extra="serve")
    from treewass.serve.live_model import LiveModel

    named = [named_document(document) for document in documents]
    wrong = [document for document, found in zip(documents, named, strict=True) if found is None]
    if wrong:
        raise ValueError(f"Expected documents as id:17 or key:NAME, got {', '.join(map(repr, wrong[:5]))}.")
    with LiveModel(Path(model).expanduser(), store) as live:
        ids = list(dict.fromkeys(live.current().id_of(**found) for found in named if found is not None))
        live.remove(ids)
        live.fold()
    typer.echo(f"{len(ids)} {'document' if len(ids) == 1 else 'documents'} removed from {model}.")


def update_command(
    model: ModelFolder,
    data: DataFiles,
    text: TextColumn = "text",
    label: Annotated[str | None, typer.Option("--label", help="Column of the labels.")] = "label",
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
    kept in a file beside it: let a busy service rest meanwhile. Services on a database take the new model when it is
    published.
    """
    require("filelock", purpose="treewass update", extra="serve")
    from treewass.serve.live_model import LiveModel

    corpus = read_data(
        data,
        text=text,
        label=label,
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
    )
    folder = Path(model).expanduser()
    with LiveModel(folder, store) as live:
        live.fold()
    loaded = load_model(model)
    ids = loaded.update(
        corpus.texts,
        _labels(corpus, loaded.contents_.classes),
        titles=corpus.titles,
        keys=corpus.keys,
        columns=corpus.columns,
    )
    loaded.save(folder)
    typer.echo(f"{len(ids)} documents added to {model}, which has learned again from all {len(loaded.index_)}.")
    if store is not None:
        typer.echo("Copy it to the folder of each service on the database; then treewass publish lets them take it.")


def _labels(corpus: Corpus, classes: tuple[str | int, ...]) -> list[str | int] | None:
    """Return the labels of a corpus, which are texts, as the kind that the model has."""
    if corpus.labels is None:
        return None
    are_numbers = bool(classes) and isinstance(classes[0], int)
    return [int(label) if are_numbers else label for label in corpus.labels]
