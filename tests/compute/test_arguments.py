import numpy as np
import pytest

from treewass import TreeIndex, TreeMetric
from treewass.classify.metric_parameter import learn_metric
from treewass.compute.arguments import as_options, check_choice, check_integer, check_positive, did_you_mean
from treewass.compute.threads import count_threads
from treewass.distances import sinkhorn
from treewass.documents import make_documents
from treewass.trees import quadtree, star_tree


@pytest.mark.parametrize("value", [0, -1, 1.0, "1", None, True])
def test_integers_are_whole_and_large_enough(value):
    with pytest.raises(ValueError, match=f"k as an integer of at least 1, got {value!r}"):
        check_integer("k", value)
    assert check_integer("k", np.int32(3)) == 3
    assert check_integer("k", 0, least=0) == 0


@pytest.mark.parametrize("value", [0, -0.5, np.inf, np.nan, "1", None])
def test_positive_numbers_are_finite(value):
    with pytest.raises(ValueError, match="rate as a finite number above zero"):
        check_positive("rate", value)
    assert check_positive("rate", np.float32(0.5)) == 0.5


def test_only_a_name_that_is_much_alike_is_suggested():
    names = ["k", "offset", "where", "texts"]
    assert did_you_mean(" Text", names) == " (did you mean 'texts'?)"
    assert did_you_mean("other", names) == ""


@pytest.mark.parametrize("value", ["cubed", None, ["squared"]])
def test_choices_are_spelled_as_the_user_gives_them(value):
    with as_options({"cost": "--cost"}), pytest.raises(ValueError, match="--cost to be one of euclidean, squared"):
        check_choice("cost", value, ("euclidean", "squared"))
    assert check_choice("cost", "squared", ("euclidean", "squared")) == "squared"


@pytest.mark.parametrize(
    "refused",
    [
        lambda zero: check_choice("cost", zero, ("squared",)),
        count_threads,
        lambda zero: quadtree([[0.0], [1.0]], depth=zero),
        lambda zero: TreeIndex(TreeMetric(star_tree(2))).search([[1, 0]], zero),
        lambda zero: learn_metric(zero, None, None),
        lambda zero: make_documents(10, random_state=zero),
        lambda _: sinkhorn([[1, 1]], word_vectors=[[0.0], [1e9]], regularization=np.float64(1e-300)),
    ],
)
def test_numbers_of_numpy_are_shown_as_plain_ones(refused):
    with pytest.raises(ValueError, match=r"got (0\.0|1e-300)\b"):
        refused(np.float64(0))
