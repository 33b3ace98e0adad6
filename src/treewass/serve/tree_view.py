"""The tree as people browse it: for each branch its classes, its words and the documents that use it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from treewass.documents.histograms import empty_rows
from treewass.explain.branches import class_means, ranked
from treewass.model.answers import describe_document
from treewass.model.contents import Contents
from treewass.search.contents import documents_of
from treewass.search.embedding import MASS_BITS, mass_units
from treewass.serve.highlights import cut
from treewass.serve.schemas import BranchDocument, BranchView, Child, Share, Word

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TreeView", "TreeViews"]

_MOST_WORDS, _MOST_CHILDREN, _MOST_DOCUMENTS = 40, 100, 20
_FEW = 6  # words and classes of a branch in a list of branches


class TreeView:
    """One tree of a model, with the masses that its documents put on it.

    Parameters
    ----------
    held : Contents
        The model at one moment.
    component : int
        The tree.
    """

    def __init__(self, held: Contents, component: int) -> None:
        self.held = held
        self.component = component
        self.tree = held.index.metric.component(component)
        self._masses = mass_units(held.index.metric, documents_of(held.index), component)
        known = np.setdiff1d(np.arange(self._masses.shape[0]), empty_rows(self._masses))
        used, codes = np.unique(held.documents.codes[known], return_inverse=True)
        self._labels = [held.classes[code] for code in used.tolist()]
        self._word_means = class_means(self._masses[known], codes, used.size)
        on_nodes = np.zeros((self.tree.n_nodes, used.size))
        np.add.at(on_nodes, self.tree.word_nodes, self._word_means.T)
        self._node_means = self.tree.subtree_sums(on_nodes)

    def branch(self, node: int) -> BranchView:
        """Show a node, which must be there."""
        below = self.tree.subtree_words(node)
        children = self.tree.children(node)
        order = children[np.argsort(-self._node_means[children].sum(axis=1), kind="stable")][:_MOST_CHILDREN]
        return BranchView(
            node=node,
            component=self.component,
            n_components=self.held.index.metric.n_components,
            path=list(reversed(self.tree.path(node))),
            edge_length=float(self.tree.edge_lengths[node]),
            mass=self._mass(node),
            n_words=len(below),
            classes=self._classes(node),
            words=self._words(below)[:_MOST_WORDS],
            children=[self._child(child) for child in order.tolist()],
            n_children=len(children),
            documents=self._documents(below),
        )

    def _child(self, node: int) -> Child:
        below = self.tree.subtree_words(node)
        return Child(
            node=node,
            mass=self._mass(node),
            n_words=len(below),
            classes=self._classes(node)[:_FEW],
            words=self._words(below)[:_FEW],
        )

    def _mass(self, node: int) -> float:
        return float(self._node_means[node].mean()) if self._labels else 0.0

    def _classes(self, node: int) -> list[Share]:
        means = self._node_means[node]
        total = means.sum()
        return [Share(label=label, share=share / total) for label, share in ranked(self._labels, means)]

    def _words(self, below: NDArray[np.intp]) -> list[Word]:
        if not self._labels:
            return []
        means = self._word_means[:, below].mean(axis=0)
        return [Word(word=self.held.counter.words[word], weight=mass) for word, mass in ranked(below.tolist(), means)]

    def _documents(self, below: NDArray[np.intp]) -> list[BranchDocument]:
        """Find the documents with most of their mass on some words."""
        on_words = np.zeros(self.tree.n_words)
        on_words[below] = 1.0
        masses = np.ldexp(self._masses @ on_words, -MASS_BITS)
        documents = []
        for place, mass in ranked(range(masses.size), masses)[:_MOST_DOCUMENTS]:
            found = describe_document(self.held, int(self.held.documents.ids[place]))
            documents.append(
                BranchDocument(id=found.id, label=found.label, title=found.title, text=cut(found.text), mass=mass)
            )
        return documents


class TreeViews:
    """The latest view of each tree, made anew when the documents have changed."""

    def __init__(self) -> None:
        self._making = threading.Lock()
        self._views: dict[int, TreeView] = {}

    def get(self, held: Contents, component: int) -> TreeView:
        """Return the view of a tree of a model at one moment."""
        with self._making:
            view = self._views.get(component)
            if view is None or view.held is not held:
                view = self._views[component] = TreeView(held, component)
            return view
