"""Finding documents for typed words, and for whole texts: which ranking answers, and what each hit shares with it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.documents.texts import excerpt
from treewass.explain.highlights import best_passage
from treewass.explain.hits import Hit, shared_branches
from treewass.model.inference import CountedTexts, describe_hit
from treewass.search.held_documents import rows_of
from treewass.search.numpy_ranking import rarity
from treewass.search.ranking import ranked_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.model.contents import Contents

__all__ = [
    "MOST_TYPED",
    "are_typed",
    "example_queries",
    "find_similar",
    "find_typed",
    "passage_of",
    "unknown_terms",
    "word_rarities",
]

MOST_TYPED = 64  # different words; a text of more is taken for a document: docs/guide/search.md says why
_SHORT, _SHORTEST = 5, 3  # letters of a word to which a suggestion differs by one letter, or by none
_EXAMPLES = 8  # queries of a model without classes
_SAMPLE = 1000  # documents that examples of queries are taken from


def are_typed(counted: CountedTexts, number: int) -> bool:
    """Tell whether a text is ranked by its words: it is short, and the model counts words."""
    return counted.held.counter.counts_words and len(counted.rows[number][0]) <= MOST_TYPED


def find_typed(
    counted: CountedTexts, texts: Sequence[str], k: int, *, where: NDArray[np.int64] | None = None, offset: int = 0
) -> list[list[Hit]]:
    """Find the best k documents for each of some typed texts after the first `offset`.

    Documents are ranked by the words they hold, and by topic, or for a text that is not typed (see `are_typed`) by the
    learned distance. Only documents whose ids are among `where` are found, unless it is None.
    """
    short = [number for number in range(len(counted.rows)) if are_typed(counted, number)]
    found = _nearest(counted, np.setdiff1d(counted.known, short).tolist(), k + offset, where)
    for number, ids, scores in _best(counted, short, k + offset, where):
        found[number] = [(int(n), {"score": float(score)}) for n, score in zip(ids, scores, strict=True) if score > 0]
    typed = [counted.held.counter.typed(text) for text in texts]
    return [_hits(counted, number, typed[number], entries[offset:]) for number, entries in enumerate(found)]


def find_similar(
    counted: CountedTexts, k: int, *, where: NDArray[np.int64] | None = None, offset: int = 0
) -> list[list[Hit]]:
    """Find the k documents nearest to each text after the first `offset`; a text without a known word has none.

    Only documents whose ids are among `where` are found, unless it is None.
    """
    words, names = counted.held.counter.words, counted.held.counter.names
    found = _nearest(counted, counted.known.tolist(), k + offset, where)
    return [
        _hits(counted, number, {words[word]: names[word] for word in counted.rows[number][0]}, entries[offset:])
        for number, entries in enumerate(found)
    ]


def _nearest(
    counted: CountedTexts, numbers: list[int], k: int, where: NDArray[np.int64] | None
) -> list[list[tuple[int, dict[str, float]]]]:
    found: list[list[tuple[int, dict[str, float]]]] = [[] for _ in counted.rows]
    if numbers:
        distances, ids = counted.nearest(numbers, k, where)
        for number, near, far in zip(numbers, ids.tolist(), distances.tolist(), strict=True):
            found[number] = [(one, {"distance": distance}) for one, distance in zip(near, far, strict=True)]
    return found


def _best(
    counted: CountedTexts, numbers: list[int], k: int, where: NDArray[np.int64] | None
) -> Iterable[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Rank documents for some texts; a process that has not loaded SciPy does not load it."""
    if not numbers:
        return  # weights that are no counts cannot be ranked
    rows = [counted.rows[number] for number in numbers]
    scores, ids = ranked_rows(counted.held.index, rows, k, where)
    yield from zip(numbers, ids, scores, strict=True)


def _hits(
    counted: CountedTexts, number: int, terms: dict[str, str], found: list[tuple[int, dict[str, Any]]]
) -> list[Hit]:
    """Describe what was found for a text, whose words are written as `terms` says, and what each document shares."""
    held = counted.held
    columns, shown = held.counter.columns, held.counter.spellings
    rows = rows_of(held.index, [one for one, _ in found])
    branches = shared_branches(held.index.metric, counted.rows[number], rows, held.counter.names)
    hits = []
    for (one, rank), (words, _), branch in zip(found, rows, branches, strict=True):
        own = set(words)
        there = tuple(islice((shown.get(term, term) for term in terms if columns.get(term) in own), MOST_TYPED))
        missing = tuple(islice((form for term, form in terms.items() if columns.get(term) not in own), MOST_TYPED))
        hits.append(describe_hit(held, one, **rank, words=there, missing=missing, branch=branch))
    return hits


