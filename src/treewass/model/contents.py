"""What a fitted model holds: an immutable value that every change replaces whole."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.classify.decision import NeighborVote
from treewass.documents.texts import Texts
from treewass.model.vectorizers import TextCounter
from treewass.search.index import TreeIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Contents", "Documents"]


@dataclass(frozen=True, slots=True)
class Documents:
    """What is known of the documents in the index, beside their words.

    Parameters
    ----------
    ids : ndarray of int64, shape (n_documents,)
        Ascending: the ids in the index.
    codes : ndarray of int32, shape (n_documents,)
        Class numbers.
    texts : Texts or None
        The texts, where they are kept.
    titles : Texts or None
        Short names, where there are any; an empty one for a document without.
    """

    ids: NDArray[np.int64]
    codes: NDArray[np.int32]
    texts: Texts | None = None
    titles: Texts | None = None

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Find where documents stand, by ids that are there."""
        return np.searchsorted(self.ids, ids)

    def codes_of(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Look class numbers up, by ids that are there."""
        return self.codes[self.places(ids)].astype(np.intp)

    def without(self, ids: NDArray[np.int64]) -> Documents:
        """Return the others."""
        kept = ~np.isin(self.ids, ids)
        texts, titles = (None if column is None else column.kept(kept) for column in (self.texts, self.titles))
        return Documents(self.ids[kept], self.codes[kept], texts, titles)

    def joined(
        self, ids: NDArray[np.int64], codes: NDArray[np.int32], texts: Sequence[str], titles: Sequence[str] | None
    ) -> Documents:
        """Return these and new documents, whose ids are larger."""
        new_titles = self.titles
        if titles is not None or self.titles is not None:
            known = Texts.of([""] * self.ids.size) if self.titles is None else self.titles
            new_titles = known.joined([""] * len(ids) if titles is None else titles)
        return Documents(
            np.concatenate([self.ids, ids]),
            np.concatenate([self.codes, codes]),
            None if self.texts is None else self.texts.joined(texts),
            new_titles,
        )


@dataclass(frozen=True, slots=True)
class Contents:
    """A fitted model.

    Parameters
    ----------
    counter : TextCounter
        Turns texts into counts.
    index : TreeIndex
        The documents under the metric.
    classes : tuple of str, or of int
        Labels, sorted; a class number is a place in it.
    documents : Documents
        Labels and texts of the documents.
    vote : NeighborVote
        How neighbours decide.
    learner : dict
        Name, class and parameters of the learner.
    history : tuple of dict
        What the learner reported while it learned.
    about : dict
        Name of the data, time of learning, version of treewass.
    evaluation : dict or None
        Figures on documents held out, as `Evaluation.to_dict` writes them.
    """

    counter: TextCounter
    index: TreeIndex
    classes: tuple[Any, ...]
    documents: Documents
    vote: NeighborVote
    learner: dict[str, Any]
    history: tuple[dict[str, Any], ...] = ()
    about: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a `DocumentModel` that fits as this one was fitted, as far as they are known."""
        return {
            "learner": self.learner["name"] or self.learner["class"],
            "vectorizer": self.counter,
            "n_neighbors": self.vote.n_neighbors,
            "vote": self.vote.kind,
            "calibrate": self.vote.pool is not None,
            "keep_texts": self.documents.texts is not None,
            "random_state": self.learner["parameters"].get("random_state", 0),
        }

    def changed(self, **changes: Any) -> Contents:
        """Return the model with some parts replaced."""
        return replace(self, **changes)
