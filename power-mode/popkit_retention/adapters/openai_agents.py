"""A session of the OpenAI Agents SDK, cut by the context builder for each run.

    session = PopkitSession("conversation-1", "agent.sqlite", model="gpt-5")
    result = await Runner.run(agent, "hello", session=session)

The SDK asks for no base class, so its package is not imported.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from popkit_retention.core.io import sqlite_file
from popkit_retention.core.io.sqlite_file import Schema, StoreError, Transaction

from ..context.message_digests import digest_of
from ..context.meter import Meter
from ..context.provider_forms import Provider
from .chat_history import PLACE, Settings, added_texts, built, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from sqlite3 import Connection
    from typing import TypeVar

    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings

    T = TypeVar("T")

_ITEMS = "CREATE TABLE items (session_id TEXT NOT NULL, place INTEGER NOT NULL, item TEXT NOT NULL, PRIMARY KEY (session_id, place))"
_STATES = "CREATE TABLE states (session_id TEXT PRIMARY KEY, state TEXT NOT NULL)"
SCHEMA = Schema("session", 0x506F7053, (("items of sessions", (_ITEMS, _STATES)),))  # "PopS"
_LAST = "SELECT item FROM items WHERE session_id = ? ORDER BY place DESC LIMIT ?"
_ADD = "INSERT INTO items SELECT ?, coalesce(max(place), 0) + 1, ? FROM items WHERE session_id = ?"
_POP = "DELETE FROM items WHERE session_id = ? AND place = (SELECT max(place) FROM items WHERE session_id = ?)"
_REQUEST = {"role": "user", "content": None}  # in the place of the request that is about to come


class PopkitSession:
    """A session in a private SQLite file, which any number of sessions, threads and processes may share.

    `get_items()` returns the built context: dead results of tools and old exchanges leave where that pays, calls and their results only
    together. The file keeps all items as they came; `get_items(limit=N)` returns the newest N of those. `path`: of the file (`~` is your
    home), or ":memory:". `model`: its name, for its window and its tokens. `max_tokens`: the most that the context may have; None: the
    model's window. `budget_used_percent`: how much of a budget is used; the more, the more leaves. `project`: the folder of relative paths.

    Raise StoreError where the file cannot be used."""

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        path: str | os.PathLike[str],
        *,
        model: str = "",
        max_tokens: int | None = None,
        budget_used_percent: float | None = None,
        project: str = "",
    ) -> None:
        self.session_id = session_id
        self.path = os.path.expanduser(os.fspath(path))
        self.settings = Settings(model, max_tokens, budget_used_percent, project)
        self._lock = threading.RLock()  # of the one connection
        with self._usable():
            in_memory = self.path == sqlite_file.MEMORY
            self._db = sqlite_file.open_in_memory(SCHEMA) if in_memory else sqlite_file.open_store(self.path, SCHEMA, any_thread=True)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the built context of the session; with a limit, the newest items as they were added."""
        return await asyncio.to_thread(self._context if limit is None else lambda: self._newest(limit))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, all or none."""
        written = [(self.session_id, json.dumps(item, ensure_ascii=False), self.session_id) for item in items]

        def add(db: Connection) -> None:  # returns no cursor: freed by another thread, it would reset what the connection then runs
            db.executemany(_ADD, written)

        await self._written(add)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it; None where there is none."""

        def pop(db: Connection) -> list[TResponseInputItem]:
            newest = self._newest(1)
            db.execute(_POP, (self.session_id, self.session_id))
            return newest

        popped = await self._written(pop)
        return popped[0] if popped else None

    async def clear_session(self) -> None:
        """Remove all items of the session."""

        def clear(db: Connection) -> None:
            for table in ("items", "states"):
                db.execute(f"DELETE FROM {table} WHERE session_id = ?", (self.session_id,))  # noqa: S608  a name of our own

        await self._written(clear)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    async def _written(self, change: Callable[[Connection], T]) -> T:
        def write() -> T:
            with self._usable(), Transaction(self._db):
                return change(self._db)

        return await asyncio.to_thread(write)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Keep other threads out, and say which file an error of SQLite is about."""
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                raise StoreError(f"{self.path}: the session cannot be kept ({error}). Check the file, and the room on its disk") from None

    def _newest(self, limit: int) -> list[TResponseInputItem]:
        with self._usable():
            rows = self._db.execute(_LAST, (self.session_id, max(0, limit))).fetchall()
        return [json.loads(item) for (item,) in reversed(rows)]

    def _context(self) -> list[TResponseInputItem]:
        with self._usable():
            rows = self._db.execute(_LAST, (self.session_id, -1)).fetchall()
            states = self._db.execute("SELECT state FROM states WHERE session_id = ?", (self.session_id,)).fetchall()
        items: list[dict[str, object]] = [json.loads(item) for (item,) in reversed(rows)]
        messages = _messages(items)
        before = _with_request(json.loads(states[0][0]), messages, self.settings.model) if states else None
        result = built([message.chat for message in messages], before, self.settings)
        with self._usable(), Transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (self.session_id, json.dumps(result.state)))
        staying = kept(result)
        left = [item for number, message in enumerate(messages) if number in staying for item in message.edited(items, staying[number])]
        return cast("list[TResponseInputItem]", left)


class _Message(NamedTuple):
    """Items that are one message of a chat, and their numbers."""

    chat: dict[str, Any]
    numbers: list[int]

    def edited(self, items: Sequence[dict[str, object]], after: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the items as they are to be sent."""
        own = [items[number] for number in self.numbers]
        if self.chat["role"] == "tool":
            return own if after["content"] == self.chat["content"] else [{**item, "output": after["content"]} for item in own]
        if self.chat["role"] == "assistant":
            calls = {call["id"]: call.get("function", {}).get("arguments") for call in after.get("tool_calls", ())}
            return [_with_arguments(item, calls) for item in own]
        texts = added_texts(self.chat, after)
        return [{"role": "user", "content": "\n\n".join(texts)}, *own] if texts else own


