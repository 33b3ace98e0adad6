import pytest

from treewass.explain import Hit, PredictionExplanation, TypicalWord, WordSupport


def explained(**reasons):
    neighbors = (Hit(4, "pet", distance=1.0), Hit(5, "pet", distance=2.0), Hit(6, "car", distance=3.0))
    return PredictionExplanation("pet", (("pet", 0.8), ("car", 0.2)), neighbors, "car", **reasons)


def test_addends_name_what_counts_and_add_up_the_others():
    words = (WordSupport("cat", 2.0), WordSupport("purr", 1.0), *[WordSupport(f"w{n}", 0.01) for n in range(20)])
    found = explained(log_odds=3.5, neighbor_support=0.2, prior_support=0.1, words=words).addends()
    assert [name for name, _, _ in found] == ["words", "neighbours", "prior"]
    assert sum(support for _, support, _ in found) == pytest.approx(3.5)
    assert found[0][2].startswith("cat +2.00, purr +1.00, w0 +0.01")
    assert found[0][2].endswith("12 others, at most 0.01 each, +0.12")
    assert found[1][2].startswith("2 of 3 are pet, 1 car")


def test_a_few_near_neighbours_that_outweigh_the_others_are_said_to():
    assert explained(log_odds=1.0, neighbor_support=1.0).addends()[0][2].endswith("count more")
    said = explained(log_odds=1.0, neighbor_support=-0.6).addends()[0][2]
    assert said == "2 of 3 are pet, 1 car; nearer ones count more, so car outweighs pet"


def test_without_channels_neighbours_and_prior_are_all():
    assert [name for name, _, _ in explained(log_odds=1.0, neighbor_support=1.0).addends()] == ["neighbours", "prior"]


def test_weights_are_those_of_channels_or_of_typical_words():
    assert explained(words=(WordSupport("hot dog", 1.0),)).word_weights() == {"hot dog": 1.0}
    assert explained(typical=(TypicalWord("cat", 0.5, (0.2, 0.0)),)).word_weights() == {"cat": 0.5}


def test_a_word_speaks_for_the_class_that_has_more_of_it():
    assert TypicalWord("cat", 0.5, (0.3, 0.1)).weight == pytest.approx(0.25)
    assert TypicalWord("wheel", 0.5, (0.0, 0.4)).weight == -0.5
    assert TypicalWord("the", 0.5, (0.0, 0.0)).weight == 0.0
