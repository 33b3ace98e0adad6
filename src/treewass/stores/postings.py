"""An index as Parquet files that any SQL engine searches exactly, and from which it is read back."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import check_choice, check_integer
from treewass.compute.extras import require
from treewass.documents.histograms import check_counts
from treewass.search.held_documents import AnyIndex, documents_of
from treewass.search.index import TreeIndex
from treewass.storage.folders import flush
from treewass.trees.embedding import embed_units, refuse_unknown, unknown_rows
from treewass.trees.exports import from_json, to_json
from treewass.trees.metric import TreeMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["read_postings", "search_sql", "write_postings"]

_VERSION = 1
_GROUP = 1 << 17  # rows that a file describes together: engines skip those without a feature of the query
_OWN = ("doc", "known", "norm")
_SOURCES = {
    "duckdb": "read_parquet({})",
    "clickhouse": "file({}, Parquet)",
    "spark": "parquet.{}",
}
_SQL = """\
WITH query AS (SELECT * FROM {values}),
shared AS (
  SELECT postings.doc AS doc, sum(least(postings.value, query.value)) AS units
  FROM {postings} AS postings JOIN query ON postings.feature = query.feature
  GROUP BY postings.doc)
SELECT doc, units, units * CAST('{resolution!r}' AS DOUBLE) AS distance FROM (
  SELECT documents.doc AS doc, CAST(documents.norm + {norm} - 2 * coalesce(shared.units, 0) AS BIGINT) AS units
  FROM {documents} AS documents LEFT JOIN shared ON documents.doc = shared.doc
  WHERE documents.known) AS compared
