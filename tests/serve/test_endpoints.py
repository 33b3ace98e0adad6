import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.serve.conftest import LABELS, TEXTS, TOKEN
from treewass import DocumentModel
from treewass.serve import LiveModel, NewDocument, Settings, create_app
from treewass.serve.settings import MOST_BYTES, MOST_CHARACTERS, MOST_NEIGHBORS, MOST_TEXTS

pytestmark = pytest.mark.filterwarnings("ignore::treewass.exceptions.EmptyDocumentWarning")


def post(client, path, expected=200, **body):
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == expected, answer.text
    return answer.json()


def test_search_answers_as_the_model_does(client, fitted):
    results = post(client, "search", texts=["my cat sleeps", "a lorry"], k=4)["results"]
    for text, result in zip(["my cat sleeps", "a lorry"], results, strict=True):
        found = [(n["id"], n["distance"], n["label"], n["title"], n["text"]) for n in result["neighbors"]]
        assert found == [(n.id, n.distance, n.label, n.title, n.text) for n in fitted.search(text, 4)]
        assert result["known"]


def test_highlights_mark_shared_words_and_keep_the_text(client):
    (result,) = post(client, "search", texts=["a cat"], k=3, highlight=True)["results"]
    for neighbor in result["neighbors"]:
        assert "".join(piece["text"] for piece in neighbor["pieces"]) == neighbor["text"]
    nearest = result["neighbors"][0]
    assert max(nearest["pieces"], key=lambda piece: piece["weight"])["text"] == "cat"
    assert nearest["words"][0]["word"] == "cat"


def test_highlights_are_for_the_nearest_ten(client):
    (result,) = post(client, "search", texts=["a cat"], k=13, highlight=True)["results"]
    assert [bool(neighbor["pieces"]) for neighbor in result["neighbors"]] == [True] * 10 + [False] * 3


def test_a_busy_service_still_says_that_it_is_there(make_client, monkeypatch):
    """Searches hold every thread: health and the pages wait for none."""
    client, release = make_client(), threading.Event()
    monkeypatch.setattr("treewass.serve.endpoints.search_texts", lambda *_: release.wait(60) and [])
    with ThreadPoolExecutor(21) as threads:
        try:
            busy = [threads.submit(client.post, "/api/search", json={"texts": ["a cat"]}) for _ in range(20)]
            paths = ("/api/health", "/", "/app.js", "/docs", "/openapi.json")
            answers = threads.submit(lambda: [client.get(path).status_code for path in paths])
            assert answers.result(timeout=30) == [200] * 5
            assert not any(answer.done() for answer in busy)
        finally:
            release.set()
    assert {answer.result().status_code for answer in busy} == {200}


def test_a_text_without_a_known_word_has_no_neighbours_and_the_class_shares(client, fitted):
    (result,) = post(client, "search", texts=["zebra"], highlight=True)["results"]
    assert result == {"known": False, "neighbors": []}
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


def test_tree_shows_documents_that_were_added(writer):
    before = writer.get("/api/tree").json()
    post(writer, "documents", 201, documents=[{"text": "cat cat cat", "label": "cat"}])
    after = writer.get("/api/tree").json()
    assert [d["id"] for d in before["documents"]] == list(range(15))
    assert [d["id"] for d in after["documents"]] == list(range(16))


def test_documents_come_and_go(writer):
    new = [{"text": "a cat in the car", "label": "cat", "title": "new"}, {"text": "zebra", "label": "dog"}]
    assert post(writer, "documents", 201, documents=new) == {"ids": [15, 16], "known": [True, False], "repeated": False}
    assert writer.get("/api/documents/15").json() == {"id": 15, **new[0]}
    assert post(writer, "search", texts=["a cat in the car"], k=1)["results"][0]["neighbors"][0]["id"] == 15
    assert writer.delete("/api/documents/15").json() == {"id": 15}
    assert writer.get("/api/documents/15").status_code == 404
    assert writer.delete("/api/documents/15").json() == {"detail": "There is no document 15."}


