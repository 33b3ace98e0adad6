"""``python -m treewass_bench search``: documents found by words taken from them, and hits of the same label."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from treewass import ProfileTreeWasserstein, TreeIndex
from treewass.compute.extras import require
from treewass.documents.synthetic import make_documents
from treewass.model.vectorizers import WordCounter
from treewass_bench.cells import Cell
from treewass_bench.datasets import load_set
from treewass_bench.layout import figure, sets_of, table
from treewass_bench.methods import load_network
from treewass_bench.rows import Row, Value
from treewass_bench.timing import alternate, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CHOSEN_ON",
    "DRAWN",
    "PROTOCOLS",
    "SEARCH_METHODS",
    "Question",
    "ask",
    "best_rows",
    "bm25_index",
    "search_cells",
    "search_markdown",
    "word_tokens",
]

PROTOCOLS = {"first 8": "the first 8 words", "3 words": "3 words", "1 word": "one word"}
SEARCH_METHODS = {
    "rank": "`TreeIndex.rank`",
    "bm25": "BM25 (bm25s)",
    "tfidf": "TF-IDF, cosine",
    "distance": "learned distance (`TreeIndex.search`)",
    "sentences": "sentence vectors (MiniLM)",
}
CHOSEN_ON = ("amazon", "classic", "reuters")  # the sets on whose training documents the weight of the topic was chosen
DRAWN = {"drawn 10^5": 100_000, "drawn 10^6": 1_000_000}  # collections that are drawn, and their documents
_DRAWN_WORDS = 20_000
_WITH_SENTENCES = ("bbcsport", "twitter")
_QUERIES, _K, _TIMED = 2000, 10, 200
_LEAST_LENGTH = 8  # words that are left of a document whose first ones are asked for
_HOLDERS = 10, 60  # documents that hold a word asked for alone
_FOUND = (
    "the training documents of the first split, lower case, all words, metric learned from them; up to 2000 queries "
    "drawn from them with seed 0: the first 8 words of a document, which are cut from every indexed document (8 are "
    "left at least), 3 different words of it, or a word that 10 to 60 documents hold; k = 10; found: the document is "
    "among the ten; label: share of the hits with its label; held: share of the hits that hold the one word; "
    "query_us: CPU time of a query, all in one batch, its embedding among it"
)
_CORNER = "the document is among ten / share of its label"
_TIMES = "200 of the 3-word and of the 8-word queries, one by one and in one batch, in turns, CPU time, one thread"

_DRAWN_TIMES = (
    "documents of 40 words drawn by Zipf's law from 20 000 words, half of each by topic; metric learned from 20 000 of "
    "them; 50 queries of 3 different words of a document, one by one and in one batch, in turns, CPU time, one thread"
)


@dataclass(frozen=True)
class Question:
    """A collection and queries to it.

    Parameters
    ----------
    counts, queries : csr_array
        Documents and queries, counted with one vocabulary.
    texts, query_texts : list of str
        The same as words with spaces between them.
    labels : ndarray of str
        Of the documents.
    sources : ndarray of int
        The document that each query was taken from.
    """

    counts: csr_array
    queries: csr_array
    texts: list[str]
    query_texts: list[str]
    labels: NDArray[np.str_]
    sources: NDArray[np.intp]


@lru_cache(maxsize=2)
def ask(name: str, protocol: str, data: str | None = None) -> Question:
    """Draw the queries of a protocol."""
    text_set = load_set(name, data)
    rows, random = text_set.train_rows[0], np.random.default_rng(0)
    words = [re.findall(r"(?u)\b\w+\b", text_set.corpus.texts[row].lower()) for row in rows]
    kept = [own[8:] for own in words] if protocol == "first 8" else words
    texts = [" ".join(own) for own in kept]
    counter = WordCounter().fitted(texts)
    counts = counter.count(texts)
    if protocol == "1 word":
        holders = np.asarray((counts > 0).sum(axis=0)).ravel()
        fitting = np.flatnonzero((holders >= _HOLDERS[0]) & (holders <= _HOLDERS[1]))
        chosen = random.choice(fitting, min(_QUERIES, fitting.size), replace=False)
        asked, sources = [counter.words[column] for column in chosen], np.zeros(chosen.size, dtype=np.intp)
    else:
        long = [row for row, own in enumerate(words) if len(kept[row]) >= _LEAST_LENGTH and len(set(own)) >= 3]
        sources = random.choice(long, min(_QUERIES, len(long)), replace=False)
        first = protocol == "first 8"
        picked = [words[row][:8] if first else random.choice(sorted(set(words[row])), 3, False) for row in sources]
        asked = [" ".join(own) for own in picked]
    return Question(counts, counter.count(asked), texts, asked, text_set.labels[rows], sources)


@lru_cache(maxsize=1)
def _index(name: str, protocol: str, data: str | None) -> TreeIndex:
    question = ask(name, protocol, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # documents that have no word left
        index = TreeIndex(ProfileTreeWasserstein().fit(question.counts, question.labels).metric_)
        index.add(question.counts)
    return index


def bm25_index(counts: csr_array) -> Any:
    """Make the index of bm25s, with the same k₁ and b as `rank`; it reads columns as tokens."""
    bm25s = require("bm25s", purpose="the benchmark of search")

    n_words = counts.shape[1]
    retriever = bm25s.BM25(k1=1.2, b=0.75, backend="numba")
    retriever.index((word_tokens(counts), {str(word): word for word in range(n_words)}), show_progress=False)
    retriever.activate_numba_scorer()
    return retriever


def word_tokens(counts: csr_array) -> list[list[int]]:
    """List the columns of each row, each as often as it counts."""
    bounds = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    return [np.repeat(counts.indices[a:b], counts.data[a:b].astype(int)).tolist() for a, b in bounds]


def _prepared(name: str, method: str, protocol: str, data: str | None) -> tuple[Callable[[int], Any], int]:
    """Return what finds ten documents for each of the first queries, -1 where there are fewer, and its bytes."""
    question = ask(name, protocol, data)
    if method == "rank":
        index = _index(name, protocol, data)
        index.rank(question.queries[:1], _K)  # makes what it keeps
        return (lambda n: index.rank(question.queries[:n], _K)[1]), index.n_bytes
    if method == "distance":
        index = _index(name, protocol, data)
        return (lambda n: _nearest(index, question.queries[:n])), index.n_bytes
    if method == "bm25":
        retriever = bm25_index(question.counts)
        return (lambda n: _retrieved(retriever, question.queries[:n])), _bm25_bytes(retriever)
    if method == "tfidf":
        from sklearn.feature_extraction.text import TfidfTransformer

        weigh = TfidfTransformer(sublinear_tf=True).fit(question.counts)
        weighed = csr_array(weigh.transform(question.counts))
        n_bytes = weighed.data.nbytes + weighed.indices.nbytes + weighed.indptr.nbytes
        return (lambda n: best_rows(weighed, weigh.transform(question.queries[:n]))), n_bytes
    encode = partial(load_network().encode, batch_size=32, show_progress_bar=False, normalize_embeddings=True)
    vectors = encode(question.texts)
    return (lambda n: best_rows(vectors, encode(question.query_texts[:n]))), vectors.nbytes


def _nearest(index: TreeIndex, queries: csr_array) -> NDArray[np.int64]:
    """Return the ten nearest documents of each query; none for one without a known word."""
    known = np.flatnonzero(queries @ index.metric.known_words.astype(float))
    found = np.full((queries.shape[0], _K), -1, dtype=np.int64)
    if known.size:
        found[known] = index.search(queries[known], _K)[1]
    return found


def _retrieved(retriever: Any, queries: csr_array) -> NDArray[np.int64]:
    """Return the ten documents that bm25s finds for each query."""
    found, scores = retriever.retrieve(word_tokens(queries), k=_K, show_progress=False, n_threads=0, return_as="tuple")
    return np.where(scores > 0, found, -1)


def _bm25_bytes(retriever: Any) -> int:
    return sum(retriever.scores[part].nbytes for part in ("data", "indices", "indptr"))


def best_rows(documents: Any, queries: Any) -> NDArray[np.int64]:
    """Return the ten documents of the largest inner product, -1 where it is not above 0."""
    found = []
    for start in range(0, queries.shape[0], 256):
        block = queries[start : start + 256] @ documents.T
        near = np.asarray(block.toarray() if hasattr(block, "toarray") else block)
        best = np.argsort(-near, axis=1, kind="stable")[:, :_K]
        found.append(np.where(np.take_along_axis(near, best, 1) > 0, best, -1))
    return np.concatenate(found)


def _quality(name: str, method: str, protocol: str, data: str | None) -> dict[str, Value]:
    """Measure what a method finds."""
    question = ask(name, protocol, data)
    answer, n_bytes = _prepared(name, method, protocol, data)
    answer(1)  # compiles what must be compiled
    start = time.process_time()
    found = answer(question.queries.shape[0])
    cost: dict[str, Value] = {
        "query_us": rounded(1e6 * (time.process_time() - start) / len(found)),
        "size_mb": rounded(n_bytes / 1e6),
    }
    hits, n_hits = found >= 0, np.maximum(1, (found >= 0).sum(axis=1))
    if protocol == "1 word":
        words = question.queries.indices
        columns = question.counts.tocsc()
        held = np.array(
            [np.isin(row, columns[:, [word]].indices).sum() for row, word in zip(found, words, strict=True)]
        )
        return {"queries": len(found), "held": round(float((held / _K).mean()), 4), **cost}
    places = (found == question.sources[:, None]) & hits
    same = (question.labels[found] == question.labels[question.sources][:, None]) & hits
    return {
        "queries": len(found),
        "found": round(float(places.any(axis=1).mean()), 4),
        "mrr": round(float((places / np.arange(1, _K + 1)).sum(axis=1).mean()), 4),
        "label": round(float((same.sum(axis=1) / n_hits).mean()), 4),
        **cost,
    }


def _times(name: str, protocol: str, data: str | None) -> dict[str, Value]:
    """Time single queries and batches on a set."""
    question, index = ask(name, protocol, data), _index(name, protocol, data)
    known = np.flatnonzero(question.queries @ index.metric.known_words.astype(float))[:_TIMED]
    return _compare_times(index, question.counts, question.queries[known], rounds=7)


def _drawn_times(n_documents: int) -> dict[str, Value]:
    """Time single queries and batches on documents drawn by Zipf's law, with topics."""
    counts, labels = make_documents(
        n_documents, n_words=_DRAWN_WORDS, words_per_document=40.0, topicality=0.5, random_state=0
    )
    random = np.random.default_rng(0)
    asked = [random.choice(counts[[row]].indices, 3, replace=False) for row in random.choice(n_documents, 50, False)]
    bounds, columns = np.arange(0, 3 * len(asked) + 1, 3, dtype=np.int32), np.sort(asked, axis=1).ravel()
    queries = csr_array((np.ones(columns.size), columns, bounds), shape=(len(asked), _DRAWN_WORDS))
    index = TreeIndex(ProfileTreeWasserstein().fit(counts[:20_000], labels[:20_000]).metric_)
    index.add(counts)
    known = np.flatnonzero(queries @ index.metric.known_words.astype(float))
    return _compare_times(index, counts, queries[known], rounds=3)


