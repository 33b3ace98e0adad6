"""Learning a model from partitions: counted, sampled and indexed one by one, here or wherever an engine runs.

Three passes over the data. The first counts words by class and hashes documents; both add up. The second reads the
documents of the sample again, and the model is learned from the counts of all and the sample. The third indexes every
document and writes its text away. At no time are all texts in memory, and no answer depends on the partitions.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from treewass.compute.progress import show_progress
from treewass.documents.corpus_files import Remarks, remark_sentences
from treewass.documents.histograms import first_few
from treewass.documents.partitions import Partition
from treewass.documents.samples import DocumentSample, Sampling, document_hash
from treewass.documents.texts import Texts
from treewass.learners.profile.class_counts import ClassCounting, ClassCounts
from treewass.model.contents import Contents, Documents
from treewass.model.fitting import learned_contents
from treewass.model.labelled_texts import class_numbers
from treewass.model.model_folder import data_name, load_contents, save_contents
from treewass.model.vectorizers import WordCounter, make_counter
from treewass.search.index import TreeIndex
from treewass.search.sharded_index import ShardedIndex
from treewass.storage.folders import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treewass.documents.row_checks import Document
    from treewass.model.document_model import DocumentModel

__all__ = ["Engine", "PartitionSettings", "fit_partitions", "index_partitions", "load_once", "one_after_another"]

_LEARNED = "learned"  # the folder of a model of no documents, for whoever indexes some
_BLOCK = 4096  # documents counted at a time
_FEWEST = 2000  # documents of a sample: fewer make refinement worse than none


class Engine(Protocol):
    """Does the same with each of some tasks, wherever it likes."""

    def __call__(
        self, function: Callable[..., Any], tasks: Sequence[Any], description: str, **shared: Any
    ) -> Iterator[Any]:
        """Call a function of a module with each task and what they share; yield what it returns in their order."""


def one_after_another(
    function: Callable[..., Any], tasks: Sequence[Any], description: str, **shared: Any
) -> Iterator[Any]:
    """Do all tasks in this process, with a bar at a terminal: the engine of one machine.

    Examples
    --------
    >>> list(one_after_another(round, [1.26, 2.71], "rounding", ndigits=1))
    [1.3, 2.7]
    """
    with show_progress(description, len(tasks), sys.stderr.isatty()) as advance:
        for task in tasks:
            yield function(task, **shared)
            advance()


@dataclass(frozen=True, slots=True)
class PartitionSettings:
    """How a model is learned from partitions.

    Parameters
    ----------
    sample_size : int, default=50000
        Documents that the metric is refined on, and the vote calibrated: at least 2000. Where there are no more in all,
        the model is the one that `DocumentModel.fit` learns from all texts, in this order, to the bit.
    max_words : int, default=1000000
        The most words to know. Where there are more, words in fewer than m documents are left out, with the smallest m
        that leaves no more.
    shard_size : int, default=200000
        Documents in one shard of the index.
    """

    sample_size: int = 50_000
    max_words: int = 1_000_000
    shard_size: int = 200_000

    def __post_init__(self) -> None:
        if self.sample_size < _FEWEST:
            raise ValueError(
                f"Expected sample_size of at least {_FEWEST}, got {self.sample_size}: refined on fewer documents, the "
                "metric is worse than without."
            )
        if self.max_words < 1 or self.shard_size < 1:
            raise ValueError(f"Expected max_words and shard_size above zero, got {self.max_words}, {self.shard_size}.")


def fit_partitions(
    model: DocumentModel,
    partitions: Sequence[Partition],
    folder: Path,
    *,
    settings: PartitionSettings | None = None,
    engine: Engine = one_after_another,
    report: Callable[[str], None] | None = None,
) -> Contents:
    """Learn a model from files of documents, with the parameters of `model`.

    Parameters
    ----------
    model : DocumentModel
        Its metric must be ``"profile"``, its vectoriser the default or one that counts words alike.
    partitions : sequence of Partition
        Documents have ids in this order.
    folder : Path
        Where the index and the texts are written to, for the engine and this process to see. What is returned maps
        them: save it before the folder is removed, or keep the folder.
    settings : PartitionSettings, optional
    engine : callable, optional
        Does the work on each partition.
    report : callable, optional
        Takes each sentence on what was found out about the files, such as an encoding, once they are counted.

    Returns
    -------
    Contents
    """
    settings = settings or PartitionSettings()
    counter = _word_counter(model)
    counts, sample, sizes, remarks = _count(partitions, counter, settings, engine)
    if report is not None:
        for sentence in remark_sentences(remarks):
            report(sentence)
    texts, labels, weights = _collect(partitions, sample, engine)
    learned = learned_contents(model, counter, counts, texts, labels, weights)
    del counts, texts
    save_contents(folder / _LEARNED, learned)
    tasks = _index_tasks(partitions, sizes, settings.shard_size)
    shared = {"shard_size": settings.shard_size, "keep_texts": model.keep_texts}
    indexed = _index(tasks, folder, engine, folder / _LEARNED, **shared)
    return learned.changed(
        index=_sharded(indexed, folder, model.n_jobs), documents=_documents(indexed, folder, sum(sizes))
    )


def index_partitions(
    model: Path,
    partitions: Sequence[Partition],
    folder: Path,
    *,
    shard_size: int = 200_000,
    engine: Engine = one_after_another,
) -> ShardedIndex:
    """Index files of documents under the metric of a model, which is in a folder; ids are from 0 in their order.

    The index is mapped from `folder`: save it before that is removed.
    """
    sizes = list(engine(_count_documents, partitions, "counting documents"))
    tasks = _index_tasks(partitions, sizes, shard_size)
    indexed = _index(tasks, folder, engine, model, shard_size=shard_size, keep_texts=False)
    return _sharded(indexed, folder, None)


def _count_documents(partition: Partition) -> int:
    return sum(1 for _ in partition.documents())


def _index(tasks: list[_IndexTask], folder: Path, engine: Engine, model: Path, **shared: Any) -> list[_Indexed]:
    """Index documents in shards below a folder."""
    shared = {**shared, "folder": folder, "model": model, "name": data_name(model)}
    return list(engine(_index_documents, tasks, "indexing documents", **shared))


def _sharded(indexed: Sequence[_Indexed], folder: Path, n_jobs: int | None) -> ShardedIndex:
    """Map the shards that were written."""
    shards = [TreeIndex.load(folder / shard) for found in indexed for shard in found.shards]
    if not shards:
        raise ValueError("Expected documents to index, but the files hold none.")
    return ShardedIndex(shards, n_jobs=n_jobs)


def _word_counter(model: DocumentModel) -> WordCounter:
    """Return what counts the model's words; refuse what needs all texts at once."""
    counter = make_counter(model.vectorizer)
    wanted = model.metric if isinstance(model.metric, str) else type(model.metric).__name__
    if model.metric is not None and wanted not in ("profile", "ProfileTreeWasserstein"):
        raise ValueError(f'Expected the metric "profile", the one that is learned from counts, got {wanted!r}.')
    if not isinstance(counter, WordCounter):
        raise ValueError(
            "Expected a vectoriser that counts single words, since its terms are chosen by looking at all texts, got "
            f"{type(model.vectorizer).__name__}. Leave it out."
        )
    if model.word_vectors is not None:
        raise ValueError("Expected no word_vectors: from so many documents the words are learned without them.")
    return counter


