"""``treewass demo``: the whole flow on the docstrings of SciPy's functions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from treewass.classify.classifier import TreeWassersteinClassifier
from treewass.documents.corpus import Corpus
from treewass.documents.docstrings import load_docstrings
from treewass.explain.branches import telling_branches
from treewass.model.document_model import DocumentModel
from treewass.model.evaluation import Evaluation, evaluate, held_out_rows
from treewass.model.vectorizers import make_counter
from treewass.search.contents import documents_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["run_demo"]

_RIVALS = {"bag-of-words": "bow", "TF-IDF": "tfidf"}
_REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class _Split:
    """Texts, labels and titles of the training and test documents."""

    train: list[str]
    test: list[str]
    train_labels: NDArray[np.str_]
    test_labels: NDArray[np.str_]
    train_titles: list[str]
    test_titles: list[str]


def run_demo(console: Console | None = None, *, report: str | None = None) -> dict[str, Any]:
    """Learn a tree from SciPy's docstrings and show what it is good for.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to write; the terminal by default.
    report : str, optional
        Where to write a report as HTML, which needs plotly; none by default.

    Returns
    -------
    dict
        The figures, as what JSON can hold: sizes, errors and times of each method, the report's file or None.
    """
    console = console or Console()
    started = time.perf_counter()
    with _waiting(console, "Reading the docstrings of SciPy …"):
        corpus = load_docstrings()
        split = _split(corpus)
    with _waiting(console, "Compiling: half a minute on the first run, then kept …"):
        _warm_up(split)
    with _waiting(console, "Learning, and classifying the test documents …"):
        model, rows = _measure(split)
    _show_corpus(console, corpus, split, model)
    _show_learned(console, model)
    _show_errors(console, rows, len(split.test))
    _show_neighbours(console, model, split)
    _show_branches(console, model, split)
    written = report if report is not None and _write_report(console, model, report) else None
    console.print(f"\nThe whole demo took {time.perf_counter() - started:.1f} s.", style="dim")
    names = ("method", "fallback_error", "error", "fit_seconds", "query_seconds")
    return {
        "documents": len(corpus),
        "held_out": len(split.test),
        "classes": list(model.contents_.classes),
        "words": len(model.words_),
        "methods": [dict(zip(names, row, strict=True)) for row in rows],
        "report": written,
    }


@contextmanager
def _waiting(console: Console, sentence: str) -> Iterator[None]:
    """Say what is being waited for: while it lasts at a terminal, as a line where there is none."""
    with console.status(sentence):
        if not console.is_terminal:
            console.print(sentence, style="dim")
        yield


def _split(corpus: Corpus) -> _Split:
    """Hold 30 % of the documents of each class out."""
    titles, labels = [title.removeprefix("scipy.") for title in corpus.titles or ()], np.array(corpus.labels)
    test = held_out_rows(labels, 0.3)
    train = np.setdiff1d(np.arange(len(corpus)), test)
    return _Split(
        [corpus.texts[row] for row in train],
        [corpus.texts[row] for row in test],
        labels[train],
        labels[test],
        [titles[row] for row in train],
        [titles[row] for row in test],
    )


def _warm_up(split: _Split) -> None:
    """Compile what will be used, so that the times shown are those of the work."""
    few = DocumentModel().fit(split.train[:120:3], split.train_labels[:120:3])
    few.predict(split.train[:40])


def _measure(split: _Split) -> tuple[DocumentModel, list[tuple[Any, ...]]]:
    """Fit each method; return the model, and each one's name, test errors by either vote, fit and query time.

    All are fitted from texts, and asked for the counted test documents in one batch, by the fall-back vote.
    """
    start = time.perf_counter()
    counter = make_counter(None).fitted(split.train)
    train = counter.count(split.train)
    counted = time.perf_counter()
    model = DocumentModel().fit(split.train, split.train_labels, titles=split.train_titles)
    fits, errors, counting = [time.perf_counter() - counted], [], counted - start
    evaluation, test = evaluate(model, split.test, split.test_labels), counter.count(split.test)
    errors.append(evaluation.error)
    for metric in _RIVALS.values():
        start = time.perf_counter()
        classifier = TreeWassersteinClassifier(metric).fit(train, split.train_labels)
        fits.append(counting + time.perf_counter() - start)
        errors.append(1 - float(classifier.score(test, split.test_labels)))
    plain = [
        TreeWassersteinClassifier(metric, vote="fallback").fit(train, split.train_labels)
        for metric in (model.metric_, *_RIVALS.values())
    ]
    plain_errors = [1 - float(classifier.score(test, split.test_labels)) for classifier in plain]
    rows = list(zip(("treewass", *_RIVALS), plain_errors, errors, fits, _query_seconds(plain, test), strict=True))
    rivals = {f"{name} neighbours": error for name, _, error, *_ in rows[1:]}
    measured = Evaluation(evaluation.classes, evaluation.confusion, evaluation.n_train, rivals).to_dict()
    about = {**model.contents_.about, "name": "SciPy's docstrings", "data": "docstrings of SciPy's public functions"}
    model.contents_ = model.contents_.changed(evaluation=measured, about=about)
    return model, rows[1:] + rows[:1]


def _query_seconds(classifiers: Sequence[TreeWassersteinClassifier], queries: csr_array) -> list[float]:
    """Time a batch of queries by each classifier in turn, several times after a warm-up; return the best, a query."""
    best = [np.inf] * len(classifiers)
    for repetition in range(1 + _REPETITIONS):
        for place, classifier in enumerate(classifiers):
            start = time.perf_counter()
            classifier.predict(queries)
            if repetition:
                best[place] = min(best[place], time.perf_counter() - start)
    return [seconds / queries.shape[0] for seconds in best]


def _heading(console: Console, title: str) -> None:
    console.print()
    console.rule(title, align="left")


def _show_corpus(console: Console, corpus: Corpus, split: _Split, model: DocumentModel) -> None:
    _heading(console, "The corpus")
    classes = ", ".join(f"{label} {count}" for label, count in corpus.class_counts().items())
    console.print(
        f"The docstrings of {len(corpus)} public functions of SciPy, labelled by subpackage, the subpackages' names "
        f"removed. {len(split.train)} documents to learn from with {len(model.words_)} words, "
        f"{len(split.test)} to test on."
    )
    console.print(f"Documents by class: {classes}.", style="dim")


def _show_learned(console: Console, model: DocumentModel) -> None:
    _heading(console, "What was learned")
    metric, words = model.metric_, np.array(model.words_, dtype=object)
    tree = metric.trees[0]
    order = np.argsort(-metric.masses[0], kind="stable")
    known = order[metric.known_words[order]]
    frequent = known[np.asarray((documents_of(model.index_)[:, known] > 0).sum(axis=0)).ravel() >= 20]
    console.print(
        f"A tree of {tree.n_nodes} internal nodes, {tree.depth} levels deep, with the {tree.n_words} words as leaves; "
        "each word carries as much mass as it tells about the class."
    )
    console.print("Most mass among frequent words: ", Text(", ".join(words[frequent[:12]]), "bold"), sep="")
    console.print("Least: ", Text(", ".join(words[frequent[:-13:-1]]), "dim"), sep="")


def _show_errors(console: Console, rows: list[tuple[Any, ...]], n_queries: int) -> None:
    _heading(console, "Test error of 19 nearest neighbours")
    table = Table()
    for column in ("distance", "fall-back vote", "default vote", "fit", "per query"):
        table.add_column(column, justify="left" if column == "distance" else "right")
    for name, plain, error, fit, query in rows:
        style = "bold" if name == "treewass" else ""
        figures = (f"{100 * plain:.1f} %", f"{100 * error:.1f} %", f"{fit:.2f} s", f"{1e6 * query:.0f} µs")
        table.add_row(name, *figures, style=style)
    console.print(table)
    console.print(
        "Fall-back: the class with more than half of the 19, or of fewer. Default: nearer ones count more, how much is "
        "learned from held-out documents. Fit: from the texts to the default vote, words counted and all. Per query: "
        f"the {n_queries} test documents in one batch, words counted before, by the fall-back vote on one thread; the "
        f"best of {_REPETITIONS} after a warm-up.",
        style="dim",
        highlight=False,
    )


def _show_neighbours(console: Console, model: DocumentModel, split: _Split) -> None:
    """Show five neighbours of a test document, and what each shares with it."""
    _heading(console, "Five neighbours of a query")
    query = split.test[0]
    console.print(
        Text.assemble(
            "Query: ",
            (split.test_titles[0], "bold"),
            f", a test document of class {split.test_labels[0]}, predicted {model.predict([query])[0]}.",
        )
    )
    table = Table()
    table.add_column("distance", justify="right")
    table.add_column("class")
    table.add_column("neighbour", no_wrap=True)  # its name, without that of its class
    table.add_column("same words", overflow="fold")
    table.add_column("costliest move", overflow="fold")
    for neighbor in model.search(query, 5):
        explanation = model.explain(query, neighbor.id)
        same = ", ".join(move.source for move in explanation.shared[:3])
        moved = f"{explanation.moves[0].source} → {explanation.moves[0].target}" if explanation.moves else "nothing"
        name = (neighbor.title or "").removeprefix(f"{neighbor.label}.")
        table.add_row(f"{neighbor.distance:.4f}", str(neighbor.label), Text(name), Text(same), Text(moved))
    console.print(table)


def _show_branches(console: Console, model: DocumentModel, split: _Split) -> None:
    _heading(console, "The tree's most telling branches")
    table = Table()
    for column in ("node", "whose mass lies below it", "heaviest words below it"):
        table.add_column(column, justify="right" if column == "node" else "left")
    documents, words = documents_of(model.index_), model.words_
    for branch in telling_branches(model.metric_, documents, split.train_labels, n_branches=8, n_words=7):
        classes = ", ".join(f"{label} {100 * share:.0f} %" for label, share in branch.classes[:2] if share >= 0.05)
        table.add_row(str(branch.node), classes, Text(", ".join(words[word] for word, _ in branch.words)))
    console.print(table)


def _write_report(console: Console, model: DocumentModel, path: str) -> bool:
    """Write the report, or say what is missing; return whether it is written."""
    from treewass.report.report import make_report

    try:
        with _waiting(console, "Writing the report …"):
            make_report(model).write_html(path)
    except ImportError as error:
        console.print(f"\nNo report: {error}", style="dim", markup=False)
        return False
    console.print(Text.assemble("\nA report on all of this, with the tree to click on: ", (path, "bold")))
    return True