def _compare_times(index: TreeIndex, counts: csr_array, queries: csr_array, rounds: int) -> dict[str, Value]:
    """Time single queries and batches, in turns, and compare the sizes of indexes."""
    index.search(queries, _K)  # what it keeps for comparing counts as memory of today's index
    before = index.n_bytes
    index.rank(queries, _K)
    retriever, tokens = bm25_index(counts), word_tokens(queries)
    rows = [queries[[row]] for row in range(queries.shape[0])]
    ours, rival, distance = alternate(
        [
            lambda number: index.rank(rows[number], _K),
            lambda number: retriever.retrieve([tokens[number]], k=_K, show_progress=False, n_threads=0),
            lambda number: index.search(rows[number], _K),
        ],
        range(len(rows)),
        rounds=rounds,
        warm_up="each round",
    )
    batches = alternate(
        [
            lambda _: index.rank(queries, _K),
            lambda _: retriever.retrieve(tokens, k=_K, show_progress=False, n_threads=0),
            lambda _: index.search(queries, _K),
        ],
        rounds=rounds,
        warm_up="each round",
    )
    each = [1e6 * batch.median / len(rows) for batch in batches]
    return {
        "documents": len(index),
        "rank_us": rounded(ours.microseconds), "bm25_us": rounded(rival.microseconds),
        "distance_us": rounded(distance.microseconds), "rank_batch_us": rounded(each[0]),
        "bm25_batch_us": rounded(each[1]), "distance_batch_us": rounded(each[2]),
        "over_bm25": round(ours.over(rival)[0], 3), "batch_over_bm25": round(batches[0].over(batches[1])[0], 3),
        "over_distance": round(ours.over(distance)[0], 3),
        "batch_over_distance": round(batches[0].over(batches[2])[0], 3),
        "memory_over_distance": round(index.n_bytes / before, 3),
        "index_mb": rounded(index.n_bytes / 1e6),
        "bm25_mb": rounded(_bm25_bytes(retriever) / 1e6),
    }  # fmt: skip


