"""Why a document gets its label: the neighbours that vote, and the words that bring it nearer to their class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from treewass.explain.plan import transport_plan
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Neighbor", "PredictionExplanation", "WordSupport", "deciding_words"]


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A document near a query.

    Parameters
    ----------
    id : int
        Its id in the index.
    distance : float
        The tree-Wasserstein distance to the query.
    label : str or int
        Its label.
    title, text : str or None
        What the model keeps of it.
    """

    id: int
    distance: float
    label: Any
    title: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class WordSupport:
    """How much a word of the query speaks for the predicted class.

    Parameters
    ----------
    word : str
        The word.
    support : float
        What moving the word's mass to documents of the rival class costs more than moving it to documents of the
        predicted class; below zero for a word that speaks against the prediction.
    """

    word: str
    support: float


@dataclass(frozen=True, slots=True)
class PredictionExplanation:
    """A prediction with its reasons.

    Parameters
    ----------
    label : str or int
        The predicted label.
    probabilities : tuple of (label, float)
        Classes by probability, largest first; equally probable ones by their nearest documents.
    neighbors : tuple of Neighbor
        The documents that voted, nearest first.
    rival : str or int or None
        The second of these classes.
    words : tuple of WordSupport
        The query's words, those with most support first. The supports add up to the difference between the mean
        distances to the nearest documents of the rival class and of the predicted one.
    """

    label: Any
    probabilities: tuple[tuple[Any, float], ...]
    neighbors: tuple[Neighbor, ...]
    rival: Any = None
    words: tuple[WordSupport, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as what JSON can hold."""
        return asdict(self)


def deciding_words(
    metric: TreeMetric, query: Any, winners: csr_array, rivals: csr_array, words: Sequence[str]
) -> tuple[WordSupport, ...]:
    """Share the difference between two distances out among a query's words.

    Parameters
    ----------
    metric : TreeMetric
        Trees and word masses.
    query : sparse matrix or array-like of shape (1, n_words)
        Counts or weights.
    winners, rivals : csr_array of shape (n_documents, n_words)
        Documents of the predicted class and of another one, at least one each.
    words : sequence of str, length n_words
        The words' names.

    Returns
    -------
    tuple of WordSupport
        Of each of the query's known words, most support first. They add up to the mean distance to the rivals
        less the mean distance to the winners.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from treewass import Tree, TreeMetric
    >>> metric = TreeMetric(Tree([-1, 0, 0], word_nodes=[1, 1, 2]))
    >>> deciding_words(metric, [[1, 0, 1]], csr_array([[0, 1, 0]]), csr_array([[0, 0, 1]]), ["cat", "dog", "car"])
    (WordSupport(word='cat', support=1.0), WordSupport(word='car', support=-2.0))
    """
    support: dict[int, float] = {}
    for documents, sign in ((winners, -1.0), (rivals, 1.0)):
        for row in range(documents.shape[0]):
            for component in range(metric.n_components):
                plan = transport_plan(metric, query, documents[[row]], component=component)
                for word, cost in zip(plan.sources.tolist(), plan.costs.tolist(), strict=True):
                    support[word] = support.get(word, 0.0) + sign * cost / documents.shape[0]
    ranked = sorted(support, key=lambda word: (-support[word], word))
    return tuple(WordSupport(str(words[word]), support[word]) for word in ranked)
