"""Count the tokens of a text: exactly where the model's own counter is installed (extra `tokens`), else by an estimate.

OpenAI's vocabularies are public. Anthropic's are not, so its models are always estimated: by kind of content, at the characters per token
that recorded sessions had of each.
"""

from __future__ import annotations

import functools
import re
import threading
from typing import NamedTuple

from popkit_retention.core.policy.estimate import estimate_tokens

from .content_kinds import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bpe_openai import Encoding


# The beginning of a model's id, and its vocabulary. The first match counts.
_VOCABULARIES = (
    ("gpt-4o", "o200k_base"), ("gpt-4.1", "o200k_base"), ("gpt-4.5", "o200k_base"), ("gpt-5", "o200k_base"), ("gpt-oss", "o200k_base"),
    ("chatgpt-4o", "o200k_base"), ("o1", "o200k_base"), ("o3", "o200k_base"), ("o4", "o200k_base"), ("codex-", "o200k_base"),
    ("gpt-4", "cl100k_base"), ("gpt-3.5", "cl100k_base"), ("gpt-35", "cl100k_base"), ("text-embedding-", "cl100k_base"),
)  # fmt: skip
# The counter refuses more than 200,000 tokens at once, and no character has more than four.
_MOST_CHARS = 50_000
# No token of either vocabulary crosses the end of a word; the letters behind an apostrophe may belong to the word.
_END = re.compile(r"[A-Za-z](?=[^A-Za-z'\x80-\U0010ffff])")
_WINDOW_CHARS = 1_000
_REMEMBERED = 40_000

_loading = threading.Lock()
_encodings: dict[str, Encoding | None] = {}
# Earlier counts, since a conversation is counted again with every request. By hash, so that no text is kept alive.
_counts: dict[tuple[int, int, str], int] = {}


class Count(NamedTuple):
    """Tokens, and whether they were counted with the model's own vocabulary."""

    tokens: int
    exact: bool


def count_tokens(text: str, model: str = "") -> int:
    """Return the tokens of a text for a model."""
    return count(text, model).tokens


def count(text: str, model: str = "") -> Count:
    """Return the tokens of a text for a model, and whether that is exact."""
    if not text:
        return Count(0, exact=True)
    name = vocabulary_of(model)
    encoding = _encoding(name)
    key = (hash(text), len(text), name if encoding else "")
    tokens = _counts.get(key)
    if tokens is None:
        if len(_counts) >= _REMEMBERED:
            _counts.clear()
        if encoding is None:
            tokens = estimate_tokens(text, kind_of(text))
        else:
            tokens = sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))
        _counts[key] = tokens
    return Count(tokens, encoding is not None)


@functools.lru_cache(maxsize=256)
def vocabulary_of(model: str) -> str:
    """Return the name of a model's vocabulary, "" where it is not public. The id may follow a provider's name (`azure/gpt-4o`) or that of a
    fine-tuning (`ft:gpt-4o:…`)."""
    bare = model.rpartition("/")[2].removeprefix("ft:").lower()
    return next((name for beginning, name in _VOCABULARIES if bare.startswith(beginning)), "")


def load_ahead(model: str) -> threading.Thread:
    """Load the counter of a model, or of a provider's usual models, on a thread: the first count need not wait for all of it. Return the
    thread."""
    thread = threading.Thread(target=_encoding, args=(vocabulary_of(model),), name="popkit-token-counter", daemon=True)
    thread.start()
    return thread


def _encoding(name: str) -> Encoding | None:
    """Return the counter of a vocabulary, None for no name, and where the counter is not installed. It is loaded once per process, which
    takes about a second."""
    if name and name not in _encodings:
        with _loading:
            if name not in _encodings:
                try:
                    import bpe_openai

                    _encodings[name] = bpe_openai.get_encoding(name)
                except ImportError:
                    _encodings[name] = None
    return _encodings.get(name)


def _pieces(text: str) -> list[str]:
    """Return a text in pieces that the counter takes, cut between tokens where possible."""
    pieces, begin = [], 0
    while len(text) - begin > _MOST_CHARS:
        end = begin + _MOST_CHARS
        window = text[end - _WINDOW_CHARS : end + 1]
        ends = [match.end() for match in _END.finditer(window)]
        end += ends[-1] - _WINDOW_CHARS if ends else 0
        pieces.append(text[begin:end])
        begin = end
    return [*pieces, text[begin:]]
