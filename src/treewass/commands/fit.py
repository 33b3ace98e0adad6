"""``treewass fit``: from labelled texts to a model, with its error beside that of simpler methods."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewass.commands.progress import waiting
from treewass.commands.shared import (
    AsJson,
    DataFile,
    DataFormat,
    Encoding,
    LabelColumn,
    TextColumn,
    print_json,
    read_data,
    terminal,
)

if TYPE_CHECKING:
    from treewass.documents.corpus import Corpus
    from treewass.model.document_model import DocumentModel
    from treewass.model.evaluation import Evaluation

__all__ = ["fit_command", "fit_corpus"]


def _known_learner(name: str) -> str:
    from treewass.model.settings import LEARNERS

    if name not in LEARNERS:
        raise typer.BadParameter(f"expected one of {', '.join(LEARNERS)}, got {name!r}.")
    return name


def fit_command(
    data: DataFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Folder to write the model to.")],
    text: TextColumn = "text",
    label: LabelColumn = "label",
    format: DataFormat = None,
    encoding: Encoding = "utf-8",
    learner: Annotated[
        str, typer.Option(callback=_known_learner, help="profile, or stw: the paper's, slower.")
    ] = "profile",
    test_size: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of the documents to measure the error on; 0 measures none.")
    ] = 0.3,
    neighbors: Annotated[int, typer.Option(min=1, help="Neighbours that vote.")] = 19,
    keep_texts: Annotated[bool, typer.Option("--keep-texts/--no-texts", help="Store the texts in the model.")] = True,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the split and of the learner.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Learn a model from labelled texts, and say how good it is.

    A share of the documents is held out to measure the error, beside that of TF-IDF neighbours and of a linear SVM.
    Then the model is learned again from all of them. If the data has a column `split` with train and test, the error is
    measured on the test documents, and they are never learned from.
    """
    from treewass.model.document_model import DocumentModel
    from treewass.model.files import check_target

    target = Path(output).expanduser()
    check_target(target)  # before an hour of learning, not after
    _check_served(target)
    corpus = read_data(data, text=text, label=label, format=format, encoding=encoding)
    model = DocumentModel(
        learner=learner, n_neighbors=neighbors, keep_texts=keep_texts, random_state=seed, verbose=sys.stderr.isatty()
    )
    evaluation, seconds = fit_corpus(model, corpus, test_size, seed)
    model.save(target)
    if as_json:
        print_json(_summary(model, str(target), evaluation, seconds))
    else:
        _show(model, output, evaluation, seconds)


def _check_served(target: Path) -> None:
    """Refuse to replace a model that a service holds; say it if one is replaced."""
    if not (target / "manifest.json").exists():
        return
    if (target / ".service.lock").exists():
        from treewass.serve.locks import serving

        with serving(target):
            pass
    typer.echo(f"The model in {target} will be replaced.", err=True)


def fit_corpus(model: DocumentModel, corpus: Corpus, test_size: float, seed: int) -> tuple[Evaluation | None, float]:
    """Fit a model on a corpus after measuring it on held-out documents; note both in the model.

    Parameters
    ----------
    model : DocumentModel
        Unfitted; fitted afterwards.
    corpus : Corpus
        With labels.
    test_size : float
        Share of the documents to hold out, where the corpus has no split of its own; 0 holds none out.
    seed : int
        Of the split.

    Returns
    -------
    evaluation : Evaluation or None
    seconds : float
        What the last fit took.
    """
    import numpy as np

    from treewass.model.evaluation import evaluate, held_out_rows, usual_rivals

    labels = np.array(corpus.labels)
    evaluation, learned, protocol = None, np.arange(len(corpus)), ""
    if corpus.parts is not None:
        held = np.flatnonzero(np.array(corpus.parts) == "test")
        learned = np.setdiff1d(learned, held)
        protocol = (
            "The held-out documents are those that the data marks as test; the model was never learned from them."
        )
    else:
        held = held_out_rows(labels, test_size, seed) if test_size else learned[:0]
        protocol = f"Afterwards the model was learned again, from all {len(corpus)} documents."
    if held.size:
        others = np.setdiff1d(np.arange(len(corpus)), held)
        seconds = _fit(model, corpus, others)
        rivals = usual_rivals(model.n_neighbors, model.vote)
        with waiting("measuring on held-out documents, beside other methods …"):
            evaluation = evaluate(model, [corpus.texts[row] for row in held], labels[held], rivals=rivals)
    if evaluation is None or corpus.parts is None:
        seconds = _fit(model, corpus, learned)
    about = {**model.contents_.about, "name": corpus.name, "data": f"{corpus.name}, {len(corpus)} documents"}
    if evaluation is not None:
        about["protocol"] = protocol
    model.contents_ = model.contents_.changed(
        about=about, evaluation=None if evaluation is None else evaluation.to_dict()
    )
    return evaluation, seconds


def _fit(model: DocumentModel, corpus: Corpus, rows: Any) -> float:
    """Fit a model on some documents; return the seconds."""
    start = time.perf_counter()
    titles = None if corpus.titles is None else [corpus.titles[row] for row in rows]
    model.fit([corpus.texts[row] for row in rows], [(corpus.labels or ())[row] for row in rows], titles=titles)
    return time.perf_counter() - start


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
        table = Table(title=f"Error on {evaluation.n_test} held-out documents", title_justify="left")
        table.add_column("method")
        table.add_column("error", justify="right")
        table.add_row("treewass", f"{100 * evaluation.error:.1f} %", style="bold")
        for name, error in evaluation.rivals.items():
            table.add_row(name, f"{100 * error:.1f} %")
        console.print(table)
        console.print(_advice(evaluation), style="dim")
    held = model.contents_
    console.print(
        f"Learned from {len(held.index)} documents in {len(held.classes)} classes, {len(held.counter.words)} words"
        f"{f', in {seconds:.1f} s' if seconds >= 0.05 else ''}. Written to {output}.",
        highlight=False,
        markup=False,
    )
    console.print(
        f'Next: treewass search {output} "a text", or treewass report {output} -o report.html',
        highlight=False,
        markup=False,
    )


def _advice(evaluation: Evaluation) -> str:
    """Say whether the model helps."""
    best, error = min(evaluation.rivals.items(), key=lambda rival: rival[1])
    difference = round((error - evaluation.error) * evaluation.n_test)
    if difference == 0:
        return f"As good as {best}; neighbours and explanations come on top."
    documents = f"{abs(difference)} document{'s' if abs(difference) > 1 else ''}"
    if difference > 0:
        return f"{documents} fewer wrong than {best}."
    return f"{documents} more wrong than {best}: prefer that one if you need labels only."
