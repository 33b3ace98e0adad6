"""Labelled texts, as every reader and every built-in corpus returns them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

__all__ = ["Corpus"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts with their labels, in the order in which they were read.

    Parameters
    ----------
    name : str
        What the corpus is called in reports.
    texts : tuple of str
        One text a document; a text may be empty.
    labels : tuple of str or None
        One label a document, or None where the documents are not labelled.
    titles : tuple of str or None, default=None
        A short name a document, for showing results: a function's name, a file's path.
    parts : tuple of str or None, default=None
        ``"train"`` or ``"test"`` a document, where the corpus comes with a split of its own.

    Examples
    --------
    >>> corpus = Corpus("pets", ("the cat sat", "the dog ran", "a dog barked"), ("cat", "dog", "dog"))
    >>> len(corpus), corpus.classes
    (3, ('cat', 'dog'))
    >>> corpus.class_counts()
    {'cat': 1, 'dog': 2}
    """

    name: str
    texts: tuple[str, ...]
    labels: tuple[str, ...] | None
    titles: tuple[str, ...] | None = None
    parts: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for field in ("labels", "titles", "parts"):
            values = getattr(self, field)
            if values is not None and len(values) != len(self.texts):
                raise ValueError(
                    f"Expected as many {field} as texts ({len(self.texts)}), got {len(values)}. "
                    f"Pass one per text, or None for a corpus without {field}."
                )

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, {len(self)} documents, {len(self.classes)} classes)"

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted; empty for a corpus without labels."""
        return tuple(sorted(set(self.labels or ())))

    def class_counts(self) -> dict[str, int]:
        """Count the documents of each class, in the order of `classes`."""
        counts = Counter(self.labels or ())
        return {label: counts[label] for label in self.classes}
