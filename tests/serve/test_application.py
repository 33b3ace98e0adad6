import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from itertools import islice

import pytest

from tests.serve.conftest import LABELS, TEXTS, TOKEN
from treewass import DocumentModel
from treewass.model.queries import MOST_TYPED
from treewass.serve import LiveModel, NewDocument, Settings, create_app, guarded_routes
from treewass.serve.measures import JsonFormatter
from treewass.serve.responses import UnexplainedError
from treewass.serve.service_settings import MOST_BYTES, MOST_CHARACTERS, MOST_NEIGHBORS, MOST_TEXTS

pytestmark = pytest.mark.filterwarnings("ignore::treewass.documents.EmptyDocumentWarning")


@pytest.fixture(autouse=True)
def short_delay(monkeypatch):
    monkeypatch.setattr(guarded_routes, "_WRONG_TOKEN_SECONDS", 0.01)


def post(client, path, expected=200, **body):
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == expected, answer.text
    return answer.json()


def shown(hit):
    """What an answer says of a hit."""
    rank = {"score": hit.score, "distance": hit.distance, "words": list(hit.words), "missing": list(hit.missing)}
    branch = None if hit.branch is None else {**asdict(hit.branch), "words": list(hit.branch.words)}
    kept = {"id": hit.id, "label": hit.label, "title": hit.title, "text": hit.text, "key": hit.key, "columns": {}}
    return {**kept, **rank, "branch": branch, "pieces": []}


def test_search_answers_as_the_model_does(client, fitted):
    texts = ["my cat sleeps", "a lorry"]
    results = post(client, "search", texts=texts, k=4)["results"]
    assert [result["hits"] for result in results] == [[shown(hit) for hit in hits] for hits in fitted.search(texts, 4)]
    assert all(result["known"] and result["ranking"] == "words" and result["more"] for result in results)
    (result,) = post(client, "search", texts=["a kiten and a zebra"])["results"]
    assert result["unknown"] == [{"word": "kiten", "suggestion": "kitten"}, {"word": "zebra", "suggestion": None}]


def test_a_search_for_more_words_than_people_type_answers_as_similar_does(folder, live, make_client):
    words = [f"word{number}" for number in range(MOST_TYPED + 1)]
    texts = [" ".join(words[first : first + 40]) for first in (0, 10, 20, 25)]
    model = DocumentModel(n_neighbors=1).fit(texts, ["a", "a", "b", "b"])
    model.save(folder)
    live.follow()
    client = make_client()
    for text, ranking in ((" ".join(words[:MOST_TYPED]), "words"), (" ".join(words), "distance")):
        (result,) = post(client, "search", texts=[text], k=3)["results"]
        assert result["ranking"] == ranking
        assert result["hits"] == [shown(hit) for hit in model.search(text, 3)]
    near = [(hit.id, hit.distance) for hit in model.similar(" ".join(words), 3)]
    assert [(hit["id"], hit["distance"]) for hit in result["hits"]] == near


def test_similar_takes_texts_an_id_or_a_key(client, fitted):
    texts = ["my cat sleeps", "a lorry"]
    results = post(client, "similar", texts=texts, k=4)["results"]
    assert [result["hits"] for result in results] == [[shown(hit) for hit in hits] for hits in fitted.similar(texts, 4)]
    (result,) = post(client, "similar", id=3, k=4)["results"]
    assert result["hits"] == [shown(hit) for hit in fitted.similar(id=3, k=4)]
    assert post(client, "similar", 404, id=99)["detail"] == "No document in the model has id 99."
    assert post(client, "similar", 404, key="x")["detail"] == "No document in the model has the key 'x'."
    for body in ({}, {"texts": ["a cat"], "id": 3}):
        assert "Expected either texts, or the id or the key" in post(client, "similar", 422, **body)["detail"]


@pytest.mark.parametrize("path", ["search", "similar"])
def test_results_are_filtered_and_paged(client, path):
    def ask(**more):
        return post(client, path, texts=["a cat and the dog by the door"], **more)["results"][0]

    every = ask(k=15)["hits"]
    assert [hit["id"] for offset in (0, 4, 8) for hit in ask(k=4, offset=offset)["hits"]] == [
        hit["id"] for hit in every[:12]
    ]
    assert [ask(k=4)["more"], ask(k=99)["more"]] == [True, False]
    dogs = ask(where={"label": "dog"})["hits"]
    assert [hit["id"] for hit in dogs] == [hit["id"] for hit in every if hit["label"] == "dog"]
    assert ask(where={"label": ["dog", "fox"]})["hits"] == dogs
    others = ask(where={"label": ["!=", "dog"]}, k=15)["hits"]
    assert {hit["label"] for hit in others} == {"cat", "car"}
    cats = ask(where={"label": [["!=", "dog"], [">", "car"]]}, k=15)["hits"]
    assert {hit["label"] for hit in cats} == {"cat"}
    for where in ({"size": 3}, {"label": 3}, {"label": ["~", "dog"]}, {"label": ["dog", 3]}):
        assert post(client, path, 422, texts=["a cat"], where=where)["detail"].startswith("where: ")


