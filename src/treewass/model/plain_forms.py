"""The parts of a model as JSON and arrays, and back, with every invariant checked."""

from __future__ import annotations

import json
import math
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from treewass.classify.decision import VOTES, NeighborVote
from treewass.classify.pooling import PooledVote
from treewass.documents.texts import Texts
from treewass.model.contents import Contents, Documents
from treewass.model.evaluation import Evaluation
from treewass.model.vectorizers import restore_counter
from treewass.search.index import TreeIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["contents_from", "documents_arrays", "dump_json", "parse_json", "settings_of", "text_arrays"]

_TINIEST, _TINIEST_SHARE = 1e-300, 1e-15  # a temperature, and a class's share of the training, are above
_LARGEST_WEIGHT = 1e6  # of a vote in a pool; fitted ones are 10 at most


def dump_json(value: Any) -> str:
    """Write JSON for files: Unicode as it is, no infinities."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def parse_json(text: str, name: str) -> Any:
    """Read JSON, refusing infinities, and anything that is not JSON with a ValueError that names the file."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no number")

    def finite(digits: str) -> float:
        return value if math.isfinite(value := float(digits)) else refuse(digits[:20])

    try:
        return json.loads(text, parse_constant=refuse, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"Expected JSON in {name}, which cannot be read: {error}.") from error


def settings_of(held: Contents) -> dict[str, Any]:
    """Collect what JSON holds of a model, its words aside."""
    pool = held.vote.pool
    return {
        "about": held.about,
        "classes": list(held.classes),
        "vectorizer": held.counter.settings(),
        "learner": held.learner,
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
            },
        },
        "history": list(held.history),
        "evaluation": held.evaluation,
    }


def documents_arrays(documents: Documents) -> dict[str, NDArray[Any]]:
    """Name the arrays of ids and class numbers."""
    return {"ids": documents.ids, "codes": documents.codes}