def test_all_documents_may_go(writer):
    for number in range(15):
        assert writer.delete(f"/api/documents/{number}").status_code == 200
    assert post(writer, "search", texts=["a cat"])["results"] == [{"known": True, "neighbors": []}]
    for explain in (False, True):
        assert post(writer, "predict", texts=["a cat"], explain=explain)["predictions"][0]["known"]
    assert writer.get("/api/tree").json()["documents"] == []


def test_a_key_makes_a_repetition_safe(writer):
    body = {"documents": [{"text": "a cat", "label": "cat"}], "key": "one"}
    assert post(writer, "documents", 201, **body)["ids"] == [15]
    assert post(writer, "documents", 201, **body) == {"ids": [15], "known": [True], "repeated": True}
    other = {"documents": [{"text": "a dog", "label": "dog"}], "key": "one"}
    assert "for other documents" in post(writer, "documents", 409, **other)["detail"]


def test_a_disk_that_cannot_be_written_is_said(writer, monkeypatch):
    def broken(*_):
        raise OSError(5, "Input/output error")

    body = {"documents": [{"text": "a cat", "label": "cat"}], "key": "one"}
    with monkeypatch.context() as patch:
        patch.setattr("os.write", broken)
        assert post(writer, "documents", 503, **body)["detail"] == "Nothing was written: Input/output error."
        assert writer.delete("/api/documents/1").status_code == 503
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", broken)
        patch.setattr("os.ftruncate", broken)
        assert post(writer, "documents", 503, **body)["detail"].startswith("It is not known whether this was written")
    answers = [
        writer.post("/api/documents", json=body),
        writer.delete("/api/documents/1"),
        writer.post("/api/search", json={"texts": ["a cat"]}),
    ]
    assert {answer.status_code for answer in answers} == {503}
    assert all("until the service is started again" in answer.json()["detail"] for answer in answers)