@pytest.mark.parametrize("path", ["search", "similar"])
@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({f"column {number}": 1 for number in range(51)}, "at most 50 names"),
        ({"label": ["dog"] * 1001}, "at most 1000 items"),
        ({"label": [["!=", "dog"]] * 21}, "at most 20 items"),
        ({"label": [["!=", *["dog"] * 1000]]}, "at most 1000 items"),
        ({"label": {"$ne": "dog"}}, "body.where.label"),
        ({"label": [[["!=", "dog"]]]}, "body.where.label"),
        ({"label": True}, "body.where.label"),
        (
            {"id": [">", float("nan")]},
            "where: The filter on 'id' cannot be used. Expected a value such as 14",
        ),
        ({"label": "x" * 100_000, "size": 1}, "where: Expected a column among id, label, got 'size'."),
        ({"label' OR 1=1 --": 1}, "where: Expected a column among id, label"),
        (["label", "dog"], "body.where: Input should be a valid dictionary"),
    ],
)
def test_filters_have_limits(client, path, where, sentence):
    body = json.dumps({"texts": ["a cat"], "where": where})
    answer = client.post(f"/api/{path}", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert sentence in answer.json()["detail"]
    assert len(answer.content) < 1200


@pytest.mark.parametrize("path", ["search", "similar"])
def test_filters_at_their_limits_are_answered(client, path):
    for where in (
        {"label": ["dog"] * 1000},
        {"label": [["==", "dog"]] * 20},
        {"label": "dog", "id": [[">=", -(2**63)], ["<", 2**63 - 1]]},
        {"label": ["dog", "x" * 1_000_000]},
    ):
        hits = post(client, path, texts=["a cat and the dog by the door"], where=where)["results"][0]["hits"]
        assert {hit["label"] for hit in hits} == {"dog"}
    for where in ({"label": []}, {"id": [">", 99]}, {"id": 2**63}, {"label": None}):
        assert post(client, path, texts=["a cat"], where=where)["results"][0]["hits"] == []


def test_highlights_mark_the_querys_words_and_more_weakly_its_branch(client):
    (result,) = post(client, "search", texts=["a cat"], k=3, highlight=True)["results"]
    for hit in result["hits"]:
        assert "".join(piece["text"] for piece in hit["pieces"]) == hit["text"]
        marks = {piece["text"]: piece["weight"] for piece in hit["pieces"] if piece["weight"]}
        assert {word for word, weight in marks.items() if weight > 0.5} == set(hit["words"])
        assert all(word in hit["branch"]["words"] for word, weight in marks.items() if weight < 0.5)
    (result,) = post(client, "similar", texts=["a cat"], k=3, highlight=True)["results"]
    assert max(result["hits"][0]["pieces"], key=lambda piece: piece["weight"])["text"] == "cat"


def test_a_passage_shows_what_was_asked_for(writer):
    text = "nothing to see here " * 60 + "a cat meets a dog\n\x07 today " + "nothing at all " * 60
    writer.post("/api/documents", json={"documents": [{"text": text, "label": "cat"}]})
    (result,) = post(writer, "search", texts=["meets today"], k=1, highlight=True)["results"]
    shown = "".join(piece["text"] for piece in result["hits"][0]["pieces"])
    assert "a cat meets a dog \ufffd today" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) < 520


def test_highlights_are_for_the_nearest_ten(client):
    (result,) = post(client, "similar", texts=["a cat"], k=13, highlight=True)["results"]
    assert [bool(hit["pieces"]) for hit in result["hits"]] == [True] * 10 + [False] * 3


def test_a_busy_service_still_says_that_it_is_there(make_client, monkeypatch):
    """Searches hold every thread: health and the pages wait for none."""
    client, release = make_client(), threading.Event()
    monkeypatch.setattr("treewass.serve.application.search_texts", lambda *_, **__: release.wait(120) and [])
    monkeypatch.setattr("treewass.serve.guards._ANSWER_SECONDS", 120)
    with ThreadPoolExecutor(21) as threads:
        try:
            busy = [threads.submit(client.post, "/api/search", json={"texts": ["a cat"]}) for _ in range(20)]
            paths = ("/api/health", "/", "/app.js", "/docs", "/openapi.json")
            answers = threads.submit(lambda: [client.get(path).status_code for path in paths])
            assert answers.result(timeout=60) == [200] * 5
            assert not any(answer.done() for answer in busy)
        finally:
            release.set()
    assert {answer.result().status_code for answer in busy} == {200}


