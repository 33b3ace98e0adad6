from treewass.bench.results.duplicates import duplicates_markdown

from .rows import ABLATION, DEPTH, DUPLICATES


def test_errors_change_from_all_to_those_kept_and_the_papers_learner_comes_from_the_ablation():
    assert duplicates_markdown([*DUPLICATES, *ABLATION]).splitlines()[:5] == [
        "| test error in %, all → without repeats | REUTERS |",
        "|---|---|",
        "| test documents left out | 10 of 200 |",
        "| bag of words, L1, k = 19 fall-back | 5.0 → 5.2 |",
        "| STW, margin 10 | 4.0 → 4.1 |",
    ]


def test_rows_of_other_benchmarks_are_passed_over():
    assert duplicates_markdown([*DUPLICATES, *DEPTH]) == duplicates_markdown(DUPLICATES)
