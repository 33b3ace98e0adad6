"""Two methods on the same test documents: the ratio of their errors, and an interval for the difference."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treewass_bench.layout import table
from treewass_bench.methods import METHODS
from treewass_bench.rows import Row
from treewass_bench.timing import geometric_mean

__all__ = ["Comparison", "compare", "paired_markdown"]

_SETS = ("twitter", "amazon", "classic", "ohsumed", "reuters", "20news")  # two documents decide on BBCSPORT


class Comparison(NamedTuple):
    """A method beside another on a set: mean errors in per cent, and half the 95 % interval of their difference."""

    error: float
    other_error: float
    half_width: float
    splits: int

    @property
    def ratio(self) -> float:
        """The error over the other's."""
        return self.error / self.other_error

    @property
    def is_worse(self) -> bool:
        """Whether the error is larger, beyond the interval."""
        return self.error - self.other_error > self.half_width


def compare(rows: Iterable[Row], name: str, method: str, other: str) -> Comparison | None:
    """Compare two methods on the splits of a set that both were measured on; None if there are none.

    Parameters
    ----------
    rows : iterable of Row
        Of ``accuracy``.
    name : str
        The set.
    method, other : str
        Names of methods. Wrong labels are averaged over seeds, where there are several.

    Returns
    -------
    Comparison or None
        The interval is that of the difference of paired test documents, 1.96 standard errors. Random splits share
        documents, so that it is as wide as for one of them.
    """
    found: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row.case["set"] == name and row.case["method"] in (method, other) and "wrong" in row.measures:
            found.setdefault((str(row.case["method"]), int(str(row.case["split"]))), []).append(row)
    splits = sorted({split for _, split in found if (method, split) in found and (other, split) in found})
    if not splits:
        return None
    errors = [np.mean([_error(found[chosen, split]) for split in splits]) for chosen in (method, other)]
    apart = [_wrong(found[method, split]) - _wrong(found[other, split]) for split in splits]
    deviation = np.sqrt(np.mean([np.var(difference) / difference.size for difference in apart]))
    return Comparison(float(errors[0]), float(errors[1]), 196 * float(deviation), len(splits))


def _error(rows: Sequence[Row]) -> float:
    """Average the error over seeds."""
    return float(np.mean([float(str(row.measures["error_percent"])) for row in rows]))


def _wrong(rows: Sequence[Row]) -> NDArray[np.float64]:
    """Say how often each test document got a wrong label, over seeds; up to seven zeros follow the last one."""
    bits = [np.unpackbits(np.frombuffer(b64decode(str(row.measures["wrong"])), dtype=np.uint8)) for row in rows]
    return np.asarray(np.mean(bits, axis=0))


def paired_markdown(
    rows: Iterable[Row],
    method: str = "profile",
    others: Sequence[str] = ("svm", "svm-pairs"),
    sets: Sequence[str] = _SETS,
) -> str:
    """Lay out the error of a method over that of others, with the difference and its interval, and geometric means.

    Parameters
    ----------
    rows : iterable of Row
        Of ``accuracy``.
    method : str
        The method, ours by default.
    others : sequence of str
        Those it is compared with.
    sets : sequence of str
        By default those of the paper without BBCSPORT, where two documents decide, and 20NEWS.

    Returns
    -------
    str
        A table: ratio of errors, and difference ± half of its 95 % interval, in points.

    Examples
    --------
    >>> def row(method, error, wrong):
    ...     case = {"set": "reuters", "split": 0, "method": method}
    ...     return Row("accuracy", case, {"error_percent": error, "wrong": wrong}, "", environment={})
    >>> lines = paired_markdown([row("profile", 25.0, "gA=="), row("svm", 50.0, "wA==")]).splitlines()
    >>> lines[2].split("|")[6].strip(), lines[-1]
    ('0.50 (-25.0 ± 22.9)', 'linear SVM, TF-IDF: geometric mean over 1 set 0.500, worse beyond the interval on none.')
    """
    rows = list(rows)
    lines, sentences = [], []
    for other in others:
        found = {name: compare(rows, name, method, other) for name in sets}
        entries = [
            "–" if one is None else f"{one.ratio:.2f} ({one.error - one.other_error:+.1f} ± {one.half_width:.1f})"
            for one in found.values()
        ]
        known = {name: one for name, one in found.items() if one is not None}
        if known:
            lines.append((METHODS[other].title, entries))
            mean = geometric_mean([one.ratio for one in known.values()])
            worse = ", ".join(name for name, one in known.items() if one.is_worse) or "none"
            count = f"{len(known)} set{'s' * (len(known) > 1)}"
            sentences.append(
                f"{METHODS[other].title}: geometric mean over {count} {mean:.3f}, worse beyond the interval on {worse}."
            )
    titled = table(f"error of {METHODS[method].title} over that of", [name.upper() for name in sets], lines)
    return "\n".join([titled, *sentences])
