"""What to go through by hand: labels that look wrong, and near-duplicates whose labels differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewass.report.oddities import oddities_of
from treewass.serve import answers

if TYPE_CHECKING:
    from treewass.model.contents import Contents

__all__ = ["review_of"]

_MOST_LOOKED_AT = 3000  # documents: more would take longer than a request may, and so would more bytes of text
_MOST_BYTES = 10_000_000
_MOST_SHOWN = 200


def review_of(held: Contents) -> answers.Review:
    """Review a model at one moment."""
    texts, count = held.documents.texts, _MOST_LOOKED_AT
    if texts is not None and texts.content.size:
        count = min(count, max(1, _MOST_BYTES * len(texts) // texts.content.size))  # by their mean length
    found = oddities_of(held, count)
    pairs = [pair for pair in found.duplicates if pair.first.label != pair.second.label]
    return answers.Review(
        documents=len(held.index),
        looked_at=found.n_looked_at,
        is_sample=found.is_sample,
        n_unknown=found.n_unknown,
        n_doubtful=len(found.suspects),
        doubtful=[answers.Doubt.model_validate(suspect) for suspect in found.suspects[:_MOST_SHOWN]],
        pairs=[answers.Pair.model_validate(pair) for pair in pairs[:_MOST_SHOWN]],
    )
