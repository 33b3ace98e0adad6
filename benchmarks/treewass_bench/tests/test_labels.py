import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from treewass.documents import make_documents
from treewass_bench.commands import app
from treewass_bench.labels import _METHODS, changed_labels, label_cells, labels_markdown
from treewass_bench.rows import Row, RowFiles


@given(st.integers(2, 5), st.floats(0.0, 0.9), st.integers(0, 5))
def test_labels_are_changed_to_other_ones(n_classes, share, seed):
    labels = np.array([f"c{number % n_classes}" for number in range(60)])
    changed, rows = changed_labels(labels, share, seed)
    assert np.flatnonzero(changed != labels).tolist() == rows.tolist()
    assert rows.size == round(share * 60)
    assert set(changed) <= set(labels)


def test_changed_labels_are_ranked_first():
    counts, codes = make_documents(150, n_words=120, words_per_document=20, n_classes=3, random_state=0)
    texts = [" ".join(f"w{word}" for word in np.flatnonzero(row)) for row in counts.toarray()]
    labels, changed = changed_labels(np.array(["a", "b", "c"])[codes], 0.05, seed=0)
    found = _METHODS["treewass"](texts, labels)
    assert np.sort(found.rows).tolist() == list(range(150))
    assert np.isin(found.rows[: changed.size], changed).mean() >= 0.5
    assert np.isin(changed, found.listed).mean() >= 0.5


def test_cells_and_table(tmp_path):
    cells = label_cells(tmp_path, ["reuters"])
    assert len({tuple(cell.case.values()) for cell in cells}) == 4
    measures = {
        "found_percent": 93.0,
        "listed": 280,
        "listed_precision_percent": None,
        "listed_recall_percent": 99.5,
        "cpu_seconds": 6.2,
    }
    files = RowFiles(tmp_path)
    for cell in cells:
        files.add(Row(cell.benchmark, cell.case, measures, cell.protocol, environment={}))
    expected = labels_markdown(files.rows("labels"))
    assert expected.count("93.0 %") == 4
    assert CliRunner().invoke(app, ["labels", "--table", str(tmp_path)]).output.strip() == expected.strip()
