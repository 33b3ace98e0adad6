"""What users of scikit-learn expect of every estimator."""

from importlib import import_module
from inspect import isclass
from pathlib import Path

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import treewass
from treewass import (
    EmptyDocumentWarning,
    ProfileTreeWasserstein,
    QuadtreeWasserstein,
    SupervisedTreeWasserstein,
    TopicTreeWasserstein,
    TreeNeighbors,
    TreeSlicedWasserstein,
    TreeWassersteinClassifier,
)
from treewass.classify import ComparedNeighbors, TreeKMedoids
from treewass.distances import FittedLengths, SupervisedWordMover, UltrametricWasserstein, flowtree
from treewass.learners import SingularTreeWasserstein, bow_metric

TEXTS = [
    "cats purr and sleep",
    "the cat sleeps on the sofa",
    "cats meow at night",
    "a cat chases a mouse",
    "dogs bark at night",
    "the dog fetches a stick",
    "dogs growl and bark",
    "a dog chases the cat",
] * 3
LABELS = np.array((["cat"] * 4 + ["dog"] * 4) * 3)
CLASSIFIERS = [
    TreeWassersteinClassifier(),
    TreeWassersteinClassifier("bow", vote="majority", n_neighbors=3),
    TreeWassersteinClassifier("tfidf", vote="fallback", n_neighbors=3),
    TreeWassersteinClassifier(ProfileTreeWasserstein(depth=1), n_neighbors=3, linear=False, n_jobs=2),
    TreeWassersteinClassifier(QuadtreeWasserstein(), vote="majority", n_neighbors=3),
]


class Flowtree:
    """A distance with a name: that of a function holds its address, and processes would list other tests."""

    def __call__(self, X, Y, **options):
        return flowtree(X, Y, **options)

    def __repr__(self):
        return "flowtree"


CHECKED = [
    ProfileTreeWasserstein(),
    SupervisedTreeWasserstein(arity=2, depth=2, epochs=2),
    QuadtreeWasserstein(),
    TreeSlicedWasserstein(n_trees=2),
    TopicTreeWasserstein(),
    TreeSlicedWasserstein(n_trees=1, words="clusters"),
    FittedLengths(),
    SingularTreeWasserstein(max_iter=5),
    UltrametricWasserstein(n_document_pairs=20, max_iter=5),
    TreeKMedoids(n_clusters=3, n_init=2),
    ComparedNeighbors(distance=Flowtree(), n_neighbors=3),
    ComparedNeighbors(distance=QuadtreeWasserstein(), n_neighbors=3),
    TreeNeighbors(),
    TreeNeighbors(None, mode="connectivity"),
    *CLASSIFIERS,
]


def expected_failed_checks(estimator):
    """Say which checks an estimator cannot satisfy, and why."""
    if isinstance(estimator, SupervisedTreeWasserstein):
        checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
        return dict.fromkeys(checks, "repetition changes the batches; a weight counts in the loss of each pair")
    if isinstance(estimator, TreeKMedoids):
        return {"check_clustering": "it gives negative counts, whatever the tag positive_only says"}
    if not isinstance(estimator, TreeWassersteinClassifier):
        return {}
    equivalence = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    if isinstance(estimator.metric, QuadtreeWasserstein):
        weights = ["check_sample_weights_list", "check_sample_weights_not_overwritten", *equivalence]
        return dict.fromkeys(weights, "QuadtreeWasserstein takes no sample_weight, which the classifier says")
    if estimator.linear and estimator.vote == "distance":
        return dict.fromkeys(
            equivalence, "repetition changes the order of the support vectors' solver, which stops early"
        )
    return {}


