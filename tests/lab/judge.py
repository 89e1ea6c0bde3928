"""A second reckoning of what a recorded session costs under a policy's decisions, from the lines of its transcript alone: it shares no code
with the product, but for the table of prices, which is data.

It goes the slow way: for each request the branch that leads to it is walked again. Strings that are needed are names and whole lines, by
rules of its own. What the cache has is the longest of the last nine prompts that the new one begins with.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from pathlib import Path

CONFIG = Path(__file__).parents[2] / "retention-config.json"
CHARS, LEAST_BASE, EARLIER = 2.1, 8_000, 10_000
TOUCHING = ("Read", "Write", "Edit", "MultiEdit")
FILES, FILE_TOKENS, LOOK_UP = 5, 5_000, 150
NAME = re.compile(r"\w[\w./:@-]{10,}\w")
IMAGE_TOKENS = 1_600


@dataclass
class Told:
    """What a policy did right before a request: ids of results -> text in their place; ids of calls -> input; ids that are whole again; and
    ids of results that entered as another text since the request before. `stands`: whether a compaction before it did not take place."""

    clear: dict = field(default_factory=dict)
    inputs: dict = field(default_factory=dict)
    whole: list = field(default_factory=list)
    once: dict = field(default_factory=dict)
    stands: bool = False


@dataclass
class Piece:
    """A text of the conversation, of `kind` text, call or result, with the `id` of its use. `said`: its words, of a call the texts of
    its input."""

    line: int
    kind: str
    id: str
    text: str
    said: str = ""
    path: str = ""
    images: int = 0


class Session:
    """The lines of a transcript that make up its conversation."""

    def __init__(self, path: Path) -> None:
        lines = lines_of(path)
        side = next((bool(line.get("isSidechain")) for line in lines if "uuid" in line), False)
        self.lines = [line for line in lines if isinstance(line.get("uuid"), str) and bool(line.get("isSidechain")) == side]
        self.at: dict = {}
        for number, line in enumerate(self.lines):
            self.at.setdefault(line["uuid"], number)
        self.pieces = [self.pieces_of(number) for number in range(len(self.lines))]
        self.calls: dict = {piece.id: piece.line for some in self.pieces for piece in some if piece.kind == "call"}
        self.answers: dict = {}  # id of a call -> the first line with its result
        for some in self.pieces:
            for piece in some:
                if piece.kind == "result":
                    self.answers.setdefault(piece.id, piece.line)
        self.requests: dict = {}  # id of a message -> its lines
        for number, line in enumerate(self.lines):
            if self.is_answer(line):
                self.requests.setdefault(line["message"].get("id") or line["uuid"], []).append(number)
        self.message_of = {at: message for message, some in self.requests.items() for at in some}
        first = self.lines[next(iter(self.requests.values()))[0]]["message"]
        self.model = price_of(first.get("model", ""))
        self.times = [self.time(number) for number in range(len(self.lines))]
        self.newest = list(accumulate(self.times, max))
        self.bounds = [number for number, line in enumerate(self.lines) if line.get("subtype") == "compact_boundary"]

    @staticmethod
    def is_answer(line: dict) -> bool:
        message = line.get("message")
        return line.get("type") == "assistant" and isinstance(message, dict) and message.get("model") != "<synthetic>"

    def pieces_of(self, number: int) -> list[Piece]:
        line = self.lines[number]
        if line.get("type") not in ("user", "assistant") or (line["type"] == "assistant" and not self.is_answer(line)):
            return []
        content = line["message"].get("content")
        if isinstance(content, str):
            return [Piece(number, "text", "", content, content)]
        found = []
        for block in content or []:
            if block.get("type") == "tool_result":
                body = block.get("content")
                inner = [each for each in body if isinstance(each, dict)] if isinstance(body, list) else []
                shown = body if isinstance(body, str) else "\n".join(each.get("text", "") for each in inner if each.get("type") == "text")
                images = sum(each.get("type") == "image" for each in inner)
                found.append(Piece(number, "result", block.get("tool_use_id", ""), shown, shown, images=images))
            elif block.get("type") == "tool_use":
                asked = block.get("input") or {}
                path = asked.get("file_path") if block.get("name") in TOUCHING else None
                text, said = json.dumps(asked, ensure_ascii=False), "\n".join(said_in(asked))
                found.append(Piece(number, "call", block.get("id", ""), text, said, path if isinstance(path, str) else ""))
            elif isinstance(block.get("text"), str):
                found.append(Piece(number, "text", "", block["text"], block["text"]))
        return found

    def tokens(self, text: str) -> int:
        return round(len(text) / CHARS * self.model["tokens"])

    def time(self, number: int) -> float:
        stamp = self.lines[number].get("timestamp")
        return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() if isinstance(stamp, str) else 0.0

    def usage(self, message: str) -> int:
        for number in self.requests[message]:
            used = self.lines[number]["message"].get("usage") or {}
            tokens = sum(used.get(name) or 0 for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
            if tokens:
                return tokens
        return 0

    def before(self, number: int) -> int:
        """The line that this one follows: its parent, where that was recorded; -1 for none."""
        parent = self.lines[number].get("parentUuid")
        return -1 if parent is None else self.at.get(parent, number - 1)

    def tip(self, boundary: int) -> int:
        """The last message before a compaction."""
        return next((n for n in range(boundary - 1, -1, -1) if self.pieces[n]), -1)

    def branch(self, number: int, own: bool = False) -> list[list[int]]:
        """The lines before this one on its branch, and its `own`, cut at compactions."""
        parts: list[set] = [set()]
        at = number if own else self.before(number)
        while at >= 0:
            line = self.lines[at]
            if line.get("subtype") == "compact_boundary":
                parts.insert(0, set())
                at = self.tip(at)
                continue
            parts[0].add(at)
            crossed = max((bound for bound in self.bounds if self.before(at) < bound < at), default=-1)
            if crossed >= 0 and self.before(at) >= 0:  # the client hangs what was typed on what was compacted
                parts[0].update(range(crossed + 1, at))
                at = crossed
            else:
                at = self.before(at)
        bounds = [each for each in self.bounds if each < number][-len(parts) + 1 :]
        end = next((each for each in self.bounds if each > number), number + 1) if own else number
        ends = [*bounds, end] if len(parts) > 1 else [end]
        for part, end in zip(parts, ends):
            for message in {self.message_of[at] for at in part if at in self.message_of}:
                part.update(at for at in self.requests[message] if at < end)  # calls that were made at once
            asked = {piece.id for line in part for piece in self.pieces[line] if piece.kind == "call"}
            part.update(self.answers[id] for id in asked if self.answers.get(id, end) < end)
        return [sorted(part) for part in parts]


def lines_of(path: Path) -> list[dict]:
    """The lines that are JSON objects."""
    found = []
    for line in path.read_bytes().decode("utf-8", "replace").split("\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


def said_in(value: object) -> list[str]:
    """The texts within an input."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in said_in(each)]


