import numpy as np
import pytest

from treewass.learners import SupervisedTreeWasserstein
from treewass_bench import ablation
from treewass_bench.ablation import VARIANTS, ablation_cells, ablation_markdown, draw_losses, loss_markdown
from treewass_bench.accuracy import measure
from treewass_bench.datasets import load_split

from .stored_rows import ABLATION


def plain_vote(labels):
    """Take the label of more than half of 19 neighbours, of 17, …"""
    for k in range(len(labels), 0, -2):
        names, counts = np.unique(labels[:k], return_counts=True)
        if counts.max() > k / 2:
            return names[counts.argmax()]
    return labels[0]


@pytest.mark.parametrize(("variant", "smoothness"), VARIANTS)
def test_neighbours_under_a_variant_vote(folder, variant, smoothness):
    split = load_split("pets", 0, folder)
    learner = SupervisedTreeWasserstein(arity=2, depth=2, epochs=3).fit(split.X_train, split.y_train)
    found = ablation._predicted(learner, split, variant, smoothness)
    unknown = np.asarray(split.X_test.sum(axis=1)).ravel() == 0
    assert unknown.any()
    distances = learner.pairwise(split.X_test[~unknown], split.X_train, variant=variant, smoothness=smoothness)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :19]
    assert found[~unknown].tolist() == [plain_vote(split.y_train[row]) for row in nearest]
    names, counts = np.unique(split.y_train, return_counts=True)
    assert set(found[unknown]) == {names[counts.argmax()]}


def test_one_fit_gives_variants_and_losses(folder):
    (cell,) = ablation_cells(folder, ["pets"])
    found = cell.measure()
    assert found["error_percent"] == measure("stw-default", load_split("pets", 0, folder), folder)["error_percent"]
    assert {f"{variant.replace('-', '_')}_{smoothness:g}_percent" for variant, smoothness in VARIANTS} < set(found)
    losses, validation = ([float(loss) for loss in found[name].split(",")] for name in ("losses", "validation_losses"))
    assert len(losses) == len(validation) == 30
    assert losses[-1] < losses[0]
    assert found["best_epoch"] == 1 + int(np.argmin(validation))


def test_other_settings_are_part_of_the_case(folder):
    (cell,) = ablation_cells(folder, ["pets"], depth=1, epochs=2)
    assert cell.case["depth"] == 1
    assert len(cell.measure()["losses"].split(",")) == 2


def test_variants_stand_above_the_published_ones():
    assert ablation_markdown(ABLATION).splitlines()[2:10] == [
        "| soft-smooth-STW, α = 10, as trained | 6.5 |",
        "| soft-smooth-STW, α = 2 | 6.0 |",
        "| published soft-smooth-STW | 6.5 |",
        "| smooth-STW, α = 10, as trained | 5.5 |",
        "| smooth-STW, α = 2 | 5.0 |",
        "| published smooth-STW | 6.5 |",
        "| STW, margin 10 | 4.0 |",
        "| published STW | 4.4 |",
    ]


def test_losses_are_those_of_the_epoch_taken_and_of_the_last():
    assert loss_markdown(ABLATION).splitlines()[2:7] == [
        "| epoch of the lowest validation loss | 2 of 3 |",
        "| training loss there | -1.00 |",
        "| training loss in the end | -1.50 |",
        "| validation loss there | -0.60 |",
        "| validation loss in the end | -0.50 |",
    ]


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_same_rows_give_the_same_figure(tmp_path, ending):
    for name in "ab":
        draw_losses(ABLATION, tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
