import pytest

from treewass.bench.results.ablation import ablation_markdown, draw_losses, loss_markdown

from .rows import ABLATION


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
