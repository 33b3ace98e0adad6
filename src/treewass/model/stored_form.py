"""The stored form of a model: JSON and arrays, and back, with every invariant checked; and a card for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from treewass.classify.metric_parameter import METRICS
from treewass.compute.arguments import counted_noun
from treewass.documents.texts import Texts
from treewass.model.contents import Contents, Documents, MetricSettings
from treewass.model.evaluation import Evaluation
from treewass.model.kept_columns import RESERVED, KeptColumn
from treewass.model.vectorizers import restore_counter
from treewass.search.held_documents import AnyIndex
from treewass.votes.channels import WEIGHINGS, ScoreChannel
from treewass.votes.pooled_vote import PooledVote
from treewass.votes.rules import VOTES, NeighborVote

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "COLUMN",
    "channel_files",
    "contents_from",
    "document_files",
    "dump_json",
    "model_card",
    "settings_of",
    "vocabulary_of",
]

COLUMN = "column:"  # begins the name of a column that the user named
_TINIEST, _TINIEST_SHARE = 1e-300, 1e-15  # a temperature, and a class's share of the training, are above
_MOST_CLASSES = 50  # in the table of a card
_CHANNEL_ARRAYS = {
    "columns": ("int64", 1),
    "factors": ("float32", 1),
    "weights": ("float32", 2),
    "intercepts": ("float32", 1),
}
_LARGEST_WEIGHT = 1e6  # of a vote in a pool; fitted ones are 10 at most


def dump_json(value: Any) -> str:
    """Write JSON for files: Unicode as it is, no infinities."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def settings_of(held: Contents) -> dict[str, Any]:
    """Collect what JSON holds of a model, its words aside."""
    pool = held.vote.pool
    return {
        "about": held.about,
        "classes": list(held.classes),
        "vectorizer": held.counter.settings(),
        "spellings": _spellings_of(held),
        "word_vectors": held.word_vectors,
        "metric": {
            "name": held.metric_settings.name,
            "class": held.metric_settings.class_name,
            "parameters": held.metric_settings.parameters,
            "given_by_name": held.metric_settings.given_by_name,
        },
        "vote": {
            "kind": held.vote.kind,
            "n_neighbors": held.vote.n_neighbors,
            "prior": held.vote.prior.tolist(),
            "temperature": float(held.vote.temperature),
            "pool": None
            if pool is None
            else {
                "temperatures": list(pool.temperatures),
                "weights": list(pool.weights),
                "prior_weight": pool.prior_weight,
                "channels": [
                    {"name": name, "weighing": channel.weighing, "weight": weight}
                    for (name, channel), weight in zip(held.channels.items(), pool.channel_weights, strict=True)
                ],
            },
            "linear": held.linear,
        },
        "history": list(held.history),
        "evaluation": held.evaluation,
    }


def vocabulary_of(held: Contents) -> list[str]:
    """List the words; one that `add` brought, and that no document holds any more, is forgotten: its place is kept."""
    forgotten = _forgotten(held)
    return [f"\0{column}" if column in forgotten else word for column, word in enumerate(held.counter.words)]


def _spellings_of(held: Contents) -> dict[str, str]:
    """Return how words are written, those that `vocabulary_of` lists."""
    columns, forgotten = held.counter.columns, _forgotten(held)
    spellings = held.counter.spellings.items()
    return {word: form for word, form in spellings if word in columns and columns[word] not in forgotten}


def _forgotten(held: Contents) -> frozenset[int]:
    """Return the columns of the words that `add` brought, and that no document holds any more."""
    n_words, n_learned = len(held.counter.words), held.index.metric.n_words
    if n_words == n_learned:
        return frozenset()
    are_held = np.flatnonzero(held.index.statistics().frequencies[n_learned:]) + n_learned
    return frozenset(range(n_learned, n_words)).difference(are_held.tolist())