def test_a_text_without_a_known_word_has_no_neighbours_and_the_class_shares(client, fitted):
    (result,) = post(client, "search", texts=["zebra"], highlight=True)["results"]
    assert (result["known"], result["hits"]) == (False, [])
    assert result["unknown"] == [{"word": "zebra", "suggestion": None}]
    (prediction,) = post(client, "predict", texts=["zebra"], explain=True)["predictions"]
    assert not prediction["known"]
    assert [share["share"] for share in prediction["probabilities"]] == pytest.approx([1 / 3] * 3)


def test_predict_answers_as_the_model_does(client, fitted):
    predictions = post(client, "predict", texts=TEXTS)["predictions"]
    assert [prediction["label"] for prediction in predictions] == fitted.predict(TEXTS).tolist()
    for prediction, row in zip(predictions, fitted.predict_proba(TEXTS), strict=True):
        shares = {share["label"]: share["share"] for share in prediction["probabilities"]}
        assert shares == dict(zip(fitted.classes_, row, strict=True))


def test_predict_explains(client, fitted):
    (prediction,) = post(client, "predict", texts=["the dog barks"], explain=True)["predictions"]
    reasons = fitted.explain_prediction("the dog barks")
    assert (prediction["label"], prediction["rival"]) == (reasons.label, reasons.rival)
    assert [(w["word"], w["weight"]) for w in prediction["words"]] == [(w.word, w.support) for w in reasons.words]
    assert [n["id"] for n in prediction["neighbors"]] == [n.id for n in reasons.neighbors]


def test_explain_answers_as_the_model_does(client, fitted):
    comparison = post(client, "explain", first="my cat sleeps", second=8)
    expected = fitted.explain("my cat sleeps", 8)
    assert comparison["distance"] == expected.distance
    assert comparison["shared_mass"] == expected.shared_mass
    assert [(m["source"], m["target"], m["cost"]) for m in comparison["moves"]] == [
        (m.source, m.target, m.cost) for m in expected.moves
    ]
    assert "".join(piece["text"] for piece in comparison["second"]) == TEXTS[8]
    assert post(client, "explain", first=3, second=3)["distance"] == 0


def test_tree_is_browsed_from_the_root_to_every_word(client, fitted):
    seen, nodes = set(), [0]
    while nodes:
        branch = client.get("/api/tree", params={"node": nodes.pop()}).json()
        assert branch["path"][-1] == branch["node"]
        assert len(branch["children"]) == branch["n_children"]
        assert all(0 < document["mass"] <= 1 for document in branch["documents"])
        nodes += [child["node"] for child in branch["children"]]
        seen.update(word["word"] for word in branch["words"])
    assert seen == set(fitted.words_)


def test_branches_are_listed_as_the_outline_orders_them(client, fitted):
    outline = fitted.outline()
    told, mixed = outline.told_and_mixed(0)
    children = client.get("/api/tree").json()["children"]
    listed = [(child["node"], child["is_mixed"]) for child in children if child["mass"] > 0]
    assert listed == [(node.node, False) for node in told] + [(node.node, True) for node in mixed]


def test_words_that_a_given_metric_does_not_know_are_not_counted(fitted, tmp_path):
    from starlette.testclient import TestClient

    model = DocumentModel(metric=fitted.metric_, n_neighbors=1).fit(TEXTS, LABELS)
    model.update(["a zebra grazes"], ["cat"])
    model.save(tmp_path / "model")
    with LiveModel(tmp_path / "model") as live, TestClient(create_app(live, Settings())) as client:
        words = client.get("/api/model").json()["words"]
        assert words == client.get("/api/tree").json()["n_words"] == fitted.metric_.n_words


def test_tree_shows_documents_that_were_added(writer):
    before = writer.get("/api/tree").json()
    post(writer, "documents", 201, documents=[{"text": "cat cat cat", "label": "cat"}])
    after = writer.get("/api/tree").json()
    assert [d["id"] for d in before["documents"]] == list(range(15))
    assert [d["id"] for d in after["documents"]] == list(range(16))


def test_documents_come_and_go(writer):
    new = [{"text": "a cat in the car", "label": "cat", "title": "new"}, {"text": "zebra", "label": "dog"}]
    assert post(writer, "documents", 201, documents=new) == {"ids": [15, 16], "known": [True, False], "repeated": False}
    assert writer.get("/api/documents/15").json() == {"id": 15, **new[0], "key": None, "columns": {}}
    assert post(writer, "search", texts=["a cat in the car"], k=1)["results"][0]["hits"][0]["id"] == 15
    assert writer.delete("/api/documents/15").json() == {"id": 15, "repeated": False}
    assert writer.get("/api/documents/15").status_code == 404
    assert writer.delete("/api/documents/15").json() == {"detail": "No document in the model has id 15."}


