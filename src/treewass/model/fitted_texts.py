"""What a fitted model of texts answers: labels, documents, explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from treewass.documents.histograms import warn_about_empty_rows
from treewass.model.contents import Contents
from treewass.model.cross_fitting import count_apart
from treewass.model.estimator import TextClassifier
from treewass.model.inference import (
    UNKNOWN_TEXTS,
    class_probabilities,
    count_documents,
    count_texts,
    describe_document,
)
from treewass.model.labelled_texts import check_count, check_query, check_texts
from treewass.model.queries import find_similar, find_typed, unknown_terms
from treewass.model.reasons import explain_label
from treewass.search.held_documents import documents_of

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
        ids = held.matching(where)
        if text is None:
            own = held.id_of(id, key)
            others = held.documents.ids if ids is None else ids
            counted, ids = count_documents(held, [own]), others[others != own]
        elif id is not None or key is not None:
            raise ValueError("Expected a text, or the id or the key of a document, got more than one of them.")
        else:
            counted = count_texts(held, [text] if isinstance(text, str) else check_texts(text))
        warn_about_empty_rows(counted.unknown, "there are no neighbours.")
        found = find_similar(counted, k, where=ids)
        return found[0] if text is None or isinstance(text, str) else found

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
        """
        from treewass.explain.transport_plans import explain_pair

        return explain_pair(self.metric_, self.counts(first), self.counts(second), self.words_)

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
            again without it, as for the doubtful labels of a report.

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
        held, own = self._fitted(), None
        if text is None:
            own = held.id_of(id, key)
            counted = count_apart(held, own)
        elif id is not None or key is not None:
            raise ValueError("Expected a text, or the id or the key of a document, got more than one of them.")
        else:
            counted = count_texts(held, [check_query(text)])
        warn_about_empty_rows(counted.unknown, UNKNOWN_TEXTS)
        explained = explain_label(counted)
        return explained if own is None else replace(explained, document=describe_document(held, own))

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

        ids, labels = self._fitted().grouped
        return tree_outline(self.metric_, documents_of(self.index_, ids), labels, self.words_, component=component)

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