@pytest.mark.filterwarnings("ignore::treewass.documents.EmptyDocumentWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failed_checks)
def test_estimator_check(estimator, check):
    check(estimator)


def test_every_public_estimator_is_checked():
    """By the list above, or beside its own tests."""
    folder = Path(treewass.__file__).parent
    packages = [".".join(("treewass", *path.parent.relative_to(folder).parts)) for path in folder.rglob("__init__.pyi")]
    public = [getattr(package, name) for package in map(import_module, packages) for name in package.__all__]
    estimators = {found for found in public if isclass(found) and issubclass(found, BaseEstimator)}
    assert estimators == {type(estimator) for estimator in CHECKED} | {SupervisedWordMover}


@pytest.fixture
def counts():
    return CountVectorizer().fit_transform(TEXTS)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_pipeline_from_texts_to_string_labels(classifier):
    model = make_pipeline(CountVectorizer(), clone(classifier)).fit(TEXTS, LABELS)
    assert model.predict(["cats meow", "dogs growl"]).tolist() == ["cat", "dog"]
    assert model.score(TEXTS, LABELS) > 0.8


def test_grid_search_over_metrics_and_votes():
    grid = {
        "treewassersteinclassifier__metric": ["bow", "tfidf", None, ProfileTreeWasserstein(arity=2)],
        "treewassersteinclassifier__vote": ["distance", "majority", "fallback"],
        "treewassersteinclassifier__n_neighbors": [1, 5],
    }
    model = make_pipeline(CountVectorizer(), TreeWassersteinClassifier())
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(TEXTS, LABELS)
    assert search.best_score_ > 0.9


def test_nested_parameters_of_the_metric():
    classifier = TreeWassersteinClassifier(ProfileTreeWasserstein(arity=3))
    classifier.set_params(metric__arity=7, n_neighbors=2)
    assert classifier.metric.arity == 7
    assert clone(classifier).get_params()["metric__arity"] == 7


def test_cross_validation_with_processes(counts):
    scores = cross_val_score(TreeWassersteinClassifier(n_neighbors=3), counts, LABELS, cv=3, n_jobs=2)
    assert scores.mean() > 0.8


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_every_container_gives_the_same_prediction(classifier, counts):
    names = [f"w{word}" for word in range(counts.shape[1])]
    expected = clone(classifier).fit(counts, LABELS).predict_proba(counts)
    dense = counts.toarray()
    for same in (
        dense,
        dense.astype(np.float32),
        dense * 3,
        sp.csc_matrix(counts),
        sp.coo_array(counts),
        pandas.DataFrame(dense, columns=names),
        polars.DataFrame(dense, schema=names),
    ):
        assert np.array_equal(clone(classifier).fit(same, LABELS).predict_proba(same), expected)


def test_data_frames_give_words_their_names(counts):
    names = [f"w{word}" for word in range(counts.shape[1])]
    for frame in (pandas.DataFrame(counts.toarray(), columns=names), polars.DataFrame(counts.toarray(), schema=names)):
        learner = ProfileTreeWasserstein().fit(frame, LABELS)
        assert learner.feature_names_in_.tolist() == names
        out = learner.get_feature_names_out()
        assert out[-1] == f"word_{names[-1]}"
        assert len(out) == learner.transform(frame).shape[1]
        with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
            learner.get_feature_names_out(["other", *names[1:]])
        with pytest.raises(ValueError, match="feature names"):
            learner.transform(pandas.DataFrame(counts.toarray(), columns=names[::-1]))


@pytest.mark.parametrize("learner", [ProfileTreeWasserstein(), TreeSlicedWasserstein(n_trees=2)], ids=str)
def test_output_of_transform_can_be_a_data_frame(learner, counts):
    learner = clone(learner).fit(counts, LABELS)
    expected = learner.transform(counts)
    assert sp.issparse(expected)
    rows = [f"text{row}" for row in range(counts.shape[0])]
    names = CountVectorizer().fit(TEXTS).get_feature_names_out()
    named = pandas.DataFrame(counts.toarray(), index=rows, columns=names)
    frame = clone(learner).fit(named, LABELS).set_output(transform="pandas").transform(named)
    assert frame.columns[-1] == f"{'tree1_' if learner.metric_.n_components > 1 else ''}word_{names[-1]}"
    assert frame.index.tolist() == rows
    assert all(isinstance(kind, pandas.SparseDtype) for kind in frame.dtypes)
    assert np.array_equal(frame.to_numpy(), expected.toarray())
    assert isinstance(clone(learner).set_output(transform="pandas").fit_transform(counts, LABELS), pandas.DataFrame)
    with config_context(transform_output="pandas"):
        assert isinstance(learner.transform(counts), pandas.DataFrame)
        assert sp.issparse(clone(learner).set_output(transform="default").fit(counts, LABELS).transform(counts))
    dense = learner.set_output(transform="polars").transform(counts)
    assert np.array_equal(dense.to_numpy(), expected.toarray())


@pytest.mark.parametrize(
    "learner", [ProfileTreeWasserstein(), QuadtreeWasserstein(n_dimensions=2), TreeSlicedWasserstein()], ids=str
)
def test_transform_is_an_isometry_into_l1(learner, counts):
    learner = clone(learner).fit(counts, LABELS)
    rows = learner.transform(counts).toarray()
    l1 = abs(rows[:, None] - rows[None]).sum(axis=2)
    assert np.array_equal(learner.pairwise(counts), l1)
    assert np.array_equal(learner.pairwise(counts[:2], counts[3:]), l1[:2, 3:])


def test_empty_documents_in_fit_and_predict(counts):
    with_empty = sp.vstack([counts, sp.csr_array((2, counts.shape[1]))], format="csr")
    labels = np.append(LABELS, ["cat", "cat"])
    classifier = TreeWassersteinClassifier("bow", n_neighbors=50)
    with pytest.warns(EmptyDocumentWarning, match=r"2 document\(s\) hold no known word \(rows 24, 25\)"):
        classifier.fit(with_empty, labels)
    with pytest.warns(EmptyDocumentWarning) as warned:
        TreeWassersteinClassifier().fit(with_empty, labels)
    assert [warning.filename for warning in warned] == [__file__]  # once, and it points here
    assert classifier.kneighbors(counts, return_distance=False).shape == (24, 24)
    assert not {24, 25} & set(classifier.kneighbors(counts, return_distance=False).ravel())
    with pytest.warns(EmptyDocumentWarning, match="class prior"):
        probabilities = classifier.predict_proba(with_empty)
    assert np.array_equal(probabilities[24:], [[14 / 26, 12 / 26]] * 2)
    with pytest.warns(EmptyDocumentWarning):
        assert classifier.predict(with_empty)[-1] == "cat"


@pytest.mark.parametrize(
    "estimator", [TreeWassersteinClassifier(), ProfileTreeWasserstein(), QuadtreeWasserstein()], ids=str
)
def test_missing_and_negative_values_name_their_rows(estimator, counts):
    fitted = clone(estimator).fit(counts, LABELS)
    act = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    for value, message in ((np.nan, "Input X contains NaN or infinity"), (-1, "Negative values in data")):
        wrong = counts.toarray().astype(float)
        wrong[7, 2] = value
        for given in (wrong, sp.csr_array(wrong)):
            with pytest.raises(ValueError, match=rf"{message}.* 1 row\(s\), first 7, such as the value"):
                clone(estimator).fit(given, LABELS)
            with pytest.raises(ValueError, match=rf"{message}.* 1 row\(s\), first 7, such as the value"):
                act(given)


def test_words_never_seen_are_unknown(counts):
    wide = sp.hstack([counts, sp.csr_array((counts.shape[0], 1), dtype=np.int64)], format="csr")
    classifier = TreeWassersteinClassifier().fit(wide, LABELS)
    unseen = np.zeros((1, wide.shape[1]))
    unseen[0, -1] = 3
    with pytest.warns(EmptyDocumentWarning):
        assert np.array_equal(classifier.predict_proba(unseen)[0], classifier.class_prior_)


def test_only_empty_documents_are_refused():
    with pytest.warns(EmptyDocumentWarning), pytest.raises(ValueError, match="at least one document with a known word"):
        TreeWassersteinClassifier("bow").fit(np.zeros((4, 3)), [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"metric": "cosine"},
            'Expected metric to be None, "profile", "stw", "topics", "bow", "tfidf".*got \'cosine\'',
        ),
        ({"metric": 3}, "Expected metric"),
        ({"metric": bow_metric(2)}, "expecting 2 features"),
        ({"vote": "loud"}, "Expected vote to be one of distance, fallback, majority, got 'loud'"),
        ({"n_neighbors": 0}, "n_neighbors as an integer of at least 1"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_parameters_are_refused(parameters, message, counts):
    with pytest.raises(ValueError, match=message):
        TreeWassersteinClassifier(**parameters).fit(counts, LABELS)


@pytest.mark.parametrize("texts", [TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)])
def test_texts_instead_of_counts_are_refused_with_the_remedy(texts, counts):
    for estimator in (TreeWassersteinClassifier("bow"), ProfileTreeWasserstein(refine=False)):
        with pytest.raises(TypeError, match=r"got texts\. Count words first.*CountVectorizer"):
            estimator.fit(texts, LABELS)
    fitted = TreeWassersteinClassifier("bow").fit(counts, LABELS)
    with pytest.raises(TypeError, match="got texts"):
        fitted.predict(texts)
    with pytest.raises(TypeError, match="got texts"):
        fitted.index_.search(texts, 3)


def test_a_transformer_without_a_tree_metric_is_refused(counts):
    from sklearn.decomposition import TruncatedSVD

    with pytest.raises(TypeError, match="Expected TruncatedSVD to have a TreeMetric as metric_"):
        TreeWassersteinClassifier(TruncatedSVD()).fit(counts, LABELS)
