"""Explain: transport plans, distances and predictions in words, and what the branches of a tree say."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.explain.branches import Branch, telling_branches
    from treewass.explain.pairs import BranchCost, Explanation, Move, explain_pair
    from treewass.explain.plan import TransportPlan, transport_plan
    from treewass.explain.predictions import Neighbor, PredictionExplanation, WordSupport, deciding_words

__all__ = [
    "Branch",
    "BranchCost",
    "Explanation",
    "Move",
    "Neighbor",
    "PredictionExplanation",
    "TransportPlan",
    "WordSupport",
    "deciding_words",
    "explain_pair",
    "telling_branches",
    "transport_plan",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "Branch": ".branches",
        "BranchCost": ".pairs",
        "Explanation": ".pairs",
        "Move": ".pairs",
        "Neighbor": ".predictions",
        "PredictionExplanation": ".predictions",
        "TransportPlan": ".plan",
        "WordSupport": ".predictions",
        "deciding_words": ".predictions",
        "explain_pair": ".pairs",
        "telling_branches": ".branches",
        "transport_plan": ".plan",
    },
)