def test_documents_have_keys_and_columns_and_need_no_label(writer):
    new = [
        {"text": "a zebra", "key": "z1", "columns": {"year": 2020, "town": "Ghent"}},
        {"text": "a cat", "label": "cat"},
    ]
    assert post(writer, "documents", 201, documents=new)["ids"] == [15, 16]
    (result,) = post(writer, "search", texts=["zebra"], where={"year": [">", 2019]})["results"]
    assert [(hit["id"], hit["label"], hit["key"], hit["columns"]) for hit in result["hits"]] == [
        (15, None, "z1", {"year": 2020, "town": "Ghent"})
    ]
    assert post(writer, "similar", key="z1", k=1)["results"][0]["hits"]
    assert "holds documents of 'z1'" in post(writer, "documents", 422, documents=new[:1])["detail"]
    wrong = {"text": "a gnu", "columns": {"year": "soon"}}
    assert "Expected values such as 2020" in post(writer, "documents", 422, documents=[wrong])["detail"]
    wrong = {"text": "a gnu", "columns": {"townn": "Ghent"}}
    assert "got 'townn' (did you mean 'town'?)" in post(writer, "documents", 422, documents=[wrong])["detail"]
    assert post(writer, "documents", 201, documents=[{"text": "a gnu"}])["ids"] == [17]


def test_all_documents_may_go(writer):
    for number in range(15):
        assert writer.delete(f"/api/documents/{number}").status_code == 200
    assert post(writer, "search", texts=["a cat"])["results"][0]["hits"] == []
    for explain in (False, True):
        assert post(writer, "predict", texts=["a cat"], explain=explain)["predictions"][0]["known"]
    assert writer.get("/api/tree").json()["documents"] == []


def test_a_key_makes_a_repetition_safe(writer):
    writer.headers["Idempotency-Key"] = "one"
    body = {"documents": [{"text": "a cat", "label": "cat"}]}
    assert post(writer, "documents", 201, **body)["ids"] == [15]
    assert post(writer, "documents", 201, **body) == {"ids": [15], "known": [True], "repeated": True}
    other = {"documents": [{"text": "a dog", "label": "dog"}]}
    assert "for another request" in post(writer, "documents", 409, **other)["detail"]
    assert writer.delete("/api/documents/15").status_code == 409
    writer.headers["Idempotency-Key"] = "two"
    assert [writer.delete("/api/documents/15").json()["repeated"] for _ in range(2)] == [False, True]


