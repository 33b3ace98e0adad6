import io

from rich.console import Console

from treewass.explain import Explanation, Move, Neighbor, PredictionExplanation, WordSupport
from treewass.explain.pairs import BranchCost
from treewass.explain.terminal import colored_text, pair_view, prediction_view


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
    text = printed(view)
    for piece in ("Distance 2.0000, 50 % shared", "a [bold]car", "dog0", "8 cheaper ones not shown", "dog, car", "5 %"):
        assert piece in text
    assert "\x1b[" not in text
    assert "\x1b[1;32mcat" in printed(view, color=True)


def test_equal_documents_have_no_tables():
    text = printed(pair_view(Explanation(0.0, PAIR.shared, (), ()), ["a", "b"], [[], []]))
    assert "Moves" not in text


def test_predictions_show_words_and_neighbours():
    prediction = PredictionExplanation(
        "pet", (("pet", 0.9), ("car", 0.1)),
        (Neighbor(4, 1.5, "pet", None, "[red]text"), Neighbor(5, 2.5, "car", "title")), "car",
        (WordSupport("cat", 1.0), WordSupport("wheel", -0.5)),
    )  # fmt: skip
    view = prediction_view(prediction, "cat wheel", [(0, 3, "cat"), (4, 9, "wheel")])
    text = printed(view)
    for piece in (
        "Label pet",
        "car 10.0 %",
        "For pet rather than car: cat +1.000",
        "Against: wheel -0.500",
        "[red]text",
        "title",
    ):
        assert piece in text
    colored = printed(view, color=True)
    assert "\x1b[1;32mcat" in colored
    assert "\x1b[1;31mwheel" in colored


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