def document_files(documents: Documents) -> dict[str, dict[str, NDArray[Any]]]:
    """Name the files of the documents, and the arrays in each.

    ``rows`` holds ids and class numbers; ``texts``, ``titles`` and ``keys``, where they are kept, hold bytes and
    bounds; ``column:name`` holds a column's distinct values, as numbers or as bytes and bounds, and the place of each
    document's value among them.
    """
    files: dict[str, dict[str, NDArray[Any]]] = {"rows": {"ids": documents.ids, "codes": documents.codes}}
    if documents.weights is not None:
        files["rows"]["weights"] = documents.weights
    for name, texts in (("texts", documents.texts), ("titles", documents.titles), ("keys", documents.keys)):
        if texts is not None:
            files[name] = _text_arrays(texts)
    for name, column in documents.columns.items():
        values = column.distinct
        arrays = _text_arrays(values) if isinstance(values, Texts) else {"values": np.asarray(values)}
        files[COLUMN + name] = {"codes": column.codes, **arrays}
    return files


def _text_arrays(texts: Texts) -> dict[str, NDArray[Any]]:
    return {"bytes": texts.content, "bounds": texts.bounds}


def channel_files(held: Contents) -> dict[str, dict[str, NDArray[Any]]]:
    """Name the channels of a model, and the arrays of each."""
    return {
        name: {array: getattr(channel, array) for array in _CHANNEL_ARRAYS} for name, channel in held.channels.items()
    }


def contents_from(
    index: AnyIndex,
    settings: Any,
    words: Any,
    files: dict[str, dict[str, NDArray[Any]]],
    channels: dict[str, dict[str, NDArray[Any]]],
) -> Contents:
    """Put a model together again, from its index, parsed JSON, and what `document_files` and `channel_files` name.

    A part that is not what it should be, or does not fit the others, is a ValueError.
    """
    _demand(isinstance(settings, dict), f"settings as an object, got {type(settings).__name__}")
    classes = _classes(settings.get("classes"))
    history, evaluation = settings.get("history"), settings.get("evaluation")
    source = settings.get("word_vectors")
    spellings = settings.get("spellings", {})  # not there in older models
    forms = spellings.values() if isinstance(spellings, dict) else [None]
    _demand(all(isinstance(form, str) for form in forms), f"the written forms of words, got {spellings!r:.60}")
    _demand(source is None or isinstance(source, str), f"the name of word vectors, got {source!r:.60}")
    _demand(isinstance(history, list) and all(isinstance(record, dict) for record in history), "a list of records")
    if evaluation is not None:
        evaluation = Evaluation.from_dict(evaluation).to_dict()
    vote = _object(settings, "vote")
    described = vote["pool"].get("channels", []) if isinstance(vote.get("pool"), dict) else []
    _demand(isinstance(described, list) and all(isinstance(entry, dict) for entry in described), "a list of channels")
    names = [entry.get("name") for entry in described]
    _demand(sorted(map(str, names)) == sorted(channels), f"the channels {sorted(channels)}, got {names}")
    return Contents(
        restore_counter(_object(settings, "vectorizer"), _words(words, index.metric.n_words), spellings),
        index,
        classes,
        _documents(index, files, len(classes)),
        _vote(vote, len(classes)),
        _metric(_object(settings, "metric")),
        tuple(history),
        {str(key): str(value) for key, value in _object(settings, "about").items()},
        evaluation,
        {entry["name"]: _channel(channels[entry["name"]], entry.get("weighing"), len(classes)) for entry in described},
        vote.get("linear") is True,
        source,
    )


def _channel(arrays: dict[str, NDArray[Any]], weighing: Any, n_classes: int) -> ScoreChannel:
    _demand(weighing in WEIGHINGS, f"a weighing among {', '.join(WEIGHINGS)}, got {weighing!r}")
    kinds = {name: (array.dtype.name, array.ndim) for name, array in arrays.items()}
    _demand(kinds == _CHANNEL_ARRAYS, f"the arrays of a channel, {_CHANNEL_ARRAYS}, got {kinds}")
    columns, factors, weights, intercepts = (arrays[name] for name in _CHANNEL_ARRAYS)
    sizes = factors.shape == columns.shape and weights.shape == (columns.size, n_classes)
    _demand(sizes and intercepts.shape == (n_classes,), "factors and weights for each term and class of a channel")
    _demand(not (columns[:1] < 0).any() and (np.diff(columns) > 0).all(), "terms of a channel in ascending order")
    numbers = (factors, weights, intercepts)
    _demand(all(np.isfinite(array).all() for array in numbers) and (factors >= 0).all(), "finite numbers in a channel")
    return ScoreChannel(str(weighing), columns, factors, weights, intercepts)


