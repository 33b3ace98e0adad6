import numpy as np
import pytest

from treewass.compute.arguments import as_options, check_choice, check_integer, check_positive, did_you_mean


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
