"""Search, and see why: documents for typed words, the nearest documents of a text, and what makes them near.

Every distance is the cost of moving the words of one document onto those of the other, along the tree.
"""

from treewass import DocumentModel
from treewass.documents import load_docstrings
from treewass.plot import plan, save_picture

corpus = load_docstrings()
model = DocumentModel().fit(corpus.texts, corpus.labels, titles=corpus.titles)

query = "remove noise from an image with a smoothing filter"
for hit in model.search(query, k=5):
    print(f"{hit.score:7.3f}  {hit.label:8}  {hit.title}  (without: {', '.join(hit.missing) or 'nothing'})")
for neighbor in model.similar(id=hit.id, k=5):
    print(f"{neighbor.distance:7.3f}  {neighbor.label:8}  {neighbor.title}")

explanation = model.explain(query, "fit a smoothing spline to noisy data")
for move in explanation.moves[:5]:
    print(f"{move.source} → {move.target}: {100 * move.cost / explanation.distance:.0f} % of the distance")
save_picture(plan(explanation), "plan.png")

prediction = model.explain_prediction(query)
words = ", ".join(f"{entry.word} {entry.support:+.2f}" for entry in prediction.words[:4])
print(f"{prediction.label} rather than {prediction.rival}: {words}")
