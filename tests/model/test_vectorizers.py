import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from treewass import DocumentModel
from treewass.explain.highlights import weighted_pieces
from treewass.model.sklearn_counter import SklearnCounter
from treewass.model.vectorizers import DEFAULT_PATTERN, WordCounter, make_counter, restore_counter

TEXTS = ["A cat, a dog.", "Ein Käse für 3 Mäuse!", "the cat's pyjamas", "İstanbul STRASSE straße", ""]
texts = st.lists(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("ab Aß İ_-'1\n")), max_size=30))


@given(known=texts, new=texts)
def test_counts_are_those_of_scikit_learn(known, new):
    known = [*known, "at least one word"]
    vectorizer = CountVectorizer(token_pattern=DEFAULT_PATTERN).fit(known)
    counter = make_counter(vectorizer).fitted(known)
    assert isinstance(counter, WordCounter)
    assert list(counter.words) == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(counter.count(new).toarray(), vectorizer.transform(new).toarray())


@given(
    text=st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("ab Aß İ_-'1\né日本語ไทย"))),
    fold=st.booleans(),
    pairs=st.booleans(),
    stem=st.sampled_from([None, "english"]),
)
def test_spans_are_the_words_counted(text, fold, pairs, stem):
    counter = WordCounter(fold=fold, pairs=pairs, stem=stem).fitted([text, "word"])
    spans = counter.spans(text)
    if spans:
        shown = dict(zip(counter.words, counter.names, strict=True))
        assert [word for _, _, word in spans] == [shown[word] for word in counter.tokens(text)]
    for start, stop, word in spans:
        assert start < stop
        if not (fold or stem):
            assert text[start:stop].lower() == word


@pytest.mark.parametrize(
    ("one", "other"),
    [("Naïve CAFÉ", "naive café"), ("Straße", "STRASSE"), ("cafe\u0301", "CAFÉ"), ("Ήλιος", "ΗΛΙΟΣ")],
)
def test_case_and_accents_are_folded(one, other):
    assert WordCounter().tokens(one) == WordCounter().tokens(other)
    assert WordCounter(fold=False).tokens(one) != WordCounter(fold=False).tokens(other)
    assert WordCounter().tokens("мой мои นำ นา") == ["мой", "мои", "นำ", "นา"]


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["überwiesen uberwiesen", "Überwiesen!"], {"uberwiesen": "überwiesen"}),
        (["naive", "naive naïve"], {}),
        (["naïve naive"], {}),  # of equals the first
        (["résumé resumé resume"], {}),
        (["résumé resumé"], {"resume": "resumé"}),
        (["東京 café 東京 cafe Café"], {"cafe": "café"}),
        (["мой мои", "plain"], {}),
        (["Straße STRASSE strasse"], {}),
    ],
)
def test_words_are_shown_as_they_are_written_most_often(texts, shown):
    counter = WordCounter().fitted(texts)
    assert counter.spellings == shown
    assert counter.names == tuple(shown.get(word, word) for word in counter.words)
    assert counter.fitted(["plain"]).spellings == {}


def test_words_that_are_not_folded_have_no_other_form():
    assert WordCounter(fold=False).fitted(["naïve Straße"]).spellings == {}
    assert WordCounter(stem="english").fitted(["naïve storms"]).spellings == {}


def test_new_words_bring_their_forms_and_known_ones_keep_theirs():
    counter = WordCounter().fitted(["naïve", "plain"])
    assert counter.names == ("naïve", "plain")
    wider = counter.widened(["naive naive naive", "überwiesen plàin"])
    assert wider.names == ("naïve", "plain", "überwiesen")
    assert counter.names == ("naïve", "plain")


@pytest.mark.parametrize("bounds", [[0, 4], [0, 1, 4], [0, 1, 2, 3, 4]])
def test_the_first_text_that_holds_a_new_word_says_how_it_is_written(bounds):
    texts = ["resume", "résumé résumé über", "uber résumé naïve naive", "東京 café 東京 cafe Café"]
    counter = WordCounter().fitted(["plain"])
    for start, stop in pairwise(bounds):  # in one batch, or in several
        counter = counter.widened(texts[start:stop])
    assert counter.spellings == {"uber": "über", "naive": "naïve", "cafe": "café"}


@pytest.mark.parametrize("settings", [{}, {"fold": False}, {"stem": "english"}])
def test_typed_words_are_those_counted_each_as_it_is_written_first(settings):
    text, counter = "Tortüe storms, a tortue; STORM 東京都", WordCounter(**settings)
    assert list(counter.typed(text)) == list(dict.fromkeys(counter.tokens(text)))
    assert list(counter.typed(text).values())[:3] == ["tortüe", "storms", "a"]


def test_words_have_stems_of_a_language():
    counter = WordCounter(stem="english").fitted(["Storms are coming", "a storm"])
    assert counter.words == ("a", "are", "come", "storm")
    assert counter.spans("Two STORMS") == [(4, 10, "storm")]
    restored = restore_counter(json.loads(json.dumps(counter.settings())), counter.words)
    assert restored.tokens("coming storms") == ["come", "storm"]
    with pytest.raises(ValueError, match=r"stem as None or one of .*english.*, got 'klingon'"):
        WordCounter(stem="klingon")


