import io

from rich.console import Console

from treewass.bench.rows import Row, environment, read_rows, rows_table


def test_rows_round_trip_through_json_lines(tmp_path):
    rows = [Row("speed", {"set": "reuters", "k": k}, {"seconds": 0.5 * k, "ratio": None}, "medians") for k in (1, 19)]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(row.to_json() for row in rows) + "\n\n", encoding="utf-8")
    assert read_rows(path) == rows


def test_environment_names_what_is_needed_to_repeat():
    assert {"python", "numpy", "scipy", "numba", "processor", "cores", "commit", "treewass"} <= set(environment())


def test_table_shows_every_case_and_measure():
    rows = [Row("speed", {"set": "x"}, {"seconds": 0.123456}, "p"), Row("speed", {"set": "y"}, {"ratio": 3}, "p")]
    output = io.StringIO()
    Console(file=output, width=80).print(rows_table(rows))
    for shown in ("set", "seconds", "ratio", "0.1235", "3", "–"):
        assert shown in output.getvalue()


def test_no_rows_make_an_empty_table():
    assert rows_table([]).row_count == 0