def price_of(model: str) -> dict:
    """The prices of a model, and its tokens for one of the estimate."""
    table = json.loads(CONFIG.read_text())["retention"]["models"]["by_id"]
    name = model[max(0, model.find("claude-"), model.find("gpt-")) :].replace(".", "-")
    known = [id for id in table if name.startswith(id)]
    entry = table[max(known, key=len)]
    return {"read": entry["read"], "write": entry["write_5m"], "output": entry["output"] / entry["input"], "tokens": entry.get("tokens", 1)}


def is_plain(name: str) -> bool:
    """Whether a name is a word of plain language, or two."""
    words = re.split(r"[-/.]", name)
    return len(words) <= 2 and all(word.isalpha() and word[1:].islower() for word in words)


def strings(text: str) -> set:
    """The names and whole lines of a text."""
    found = {name for name in NAME.findall(text) if not is_plain(name)}
    for line in text.split("\n"):
        line = re.sub(r"^\s*\d+(→|\t)", "", line).strip()
        if 20 <= len(line) <= 400:
            found.add(line)
    return found


@dataclass
class Bill:
    """What it came to: `cost` in input tokens, and how many results were `missed`."""

    cost: float = 0.0
    missed: int = 0


def bill(path: Path, told: dict, ttl_s: float = 300) -> Bill:
    """The bill under what a policy has told for each message: {id: Told}."""
    return _Judge(Session(path), told, ttl_s).judged()


