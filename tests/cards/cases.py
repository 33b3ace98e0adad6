"""Objects whose every text is hostile."""

from treewass import DocumentModel
from treewass.report import make_report

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> cats </style> & purr"


def shown_objects():
    """Everything that has a card, made of a model with markup for labels, titles, keys, columns and words."""
    texts = [EVIL, "dogs bark", f"cats {EVIL}", "dogs growl", "cats purr", "dogs bark loudly"]
    model = DocumentModel(n_neighbors=1, vectorizer=None).fit(
        texts,
        ["<b>cat</b>", "dog"] * 3,
        titles=[EVIL] * 6,
        keys=[f"{EVIL}{number}" for number in range(6)],
        columns={EVIL: [EVIL] * 6},
    )
    model.contents_ = model.contents_.changed(about={"name": EVIL})
    return {
        "model": model,
        "unfitted": DocumentModel(metric=EVIL),
        "hit": model.search("cats", k=1)[0],
        "document": model.document(0),
        "prediction": model.explain_prediction(EVIL),
        "comparison": model.explain(EVIL, "dogs bark"),
        "outline": model.outline(),
        "report": make_report(model),
        "metric": model.metric_,
        "tree": model.metric_.trees[0],
    }
