"""What a search finds: documents, what ranked them, and what they share with the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.texts import excerpt
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.trees.tree import Tree

    CountedRow = tuple[Sequence[int], Sequence[float]]  # ascending words, those beyond the metric too, and their counts

__all__ = ["Document", "Hit", "SharedBranch", "shared_branches"]

_SHOWN = 6  # words of a branch
_LINE, _CARD = 60, 600  # characters of a text, on a line and on a card
_LEFT_OUT = frozenset({"words", "branch"})  # of a line


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """One document of a model.

    Parameters
    ----------
    id : int
        Its id in the index.
    label : str, int or None
        Its label; None for a document that is found, but never votes.
    title, text : str or None
        Its title and text, where the model keeps them.
    key : str or None
        The user's own name of it.
    columns : dict of str to str, int, float or None
        What else the model keeps of it.
    """

    id: int
    label: Any
    title: str | None = None
    text: str | None = None
    key: str | None = None
    columns: Mapping[str, str | int | float | None] = field(default_factory=dict)

    def __repr__(self) -> str:
        return _shown(self)

    def _repr_html_(self) -> str:
        """Return a card for a notebook; on that of a hit, the words of the query are marked."""
        return _card(self)


@dataclass(frozen=True, slots=True)
class SharedBranch:
    """A branch of the tree that a query and a document both use.

    Parameters
    ----------
    node, component : int
        The internal node, and its tree.
    mass : float
        The share of its mass that each of them has below the node, at least.
    words : tuple of str
        The document's words below the node, heaviest first.
    """

    node: int
    component: int
    mass: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Hit(Document):
    """A document that was found. It has a score or a distance: what the documents found are ordered by.

    Parameters
    ----------
    score : float or None
        How well it answers typed words, at most about one; larger is better.
    distance : float or None
        The tree-Wasserstein distance to the query; smaller is better.
    words, missing : tuple of str
        The words of the query that it holds, as texts of the model write them, and those that it does not, as the
        query writes them: the first 64 of each.
    branch : SharedBranch or None
        The branch of the tree that brings it nearest to the query.
    """

    score: float | None = None
    distance: float | None = None
    words: Sequence[str] = ()
    missing: Sequence[str] = ()
    branch: SharedBranch | None = None


def _shown(document: Document) -> str:
    """Write a document on a line: what it has of its fields, its text cut, and not what it shares with a query."""
    given = {
        entry.name: value
        for entry in fields(document)
        if entry.name not in _LEFT_OUT
        and (value := getattr(document, entry.name)) is not None
        and value != entry.default
        and value != {}
    }
    shortened = {name: excerpt(value, _LINE) if isinstance(value, str) else value for name, value in given.items()}
    rounded = {name: round(value, 4) if isinstance(value, float) else value for name, value in shortened.items()}
    return f"{type(document).__name__}({', '.join(f'{name}={value!r}' for name, value in rounded.items())})"


def _card(document: Document) -> str:
    from treewass.cards.rendering import card, marked_words

    hit = document if isinstance(document, Hit) else Hit(document.id, document.label)
    ranked = [(name, value) for name, value in (("score", hit.score), ("distance", hit.distance)) if value is not None]
    marked = marked_words(excerpt(document.text, _CARD), frozenset(hit.words))
    return card("document", entry=document, marked=marked, figure=ranked[0] if ranked else None)


def shared_branches(
    metric: TreeMetric, query: CountedRow, documents: Sequence[CountedRow], words: Sequence[str]
) -> list[SharedBranch | None]:
    """Find the branch that brings each document nearest to a query; None for one that shares none with it.

    It is the internal node whose edge saves most: its length times the mass that both have below it.

    Examples
    --------
    >>> from treewass import Tree
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> shared_branches(metric, ([0], [1]), [([1, 2], [1, 1]), ([2], [1])], ["cat", "kitten", "car"])
    [SharedBranch(node=1, component=0, mass=0.5, words=('kitten',)), None]
    """
    best: list[tuple[float, SharedBranch | None]] = [(0.0, None)] * len(documents)
    rows = [query, *documents]
    numbers = np.repeat(np.arange(len(rows)), [len(row[0]) for row in rows])
    columns = np.array([word for row in rows for word in row[0]], dtype=np.intp)
    counts = np.array([count for row in rows for count in row[1]], dtype=np.float64)
    known = columns < metric.n_words
    numbers, columns, counts = numbers[known], columns[known], counts[known]
    for component, (tree, factors) in enumerate(zip(metric.trees, metric.scaled_masses, strict=True)):
        masses = counts * factors[columns]
        totals = np.bincount(numbers, masses, minlength=len(rows))
        masses /= np.where(totals > 0, totals, 1.0)[numbers]
        sums = np.zeros((len(rows), tree.n_nodes))
        nodes, places = tree.word_nodes[columns].astype(np.intp), np.arange(columns.size)
        while (places := places[nodes[places] > 0]).size:
            np.add.at(sums, (numbers[places], nodes[places]), masses[places])
            nodes[places] = tree.parents[nodes[places]]
        shared = np.minimum(sums[0], sums[1:])
        for row, node in enumerate((shared * tree.edge_lengths).argmax(axis=1).tolist()):
            saved = float(shared[row, node] * tree.edge_lengths[node])
            if saved > best[row][0]:
                own = np.flatnonzero(numbers == row + 1)
                below = _heaviest_below(tree, node, columns[own], masses[own])
                names = tuple(words[column] for column in below[:_SHOWN])
                best[row] = saved, SharedBranch(node, component, float(shared[row, node]), names)
    return [branch for _, branch in best]


def _heaviest_below(tree: Tree, node: int, words: NDArray[np.intp], masses: NDArray[np.float64]) -> list[int]:
    """Return those of some words that have mass and hang below a node, heaviest first."""
    start, stop = tree.subtree_intervals
    position = start[tree.word_nodes[words]]
    inside = np.flatnonzero((position >= start[node]) & (position < stop[node]) & (masses > 0))
    ordered: list[int] = words[inside[np.argsort(-masses[inside], kind="stable")]].tolist()
    return ordered
