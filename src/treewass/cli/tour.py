"""A tour of the whole flow on the docstrings of SciPy's functions: what ``treewass demo`` runs."""

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
from treewass.model.evaluation import fit_and_evaluate, held_out_rows
from treewass.model.vectorizers import make_counter
from treewass.search.held_documents import documents_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["run_demo"]

_RIVALS = {"bag-of-words": "bow", "TF-IDF": "tfidf"}
_REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class _Split:
    """A corpus, and which of its documents are held out."""

    corpus: Corpus
    test_rows: NDArray[np.intp]

    @property
    def train_rows(self) -> NDArray[np.intp]:
        """The documents to learn from."""
        return np.setdiff1d(np.arange(len(self.corpus)), self.test_rows)

    def texts(self, rows: NDArray[np.intp]) -> list[str]:
        """Return the texts of some documents."""
        return [self.corpus.texts[row] for row in rows]

    def labels(self, rows: NDArray[np.intp]) -> NDArray[np.str_]:
        """Return the labels of some documents."""
        return np.array(self.corpus.labels)[rows]

    def title(self, row: int) -> str:
        """Return the name of a function, without that of SciPy."""
        return (self.corpus.titles or ())[row].removeprefix("scipy.")


class _TimedRival:
    """Neighbours under a metric that is not learned; it remembers how long its fit took."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.seconds = 0.0

    def fit(self, counts: csr_array, labels: NDArray[Any]) -> TreeWassersteinClassifier:
        """Fit a classifier."""
        start = time.perf_counter()
        classifier = TreeWassersteinClassifier(self.metric, linear=False).fit(counts, labels)
        self.seconds = time.perf_counter() - start
        return classifier


def run_demo(console: Console | None = None, *, report: str | None = None) -> dict[str, Any]:
    """Learn a tree from SciPy's docstrings and show what it is good for; write a report if it is given a file.

    Returns the figures, as what JSON can hold: sizes, errors and times of each method, the report's file or None.
    """
    console = console or Console()
    started = time.perf_counter()
    with _waiting(console, "Reading the docstrings of SciPy …"):
        corpus = load_docstrings()
        split = _Split(corpus, held_out_rows(np.array(corpus.labels), 0.3))
    with _waiting(console, "Compiling: a few seconds on the first run, then kept …"):
        _warm_up(split)
    with _waiting(console, "Learning, and classifying the test documents …"):
        model, rows = _measure(split)
    _show_corpus(console, split, model)
    _show_learned(console, model)
    _show_errors(console, rows, split.test_rows.size)
    _show_neighbours(console, model, split)
    _show_branches(console, model, split)
    written = report if report is not None and _write_report(console, model, report) else None
    console.print(f"\nThe whole demo took {time.perf_counter() - started:.1f} s.", style="dim")
    names = ("method", "fallback_error", "error", "fit_seconds", "query_seconds")
    return {
        "documents": len(corpus),
        "held_out": split.test_rows.size,
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


def _warm_up(split: _Split) -> None:
    """Compile what will be used, so that the times shown are those of the work."""
    few = split.train_rows[:120:3]
    DocumentModel().fit(split.texts(few), split.labels(few)).predict(split.texts(few))


def _measure(split: _Split) -> tuple[DocumentModel, list[tuple[Any, ...]]]:
    """Fit each method; return the model, and the name, the test errors by either vote, fit and query time of each.

    All are fitted from texts, and asked for the counted test documents in one batch, by the fall-back vote.
    """
    model, rivals = DocumentModel(), {name: _TimedRival(metric) for name, metric in _RIVALS.items()}
    titles = [split.title(row) for row in range(len(split.corpus))]
    evaluation, seconds = fit_and_evaluate(
        model,
        split.corpus.texts,
        split.corpus.labels or (),
        titles=titles,
        test_rows=split.test_rows,
        rivals=[(f"{name} neighbours", rival) for name, rival in rivals.items()],
        refit=False,
        about={"name": "SciPy's docstrings", "data": "docstrings of SciPy's public functions"},
    )
    train_texts, labels = split.texts(split.train_rows), split.labels(split.train_rows)
    start = time.perf_counter()
    train = make_counter(None).fitted(train_texts).count(train_texts)
    counting = time.perf_counter() - start
    test, truth = model.contents_.counter.count(split.texts(split.test_rows)), split.labels(split.test_rows)
    plain = [
        TreeWassersteinClassifier(metric, vote="fallback").fit(train, labels)
        for metric in (model.metric_, *_RIVALS.values())
    ]
    plain_errors = [1 - float(classifier.score(test, truth)) for classifier in plain]
    errors = [] if evaluation is None else [evaluation.error, *evaluation.rivals.values()]
    fits = [seconds, *(counting + rival.seconds for rival in rivals.values())]
    rows = list(zip(("treewass", *_RIVALS), plain_errors, errors, fits, _query_seconds(plain, test), strict=True))
    return model, rows[1:] + rows[:1]


def _query_seconds(classifiers: Sequence[TreeWassersteinClassifier], queries: csr_array) -> list[float]:
    """Time a batch of queries by each classifier in turn, several times after a warm-up; return the best, per query."""
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


def _show_corpus(console: Console, split: _Split, model: DocumentModel) -> None:
    _heading(console, "The corpus")
    corpus = split.corpus
    classes = ", ".join(f"{label} {count}" for label, count in corpus.class_counts().items())
    console.print(
        f"The docstrings of {len(corpus)} public functions of SciPy, labelled by subpackage, the subpackages' names "
        f"removed. {split.train_rows.size} documents to learn from with {len(model.words_)} words, "
        f"{split.test_rows.size} to test on."
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
    row = int(split.test_rows[0])
    query, label = split.corpus.texts[row], (split.corpus.labels or ())[row]
    console.print(
        Text.assemble(
            "Query: ",
            (split.title(row), "bold"),
            f", a test document of class {label}, predicted {model.predict([query])[0]}.",
        )
    )
    table = Table()
    table.add_column("distance", justify="right")
    table.add_column("class")
    table.add_column("neighbour", no_wrap=True)  # its name, without that of its class
    table.add_column("same words", overflow="fold")
    table.add_column("costliest move", overflow="fold")
    for neighbor in model.similar(query, 5):
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
    documents, words, labels = documents_of(model.index_), model.words_, split.labels(split.train_rows)
    for branch in telling_branches(model.metric_, documents, labels, n_branches=8, n_words=7):
        classes = ", ".join(f"{label} {100 * share:.0f} %" for label, share in branch.classes[:2] if share >= 0.05)
        table.add_row(str(branch.node), classes, Text(", ".join(words[word] for word, _ in branch.words)))
    console.print(table)


def _write_report(console: Console, model: DocumentModel, path: str) -> bool:
    """Write the report, or say what is missing; return whether it is written."""
    from treewass.report.model_report import make_report

    try:
        with _waiting(console, "Writing the report …"):
            make_report(model).write_html(path)
    except ImportError as error:
        console.print(f"\nNo report: {error}", style="dim", markup=False)
        return False
    console.print(Text.assemble("\nA report on all of this, with the tree to click on: ", (path, "bold")))
    return True
