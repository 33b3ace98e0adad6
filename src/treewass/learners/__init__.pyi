from .profile.class_counts import ClassCounts as ClassCounts
from .profile.profile_learner import ProfileTreeWasserstein as ProfileTreeWasserstein
from .stw.supervised import SupervisedTreeWasserstein as SupervisedTreeWasserstein
from .topics import TopicTreeWasserstein as TopicTreeWasserstein
from .unsupervised import QuadtreeWasserstein as QuadtreeWasserstein
from .unsupervised import TreeSlicedWasserstein as TreeSlicedWasserstein
from .unsupervised import bow_metric as bow_metric
from .unsupervised import tfidf_metric as tfidf_metric
