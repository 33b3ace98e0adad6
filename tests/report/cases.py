"""Texts with wrong labels, copies and markup."""

import numpy as np

from treewass.documents import make_documents

EVIL = "<script>document.title = 'owned'</script> <img src=x onerror=\"document.title='owned'\"> cats & purr"


def labelled_texts(n_documents=240, seed=0):
    """Texts of three topics, with some wrong labels and copies; returns which."""
    X, y = make_documents(n_documents, n_words=300, words_per_document=25, n_classes=3, random_state=seed)
    texts = [" ".join(f"w{word}" for word in X[[row]].indices) for row in range(n_documents)]
    labels = np.array(["red", "green", "blue"])[y]
    wrong = np.arange(5, n_documents, 40)
    labels[wrong] = np.array(["red", "green", "blue"])[(y[wrong] + 1) % 3]
    return [*texts, texts[1], texts[2] + " w5"], [*labels, labels[1], labels[2]], wrong
