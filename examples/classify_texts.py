"""Classify texts: learn from labelled ones, measure on others, keep the model.

What a newcomer does first. The corpus is SciPy's docstrings, labelled by subpackage.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from treewass import DocumentModel
from treewass.documents import load_docstrings
from treewass.model import evaluate
from treewass.plot import confusion, save_picture

corpus = load_docstrings()
train, test = slice(0, None, 2), slice(1, None, 2)
model = DocumentModel().fit(corpus.texts[train], corpus.labels[train], titles=corpus.titles[train])

evaluation = evaluate(model, corpus.texts[test], corpus.labels[test])
print(f"{100 * evaluation.error:.1f} % of {evaluation.n_test} held-out docstrings get a wrong label")
save_picture(confusion(evaluation), "confusion.png")

with TemporaryDirectory() as folder:
    model.save(Path(folder, "model"))  # JSON and safetensors, with hashes
    again = DocumentModel.load(Path(folder, "model"))
print(again.predict(["design a digital low pass filter"])[0])
