"""Count the tokens of a text: exactly where the model's own counter is installed (extra `tokens`), else by an estimate.

OpenAI's vocabularies are public. Anthropic's are not, so its models are always estimated: by kind of content, at the characters per token
that recorded sessions had of each.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import threading
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

from popkit_retention.core.policy.estimate import estimate_tokens

from .content_kinds import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Counter = Callable[[str], int]


# The beginning of a model's id, and its vocabulary. The first match counts.
_VOCABULARIES = (
    ("gpt-4o", "o200k_base"), ("gpt-4.1", "o200k_base"), ("gpt-4.5", "o200k_base"), ("gpt-5", "o200k_base"), ("gpt-oss", "o200k_base"),
    ("chatgpt-4o", "o200k_base"), ("o1", "o200k_base"), ("o3", "o200k_base"), ("o4", "o200k_base"), ("codex-", "o200k_base"),
    ("gpt-4", "cl100k_base"), ("gpt-3.5", "cl100k_base"), ("gpt-35", "cl100k_base"), ("text-embedding-", "cl100k_base"),
)  # fmt: skip
# The package itself refuses more than 200,000 tokens at once, and no character has more than four. A cut may add a token.
_MOST_CHARS = 50_000
_REMEMBERED = 40_000

_loading = threading.Lock()
_counters: dict[str, Counter | None] = {}
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
    counter = _counter(name)
    key = (hash(text), len(text), name if counter else "")
    tokens = _counts.get(key)
    if tokens is None:
        if len(_counts) >= _REMEMBERED:
            _counts.clear()
        tokens = estimate_tokens(text, kind_of(text)) if counter is None else _counted(text, counter)
        _counts[key] = tokens
    return Count(tokens, counter is not None)


@functools.lru_cache(maxsize=256)
def vocabulary_of(model: str) -> str:
    """Return the name of a model's vocabulary, "" where it is not public. The id may follow a provider's name (`azure/gpt-4o`) or that of a
    fine-tuning (`ft:gpt-4o:…`)."""
    bare = model.rpartition("/")[2].removeprefix("ft:").lower()
    return next((name for beginning, name in _VOCABULARIES if bare.startswith(beginning)), "")


def load_ahead(model: str) -> threading.Thread:
    """Load the counter of a model, or of a provider's usual models, on a thread: the first count need not wait for all of it. Return the
    thread."""
    thread = threading.Thread(target=_counter, args=(vocabulary_of(model),), name="popkit-token-counter", daemon=True)
    thread.start()
    return thread


def _counter(name: str) -> Counter | None:
    """Return the counter of a vocabulary, None for no name, and where the counter is not installed. It is loaded once per process, which
    takes some 75 ms of the processor."""
    if name and name not in _counters:
        with _loading:
            if name not in _counters:
                try:
                    _counters[name] = _loaded(name)
                except ImportError:
                    _counters[name] = None
    return _counters.get(name)


def _loaded(name: str) -> Counter:
    """Return the counter of a vocabulary: of the package's compiled part, or, where a release of the package has that elsewhere, of the
    package itself. ImportError where it is not installed."""
    try:
        return _bindings().tokenizer_for_encoding(name).count
    except (ImportError, AttributeError):
        import bpe_openai

        encode = bpe_openai.get_encoding(name).encode_ordinary
        return lambda text: sum(len(encode(text[at : at + _MOST_CHARS])) for at in range(0, len(text), _MOST_CHARS))


def _bindings() -> Any:
    """Return the compiled part of the package bpe_openai, without the package itself: to import that builds three vocabularies in Python,
    which nothing here reads, in a second. ImportError where it is not installed."""
    name = "bpe_openai._bindings"
    if name in sys.modules:
        return sys.modules[name]
    package = importlib.util.find_spec("bpe_openai")
    spec = PathFinder.find_spec(name, package.submodule_search_locations) if package else None
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return sys.modules.setdefault(name, module)  # the package, if a program imports it later, takes this one


def _counted(text: str, counter: Counter) -> int:
    """Return the tokens of a text; a lone surrogate counts as the mark that replaces it."""
    try:
        return counter(text)
    except UnicodeEncodeError:
        return counter(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
