"""What users of scikit-learn expect of a classifier of texts."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from treewass import DocumentModel, ProfileTreeWasserstein

from .conftest import LABELS, TEXTS

QUICK = {"n_neighbors": 3, "calibrate": False}


def test_parameters_are_those_of_the_constructor():
    model = DocumentModel(metric="bow", n_neighbors=5)
    assert model.get_params() == {
        "calibrate": True,
        "linear": True,
        "keep_texts": True,
        "metric": "bow",
        "n_jobs": None,
        "n_neighbors": 5,
        "random_state": 0,
        "vectorizer": None,
        "verbose": False,
        "vote": "distance",
        "word_vectors": None,
    }
    assert model.set_params(metric="tfidf", vote="majority") is model
    assert (model.metric, model.vote) == ("tfidf", "majority")
    assert model.set_params() is model


def test_parameters_of_the_learner_are_nested():
    model = DocumentModel(metric=ProfileTreeWasserstein(arity=3))
    assert model.get_params()["metric__arity"] == 3
    assert "metric__arity" not in model.get_params(deep=False)
    model.set_params(metric=ProfileTreeWasserstein(depth=2), metric__arity=7)
    assert (model.metric.depth, model.metric.arity) == (2, 7)


@pytest.mark.parametrize("name", ["learner", "metric__depth", "n_neighbors__k"])
def test_unknown_parameters_are_refused(name):
    with pytest.raises(ValueError, match=f"such as calibrate, keep_texts, .*, got '{name}'"):
        DocumentModel(metric="bow").set_params(**{name: 1})


def test_clones_are_unfitted_and_equal(fitted):
    learner = ProfileTreeWasserstein(depth=1)
    model = clone(DocumentModel(metric=learner, **QUICK))
    assert model.metric is not learner
    assert model.metric.depth == 1
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "contents_")
    check_is_fitted(fitted)


def test_it_is_a_classifier_of_texts():
    assert is_classifier(DocumentModel())
    tags = get_tags(DocumentModel())
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required


def test_the_score_is_the_share_of_right_labels(fitted):
    texts, truth = ["my cat", "a dog", "the car", "a puppy"], ["cat", "cat", "car", "dog"]
    right = fitted.predict(texts) == np.array(truth)
    assert fitted.score(texts, truth) == right.mean()
    assert fitted.score(texts, truth, sample_weight=[0, 1, 0, 0]) == right[1]


@pytest.mark.parametrize("wrong", [np.array(LABELS)[:, None], LABELS[:1], LABELS[:3]])
def test_the_score_demands_one_label_per_text(fitted, wrong):
    with pytest.raises((ValueError, TypeError), match="Expected"):
        fitted.score(TEXTS, wrong)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_validation_takes_texts(n_jobs):
    scores = cross_val_score(DocumentModel(**QUICK), TEXTS * 2, LABELS * 2, cv=3, n_jobs=n_jobs)
    assert scores.mean() > 0.8


def test_a_grid_search_takes_texts():
    grid = {"metric": ["bow", "tfidf", ProfileTreeWasserstein(refine=False)], "n_neighbors": [1, 3]}
    search = GridSearchCV(DocumentModel(calibrate=False), grid, cv=2, error_score="raise").fit(TEXTS * 2, LABELS * 2)
    assert search.best_score_ > 0.8
    assert search.best_estimator_.similar("my cat", 1)[0].label == "cat"
    assert search.predict(["a dog barks"]).tolist() == ["dog"]


def test_it_ends_a_pipeline():
    pipeline = make_pipeline(
        FunctionTransformer(lambda texts: [text.upper() for text in texts]), DocumentModel(**QUICK)
    )
    pipeline.fit(TEXTS, LABELS)
    assert pipeline.score(TEXTS, LABELS) > 0.8
    assert pipeline.set_params(documentmodel__n_neighbors=1)[-1].n_neighbors == 1


def test_a_fitted_model_can_be_pickled_for_other_processes(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.similar("my cat", 3) == fitted.similar("my cat", 3)


def test_parameters_need_no_scikit_learn():
    code = (
        "import sys; from treewass import DocumentModel; DocumentModel(metric='bow').set_params(vote='majority'); "
        "assert not {'sklearn', 'scipy', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
