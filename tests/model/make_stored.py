"""Write the model that later versions must read: ``python -m tests.model.make_stored v1`` in the checkout."""

import json
import sys
from pathlib import Path

from treewass import DocumentModel
from treewass.model import evaluate

from .conftest import LABELS, TEXTS

QUERIES = ["my cat sleeps", "a dog and a puppy", "wheels of a car", "naïve 🐈 mouse"]


def main(version: str) -> None:
    folder = Path(__file__).parent / "stored" / version
    model = DocumentModel(n_neighbors=3).fit(TEXTS, LABELS, titles=[f"document {n}" for n in range(len(TEXTS))])
    model.add(["one more naïve 🐈 cat"], ["cat"])
    model.remove([4])
    evaluation = evaluate(model, QUERIES[:3], ["cat", "dog", "car"]).to_dict()
    model.contents_ = model.contents_.changed(evaluation=evaluation)
    model.save(folder / "model")
    found = [[[n.id, n.distance, n.label, n.title, n.text] for n in model.similar(query, 5)] for query in QUERIES]
    answers = {"queries": QUERIES, "probabilities": model.predict_proba(QUERIES).tolist(), "neighbors": found}
    (folder / "answers.json").write_text(json.dumps(answers, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
