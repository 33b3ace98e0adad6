"""Rows made by hand, for tables and figures."""

from treewass.trees import Tree, TreeMetric, to_json
from treewass_bench.rows import Row


def row(benchmark, measures, **case):
    return Row(benchmark, case, measures, "", environment={})


def tree_row(method, tree, masses=None):
    measures = {"words": "cello piano violin", "tree": to_json(TreeMetric(tree, masses))}
    return row("synthetic", measures, measure="tree", method=method, seed=0)


SYNTHETIC = [
    *(
        row(
            "synthetic",
            {
                "error_percent": error,
                "nearest_error_percent": error / 2,
                "words_without_vector": "contrabass harpsichord" if method != "stw" else "",
            },
            measure="error",
            method=method,
            seed=seed,
        )
        for method, errors in (("quadtree", (2.0, 4.0)), ("stw", (0.0, 0.0)))
        for seed, error in enumerate(errors)
    ),
    tree_row("quadtree", Tree([-1], word_nodes=[0, 0, 0]), [0.0, 1.0, 1.0]),
    tree_row("tsw-1", Tree([-1, 0], [1.0, 2.0], [1, 1, 0], [0.5, 0.5, 1.0])),
    tree_row("stw", Tree([-1, 0, 0, 0], word_nodes=[1, 2, 2])),
]
DEPTH = [
    row("depth", {"error_percent": 6.0, "nodes": 156}, set="reuters", split=0, method="stw", depth=3),
    row("depth", {"error_percent": 5.0, "nodes": 781}, set="reuters", split=0, method="stw", depth=4),
    row("depth", {"error_percent": 9.0, "nodes": 90}, set="reuters", split=0, method="tsw-1", depth=4),
    row("accuracy", {"error_percent": 4.0}, set="reuters", split=0, method="stw"),
    row("accuracy", {"error_percent": 40.0}, set="reuters", split=1, method="stw"),
    row("accuracy", {"error_percent": 2.5}, set="reuters", split=0, method="profile"),
    row("accuracy", {"error_percent": 30.0}, set="twitter", split=0, method="stw"),
]
ABLATION = [
    row(
        "ablation",
        {
            "error_percent": 4.0,
            "kept_error_percent": 4.1,
            "documents": 200,
            "kept": 190,
            "smooth_2_percent": 5.0,
            "smooth_10_percent": 5.5,
            "soft_smooth_2_percent": 6.0,
            "soft_smooth_10_percent": 6.5,
            "best_epoch": 2,
            "losses": "0.5,-1.0,-1.5",
            "validation_losses": "0.4,-0.6,-0.5",
        },
        set="reuters",
        split=0,
        method="stw-default",
    )
]
DUPLICATES = [
    row(
        "duplicates",
        {"error_percent": 5.0, "kept_error_percent": 5.2, "documents": 200, "kept": 190},
        set="reuters",
        split=0,
        method="bow",
        vote="",
    )
]
