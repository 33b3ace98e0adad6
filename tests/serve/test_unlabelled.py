"""A model without labels as a service: all but labels."""

import pytest
from starlette.testclient import TestClient

from tests.serve.conftest import TEXTS, TOKEN
from treewass import DocumentModel
from treewass.serve import LiveModel, Settings, create_app


@pytest.fixture
def client(tmp_path):
    model = DocumentModel().fit(TEXTS)
    model.search("a cat"), model.similar("a cat"), model.explain(0, 1)  # compiled before a request waits
    model.save(tmp_path / "model")
    live = LiveModel(tmp_path / "model")
    with TestClient(create_app(live, Settings(token=TOKEN)), raise_server_exceptions=False) as client:
        yield client
    live.close()


def test_it_finds_shows_and_grows_but_does_not_predict(client):
    model = client.get("/api/model").json()
    assert (model["classes"], model["class_counts"], model["unlabelled"]) == ([], [], 15)
    assert any(model["examples"])
    answer = client.post("/api/search", json={"texts": ["purrs"], "k": 3})
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["results"]
    assert found["hits"][0]["label"] is None
    assert client.post("/api/similar", json={"id": 0, "k": 2}).status_code == 200
    assert client.post("/api/explain", json={"first": 0, "second": 1}).status_code == 200
    branch = client.get("/api/tree").json()
    assert branch["classes"] == []
    assert branch["documents"]
    refused = client.post("/api/predict", json={"texts": ["a cat"]})
    assert refused.status_code == 422
    assert "learned without" in refused.json()["detail"]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    added = client.post("/api/documents", json={"documents": [{"text": "a kitten sleeps"}]}, headers=headers)
    assert added.status_code < 300, added.text
    labelled = client.post("/api/documents", json={"documents": [{"text": "a dog", "label": "dog"}]}, headers=headers)
    assert labelled.status_code == 422
    assert "without labels" in labelled.json()["detail"]