def text_arrays(documents: Documents) -> dict[str, NDArray[Any]]:
    """Name the arrays of texts and titles; none if neither is kept."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, column in (("text", documents.texts), ("title", documents.titles)):
        if column is not None:
            arrays |= {f"{name}_bytes": column.content, f"{name}_bounds": column.bounds}
    return arrays


def contents_from(
    index: TreeIndex, settings: Any, words: Any, arrays: dict[str, NDArray[Any]], texts: dict[str, NDArray[Any]]
) -> Contents:
    """Put a model together again.

    Parameters
    ----------
    index : TreeIndex
        As loaded.
    settings, words : object
        As parsed from JSON.
    arrays, texts : dict of str to ndarray
        As read from files.

    Raises
    ------
    ValueError
        If a part is not what it should be, or does not fit the others.
    """
    _demand(isinstance(settings, dict), f"settings as an object, got {type(settings).__name__}")
    classes = _classes(settings.get("classes"))
    evaluation = settings.get("evaluation")
    if evaluation is not None:
        evaluation = Evaluation.from_dict(evaluation).to_dict()
    return Contents(
        restore_counter(_object(settings, "vectorizer"), _words(words, index.metric.n_words)),
        index,
        classes,
        _documents(index, arrays, texts, len(classes)),
        _vote(_object(settings, "vote"), len(classes)),
        _learner(_object(settings, "learner")),
        _history(settings.get("history")),
        {str(key): str(value) for key, value in _object(settings, "about").items()},
        evaluation,
    )


def _words(words: Any, count: int) -> list[str]:
    _demand(isinstance(words, list) and all(isinstance(word, str) for word in words), "a list of words")
    _demand(len(words) == count, f"{count} words, as the metric has, got {len(words)}")
    _demand(len(set(words)) == count, "words that differ from each other")
    return list(words)


def _classes(classes: Any) -> tuple[Any, ...]:
    _demand(isinstance(classes, list) and len(classes) >= 2, f"at least two classes, got {classes!r}")
    kinds = {type(label) for label in classes}
    _demand(kinds in ({str}, {int}), "classes that are all strings or all integers")
    _demand(all(one < other for one, other in pairwise(classes)), "classes in ascending order")
    _demand(kinds == {str} or -(2**63) <= classes[0] <= classes[-1] < 2**63, "classes that fit 64 bits")
    return tuple(classes)


def _documents(
    index: TreeIndex, arrays: dict[str, NDArray[Any]], texts: dict[str, NDArray[Any]], n_classes: int
) -> Documents:
    kinds = {name: (array.dtype.name, array.ndim) for name, array in arrays.items()}
    _demand(kinds == {"ids": ("int64", 1), "codes": ("int32", 1)}, f"ids and class numbers, got {kinds}")
    ids, codes = arrays["ids"], arrays["codes"]
    _demand(np.array_equal(ids, index.ids), "the ids that the index has")
    _demand(codes.size == ids.size, f"a class number for each of {ids.size} documents, got {codes.size}")
    _demand(
        not codes.size or (codes.min() >= 0 and codes.max() < n_classes), f"class numbers from 0 to {n_classes - 1}"
    )
    expected = [{f"{name}_bytes", f"{name}_bounds"} for name in ("text", "title")]
    known = [set(), expected[0], expected[1], expected[0] | expected[1]]
    _demand(set(texts) in known, f"texts and titles, got the arrays {sorted(texts)}")
    columns = [_column(texts, name, ids.size) for name in ("text", "title")]
    return Documents(ids, codes, *columns)


def _column(arrays: dict[str, NDArray[Any]], name: str, count: int) -> Texts | None:
    if f"{name}_bytes" not in arrays:
        return None
    content, bounds = arrays[f"{name}_bytes"], arrays[f"{name}_bounds"]
    _demand(content.dtype == np.uint8 and bounds.dtype == np.int64, f"the bytes and bounds of each {name}")
    column = Texts(content, bounds)
    _demand(len(column) == count, f"a {name} for each of {count} documents, got {len(column)}")
    try:
        str(content.data, "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected each {name} as UTF-8: {error}.") from error
    starts = content[bounds[:-1][bounds[:-1] < content.size]]
    _demand(not ((starts & 0xC0) == 0x80).any(), f"each {name} to begin with a whole character")
    return column


def _vote(fields: dict[str, Any], n_classes: int) -> NeighborVote:
    kind, n_neighbors, pool = fields.get("kind"), fields.get("n_neighbors"), fields.get("pool")
    _demand(kind in VOTES, f"a vote among {', '.join(VOTES)}, got {kind!r}")
    _demand(type(n_neighbors) is int and n_neighbors >= 1, f"n_neighbors of at least 1, got {n_neighbors!r}")
    prior = np.array(_numbers(fields.get("prior"), n_classes, "prior"))
    _demand(bool((prior > _TINIEST_SHARE).all()) and abs(prior.sum() - 1) < 1e-6, "class shares that add up to one")
    (temperature,) = _numbers([fields.get("temperature")], 1, "temperature")
    _demand(_TINIEST < temperature < 1 / _TINIEST, f"a temperature above 0, got {temperature}")
    if pool is None:
        return NeighborVote(str(kind), int(n_neighbors or 1), prior, temperature)
    _demand(isinstance(pool, dict) and kind == "distance", "a pool of distance votes")
    temperatures = _numbers(pool.get("temperatures"), None, "temperatures")
    weights = _numbers(pool.get("weights"), len(temperatures), "weights")
    (prior_weight,) = _numbers([pool.get("prior_weight")], 1, "prior_weight")
    _demand(
        all(_TINIEST < value < 1 / _TINIEST for value in temperatures)
        and all(0 <= value <= _LARGEST_WEIGHT for value in [*weights, prior_weight])
        and temperatures,
        f"a pool of votes with temperatures above 0 and weights from 0 to {_LARGEST_WEIGHT:g}",
    )
    pooled = PooledVote(prior, tuple(temperatures), tuple(weights), prior_weight)
    return NeighborVote(str(kind), int(n_neighbors or 1), prior, temperature, pooled)


def _learner(fields: dict[str, Any]) -> dict[str, Any]:
    name, kind, parameters = fields.get("name"), fields.get("class"), fields.get("parameters")
    _demand(name is None or isinstance(name, str), f"the name of a learner, got {name!r}")
    _demand(isinstance(kind, str) and isinstance(parameters, dict), "class and parameters of a learner")
    return {"name": name, "class": kind, "parameters": parameters}


def _history(records: Any) -> tuple[dict[str, Any], ...]:
    _demand(isinstance(records, list) and all(isinstance(record, dict) for record in records), "a list of records")
    return tuple(records)


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
    if not isinstance(value, dict):
        _demand(False, f"an object as {name!r}, got {type(value).__name__}")
    return dict(value or {})


def _demand(holds: Any, expected: str) -> None:
    if not holds:
        raise ValueError(f"Expected {expected}: the model is damaged or was not written by `save`.")
