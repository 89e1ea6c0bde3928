"""A corpus of texts, with what the mask leaves of each: `goldens/masked.txt`, and what it leaves of the lists in `tests/data` that is not
just the text without its secret: `goldens/masked_lists.txt`.

A text stands behind `$ `, with ↵ and ␍ for its line breaks. Below it: how it is kept; nothing where nothing of it is masked. A text that is
added needs no more than its `$ `: `--update-goldens` writes the rest, for a person to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from popkit_retention.core.policy.masking import MASK, mask
from tests.policy.test_corpus_of_lines import BREAK, PROMPT

GOLDENS, LISTS = Path(__file__).with_name("goldens"), Path(__file__).resolve().parents[1] / "data"
CORPUS = GOLDENS / "masked.txt"
KEPT, RETURN = "  ", "␍"


def row_of(text: str) -> str:
    return text.replace("\n", BREAK).replace("\r", RETURN)


def told(row: str) -> Iterator[str]:
    """A row of the corpus, and below a text how it is kept."""
    yield row
    text = row[len(PROMPT) :].replace(BREAK, "\n").replace(RETURN, "\r") if row.startswith(PROMPT) else ""
    if mask(text) != text:
        yield KEPT + row_of(mask(text))


def test_a_text_is_masked_as_the_corpus_says(golden) -> None:
    rows = [row for row in CORPUS.read_text(encoding="utf-8").splitlines() if not row.startswith(KEPT)]
    golden(CORPUS, "".join(f"{line}\n" for row in rows for line in told(row)))


def test_a_text_in_the_corpus_stands_there_once() -> None:
    texts = [row for row in CORPUS.read_text(encoding="utf-8").splitlines() if row.startswith(PROMPT)]
    assert len(texts) == len(set(texts))


def of_the_lists() -> Iterator[tuple[str, list[str]]]:
    """Each text of the lists, with its secrets."""
    for path in sorted(LISTS.glob("*secrets*.json")):
        for entry in json.loads(path.read_text(encoding="utf-8")):
            secrets = entry.get("secret", [])
            yield entry["text"], [secrets] if isinstance(secrets, str) else secrets


def test_of_a_listed_text_the_secret_is_masked_and_nothing_else_but_as_told(golden) -> None:
    rows = []
    for text, secrets in of_the_lists():
        without = text
        for secret in sorted(secrets, key=len, reverse=True):
            without = without.replace(secret, MASK)
        if mask(text) != without:
            rows += [PROMPT + row_of(text), KEPT + row_of(mask(text))]
    golden(GOLDENS / "masked_lists.txt", "".join(f"{row}\n" for row in rows))
