"""An embedder with a meaning that tests can foresee: how often a text speaks of each subject, by words that mean the same."""

from __future__ import annotations

from collections.abc import Sequence

SUBJECTS = (("car", "automobile", "drive"), ("river", "stream", "water"), ("invoice", "bill", "pay"), ("cat", "kitten", "pet"))


def meaning(texts: Sequence[str]) -> list[list[float]]:
    return [[float(sum(text.lower().count(word) for word in words)) for words in SUBJECTS] for text in texts]


def longer_meaning(texts: Sequence[str]) -> list[list[float]]:
    """The same, in as many numbers as large models return."""
    return [vector + [0.0] * 1_532 for vector in meaning(texts)]


def dying_meaning(texts: Sequence[str]) -> list[list[float]]:
    """The process is killed where it meets a text about a cat."""
    import os  # noqa: PLC0415

    if any("cat" in text for text in texts):
        os._exit(9)
    return meaning(texts)


class Counted:
    """An embedder that counts the texts that it was asked for."""

    def __init__(self, name: str = "counted-1") -> None:
        self.name = name
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return meaning(texts)
