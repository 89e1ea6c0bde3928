"""Whatever a client sends, each request gets one answer, nothing is written and the server keeps running."""

from __future__ import annotations

import json
import random
from collections import Counter

from popkit_retention.mcp.tool_service import table
from tests.mcp.test_tool_answers import state_of

from .homes import Place
from .talking import STATELESS, Program, enveloped, hello, request

SEED = 20_260_728
AT_ONCE = 50
TEXTS = [
    "",
    "a",
    "memory",
    "rag",
    "\x00",
    "\ud800",
    "￿",
    "../../etc/passwd",
    "'; DROP table() x; --",
    "NEAR(",
    "a" * 5_000,
    "abcd2345",
    "all",
]
NUMBERS = [0, -1, 1, 5.5, 2**53, 2**63, -(2**70), 1e308, 20_000]
METHODS = ["", *"tools/call tools/list ping server/discover initialize resources/list notifications/cancelled protocol.x".split()]
NAMES = [*table(), "nonsense", ""]
KEYS = ["domain", "config", "query", "most", "handle", "offset", "limit", "ids", "text", "options", "project", "resources", "_meta", "id"]


class Fuzz:
    """Messages, and how each must be answered: `answers` counts the ids."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.answers: Counter[str] = Counter()
        self._made = 0

    def value(self, depth: int = 3) -> object:
        """Any JSON value."""
        pick = self.random.randrange(8 if depth else 5)
        if pick < 2:
            return self.random.choice(TEXTS)
        if pick < 4:
            return self.random.choice(NUMBERS)
        if pick == 4:
            return self.random.choice([None, True, False])
        size = self.random.randrange(4)
        if pick == 5:
            return [self.value(depth - 1) for _ in range(size)]
        return {self.random.choice(KEYS): self.value(depth - 1) for _ in range(size)}

    def line(self) -> bytes:
        """The next message."""
        kind = self.random.randrange(10)
        if kind == 0:
            return self._garbage()
        if kind == 1:
            return self._no_object()
        return self._object(self._call() if kind > 5 else self._any())

    def _garbage(self) -> bytes:
        """Bytes that are no JSON: a message that was cut off, or one with a byte that is no text."""
        whole = json.dumps(request("ping", {"a": self.value()})).encode()
        at = self.random.randrange(1, len(whole) - 1)
        self.answers["null"] += 1
        return whole[:at] if self.random.random() < 0.5 else whole[:at] + b"\xff" + whole[at:]

    def _no_object(self) -> bytes:
        """JSON that is no object; a list would be a batch, which this revision does not know."""
        value = self.value(1)
        self.answers["null"] += 1
        return json.dumps(value if not isinstance(value, dict) else [value]).encode()

    def _any(self) -> dict:
        """Something like a message, with any of its parts left out or spoilt."""
        message = request(self.random.choice(METHODS), self.value(), self._id())
        for key in list(message):
            fate = self.random.random()
            if fate < 0.1:
                del message[key]
            elif fate < 0.2 and key != "id":
                message[key] = self.value(1)
        if "id" in message and self.random.random() < 0.1:
            message["id"] = self.random.choice([None, True, [1], {"a": 1}])
        if self.random.random() < 0.1:
            message[self.random.choice(["result", "error"])] = self.value(1)
        return message

    def _call(self) -> dict:
        """A call of a tool. Those that change something are given an argument that no tool has."""
        name = self.random.choice(NAMES)
        arguments = self.value()
        if name == "retention_apply" and isinstance(arguments, dict):  # of what is stored it would be logged
            arguments |= {"domain": "rag", "resources": [self.value() for _ in range(5)]}
        elif isinstance(arguments, dict) and name in table() and table()[name].effect != "reads":
            arguments |= {"nonsense": 1}
        elif name in table() and table()[name].effect != "reads":
            arguments = [arguments]
        message = request("tools/call", {"name": name, "arguments": arguments}, self._id())
        return enveloped(message, self.random.choice([STATELESS, "2031-01-01", 5])) if self.random.random() < 0.2 else message

    def _id(self) -> object:
        self._made += 1
        return self.random.choice([self._made, f"n{self._made}", self._made + 0.5])

    def _object(self, message: dict) -> bytes:
        """Notes how JSON-RPC has this one answered."""
        id, method = message.get("id"), message.get("method")
        usable = isinstance(id, (str, int, float)) and not isinstance(id, bool)
        if "method" not in message and ("result" in message or "error" in message):
            pass
        elif usable:
            self.answers[json.dumps(id)] += 1
        elif "id" in message or message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            self.answers["null"] += 1
        return json.dumps(message).encode()


def test_whatever_is_sent_each_request_is_answered_once_and_nothing_is_written(place: Place, count) -> None:
    fuzz = Fuzz(SEED)
    heard: Counter[str] = Counter()
    with Program(place.shop, place.environ) as program:
        assert program.ask(hello(id="hello"))["id"] == "hello"
        for _ in range(count(500, 10_000) // AT_ONCE):
            for _ in range(AT_ONCE):
                program.write(fuzz.line() + b"\n")
            mark = f"mark {len(heard)} {sum(fuzz.answers.values())}"
            # Tools run one after another, so this one is answered last.
            program.say({**request("tools/call", {"name": "retention_get", "arguments": {}}), "id": mark})
            while (answer := program.hear())["id"] != mark:
                heard[json.dumps(answer["id"])] += 1
                assert ("error" in answer) != ("result" in answer)
                assert "failed inside" not in json.dumps(answer)
        assert program.end() == (0, "")
    assert heard == +fuzz.answers
    assert state_of(place) == {}
