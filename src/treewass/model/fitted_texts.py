"""What a fitted model of texts answers: labels, documents, explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from treewass.documents.histograms import warn_about_empty_rows
from treewass.model.contents import Contents
from treewass.model.cross_fitting import count_apart, silenced_channels
from treewass.model.estimator import TextClassifier
from treewass.model.inference import (
    UNKNOWN_TEXTS,
    class_probabilities,
    count_documents,
    count_texts,
    describe_document,
    warn_about_unknown,
    without_known_word,
)
from treewass.model.labelled_texts import check_count, check_query, check_texts
from treewass.model.queries import find_similar, find_typed, unknown_terms
from treewass.model.reasons import explain_label
from treewass.search.held_documents import documents_of
from treewass.trees.numpy_embedding import has_known_word

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from treewass.explain.branches import TreeOutline
    from treewass.explain.hits import Document, Hit
    from treewass.explain.predictions import PredictionExplanation
    from treewass.explain.transport_plans import Explanation
    from treewass.model.kept_columns import Value
    from treewass.search.held_documents import AnyIndex
    from treewass.trees.metric import TreeMetric

    Where = Mapping[str, Value | list[Value] | tuple[str, Value] | list[tuple[str, Value]]] | None

__all__ = ["FittedTexts"]


class FittedTexts(TextClassifier):
    """Base of `DocumentModel`: every question that leaves the model as it is.

    Attributes
    ----------
    contents_ : Contents
        All of the fitted model, as one immutable value.
    """

    contents_: Contents

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(self._fitted().classes)

    @property
    def metric_(self) -> TreeMetric:
        """The trees and word masses that were learned."""
        return self._fitted().index.metric

    @property
    def index_(self) -> AnyIndex:
        """The documents under the metric; changed by `add`, `remove` and `update` only."""
        return self._fitted().index

    @property
    def words_(self) -> tuple[str, ...]:
        """The words known, in the order of the metric's columns."""
        return self._fitted().words

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Predict the label of each text: the class of the largest probability.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts,)
        """
        return np.asarray(self.classes_[self.predict_proba(texts).argmax(axis=1)])

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Estimate the probability of each class.

        Parameters
        ----------
        texts : sequence of str
            One without a known word gets the class shares of the training, with a warning.

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
            In the order of `classes_`; rows sum to one.
        """
        counted = count_texts(self._fitted(), check_texts(texts))
        warn_about_empty_rows(counted.unknown, UNKNOWN_TEXTS)
        return class_probabilities(counted)

    @overload
    def similar(
        self, text: str | None = ..., k: int = ..., *, id: int | None = ..., key: str | None = ..., where: Where = ...
    ) -> list[Hit]: ...
    @overload
    def similar(self, text: list[str] | tuple[str, ...], k: int = ..., *, where: Where = ...) -> list[list[Hit]]: ...
    def similar(
        self,
        text: str | Sequence[str] | None = None,
        k: int = 10,
        *,
        id: int | None = None,
        key: str | None = None,
        where: Where = None,
    ) -> list[Hit] | list[list[Hit]]:
        """Find the documents nearest to a whole text, or to a document of the model, by the learned distance.

        Parameters
        ----------
        text : str or sequence of str, optional
            The text; several are one search. One without a known word has no neighbours, with a warning.
        k : int, default=10
            Documents to find, at least 1; fewer where the model holds fewer.
        id, key : int, str, optional
            A document of the model instead of a text. It does not find itself.
        where : mapping, optional
            Only documents with these labels and values in kept columns: ``{"label": "sports", "year": (">", 2020)}``.
            A value is to be equal; of a list of values, one is. With an operator (``==``, ``!=``, ``<``, ``<=``,
            ``>``, ``>=``) a value is compared; of a list of such pairs all must hold: ``{"label": ["sports", "news"],
            "year": [(">", 2020), ("<", 2024)]}``. None means that there is no value. ``id`` may be named, too.

        Returns
        -------
        list of Hit, or a list of them for each text
            Nearest first, ties in the order of ids.
        """
        held, k = self._fitted(), check_count(k)
        ids, own = held.matching(where), _number_asked(held, text, id, key)
        if own is not None:
            others = held.documents.ids if ids is None else ids
            counted, ids = count_documents(held, [own]), others[others != own]
        else:
            counted = count_texts(held, [text] if isinstance(text, str) else check_texts(text))
        one = own if own is not None else text
        if isinstance(one, str | int):
            warn_about_unknown(counted, one, "it is near to nothing.")
        else:
            warn_about_empty_rows(counted.unknown, "there are no neighbours.")
        found = find_similar(counted, k, where=ids)
        return found[0] if isinstance(one, str | int) else found

    @overload
    def search(self, query: str, k: int = ..., *, where: Where = ...) -> list[Hit]: ...
    @overload
    def search(self, query: list[str] | tuple[str, ...], k: int = ..., *, where: Where = ...) -> list[list[Hit]]: ...
    def search(self, query: str | Sequence[str], k: int = 10, *, where: Where = None) -> list[Hit] | list[list[Hit]]:
        """Find documents by typed words: those that hold them, of the topic that they speak of first.

        A query of more than 64 different words is taken for a document, and answered as `similar` does: its hits have
        a distance instead of a score. So is every query of a model whose vectoriser weighs words (TF-IDF).

        Parameters
        ----------
        query : str or sequence of str
            The words; several queries are one search.
        k : int, default=10
            Documents to find, at least 1; fewer where fewer hold a word of the query.
        where : mapping, optional
            As in `similar`.

        Returns
        -------
        list of Hit, or a list of them for each query
            Best first, ties in the order of ids. Each says its score, the words of the query that it holds, and those
            that it does not.

        See Also
        --------
        unknown_words : The words of a query that no document holds.
        """
        held, k = self._fitted(), check_count(k)
        texts = [query] if isinstance(query, str) else check_texts(query)
        counted = count_texts(held, texts)
        warn_about_empty_rows(
            np.array([n for n, (words, _) in enumerate(counted.rows) if not words]), "nothing is found."
        )
        found = find_typed(counted, texts, k, where=held.matching(where))
        return found[0] if isinstance(query, str) else found

    def unknown_words(self, query: str) -> dict[str, str | None]:
        """Return the words of a query that no document holds, each with a known word that is spelled much like it.

        Parameters
        ----------
        query : str
            Typed words.

        Returns
        -------
        dict of str to str or None
            The most frequent of the nearest words, None if none is near.

        Examples
        --------
        >>> from treewass import DocumentModel
        >>> model = DocumentModel(n_neighbors=1).fit(["a kitten purrs", "a puppy barks"], ["cat", "dog"])
        >>> model.unknown_words("a kiten sings")
        {'kiten': 'kitten', 'sings': None}
        """
        return unknown_terms(self._fitted(), check_query(query))

    def explain(self, first: str | int, second: str | int) -> Explanation:
        """Explain why two documents are near or far.

        Parameters
        ----------
        first, second : str or int
            Texts, or ids of documents that the model holds; each with at least one known word.

        Returns
        -------
        Explanation

        Raises
        ------
        ValueError
            If the model knows no word of one of them: then it is near to nothing.
        """
        from treewass.explain.transport_plans import explain_pair

        held, counts = self._fitted(), [self.counts(first), self.counts(second)]
        for document, row in zip((first, second), counts, strict=True):
            if not has_known_word(held.index.metric, row.indices.tolist(), row.data.tolist()):
                raise ValueError(f"{without_known_word(held, document)}, so it is near to nothing.")
        return explain_pair(held.index.metric, counts[0], counts[1], held.names)

    def explain_prediction(
        self, text: str | None = None, *, id: int | None = None, key: str | None = None
    ) -> PredictionExplanation:
        """Explain the label that a text gets: what neighbours, words and class shares add to its odds.

        Parameters
        ----------
        text : str, optional
            The text. One without a known word gets the class shares and no reasons, with a warning.
        id, key : int, str, optional
            A document of the model instead of a text. It does not vote on itself, and the linear channel is learned
            again without it, as for the doubtful labels of a report. Any other channel, such as that of mean word
            vectors, is silent, since it has learned from the document; so is the linear one if the documents that it
            would learn from are of one label only.

        Returns
        -------
        PredictionExplanation

        Examples
        --------
        >>> from treewass import DocumentModel
        >>> texts = ["a cat purrs", "my cat purrs", "the cat purrs", "a dog barks"]
        >>> model = DocumentModel(n_neighbors=2).fit(texts, ["cat", "cat", "dog", "dog"])
        >>> explained = model.explain_prediction(id=2)
        >>> explained.label, explained.document.label
        ('cat', 'dog')
        """
        held = self._fitted()
        own = _number_asked(held, text, id, key)
        asked = check_query(text) if own is None else own
        counted = count_texts(held, [asked]) if isinstance(asked, str) else count_apart(held, asked)
        warn_about_unknown(counted, asked, "it gets the class shares of the training.")
        explained = explain_label(counted)
        if own is None:
            return explained
        return replace(explained, document=describe_document(held, own), silent=silenced_channels(counted))

    def outline(self, component: int = 0) -> TreeOutline:
        """Collect what each branch of the learned tree holds: words, classes, and ids of documents.

        Parameters
        ----------
        component : int, default=0
            The tree to look at, where there are several.

        Returns
        -------
        TreeOutline
            The rows of its documents are places in ``contents_.grouped``, the documents with a label, or all of a
            model without labels.
        """
        from treewass.explain.branches import tree_outline

        held = self._fitted()
        ids, labels = held.grouped
        return tree_outline(held.index.metric, documents_of(held.index, ids), labels, held.names, component=component)

    def counts(self, document: str | int) -> csr_array:
        """Return the word counts of a text, or of a document by its id, shape (1, n_words)."""
        if isinstance(document, int | np.integer) and not isinstance(document, bool):
            return documents_of(self.index_, [int(document)])
        return self._fitted().count([check_query(document)])

    def document(self, id: int | None = None, *, key: str | None = None) -> Document:
        """Describe a document that the model holds.

        Parameters
        ----------
        id, key : int, str, optional
            Its id, or its key.

        Returns
        -------
        Document
            What the model keeps of it.

        Raises
        ------
        ValueError
            If there is no such document.
        """
        held = self._fitted()
        return describe_document(held, held.id_of(id, key))

    def _fitted(self) -> Contents:
        if not hasattr(self, "contents_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("This DocumentModel is not fitted yet. Call fit with texts, or load one.")
        return self.contents_


def _number_asked(held: Contents, text: Any, id: int | None, key: str | None) -> int | None:
    """Return the id of the document that is asked about, None for a text; of the three, one must be given."""
    given = sum(value is not None for value in (text, id, key))
    if given != 1:
        raise ValueError(
            f"Expected a text, or the id or the key of a document, got {'more than one' if given else 'none'} of them."
        )
    return held.id_of(id, key) if text is None else None
