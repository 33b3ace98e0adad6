"""From a model at one moment to what JSON shows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

import treewass
from treewass.cards.rendering import class_colors
from treewass.explain.branches import BranchMasses, by_telling, ranked
from treewass.explain.highlights import near_words, pair_weights, weighted_pieces
from treewass.explain.hits import Hit
from treewass.explain.transport_plans import explain_pair
from treewass.model.contents import Contents
from treewass.model.inference import (
    CountedTexts,
    class_probabilities,
    count_texts,
    demand_labels,
    describe_document,
)
from treewass.model.queries import (
    are_typed,
    find_similar,
    find_typed,
    passage_of,
    unknown_terms,
    word_rarities,
)
from treewass.model.reasons import explain_label
from treewass.search.held_documents import documents_of
from treewass.serve import answers
from treewass.serve.service_settings import (
    MOST_BYTES,
    MOST_CHARACTERS,
    MOST_EXPLAINED,
    MOST_EXPLAINED_CHARACTERS,
    MOST_HIGHLIGHTS,
    MOST_NEIGHBORS,
    MOST_TEXTS,
    Settings,
)
from treewass.trees.embedding import MASS_BITS
from treewass.trees.numpy_embedding import has_known_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Latest",
    "TreeView",
    "UnexplainedError",
    "are_known",
    "compare",
    "describe_model",
    "predict_texts",
    "search_texts",
    "similar_documents",
]

_MOST_MOVES = 100
_Made = TypeVar("_Made")
_PASSAGE = 500  # characters of a passage
_SAME_BRANCH = 0.35  # the weight of words of the branch that is shared
_TELLS_LITTLE = 0.1  # a word of the query so much less rare than the rarest is not marked
_FAINTEST_NEAR = 0.1  # of the strongest of them, and marked
_MOST_WORDS, _MOST_CHILDREN, _MOST_DOCUMENTS = 40, 100, 20  # of a branch
_FEW = 6  # words and classes of a branch in a list of branches


class UnexplainedError(ValueError):
    """What is not explained: a document is too long, or has no known word, or the model has no labels."""


def _demand_short(n_words: int) -> None:
    if n_words > MOST_EXPLAINED:
        raise UnexplainedError(
            f"Expected at most {MOST_EXPLAINED} different known words in a document to explain, got {n_words}."
        )


def are_known(counted: CountedTexts) -> list[bool]:
    """Tell which texts have a word that the model knows."""
    known = set(counted.known.tolist())
    return [number in known for number in range(len(counted.rows))]


def search_texts(
    held: Contents,
    texts: Sequence[str],
    k: int,
    *,
    where: NDArray[np.int64] | None = None,
    offset: int = 0,
    highlight: bool = False,
) -> list[answers.SearchResult]:
    """Find documents for typed texts, all in one search, and say which words no document holds.

    With `highlight`, the words that count are marked in the first `MOST_HIGHLIGHTS` documents.
    """
    counted = count_texts(held, texts)
    found = find_typed(counted, texts, k + 1, where=where, offset=offset)
    results = [_result(counted, number, hits, k, highlight) for number, hits in enumerate(found)]
    for number, (text, result) in enumerate(zip(texts, results, strict=True)):
        result.ranking = "words" if are_typed(counted, number) else "distance"
        if result.ranking == "words" and len(texts) == 1:  # to look for what is spelled like a word takes a while
            unknown = unknown_terms(held, text).items()
            result.unknown = [answers.UnknownWord(word=word, suggestion=other) for word, other in unknown]
    return results


def similar_documents(
    counted: CountedTexts, k: int, *, where: NDArray[np.int64] | None, offset: int, highlight: bool
) -> list[answers.SearchResult]:
    """Find the documents nearest to each text, all in one search; a text without a known word has none."""
    found = find_similar(counted, k + 1, where=where, offset=offset)
    return [_result(counted, number, hits, k, highlight) for number, hits in enumerate(found)]


def _result(counted: CountedTexts, number: int, hits: Sequence[Hit], k: int, highlight: bool) -> answers.SearchResult:
    views = [answers.HitView.model_validate(hit) for hit in hits[:k]]
    for hit, view in zip(hits[:MOST_HIGHLIGHTS] if highlight else (), views, strict=False):
        view.pieces = _typed_pieces(counted, hit) if hit.distance is None else _near_pieces(counted, number, hit, view)
    known = bool(counted.rows[number][0])
    return answers.SearchResult(ranking="distance", known=known, hits=views, more=len(hits) > k)


def _typed_pieces(counted: CountedTexts, hit: Hit) -> list[answers.Piece]:
    """Mark the query's own words in the passage that holds most of them, and more weakly words of the same branch."""
    if not hit.text:
        return []
    own = word_rarities(counted.held, hit.words)
    weights = dict.fromkeys(hit.branch.words if hit.branch else (), _SAME_BRANCH)
    for word, share in own.items():
        weights[word] = 1.5 * _SAME_BRANCH + (1 - 1.5 * _SAME_BRANCH) * share if share >= _TELLS_LITTLE else 0.0
    return _pieces(counted.held, passage_of(counted.held, hit, _PASSAGE), weights)