class _Counted(NamedTuple):
    counts: ClassCounts
    sample: DocumentSample
    n_documents: int
    remarks: Remarks


def _count(
    partitions: Sequence[Partition], counter: WordCounter, settings: PartitionSettings, engine: Engine
) -> tuple[ClassCounts, DocumentSample, list[int], Remarks]:
    """Count all partitions; return the sum, the sample, how many documents each holds, and remarks on the files."""
    sizes: list[int] = []

    def noted() -> Iterator[_Counted]:
        shared = {"counter": counter, "sample_size": settings.sample_size}
        for counted in engine(_count_partition, partitions, "counting words", **shared):
            sizes.append(counted.n_documents)
            yield counted

    total = _added_up(noted())
    if total.n_documents == 0:
        raise ValueError(f"Expected documents, but {partitions[0].address} and the other files hold none.")
    return total.counts.most_frequent(settings.max_words), total.sample, sizes, total.remarks


def _count_partition(partition: Partition, *, counter: WordCounter, sample_size: int) -> _Counted:
    """Count the words of one partition, and hash its documents."""
    counting, sampling, n_documents = ClassCounting(counter.tokens), Sampling(sample_size), 0
    remarks: Remarks = {}
    for document in partition.documents(remarks):
        counting.add(document.text, document.label)
        sampling.add(document.text, document.label)
        n_documents += 1
    return _Counted(counting.counts(), sampling.sample(), n_documents, remarks)


