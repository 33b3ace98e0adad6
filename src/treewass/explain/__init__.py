"""Explain: transport plans between documents, and what the branches of a tree say."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.explain.branches import Branch, telling_branches
    from treewass.explain.plan import TransportPlan, transport_plan

__all__ = ["Branch", "TransportPlan", "telling_branches", "transport_plan"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "Branch": ".branches",
        "TransportPlan": ".plan",
        "telling_branches": ".branches",
        "transport_plan": ".plan",
    },
)