def test_health_model_and_metrics(make_client):
    client = make_client()
    assert client.get("/api/health").json()["status"] == "ok"
    model = client.get("/api/model").json()
    assert (model["documents"], model["classes"]) == (15, ["car", "cat", "dog"])
    client.get("/api/documents/99")
    counted = {
        (r["method"], r["route"], r["status"]): r["count"] for r in client.get("/api/metrics").json()["requests"]
    }
    assert counted["GET", "/api/documents/{number}", 404] == 1
    assert counted["GET", "/api/health", 200] == 1


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"{", 400, "Expected JSON"),
        (b"", 422, "body: Field required"),
        (b"\xff", 400, "Expected JSON in UTF-8."),
        (b"[" * 100_000, 400, "Expected JSON with fewer brackets inside each other."),
        (b"1" * 5000, 400, "Expected JSON with shorter numbers."),
        (b"[]", 422, "body: "),
        (b'{"texts": "a cat"}', 422, "body.texts: Input should be a valid list"),
        (b'{"texts": []}', 422, "at least 1 item"),
        (b'{"texts": [1]}', 422, "body.texts.0: Input should be a valid string"),
        (b'{"texts": ["\\ud800"]}', 422, "body.texts.0: "),
        (b'{"texts": ["a"], "k": 0}', 422, "body.k: "),
        (b'{"texts": ["a"], "k": "3"}', 422, "body.k: "),
        (b'{"texts": ["a"], "k": true}', 422, "body.k: "),
        (json.dumps({"texts": ["a"], "k": MOST_NEIGHBORS + 1}).encode(), 422, "less than or equal to 100"),
        (json.dumps({"texts": ["a"] * (MOST_TEXTS + 1)}).encode(), 422, "at most 100 items"),
        (json.dumps({"texts": ["a" * (MOST_CHARACTERS + 1)]}).encode(), 422, "at most 200000 characters"),
        (b'{"texts": ["a"], "other": 1}', 422, "body: Expected texts, k, highlight, got other."),
        (b'{"\\ud800": 1}', 422, "body: Expected texts, k, highlight, got ?."),
        (b'{"' + b"a" * 1000 + b'": 1}', 422, f"got {'a' * 50}."),
        (b" " * (MOST_BYTES + 1), 413, "at most 4000000 bytes"),
    ],
)
def test_wrong_requests_get_a_sentence(client, body, status, sentence):
    answer = client.post("/api/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert sentence in answer.json()["detail"]


def test_a_body_without_a_length_is_limited_too(client):
    def chunks():
        for _ in range(50):
            yield b" " * 100_000

    answer = client.post("/api/search", content=chunks(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("explain", {"first": 99, "second": 1}, 404, "There is no document 99."),
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
    for path in ("model", "metrics", "tree", "documents/1"):
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

    monkeypatch.setattr("treewass.serve.endpoints.search_texts", fail)
    answer = client.post("/api/search", json={"texts": ["a cat"]})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_a_damaged_journal_is_no_fault_of_the_request(folder, writer, live, caplog):
    body = {"documents": [{"text": "a cat", "label": "cat"}]}
    (path,) = folder.glob("journal-*.log")
    with LiveModel(folder, base=live.base) as worker:  # what it writes is read when the next request comes
        place = path.stat().st_size + 20
        worker.add([NewDocument("a private cat", "cat"), NewDocument("a dog", "dog")])
        worker.add([NewDocument("a cat", "cat")])
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    answers = [
        writer.post("/api/documents", json=body),
        writer.delete("/api/documents/1"),
        writer.delete("/api/documents/99"),
        writer.get("/api/documents/1"),
        writer.post("/api/search", json={"texts": ["a cat"]}),
    ]
    assert {answer.status_code for answer in answers} == {500}
    assert {answer.json()["detail"].split(",")[0] for answer in answers} == {"The journal of writes is damaged"}
    assert f"{path.name}, but the one at byte" in caplog.text
    assert "private" not in caplog.text
    assert path.read_bytes() == content


def test_the_log_holds_no_texts(writer, caplog):
    with caplog.at_level("INFO", logger="treewass.serve"):
        post(writer, "search", texts=["a private cat"])
        post(writer, "documents", 201, documents=[{"text": "a private dog", "label": "dog", "title": "private"}])
        writer.get("/private/path?private=1")
        writer.get("/api/tree?node=private")
        writer.get("/api/documents/1")
    lines = [record.getMessage() for record in caplog.records if record.name == "treewass.serve"]
    assert [line.split(" ")[:3] for line in lines] == [
        ["POST", "/api/search", "200"],
        ["POST", "/api/documents", "201"],
        ["GET", "(unknown)", "404"],
        ["GET", "/api/tree", "422"],
        ["GET", "/api/documents/{number}", "200"],
    ]
    assert "private" not in caplog.text
    assert TOKEN not in caplog.text


def test_labels_may_be_numbers(tmp_path):
    from starlette.testclient import TestClient

    codes = [["cat", "dog", "car"].index(label) for label in LABELS]
    DocumentModel(n_neighbors=3, keep_texts=False).fit(TEXTS, codes).save(tmp_path / "model")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with (
        LiveModel(tmp_path / "model") as live,
        TestClient(create_app(live, Settings(token=TOKEN)), headers=headers) as client,
    ):
        post(client, "documents", 201, documents=[{"text": "a cat sleeps", "label": 0}])
        (neighbor,) = post(client, "search", texts=["a cat sleeps"], k=1, highlight=True)["results"][0]["neighbors"]
        assert (neighbor["id"], neighbor["label"], neighbor["text"], neighbor["pieces"]) == (15, 0, None, [])
        assert post(client, "explain", first=15, second=1)["first"] == []