def test_a_full_disk_is_said_and_reads_go_on(writer, live):
    body = {"documents": [{"text": "a cat " * 20_000, "label": "cat"}]}
    connection = live._writes._open()
    (size,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={size}")
    assert post(writer, "documents", 503, **body)["detail"] == "Nothing was written: No space left on device."
    assert len(post(writer, "search", texts=["a cat"], k=20)["results"][0]["hits"]) == 9
    connection.execute("PRAGMA max_page_count=100000")
    assert post(writer, "documents", 201, **body)["ids"] == [15]


def test_health_model_and_metrics(make_client):
    client = make_client()
    assert client.get("/api/health").json()["status"] == "ok"
    model = client.get("/api/model").json()
    assert (model["documents"], model["classes"]) == (15, ["car", "cat", "dog"])
    client.get("/api/documents/99")
    counted = client.get("/metrics").text
    assert 'treewass_requests_total{method="GET",route="/api/documents/{number}",status="404"} 1.0' in counted
    assert 'treewass_request_seconds_count{route="/api/health"} 1.0' in counted
    assert "treewass_documents 15.0" in counted


def test_requests_have_an_id_in_the_answer_and_in_the_log(make_client, caplog):
    client = make_client()
    with caplog.at_level("INFO"):
        own = client.get("/api/health", headers={"X-Request-ID": "mine-1"}).headers["X-Request-ID"]
        strange = client.get("/api/health", headers={"X-Request-ID": 'a"b'}).headers["X-Request-ID"]
    assert own == "mine-1"
    assert re.fullmatch(r"\d+-\d+", strange)
    logged = [record for record in caplog.records if record.name == "treewass.serve"]
    first, second = (json.loads(JsonFormatter().format(record)) for record in logged)
    assert (first["request"], second["request"]) == ("mine-1", strange)
    assert (first["route"], first["status"], first["level"]) == ("/api/health", 200, "info")


def test_a_label_can_be_changed(writer, live):
    assert writer.patch("/api/documents/3", json={"label": "dog"}).json()["label"] == "dog"
    assert writer.patch("/api/documents/3", json={"label": "bird"}).status_code == 422
    assert writer.patch("/api/documents/99", json={"label": "dog"}).status_code == 404
    assert writer.patch("/api/documents/3", json={"label": 1}).status_code == 422
    live.fold()
    assert writer.get("/api/documents/3").json()["label"] == "dog"


def test_a_token_for_reading_does_not_allow_to_write(make_client):
    client = make_client(read_token="another-token-of-24-chars")
    assert client.get("/api/model").status_code == 401
    assert client.get("/metrics").status_code == 401
    client.headers["Authorization"] = "Bearer another-token-of-24-chars"
    assert client.get("/api/model").json()["protected"]
    assert client.delete("/api/documents/1").status_code == 401
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    assert client.get("/api/model").status_code == 200
    assert client.delete("/api/documents/1").status_code == 200


def test_a_wrong_token_is_answered_after_a_while_and_none_at_once(make_client, monkeypatch):
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    client = make_client()
    assert client.delete("/api/documents/1").status_code == 401
    assert not waited
    assert client.delete("/api/documents/1", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert waited == [guarded_routes._WRONG_TOKEN_SECONDS]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"{", 400, "Expected JSON"),
        (b"", 422, "body: Field required"),
        (b"\xff", 400, "Expected JSON in UTF-8."),
        (b"[" * 100_000, 400, "Expected JSON with fewer brackets inside each other."),
        (b"1" * 5000, 400, "Expected JSON with shorter numbers."),
        ('{"texts": ["a cat"]}'.encode("utf-16"), 400, "Expected JSON in UTF-8."),
        (b'{"texts": [' + b"[]," * 60_000 + b"[]]}", 422, "Expected at most 100000 values in a body, got about 1200"),
        (b'{"texts": [' + b'"\\"",' * 200_001 + b'""]}', 422, "Expected at most 100000 values in a body"),
        (b'{"texts": ["\\\\\\"", ' + b"{}," * 60_000 + b"{}]}", 422, "Expected at most 100000 values in a body"),
        (b"[]", 422, "body: "),
        (b'{"texts": "a cat"}', 422, 'body.texts: Expected a list of texts, such as ["a text"], got one text.'),
        (b'{"texts": []}', 422, "at least 1 item"),
        (b'{"texts": [1]}', 422, "body.texts.0: Input should be a valid string"),
        (b'{"texts": ["\\ud800"]}', 422, "body.texts.0: "),
        (b'{"texts": ["a"], "k": 0}', 422, "body.k: "),
        (b'{"texts": ["a"], "k": "3"}', 422, "body.k: "),
        (b'{"texts": ["a"], "k": true}', 422, "body.k: "),
        (json.dumps({"texts": ["a"], "k": MOST_NEIGHBORS + 1}).encode(), 422, "less than or equal to 100"),
        (json.dumps({"texts": ["a"] * (MOST_TEXTS + 1)}).encode(), 422, "at most 100 items"),
        (json.dumps({"texts": ["a" * (MOST_CHARACTERS + 1)]}).encode(), 422, "at most 200000 characters"),
        (b'{"texts": ["a"], "other": 1}', 422, "body: Expected k, offset, where, highlight, texts, got other."),
        (b'{"\\ud800": 1}', 422, "body: Expected k, offset, where, highlight, texts, got ?."),
        (b'{"' + b"a" * 1000 + b'": 1}', 422, f"got {'a' * 50}."),
        (b" " * (MOST_BYTES + 1), 413, "at most 4000000 bytes"),
    ],
)
def test_wrong_requests_get_a_sentence(client, body, status, sentence):
    answer = client.post("/api/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert sentence in answer.json()["detail"]


def test_a_text_may_hold_as_many_commas_and_brackets_as_it_likes(client):
    texts = ['[,{\\"' * 30_000 + " a cat"] * 10
    assert len(post(client, "search", texts=texts)["results"]) == 10


def test_a_body_without_a_length_is_limited_too(client):
    def chunks():
        for _ in range(50):
            yield b" " * 100_000

    answer = client.post("/api/search", content=chunks(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("explain", {"first": 99, "second": 1}, 404, "No document in the model has id 99."),
        ("explain", {"first": "zebra", "second": 1}, 422, "Expected a known word in the first document"),
        ("explain", {"first": 2**63, "second": 1}, 422, "body.first"),
        ("documents", {"documents": [{"text": "a", "label": "bird"}]}, 422, "labels that the model has learned"),
        ("documents", {"documents": [{"text": "a", "label": 3}]}, 422, "Expected labels such as 'car'"),
        (
            "documents",
            {"documents": [{"text": "a", "label": 3}, {"text": "b", "label": "cat"}]},
            422,
            "all str or all int",
        ),
    ],
)
def test_what_the_model_refuses_gets_a_sentence(writer, path, body, status, sentence):
    assert sentence in post(writer, path, status, **body)["detail"]


def test_details_are_for_one_text(client):
    for path, name in (("search", "highlight"), ("predict", "explain")):
        assert (
            post(client, path, 422, texts=["a", "b"], **{name: True})["detail"]
            == f"Expected one text with {name}, got 2."
        )


def test_unknown_branches_are_refused(client):
    for parameters in ({"node": 10**6}, {"component": 1}):
        assert client.get("/api/tree", params=parameters).status_code == 404
    assert client.get("/api/tree", params={"node": "x"}).status_code == 422


def test_writes_need_the_token(client, make_client):
    body = {"documents": [{"text": "a cat", "label": "cat"}]}
    for header in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
    ):
        answer = client.post("/api/documents", json=body, headers=header)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert client.delete("/api/documents/1", headers=header).status_code == 401
    assert client.get("/api/documents/1").status_code == 200
    without = make_client(token=None)
    assert without.post("/api/documents", json=body, headers={"Authorization": "Bearer "}).status_code == 403
    assert without.get("/api/model").json()["writable"] is False


