"""What a fitted model holds: an immutable value that every change replaces whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.compute.arguments import did_you_mean
from treewass.compute.threads import cached_property
from treewass.documents.filters import parse_filter
from treewass.documents.texts import Texts
from treewass.model.kept_columns import KeptColumn
from treewass.model.sklearn_counter import portable_parameters
from treewass.model.vectorizers import TextCounter
from treewass.search.held_documents import AnyIndex
from treewass.trees.metric import TreeMetric
from treewass.votes.channels import ScoreChannel
from treewass.votes.rules import NeighborVote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["Contents", "Documents", "MetricSettings"]

_UNSORTED = "all documents"  # what stands for the label where nothing has one
_NAMES = {"ProfileTreeWasserstein": "profile", "SupervisedTreeWasserstein": "stw", "TopicTreeWasserstein": "topics"}


@dataclass(frozen=True)
class Documents:
    """What a model keeps of the documents in the index.

    `ids`, ascending, are those in the index; `codes` are class numbers, -1 of a document without a label. A document
    without a title or a key has an empty one. Texts, titles or keys that the model does not keep are None. Weights say
    how many documents each counts as; None if all count as one.
    """

    ids: NDArray[np.int64]
    codes: NDArray[np.int32]
    texts: Texts | None = None
    titles: Texts | None = None
    keys: Texts | None = None
    columns: dict[str, KeptColumn] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Find the places of documents by their ids, which must be there."""
        return np.searchsorted(self.ids, ids)

    def codes_of(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Look up class numbers by ids, which must be there."""
        return self.codes[self.places(ids)].astype(np.intp)

    def weights_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Look up weights by ids, which must be there; None if all are one."""
        return None if self.weights is None else self.weights[self.places(ids)]

    @cached_property
    def labelled(self) -> NDArray[np.int64]:
        """The ids of the documents with a label, ascending."""
        return self.ids[self.codes >= 0]

    @property
    def voters(self) -> NDArray[np.int64] | None:
        """The ids of the documents with a label; None if all have one."""
        return None if self.labelled.size == self.ids.size else self.labelled

    @cached_property
    def key_ids(self) -> dict[str, int]:
        """The id of each key."""
        return {key: number for key, number in zip(self.keys or (), self.ids.tolist(), strict=False) if key}

    def without(self, ids: NDArray[np.int64]) -> Documents:
        """Return the others."""
        kept = ~np.isin(self.ids, ids)
        texts, titles, keys = (
            None if column is None else column.kept(kept) for column in (self.texts, self.titles, self.keys)
        )
        columns = {name: column.kept(kept) for name, column in self.columns.items()}
        weights = None if self.weights is None else self.weights[kept]
        return Documents(self.ids[kept], self.codes[kept], texts, titles, keys, columns, weights)

    def joined(self, other: Documents) -> Documents:
        """Return these and new documents, whose ids are larger; texts only if these have some."""
        sizes = self.ids.size, other.ids.size
        texts = None if self.texts is None or other.texts is None else self.texts.joined(other.texts)
        titles, keys = (
            _joined_texts(*columns, *sizes) for columns in ((self.titles, other.titles), (self.keys, other.keys))
        )
        columns = {
            name: self.columns.get(name, _nothing(sizes[0])).joined(other.columns.get(name, _nothing(sizes[1])))
            for name in {**self.columns, **other.columns}
        }
        ids, codes = np.concatenate([self.ids, other.ids]), np.concatenate([self.codes, other.codes])
        weights = None
        if self.weights is not None or other.weights is not None:
            pairs = zip((self.weights, other.weights), sizes, strict=True)
            weights = np.concatenate([np.ones(size) if some is None else some for some, size in pairs])
        return Documents(ids, codes, texts, titles, keys, columns, weights)


def _joined_texts(first: Texts | None, second: Texts | None, n_first: int, n_second: int) -> Texts | None:
    """Join two columns of texts, either of which may not be there: then its texts are empty."""
    if first is None and second is None:
        return None
    before = Texts.of([""] * n_first) if first is None else first
    return before.joined([""] * n_second if second is None else second)


def _nothing(count: int) -> KeptColumn:
    return KeptColumn.of([None] * count)


@dataclass(frozen=True, slots=True)
class MetricSettings:
    """How the metric of a model was made.

    Parameters
    ----------
    name : {"profile", "stw", "topics", "bow", "tfidf"} or None
        The metric's name; None for one that cannot be made from its name and parameters.
    class_name : str
        The class of the learner, or "TreeMetric" where nothing was learned.
    parameters : dict
        The learner's parameters.
    given_by_name : bool, default=False
        Whether the user gave the name, and not a learner.
    """

    name: str | None
    class_name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    given_by_name: bool = False

    @classmethod
    def of(cls, metric: Any, learner: Any) -> MetricSettings:
        """Describe a metric by the parameter `metric` of a model and the learner that was fitted, if there was one."""
        if learner is None:
            return cls(metric if isinstance(metric, str) else None, TreeMetric.__name__, {}, isinstance(metric, str))
        from treewass.classify.metric_parameter import metric_learner

        kind = type(learner)
        name = _NAMES.get(kind.__name__)
        if name is not None and type(metric_learner(name)) is not kind:
            name = None
        try:
            parameters = portable_parameters(learner, kind.__name__)
        except TypeError:
            name, parameters = None, {}
        parameters.pop("verbose", None)  # says something about one run, not about what was learned
        return cls(name, kind.__name__, parameters, metric is None or isinstance(metric, str))

    def as_parameter(self, learned: TreeMetric) -> Any:
        """Return the parameter `metric` of a model that is loaded: a name, a TreeMetric or these settings."""
        if self.name is None and self.class_name == TreeMetric.__name__:
            return learned
        return self.name if self.given_by_name else self

    def make(self) -> Any:
        """Make the learner again, unfitted; return the name of a metric that has no learner."""
        from treewass.classify.metric_parameter import metric_learner

        remedy = "Set model.metric to an unfitted learner."
        if self.name is None:
            raise ValueError(
                f"Expected a metric to learn with, but the settings of {self.class_name} are not in the model's "
                f"folder. {remedy}"
            )
        learner = metric_learner(self.name)
        try:
            return self.name if learner is None else type(learner)(**self.parameters)
        except TypeError as error:
            raise ValueError(
                f"Expected parameters of {self.class_name}, but the model was learned with others: {error}. {remedy}"
            ) from error


@dataclass(frozen=True, slots=True)
class Contents:
    """A fitted model.

    Parameters
    ----------
    counter : TextCounter
        Turns texts into counts.
    index : TreeIndex or ShardedIndex
        The documents under the metric.
    classes : tuple of str, or of int
        Labels, sorted; a class number is a place in it. None at all where the model was learned without labels.
    documents : Documents
    vote : NeighborVote
        How neighbours decide; without classes, how they would.
    metric_settings : MetricSettings
    history : tuple of dict
        What the learner reported while it learned.
    about : dict
        Name of the data, time of learning, version of treewass.
    evaluation : dict or None
        Figures on documents held out, as `Evaluation.to_dict` writes them.
    channels : dict of str to ScoreChannel
        What the vote listens to beside neighbours, in the order of its weights; they look at `count_terms`.
    linear : bool
        Whether a linear channel was asked for.
    word_vectors : str or None
        Where the word vectors came from.
    """

    counter: TextCounter
    index: AnyIndex
    classes: tuple[Any, ...]
    documents: Documents
    vote: NeighborVote
    metric_settings: MetricSettings
    history: tuple[dict[str, Any], ...] = ()
    about: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] | None = None
    channels: dict[str, ScoreChannel] = field(default_factory=dict)
    linear: bool = False
    word_vectors: str | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a `DocumentModel` that fits as this one was fitted."""
        metric = self.metric_settings.as_parameter(self.index.metric)
        return {
            "metric": None if metric == "topics" and not self.classes else metric,  # the default without labels
            "vectorizer": self.counter,
            "word_vectors": self.word_vectors,
            "n_neighbors": self.vote.n_neighbors,
            "vote": self.vote.kind,
            "calibrate": self.vote.pool is not None or not self.classes,
            "linear": self.linear,
            "keep_texts": self.documents.texts is not None,
            "random_state": self.metric_settings.parameters.get("random_state", 0),
        }

    @property
    def kind(self) -> str:
        """What the model is called where it has no name."""
        return "A model of labelled texts" if self.classes else "A model of texts"

    @property
    def grouped(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The ids of the documents with a label, ascending, and their labels; without labels all, as one group."""
        documents = self.documents
        if not self.classes:
            return documents.ids, np.full(documents.ids.size, _UNSORTED)
        return documents.labelled, np.array(self.classes)[documents.codes_of(documents.labelled)]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the metric; the counter knows those after them that were added later, too."""
        return self.counter.words[: self.index.metric.n_words]

    @property
    def names(self) -> tuple[str, ...]:
        """The words of the metric as they are shown to people: with their accents."""
        return self.counter.names[: self.index.metric.n_words]

    def count(self, texts: Sequence[str]) -> csr_array:
        """Count the metric's words in texts, shape (n_texts, n_words)."""
        return self.counter.count(texts)[:, : self.index.metric.n_words]

    def matching(self, where: Mapping[str, Any] | None) -> NDArray[np.int64] | None:
        """Return the ids of the documents that a filter lets through, ascending; None for no filter at all.

        A filter is what `parse_filter` reads, on ``id``, ``label`` and kept columns. A column that there is not, or a
        value of another kind, is a ValueError.
        """
        if where is None:
            return None
        kept = self.documents
        columns = {
            "id": KeptColumn(kept.ids, np.arange(kept.ids.size, dtype=np.int32)),
            "label": KeptColumn(self.classes, kept.codes),
            **kept.columns,
        }
        matching = np.ones(kept.ids.size, dtype=bool)
        for name, operator, value in parse_filter(where):
            if name not in columns:
                raise ValueError(
                    f"Expected a column among {', '.join(columns)}, got {name!r}{did_you_mean(name, columns)}."
                )
            try:
                matching &= columns[name].matches(operator, value)
            except ValueError as error:
                raise ValueError(f"The filter on {name!r} cannot be used. {error}") from None
        return kept.ids[matching]

    def id_of(self, id: int | None = None, key: str | None = None) -> int:
        """Return the id of a document that is named by its id or by its key; one that is not there is a ValueError."""
        if (id is None) == (key is None):
            given = "none of them" if id is None else "both"
            raise ValueError(f"Expected either the id or the key of a document, got {given}.")
        if key is not None:
            known = self.documents.key_ids
            if key not in known:
                hint = did_you_mean(
                    key, known.keys() & {key.strip(), key.lower(), key.upper()}
                )  # without a long search
                raise ValueError(f"No document in the model has the key {key!r}{hint}.")
            return known[key]
        if isinstance(id, bool) or id not in self.index:
            raise ValueError(f"No document in the model has id {id}.")
        return int(id)  # type: ignore[arg-type]

    def changed(self, **changes: Any) -> Contents:
        """Return the model with some parts replaced."""
        return replace(self, **changes)
