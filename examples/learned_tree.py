"""Look at what was learned: the tree over words, as a picture and as a page to click on."""

from treewass import DocumentModel
from treewass.documents import load_docstrings
from treewass.plot import interactive_tree, save_picture, tree

corpus = load_docstrings()
model = DocumentModel().fit(corpus.texts, corpus.labels, titles=corpus.titles)

outline = model.outline()
for branch in outline.children(0)[:5]:
    label, share = outline.main_class(branch)
    print(f"{label} {100 * share:.0f} %: {', '.join(word.word for word in branch.words[:6])}")

save_picture(tree(outline), "tree.png")
interactive_tree(outline).write_html("tree.html")