ORDER BY units, doc LIMIT {k}"""


def write_postings(
    index: AnyIndex, folder: str | os.PathLike[str], *, columns: Mapping[str, Sequence[Any]] | None = None
) -> None:
    """Write an index as Parquet files: vectors by feature, for SQL engines, and the words of the documents.

    Parameters
    ----------
    index : TreeIndex or ShardedIndex
        Any index.
    folder : path-like
        Made, all of it or nothing; it must not be there yet, or be empty. ``documents.parquet`` holds `doc` (the id),
        `known` (whether there is a known word) and `norm`; ``postings.parquet`` holds `feature`, `doc` and `value`, in
        units of the metric's `resolution`; ``words.parquet`` holds `doc`, `word` and `weight`; ``metric.json`` is the
        metric.
    columns : mapping of str to sequence, optional
        Further columns of ``documents.parquet``, such as ``{"label": labels}``, in the order of ``index.ids``.

    See Also
    --------
    search_sql : The query that finds the nearest documents in these files.
    read_postings : The index again.
    """
    target, more = Path(folder), dict(columns or {})
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"Expected a new or empty folder to write to, but {target} holds something.")
    ids, counts = index.ids, documents_of(index, beyond=True)
    for name, values in more.items():
        if name in _OWN or len(values) != ids.size:
            raise ValueError(
                f"Expected further columns of {ids.size} values, one per document, with names other than "
                f"{', '.join(_OWN)}, got {name!r} of {len(values)}."
            )
    metric = index.metric
    counts_known = counts[:, : metric.n_words]
    units = embed_units(metric, counts_known)
    known = ~np.isin(np.arange(ids.size), unknown_rows(metric, counts_known))
    norms = np.asarray(units.sum(axis=1, dtype=np.int64))
    about = {
        "version": _VERSION,
        "metric": metric.digest,
        "next_id": index.next_id,
        "n_columns": counts.shape[1],
    }
    new = target.parent / f".treewass-{uuid.uuid4().hex}.postings"
    new.mkdir(parents=True)
    try:
        _write(new / "documents.parquet", {"doc": ids, "known": known, "norm": norms, **more}, about)
        by_feature = units.tocsc()
        features = np.repeat(np.arange(units.shape[1], dtype=np.int32), np.diff(by_feature.indptr))
        _write(
            new / "postings.parquet", {"feature": features, "doc": ids[by_feature.indices], "value": by_feature.data}
        )
        rows = np.repeat(ids, np.diff(counts.indptr))
        _write(new / "words.parquet", {"doc": rows, "word": counts.indices.astype(np.int32), "weight": counts.data})
        (new / "metric.json").write_text(to_json(metric), encoding="utf-8")
        for path in (*new.iterdir(), new):
            flush(path)
        new.replace(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    flush(target.parent)


def read_postings(folder: str | os.PathLike[str], *, n_jobs: int | None = None) -> TreeIndex:
    """Read an index that `write_postings` wrote.

    Parameters
    ----------
    folder : path-like
        The folder given to `write_postings`.
    n_jobs : int, optional
        Threads for a batch of queries.

    Returns
    -------
    TreeIndex
        The same metric, ids and documents; it gives no id again that the other one gave.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from treewass.trees import star_tree
    >>> index = TreeIndex(TreeMetric(star_tree(3)))
    >>> ids = index.add([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> with TemporaryDirectory() as folder:
    ...     write_postings(index, folder)
    ...     read_postings(folder).search([[2, 1, 0]], k=2)[1]
    array([[1, 0]])
    """
    from scipy.sparse import csr_array

    path = Path(folder)
    about = _read_about(path)
    metric = from_json((path / "metric.json").read_text(encoding="utf-8"))
    if not isinstance(metric, TreeMetric) or metric.digest != about["metric"]:
        raise ValueError(f"Expected the metric of the postings in {path / 'metric.json'}, but it is another one.")
    ids = _read(path / "documents.parquet", "doc")[0]
    docs, words, weights = _read(path / "words.parquet", "doc", "word", "weight")
    places = np.minimum(np.searchsorted(ids, docs), max(ids.size - 1, 0))
    if docs.size and not (ids.size and np.array_equal(ids[places], docs)):
        raise ValueError(f"Expected words of the documents listed in {path}, but words.parquet names others.")
    counts = csr_array((weights, (places, words)), shape=(ids.size, about["n_columns"]))
    index = TreeIndex(metric, n_jobs=n_jobs)
    index.add(counts, ids)
    last = about["next_id"] - 1
    if last >= 0 and last not in index:
        index.add(csr_array(([1.0], ([0], [int(np.argmax(metric.known_words))])), shape=(1, metric.n_words)), [last])
        index.remove([last])
    return index


def search_sql(engine: str, folder: str | os.PathLike[str], metric: TreeMetric, x: Any, k: int = 10) -> str:
    """Write the SQL query that finds the nearest documents of one text in files of `write_postings`, exactly.

    Parameters
    ----------
    engine : {"duckdb", "clickhouse", "spark"}
        Whose SQL to write.
    folder : path-like
        Where the engine finds the files; an address such as ``"s3://bucket/folder"`` where it reads those.
    metric : TreeMetric
        That of the index.
    x : sparse matrix or array-like of shape (1, n_words)
        Counts or weights, with at least one known word.
    k : int, default=10
        Neighbours to find, at least 1.

    Returns
    -------
    str
        It gives `doc`, `units` (the distance as a whole number of the metric's `resolution`) and `distance`, in the
        order of distance and id: the same as `TreeIndex.search`. Join ``documents`` with tables of yours, or add to
        its ``WHERE``, to search among some documents only.

    Examples
    --------
    >>> from treewass.trees import star_tree
    >>> print(search_sql("duckdb", "news", TreeMetric(star_tree(3), fraction_bits=2), [[1, 0, 1]], k=5))
    WITH query AS (SELECT * FROM (VALUES (0, 2), (2, 2)) AS entries(feature, value)),
    shared AS (
      SELECT postings.doc AS doc, sum(least(postings.value, query.value)) AS units
      FROM read_parquet('news/postings.parquet') AS postings JOIN query ON postings.feature = query.feature
      GROUP BY postings.doc)
    ...
    ORDER BY units, doc LIMIT 5
    """
    check_choice("engine", engine, _SOURCES)
    place = os.fspath(folder)
    if Path(place, "documents.parquet").exists() and _read_about(Path(place))["metric"] != metric.digest:
        raise ValueError(f"Expected the metric of the postings in {place}, got another one.")
    counts = check_counts(x, n_words=metric.n_words, caller="TreeMetric")
    if counts.shape[0] != 1:
        raise ValueError(f"Expected one document, got {counts.shape[0]} rows. Write a query for each.")
    refuse_unknown(metric, counts, "x")
    units = embed_units(metric, counts)
    return _SQL.format(
        values=_values(engine, units),
        postings=_source(engine, f"{place}/postings.parquet"),
        documents=_source(engine, f"{place}/documents.parquet"),
        norm=int(units.data.sum(dtype=np.int64)),
        resolution=metric.resolution,
        k=check_integer("k", k),
    )


def _values(engine: str, units: csr_array) -> str:
    """Write the entries of the query as a table; one that no document has where there are none."""
    pairs = list(zip(units.indices.tolist(), units.data.tolist(), strict=True)) or [(-1, 0)]
    entries = ", ".join(map(str, pairs))
    if engine == "clickhouse":
        return f"VALUES('feature Int32, value Int32', {entries})"
    return f"(VALUES {entries}) AS entries(feature, value)"


def _source(engine: str, place: str) -> str:
    """Name a Parquet file; quotes in its name are doubled, or refused where the engine reads them in another way."""
    if "\0" in place or (engine == "clickhouse" and "\\" in place):
        raise ValueError(f"Expected a folder whose name {engine} can read, got {place!r}.")
    quote = "`" if engine == "spark" else "'"
    return _SOURCES[engine].format(quote + place.replace(quote, quote * 2) + quote)


def _write(path: Path, columns: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> None:
    arrow = require("pyarrow", extra="stores", purpose="write_postings")
    parquet = require("pyarrow.parquet", extra="stores", purpose="write_postings")
    table = arrow.table({name: arrow.array(values) for name, values in columns.items()})
    if about is not None:
        table = table.replace_schema_metadata({"treewass": json.dumps(about)})
    parquet.write_table(table, path, row_group_size=_GROUP, compression="zstd")


def _read(path: Path, *names: str) -> list[NDArray[Any]]:
    parquet = require("pyarrow.parquet", extra="stores", purpose="read_postings")
    table = parquet.read_table(path, columns=list(names))
    return [table[name].to_numpy() for name in names]


def _read_about(folder: Path) -> dict[str, Any]:
    """Read what the files say of themselves; refuse those of a later version, and other files."""
    parquet = require("pyarrow.parquet", extra="stores", purpose="read_postings")
    path = folder / "documents.parquet"
    if not path.exists():
        raise ValueError(f"Expected a folder of write_postings, but there is no {path}.")
    try:
        found = (parquet.read_schema(path).metadata or {}).get(b"treewass", b"{}")
    except (OSError, ValueError) as error:
        raise ValueError(f"Expected a Parquet file, but {path} is none or damaged: {error}.") from error
    about: dict[str, Any] = json.loads(found)
    if about.get("version") != _VERSION:
        raise ValueError(f"Expected postings of version {_VERSION} in {path}, found {about.get('version')!r}.")
    return about
