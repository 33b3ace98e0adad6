"""``python -m treewass_bench pull``: how closely a calibrated vote stays to the plain one, on training documents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from treewass import TreeWassersteinClassifier
from treewass.classify import classifier
from treewass.classify.calibration import calibrate
from treewass.votes.pooled_vote import PULL, Pull
from treewass_bench.cells import Cell
from treewass_bench.datasets import PAPER_SETS, Split, load_split
from treewass_bench.few import drawn_rows
from treewass_bench.layout import figure, sets_of, table
from treewass_bench.methods import folds_of
from treewass_bench.rows import Row, Value
from treewass_bench.timing import one_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from treewass.votes.channels import ScoreChannel
    from treewass.votes.linear_scores import ChannelLearner

__all__ = ["PULL_SETS", "pull_cells", "pull_markdown"]

PULL_SETS = (*PAPER_SETS, "20news")
_SIZES = (20, 50, 200, None)  # labels; None: all
_FACTORS = {"/ 16": 1 / 16, "/ 4": 1 / 4, "× 4": 4.0, "× 16": 16.0}
_NOW = "now"
_PULLS = ("votes", "prior", "channels")
_DRAWS = 5
_MOST = 1000
_LEAST_PROBABILITY = 1e-15
_WRONG, _WRONG_SIZES = 20, (20, 50)  # per cent of the labels, numbers of labels
_PLAIN, _NEIGHBORS, _DEFAULT = "plain vote", "neighbours alone", "default"
_PROTOCOL = (
    "training documents of the first split in five parts, equal documents together; labels drawn from four of them, "
    f"one of each class first, and at most {_MOST} documents of the fifth asked about; one of the three pulls is "
    "multiplied or divided, or no label doubted, the others stay; the default classifier on the paper's words; no test "
    "document is read"
)

_WRONG_PROTOCOL = (
    f"as without wrong labels, but {_WRONG} % of the labels are changed to another one; errors on labels that are right"
)


def pull_cells(data: str | None = None, sets: Sequence[str] = PULL_SETS, draws: int = _DRAWS) -> list[Cell]:
    """List what is measured: draws of labels, each with every pull, then some with wrong labels among them.

    Examples
    --------
    >>> [cell.case["labels"] for cell in pull_cells(sets=["twitter"], draws=1)]
    [20, 50, 200, 'all', 20, 50]
    """
    right = [
        Cell(
            "pull",
            {"set": name, "labels": size or "all", "draw": draw},
            partial(_measured, name, size, draw, data),
            _PROTOCOL,
            3.0 if size else 30.0,
        )
        for draw in range(draws)
        for size in _SIZES
        for name in sets
    ]
    wrong = [
        Cell(
            "pull",
            {"set": name, "labels": size, "draw": draw, "wrong_percent": _WRONG},
            partial(_measured_wrong, name, size, draw, data),
            _WRONG_PROTOCOL,
            3.0,
        )
        for draw in range(draws)
        for size in _WRONG_SIZES
        for name in sets
    ]
    return [*right, *wrong]


def pulls() -> dict[str, Pull]:
    """List the pulls that are compared: those of now, those with one of the three changed, and those without doubt.

    Examples
    --------
    >>> pulls()["prior / 4"]
    Pull(votes=1.0, prior=5.0, channels=0.0125, doubt=0.2)
    """
    changed = {
        f"{name} {title}": PULL._replace(**{name: getattr(PULL, name) * factor})
        for name in _PULLS
        for title, factor in _FACTORS.items()
    }
    return {_NOW: PULL} | changed | {"no doubt": PULL._replace(doubt=0.0)}


def _measured(name: str, size: int | None, draw: int, data: str | None) -> dict[str, Value]:
    """Measure log-loss and error with every pull."""
    split, labelled, asked = _drawn(name, size, draw, data)
    measures: dict[str, Value] = {"documents": int(asked.size)}
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word
        for title, model in _models(split.X_train[labelled], split.y_train[labelled]):
            probabilities = model.predict_proba(split.X_train[asked])
            truth = np.searchsorted(model.classes_, split.y_train[asked])
            own = np.maximum(probabilities[np.arange(asked.size), truth], _LEAST_PROBABILITY)
            measures[f"log_loss, {title}"] = round(float(-np.log(own).mean()), 5)
            measures[f"error_percent, {title}"] = round(100 * float(np.mean(probabilities.argmax(axis=1) != truth)), 3)
    return measures


def _measured_wrong(name: str, size: int, draw: int, data: str | None) -> dict[str, Value]:
    """Measure errors with wrong labels among those learned from: of the plain vote, and with every pull."""
    split, labelled, asked = _drawn(name, size, draw, data)
    counts, labels = split.X_train[labelled], with_wrong(split.y_train[labelled], draw)
    queries, truth = split.X_train[asked], split.y_train[asked]

    def error(model: TreeWassersteinClassifier) -> float:
        return round(100 * float(np.mean(model.predict(queries) != truth)), 3)

    measures: dict[str, Value] = {"documents": int(asked.size)}
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", UserWarning)  # documents without a known word
        measures[f"error_percent, {_PLAIN}"] = error(TreeWassersteinClassifier(calibrate=False).fit(counts, labels))
        for voters, listening in ((_NEIGHBORS, False), (_DEFAULT, True)):
            for title, model in _models(counts, labels, listening):
                measures[f"error_percent, {voters}, {title}"] = error(model)
    return measures


def _drawn(
    name: str, size: int | None, draw: int, data: str | None
) -> tuple[Split, NDArray[np.intp], NDArray[np.intp]]:
    """Draw, among the training documents of the first split, those that are learned from and those asked about."""
    split = load_split(name, 0, data)
    others, held = folds_of(split.X_train, split.y_train, _DRAWS)[draw]
    labelled = drawn_rows(split.y_train, others, draw, size or others.size)
    return split, labelled, np.sort(np.random.default_rng(draw).permutation(held)[:_MOST])


def with_wrong(labels: NDArray[Any], draw: int) -> NDArray[Any]:
    """Change a fifth of the labels to another one of them.

    Examples
    --------
    >>> labels = np.array(list("aabbccaabb"))
    >>> int((with_wrong(labels, 0) != labels).sum())
    2
    """
    random = np.random.default_rng(draw)
    classes, codes = np.unique(labels, return_inverse=True)
    rows = random.permutation(labels.size)[: labels.size * _WRONG // 100]
    codes[rows] = (codes[rows] + random.integers(1, classes.size, rows.size)) % classes.size
    return np.asarray(classes[codes])


def _models(
    counts: csr_array, labels: NDArray[Any], linear: bool = True
) -> Iterator[tuple[str, TreeWassersteinClassifier]]:
    """Fit the classifier, and calibrate it again with every pull."""
    model = TreeWassersteinClassifier(linear=linear)
    with patch.object(classifier, "calibrate", wraps=calibrate) as calibrating:
        model.fit(counts, labels)
    prior, temperature, held, learners = calibrating.call_args.args
    remembered = [_Remembered(learner) for learner in learners]
    for title, pull in pulls().items():
        model.pooled_vote_, model.channels_, _ = calibrate(prior, temperature, held, remembered, pull)
        model.neighbor_vote_ = replace(model.neighbor_vote_, pool=model.pooled_vote_)
        yield title, model


class _Remembered:
    """A learner of a channel that learns from the same documents, with the same penalty, only once."""

    def __init__(self, learner: ChannelLearner) -> None:
        self.name, self.counted, self.codes = learner.name, learner.counted, learner.codes
        self._learner = learner
        self._prepared: dict[bytes, Callable[[float], ScoreChannel]] = {}

    def prepare(self, rows: NDArray[np.intp]) -> Callable[[float], ScoreChannel]:
        """Prepare to learn from some documents, as the learner does."""
        if rows.tobytes() not in self._prepared:
            self._prepared[rows.tobytes()] = cache(self._learner.prepare(rows))
        return self._prepared[rows.tobytes()]


def pull_markdown(rows: Iterable[Row]) -> str:
    """Lay out log-loss and error with every pull, and what they lead to.

    The rule: of the five values of a pull, that of the least log-loss, averaged over draws, numbers of labels and sets,
    replaces the one of now, if it is lower by more than one standard error. That error is of the mean over sets of the
    difference between both.
    """
    rows = [row for row in rows if row.benchmark == "pull"]
    own = [row for row in rows if "wrong_percent" not in row.case]
    now, error_now = _by_set(own, "log_loss", _NOW), _by_set(own, "error_percent", _NOW)
    lines = []
    for name in _PULLS:
        losses = {title: _by_set(own, "log_loss", f"{name} {title}") for title in _FACTORS}
        errors = {title: _by_set(own, "error_percent", f"{name} {title}") for title in _FACTORS}
        entries = {title: _entry(losses[title], errors[title]) for title in _FACTORS}
        best = min(losses, key=lambda title: float(losses[title].mean()))
        gains = now - losses[best]
        noise = float(gains.std(ddof=1) / np.sqrt(gains.size)) if gains.size > 1 else float("inf")
        chosen = best if gains.mean() > max(noise, 0.0) else _NOW
        down, up = ([entries[title] for title in _FACTORS if title.startswith(sign)] for sign in "/×")
        found = f"{best}: {gains.mean():+.4f} ± {noise:.4f}"
        lines.append((f"{name}, {getattr(PULL, name):g}", [*down, _entry(now, error_now), *up, found, chosen]))
    columns = ["/ 16", "/ 4", _NOW, "× 4", "× 16", "best other, log-loss saved", "chosen"]
    return table("log-loss (error in %)", columns, lines) + "\n" + _sizes_markdown(own) + "\n" + _wrong_markdown(rows)


def _sizes_markdown(rows: Sequence[Row]) -> str:
    """Lay out the log-loss by number of labels."""
    sizes = list(dict.fromkeys(row.case["labels"] for row in rows))
    lines = []
    for title in pulls():
        by_size = [_by_set([row for row in rows if row.case["labels"] == size], "log_loss", title) for size in sizes]
        lines.append((title, [figure(float(found.mean()), ".4f") for found in by_size]))
    return table("log-loss", [f"{size} labels" for size in sizes], lines)


def _wrong_markdown(rows: Sequence[Row]) -> str:
    """Lay out how far errors are from the plain vote's with wrong labels: in the mean, and on the set of the worst."""
    own = [row for row in rows if "wrong_percent" in row.case]
    columns = {f"{size} labels, {voters}": (size, voters) for size in _WRONG_SIZES for voters in (_NEIGHBORS, _DEFAULT)}
    lines = []
    for title in pulls() if own else ():
        entries = []
        for size, voters in columns.values():
            found: dict[str, list[float]] = {}
            for row in (row for row in own if row.case["labels"] == size):
                error, plain = (row.measures[f"error_percent, {key}"] for key in (f"{voters}, {title}", _PLAIN))
                found.setdefault(str(row.case["set"]), []).append(float(error or 0.0) - float(plain or 0.0))
            means = {name: float(np.mean(values)) for name, values in found.items()}
            worst = max(means, key=lambda name: means[name])
            noise = float(np.std(found[worst])) / max(1, len(found[worst]) - 1) ** 0.5
            entries.append(f"{np.mean(list(means.values())):+.1f} ({worst.upper()} {means[worst]:+.1f} ± {noise:.1f})")
        lines.append((title, entries))
    return table(f"error less the plain vote's, {_WRONG} % wrong", list(columns), lines)


def _by_set(rows: Sequence[Row], measure: str, title: str) -> NDArray[np.float64]:
    """Average a measure over draws, then over numbers of labels, for each set."""
    found = []
    for name in sets_of(rows):
        by_size: dict[Any, list[float]] = {}
        for row in (row for row in rows if row.case["set"] == name):
            by_size.setdefault(row.case["labels"], []).append(float(row.measures[f"{measure}, {title}"] or 0.0))
        found.append(float(np.mean([np.mean(values) for values in by_size.values()])))
    return np.array(found)


def _entry(losses: NDArray[np.float64], errors: NDArray[np.float64]) -> str:
    return f"{losses.mean():.4f} ({errors.mean():.2f})"
