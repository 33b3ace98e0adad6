"""``treewass demo``: the whole flow on the docstrings of SciPy's functions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from treewass.classify.classifier import TreeWassersteinClassifier
from treewass.documents.corpus import Corpus
from treewass.documents.docstrings import load_docstrings
from treewass.explain.branches import telling_branches
from treewass.explain.plan import transport_plan

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["run_demo"]

_METHODS = {"bag-of-words": "bow", "TF-IDF": "tfidf", "treewass": None}


@dataclass(frozen=True, slots=True)
class _Split:
    """Counts, labels and titles of the training and test documents."""

    words: NDArray[np.object_]
    train: csr_array
    test: csr_array
    train_labels: NDArray[np.str_]
    test_labels: NDArray[np.str_]
    train_titles: NDArray[np.str_]
    test_titles: NDArray[np.str_]


def run_demo(console: Console | None = None) -> None:
    """Learn a tree from SciPy's docstrings and show what it is good for.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to write; the terminal by default.
    """
    console = console or Console()
    started = time.perf_counter()
    with console.status("Reading the docstrings of SciPy …"):
        corpus = load_docstrings()
        split = _split(corpus)
    _show_corpus(console, corpus, split)
    with console.status("Compiling: half a minute on the first run, then kept …"):
        _warm_up(split)
    with console.status("Learning, and classifying the test documents …"):
        models, rows = _measure(split)
    _show_learned(console, models["treewass"], split)
    _show_errors(console, rows)
    _show_neighbours(console, models["treewass"], split)
    _show_branches(console, models["treewass"], split)
    console.print(f"\nThe whole demo took {time.perf_counter() - started:.1f} s.", style="dim")


def _split(corpus: Corpus) -> _Split:
    """Hold 30 % of the documents of each class out and count words, without any list of stop words."""
    titles = np.array([title.removeprefix("scipy.") for title in corpus.titles or ()])
    labels, texts = np.array(corpus.labels), np.array(corpus.texts, dtype=object)
    train, test = train_test_split(np.arange(len(corpus)), test_size=0.3, stratify=labels, random_state=0)
    vectorizer = CountVectorizer(token_pattern=r"(?u)\b\w+\b")
    counts = vectorizer.fit_transform(texts[train])
    return _Split(
        vectorizer.get_feature_names_out(),
        counts,
        vectorizer.transform(texts[test]),
        labels[train],
        labels[test],
        titles[train],
        titles[test],
    )


def _warm_up(split: _Split) -> None:
    """Compile what will be used, so that the times shown are those of the work."""
    few = TreeWassersteinClassifier(calibrate=False).fit(split.train[:40], split.train_labels[:40])
    few.predict(split.train[:40])


def _measure(split: _Split) -> tuple[dict[str, TreeWassersteinClassifier], list[tuple[Any, ...]]]:
    """Fit each method; return the models, and its name, test errors by either vote, fit and query time."""
    models, rows = {}, []
    for name, metric in _METHODS.items():
        start = time.perf_counter()
        model = TreeWassersteinClassifier(metric).fit(split.train, split.train_labels)
        fitted = time.perf_counter()
        error = 1 - model.score(split.test, split.test_labels)
        query = (time.perf_counter() - fitted) / len(split.test_labels)
        plain = TreeWassersteinClassifier(model.metric_, vote="fallback").fit(split.train, split.train_labels)
        models[name] = model
        rows.append((name, 1 - plain.score(split.test, split.test_labels), error, fitted - start, query))
    return models, rows


def _heading(console: Console, title: str) -> None:
    console.print()
    console.rule(title, align="left")


def _show_corpus(console: Console, corpus: Corpus, split: _Split) -> None:
    _heading(console, "The corpus")
    classes = ", ".join(f"{label} {count}" for label, count in corpus.class_counts().items())
    console.print(
        f"The docstrings of {len(corpus)} public functions of SciPy, labelled by subpackage, the subpackages' names "
        f"removed. {len(split.train_labels)} documents to learn from with {len(split.words)} words, "
        f"{len(split.test_labels)} to test on."
    )
    console.print(f"Documents by class: {classes}.", style="dim")


def _show_learned(console: Console, model: TreeWassersteinClassifier, split: _Split) -> None:
    _heading(console, "What was learned")
    metric = model.metric_
    tree = metric.trees[0]
    order = np.argsort(-metric.masses[0], kind="stable")
    known = order[metric.known_words[order]]
    frequent = known[np.asarray((split.train[:, known] > 0).sum(axis=0)).ravel() >= 20]
    console.print(
        f"A tree of {tree.n_nodes} internal nodes, {tree.depth} levels deep, with the {tree.n_words} words as leaves; "
        "each word carries as much mass as it tells about the class."
    )
    console.print("Most mass among frequent words: ", Text(", ".join(split.words[frequent[:12]]), "bold"), sep="")
    console.print("Least: ", Text(", ".join(split.words[frequent[:-13:-1]]), "dim"), sep="")


def _show_errors(console: Console, rows: list[tuple[Any, ...]]) -> None:
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
        "Fall-back: the class with more than half of the 19, or of fewer. Default: nearer ones count more.", style="dim"
    )


def _show_neighbours(console: Console, model: TreeWassersteinClassifier, split: _Split) -> None:
    """Show five neighbours of a test document, and what the nearest one shares with it."""
    _heading(console, "Five neighbours of a query")
    query: Any = split.test[[0]]
    distances, ids = model.index_.search(query, 5)
    predicted = model.predict(query)[0]
    console.print(
        f"Query: [bold]{split.test_titles[0]}[/bold], a test document of class {split.test_labels[0]}, "
        f"predicted {predicted}."
    )
    table = Table()
    for column in ("distance", "neighbour", "class", "same words", "costliest move"):
        table.add_column(column, justify="right" if column == "distance" else "left")
    for distance, neighbour in zip(distances[0], ids[0], strict=True):
        same, moved = _plan_words(model, query, split.train[[neighbour]], split.words)
        table.add_row(f"{distance:.4f}", split.train_titles[neighbour], split.train_labels[neighbour], same, moved)
    console.print(table)


def _plan_words(
    model: TreeWassersteinClassifier, query: Any, document: Any, words: NDArray[np.object_]
) -> tuple[str, str]:
    """Name the words that keep most mass in place, and the costliest move."""
    plan = transport_plan(model.metric_, query, document)
    stays = plan.sources == plan.targets
    heaviest = np.argsort(-np.where(stays, plan.masses, 0.0), kind="stable")[:3]
    same = ", ".join(words[plan.sources[flow]] for flow in heaviest if stays[flow])
    dearest = int(plan.costs.argmax())
    return same, f"{words[plan.sources[dearest]]} → {words[plan.targets[dearest]]}" if plan.cost else "nothing"


def _show_branches(console: Console, model: TreeWassersteinClassifier, split: _Split) -> None:
    _heading(console, "The tree's most telling branches")
    table = Table()
    for column in ("node", "whose mass lies below it", "heaviest words below it"):
        table.add_column(column, justify="right" if column == "node" else "left")
    for branch in telling_branches(model.metric_, split.train, split.train_labels, n_branches=8, n_words=7):
        classes = ", ".join(f"{label} {100 * share:.0f} %" for label, share in branch.classes[:2] if share >= 0.05)
        table.add_row(str(branch.node), classes, ", ".join(split.words[word] for word, _ in branch.words))
    console.print(table)
