"""``treewass fit``: from labelled texts to a model, with its error compared to that of simpler methods."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewass.cli.columns import noted_columns
from treewass.cli.data import (
    BadRows,
    DataFiles,
    DataFormat,
    Delimiter,
    Encoding,
    IdColumn,
    KeptColumns,
    LabelColumn,
    SkipBad,
    SplitColumn,
    TextColumn,
    TitleColumn,
    empty_texts_said,
    read_labelled,
)
from treewass.cli.partitions import InParts, Scheduler, Workers, fit_in_parts, wants_parts
from treewass.cli.shared import AsJson, print_json, say_note, terminal
from treewass.compute.arguments import counted_noun
from treewass.compute.memory import give_back_arrays
from treewass.compute.progress import waiting

if TYPE_CHECKING:
    from treewass.documents.corpus import Corpus
    from treewass.model.document_model import DocumentModel
    from treewass.model.evaluation import Evaluation

__all__ = ["fit_command", "fit_corpus"]

_MANY = 20  # documents, of which most should share their labels with others


def _known_metric(name: str | None) -> str | None:
    from treewass.classify.metric_parameter import METRICS

    if name is not None and name not in METRICS:
        raise typer.BadParameter(f"expected one of {', '.join(METRICS)}, got {name!r}.")
    return name


def fit_command(
    data: DataFiles,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Folder to write the model to.")],
    text: TextColumn = "text",
    label: LabelColumn = "label",
    no_labels: Annotated[
        bool, typer.Option("--no-labels", help="Learn from texts alone: to search and compare, not to predict.")
    ] = False,
    key: IdColumn = None,
    title: TitleColumn = None,
    columns: KeptColumns = None,
    part: SplitColumn = "split",
    format: DataFormat = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    skip_bad: SkipBad = False,
    bad_rows: BadRows = "bad-rows.csv",
    metric: Annotated[
        str | None,
        typer.Option(
            callback=_known_metric,
            help="The distance: profile, the default, learns a tree; stw too, as the paper does, slower; topics learns "
            "one without labels, the default there; bow and tfidf learn none.",
        ),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|minilm",
            help="Word vectors, for few labels: a file, or minilm for those of a packaged network (extra vectors).",
        ),
    ] = None,
    test_size: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of the documents to measure the error on; 0 measures none.")
    ] = 0.3,
    neighbors: Annotated[int, typer.Option(min=1, help="Neighbours that vote.")] = 19,
    keep_texts: Annotated[bool, typer.Option("--keep-texts/--no-texts", help="Store the texts in the model.")] = True,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the split and of the learner.")] = 0,
    in_parts: InParts = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Learn a model from labelled texts, and say how good it is; or from texts alone, with --no-labels.

    A share of the documents is held out to measure the error, together with that of TF-IDF neighbours and of a linear
    SVM. Then the model is learned again from all of them. If the data has a column `split` with train and test, the
    error is measured on the test documents, and they are never learned from.

    Data of more than 1 GB, or with --workers or --scheduler, is read file by file; then no error is measured.
    """
    from treewass.model.document_model import DocumentModel
    from treewass.model.model_folder import check_target, holds_model

    give_back_arrays()
    target = Path(output).expanduser()
    check_target(target)  # before an hour of learning, not after
    model = DocumentModel(
        metric=metric,
        word_vectors=vectors if vectors in (None, "minilm") else str(Path(vectors).expanduser()),
        n_neighbors=neighbors,
        keep_texts=keep_texts,
        random_state=seed,
        verbose=sys.stderr.isatty(),
    )
    if wants_parts(data, in_parts, workers, scheduler):
        seconds = fit_in_parts(
            model,
            data,
            target,
            workers=workers,
            scheduler=scheduler,
            unused={"--keep": columns, "--skip-bad": skip_bad, "--no-labels": no_labels},
            text=text,
            label=label,
            key=key,
            title=title,
            part=part or None,
            format=format,
            encoding=encoding,
            delimiter=delimiter,
        )
        _tell(model, output, None, seconds, as_json)
        return
    corpus = read_labelled(
        data,
        text=text,
        label=label,
        no_labels=no_labels,
        key=key,
        title=title,
        columns=columns,
        part=part,
        format=format,
        encoding=encoding,
        delimiter=delimiter,
        skip_bad=skip_bad,
        bad_rows=bad_rows,
    )
    _doubt_labels(corpus, label)
    if holds_model(target):
        say_note(f"the model in {target} will be replaced.")
    with empty_texts_said(corpus, "nothing is learned from them, and they are never neighbours."):
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # said in our words
        evaluation, seconds = (
            _fit_unlabelled(model, corpus) if no_labels else fit_corpus(model, corpus, test_size, seed)
        )
    held = model.contents_
    learned_from = {
        "text": text,
        "label": None if no_labels else label,
        "key": key,
        "title": title,
        "columns": list(corpus.columns),
    }
    model.contents_ = held.changed(about={**held.about, **noted_columns(learned_from)})
    model.save(target)
    _tell(model, output, evaluation, seconds, as_json)


def _tell(model: DocumentModel, output: str, evaluation: Evaluation | None, seconds: float, as_json: bool) -> None:
    if as_json:
        print_json(_summary(model, str(Path(output).expanduser()), evaluation, seconds))
    else:
        _show(model, output, evaluation, seconds)


def _doubt_labels(corpus: Corpus, label: str) -> None:
    """Ask whether the column of labels is the right one, if most documents have a label of their own."""
    n_classes = len(set(corpus.labels or ()))
    if len(corpus) >= _MANY and 2 * n_classes > len(corpus):
        say_note(f"{n_classes} different labels for {len(corpus)} documents. Is {label!r} the column of labels?")


