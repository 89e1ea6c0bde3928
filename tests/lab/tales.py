"""Conversations made up by hypothesis, and what clearing nothing costs in them, reckoned the slow way from the lines alone."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from popkit_retention.core.hosts.transcripts.stamps import seconds_of
from popkit_retention.lab.recorded import CHARS_PER_TOKEN
from tests.lab.transcripts import BEGAN, Transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.economics import Prices

NAMES = [f"src/module_{number}/handler.ts" for number in range(8)]
FOUND = [f"found_in_place_{number}" for number in range(20)]  # no call asks for these
_SECONDS = st.sampled_from([0.5, 3, 40, 299, 301, 3_590, 4_000])
_TEXTS = st.lists(st.sampled_from([*NAMES, *FOUND, "so on", "and then", "x" * 350, "see it"]), max_size=5).map("\n".join)
_TOOLS = st.sampled_from(["Bash", "Read", "Grep", "Edit"])
_CALL = st.tuples(_TOOLS, st.sampled_from(NAMES), _TEXTS, st.sampled_from([1, 1, 8, 60]))
_EVENT = st.one_of(
    st.tuples(st.just("prompt"), _TEXTS, _SECONDS),
    st.tuples(st.just("calls"), st.lists(_CALL, min_size=1, max_size=3), st.booleans(), _TEXTS, _SECONDS),
    st.tuples(st.just("calls"), st.lists(_CALL, min_size=1, max_size=1), st.booleans(), _TEXTS, _SECONDS),
    st.tuples(st.just("answer"), _TEXTS, _SECONDS),
    st.tuples(st.sampled_from(["fold", "rewind", "noise"]), st.integers(0, 10**6), _SECONDS),
)


class Tale(Transcript):
    """A conversation of random events."""

    def __init__(self, events: list) -> None:
        super().__init__()
        self.number = 0
        self.points: list[str] = []  # what a rewind may go back to
        self.fold_at = 0
        self.prompt("begin")
        self.points.append(self.last)
        for kind, *rest in events:
            self.wait(rest[-1])
            getattr(self, "_" + kind)(*rest[:-1])
        self.answer("that is it", "m-last")

    def _prompt(self, text: str) -> None:
        self.prompt(text)
        self.points.append(self.last)

    def _answer(self, text: str) -> None:
        self.number += 1
        self.answer(text, f"m{self.number}")
        self.points.append(self.last)

    def _calls(self, calls: list, interleaved: bool, text: str) -> None:
        """A message with some calls. The client writes a result as soon as it is there, often between two calls of one message."""
        self.number += 1
        message = f"m{self.number}"
        if text:
            self.answer(text, message)
        results = []
        for at, (tool, name, output, times) in enumerate(calls):
            id = f"t{self.number}-{at}"
            tool_input = {"command": f"cat {name}"} if tool == "Bash" else {"file_path": "/shop/" + name, "pattern": name}
            use = self.use(id, tool, tool_input, message=message)
            results.append((id, "\n".join([output] * times), use))
            if interleaved:
                self.wait(1)
                self.result(*results.pop()[:2])
        for id, content, use in results:
            self.wait(1)
            self.result(id, content, parent=use)
        self.points.append(self.last)

    def _fold(self, _number: int) -> None:
        self.fold("what was done")
        self.points = [self.last]

    def _rewind(self, number: int) -> None:
        self.prompt("no, rather so", parent=self.points[number % len(self.points)])
        self.points.append(self.last)

    def _noise(self, number: int) -> None:
        if number % 3 == 0:
            self.add("system", subtype="turn_duration")
        elif number % 3 == 1:
            self.entries.append({"type": "file-history-snapshot", "messageId": "x"})
        else:
            body = {"id": f"s{number}", "role": "assistant", "content": [{"type": "text", "text": "API Error"}], "model": "<synthetic>"}
            self.add("assistant", message=body)

    # --- the plain reckoning --------------------------------------------------------------------------------------------------------

    def reckoned(self, base: int, prices: Prices) -> tuple[float, list[int]]:
        """(cost, prompt tokens of each request) of clearing nothing: for each request the whole file is gone through again. Behind a
        compaction, whose request reads it all and whose summary is written, the files are there that were touched last."""
        seen: list[str] = []
        cost, prompts, before = 0.0, [], 0.0
        ended: list[list] = []  # contexts that requests ended with, and that a later one may still find in the cache
        files: dict = {None: 0}  # boundary -> tokens that were put back behind it, once a request has gone out

        def sent(context: list, boundary: str | None, at: float) -> float:
            nonlocal ended
            prompt = base + files.get(boundary, 0) + sum(size for _, size in context)
            read = 0
            if before and at - before <= prices.ttl_s:
                ended = [earlier for earlier in ended if context[: len(earlier)] == earlier]
                read = base + (files.get(boundary, 0) + sum(size for _, size in ended[-1]) if ended else 0)
            else:
                ended = []
            return prices.read * read + prices.write * (prompt - read)

        for here, entry in enumerate(self.entries):
            if entry.get("subtype") == "compact_boundary" and before:
                context, boundary = self._context(here, entry["logicalParentUuid"])
                summary = sum(size for _, size in _pieces(self.entries[here + 1]))
                cost += sent(context, boundary, _at(entry, [])) + prices.output * summary
                ended, before = [], _at(entry, [])
            if not _produced(entry) or entry["message"]["id"] in seen:
                continue
            message = entry["message"]["id"]
            seen.append(message)
            context, boundary = self._context(here, entry["parentUuid"])
            if boundary not in files:
                files[boundary] = self._files(boundary)
            own = [other for other in self.entries if _produced(other) and other["message"]["id"] == message]
            output = sum(size for other in own for _, size in _pieces(other))
            cost += sent(context, boundary, _at(self.entries[here - 1], self.entries[:here])) + prices.output * output
            prompts.append(base + files[boundary] + sum(size for _, size in context))
            ended = [*ended[-8:], context]
            before = max(_at(other, []) for other in own)
        return cost, prompts

    def _files(self, boundary: str) -> int:
        """The tokens of the last five files that were read or edited before a compaction, each up to 5,000."""
        at = next(place for place, entry in enumerate(self.entries) if entry.get("uuid") == boundary)
        context = {what for what, _ in self._context(at, self.entries[at]["logicalParentUuid"])[0]}
        calls = {
            block["id"]: (block["name"], block["input"].get("file_path"), size)
            for entry in self.entries[:at]
            for block, (_, size) in zip(_content(entry), _pieces(entry))
            if block.get("type") == "tool_use" and block["name"] in ("Read", "Edit")
        }
        sizes: dict = {}
        for entry in self.entries[:at]:
            for block, (what, size) in zip(_content(entry), _pieces(entry)):
                if what in context and block.get("tool_use_id") in calls:
                    tool, path, asked = calls[block["tool_use_id"]]
                    sizes[path] = max(sizes.pop(path, 0), size if tool == "Read" else asked)
        return sum(min(size, 5_000) for size in list(sizes.values())[-5:])

    def _context(self, here: int, parent: str | None) -> tuple[list, str | None]:
        """What a request saw: [(what, tokens)] of its chain, from its parent on, since the last compaction, and that one's uuid."""
        places = {entry["uuid"]: at for at, entry in enumerate(self.entries) if "uuid" in entry}
        chain, at, boundary = set(), places.get(parent), None
        while at is not None:
            if self.entries[at].get("subtype") == "compact_boundary":
                boundary = self.entries[at]["uuid"]
                break
            chain.add(at)
            at = places.get(self.entries[at]["parentUuid"])
        called = {block["id"] for at in chain for block in _content(self.entries[at]) if block.get("type") == "tool_use"}
        for at, entry in enumerate(self.entries[:here]):
            if any(block.get("tool_use_id") in called for block in _content(entry)):
                chain.add(at)
        return [piece for at in sorted(chain) for piece in _pieces(self.entries[at])], boundary


