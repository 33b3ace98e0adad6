"""Learning a model from partitions: counted, sampled and indexed one by one, here or wherever an engine runs.

The data is read once. Words are counted by class and documents hashed, both of which add up; the words of each
document and its text are noted in files. The documents of the sample are taken from these, and the model is learned
from the counts of all and the sample. Then every document is indexed from its noted words. At no time are all texts in
memory, and no answer depends on the partitions.
"""

from __future__ import annotations

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
from treewass.documents.samples import DocumentSample, Sampling
from treewass.documents.texts import Texts
from treewass.learners.profile.class_counts import ClassCounting, ClassCounts
from treewass.model.contents import Contents, Documents
from treewass.model.fitting import learned_contents
from treewass.model.labelled_texts import class_numbers
from treewass.model.model_folder import data_name, load_contents, save_contents
from treewass.model.partition_notes import PartitionNotes, note_documents, remove_notes
from treewass.model.vectorizers import WordCounter, make_counter
from treewass.search.index import TreeIndex
from treewass.search.sharded_index import ShardedIndex
from treewass.storage.folders import replacing
from treewass.storage.tensors import file_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from treewass.documents.row_checks import Request
    from treewass.model.document_model import DocumentModel

__all__ = ["Engine", "PartitionSettings", "fit_partitions", "index_partitions", "load_once", "one_after_another"]

_LEARNED = "learned"  # the folder of a model of no documents, for whoever indexes some
_BLOCK = 4096  # documents counted at a time
_BYTES = 1 << 24  # of texts copied at a time
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
        Where the index and the texts are written to, for the engine and this process to see, and until then notes on
        each document, of 4 bytes a word. What is returned maps index and texts: save it before the folder is removed,
        or keep the folder.
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
    counts, sample, sizes, remarks = _count(partitions, counter, settings, engine, folder)
    if report is not None:
        for sentence in remark_sentences(remarks):
            report(sentence)
    numbers = range(len(partitions))
    texts, labels, weights = _collect(numbers, sample, engine, folder)
    learned = learned_contents(model, counter, counts, texts, labels, weights)
    del counts, texts
    save_contents(folder / _LEARNED, learned)
    tasks = _index_tasks(numbers, sizes, settings.shard_size)
    shards = _index(_index_notes, tasks, folder, engine, folder / _LEARNED, settings.shard_size)
    notes = [PartitionNotes.load(folder, number) for number in numbers]
    documents = _documents(notes, folder, learned.classes, model.keep_texts, partitions[0].request)
    remove_notes(folder, numbers)
    return learned.changed(index=_sharded(shards, folder, model.n_jobs), documents=documents)


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
    return _sharded(_index(_index_documents, tasks, folder, engine, model, shard_size), folder, None)


def _count_documents(partition: Partition) -> int:
    return sum(1 for _ in partition.documents())


def _index(
    function: Callable[..., list[str]],
    tasks: list[_IndexTask],
    folder: Path,
    engine: Engine,
    model: Path,
    shard_size: int,
) -> list[str]:
    """Index documents in shards below a folder; return their names."""
    shared = {"folder": folder, "model": model, "name": data_name(model), "shard_size": shard_size}
    return [shard for shards in engine(function, tasks, "indexing documents", **shared) for shard in shards]


def _sharded(names: Sequence[str], folder: Path, n_jobs: int | None) -> ShardedIndex:
    """Map the shards that were written."""
    if not names:
        raise ValueError("Expected documents to index, but the files hold none.")
    return ShardedIndex([TreeIndex.load(folder / name) for name in names], n_jobs=n_jobs)


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
    partitions: Sequence[Partition], counter: WordCounter, settings: PartitionSettings, engine: Engine, folder: Path
) -> tuple[ClassCounts, DocumentSample, list[int], Remarks]:
    """Count all partitions; return the sum, the sample, how many documents each holds, and remarks on the files."""
    sizes: list[int] = []

    def noted() -> Iterator[_Counted]:
        shared = {"counter": counter, "sample_size": settings.sample_size, "folder": folder}
        for counted in engine(_count_partition, list(enumerate(partitions)), "counting words", **shared):
            sizes.append(counted.n_documents)
            yield counted

    total = _added_up(noted())
    if total.n_documents == 0:
        raise ValueError(f"Expected documents, but {partitions[0].address} and the other files hold none.")
    return total.counts.most_frequent(settings.max_words), total.sample, sizes, total.remarks