def _near_pieces(counted: CountedTexts, number: int, hit: Hit, view: answers.HitView) -> list[answers.Piece]:
    """Mark the words that bring a document near."""
    held, query = counted.held, counted.matrix([number])
    document = documents_of(held.index, [hit.id])
    _demand_short(query.nnz)
    if document.nnz > MOST_EXPLAINED:
        return []
    weights = near_words(held.index.metric, query, document, held.names)
    return _pieces(held, view.text, weights, _FAINTEST_NEAR)


def predict_texts(held: Contents, texts: Sequence[str], explain: bool) -> list[answers.Prediction]:
    """Classify texts, all in one search, or `explain` each: say which words and documents decided.

    A text without a known word gets the class shares of the training. A model without labels is an UnexplainedError.
    """
    try:
        demand_labels(held)
    except ValueError as error:
        raise UnexplainedError(str(error)) from None
    counted = count_texts(held, texts)
    known = are_known(counted)
    if explain:
        for words, _ in counted.rows:
            _demand_short(len(words))
        return [_explained(counted, number, text, known[number]) for number, text in enumerate(texts)]
    predictions = []
    for text, is_known, probabilities in zip(texts, known, class_probabilities(counted), strict=True):
        order = np.argsort(-probabilities, kind="stable").tolist()
        shares = [answers.Share(label=held.classes[code], share=float(probabilities[code])) for code in order]
        pieces = [] if is_known else _pieces(held, text, {})
        predictions.append(
            answers.Prediction(label=shares[0].label, known=is_known, probabilities=shares, pieces=pieces)
        )
    return predictions


def _explained(counted: CountedTexts, number: int, text: str, known: bool) -> answers.Prediction:
    """Classify a text and give the reasons."""
    reasons = explain_label(counted, number)
    return answers.Prediction(
        label=reasons.label,
        known=known,
        probabilities=[answers.Share(label=label, share=share) for label, share in reasons.probabilities],
        rival=reasons.rival,
        log_odds=reasons.log_odds,
        addends=[
            answers.Addend(name=name, log_odds=support, made_of=what) for name, support, what in reasons.addends()
        ],
        words=[answers.Word(word=word.word, weight=word.support) for word in reasons.words],
        typical=[answers.TypicalWordView.model_validate(word) for word in reasons.typical],
        pieces=_pieces(counted.held, text, reasons.word_weights()),
        neighbors=[answers.HitView.model_validate(neighbor) for neighbor in reasons.neighbors],
    )


def _pieces(
    held: Contents, text: str | None, weights: Mapping[str, float], faintest: float = 0.02
) -> list[answers.Piece]:
    """Cut a text at the words that weigh something; a document whose text is not kept has no pieces."""
    found = weighted_pieces(text, held.counter.spans(text), weights, faintest=faintest) if text else ()
    return [answers.Piece(text=piece.text, weight=round(piece.weight, 4)) for piece in found]


def compare(held: Contents, first: str | int, second: str | int) -> answers.Comparison:
    """Explain the distance of two documents, texts or ids that are there; one without a known word is a ValueError."""
    counts = []
    for place, document in (("first", first), ("second", second)):
        if isinstance(document, str) and len(document) > MOST_EXPLAINED_CHARACTERS:
            raise UnexplainedError(
                f"Expected at most {MOST_EXPLAINED_CHARACTERS} characters in a text to explain, got {len(document)}."
            )
        row = documents_of(held.index, [document]) if isinstance(document, int) else held.count([document])
        if not has_known_word(held.index.metric, row.indices.tolist(), row.data.tolist()):
            raise UnexplainedError(
                f"Expected a known word in the {place} document, but there is none: it has no distance."
            )
        _demand_short(row.nnz)
        counts.append(row)
    explanation = explain_pair(held.index.metric, counts[0], counts[1], held.names)
    texts = [d if isinstance(d, str) else describe_document(held, d).text for d in (first, second)]
    shown = [_pieces(held, text, own) for text, own in zip(texts, pair_weights(explanation), strict=True)]
    return answers.Comparison.model_validate(
        {
            "distance": explanation.distance,
            "shared_mass": explanation.shared_mass,
            "shared": explanation.shared[:_MOST_MOVES],
            "moves": explanation.moves[:_MOST_MOVES],
            "n_moves": len(explanation.moves),
            "branches": explanation.branches,
            "first": shown[0],
            "second": shown[1],
        }
    )