def _words(words: Any, count: int) -> list[str]:
    _demand(isinstance(words, list) and all(isinstance(word, str) for word in words), "a list of words")
    _demand(len(words) >= count, f"{count} words, as the metric has, or more, got {len(words)}")
    _demand(len(set(words)) == len(words), "words that differ from each other")
    return list(words)


def _classes(classes: Any) -> tuple[Any, ...]:
    _demand(isinstance(classes, list) and len(classes) != 1, f"at least two classes, or none, got {classes!r}")
    if not classes:
        return ()
    kinds = {type(label) for label in classes}
    _demand(kinds in ({str}, {int}), "classes that are all strings or all integers")
    _demand(all(one < other for one, other in pairwise(classes)), "classes in ascending order")
    _demand(kinds == {str} or -(2**63) <= classes[0] <= classes[-1] < 2**63, "classes that fit 64 bits")
    return tuple(classes)


def _documents(index: AnyIndex, files: dict[str, dict[str, NDArray[Any]]], n_classes: int) -> Documents:
    arrays = files["rows"]
    kinds = {name: (array.dtype.name, array.ndim) for name, array in arrays.items()}
    kinds.pop("weights", None)
    _demand(kinds == {"ids": ("int64", 1), "codes": ("int32", 1)}, f"ids and class numbers, got {kinds}")
    ids, codes, weights = arrays["ids"], arrays["codes"], arrays.get("weights")
    if weights is not None:
        sound = weights.dtype == np.float64 and weights.shape == ids.shape and bool(np.isfinite(weights).all())
        _demand(sound and bool((weights > 0).all()), "a finite weight above zero for each document")
    _demand(np.array_equal(ids, index.ids), "the ids that the index has")
    _demand(codes.size == ids.size, f"a class number for each of {ids.size} documents, got {codes.size}")
    _demand(not codes.size or (codes.min() >= -1 and codes.max() < n_classes), f"class numbers up to {n_classes - 1}")
    texts, titles, keys = (
        _texts(files[name], name, ids.size) if name in files else None for name in ("texts", "titles", "keys")
    )
    columns = {
        name.removeprefix(COLUMN): _kept_column(arrays, name.removeprefix(COLUMN), ids.size)
        for name, arrays in files.items()
        if name.startswith(COLUMN)
    }
    documents = Documents(ids, codes, texts, titles, keys, columns, weights)
    n_keys = 0 if keys is None else int((np.diff(keys.bounds) > 0).sum())
    _demand(len(documents.key_ids) == n_keys, "keys that differ from each other")
    return documents


def _kept_column(arrays: dict[str, NDArray[Any]], name: str, count: int) -> KeptColumn:
    """Check a column: distinct values that ascend, and a place among them, or -1, for each document."""
    _demand(name and name not in RESERVED, f"a name for a column, got {name!r}")
    kinds = {array: (values.dtype.name, values.ndim) for array, values in arrays.items()}
    codes, values = arrays.get("codes"), arrays.get("values")
    if codes is None or kinds["codes"] != ("int32", 1) or codes.size != count:
        raise ValueError(f"Expected a place for each of {count} documents in column {name!r}, got {kinds}.")
    distinct: Texts | NDArray[Any]
    if values is None:
        strings = {array: content for array, content in arrays.items() if array != "codes"}
        distinct = _texts(strings, name, None)
    else:
        _demand(
            set(kinds) == {"codes", "values"} and kinds["values"][0] in ("int64", "float64"), f"numbers in {name!r}"
        )
        distinct = values
        _demand(values.ndim == 1 and bool(np.isfinite(values).all()), f"finite numbers in column {name!r}")
    _demand(all(one < other for one, other in pairwise(distinct)), f"values that ascend in column {name!r}")
    _demand(not count or (codes.min() >= -1 and codes.max() < len(distinct)), f"places of values in column {name!r}")
    return KeptColumn(distinct, codes)


