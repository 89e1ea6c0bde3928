"""Recall@10 on LoCoMo: which share of the turns that answer a question is among the ten best; or how long a search takes (--speed).

Every turn is an item, the sessions are its episodes; a picture's caption is a part of its text. `fts5` is SQLite's own: `porter` over
"speaker: text caption", any of the question's words, its bm25(). It gives .545 on conversations 4 to 10; another figure means another
measure.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import memory_data

from popkit_retention.memory import embedding_items, search
from popkit_retention.memory.embeddings import HashedEmbedder
from popkit_retention.memory.items import Item
from popkit_retention.memory.minilm import MiniLmEmbedder
from popkit_retention.memory.stores.in_memory import InMemoryStore
from popkit_retention.memory.stores.sqlite import SqliteStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memory_data import Conversation

    from popkit_retention.memory.embeddings import Embedder

MOST = 10
EMBEDDERS: dict[str, Callable[[], Embedder]] = {"hashed": HashedEmbedder, "minilm": MiniLmEmbedder}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--embeddings", choices=EMBEDDERS, help="fuse the ranking with embeddings; minilm needs popkit setup embeddings")
    parser.add_argument("--conversations", type=int, nargs=2, metavar=("FIRST", "LAST"), default=[4, 10], help="1 to 3 are for tuning")
    parser.add_argument("--speed", action="store_true", help="time searches instead")
    parser.add_argument("--items", type=int, default=100_000, help="how many items --speed searches (default: %(default)s)")


def run(options: argparse.Namespace) -> list[dict[str, object]]:
    """A row for each way to search: recall over all questions and by category; or the time of a search."""
    first, last = options.conversations
    conversations = memory_data.conversations(range(first, last + 1))
    if options.speed:
        return [_speed(conversations, options.items)]
    embedder = EMBEDDERS[options.embeddings]() if options.embeddings else None
    named = f"popkit, {embedder.name}" if embedder else "popkit"
    return [_row("fts5", conversations, _fts5), _row(named, conversations, lambda conversation: _popkit(conversation, embedder))]


# --- recall ------------------------------------------------------------------------------------------------------------------------------


def _row(name: str, conversations: Iterable[Conversation], answers: Callable[[Conversation], list[list[int]]]) -> dict[str, object]:
    shares: list[tuple[int, float, bool]] = []
    for conversation in conversations:
        for question, places in zip(conversation.questions, answers(conversation)):
            found = set(question.evidence).intersection(places)
            shares.append((question.category, len(found) / len(question.evidence), bool(found)))
    row: dict[str, object] = {"search": name, "questions": len(shares), "recall@10": statistics.fmean(share for _, share, _ in shares)}
    row["any hit"] = statistics.fmean(hit for _, _, hit in shares)
    for category in memory_data.CATEGORIES:
        row[f"category {category}"] = statistics.fmean(share for which, share, _ in shares if which == category)
    return row


def _fts5(conversation: Conversation) -> list[list[int]]:
    """The places of the turns that SQLite finds best, for each question."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE turns USING fts5(text, tokenize = 'porter unicode61')")
    texts = ((place, f"{turn.speaker}: {turn.text} {turn.caption}") for place, turn in enumerate(conversation.turns))
    db.executemany("INSERT INTO turns (rowid, text) VALUES (?, ?)", texts)
    asked = [" OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text)) for question in conversation.questions]
    query = "SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY bm25(turns) LIMIT ?"
    return [[place for (place,) in db.execute(query, (words, MOST))] for words in asked]


def _popkit(conversation: Conversation, embedder: Embedder | None) -> list[list[int]]:
    """The places of the turns that our search finds best, for each question."""
    store = InMemoryStore()
    store.add(items_of(conversation))
    if embedder:
        embedding_items.embed_items(store, embedder)
    found = (search.search(store, question.text, embedder=embedder, most=MOST) for question in conversation.questions)
    return [[int(item.id.rpartition("-")[2]) for item, _ in answer] for answer in found]


def items_of(conversation: Conversation) -> list[Item]:
    """The turns of a conversation as items, the number of the turn at the end of their ids."""
    return [
        Item(
            id=f"{conversation.number}-{place}", text=f"{turn.text} {turn.caption}".strip(), place=place, speaker=turn.speaker,
            episode=f"{conversation.number}/{turn.session}", created_at=turn.at,
        )
        for place, turn in enumerate(conversation.turns)
    ]  # fmt: skip


# --- speed -------------------------------------------------------------------------------------------------------------------------------


def _speed(conversations: list[Conversation], most: int) -> dict[str, object]:
    """Searches over many items: the turns again and again, each time as another episode with a word of its own."""
    turns = [item for conversation in conversations for item in items_of(conversation)]
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(str(Path(folder) / "memory.db"))
        for start in range(0, most, len(turns)):
            store.add(
                [
                    Item(
                        id=f"{start}-{item.id}", text=f"{item.text} copy{start}", episode=f"{start}/{item.episode}", place=item.place,
                        speaker=item.speaker, created_at=item.created_at,
                    )
                    for item in turns[: most - start]
                ]
            )  # fmt: skip
        times_ms, cpu_ms = [], []
        for question in [question for conversation in conversations for question in conversation.questions][:300]:
            began, cpu_began = time.perf_counter(), time.process_time()
            search.search(store, question.text)
            times_ms.append((time.perf_counter() - began) * 1_000)
            cpu_ms.append((time.process_time() - cpu_began) * 1_000)
        store.close()
    times_ms.sort()
    return {
        "items": most, "searches": len(times_ms), "median ms": statistics.median(times_ms), "of it CPU": statistics.median(cpu_ms),
        "90 % ms": times_ms[int(len(times_ms) * 0.9)],
    }  # fmt: skip