def search_cells(
    data: str | None = None, sets: Sequence[str] = (), methods: Sequence[str] = (*SEARCH_METHODS, "times")
) -> list[Cell]:
    """List what is measured: the quality of each method on each set, then "times" beside BM25.

    Examples
    --------
    >>> [cell.case["protocol"] for cell in search_cells(sets=["twitter"], methods=["rank", "times"])]
    ['3 words', '1 word', '3 words']
    """
    cells = []
    for name in sets:
        if name in DRAWN:
            case = {"set": name, "protocol": "3 words", "method": "times"}
            work = partial(_drawn_times, DRAWN[name])
            cells.append(Cell("search", case, work, _DRAWN_TIMES, 300.0, alone=True))
            continue
        protocols = [one for one in PROTOCOLS if name != "twitter" or one != "first 8"]
        for protocol in protocols:
            for method in SEARCH_METHODS:
                if method in methods and (method != "sentences" or name in _WITH_SENTENCES):
                    case = {"set": name, "protocol": protocol, "method": method}
                    cells.append(Cell("search", case, partial(_quality, name, method, protocol, data), _FOUND, 10.0))
        for protocol in protocols:
            if "times" in methods and protocol != "1 word":
                case = {"set": name, "protocol": protocol, "method": "times"}
                cells.append(Cell("search", case, partial(_times, name, protocol, data), _TIMES, 10.0, alone=True))
    return cells


