"""A map of documents: near ones side by side, by the exact distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewass.model.inference import count_documents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.model.contents import Contents

__all__ = ["DocumentMap", "map_documents"]

_MOST_MAPPED = 1500
_FEWEST_NEAR = 10  # documents from which on neighbours decide about places
_NEAR = 30.0  # documents that count as near
_STEPS = 500


@dataclass(frozen=True, slots=True)
class DocumentMap:
    """Documents in the plane.

    Parameters
    ----------
    ids : tuple of int
        Ids of the documents; all that have a known word, or some that are evenly spread over them.
    places : tuple of (float, float)
        Where each of them is, from 0 to 1.
    n_documents : int
        How many documents there are to choose from.
    n_unknown : int
        How many of those chosen hold no known word, so that they have no place.
    """

    ids: tuple[int, ...]
    places: tuple[tuple[float, float], ...]
    n_documents: int
    n_unknown: int

    @property
    def n_chosen(self) -> int:
        """How many documents were chosen, with those that have no place."""
        return len(self.ids) + self.n_unknown

    @property
    def is_sample(self) -> bool:
        """Whether only some documents were chosen, evenly spread."""
        return self.n_chosen < self.n_documents


def map_documents(held: Contents, *, max_documents: int = _MOST_MAPPED) -> DocumentMap:
    """Lay out the documents of a model in the plane: t-SNE on their exact distances, from a fixed start.

    The L1 distance is the square of a Euclidean one, so t-SNE, which squares what it is given, gets the root. The start
    is classical scaling. A few documents are left there. Nothing is drawn at random.

    Parameters
    ----------
    held : Contents
        Of a fitted model.
    max_documents : int, default=1500
        Most documents to lay out. Time and memory grow with its square.

    Returns
    -------
    DocumentMap

    Examples
    --------
    >>> from treewass import DocumentModel
    >>> texts = ["a cat", "the cat", "a dog", "the dog"]
    >>> model = DocumentModel(n_neighbors=1).fit(texts, ["cat", "cat", "dog", "dog"])
    >>> map_documents(model.contents_).ids
    (0, 1, 2, 3)
    """
    ids = np.sort(held.documents.ids)
    chosen = ids[np.linspace(0, ids.size - 1, min(ids.size, max_documents)).astype(np.intp)]
    counted = count_documents(held, chosen.tolist())
    known, places = chosen[counted.known], np.empty((0, 2))
    if known.size:
        far, near = counted.nearest(counted.known.tolist(), known.size, known)
        distances = np.empty_like(far)
        np.put_along_axis(distances, np.searchsorted(known, near), far, axis=1)
        places = np.round(_places(distances), 4)
    spots = tuple((x, y) for x, y in places.tolist())
    return DocumentMap(tuple(known.tolist()), spots, int(ids.size), int(chosen.size - known.size))


def _places(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find a place from 0 to 1 for each document, shape (n_documents, 2)."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums over threads would make the result depend on their number
        places = _scaled(distances)
        if len(distances) >= _FEWEST_NEAR:
            from sklearn.manifold import TSNE

            places = TSNE(
                metric="precomputed",
                init=1e-4 * places / (places.std() or 1.0),
                perplexity=min(_NEAR, (len(distances) - 1) / 3),
                max_iter=_STEPS,
                random_state=0,
            ).fit_transform(np.sqrt(distances))
    low = places.min(axis=0)
    return np.asarray((places - low) / (float((places.max(axis=0) - low).max()) or 1.0), dtype=np.float64)


def _scaled(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two main axes of classical scaling, shape (n_documents, 2)."""
    from scipy.linalg import eigh

    n_documents = len(distances)
    if n_documents < 2:
        return np.zeros((n_documents, 2))
    centred = distances - distances.mean(axis=0) - distances.mean(axis=1)[:, None] + distances.mean()
    values, axes = eigh(-0.5 * centred, subset_by_index=[n_documents - 2, n_documents - 1])
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])  # an axis has no direction of its own
    return np.asarray(axes[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0)))