def begun() -> Tale:
    """A conversation of its first prompt, to which nothing has been answered yet."""
    tale = Tale([])
    tale.entries.pop()
    tale.last = tale.entries[-1]["uuid"]
    return tale


def _produced(entry: dict) -> bool:
    return entry["type"] == "assistant" and entry["message"]["model"] != "<synthetic>"


def _content(entry: dict) -> list:
    content = entry.get("message", {}).get("content")
    return content if isinstance(content, list) else []


def _pieces(entry: dict) -> list:
    """[(what, tokens)] of an entry."""
    if entry["type"] not in ("user", "assistant") or (entry["type"] == "assistant" and not _produced(entry)):
        return []
    content = entry["message"]["content"]
    if isinstance(content, str):
        return [(entry["uuid"], round(len(content) / CHARS_PER_TOKEN))]
    pieces = []
    for number, block in enumerate(content):
        written = block.get("text", block.get("content"))
        text = written if isinstance(written, str) else json.dumps(block["input"], ensure_ascii=False)
        pieces.append(((entry["uuid"], number), round(len(text) / CHARS_PER_TOKEN)))
    return pieces


def _at(entry: dict, earlier: list) -> float:
    """When an entry, or the newest of those before it, was written; in seconds."""
    return max([seconds_of(other.get("timestamp")) for other in (*earlier, entry)], default=BEGAN)


def tales(max_size: int = 14) -> st.SearchStrategy:
    """Conversations of at most so many events."""
    return st.lists(_EVENT, max_size=max_size).map(Tale)
