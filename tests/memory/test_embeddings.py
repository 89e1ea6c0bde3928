"""Embeddings that are made by hashing, and how alike they are."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.memory import items
from popkit_retention.memory.embeddings import Embedder, HashedEmbedder, likeness
from popkit_retention.memory.terms import terms_of

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
    found = likeness(a, {"b": b, "c": c, "a": a})
    assert found["a"] == pytest.approx(1)
    assert found["b"] > 0.9
    assert found["c"] < 0.2
    assert likeness(a, {}) == {}
