"""Find labels that are probably wrong: some are changed on purpose, then the neighbours are asked."""

import numpy as np

from treewass import DocumentModel
from treewass.documents import load_docstrings
from treewass.report import make_report

corpus = load_docstrings()
labels = np.array(corpus.labels)
random = np.random.default_rng(0)
changed = random.choice(len(labels), 30, replace=False)
labels[changed] = random.permutation(labels)[: changed.size]
changed = {int(row) for row in changed if labels[row] != corpus.labels[row]}

report = make_report(DocumentModel().fit(corpus.texts, labels, titles=corpus.titles))
report.write_html("report.html")
suspects = {suspect.document.id for suspect in report.oddities.suspects}
print(f"{len(changed)} labels were changed; {len(suspects)} look doubtful, {len(changed & suspects)} of them changed")