def search_markdown(rows: Iterable[Row]) -> str:
    """Lay out what was found, a table for each protocol, then times.

    Examples
    --------
    >>> case = {"set": "reuters", "protocol": "3 words", "method": "bm25"}
    >>> print(search_markdown([Row("search", case, {"found": 0.5, "mrr": 0.4, "label": 0.25}, "", environment={})]))
    | the document is among ten / share of its label, 3 words | REUTERS |
    |---|---|
    | BM25 (bm25s) | .500 / .250 |
    <BLANKLINE>
    """
    rows = list(rows)
    sets = sets_of([row for row in rows if row.case["set"] not in DRAWN])
    measured = {(row.case["set"], row.case["protocol"], row.case["method"]): row for row in rows}
    parts = []
    for protocol, title in PROTOCOLS.items():
        lines = []
        for method, method_title in SEARCH_METHODS.items():
            own = [measured.get((name, protocol, method)) for name in sets]
            if any(own):
                lines.append((method_title, [_shown(row) for row in own]))
        if lines:
            shown = "share of the ten that hold it" if protocol == "1 word" else _CORNER
            parts.append(table(f"{shown}, {title}", [name.upper() for name in sets], lines))
    lines = [
        (title, [_cost(measured.get((name, "3 words", method))) for name in sets])
        for method, title in SEARCH_METHODS.items()
    ]
    if any(shown != "–" for _, own in lines for shown in own):
        parts.append(
            table("µs for a query of 3 words in a batch / MB of the index", [name.upper() for name in sets], lines)
        )
    times = [row for row in rows if row.case["method"] == "times"]
    if times:
        parts.append(_time_table(times))
    return "\n".join(parts)


def _shown(row: Row | None) -> str:
    if row is None:
        return "–"
    if "held" in row.measures:
        return figure(row.measures["held"], ".3f").lstrip("0")
    return f"{figure(row.measures['found'], '.3f').lstrip('0')} / {figure(row.measures['label'], '.3f').lstrip('0')}"


def _cost(row: Row | None) -> str:
    if row is None or "query_us" not in row.measures:
        return "–"
    return f"{figure(row.measures['query_us'], '.0f')} / {figure(row.measures['size_mb'], '.1f')}"


def _time_table(times: Sequence[Row]) -> str:
    columns = {
        "rank_us": "rank", "bm25_us": "BM25", "over_bm25": "ratio",
        "rank_batch_us": "rank, batch", "bm25_batch_us": "BM25, batch", "batch_over_bm25": "ratio",
        "over_distance": "rank over `search`", "batch_over_distance": "the same, batch",
        "memory_over_distance": "memory over that of `search` alone",
    }  # fmt: skip
    lines = []
    for row in times:
        title = f"{str(row.case['set']).upper()}, {PROTOCOLS[str(row.case['protocol'])]}"
        own = [row.measures.get(key) for key in columns]
        shown = zip(columns, own, strict=True)
        lines.append(
            (title, ["–" if one is None else figure(one, ".2f" if "over" in key else ".0f") for key, one in shown])
        )
    return table("µs for a query", list(columns.values()), lines)