def unknown_terms(held: Contents, text: str) -> dict[str, str | None]:
    """Return the words of a text that no document holds, each with the word most like it that some do, if any is.

    The words are written as in the text. A suggestion differs by two letters at most, or by one from a short word; of
    several, the most frequent is taken. Only the first 64 unknown words get one.
    """
    frequencies = held.index.statistics().frequencies
    known = held.counter
    found: dict[str, str | None] = {}
    for term, form in known.typed(text).items():
        column = known.columns.get(term)
        if column is None or column >= frequencies.size or not frequencies[column]:
            # A text can hold many, and each is compared with all words.
            other = _suggestion(term, known.words, frequencies) if len(found) < MOST_TYPED else None
            found[form] = known.spellings.get(other, other) if other else None
    return found


def word_rarities(held: Contents, terms: Iterable[str]) -> dict[str, float]:
    """Weigh known words, as they are shown, by how rare they are among the documents, as a share of the rarest."""
    whole, columns = held.index.statistics(), held.counter.shown_columns
    found = {term: rarity(int(whole.frequencies[columns[term]]), whole.n_documents) for term in terms}
    rarest = max(found.values(), default=1)
    return {term: value / rarest for term, value in found.items()}


def passage_of(held: Contents, hit: Hit, length: int) -> str:
    """Return the passage of a hit, on one line, whose words of the query are rarest; its start where it holds none."""
    text = hit.text or ""
    passage = best_passage(text, held.counter.spans(text), word_rarities(held, hit.words), length)
    return excerpt(passage, len(passage) + 1)


def example_queries(held: Contents) -> list[str | None]:
    """Return two words for each class that its documents hold more of than others, of a sample; None without any.

    Without classes they are the heaviest words of the branches with most words.
    """
    if not held.classes:
        return _branch_queries(held)
    labelled, names = held.documents.labelled, held.names
    sample = labelled[np.linspace(0, labelled.size - 1, min(labelled.size, _SAMPLE)).astype(np.intp)]
    codes, n_words = held.documents.codes_of(sample), held.index.metric.n_words
    rows, holders = rows_of(held.index, sample), np.zeros(n_words, dtype=np.intp)
    known = [np.array(words[: bisect_left(words, n_words)], dtype=np.intp) for words, _ in rows]
    for words in known:
        holders[words] += 1
    shared = np.array([word for word in np.flatnonzero(holders > 1).tolist() if names[word].isalpha()], np.intp)
    shares, masses = np.zeros((len(held.classes), shared.size)), held.index.metric.masses.mean(axis=0)
    for code, words, (_, counts) in zip(codes.tolist(), known, rows, strict=True):
        mass = masses[words] * counts[: words.size]
        _, places, own = np.intersect1d(shared, words, assume_unique=True, return_indices=True)
        shares[code, places] += mass[own] / (mass.sum() or 1.0)
    shares /= np.maximum(np.bincount(codes, minlength=len(held.classes)), 1)[:, None]
    lead = shares - (shares.sum(axis=0) - shares) / max(len(held.classes) - 1, 1)
    best = np.argsort(-lead, axis=1, kind="stable")[:, :2]
    return [
        " ".join(names[shared[place]] for place in row.tolist() if lead[code, place] > 0) or None
        for code, row in enumerate(best)
    ]


def _branch_queries(held: Contents) -> list[str | None]:
    """Return two words of each of the branches below the root that hold most: those that occur most, times mass."""
    tree, masses = held.index.metric.trees[0], held.index.metric.masses.mean(axis=0)
    frequencies = held.index.statistics().frequencies[: masses.size]
    weights = masses * np.where(frequencies > 1, frequencies, 0)
    names = held.names
    weights = np.where([name.isalpha() for name in names], weights, 0.0)
    below = [tree.subtree_words(child) for child in tree.children(0).tolist()]
    branches = sorted((words for words in below if words.size), key=lambda words: -weights[words].sum())
    best = [words[np.argsort(-weights[words], kind="stable")[:2]] for words in branches[:_EXAMPLES]]
    return [" ".join(names[word] for word in words.tolist() if weights[word] > 0) or None for words in best]


def _suggestion(term: str, words: Sequence[str], frequencies: NDArray[np.int64]) -> str | None:
    if len(term) < _SHORTEST or not term.isalpha():
        return None
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    most = 1 if len(term) <= _SHORT else 2
    near = extract(term, words[: frequencies.size], scorer=OSA.distance, score_cutoff=most, limit=None)
    ranked = [(apart, -int(frequencies[column]), word) for word, apart, column in near if frequencies[column]]
    return min(ranked)[2] if ranked else None
