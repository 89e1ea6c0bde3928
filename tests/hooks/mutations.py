"""Payloads that no client should send: wrong types, hostile texts, broken JSON. The same seed gives the same payloads."""

from __future__ import annotations

import copy
import json
import random

DEEP = 300
HOSTILE_TEXTS = (
    *("", " ", "\n", "../../x", "/etc/passwd", "/", ".", "..", "~", "~root/x", "a/b", "a\\b", "C:\\x", "\\\\server\\share"),
    *("x" * 10_240, "../" * 3_000 + "x", "nul\0byte", "\0", "lone \ud800 surrogate", "\udcff", "\ufeff", "e\u0301", "\u202eevil"),
    *("🙂" * 50, "日本語" * 40, "-rf", "--help", "$(touch x)", "`touch x`", "; touch x", "| cat", "a\nb", "a\rb", "\x1b[31m", "%s%n"),
    *"{} [] null NaN main main.state.json con x.tmp .lock * ? [a-z] $HOME ${x ' \" '\" \\".split(),
    *("<<EOF", "git commit", "npm test", "cat <<'E'\nx", "sed -n 5,9p x", "cd " * 500, "a|" * 500, "((((" * 200, "token=abc", "-u a:b"),
    *("Exit code 1", "Exit code 99999999999", "<tool_use_error>x", "1\tline\n2\tother", "PostToolUse", "Bash", "Read", "toolu_000001"),
)
HOSTILE_NUMBERS = (0, -1, 1, 2, 10**6, 2**31, 2**63, 10**400, -(10**40), 0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"))


def junk(random_: random.Random, depth: int = 0) -> object:
    """A value of any type."""
    kind = random_.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return None
    if kind == 1:
        return random_.random() < 0.5
    if kind in (2, 3):
        return random_.choice(HOSTILE_NUMBERS)
    if kind in (4, 5):
        return random_.choice(HOSTILE_TEXTS)
    if kind == 6:
        return [junk(random_, depth + 1) for _ in range(random_.randrange(4))]
    if kind == 7:
        return {random_.choice(HOSTILE_TEXTS): junk(random_, depth + 1) for _ in range(random_.randrange(4))}
    deep: object = random_.choice(HOSTILE_TEXTS)
    for _ in range(random_.choice((2, 30, DEEP))):
        deep = [deep] if random_.random() < 0.5 else {"a": deep}
    return deep


def places(value: object, path: tuple = ()) -> list[tuple]:
    """The path of every value inside a value."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            found += places(inner, (*path, at))
    return found


def mutated(payload: dict, random_: random.Random) -> dict:
    """The payload with one to three of its values replaced, removed, repeated or exchanged."""
    payload = copy.deepcopy(payload)
    for _ in range(random_.choice((1, 1, 1, 2, 3))):
        found = places(payload)
        if not found:
            break
        *way, last = random_.choice(found)
        holder: object = payload
        for step in way:
            holder = holder[step]  # type: ignore[index]
        _change(holder, last, payload, random_)
    return payload


def _change(holder, last, payload: dict, random_: random.Random) -> None:
    kind = random_.randrange(6)
    if kind == 0 and isinstance(holder, dict):
        del holder[last]
    elif kind == 1 and isinstance(holder[last], str):
        holder[last] = random_.choice(HOSTILE_TEXTS)
    elif kind == 2 and isinstance(holder[last], str):
        holder[last] = holder[last] + random_.choice(HOSTILE_TEXTS)
    elif kind == 3:
        holder[last] = [copy.deepcopy(holder[last])]
    elif kind == 4:
        holder[last] = copy.deepcopy(random_.choice(list(payload.values())))
    else:
        holder[last] = junk(random_)


TORN = (b"NaN", b"Infinity", b"-Infinity", b"\xff\xfe", b"\x00", b"\xed\xa0\x80", b"{", b"]", b'"')
INSTEAD = (
    *(b"", b" ", b"null", b"[]", b"42", b'"text"', b"\xef\xbb\xbf{}", b"{}"),
    *(b"[" * 100_000, b'{"a":' * 5_000, b"9" * 5_000),
)


def broken(data: bytes, random_: random.Random) -> bytes:
    """The bytes of a payload with a few of them cut, changed, put in or repeated."""
    kind = random_.randrange(6)
    at = random_.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes(random_.randrange(256) for _ in range(random_.randrange(1, 9))) + data[at + 3 :]
    if kind == 2:
        return data[:at] + random_.choice(TORN) + data[at:]
    if kind == 3:
        return data + random_.choice((b"\n", b"x", b"{}", data))
    if kind == 4:
        return random_.choice(INSTEAD)
    return data.replace(b":", random_.choice((b"=", b"::", b": NaN, ", b":null,")), 1)


def payloads(originals: list[dict], count: int, seed: int) -> list[bytes]:
    """So many mutated payloads; three of four are still JSON objects."""
    random_ = random.Random(seed)
    sent = []
    for _ in range(count):
        original = random_.choice(originals)
        data = json.dumps(mutated(original, random_) if random_.random() < 0.9 else original).encode()
        sent.append(broken(data, random_) if random_.random() < 0.25 else data)
    return sent


def is_object(data: bytes) -> bool:
    """Whether these bytes are a JSON object, by the standard library's reading."""
    try:
        return isinstance(json.loads(data.decode("utf-8", "replace"), strict=False), dict)
    except (ValueError, RecursionError):
        return False
