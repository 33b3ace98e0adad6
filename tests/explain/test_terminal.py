import io
from dataclasses import replace

from rich.console import Console

from treewass.explain import Document, Explanation, Hit, Move, PredictionExplanation, TypicalWord, WordSupport
from treewass.explain.terminal import colored_text, pair_view, prediction_view
from treewass.explain.transport_plans import BranchCost


def printed(view, *, color=False):
    output = io.StringIO()
    Console(file=output, width=100, force_terminal=color, color_system="standard" if color else None).print(view)
    return output.getvalue()


PAIR = Explanation(
    2.0,
    (Move("cat", "cat", 0.5, 0.0),),
    tuple(Move(f"dog{number}", "[bold]car", 0.5 / 20, 0.1) for number in range(20)),
    (BranchCost(3, 0, 1.0, (0.5, 0.0), ("dog", "car")),),
)


def test_pairs_show_texts_moves_and_branches():
    view = pair_view(PAIR, ["a cat", "a [bold]car"], [[(2, 5, "cat")], []])
    text = " ".join(printed(view).split())
    for piece in (
        "Distance 2.0000 (0: the same words in the same shares); they share 50 % of the mass.",
        "Shared, of the mass: cat 50.0 %",
        "a [bold]car",
        "dog0",
        "The 12 costliest of 20 moves: 60 % of the distance",
        "dog, car",
        "The same distance by branch. This one, used more by one text than by the other, makes up 50 % of it.",
    ):
        assert piece in text
    several = pair_view(replace(PAIR, branches=PAIR.branches * 2), ["a", "b"], [[], []])
    assert "These two, used more" in " ".join(printed(several).split())
    assert text.index("Shared") < text.index("a cat") < text.index("What differs")
    assert "\x1b[" not in text
    assert "\x1b[1;32mcat" in printed(view, color=True)


def test_equal_documents_have_no_tables():
    text = printed(pair_view(Explanation(0.0, PAIR.shared, (), ()), ["a", "b"], [[], []]))
    assert "differs" not in text
    flat = printed(pair_view(Explanation(1.0, (), PAIR.moves[:1], ()), ["a", "b"], [[], []]))
    assert "They share no word." in flat
    assert "by branch" not in flat  # a tree without inner nodes has none


def test_shared_words_without_room_are_counted():
    shared = tuple(Move(f"w{number}", f"w{number}", 0.05, 0.0) for number in range(20))
    text = printed(pair_view(Explanation(0.0, shared, (), ()), ["a", "b"], [[], []]))
    assert " 8 more words 40.0 %" in " ".join(text.split())


def test_predictions_show_words_and_neighbours():
    prediction = PredictionExplanation(
        "pet", (("pet", 0.9), ("car", 0.1)),
        (Hit(4, "pet", None, "[red]text", distance=1.5), Hit(5, "car", "title", "its text", distance=2.5)), "car",
        2.0, 1.25, 0.25, (WordSupport("cat", 1.0), WordSupport("wheel", -0.5)),
    )  # fmt: skip
    view = prediction_view(prediction, "cat wheel", [(0, 3, "cat"), (4, 9, "wheel")])
    text = printed(view)
    for piece in (
        "Label pet",
        "car 10.0 %",
        "Why pet and not car: odds of 7.389 to 1",
        "cat +1.00, wheel -0.50",
        "+1.25",
        "1 of 2 are pet, 1 car",
        "+2.00",
        "[red]text",
        "title",
        "its text",
    ):
        assert piece in text
    colored = printed(view, color=True)
    assert "\x1b[1;32mcat" in colored
    assert "\x1b[1;31mwheel" in colored


def test_typical_words_show_how_common_they_are():
    typical = (TypicalWord("cat", 0.4, (0.5, 0.01)), TypicalWord("wheel", 0.6, (0.0, 0.25)))
    prediction = PredictionExplanation("pet", (("pet", 1.0), ("car", 0.0)), (), "car", typical=typical)
    text = " ".join(printed(prediction_view(prediction, "cat wheel", [])).split())
    assert "No neighbour votes for car" in text
    assert "Typical of pet: cat (50 % | 1 %): in so many documents of pet | car" in text
    assert "Typical of car: wheel (0 % | 25 %)" in text


def test_a_document_of_the_model_is_shown_with_the_label_that_it_has_there():
    def shown(label, **reasons):
        found = PredictionExplanation("pet", (("pet", 1.0),), (), document=Document(3, label), **reasons)
        return " ".join(printed(prediction_view(found, "cat", [])).split())

    assert "It is labelled [red]car in the model. It does not vote on itself." in shown("[red]car")
    heard = shown("car", words=(WordSupport("cat", 1.0),))
    assert "It does not vote on itself, and the weights of words were learned without it." in heard
    vectors = shown("car", words=(WordSupport("cat", 1.0),), silent=("vectors",))
    assert "learned without it. Channels that have learned from it are silent: vectors." in vectors
    assert "It has no label in the model, so it does not vote." in shown(None)


def test_a_prediction_without_reasons_is_shown_too():
    assert "Label pet" in printed(prediction_view(PredictionExplanation("pet", (("pet", 1.0),), ()), "", []))


def test_weak_words_and_long_texts_stay_plain():
    assert not colored_text("a b", [(0, 1, "a")], {"a": 0.0}).spans
    long = colored_text("x" * 5000, [(4000, 4001, "x")], {"x": 1.0})
    assert len(long.plain) < 1300
    assert not long.spans


def test_control_characters_do_not_reach_the_terminal():
    shown = colored_text("a \x1b[31mcat\r\n\x9b\x07 purrs", [(7, 10, "cat")], {"cat": 1.0})
    assert shown.plain == "a \ufffd[31mcat \n\ufffd\ufffd purrs"
    assert [shown.plain[span.start : span.end] for span in shown.spans] == ["cat"]


def test_a_column_that_is_empty_in_every_row_is_left_out():
    def header(title):
        neighbors = (Hit(4, "pet", text="a cat", distance=1.0, title=title), Hit(5, "car", text="a car", distance=2.0))
        found = PredictionExplanation("pet", (("pet", 0.8), ("car", 0.2)), neighbors, "car")
        return next(line for line in printed(prediction_view(found, "a cat", [])).splitlines() if "distance" in line)

    assert "title" in header("On cats")
    assert "title" not in header(None)