def test_the_token_is_asked_for_before_the_body_is_looked_at(client, make_client):
    protected = make_client(protect_reads=True)
    for body in (b"{", b"\xff", b"{}"):
        headers = {"Content-Type": "application/json"}
        assert client.post("/api/documents", content=body, headers=headers).status_code == 401
        assert protected.post("/api/search", content=body, headers=headers).status_code == 401
        headers["Authorization"] = f"bearer {TOKEN}"
        assert client.post("/api/documents", content=body, headers=headers).status_code in (400, 422)
    assert client.delete("/api/documents/x").status_code == 401


def test_reads_need_the_token_if_asked(make_client):
    client = make_client(protect_reads=True)
    for path in ("model", "tree", "documents/1"):
        assert client.get(f"/api/{path}").status_code == 401
        assert client.get(f"/api/{path}", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    for path in ("search", "predict", "explain"):
        assert client.post(f"/api/{path}", json={}).status_code == 401
    assert client.get("/api/health").status_code == 200
    assert client.get("/").status_code == 200


def test_other_names_of_the_host_are_refused(make_client):
    client = make_client(host_names=("localhost", "Search.Example", "::1"))
    allowed = ("localhost:8000", "LOCALHOST", "search.example", "SEARCH.example:80", "[::1]:80")
    for host, status in (*((name, 200) for name in allowed), ("evil.example", 421), ("localhost.evil", 421)):
        assert client.get("/api/health", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/page/app.js", "/app.js/",
        "//app.js", "/app.js%00", "/%00", "/application.py", "/api", "/api/", "/api/documents/1/",
        "/api/documents/..%2f1", "/api//documents/1", "/API/documents/1", "/\\..\\", "/.service.lock",
    ],
)  # fmt: skip
def test_tricks_with_paths_find_nothing(client, path):
    answer = client.get(f"http://testserver{path}")
    assert answer.status_code in (404, 422)
    assert set(answer.json()) == {"detail"}


def test_tricks_with_paths_write_nothing(client):
    body = {"documents": [{"text": "a cat", "label": "cat"}]}
    for path in (
        "/api/documents/",
        "/api//documents",
        "/api/./documents",
        "/api/%64ocuments",
        "/api/documents?x",
        "//api/documents",
    ):
        assert client.post(f"http://testserver{path}", json=body).status_code in (401, 404, 405)
    assert client.post("/api/search", json=body, headers={"X-HTTP-Method-Override": "DELETE"}).status_code == 422


