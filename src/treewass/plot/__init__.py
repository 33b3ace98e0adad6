"""Pictures of trees, plans, confusions and learning (matplotlib), and a tree to click on (plotly)."""

from typing import TYPE_CHECKING

from treewass._lazy import attach

if TYPE_CHECKING:
    from treewass.plot.figures import confusion, history, save_picture
    from treewass.plot.interactive import interactive_tree
    from treewass.plot.plans import plan
    from treewass.plot.trees import tree

__all__ = ["confusion", "history", "interactive_tree", "plan", "save_picture", "tree"]
__getattr__, __dir__ = attach(
    __name__,
    {
        "confusion": ".figures",
        "history": ".figures",
        "interactive_tree": ".interactive",
        "plan": ".plans",
        "save_picture": ".figures",
        "tree": ".trees",
    },
)
