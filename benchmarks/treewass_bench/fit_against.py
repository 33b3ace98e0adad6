"""``python -m treewass_bench fit --against SRC``: what this version's default costs beside another's, in one run."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import treewass
from treewass_bench.against import worker
from treewass_bench.datasets import load_set
from treewass_bench.rows import Row, Value
from treewass_bench.timing import Timing, rounded

__all__ = ["bench_fit_against"]

_ROUNDS = 3
_PROTOCOL = (
    f"median CPU seconds of {_ROUNDS} fits of each version, in turns, on the training texts of the first split, after "
    "one on a few; query is predict_proba of all test documents; the size is that of the pickled classifier, or of the "
    "saved model; one thread; low and high are quartiles of the ratio"
)


def bench_fit_against(
    source: str | os.PathLike[str], sets: Sequence[str], data: str | os.PathLike[str] | None = None
) -> Iterator[Row]:
    """Measure the default `TreeWassersteinClassifier` and `DocumentModel` of this version and of another.

    Parameters
    ----------
    source : path-like
        The folder that holds the other version's package, such as the ``src`` of a worktree.
    sets : sequence of str
        Names of text sets.
    data : path-like, optional
        Folder of the text sets; that of the variable TREEWASS_DATA by default.

    Yields
    ------
    Row
        One per set and estimator.
    """
    own = Path(treewass.__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder, worker(own) as new, worker(Path(source).resolve()) as old:
        place = str(Path(folder, "texts.json"))
        for name in sets:
            split = load_set(name, data).split(0)
            texts = {"texts": split.train_texts, "labels": split.y_train.tolist(), "queries": split.test_texts}
            Path(place).write_text(json.dumps(texts), encoding="utf-8")
            for estimator in ("TreeWassersteinClassifier", "DocumentModel"):
                found = [
                    [version.ask(order="fit", place=place, estimator=estimator) for version in (new, old)]
                    for _ in range(_ROUNDS)
                ]
                case: dict[str, Value] = {"case": "against", "set": name, "estimator": estimator}
                yield Row("fit", case, _measures(np.array(found)), _PROTOCOL)


def _measures(found: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> dict[str, Value]:
    """Sum up seconds of fits and queries, and megabytes, shape (rounds, 2 versions, 3)."""
    measures: dict[str, Value] = {}
    for place, name in enumerate(("fit", "query")):
        ours, theirs = (Timing(found[:, [version], place]) for version in range(2))
        ratio, low, high = ours.over(theirs)
        measures |= {f"{name}_seconds": rounded(ours.median), f"{name}_seconds_before": rounded(theirs.median)}
        measures |= {
            f"{name}_ratio": rounded(ratio),
            f"{name}_ratio_low": rounded(low),
            f"{name}_ratio_high": rounded(high),
        }
    return measures | {"megabytes": rounded(found[0, 0, 2]), "megabytes_before": rounded(found[0, 1, 2])}