def _added_up(found: Iterable[_Counted]) -> _Counted:
    """Add counts up as they come, those of about as many partitions with each other: words are merged seldom."""
    waiting: list[tuple[int, _Counted]] = []
    for counted in found:
        level = 0
        while waiting and waiting[-1][0] == level:
            counted, level = _sum(waiting.pop()[1], counted), level + 1
        waiting.append((level, counted))
    total = waiting.pop()[1]
    while waiting:
        total = _sum(waiting.pop()[1], total)
    return total


def _sum(first: _Counted, second: _Counted) -> _Counted:
    remarks = {
        remark: [*first.remarks.get(remark, ()), *second.remarks.get(remark, ())]
        for remark in (first.remarks | second.remarks)
    }
    n_documents = first.n_documents + second.n_documents
    return _Counted(first.counts + second.counts, first.sample + second.sample, n_documents, remarks)


class _Collected(NamedTuple):
    hashes: list[int]
    texts: list[str]
    labels: list[str]


def _collect(
    partitions: Sequence[Partition], sample: DocumentSample, engine: Engine
) -> tuple[list[str], list[str], NDArray[np.float64] | None]:
    """Read the documents of the sample; return texts, labels and weights, None if all are one.

    All documents come in their order. A sample of them comes in the order of hashes, equal ones once with a weight.
    """
    wanted = None if sample.is_whole else sample.hashes
    found = list(engine(_collect_partition, partitions, "reading a sample", wanted=wanted))
    hashes = np.array([value for part in found for value in part.hashes], dtype=np.uint64)
    texts = [text for part in found for text in part.texts]
    labels = [label for part in found for label in part.labels]
    if wanted is None:
        return texts, labels, None
    _, rows = np.unique(hashes, return_index=True)
    weights = sample.copies.astype(np.float64)
    return [texts[row] for row in rows], [labels[row] for row in rows], None if (weights == 1).all() else weights


def _collect_partition(partition: Partition, *, wanted: NDArray[np.uint64] | None) -> _Collected:
    """Read the documents of one partition whose hashes are wanted, each once; or all of them, without a hash."""
    hashes, texts, labels = list[int](), list[str](), list[str]()
    left = None if wanted is None else set(wanted.tolist())
    for document in partition.documents():
        if left is not None:
            value = document_hash(document.text, document.label)
            if value not in left:
                continue
            left.remove(value)
            hashes.append(value)
        texts.append(document.text)
        labels.append(str(document.label))
    return _Collected(hashes, texts, labels)


class _IndexTask(NamedTuple):
    number: int
    partitions: list[Partition]
    first_id: int


class _Indexed(NamedTuple):
    shards: list[str]
    codes: NDArray[np.int32]
    texts: str  # the file that they are in
    bounds: NDArray[np.int64] | None  # of the texts
    keys: Texts | None


