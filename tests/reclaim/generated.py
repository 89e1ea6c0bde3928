"""Transcripts that hypothesis makes up: any text, blocks, pictures, any order of keys, any spacing and escaping."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import strategies as st

from tests.reclaim.shops import Talk, thought

# Lone surrogates too: the host writes them escaped.
texts = st.text(st.characters(exclude_categories=()), max_size=30)
_long = st.builds(lambda text, times: (text or "x") * times, texts, st.sampled_from((1, 60, 400)))
_picture = st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 40}})
_blocks = st.lists(st.one_of(st.builds(lambda text: {"type": "text", "text": text}, _long), _picture), max_size=3)
contents = st.one_of(_long, _long, _blocks)

_calls = st.tuples(
    st.sampled_from(("read", "again", "edit", "glob", "bash", "mcp", "error", "prompt", "rewind")), st.integers(0, 3), contents
)
_ways = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from(((",", ":"), (", ", ": "), (" ,\t", " : "))),
        "reverse": st.booleans(),
        "blank": st.booleans(),
    }
)
_MOST_CALLS = 14


def with_thinking(transcript: Generated) -> Generated:
    """The same with thinking in every second line of the assistant, before what else stands there."""
    for entry in transcript.talk.entries[::2]:
        if entry["type"] == "assistant":
            entry["message"]["content"] = [thought("[so]"), *entry["message"]["content"], thought(", and }so]")]
    return transcript


def _talk(calls: list[tuple]) -> Talk:
    talk = Talk()
    talk.prompt("go")
    for number, (kind, which, content) in enumerate(calls):
        id, path = f"toolu_{number}", f"/shop/{'abcd'[which]}.ts"
        if kind in ("read", "again"):
            talk.use(id, "Read", {"file_path": path})
            talk.result(
                id, content, {"type": "text", "file": {"filePath": path, "content": "1", "numLines": 1, "startLine": 1, "totalLines": 1}}
            )
        elif kind == "edit":
            talk.edit(id, path)
        elif kind == "glob":
            talk.use(id, "Glob", {"pattern": f"**/{which}*"})
            talk.result(id, content)
        elif kind == "prompt":
            talk.prompt(f"and {number}")
        elif kind == "rewind" and len(talk.entries) > 4:
            talk.last = talk.entries[-3]["uuid"]
            talk.prompt("no, like this")
        elif kind == "mcp":
            talk.use(id, "mcp__demo__lookup", {"key": which})
            talk.result(id, content)
        else:
            talk.use(id, "Bash", {"command": f"npm run part{which}"})
            talk.result(id, content, error=kind == "error")
    talk.say("done")
    return talk


class Generated:
    """A talk, and how its lines are written."""

    def __init__(self, talk: Talk, ways: list[dict]):
        self.talk, self.ways = talk, ways

    def __repr__(self) -> str:
        return f"Generated({self.data()!r})"

    def data(self) -> bytes:
        lines = []
        for number, entry in enumerate(self.talk.entries):
            way = self.ways[number % len(self.ways)]
            text = json.dumps(_ordered(entry, way["reverse"]), ensure_ascii=way["ensure_ascii"], separators=way["separators"])
            try:
                line = text.encode()
            except UnicodeEncodeError:  # a lone surrogate has no bytes of its own
                line = json.dumps(_ordered(entry, way["reverse"])).encode()
            lines.append(line + b"\n" + (b"\n" if way["blank"] else b""))
        return b"".join(lines)

    def write(self, path: Path) -> bytes:
        path.write_bytes(self.data())
        return path.read_bytes()


def _ordered(value: object, reverse: bool) -> object:
    if isinstance(value, dict):
        items = list(value.items())
        return {key: _ordered(item, reverse) for key, item in (items[::-1] if reverse else items)}
    return [_ordered(item, reverse) for item in value] if isinstance(value, list) else value


transcripts = st.builds(
    Generated, st.builds(_talk, st.lists(_calls, min_size=2, max_size=_MOST_CALLS)), st.lists(_ways, min_size=1, max_size=4)
)
