"""Memories and files that are given."""

from __future__ import annotations

from collections.abc import Sequence

from popkit_retention.context import FileText, Remembered


class Memories:
    """Memories, the best first; `asked`: the requests that they were asked for."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list[tuple[str, int | None]] = []

    def relevant(self, request: str, most: int | None) -> Sequence[Remembered]:
        self.asked.append((request, most))
        return [Remembered(str(n), text, 1 / (n + 1)) for n, text in enumerate(self.texts)][:most]


class Files:
    """Files of a project by their paths; `outlined`: those whose outline was asked for."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self.outlined: list[str] = []

    def read(self, path: str, with_outline: bool = False) -> FileText | None:
        text = self.texts.get(path)
        self.outlined += [path] if with_outline else []
        return None if text is None else FileText(path, text, f"1: outline of {path}" if with_outline else "", str(hash(text)))
