from . import (
    classify as classify,
)
from . import (
    distances as distances,
)
from . import (
    distributed as distributed,
)
from . import (
    documents as documents,
)
from . import (
    explain as explain,
)
from . import (
    learners as learners,
)
from . import (
    model as model,
)
from . import (
    plot as plot,
)
from . import (
    report as report,
)
from . import (
    search as search,
)
from . import (
    serve as serve,
)
from . import (
    stores as stores,
)
from . import (
    trees as trees,
)
from . import (
    votes as votes,
)
from .classify.classifier import TreeWassersteinClassifier as TreeWassersteinClassifier
from .classify.tree_neighbors import TreeNeighbors as TreeNeighbors
from .documents.histograms import EmptyDocumentWarning as EmptyDocumentWarning
from .learners.profile.profile_learner import ProfileTreeWasserstein as ProfileTreeWasserstein
from .learners.stw.supervised import SupervisedTreeWasserstein as SupervisedTreeWasserstein
from .learners.topics import TopicTreeWasserstein as TopicTreeWasserstein
from .learners.unsupervised import QuadtreeWasserstein as QuadtreeWasserstein
from .learners.unsupervised import TreeSlicedWasserstein as TreeSlicedWasserstein
from .model.document_model import DocumentModel as DocumentModel
from .search.index import TreeIndex as TreeIndex
from .search.sharded_index import ShardedIndex as ShardedIndex
from .trees.metric import TreeMetric as TreeMetric
from .trees.tree import Tree as Tree

__version__: str