def _texts(arrays: dict[str, NDArray[Any]], name: str, count: int | None) -> Texts:
    """Check a column of strings: their bytes, one after the other, and where each begins."""
    kinds = {array: values.dtype.name for array, values in arrays.items()}
    _demand(kinds == {"bytes": "uint8", "bounds": "int64"}, f"{name} as bytes and bounds, got {kinds}")
    content, bounds = arrays["bytes"], arrays["bounds"]
    column = Texts(content, bounds)
    _demand(count in (None, len(column)), f"{name} of {count} documents, got {len(column)}")
    try:
        str(content.data, "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected {name} as UTF-8: {error}.") from error
    starts = content[bounds[:-1][bounds[:-1] < content.size]]
    _demand(not ((starts & 0xC0) == 0x80).any(), f"{name} that begin with a whole character")
    return column


def _vote(fields: dict[str, Any], n_classes: int) -> NeighborVote:
    kind, n_neighbors, pool = fields.get("kind"), fields.get("n_neighbors"), fields.get("pool")
    _demand(kind in VOTES, f"a vote among {', '.join(VOTES)}, got {kind!r}")
    _demand(type(n_neighbors) is int and n_neighbors >= 1, f"n_neighbors of at least 1, got {n_neighbors!r}")
    prior = np.array(_numbers(fields.get("prior"), n_classes, "prior"))
    shares = bool((prior > _TINIEST_SHARE).all()) and abs(prior.sum() - 1) < 1e-6
    _demand(shares or not n_classes, "class shares that add up to one")
    (temperature,) = _numbers([fields.get("temperature")], 1, "temperature")
    _demand(_TINIEST < temperature < 1 / _TINIEST, f"a temperature above 0, got {temperature}")
    if pool is None:
        return NeighborVote(str(kind), int(n_neighbors or 1), prior, temperature)
    _demand(isinstance(pool, dict) and kind == "distance" and n_classes, "a pool of distance votes")
    temperatures = _numbers(pool.get("temperatures"), None, "temperatures")
    weights = _numbers(pool.get("weights"), len(temperatures), "weights")
    (prior_weight,) = _numbers([pool.get("prior_weight")], 1, "prior_weight")
    listened = _numbers([entry.get("weight") for entry in pool.get("channels", [])], None, "weights of channels")
    _demand(
        all(_TINIEST < value < 1 / _TINIEST for value in temperatures)
        and all(0 <= value <= _LARGEST_WEIGHT for value in [*weights, *listened, prior_weight])
        and temperatures,
        f"a pool of votes with temperatures above 0 and weights from 0 to {_LARGEST_WEIGHT:g}",
    )
    pooled = PooledVote(prior, tuple(temperatures), tuple(weights), prior_weight, tuple(listened))
    return NeighborVote(str(kind), int(n_neighbors or 1), prior, temperature, pooled)


def _metric(fields: dict[str, Any]) -> MetricSettings:
    name, kind, parameters = (fields.get(field) for field in ("name", "class", "parameters"))
    given = fields.get("given_by_name", False)
    _demand(name is None or name in METRICS, f"the name of a metric, got {name!r}")
    _demand(isinstance(kind, str) and isinstance(parameters, dict), "class and parameters of a metric")
    _demand(given is False or (given is True and name is not None), "the name of a metric that was given by its name")
    return MetricSettings(name, str(kind), dict(parameters or {}), bool(given))


def _numbers(values: Any, count: int | None, name: str) -> list[float]:
    largest = sys.float_info.max
    sound = isinstance(values, list) and all(type(v) in (int, float) and -largest <= v <= largest for v in values)
    _demand(
        sound and count in (None, len(values)),
        f"finite numbers as {name}, {count or 'any'} of them, got {values!r:.60}",
    )
    return [float(value) for value in values]