def _count_partition(task: tuple[int, Partition], *, counter: WordCounter, sample_size: int, folder: Path) -> _Counted:
    """Count the words of one partition, hash its documents, and note both."""
    number, partition = task
    counting, sampling, remarks = ClassCounting(counter.tokens), Sampling(sample_size), Remarks()
    n_documents = note_documents(partition.documents(remarks), folder, number, counting, sampling)
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
    hashes: NDArray[np.uint64]
    texts: list[str]
    labels: list[str]


def _collect(
    numbers: Sequence[int], sample: DocumentSample, engine: Engine, folder: Path
) -> tuple[list[str], list[str], NDArray[np.float64] | None]:
    """Read the documents of the sample; return texts, labels and weights, None if all are one.

    All documents come in their order. A sample of them comes in the order of hashes, equal ones once with a weight.
    """
    wanted = None if sample.is_whole else sample.hashes
    found = list(engine(_collect_partition, numbers, "reading a sample", wanted=wanted, folder=folder))
    texts = [text for part in found for text in part.texts]
    labels = [label for part in found for label in part.labels]
    if wanted is None:
        return texts, labels, None
    _, rows = np.unique(np.concatenate([part.hashes for part in found]), return_index=True)
    weights = sample.copies.astype(np.float64)
    return [texts[row] for row in rows], [labels[row] for row in rows], None if (weights == 1).all() else weights


def _collect_partition(number: int, *, wanted: NDArray[np.uint64] | None, folder: Path) -> _Collected:
    """Read the documents of one partition whose hashes are wanted, each once; or all of them."""
    notes = PartitionNotes.load(folder, number)
    rows = np.arange(len(notes))
    if wanted is not None:
        distinct, first = np.unique(notes.hashes, return_index=True)
        rows = np.sort(first[np.isin(distinct, wanted)])
    labels = list(notes.classes)
    return _Collected(
        notes.hashes[rows],
        [notes.texts[row] for row in rows.tolist()],
        [labels[code] for code in notes.codes[rows].tolist()],
    )


class _IndexTask(NamedTuple):
    number: int
    parts: list[Any]  # partitions, or the numbers of those that are noted
    first_id: int


def _index_tasks(parts: Sequence[Any], sizes: Sequence[int], shard_size: int) -> list[_IndexTask]:
    """Put small partitions that follow each other together, up to the size of a shard."""
    tasks: list[_IndexTask] = []
    held = first_id = 0
    for part, size in zip(parts, sizes, strict=True):
        if not tasks or held + size > shard_size:
            tasks.append(_IndexTask(len(tasks), [], first_id))
            held = 0
        tasks[-1].parts.append(part)
        held, first_id = held + size, first_id + size
    return tasks


def _index_notes(task: _IndexTask, *, folder: Path, model: Path, name: str, shard_size: int) -> list[str]:
    """Index the noted documents of some partitions, in shards of bounded size."""
    held = load_once(model, name)
    return _write_shards(held, _counted_notes(held, folder, task.parts, shard_size), task, folder)


def _index_documents(task: _IndexTask, *, folder: Path, model: Path, name: str, shard_size: int) -> list[str]:
    """Index the documents of some partitions, in shards of bounded size."""
    held = load_once(model, name)
    return _write_shards(held, _counted_documents(held, task.parts, shard_size), task, folder)