def _index_tasks(partitions: Sequence[Partition], sizes: Sequence[int], shard_size: int) -> list[_IndexTask]:
    """Put small partitions that follow each other together, up to the size of a shard."""
    tasks: list[_IndexTask] = []
    held = first_id = 0
    for partition, size in zip(partitions, sizes, strict=True):
        if not tasks or held + size > shard_size:
            tasks.append(_IndexTask(len(tasks), [], first_id))
            held = 0
        tasks[-1].partitions.append(partition)
        held, first_id = held + size, first_id + size
    return tasks


def _index_documents(
    task: _IndexTask, *, folder: Path, model: Path, name: str, shard_size: int, keep_texts: bool
) -> _Indexed:
    """Index the documents of some partitions, in shards of bounded size, and write their texts away.

    Every file is written under its own name in one step, so that a task that is done twice does no harm.
    """
    held = load_once(model, name)
    documents = (document for partition in task.partitions for document in partition.documents())
    shards, keys = list[str](), list[str]()
    codes, lengths = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)]
    first_id, texts = task.first_id, f"texts-{task.number}"
    with replacing(folder / texts) as path, path.open("wb") as file:
        while chosen := list(islice(documents, shard_size)):
            shards.append(f"shard-{task.number}-{len(shards)}")
            _write_shard(held, chosen, first_id, folder / shards[-1])
            codes.append(class_numbers([document.label for document in chosen], held.classes))
            keys += [document.key or "" for document in chosen]
            if keep_texts:
                encoded = [document.text.encode() for document in chosen]
                lengths.append(np.array([len(text) for text in encoded], dtype=np.int64))
                file.writelines(encoded)
            first_id += len(chosen)
    bounds = np.cumsum(np.concatenate(lengths)) if keep_texts else None
    keyed = task.partitions[0].request.key is not None
    return _Indexed(shards, np.concatenate(codes), texts, bounds, Texts.of(keys) if keyed else None)


@lru_cache(maxsize=1)
def load_once(model: Path, name: str) -> Contents:  # noqa: ARG001 - another name is another model
    """Load a model by its folder and its `data_name`, once in each process."""
    return load_contents(model)


def _write_shard(held: Contents, documents: list[Document], first_id: int, folder: Path) -> None:
    from scipy.sparse import vstack

    blocks = [
        held.counter.count([document.text for document in documents[start : start + _BLOCK]])
        for start in range(0, len(documents), _BLOCK)
    ]
    index = TreeIndex(held.index.metric)
    index.add(vstack(blocks, format="csr"), np.arange(first_id, first_id + len(documents)))
    index.save(folder)


def _documents(indexed: Sequence[_Indexed], folder: Path, n_documents: int) -> Documents:
    """Put together what a model keeps of the documents; the texts become one file, which is mapped."""
    texts = keys = None
    if indexed[0].bounds is not None:
        ends = np.cumsum([0, *(int(found.bounds[-1]) for found in indexed if found.bounds is not None)])
        shifted = [f.bounds[1:] + end for f, end in zip(indexed, ends, strict=False) if f.bounds is not None]
        with replacing(folder / "texts") as path, path.open("wb") as whole:
            for found in indexed:
                with (folder / found.texts).open("rb") as part:
                    shutil.copyfileobj(part, whole, 1 << 20)
                (folder / found.texts).unlink()
        content = np.memmap(folder / "texts", np.uint8, "r") if ends[-1] else np.zeros(0, np.uint8)
        texts = Texts(content, np.concatenate([np.zeros(1, np.int64), *shifted]))
    if indexed[0].keys is not None:
        keys = Texts.of(key for found in indexed for key in found.keys or ())
    documents = Documents(np.arange(n_documents), np.concatenate([found.codes for found in indexed]), texts, None, keys)
    n_keys = 0 if keys is None else int((np.diff(keys.bounds) > 0).sum())
    if keys is not None and len(documents.key_ids) != n_keys:
        again = [key for key, times in Counter(keys).items() if key and times > 1]
        raise ValueError(
            "Expected keys that differ from each other, but some files have the same: "
            f"{first_few(list(map(repr, again)))}. Name another column, or none."
        )
    return documents