@pytest.mark.parametrize("path", ["search", "predict", "explain", "documents"])
def test_a_body_that_is_not_said_to_be_json_is_refused(writer, path):
    for headers, found in (
        ({}, "none"),
        ({"Content-Type": ""}, "none"),
        ({"Content-Type": "Text/Plain; charset=utf-8"}, "text/plain"),
        ({"Content-Type": "text/json"}, "text/json"),
    ):
        answer = writer.post(f"/api/{path}", content=b'{"texts": ["a cat"]}', headers=headers)
        assert answer.status_code == 415
        assert answer.json() == {"detail": f"Expected the header Content-Type: application/json, got {found}."}
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = writer.post(f"/api/{path}", content=b'{"texts": ["a cat"]}', headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (415, "Expected a body without Content-Encoding, got gzip.")
    assert writer.post(f"/api/{path}").status_code == 415
    assert "415" in writer.get("/openapi.json").json()["paths"][f"/api/{path}"]["post"]["responses"]


def test_json_may_have_parameters_and_a_name_of_its_own(client):
    for kind in ("application/json; charset=utf-8", "APPLICATION/JSON", "application/x+json"):
        answer = client.post("/api/search", content=b'{"texts": ["a cat"]}', headers={"Content-Type": kind})
        assert answer.status_code == 200, kind


def test_forms_of_other_sites_are_no_requests(writer):
    """A page elsewhere can make a browser send a body, but not as JSON."""
    body = json.dumps({"documents": [{"text": "a cat", "label": "cat"}]})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert writer.post("/api/documents", content=body, headers={"Content-Type": kind}).status_code == 415
    assert writer.get("/api/model").json()["documents"] == 15
    answer = writer.options("/api/documents", headers={"Origin": "https://evil.example"})
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_every_answer_is_strict(client):
    for path in ("/", "/docs", "/app.js", "/openapi.json", "/api/model", "/api/nothing", "/nothing"):
        headers = client.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert client.post("/api/search", content=b"{").headers["X-Frame-Options"] == "DENY"


def test_a_failure_says_nothing_of_its_inside(client, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr("treewass.serve.application.search_texts", fail)
    answer = client.post("/api/search", json={"texts": ["a cat"]})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_damaged_writes_are_no_fault_of_the_request(folder, writer, live, caplog):
    body = {"documents": [{"text": "a cat", "label": "cat"}]}
    with LiveModel(folder) as worker:
        worker.add([NewDocument("a private cat", "cat"), NewDocument("a dog", "dog")])
        worker.add([NewDocument("a cat", "cat")])
        worker._writes._open().execute("UPDATE writes SET hash = 'other' WHERE number = 1")
    answers = [
        writer.post("/api/documents", json=body),
        writer.delete("/api/documents/1"),
        writer.delete("/api/documents/99"),
    ]
    assert {answer.status_code for answer in answers} == {500}
    assert {answer.json()["detail"].split(",")[0] for answer in answers} == {"The file of writes is damaged"}
    assert "write 1 is not as it was written" in caplog.text
    assert "private" not in caplog.text
    assert folder.name in caplog.text


def test_long_texts_are_not_explained_and_are_searched_all_the_same(make_client, monkeypatch):
    monkeypatch.setattr("treewass.serve.responses.MOST_EXPLAINED", 3)
    client, text = make_client(), "a cat and my dog"
    for name, body in (
        ("explain", {"first": text, "second": "a cat"}),
        ("explain", {"first": "a cat", "second": 7}),
        ("predict", {"texts": [text], "explain": True}),
        ("similar", {"texts": [text], "highlight": True}),
    ):
        assert "at most 3 different known words" in post(client, name, 422, **body)["detail"]
    found = post(client, "similar", texts=["a cat"], highlight=True)["results"][0]["hits"]
    assert {bool(hit["pieces"]) for hit in found} == {True, False}  # long documents are not marked
    assert post(client, "search", texts=[text])["results"][0]["hits"]


_COMPARE = ("POST", "/api/explain", {"first": "a cat", "second": "a dog"})
_REVIEW = ("GET", "/api/review", None)


@pytest.mark.parametrize(
    ("work", "request_for_it", "others", "n_taken"),
    [  # at most so many are answered or wait, the rest is turned away
        ("application.compare", _COMPARE, [_REVIEW], 17),
        ("responses.TreeView.branch", ("GET", "/api/tree", None), [_REVIEW], 17),
        ("application.search_texts", ("POST", "/api/search", {"texts": ["a cat"], "highlight": True}), [_REVIEW], 17),
        ("application.predict_texts", ("POST", "/api/predict", {"texts": ["a cat"], "explain": True}), [_REVIEW], 17),
        ("application.search_texts", ("POST", "/api/search", {"texts": ["a cat", "a dog"]}), [_COMPARE, _REVIEW], 17),
        ("application.predict_texts", ("POST", "/api/predict", {"texts": ["a cat " * 2000]}), [_COMPARE, _REVIEW], 17),
        ("reviews.oddities_of", _REVIEW, [_COMPARE, ("GET", "/api/tree", None)], 3),
    ],
)
def test_long_answers_wait_behind_their_like_and_nothing_else_does(
    writer, monkeypatch, work, request_for_it, others, n_taken
):
    release, begun, running = threading.Event(), threading.Semaphore(0), []

    def slow(*_, **__):
        running.append(1)
        begun.release()
        release.wait(120)
        running.pop()
        raise UnexplainedError(f"slow, with {len(running)} beside it")

    def ask(method, path, body):
        return writer.request(method, path, json=body)

    monkeypatch.setattr("treewass.serve.guards._ANSWER_SECONDS", 120)
    with monkeypatch.context() as patched, ThreadPoolExecutor(n_taken + 3) as threads:
        patched.setattr(f"treewass.serve.{work}", slow)
        try:
            asked = [threads.submit(ask, *request_for_it) for _ in range(n_taken + 3)]
            assert begun.acquire(timeout=60)
            turned_away = [answer.result() for answer in islice(as_completed(asked, timeout=60), 3)]
            if "search_texts" not in work:
                assert post(writer, "search", texts=["a cat"])["results"]
            assert post(writer, "similar", texts=["a cat"])["results"]
            assert post(writer, "documents", 201, documents=[{"text": "a cat"}])["ids"] == [15]
            assert [ask(*other).status_code for other in others] == [200] * len(others)
            assert [writer.get(path).status_code for path in ("/api/model", "/api/documents/15")] == [200, 200]
        finally:
            release.set()
    answers = [answer.result() for answer in asked]
    assert [answer.status_code for answer in turned_away] == [503] * 3
    assert {answer.headers["Retry-After"] for answer in turned_away} == {"5"}
    rest = [answer for answer in answers if answer.status_code != 503]
    assert [answer.json()["detail"] for answer in rest] == ["slow, with 0 beside it"] * n_taken
    assert ask(*request_for_it).status_code == 200  # the lane is free again


def test_a_pattern_that_takes_for_ever_is_no_end_of_the_service(tmp_path, monkeypatch):
    from sklearn.feature_extraction.text import CountVectorizer
    from starlette.testclient import TestClient

    monkeypatch.setattr("treewass.model.guarded_patterns._SECONDS", 1.0)  # in which a busy machine finds words
    hostile = CountVectorizer(token_pattern=r"(?:\w|\w\w)+-|\w+")
    DocumentModel(n_neighbors=1, vectorizer=hostile).fit(["a cat", "a dog"], ["cat", "dog"]).save(tmp_path / "model")
    with LiveModel(tmp_path / "model") as live:
        client = TestClient(create_app(live, Settings(token=TOKEN)), raise_server_exceptions=False)
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        for name, body in (
            ("search", {"texts": ["a" * 1000 + " -"]}),
            ("documents", {"documents": [{"text": "a" * 1000 + " -", "label": "cat"}]}),
        ):
            assert "token pattern takes too long" in post(client, name, 422, **body)["detail"]
        assert post(client, "search", texts=["a cat"])["results"][0]["hits"]


def test_documents_with_new_words_are_explained_by_those_that_the_model_has_learned(writer):
    document = {"text": "a zebra and a cat grazing", "label": "cat"}
    (number,) = post(writer, "documents", 201, documents=[document])["ids"]
    comparison = post(writer, "explain", first=number, second="a cat and a dog")
    assert comparison["distance"] > 0
    assert post(writer, "predict", texts=["a zebra and a cat"], explain=True)["predictions"][0]["known"]


def test_documents_are_compared_by_their_keys(writer):
    added = writer.post("/api/documents", json={"documents": [{"text": "a cat sleeps", "label": "cat", "key": "tom"}]})
    number = added.json()["ids"][0]
    by_key = writer.post("/api/explain", json={"first": {"key": "tom"}, "second": 5})
    assert by_key.status_code == 200
    assert by_key.json() == writer.post("/api/explain", json={"first": number, "second": 5}).json()
    missing = writer.post("/api/explain", json={"first": {"key": "nobody"}, "second": 5})
    assert missing.status_code == 404
    assert writer.post("/api/explain", json={"first": "key:tom", "second": 5}).status_code == 422


@pytest.mark.parametrize("name", ["x" * 100_000, "\ud800" * 10])
def test_an_error_repeats_little_of_what_was_asked_for(writer, name):
    body = json.dumps({"texts": ["a cat"], "where": {name: 1}})
    answer = writer.post("/api/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert len(answer.content) < 1200
    columns = json.dumps({"documents": [{"text": "a cat", "label": "cat", "columns": {name: 1}}]})
    answer = writer.post("/api/documents", content=columns, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert len(answer.content) < 1200


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_whole_numbers_that_would_lose_digits_are_refused(writer, number):
    document = {"text": "a cat", "columns": {"isbn": number}}
    answer = post(writer, "documents", 422, documents=[document])
    assert answer["detail"].endswith("Expected a whole number of 64 bits, or a text.")
    document["columns"]["isbn"] = 2**63 - 1
    number = post(writer, "documents", 201, documents=[document])["ids"][0]
    assert writer.get(f"/api/documents/{number}").json()["columns"] == {"isbn": 2**63 - 1}


def test_documents_bring_few_columns_at_a_time(writer):
    columns = {f"column {number}": number for number in range(101)}
    document = {"text": "a cat", "label": "cat", "columns": columns}
    assert "at most 100" in post(writer, "documents", 422, documents=[document])["detail"]
    del columns["column 0"]
    assert post(writer, "documents", 201, documents=[document])["ids"] == [15]


def test_labels_to_look_at_are_listed_and_follow_the_writes(writer):
    assert writer.get("/api/review").json()["pairs"] == []
    new = {"text": "the cat purrs and sleeps", "label": "dog", "key": "copy"}
    number = writer.post("/api/documents", json={"documents": [new]}).json()["ids"][0]
    found = writer.get("/api/review").json()
    assert found["documents"] == found["looked_at"] == 16
    assert (found["is_sample"], found["n_unknown"]) == (False, 0)
    assert [(pair["first"]["id"], pair["second"]["id"]) for pair in found["pairs"]] == [(0, number)]
    assert found["n_doubtful"] == len(found["doubtful"])
    for doubt in found["doubtful"]:
        assert doubt["suggested"] != doubt["document"]["label"]
        assert doubt["probability"] > doubt["own_probability"]
    writer.patch(f"/api/documents/{number}", json={"label": "cat"})
    assert writer.get("/api/review").json()["pairs"] == []


def test_fewer_documents_are_looked_at_if_they_are_long(writer, monkeypatch):
    monkeypatch.setattr("treewass.serve.reviews._MOST_BYTES", sum(map(len, TEXTS)) // 3)
    found = writer.get("/api/review").json()
    assert (found["looked_at"], found["is_sample"]) == (5, True)  # of 15
    monkeypatch.setattr("treewass.serve.reviews._MOST_BYTES", 1)
    writer.patch("/api/documents/0", json={"label": "dog"})
    assert writer.get("/api/review").json()["looked_at"] == 1