def describe_model(held: Contents, settings: Settings, examples: list[str | None]) -> answers.ModelView:
    """Describe the model that is served, and what the service allows."""
    unlabelled, *counts = np.bincount(held.documents.codes + 1, minlength=len(held.classes) + 1).tolist()
    return answers.ModelView(
        name=held.about.get("name", held.kind),
        version=treewass.__version__,
        documents=len(held.index),
        words=len(held.words),
        classes=list(held.classes),
        colors=list(class_colors(held.classes).values()),
        class_counts=counts,
        unlabelled=unlabelled,
        columns=list(held.documents.columns),
        examples=examples,
        learned=held.about.get("learned"),
        writable=settings.token is not None,
        protected=settings.reads_need_token,
        limits={
            "bytes": MOST_BYTES,
            "characters": MOST_CHARACTERS,
            "texts": MOST_TEXTS,
            "neighbors": MOST_NEIGHBORS,
            "highlights": MOST_HIGHLIGHTS,
        },
    )


class TreeView:
    """One tree of a model at one moment, with the masses that its documents put on it."""

    def __init__(self, held: Contents, component: int) -> None:
        self.held = held
        self.component = component
        self.ids, labels = held.grouped
        self._found = BranchMasses(held.index.metric, documents_of(held.index, self.ids), labels, component)

    def branch(self, node: int) -> answers.BranchView:
        """Show a node, which must be there."""
        tree, child_nodes = self._found.tree, self._found.tree.children(node)
        ordered, n_told = self._told_first(child_nodes)
        below = tree.subtree_words(node)
        return answers.BranchView(
            node=node,
            component=self.component,
            n_components=self.held.index.metric.n_components,
            path=list(reversed(tree.path(node))),
            edge_length=float(tree.edge_lengths[node]),
            mass=self._found.mass(node),
            n_words=len(below),
            classes=self._classes(node),
            words=self._words(below)[:_MOST_WORDS],
            children=[
                self._child(child, is_mixed=place >= n_told)
                for place, child in enumerate(ordered[:_MOST_CHILDREN].tolist())
            ],
            n_children=len(child_nodes),
            documents=self._documents(below),
        )

    def _told_first(self, nodes: NDArray[np.intp]) -> tuple[NDArray[np.intp], int]:
        """Order branches by what they tell about a class, and say in how many of them one stands out."""
        below = self._found.below_nodes[nodes]
        totals = below.sum(axis=1)
        shares = np.divide(below, totals[:, None], out=np.zeros_like(below), where=totals[:, None] > 0)
        order, n_told = by_telling(totals, shares)
        return nodes[order], n_told

    def _child(self, node: int, *, is_mixed: bool) -> answers.Child:
        below = self._found.tree.subtree_words(node)
        return answers.Child(
            node=node,
            mass=self._found.mass(node),
            n_words=len(below),
            classes=self._classes(node)[:_FEW],
            is_mixed=is_mixed,
            words=self._words(below)[:_FEW],
        )

    def _classes(self, node: int) -> list[answers.Share]:
        if not self.held.classes:
            return []
        return [answers.Share(label=label, share=share) for label, share in self._found.shares(node)]

    def _words(self, below: NDArray[np.intp]) -> list[answers.Word]:
        words = self.held.names
        return [answers.Word(word=words[word], weight=mass) for word, mass in self._found.heaviest(below)]

    def _documents(self, below: NDArray[np.intp]) -> list[answers.BranchDocument]:
        """Find the documents with most of their mass on some words."""
        on_words = np.zeros(self._found.tree.n_words)
        on_words[below] = 1.0
        masses = np.ldexp(self._found.masses @ on_words, -MASS_BITS)
        heaviest = ranked(self.ids.tolist(), masses)[:_MOST_DOCUMENTS]
        found = ((asdict(describe_document(self.held, number)), mass) for number, mass in heaviest)
        return [answers.BranchDocument(**fields, mass=mass) for fields, mass in found]


class Latest(Generic[_Made]):
    """What was made of a model at one moment, made again when the documents have changed; of each component, if any."""

    def __init__(self, make: Callable[..., _Made]) -> None:
        self._make, self._making = make, threading.Lock()
        self._made: dict[tuple[int, ...], tuple[Contents, _Made]] = {}

    def of(self, held: Contents, *component: int) -> _Made:
        """Return it, for one after the other of those who ask."""
        with self._making:
            if component not in self._made or self._made[component][0] is not held:
                self._made[component] = held, self._make(held, *component)
            return self._made[component][1]