def _with_arguments(item: dict[str, Any], calls: dict[str, Any]) -> dict[str, Any]:
    arguments = calls.get(item.get("call_id", "")) if item.get("type") == "function_call" else None
    return item if arguments in (None, item.get("arguments")) else {**item, "arguments": arguments}


def _messages(items: Sequence[dict[str, object]]) -> list[_Message]:
    """Return items as messages of a chat. The last one is a request: the run that asks for the items is about to add it."""
    messages: list[_Message] = []
    for number, item in enumerate(items):
        role, kind = str(item.get("role") or ""), str(item.get("type") or "message")
        if role in ("user", "system", "developer"):
            messages.append(_Message({"role": role, "content": _content(item.get("content"))}, [number]))
        elif kind.endswith("_output"):
            chat = {"role": "tool", "tool_call_id": str(item.get("call_id") or ""), "content": _content(item.get("output"))}
            messages.append(_Message(chat, [number]))
        else:
            if not messages:
                messages.append(_Message(_REQUEST, []))
            if messages[-1].chat["role"] != "assistant":
                messages.append(_Message({"role": "assistant", "content": None}, []))
            messages[-1].numbers.append(number)
            _say(messages[-1].chat, item, kind)
    return messages if messages and messages[-1].chat["role"] == "user" else [*messages, _Message(_REQUEST, [])]


def _say(answer: dict[str, Any], item: dict[str, object], kind: str) -> None:
    """Enter an item of the model's into its answer: a call that waits for a result, a text, or anything else as a block of its own."""
    id = item.get("call_id")
    if kind == "function_call":
        call = {"id": id, "type": "function", "function": {"name": item.get("name"), "arguments": item.get("arguments")}}
        answer.setdefault("tool_calls", []).append(call)
    elif isinstance(id, str):
        called = {"name": str(item.get("name") or kind), "input": json.dumps(item.get("input") or item.get("action"), ensure_ascii=False)}
        answer.setdefault("tool_calls", []).append({"id": id, "type": "custom", "custom": called})
    else:
        blocks = _content(item.get("content")) if kind == "message" else [{"type": kind, "item": item}]
        own = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        answer["content"] = [*(answer["content"] or ()), *own]


def _content(content: Any) -> Any:
    """Return a content in a chat's form: a text, or blocks, of which those with text have it as such."""
    if not isinstance(content, list):
        return content if isinstance(content, str) or content is None else json.dumps(content, ensure_ascii=False)
    return [
        {"type": "text", "text": block["text"]} if isinstance(block, dict) and isinstance(block.get("text"), str) else block
        for block in content
    ]


def _with_request(state: dict[str, Any], messages: Sequence[_Message], model: str) -> dict[str, object]:
    """Return the state of the last build with the request that has come since, in the place that was kept for it: what was said before
    that request stays there."""
    digests = list(state.get("digests") or ())
    number = len(digests) - 1
    if not 0 <= number < len(messages) or messages[number].chat["role"] != "user":
        return state
    if digests[number] != digest_of({**_REQUEST, PLACE: number}):
        return state
    chat = messages[number].chat
    counts = [*state["tokens"][:number], [Meter(model, Provider.OPENAI).message(chat), 0], *state["tokens"][number + 1 :]]
    return {**state, "digests": [*digests[:number], digest_of({**chat, PLACE: number})], "tokens": counts}