def _counted_notes(held: Contents, folder: Path, numbers: Sequence[int], shard_size: int) -> Iterator[csr_array]:
    """Count the words of noted documents, as many at a time as a shard holds."""
    from scipy.sparse import vstack

    n_words, blocks, room = len(held.counter.words), list["csr_array"](), shard_size
    for number in numbers:
        notes = PartitionNotes.load(folder, number)
        columns, start = notes.columns(held.counter.columns), 0
        while start < len(notes):
            stop = min(start + room, len(notes))
            blocks.append(notes.counts(start, stop, columns, n_words))
            start, room = stop, room - (stop - start)
            if room == 0:
                yield vstack(blocks, format="csr")
                blocks, room = [], shard_size
    if blocks:
        yield vstack(blocks, format="csr")


def _counted_documents(held: Contents, partitions: Sequence[Partition], shard_size: int) -> Iterator[csr_array]:
    """Count documents as a model does, as many at a time as a shard holds."""
    from scipy.sparse import vstack

    documents = (document for partition in partitions for document in partition.documents())
    while block := list(islice(documents, min(_BLOCK, shard_size))):
        blocks, left = [held.counter.count([document.text for document in block])], shard_size - len(block)
        while left and (block := list(islice(documents, min(_BLOCK, left)))):
            blocks.append(held.counter.count([document.text for document in block]))
            left -= len(block)
        yield vstack(blocks, format="csr")


@lru_cache(maxsize=1)
def load_once(model: Path, name: str) -> Contents:  # noqa: ARG001 - another name is another model
    """Load a model by its folder and its `data_name`, once in each process."""
    return load_contents(model)


def _write_shards(held: Contents, counted: Iterable[csr_array], task: _IndexTask, folder: Path) -> list[str]:
    """Write a shard for each matrix of counts, under names of the task; return these.

    Every file is written under its own name in one step, so that a task that is done twice does no harm.
    """
    names, first_id = list[str](), task.first_id
    for counts in counted:
        names.append(f"shard-{task.number}-{len(names)}")
        _write_shard(held, counts, first_id, folder / names[-1])
        first_id += counts.shape[0]
    return names


def _write_shard(held: Contents, counts: csr_array, first_id: int, folder: Path) -> None:
    index = TreeIndex(held.index.metric)
    index.add(counts, np.arange(first_id, first_id + counts.shape[0]))
    index.save(folder)


def _documents(
    notes: Sequence[PartitionNotes], folder: Path, classes: tuple[Any, ...], keep_texts: bool, request: Request
) -> Documents:
    """Put together what a model keeps of the documents; the texts become one file, which is mapped."""
    codes = [class_numbers(list(one.classes), classes)[one.codes] for one in notes]
    texts = _joined_texts([one.texts for one in notes], folder / "texts") if keep_texts else None
    titles = Texts.of(title for one in notes for title in one.titles) if request.title is not None else None
    keys = Texts.of(key for one in notes for key in one.keys) if request.key is not None else None
    documents = Documents(np.arange(sum(map(len, notes))), np.concatenate(codes), texts, titles, keys)
    n_keys = 0 if keys is None else int((np.diff(keys.bounds) > 0).sum())
    if keys is not None and len(documents.key_ids) != n_keys:
        again = [key for key, times in Counter(keys).items() if key and times > 1]
        raise ValueError(
            "Expected keys that differ from each other, but some files have the same: "
            f"{first_few(list(map(repr, again)))}. Name another column, or none."
        )
    return documents


def _joined_texts(parts: Sequence[Texts], target: Path) -> Texts:
    """Write texts one after the other to a file, and map it."""
    with replacing(target) as path, path.open("wb") as whole:
        for part in parts:
            for start in range(0, part.content.size, _BYTES):
                whole.write(part.content[start : start + _BYTES].data)
    lengths = [np.zeros(1, np.int64), *(np.diff(part.bounds) for part in parts)]
    return Texts(file_bytes(target, mmap=True), np.cumsum(np.concatenate(lengths)))