class _Judge:
    def __init__(self, session: Session, told: dict, ttl_s: float) -> None:
        self.session, self.told, self.ttl_s = session, told, ttl_s
        self.price = session.model
        self.put: dict = {}  # (kind, id) -> text in its place
        self.gone: set = set()  # those whose images have left with their text
        self.cache: list = []  # prompts that were sent, as lists of (what, text)
        self.total = Bill()
        self.ended = 0.0
        self.back = 0  # tokens that the host put back behind its newest compaction
        self.missed: set = set()  # what needs were for
        self.base = self.least = 0  # tokens of system and tools, and what was said before the recording; and without that
        self.standing: set = set()  # lines of compactions that did not take place
        self.files: dict = {}  # line of a compaction -> the files that the host puts back
        self.words: dict = {}  # string -> lines that hold it

    def shown(self, piece: Piece) -> str:
        return self.put.get((piece.kind, piece.id), piece.text) if piece.id else piece.text

    def size(self, piece: Piece) -> int:
        return self.session.tokens(self.shown(piece)) + IMAGE_TOKENS * piece.images * ((piece.kind, piece.id) not in self.gone)

    def judged(self) -> Bill:
        session = self.session
        last, indexed, written = "", 0, 0
        self.bases()
        for message, lines in session.requests.items():
            here, told = lines[0], self.told.get(message, Told())
            for use, text in told.once.items():
                self.put["result", use] = text
            parts = session.branch(here)
            boundary = max((n for n in session.bounds if n < here), default=-1)
            if boundary > written:
                written = boundary
                if told.stands:
                    self.standing.add(boundary)
                else:
                    self.compacted(boundary, last)
                    self.base = self.least
            self.turn(told)
            context = self.context(parts, boundary)
            if self.back < 0:
                used = session.usage(message)
                self.back = max(0, used - self.base - sum(map(self.size, context))) if used else self.assumed(boundary)
            prompt = self.base + max(0, self.back) + sum(map(self.size, context))
            sent = (session.newest[here - 1] if here else 0.0) or session.times[here]
            read = self.read(context, sent)
            answer = [piece for n in lines for piece in session.pieces[n]]
            self.total.cost += self.price["read"] * read + self.price["write"] * (prompt - read)
            self.total.cost += self.price["output"] * sum(session.tokens(piece.text) for piece in answer)
            self.cache = [*self.cache[-8:], [(id(piece), self.shown(piece)) for piece in context]]
            self.ended = max(sent, *(session.times[n] for n in lines))
            for n in range(indexed, here):
                for string in set().union(*(strings(piece.said) for piece in session.pieces[n])):
                    self.words.setdefault(string, []).append(n)
            indexed = max(indexed, here)
            self.look(answer, parts, context, boundary, prompt)
            last = message
        self.end(written, last)
        self.total.missed = len(self.missed)
        return self.total

    def end(self, written: int, last: str) -> None:
        """A compaction behind the last request."""
        boundary = self.session.bounds[-1] if self.session.bounds else -1
        if boundary > written and not self.told.get("", Told()).stands:
            self.compacted(boundary, last)

    def bases(self) -> None:
        """System and tools, before the first compaction and after it."""
        session, openings, seen = self.session, [], -2
        for message, lines in session.requests.items():
            boundary = max((n for n in session.bounds if n < lines[0]), default=-1)
            if boundary != seen:
                seen = boundary
                visible = sum(self.size(piece) for n in session.branch(lines[0])[-1] for piece in session.pieces[n])
                openings.append(session.usage(message) and session.usage(message) - visible)
        self.base = max(LEAST_BASE, openings[0])
        least = max(LEAST_BASE, min(each for each in openings if each)) if any(openings) else self.base
        self.least = least if self.base - least >= EARLIER else self.base

    def context(self, parts: list, boundary: int) -> list[Piece]:
        """The pieces that the request sends: behind the last compaction that took place."""
        bounds = [n for n in self.session.bounds if n <= boundary]
        standing = 0
        for bound in reversed(bounds):
            if bound not in self.standing:
                break
            standing += 1
        lines = [n for part in parts[max(0, len(parts) - 1 - standing) :] for n in part]
        first = bounds[-standing] if standing else len(self.session.lines)  # behind it no summary was written
        written = [n for n in lines if not (n > first and self.session.lines[n].get("isCompactSummary"))]
        return [piece for n in written for piece in self.session.pieces[n]]

    def turn(self, told: Told) -> None:
        """Put what the policy puts; it builds the conversation again."""
        for kind, texts in (("result", told.clear), ("call", told.inputs)):
            self.put.update({(kind, id): text for id, text in texts.items()})
            self.gone |= {(kind, id) for id in texts}
        for id in told.whole:
            self.put.pop(("result", id), None)
            self.gone.discard(("result", id))
        if told.clear or told.inputs or told.whole:
            self.cache = []

    def read(self, context: list, sent: float) -> int:
        if not self.ended or sent - self.ended > self.ttl_s:
            self.cache = []
            return 0
        prompt = [(id(piece), self.shown(piece)) for piece in context]
        ends = [len(each) for each in self.cache if prompt[: len(each)] == each]
        if not ends:
            return self.base
        return self.base + max(0, self.back) + sum(map(self.size, context[: max(ends)]))

    def compacted(self, boundary: int, last: str) -> None:
        """The host's: its request reads the whole, its summary is written."""
        session = self.session
        if last:
            newest = session.requests[last][-1]
            probe = next((n for n in range(boundary, len(session.lines)) if n > newest), newest)
            before = self.context_at(boundary)
            prompt = self.base + max(0, self.back) + sum(map(self.size, before))
            read = self.read(before, session.time(boundary))
            self.total.cost += self.price["read"] * read + self.price["write"] * (prompt - read)
            summary = [n for n in range(probe, min(len(session.lines), boundary + 4)) if session.lines[n].get("isCompactSummary")]
            self.total.cost += self.price["output"] * sum(session.tokens(piece.text) for n in summary for piece in session.pieces[n])
            self.ended = session.time(boundary)
        self.cache, self.back = [], -1

    def context_at(self, boundary: int) -> list[Piece]:
        """What stood right before a compaction."""
        session, tip = self.session, self.session.tip(boundary)
        parts = session.branch(tip, own=True)
        earlier = max((n for n in self.session.bounds if n < boundary), default=-1)
        return [piece for piece in self.context(parts, earlier) if piece.line < boundary]

    def look(self, answer: list[Piece], parts: list, context: list[Piece], boundary: int, prompt: int) -> None:
        """Charge what the answer writes again that stood on its branch and does not stand in its prompt any more."""
        session, branch = self.session, {n for part in parts for n in part}
        words = set().union(*(strings(piece.said) for piece in answer)) if answer else set()
        since, stands = set(parts[-1]), {id(piece) for piece in context}
        for string in sorted(words):
            lines = [n for n in self.words.get(string, ()) if n in branch]
            holders = [piece for n in lines for piece in session.pieces[n] if string in piece.said]
            is_said = any(piece.line in since and piece.kind != "result" for piece in holders)
            if not holders or is_said or any(self.shows(piece, string, stands, boundary) for piece in holders):
                continue
            newest = holders[-1]
            self.missed.add(id(newest))
            if any(piece.line in since or self.put_back(piece, boundary, string) for piece in holders):
                self.fetch(newest, prompt)

    def fetch(self, piece: Piece, prompt: int) -> None:
        """Charge a look-up; what it shows stands as it was."""
        self.put.pop((piece.kind, piece.id), None)
        self.gone.discard((piece.kind, piece.id))
        self.cache = [[(at, piece.text if at == id(piece) else text) for at, text in sent] for sent in self.cache]
        self.total.cost += self.price["write"] * self.session.tokens(piece.text) + self.price["read"] * prompt
        self.total.cost += self.price["output"] * LOOK_UP

    def shows(self, piece: Piece, string: str, stands: set, boundary: int) -> bool:
        if id(piece) in stands:
            return string in self.put.get((piece.kind, piece.id), string)
        return boundary not in self.standing and self.put_back(piece, boundary, string)

    def put_back(self, piece: Piece, boundary: int, string: str) -> bool:
        """Whether the host has put a string of this piece back behind its compaction: it is in the beginning of one of the last files."""
        if boundary < 0 or piece.id not in self.session.calls:
            return False
        if piece.id in self.kept(boundary):
            return True
        own = {each.path for each in self.session.pieces[self.session.calls[piece.id]] if each.id == piece.id}
        most = round(FILE_TOKENS * CHARS / self.session.model["tokens"])
        return not own.isdisjoint(self.newest_files(boundary)) and (piece.kind == "call" or string in piece.text[:most])

    def kept(self, boundary: int) -> set:
        """The ids of the results that the host carries over a compaction."""
        kept = (self.session.lines[boundary].get("compactMetadata") or {}).get("preservedMessages") or {}
        lines = [self.session.at[uuid] for uuid in kept.get("allUuids") or kept.get("uuids") or [] if uuid in self.session.at]
        return {piece.id for n in lines for piece in self.session.pieces[n] if piece.kind == "result"}

    def newest_files(self, boundary: int) -> dict:
        """The files that the host puts back behind a compaction: {path: tokens of the largest of their calls and results}."""
        if boundary not in self.files:
            standing = {piece.line for piece in self.context_at(boundary)}
            sizes: dict = {}
            for answer in sorted(standing):
                for shown in self.session.pieces[answer]:
                    asked = [each for each in self.session.pieces[self.session.calls.get(shown.id, answer)] if each.id == shown.id]
                    for call in asked if shown.kind == "result" else ():
                        if call.path:
                            size = max(self.session.tokens(each.text) for each in (shown, call))
                            sizes[call.path] = max(size, sizes.pop(call.path, 0))
            self.files[boundary] = dict(list(sizes.items())[-FILES:])
        return self.files[boundary]

    def assumed(self, boundary: int) -> int:
        """The tokens that the host puts back, where no usage tells."""
        kept = self.kept(boundary)
        whole = [piece for some in self.session.pieces[:boundary] for piece in some if piece.kind == "result" and piece.id in kept]
        return sum(min(FILE_TOKENS, size) for size in self.newest_files(boundary).values()) + sum(map(self.size, whole))
