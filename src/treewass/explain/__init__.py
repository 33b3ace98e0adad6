"""Explain: transport plans, distances and predictions in words, and what the branches of a tree say."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.explain.branches import Branch, telling_branches
    from treewass.explain.outline import OutlineNode, OutlineWord, TreeOutline, tree_outline
    from treewass.explain.pairs import BranchCost, Explanation, Move, explain_pair
    from treewass.explain.plan import TransportPlan, transport_plan
    from treewass.explain.predictions import Neighbor, PredictionExplanation, WordSupport, deciding_words

__all__ = [
    "Branch",
    "BranchCost",
    "Explanation",
    "Move",
    "Neighbor",
    "OutlineNode",
    "OutlineWord",
    "PredictionExplanation",
    "TransportPlan",
    "TreeOutline",
    "WordSupport",
    "deciding_words",
    "explain_pair",
    "telling_branches",
    "transport_plan",
    "tree_outline",
]
__getattr__, __dir__ = attach(
    __name__,
    {
        "Branch": ".branches",
        "BranchCost": ".pairs",
        "Explanation": ".pairs",
        "Move": ".pairs",
        "Neighbor": ".predictions",
        "OutlineNode": ".outline",
        "OutlineWord": ".outline",
        "PredictionExplanation": ".predictions",
        "TransportPlan": ".plan",
        "TreeOutline": ".outline",
        "WordSupport": ".predictions",
        "deciding_words": ".predictions",
        "explain_pair": ".pairs",
        "telling_branches": ".branches",
        "transport_plan": ".plan",
        "tree_outline": ".outline",
    },
)