def _fit_unlabelled(model: DocumentModel, corpus: Corpus) -> tuple[None, float]:
    """Fit a model on the texts of a corpus alone; return no figures, and the seconds that it took."""
    start = time.perf_counter()
    model.fit(corpus.texts, titles=corpus.titles, keys=corpus.keys, columns=corpus.columns)
    seconds, held = time.perf_counter() - start, model.contents_
    about = {"name": corpus.name, "data": f"{corpus.name}, {len(corpus)} documents"}
    model.contents_ = held.changed(about={**held.about, **about})
    return None, seconds


def fit_corpus(model: DocumentModel, corpus: Corpus, test_size: float, seed: int) -> tuple[Evaluation | None, float]:
    """Fit a model on a corpus, and measure it on held-out documents; return the figures and the last fit's seconds.

    If the corpus has a split of its own, the model never learns from its test documents. Otherwise a share of the
    documents is held out; 0 holds none out.
    """
    from treewass.model.evaluation import fit_and_evaluate

    about = {"name": corpus.name, "data": f"{corpus.name}, {len(corpus)} documents"}
    marked = [row for row, part in enumerate(corpus.parts or ()) if part == "test"] or None
    if marked:
        about["protocol"] = (
            "The held-out documents are those that the data marks as test; the model was never learned from them."
        )
    return fit_and_evaluate(
        model,
        corpus.texts,
        corpus.labels or (),
        titles=corpus.titles,
        keys=corpus.keys,
        columns=corpus.columns,
        test_size=test_size,
        test_rows=marked,
        refit=marked is None,
        random_state=seed,
        about=about,
        stage=waiting,
    )


def _summary(model: DocumentModel, target: str, evaluation: Evaluation | None, seconds: float) -> dict[str, Any]:
    held = model.contents_
    return {
        "model": target,
        "documents": len(held.index),
        "classes": list(held.classes),
        "words": len(held.counter.words),
        "fit_seconds": round(seconds, 3),
        "evaluation": None if evaluation is None else evaluation.to_dict(),
    }


def _show(model: DocumentModel, output: str, evaluation: Evaluation | None, seconds: float) -> None:
    from rich.table import Table

    console = terminal()
    if evaluation is not None:
        held_out = counted_noun(evaluation.n_test, "held-out document")
        table = Table(title=f"Error on {held_out}", title_justify="left")
        table.add_column("method")
        table.add_column("error", justify="right")
        table.add_row("treewass", f"{100 * evaluation.error:.1f} %", style="bold")
        for name, error in evaluation.rivals.items():
            table.add_row(name, f"{100 * error:.1f} %")
        console.print(table)
        console.print(_advice(evaluation), style="dim", markup=False)
    held = model.contents_
    classes = f" in {len(held.classes)} classes" if held.classes else " without labels"
    is_first = evaluation is None or evaluation.n_train == len(held.index)  # otherwise all is loaded by then
    took = f", in {seconds:.1f} s{' with loading and compiling' if is_first else ''}" if seconds >= 0.05 else ""
    console.print(
        f"Learned from {len(held.index)} documents{classes}, {len(held.counter.words)} words{took}. "
        f"Written to {output}.\n"
        f'Next: treewass search {output} "some words", or treewass report {output} -o report.html',
        highlight=False,
        markup=False,
    )


def _advice(evaluation: Evaluation) -> str:
    """Say whether the model helps, with a 95 % interval of the difference.

    The interval is that of two independent errors; on the same documents, as here, the true one is narrower.
    """
    best, error = min(evaluation.rivals.items(), key=lambda rival: rival[1])
    if (label := _as_good_label(evaluation, error)) is not None:
        return (
            f"No better than always answering the most frequent label, {label}: the texts may not tell the labels "
            "apart."
        )
    difference = round((error - evaluation.error) * evaluation.n_test)
    if difference == 0:
        return f"As good as {best}; neighbours and explanations come on top."
    documents = f"{abs(difference)} document{'s' if abs(difference) > 1 else ''}"
    spread = sum(share * (1 - share) for share in (error, evaluation.error)) / evaluation.n_test
    points, half = 100 * (evaluation.error - error), 196 * spread**0.5
    verdict = (
        f"{documents} {'fewer' if difference > 0 else 'more'} wrong than {best} ({points:+.1f} ± {half:.1f} points)"
    )
    if abs(points) <= half:
        return f"{verdict}, within noise."
    return f"{verdict}." if difference > 0 else f"{verdict}: prefer that one if you need labels only."


def _as_good_label(evaluation: Evaluation, best_error: float) -> Any:
    """Return the most frequent label, if always answering it is as good as the model and the best rival; else None.

    As good is what a 95 % interval holds: of the documents that only one of model and label has right, and of two
    independent errors for the rival.
    """
    sizes, n_test = [sum(row) for row in evaluation.confusion], evaluation.n_test
    most = sizes.index(max(sizes))
    error = 1 - sizes[most] / n_test
    if not error or not evaluation.error:  # one label is nothing to tell apart
        return None
    lost = sizes[most] - evaluation.confusion[most][most]
    gained = sum(row[code] for code, row in enumerate(evaluation.confusion) if code != most)
    spread = (error * (1 - error) + best_error * (1 - best_error)) / n_test
    is_as_good = gained - lost <= 1.96 * (gained + lost) ** 0.5 and error - best_error <= 1.96 * spread**0.5
    return evaluation.classes[most] if is_as_good else None