def _object(fields: dict[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    _demand(isinstance(value, dict), f"an object as {name!r}, got {type(value).__name__}")
    return dict(value or {})


def _demand(holds: Any, expected: str) -> None:
    if not holds:
        raise ValueError(f"Expected {expected}: the model is damaged or was not written by `save`.")


def model_card(held: Contents) -> str:
    """Write the README of a model's folder: data, settings, error on held-out documents, date, version."""
    sections = (_opening_section, _error_section, _data_section, _settings_section, _use_section)
    return "\n\n".join(section(held) for section in sections) + "\n"


def _opening_section(held: Contents) -> str:
    about = held.about
    return (
        f"# {_plain(about.get('name', held.kind))}\n\n"
        f"A tree over {len(held.words)} words, learned from documents {'with' if held.classes else 'without'} labels, "
        f"and {counted_noun(len(held.index), 'document')} to find{_classes_named(held)}. "
        f"Learned {about.get('learned', 'at an unknown time')} with treewass {about.get('treewass', '(which?)')}."
    )


def _classes_named(held: Contents) -> str:
    return f" and to vote, in {len(held.classes)} classes" if held.classes else ""


def _error_section(held: Contents) -> str:
    if not held.classes:
        return "## Error\n\nNone: the model was learned without labels, and predicts none."
    if held.evaluation is None:
        return "## Error\n\nNot measured on held-out documents."
    figures = Evaluation.from_dict(held.evaluation)
    rows = [("**this model**", figures.error), *figures.rivals.items()]
    table = _table(("method", "error"), ((name, f"{100 * error:.1f} %") for name, error in rows))
    tested = counted_noun(figures.n_test, "document")
    return (
        f"## Error\n\nOn {tested} held out, learned from {figures.n_train} others:\n\n"
        f"{table}\n\n"
        f"{held.about.get('protocol', '')}"
    ).rstrip()


def _data_section(held: Contents) -> str:
    without, *counts = np.bincount(held.documents.codes + 1, minlength=len(held.classes) + 1).tolist()
    shown = [(_plain(label), count) for label, count in zip(held.classes, counts, strict=True)]
    table = _table(("class", "documents"), shown[:_MOST_CLASSES])
    more = f"\n\nand {len(shown) - _MOST_CLASSES} more classes." if len(shown) > _MOST_CLASSES else ""
    more += f"\n\nand {counted_noun(without, 'document')} without a label." if without else ""
    kept = "The texts are stored in this folder." if held.documents.texts is not None else "The texts are not stored."
    source = f"Data: {_plain(held.about['data'])}. " if "data" in held.about else ""
    if not held.classes:
        return f"## Data\n\n{source}{kept}"
    return f"## Data\n\n{source}{kept}\n\n{table}{more}"


def _settings_section(held: Contents) -> str:
    vote, metric, counter = held.vote, held.metric_settings, held.counter.settings()
    rows = [
        ("metric", metric.name or metric.class_name),
        ("metric: class", metric.class_name),
        *((f"metric: {name}", value) for name, value in metric.parameters.items() if value is not None),
        ("vectoriser", counter["kind"]),
        *((f"vectoriser: {name}", value) for name, value in counter.items() if name not in ("kind", "idf")),
        *([("word vectors", held.word_vectors)] if held.word_vectors is not None else []),
    ]
    if held.classes:
        rows += [
            ("neighbours", vote.n_neighbors),
            ("vote", f"{vote.kind}{', calibrated' if vote.pool is not None else ''}"),
            ("channels", ", ".join(held.channels) or "none"),
        ]
    return f"## Settings\n\n{_table(('setting', 'value'), ((name, _code(value)) for name, value in rows))}"


def _use_section(held: Contents) -> str:
    calls = 'model.predict(["a text"])\nmodel.search("a text", k=5)\nmodel.explain_prediction("a text")'
    commands = "predict`, `search"
    if not held.classes:
        calls, commands = 'model.search("some words", k=5)\nmodel.similar("a text", k=5)', "search`, `similar"
    return (
        "## Use\n\n```python\nfrom treewass import DocumentModel\n\n"
        'model = DocumentModel.load("path/of/this/folder")\n'
        f"{calls}\n```\n\n"
        f"Or `treewass {commands}`, `explain` and `report`. The files are JSON and safetensors; reading them "
        "runs no code, and `manifest.json` holds their hashes. This card can be edited; the next save replaces it."
        f"{'' if held.documents.texts is not None else ' Neighbours are shown by id only.'}"
    )


def _table(header: tuple[str, str], rows: Iterable[tuple[str, Any]]) -> str:
    lines = [f"| {header[0]} | {header[1]} |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    return "\n".join(lines)


def _code(value: Any) -> str:
    return "`" + str(value).replace("`", "'").replace("|", "\\|") + "`"


def _plain(value: Any) -> str:
    """Keep a value on one line, out of the way of Markdown's tables."""
    text = " ".join(str(value).split())
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