CHINESE = {
    "weather": ["昨天台风登陆了南方沿海。", "明天有大雨和强风。", "台风带来了大雨和洪水。", "今天天气晴朗，没有风。"],
    "food": ["妈妈做的饺子很好吃。", "这家餐厅的面条很便宜。", "我喜欢吃辣的火锅。", "早餐吃了包子和豆浆。"],
}
JAPANESE = {
    "weather": [
        "昨日台風が上陸しました。",
        "明日は大雨になるでしょう。",
        "台風で大雨と強風が続く。",
        "今日は晴れて風もない。",
    ],
    "food": [
        "母の作る餃子はおいしい。",
        "この店のラーメンは安い。",
        "辛い鍋料理を食べたい。",
        "朝ご飯にパンを食べました。",
    ],
}
THAI = {
    "weather": ["เมื่อวานพายุเข้าฝั่งทางใต้", "พรุ่งนี้จะมีฝนตกหนัก", "พายุทำให้ฝนตกหนักและน้ำท่วม", "วันนี้ท้องฟ้าแจ่มใสไม่มีลม"],
    "food": ["แม่ทำอาหารอร่อยมาก", "ร้านนี้ขายก๋วยเตี๋ยวราคาถูก", "ฉันชอบกินอาหารเผ็ด", "ตอนเช้ากินข้าวต้มกับไข่"],
}


@pytest.mark.parametrize(
    ("texts", "word", "query"),
    [(CHINESE, "台风", "台风和大雨"), (JAPANESE, "台風", "台風と大雨"), (THAI, "พายุ", "พายุและฝนตก")],
    ids=["Chinese", "Japanese", "Thai"],
)
def test_texts_without_spaces_are_searched_and_classified(texts, word, query):
    labels = [label for label, own in texts.items() for _ in own]
    model = DocumentModel(n_neighbors=1).fit([text for own in texts.values() for text in own], labels)
    found = model.search(word, 2)
    assert all(word in hit.text for hit in found)
    assert len(found) == 2
    assert model.predict([query]).tolist() == ["weather"]
    text = found[0].text
    spans = model.contents_.counter.spans(text)
    weights = dict.fromkeys(model.contents_.counter.tokens(word), 1.0)
    pieces = weighted_pieces(text, spans, weights)
    assert "".join(piece.text for piece in pieces) == text
    assert word in "".join(piece.text for piece in pieces if piece.weight)


SETTINGS = [
    CountVectorizer(),
    CountVectorizer(lowercase=False, token_pattern=r"\b(\w\w)\w*"),
    CountVectorizer(ngram_range=(1, 2), stop_words="english", min_df=1),
    CountVectorizer(analyzer="char_wb", ngram_range=(2, 3), strip_accents="unicode"),
    CountVectorizer(max_df=1, binary=True),
    CountVectorizer(vocabulary={"cat": 1, "dog": 0}, dtype=np.float32),
    CountVectorizer(stop_words=["a", "the"]),
    TfidfVectorizer(sublinear_tf=True),
    TfidfVectorizer(use_idf=False, norm=None),
]


@pytest.mark.parametrize("vectorizer", SETTINGS, ids=range(len(SETTINGS)))
def test_settings_of_scikit_learn_survive_json(vectorizer):
    counter = make_counter(vectorizer).fitted(TEXTS)
    restored = restore_counter(json.loads(json.dumps(counter.settings())), counter.words)
    expected = vectorizer.fit_transform(TEXTS).toarray()
    assert list(counter.words) == vectorizer.get_feature_names_out().tolist()
    for one in (counter, restored):
        np.testing.assert_array_equal(one.count(TEXTS).toarray(), expected)
        ((words, weights),) = one.rows([TEXTS[0]])
        np.testing.assert_array_equal(words, np.flatnonzero(expected[0]))
        np.testing.assert_array_equal(weights, expected[0][words])


def test_plain_settings_need_no_scikit_learn():
    assert isinstance(make_counter(CountVectorizer(token_pattern=r"\w+")), WordCounter)
    assert isinstance(make_counter(CountVectorizer(max_df=1)), SklearnCounter)


@pytest.mark.parametrize(
    ("vectorizer", "message"),
    [
        (CountVectorizer(analyzer=str.split), "analyzer of this CountVectorizer is method_descriptor"),
        (CountVectorizer(tokenizer=str.split), "tokenizer of this CountVectorizer"),
        (HashingVectorizer(), "got HashingVectorizer"),
        ("words", "got str"),
    ],
)
def test_what_cannot_be_stored_is_refused(vectorizer, message):
    with pytest.raises(TypeError, match=message):
        make_counter(vectorizer)


def test_files_as_input_are_refused():
    with pytest.raises(ValueError, match="input='filename'"):
        make_counter(CountVectorizer(input="filename"))


def test_texts_without_words_are_refused():
    with pytest.raises(ValueError, match="none holds a word"):
        WordCounter().fitted(["…", ""])


def test_new_words_come_after_those_known():
    counter = WordCounter().fitted(["b d"]).widened(["a c b"])
    assert counter.words == ("b", "d", "a", "c")
    assert counter.count(["a b"]).toarray().tolist() == [[1, 0, 1, 0]]


@pytest.mark.parametrize("pattern", ["(", r"(a)(b)"])
def test_patterns_that_cannot_be_used_are_refused(pattern):
    with pytest.raises(ValueError, match="token_pattern"):
        WordCounter(pattern)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kind": "HashingVectorizer", "parameters": {}},
        {"kind": "words"},
        {"kind": "CountVectorizer", "parameters": 3},
    ],
)
def test_settings_that_describe_nothing_are_refused(settings):
    with pytest.raises(ValueError, match="Expected"):
        restore_counter(settings, ["a"])
