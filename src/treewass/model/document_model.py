"""From texts to labels, neighbours and explanations: vectoriser, metric, index and labels in one object."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.model.answers import class_probabilities, describe_document, explain_label, find_neighbors
from treewass.model.contents import Contents
from treewass.model.inputs import check_documents, check_query, check_texts
from treewass.search.contents import documents_of
from treewass.search.snapshots import as_ids

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from treewass.explain.outline import TreeOutline
    from treewass.explain.pairs import Explanation
    from treewass.explain.predictions import Neighbor, PredictionExplanation
    from treewass.search.index import TreeIndex
    from treewass.trees.metric import TreeMetric

__all__ = ["DocumentModel"]


class DocumentModel:
    """A model of labelled texts: it classifies, finds similar texts, and explains both.

    Parameters
    ----------
    learner : {"profile", "stw"} or estimator, default="profile"
        What learns the tree: the default learner, the paper's (needs the extra ``train``), or any unfitted
        transformer with a `metric_` after fitting.
    vectorizer : None, CountVectorizer, TfidfVectorizer or TextCounter, default=None
        What a word is. None: lower case, Unicode words of one character and more, no stop words, no minimum
        frequency. Of scikit-learn's vectorisers the settings are taken; those that JSON cannot hold are refused.
        A counter is what a loaded model has: a later fit takes its settings.
    n_neighbors, vote, calibrate
        As in `TreeWassersteinClassifier`.
    keep_texts : bool, default=True
        Whether to keep the texts, to show them again. A model without them is smaller, and tells less.
    n_jobs : int, optional
        Threads for batches of queries; -1 for all cores. Results do not depend on it.
    random_state : int or None, default=0
        Of a learner given by name.
    verbose : bool, default=False
        Whether a learner given by name shows a progress bar on standard error.

    See Also
    --------
    treewass.TreeWassersteinClassifier : The same on matrices of counts, as an estimator of scikit-learn.

    Examples
    --------
    >>> texts = ["cats purr", "a cat meows", "dogs bark", "the dog growls"]
    >>> model = DocumentModel(n_neighbors=1).fit(texts, ["cat", "cat", "dog", "dog"])
    >>> model.predict(["my cat purrs"])
    array(['cat'], dtype='<U3')
    >>> [neighbor.text for neighbor in model.search("the dog barks", k=1)]
    ['the dog growls']
    """

    def __init__(
        self,
        *,
        learner: Any = "profile",
        vectorizer: Any = None,
        n_neighbors: int = 19,
        vote: str = "distance",
        calibrate: bool = True,
        keep_texts: bool = True,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
    ) -> None:
        self.learner = learner
        self.vectorizer = vectorizer
        self.n_neighbors = n_neighbors
        self.vote = vote
        self.calibrate = calibrate
        self.keep_texts = keep_texts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.contents_: Contents
        self._compiled = True

    def __repr__(self) -> str:
        if not hasattr(self, "contents_"):
            return f"DocumentModel(learner={self.learner!r})"
        held = self.contents_
        return f"DocumentModel({len(held.index)} documents, {len(held.classes)} classes, {len(self.words_)} words)"

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(self._fitted().classes)

    @property
    def metric_(self) -> TreeMetric:
        """The trees and word masses that were learned."""
        return self._fitted().index.metric

    @property
    def index_(self) -> TreeIndex:
        """The documents under the metric; changed by `add`, `remove` and `update` only."""
        return self._fitted().index

    @property
    def words_(self) -> tuple[str, ...]:
        """The words known, in the order of the metric's columns."""
        return self._fitted().counter.words

    def fit(self, texts: Sequence[str], labels: ArrayLike, *, titles: Sequence[str] | None = None) -> DocumentModel:
        """Learn from labelled texts, and hold them as the documents to find.

        Parameters
        ----------
        texts : sequence of str
            The documents. One without a word is never a neighbour, with a warning.
        labels : array-like of str or int, shape (n_texts,)
            Their labels, at least two different ones.
        titles : sequence of str, optional
            Short names to show beside them.

        Returns
        -------
        DocumentModel
            Itself.
        """
        from treewass.model.fitting import fit_contents

        self.contents_ = fit_contents(self, *check_documents(texts, labels, titles))
        return self

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
        return class_probabilities(self._fitted(), check_texts(texts), compiled=self._compiled)

    def search(self, text: str, k: int = 10) -> list[Neighbor]:
        """Find the documents nearest to a text.

        Parameters
        ----------
        text : str
            The query. One without a known word has no neighbours, with a warning.
        k : int, default=10
            Documents to find, at least 1; fewer where the model holds fewer.

        Returns
        -------
        list of Neighbor
            Nearest first, ties in the order of ids.
        """
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"Expected k as an integer of at least 1, got {k!r}.")
        return find_neighbors(self._fitted(), check_query(text), int(k), compiled=self._compiled)

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
        from treewass.explain.pairs import explain_pair

        return explain_pair(self.metric_, self.counts(first), self.counts(second), self.words_)

    def explain_prediction(self, text: str) -> PredictionExplanation:
        """Explain the label that a text gets: the neighbours that vote, and the words that decide.

        Parameters
        ----------
        text : str
            The text. One without a known word gets the class shares and no reasons, with a warning.

        Returns
        -------
        PredictionExplanation
        """
        return explain_label(self._fitted(), check_query(text), compiled=self._compiled)

    def add(self, texts: Sequence[str], labels: ArrayLike, *, titles: Sequence[str] | None = None) -> NDArray[np.int64]:
        """Add documents to find and to vote, without learning from them.

        Parameters
        ----------
        texts, labels, titles
            As in `fit`; words that the model does not know are passed over, and labels must be among `classes_`.

        Returns
        -------
        ndarray of int64, their ids
        """
        from treewass.model.fitting import with_documents

        self.contents_, ids = with_documents(self._fitted(), *check_documents(texts, labels, titles))
        return ids

    def remove(self, ids: ArrayLike) -> None:
        """Remove documents by their ids, without learning anew.

        Parameters
        ----------
        ids : array-like of int
            All of them must be there; otherwise nothing is removed.
        """
        from treewass.model.fitting import without_documents

        self.contents_ = without_documents(self._fitted(), as_ids(ids))

    def update(
        self, texts: Sequence[str], labels: ArrayLike, *, titles: Sequence[str] | None = None
    ) -> NDArray[np.int64]:
        """Add documents and learn anew from all that the model holds; new words and new labels come in.

        It takes as long as `fit` on all. Figures on held-out documents, which belonged to the old metric, are dropped.

        Parameters
        ----------
        texts, labels, titles
            As in `fit`.

        Returns
        -------
        ndarray of int64, shape (n_texts,)
            Their ids. Those of other documents stay.
        """
        from treewass.model.fitting import updated_contents

        self.contents_, ids = updated_contents(self, *check_documents(texts, labels, titles))
        return ids

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, all of it or nothing.

        Parameters
        ----------
        folder : path-like
            Made, or replaced if it holds a model. A crash at any moment leaves the old model or the new one.
        """
        from treewass.model.files import save_contents

        save_contents(folder, self._fitted())

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, compiled: bool = True, n_jobs: int | None = None) -> DocumentModel:
        """Read a model that `save` wrote, checking every byte and every invariant.

        Parameters
        ----------
        folder : path-like
            The folder given to `save`.
        compiled : bool, default=True
            Whether to search with compiled loops. False answers with NumPy alone: the same answers, slower for many
            texts, but without the time that compiled code takes to start; for processes that answer one question.
        n_jobs : int, optional
            Threads for batches of queries.

        Returns
        -------
        DocumentModel

        Raises
        ------
        ValueError
            If the folder holds no model, one of another version, or a damaged one; the message says which.
        """
        from treewass.model.files import load_contents

        held = load_contents(folder, n_jobs=n_jobs)
        model = cls(**held.parameters(), n_jobs=n_jobs)
        model.contents_ = held
        model._compiled = compiled
        return model

    def outline(self, component: int = 0) -> TreeOutline:
        """Collect what each branch of the learned tree holds: words, classes, and ids of documents.

        Parameters
        ----------
        component : int, default=0
            The tree to look at, where there are several.

        Returns
        -------
        TreeOutline
            The rows of its documents are places in ``index_.ids``.
        """
        from treewass.explain.outline import tree_outline

        labels = self.classes_[self._fitted().documents.codes]
        return tree_outline(self.metric_, documents_of(self.index_), labels, self.words_, component=component)

    def counts(self, document: str | int) -> csr_array:
        """Return the word counts of a text, or of a document by its id, shape (1, n_words)."""
        if isinstance(document, int | np.integer) and not isinstance(document, bool):
            return documents_of(self.index_, [int(document)])
        return self._fitted().counter.count([check_query(document)])

    def neighbor(self, number: int, distance: float = 0.0) -> Neighbor:
        """Describe a document that the model holds, by its id."""
        return describe_document(self._fitted(), number, distance)

    def _fitted(self) -> Contents:
        if not hasattr(self, "contents_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("This DocumentModel is not fitted yet. Call fit with texts and labels, or load one.")
        return self.contents_
